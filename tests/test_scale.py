"""What makes large data possible: the same answers by other ways, and little memory."""

import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import cobic
from cobic.certified import bounds, branching, coarse
from cobic.certified.bounds import Cut, RangeMaxima
from cobic.certified.bundle import Bundle
from cobic.certified.effort import Effort
from cobic.certified.feature_search import FeatureSearch
from cobic.certified.programs import FeaturePrograms, round_to_counts
from cobic.search.budget import Budget, Incumbent
from cobic.search.repair import climb_in_batches
from oracle import Oracle
from strategies import TAME, examples, instances, margins
from test_constraints import constrained
from test_soft import PRICES, check_against_brute_force

SLOW = [HealthCheck.too_slow]


def no_limit(problem):
    return Budget(None, None, problem.n_features)


def programs(problem, budget=None, **limits):
    return FeaturePrograms(Bundle(problem, budget or no_limit(problem), Effort(**limits)))


@pytest.fixture
def as_if_large(monkeypatch):
    """Looks at everything, few pieces, and features moved in batches, however small the data are."""
    monkeypatch.setattr("cobic.search.repair._LARGE", 0)
    return Effort(complete_window_cells=0, fewest_class_pieces=2, most_class_pieces=2)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[*SLOW, HealthCheck.function_scoped_fixture])
@given(data=st.data(), instance=instances(values=TAME, max_features=7), price=PRICES)
def test_what_large_data_take_leads_to_the_optimum_of_brute_force(as_if_large, data, instance, price):
    X, y = instance
    alpha, beta = data.draw(margins(len(y)))
    check_against_brute_force(X, y, price, as_if_large, alpha=alpha, beta=beta)


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[*SLOW, HealthCheck.function_scoped_fixture])
@given(case=constrained(), price=PRICES)
def test_it_does_with_constraints(as_if_large, case, price):
    X, y, fixed_in, fixed_out, groups = case
    check_against_brute_force(X, y, price, as_if_large, fixed_in=fixed_in, fixed_out=fixed_out, groups=groups)


@pytest.fixture(scope="module", params=[(2, 1.0), (5, 0.3)], ids=["dense, 2 classes", "sparse, 5 classes"])
def noisy(request):
    """Samples that overlap, some of them mislabelled, so that much is violated."""
    n_classes, density = request.param
    data = cobic.datasets.make_large_expression(
        300, n_samples=400, n_classes=n_classes, density=density, mislabelled=0.05, seed=1
    )
    problem = cobic.Problem(data.X, data.y, slack_penalty="auto")
    return problem.softened(3 * problem.slack_penalty)


def violation_by_linprog(problem, counts):
    """The least total violation at some counts over all features at once, a row for every comparison."""
    n_features, n_samples = problem.n_features, problem.n_samples
    everything = problem.columns(np.arange(n_features))
    rows, limits = [], []
    for place in range(problem.comparisons.other.shape[1]):
        weights = np.stack(
            [problem.comparisons.coefficients(cls)[:, place] for cls in range(problem.n_classes)], axis=1
        )
        rows.append(np.hstack([-(everything * (weights / counts)[:, problem.feature_classes]), -np.eye(n_samples)]))
        limits.append(-problem.alpha)
    equal = np.equal.outer(np.arange(problem.n_classes), problem.feature_classes).astype(float)
    return linprog(
        np.concatenate([np.zeros(n_features), np.ones(n_samples)]),
        A_ub=np.vstack(rows),
        b_ub=np.concatenate(limits),
        A_eq=np.hstack([equal, np.zeros((problem.n_classes, n_samples))]),
        b_eq=counts,
        bounds=[(0, 1)] * n_features + [(0, None)] * n_samples,
    ).fun


@pytest.mark.parametrize("share", [0.9, 0.97])
def test_the_bundle_reaches_the_cost_of_a_linear_program_with_a_row_for_each_sample(noisy, share):
    counts = np.maximum(1, (share * noisy.feature_class_sizes).astype(int))
    wanted = counts.sum() - noisy.slack_penalty * violation_by_linprog(noisy, counts)
    relaxed = Bundle(noisy, no_limit(noisy)).minimise(counts, counts, lambda value, model, _: value - model <= 1e-4)
    proven = float(relaxed.cut.objective_bounds(counts[None, :], counts[None, :])[0])
    assert wanted < counts.sum() - 1.0
    assert relaxed.model <= wanted + 1e-6
    assert wanted - 1e-6 <= proven <= wanted + 2e-4
    x = relaxed.mixture.x
    np.testing.assert_allclose([x[members].sum() for members in noisy.features_of_class], counts, rtol=1e-9)
    mixed = noisy.comparisons.margins(noisy.sums(x) / counts)
    np.testing.assert_allclose(relaxed.margins, mixed.ravel(), atol=1e-9 * np.abs(mixed).max())
    cost = noisy.slack_penalty * np.maximum(-mixed.min(axis=1), 0.0).sum()
    assert relaxed.model == pytest.approx(counts.sum() - cost, abs=1e-6)


def test_pieces_found_at_some_counts_serve_at_others(noisy):
    budget = no_limit(noisy)
    relaxation, looked = Bundle(noisy, budget), []
    for less in (10, 9, 8):
        before, counts = budget.lps, noisy.feature_class_sizes - less
        relaxation.minimise(counts, counts, lambda value, model, _: value - model <= 1.0)
        looked.append(budget.lps - before)
    assert looked[0] > 2 * max(looked[1:])


def test_features_moved_in_batches_raise_the_objective(noisy):
    everything = noisy.selectable
    better = climb_in_batches(noisy, everything, no_limit(noisy))
    assert noisy.objective(better) > noisy.objective(everything) + 0.1


@settings(max_examples=examples(300), deadline=None)
@given(data=st.data(), size=st.integers(1, 80), block=st.integers(2, 9), slope=st.floats(-2, 0))
def test_maxima_over_ranges_are_those_of_every_range(data, size, block, slope):
    means = np.array(data.draw(st.lists(st.integers(-50, 50), min_size=size, max_size=size)), dtype=float)
    first = data.draw(st.integers(1, 5))
    low = np.array(data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=6)))
    high = np.array([data.draw(st.integers(int(each), size - 1)) for each in low])
    wanted = [(means - slope * np.arange(first, first + size))[a : b + 1].max() for a, b in zip(low, high)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, "_FEW_COUNTS", 0)
        patch.setattr(bounds, "_BLOCK", block)
        found = RangeMaxima(means, slope, first).over(low + first, high + first)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(RangeMaxima(means, slope, first).over(low + first, high + first), wanted)


def test_a_cut_that_gave_its_memory_back_says_the_same(expression):
    problem = expression.problem()
    counts = problem.feature_class_sizes - 3
    multipliers = np.random.default_rng(0).integers(0, 1000, problem.comparisons.other.shape)
    cut = Cut(problem, multipliers, counts)
    points = np.array([counts, counts - 40, [1, 1]])
    values, scores = cut.values(points), cut.scores
    inside = cut.box_values(counts[None, :] - 50, counts[None, :], int(counts.sum()) - 20)
    cut.release(counts - 10)
    assert cut.means(0, int(counts[0]))[1].size < 20
    np.testing.assert_array_equal(cut.values(points[:1]), values[:1])
    np.testing.assert_array_equal(cut.values(points), values)
    np.testing.assert_array_equal(cut.scores, scores)
    cut.release(counts - 60)
    again = cut.box_values(counts[None, :] - 50, counts[None, :], int(counts.sum()) - 20)
    np.testing.assert_array_equal(again, inside)
    np.testing.assert_array_equal(cut.multipliers, multipliers)


def test_what_one_of_many_features_does_is_not_lost_in_the_solver(large_expression):
    problem = large_expression
    counts = problem.feature_class_sizes - 60
    bundle = Bundle(problem, no_limit(problem))
    begun = bundle.minimise(counts, counts, lambda value, model, _: value - model <= 1e-4 * abs(value))
    ends = FeaturePrograms(bundle)
    solution = ends._by_programs(begun, bundle.window, counts, begun.cut.multipliers, closely=True)
    least = float(solution.cut.values(counts[None, :])[0]) / solution.cut.size
    assert problem.worst_margin(problem.selectable) < -1.0
    assert solution.value == pytest.approx(least, rel=1e-9)
    assert solution.model == pytest.approx(least, rel=1e-6)


@pytest.fixture(scope="module")
def large_expression():
    data = cobic.datasets.make_large_expression(200_000, n_samples=40, seed=0)
    return cobic.Problem(data.X, data.y)


@pytest.mark.memory
def test_wide_data_are_nearly_closed_with_little_memory(large_expression):
    size = large_expression.matrix.nbytes
    tracemalloc.start()
    result = cobic.solve(large_expression, max_programs=200)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert large_expression.n_features - result.upper_bound > 100
    assert result.gap <= 20
    assert cobic.verify(large_expression, result.certificate).ok
    assert peak < 3 * size  # of 40 samples; an array with a number per feature is a twentieth of the matrix


@settings(max_examples=examples(200), deadline=None, suppress_health_check=SLOW)
@given(data=st.data(), instance=instances(values=TAME, max_features=8))
def test_beginning_with_a_part_of_the_features_leads_to_the_optimum(data, instance):
    X, y = instance
    alpha, beta = data.draw(margins(len(y)))
    problem = cobic.Problem(X, y, alpha, beta)
    best = Oracle(X, y, alpha, beta).optimum()
    begin_with_part = Effort(least_features_of_part=1, features_per_sample_of_part=0, one_of=2)
    result = cobic.solve(problem, effort=begin_with_part)
    assert (result.n_selected, result.upper_bound) == (best, best)
    assert cobic.verify(problem, json.loads(json.dumps(result.certificate))).ok


def test_a_part_of_the_features_is_taken_evenly(large_expression):
    part = coarse.part_of_features(large_expression)
    shares = part.feature_class_sizes / part.n_features
    np.testing.assert_allclose(shares, large_expression.feature_class_sizes / large_expression.n_features, atol=1e-3)
    assert part.n_features <= large_expression.n_features / 8 + large_expression.n_classes


def test_progress_of_the_part_is_not_told(large_expression):
    told = []
    cobic.solve(large_expression, max_programs=60, on_progress=told.append)
    bounds_told = [event.upper_bound for event in told]
    assert bounds_told == sorted(bounds_told, reverse=True)
    assert min(bounds_told) > 190_000


@pytest.fixture(scope="module", params=[8, pytest.param(20, marks=pytest.mark.long)])
def many_classes(request):
    data = cobic.datasets.make_large_expression(2000, n_samples=700, n_classes=request.param, density=0.05, seed=0)
    return data.problem()


def test_many_classes_end_with_a_selection_and_a_bound(many_classes):
    result = cobic.solve(many_classes, max_programs=100)
    assert many_classes.is_consistent(result.support)
    assert result.n_selected >= 0.85 * many_classes.n_features
    assert result.upper_bound < many_classes.n_features
    assert cobic.verify(many_classes, result.certificate).ok


def test_branching_over_counts_has_an_end(many_classes):
    result = cobic.solve(many_classes, max_programs=300, effort=Effort(many_nodes=10, few_nodes=5))
    assert result.n_selected > 0
    assert cobic.verify(many_classes, result.certificate).ok


@settings(max_examples=examples(150), deadline=None, suppress_health_check=SLOW)
@given(data=st.data(), instance=instances(values=TAME, max_features=8))
def test_beginning_at_counts_that_can_be_reached_leads_to_the_optimum(data, instance):
    X, y = instance
    alpha, beta = data.draw(margins(len(y)))
    best = Oracle(X, y, alpha, beta).optimum()
    result = cobic.solve(cobic.Problem(X, y, alpha, beta), effort=Effort(few_classes=1, starting_cells=0))
    assert (result.n_selected, result.upper_bound) == (best, best)


def test_a_tree_that_would_gather_too_much_is_not_begun(expression):
    problem = expression.problem()
    budget = no_limit(problem)
    relaxation = programs(problem, budget, tree_cells=10)
    point = relaxation.solve(problem.feature_class_sizes - 30, closely=True)
    before = budget.lps
    search_ = FeatureSearch(relaxation, Incumbent(problem, budget), [])
    base = round_to_counts(problem, point.mixture.x, point.counts)
    assert not search_.dive(point, base, 100, 50, 0, np.random.default_rng(0))
    assert search_.close(point, 50) is None
    assert budget.lps == before


@pytest.mark.disk
@pytest.mark.parametrize("soft_margins", [False, True], ids=["hard", "soft"])
@pytest.mark.parametrize("suffix", ["zarr", "h5ad"])
def test_a_file_of_many_tiles_gives_the_answer_of_memory_bit_for_bit(suffix, soft_margins, tmp_path):
    shape = {"n_samples": 120, "mislabelled": 0.05 if soft_margins else 0.0, "seed": 2}
    cobic.datasets.write_expression(tmp_path / f"data.{suffix}", 30_000, **shape)
    in_memory = cobic.datasets.make_large_expression(30_000, **shape)
    on_disk = cobic.read(tmp_path / f"data.{suffix}", "class", backed=True)
    choices = {"slack_penalty": "auto"} if soft_margins else {}
    answers = []
    for data in (in_memory, on_disk):
        problem = cobic.Problem(data.X, data.y, **choices)
        answers.append(cobic.solve(problem, max_programs=40))
    assert str(tmp_path) in cobic.Problem(on_disk.X, on_disk.y).matrix.kind
    assert answers[0].certificate == answers[1].certificate
    assert answers[0].history[-1].lps == answers[1].history[-1].lps
    assert answers[0].n_selected < 30_000
    np.testing.assert_array_equal(answers[0].support, answers[1].support)


def test_more_classes_than_the_relaxation_has_features():
    rng = np.random.default_rng(3)
    for _ in range(20):
        X, y = rng.integers(-4, 5, (7, 14)).astype(float), np.arange(7)
        result = cobic.solve(cobic.Problem(X, y))
        assert result.status in ("optimal", "feasible", "infeasible")
        assert result.upper_bound >= result.n_selected


def test_shares_far_from_what_there_is_are_reached_at_once(large_expression):
    brancher = branching.Brancher(programs(large_expression))
    counts = brancher.nearest(190_000, np.array([0.97, 0.03]))
    assert counts.sum() == 190_000
    assert (counts <= large_expression.feature_class_sizes).all()


def test_margins_of_a_relaxation_with_groups_are_those_of_its_selection(expression):
    groups = [f"g{at // 3}" if at < 300 else None for at in range(expression.X.shape[1])]
    problem = expression.problem(groups=groups)
    relaxation = programs(problem)
    for less in (5, 20, 60):
        counts = problem.feature_class_sizes - less
        solution = relaxation.solve(counts)
        x = problem.constraints.pooled(solution.mixture.x)
        wanted = problem.comparisons.margins(problem.sums(x) / counts).ravel()
        np.testing.assert_allclose(solution.margins, wanted, atol=1e-9 * np.abs(expression.X).max())
