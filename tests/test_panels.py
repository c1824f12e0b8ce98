"""Panels against a complete search in rationals, and what their certificates prove."""

import json
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cobic
from cobic.certified.panel_search import PanelSearch
from cobic.problem import PanelProblem
from cobic.search.budget import Budget
from oracle import Oracle
from strategies import examples


def exact_tail(margins, weights, tail):
    """Mean of the worst share of the samples' margins."""
    if tail == 0:
        return min(margins)
    total, left, value = sum(weights), Fraction(1), Fraction(0)
    for margin, weight in sorted(zip(margins, weights)):
        share = min(left, weight / (total * tail))
        value, left = value + share * margin, left - share
    return value


def best_panel(oracle, low, high, total, weights, tail):
    """The largest tail margin of all panels, by looking at every one."""
    allowed = [i for i in range(oracle.m) if oracle.feature_classes[i] >= 0]
    best = None
    for chosen in combinations(allowed, total):
        counts = [sum(oracle.feature_classes[i] == r for i in chosen) for r in range(len(oracle.classes))]
        support = [i in chosen for i in range(oracle.m)]
        if not all(a <= n <= b for a, n, b in zip(low, counts, high)) or not oracle.admits(support):
            continue
        value = exact_tail(oracle.margins(support), weights, tail)
        best = value if best is None else max(best, value)
    return best


def solved(panel, seed=0):
    search = PanelSearch(panel, Budget(None, None, panel.total), np.random.default_rng(seed))
    search.run()
    return search


@st.composite
def panels(draw):
    n_classes = draw(st.integers(2, 4))
    n_samples, n_features = draw(st.integers(n_classes, 8)), draw(st.integers(n_classes, 9))
    y = [draw(st.integers(0, n_classes - 1)) for _ in range(n_samples)]
    y[:n_classes] = range(n_classes)
    cells = st.one_of(st.integers(-4, 9).map(float), st.floats(-5, 5, allow_subnormal=False))
    X = np.array([[draw(cells) for _ in range(n_features)] for _ in range(n_samples)])
    chosen = {"beta": draw(st.sampled_from([1.0, 1.5])), "ties": draw(st.sampled_from(["first", "exclude"]))}
    if draw(st.booleans()):
        chosen["fixed_out"] = [draw(st.integers(0, n_features - 1))]
    tail = draw(st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0]))
    weights = draw(st.sampled_from(["equal", "balanced", "given"]))
    if weights == "given":
        weights = [draw(st.integers(0, 3)) for _ in range(n_samples)]
        weights[0] += 1
    return X, y, chosen, tail, weights, draw(st.booleans()), draw(st.integers(0, 1000))


@settings(max_examples=examples(400))
@given(panels())
def test_the_best_of_all_panels(case):
    X, y, chosen, tail, weights, by_class, seed = case
    problem = cobic.Problem(X, y, **chosen)
    sizes = problem.feature_class_sizes
    if not sizes.all():
        return
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, sizes + 1)
    size = dict(zip(problem.classes.tolist(), counts.tolist())) if by_class else int(counts.sum())
    panel = PanelProblem(problem, size, tail=tail, weights=weights)
    exact = [Fraction(float(weight)) for weight in panel.weights]
    oracle = Oracle(X, y, **chosen)
    best = best_panel(oracle, panel.low, panel.high, panel.total, exact, Fraction(tail))
    search = solved(panel)
    scale = 1e-6 * max(panel.largest_margin, 1e-9)
    assert search.incumbent.tail_margin == pytest.approx(float(best), abs=scale)
    assert float(best) <= search.bound <= float(best) + scale
    certificate = json.loads(json.dumps(search.certificate()))
    checked = cobic.verify(panel, certificate)
    assert checked.ok, checked.reason
    assert checked.objective == pytest.approx(float(best), abs=scale)
    forged = {**certificate, "objective_bound": float(best) - 2 * scale, "selected": []}
    from cobic.problem.identity import checksum

    assert not cobic.verify(panel, {**forged, "checksum": checksum(forged)}).ok
