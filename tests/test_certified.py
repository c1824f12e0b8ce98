"""The certified method against brute force; certificates that verify, and damaged ones that do not."""

import copy
import json
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import Oracle
from strategies import ROUGH, TAME, instances, margins

import cobic
from cobic.certified.verify import checksum


def solve(problem, **options):
    return cobic.solve(problem, method="certified", **options)


@settings(max_examples=2500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    data=st.data(),
    instance=st.one_of(instances(values=TAME, max_features=8), instances(values=ROUGH, max_features=7)),
    ties=st.sampled_from(["first", "exclude"]),
    beta_rule=st.sampled_from(["published", "sign-aware"]),
)
def test_the_optimum_is_that_of_brute_force_and_its_certificate_verifies(data, instance, ties, beta_rule):
    X, y = instance
    alpha, beta = data.draw(margins(len(y)))
    problem = cobic.Problem(X, y, alpha, beta, ties=ties, beta_rule=beta_rule)
    best = Oracle(X, y, alpha, beta, ties, beta_rule).optimum()
    result = solve(problem)
    assert result.upper_bound == best
    assert result.n_selected == best
    assert result.status == ("optimal" if best else "infeasible")
    checked = cobic.verify(problem, json.loads(json.dumps(result.certificate)))
    assert checked.ok, checked.reason
    assert checked.upper_bound == best
    assert checked.n_selected == (best or None)
