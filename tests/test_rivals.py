"""The published rivals and the general solver: what they claim is true, and they do what their sources say."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cobic
from cobic.methods.linearisation import CountRange, Linearisation
from cobic.methods.milp import _cut_off, _Search
from cobic.methods.relaxation import Relaxation
from cobic.search.budget import Budget
from oracle import Oracle
from strategies import TAME, examples, instances, margins


@settings(max_examples=examples(250), deadline=None)
@given(data=st.data(), instance=instances(values=TAME, max_features=7), warm=st.booleans())
def test_milp_proves_the_optimum_of_brute_force_and_of_certified(data, instance, warm):
    X, y = instance
    alpha, beta = data.draw(margins(len(y)))
    problem = cobic.Problem(X, y, alpha, beta)
    best = Oracle(X, y, alpha, beta).optimum()
    result = cobic.solve(problem, method="milp", warm_start=warm)
    assert result.upper_bound == best == cobic.solve(problem).upper_bound
    assert result.status == ("optimal" if best else "infeasible")
    assert result.n_selected == best


@settings(max_examples=examples(60), deadline=None)
@given(instance=instances(values=TAME, max_features=6), price=st.sampled_from([0.3, 1.0, 4.0]), warm=st.booleans())
def test_milp_with_soft_margins_proves_the_best_objective(instance, price, warm):
    X, y = instance
    problem = cobic.Problem(X, y, slack_penalty=price)
    best = Oracle(X, y).soft_optimum(price)
    result = cobic.solve(problem, method="milp", warm_start=warm)
    if not problem.feature_class_sizes.all():
        assert result.status == "infeasible"
        return
    assert result.objective == pytest.approx(float(best), abs=1e-5)
    assert result.objective_bound == pytest.approx(float(best), abs=1e-5)
    assert result.objective_bound >= float(best) - 1e-5


@settings(max_examples=examples(40), deadline=None)
@given(data=st.data(), instance=instances(values=TAME, max_features=6))
def test_milp_keeps_groups_together(data, instance):
    X, y = instance
    groups = data.draw(st.lists(st.sampled_from(["g", "h", None]), min_size=X.shape[1], max_size=X.shape[1]))
    oracle = Oracle(X, y, groups=groups)
    problem = cobic.Problem(X, y, groups=groups)
    assert cobic.solve(problem, method="milp").n_selected == oracle.optimum()
    for method in ("sequential-binary", "sequential-lp"):
        result = cobic.solve(problem, method=method)
        assert result.consistent == oracle.is_consistent(result.support)
        assert oracle.admits(result.support)  # groups are never torn apart, consistent or not


def test_a_cut_takes_away_one_selection():
    problem = cobic.Problem([[5.0, 1, 3, 2], [4, 2, 4, 1], [1, 6, 1, 5], [2, 5, 3, 4]], list("aabb"))
    model = Linearisation(problem, CountRange.of(problem, 0))
    for gone in product((False, True), repeat=4):
        entries, lower, upper = _cut_off(model, np.array(gone))
        for chosen in product((False, True), repeat=4):
            row = entries.values @ np.array(chosen)[model.features][entries.columns]
            assert (lower[0] <= row <= upper[0]) == (chosen != gone)


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data(), instance=instances(values=TAME, max_features=7))
def test_tightened_ranges_hold_every_selection_that_is_as_good(data, instance):
    X, y = instance
    alpha, beta = data.draw(margins(len(y)))
    problem = cobic.Problem(X, y, alpha, beta)
    if not problem.feature_class_sizes.all():
        return
    search = _Search(problem, Budget(None, None, problem.n_features))
    search.start()
    search.tighten()
    for chosen in product((False, True), repeat=problem.n_features):
        support = np.array(chosen)
        if support.sum() >= search.least and problem.is_consistent(support):
            counts = problem.counts(support)
            assert (search.counts.low <= counts).all()
            assert (counts <= search.counts.high).all()
            assert support.sum() <= search.bound


@pytest.mark.parametrize("warm", [True, False])
def test_milp_is_not_misled_by_entries_that_solvers_drop(warm):
    size = 10
    signs = np.array([[1.0] * size + [-1.0] * size] * 2 + [[-1.0] * size + [1.0] * size] * 2) * 0.9e-9
    X = np.hstack([signs, np.ones((4, 1)), [[-20e-9], [20e-9 + 1e-12], [0], [0]]])
    problem = cobic.Problem(X, [0, 0, 1, 1], alpha=1.5e-9, fixed_out=[2 * size])
    result = cobic.solve(problem, method="milp", warm_start=warm)
    assert result.status in ("optimal", "feasible")
    assert result.upper_bound >= cobic.solve(problem).n_selected == 20


@pytest.mark.parametrize("seed", [35, 92, 118, 126])
def test_milp_claims_nothing_where_violations_are_too_dear_for_the_solver(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 4))
    y = [*range(k), *rng.integers(0, k, 3)]
    X = rng.integers(-3, 8, (len(y), int(rng.integers(k + 2, 8)))).astype(float)
    best = float(Oracle(X, y).soft_optimum(1e12))
    for warm in (True, False):
        result = cobic.solve(cobic.Problem(X, y, slack_penalty=1e12), method="milp", warm_start=warm)
        assert result.objective_bound >= best - 1e-5


def test_a_feature_that_may_not_be_selected_does_not_set_the_scale(expression):
    X = np.hstack([expression.X[:, :60], np.full((expression.X.shape[0], 1), 1e12)])
    problem = cobic.Problem(X, expression.y, fixed_out=[60])
    without = cobic.Problem(X[:, :60], expression.y)
    np.testing.assert_array_equal(problem.row_scale(), without.row_scale())
    assert cobic.solve(problem, method="milp").n_selected == cobic.solve(without, method="milp").n_selected


def test_milp_reports_how_its_bound_comes_down(expression):
    problem = cobic.Problem(expression.X[:, :150], expression.y)
    events = []
    result = cobic.solve(problem, method="milp", time_limit=20, on_progress=events.append)
    bounds = [event.upper_bound for event in events]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] == result.upper_bound < problem.n_features
    assert result.upper_bound >= cobic.solve(problem).n_selected
    assert "HiGHS" in result.reason or result.gap > 0


def test_a_settled_sequence_of_binary_programs_has_the_counts_it_assumed(expression):
    problem = cobic.Problem(expression.X[:, :100], expression.y, alpha=np.linspace(0, 5, expression.y.size))
    result = cobic.solve(problem, method="sequential-binary")
    surplus = 0.125
    program = Relaxation(problem).at_counts(np.array(result.counts), surplus)
    A = np.zeros((program.n_rows, program.n_columns))
    entries = program.entries
    A[entries.rows, entries.columns] = entries.values
    x = result.support[Relaxation(problem).features]
    assert result.consistent
    assert result.lps < 20  # it has settled: the loop noticed that the numbers came back
    # With the true counts in place of z, the rows of the program are the margins themselves.
    scaled = (A @ x - program.row_lower) * problem.row_scale() / problem.n_features
    expected = problem.margins(result.support) - surplus * problem.row_scale()
    np.testing.assert_allclose(scaled, expected, rtol=1e-9, atol=1e-9)


def test_the_tangent_touches_the_means_and_their_slopes():
    rng = np.random.default_rng(1)
    problem = cobic.Problem(rng.integers(-9, 20, (6, 12)).astype(float), [0, 0, 1, 1, 2, 2], alpha=0.5, beta=1.5)
    relaxation, x, surplus = Relaxation(problem), rng.random(12), rng.random(6)
    program = relaxation.tangent(x, surplus)
    A = np.zeros((program.n_rows, program.n_columns))
    entries = program.entries
    A[entries.rows, entries.columns] = entries.values

    def true_margins(weights):
        counts = np.bincount(problem.feature_classes, weights, minlength=3)
        return problem.comparisons.margins(problem.sums(weights) / counts)

    def tangent_margins(weights):
        rows = A @ weights[relaxation.features] - program.row_lower
        return rows.reshape(6, -1) * problem.row_scale()[:, None] / 12

    np.testing.assert_allclose(tangent_margins(x), true_margins(x) - (surplus * problem.row_scale())[:, None])
    step = 1e-6 * rng.standard_normal(12)
    slope = (true_margins(x + step) - true_margins(x - step)) / 2
    np.testing.assert_allclose(tangent_margins(x + step) - tangent_margins(x), slope, rtol=1e-4, atol=1e-10)


@pytest.mark.parametrize("seed", [3, 4, 7])
def test_sequential_lp_asks_for_more_until_its_rounding_is_consistent(seed):
    data = cobic.datasets.make_expression(n_features=150, contaminated=0.05, seed=seed)
    result = cobic.solve(data.problem(alpha=20.0), method="sequential-lp")
    assert result.consistent
    assert result.n_selected > 0.8 * 150


@pytest.mark.real_data
@pytest.mark.parametrize("margin", [{}, {"beta": 1.1}], ids=["alpha 0", "beta 1.1"])
def test_sequential_binary_reaches_a_consistent_selection_of_golub(golub, margin):
    problem = golub.problem(**margin)
    result = cobic.solve(problem, method="sequential-binary", program_seconds=600)
    assert result.status == "feasible"
    assert problem.is_consistent(result.support)
    assert result.n_selected >= 0.99 * cobic.solve(problem).n_selected


@pytest.mark.real_data
def test_sequential_lp_keeps_more_of_golub_than_was_published(golub):
    for margin, published in (({}, 7024), ({"alpha": 70.0}, 6960), ({"beta": 2.0}, 5905)):
        result = cobic.solve(golub.problem(**margin), method="sequential-lp")
        assert result.consistent
        assert result.n_selected >= published
