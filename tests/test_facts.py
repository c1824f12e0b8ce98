"""Features in every selection of a size, and in none, against all selections there are."""

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cobic
from oracle import Oracle
from strategies import TAME, examples, instances, margins
from test_constraints import constrained


def selections(oracle, m, size):
    """All consistent selections with at least so many features."""
    every = (np.array(support) for support in itertools.product([False, True], repeat=m))
    return [support for support in every if support.sum() >= size and oracle.is_consistent(support)]


def check(problem, oracle):
    result = cobic.solve(problem)
    if not result.consistent:
        return
    settled = cobic.settled_features(problem, result)
    assert settled.n_selected == result.n_selected
    assert not (settled.always & settled.never).any()
    found = selections(oracle, problem.n_features, result.n_selected)
    assert found
    for support in found:
        assert (support >= settled.always).all()
        assert not (support & settled.never).any()


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), instance=instances(values=TAME, max_features=8))
def test_what_is_settled_holds_for_all_selections_of_the_size(data, instance):
    X, y = instance
    alpha, beta = data.draw(margins(len(y)))
    check(cobic.Problem(X, y, alpha, beta), Oracle(X, y, alpha, beta))


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=constrained())
def test_it_holds_with_constraints(case):
    X, y, fixed_in, fixed_out, groups = case
    choices = {"fixed_in": fixed_in, "fixed_out": fixed_out, "groups": groups}
    try:
        problem = cobic.Problem(X, y, **choices)
    except cobic.InputError:
        return
    check(problem, Oracle(X, y, **choices))


def test_most_features_are_settled():
    problem = cobic.datasets.make_expression(n_features=4000, seed=0).problem()
    result = cobic.solve(problem)
    settled = cobic.settled_features(problem, result)
    assert result.status == "optimal"
    assert settled.always.sum() > 0.9 * problem.n_features
    assert str(int(settled.always.sum())) in repr(settled)


def test_some_genes_of_golub_are_in_no_optimal_selection(golub):
    problem = golub.problem(beta=1.2)
    result = cobic.solve(problem)
    settled = cobic.settled_features(problem, result)
    assert result.status == "optimal"
    assert settled.never.sum() > 50
    assert not (settled.never & result.support).any()
    assert int(settled.undecided.sum()) == problem.n_features - settled.always.sum() - settled.never.sum()
    # A selection with one of them is smaller, as a new proof shows.
    gene = int(np.flatnonzero(settled.never)[0])
    assert cobic.solve(golub.problem(beta=1.2, fixed_in=[gene])).upper_bound < result.n_selected


def test_everything_is_settled_where_nothing_need_go():
    problem = cobic.Problem([[5, 1], [4, 2], [1, 6], [2, 5]], ["a", "a", "b", "b"])
    settled = cobic.settled_features(problem, cobic.solve(problem))
    assert settled.always.all()
    assert not settled.undecided.any()


@pytest.mark.parametrize("choice", ["soft", "method", "infeasible"])
def test_without_a_proof_nothing_is_settled(expression, choice):
    problem = expression.problem(**{"soft": {"slack_penalty": 1.0}, "infeasible": {"alpha": 1e6}}.get(choice, {}))
    options = {"method": "fixed-point"} if choice == "method" else {"max_programs": 50}  # any answer will do
    result = cobic.solve(problem, **options)
    with pytest.raises(cobic.InputError, match="method certified"):
        cobic.settled_features(problem, result)


def test_an_answer_of_another_problem_is_refused(expression, expression_answer):
    with pytest.raises(cobic.InputError, match="not one of this problem"):
        cobic.settled_features(expression.problem(alpha=50.0), expression_answer[0])
