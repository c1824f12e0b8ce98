"""Relaxations by samples of features: the interior point method, the draw, and what comes of them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import cobic
from cobic.certified.effort import Effort
from cobic.certified.interior import MixingProgram, solve
from cobic.certified.programs import FeaturePrograms, round_to_counts
from cobic.certified.relaxation import Relaxation, _brought_to, _chances, _levels
from cobic.search.budget import Budget
from strategies import TAME, examples, instances, margins

SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
TO_THE_END = {"sharp": 0.0, "sharpening": 1000}  # where the sign would be enough
SMALL_SAMPLES = {"complete_window_cells": 0, "sampled": 300, "sampling": 0.0, **TO_THE_END}


def no_limit(problem):
    return Budget(None, None, problem.n_features)


def relaxation(problem, budget=None, **limits):
    return Relaxation(problem, budget or no_limit(problem), Effort(**limits))


def mixing(seed, *, empty=False):
    """A program with features that stand for several, rows without a class, and maybe a class without features."""
    rng = np.random.default_rng(seed)
    n_rows, sizes = 9, (12, 0 if empty else 7, 20)
    rows = [np.sort(rng.choice(n_rows, 6, replace=False)) for _ in sizes]
    effects = [rng.standard_normal((size, 6)) for size in sizes]
    most = np.concatenate([np.ones(10), rng.uniform(1, 9, sum(sizes) - 10)])
    ends = np.cumsum([0, *sizes])
    wanted = np.array([most[a:b].sum() * rng.uniform(0.1, 0.9) for a, b in pairwise(ends)])
    return MixingProgram(effects, rows, rng.standard_normal(n_rows), wanted, most)


def worst_by_linprog(program):
    """The largest worst margin of a mixture."""
    n_features, n_rows = program.most.size, program.base.size
    effects, equal = np.zeros((n_rows, n_features)), np.zeros((program.wanted.size, n_features + 1))
    for cls, part in enumerate(program.of_class):
        effects[program.rows[cls], part] = program.effects[cls].T
        equal[cls, part] = 1.0
    used = equal.any(axis=1)
    return -linprog(
        np.append(np.zeros(n_features), -1.0),
        A_ub=np.hstack([-effects, np.ones((n_rows, 1))]),
        b_ub=program.base,
        A_eq=equal[used],
        b_eq=program.wanted[used],
        bounds=[*((0, most) for most in program.most), (None, None)],
    ).fun


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_the_interior_point_method_solves_what_a_general_solver_does(seed, empty):
    program = mixing(seed, empty=empty)
    near = np.random.default_rng(seed).random(program.base.size)
    solved = solve(program, near, 1e-9)
    wanted = worst_by_linprog(program)
    assert solved.gap <= 1e-9
    assert solved.multipliers.min() >= 0
    assert solved.multipliers.sum() == pytest.approx(1.0)
    assert (solved.shares >= 0).all()
    assert (solved.shares <= program.most).all()
    np.testing.assert_allclose(
        program.by_class(solved.shares), np.where(empty & (np.arange(3) == 1), 0, program.wanted)
    )
    assert (program.base + program.sums(solved.shares)).min() == pytest.approx(wanted, abs=1e-7)


@pytest.mark.parametrize("near", [[1, 0, 0, 0, 0, 0, 0, 0, 0], [0] * 9, [1e-300] * 9, [1e9, 1, 1, 1, 1, 1, 1, 1, 1]])
def test_it_may_begin_with_any_multipliers(near):
    program = mixing(3)
    solved = solve(program, np.array(near, dtype=float), 1e-9)
    assert (program.base + program.sums(solved.shares)).min() == pytest.approx(worst_by_linprog(program), abs=1e-7)


def test_a_program_of_wide_range_is_solved():
    """Features from 1 to 10⁶, as intensities are, one standing for thousands."""
    rng = np.random.default_rng(0)
    size = 10.0 ** rng.uniform(0, 6, (200, 1))
    most = np.where(rng.random(200) < 0.2, 3000.0, 1.0)
    effects = size * rng.standard_normal((200, 9))
    program = MixingProgram([effects], [np.arange(9)], np.zeros(9), np.array([most.sum() / 3]), most)
    solved = solve(program, np.ones(9), 1e-3)
    assert (effects.T @ solved.shares).min() == pytest.approx(worst_by_linprog(program), rel=1e-6)


@given(nearness=st.lists(st.floats(1e-12, 1e12), min_size=3, max_size=30), data=st.data())
def test_chances_add_up_to_what_is_wanted_and_the_nearer_has_the_larger(nearness, data):
    wanted = data.draw(st.integers(1, len(nearness) - 1))
    chances = _chances(np.array(nearness), float(wanted))
    assert chances.sum() == pytest.approx(wanted, abs=1.01)
    assert ((chances > 0) & (chances <= 1)).all()
    order = np.argsort(nearness)
    assert (np.diff(chances[order]) >= 0).all()


@given(scores=st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30))
def test_levels_are_in_the_order_of_the_scores(scores):
    levels = _levels(np.array(scores))
    assert (np.diff(levels[np.argsort(scores, kind="stable")].astype(int)) >= 0).all()


@given(shares=st.lists(st.floats(0, 1), min_size=1, max_size=12), total=st.floats(-3, 15))
def test_shares_are_brought_to_a_total_if_that_is_possible(shares, total):
    x = np.array(shares)
    done = _brought_to(x, total)
    assert done == (abs(np.clip(total, 0, x.size) - total) <= 1e-3)
    assert x.sum() == pytest.approx(np.clip(total, 0, x.size), abs=1e-9)
    assert ((x >= 0) & (x <= 1 + 1e-12)).all()


def relaxation_by_linprog(problem, counts):
    """The largest worst margin at some counts over all features at once."""
    columns, rows, limits = problem.n_features, [], []
    for sample in range(problem.n_samples):
        for place in range(problem.comparisons.other.shape[1]):
            row = np.zeros(columns + 1)
            for cls in range(problem.n_classes):
                coefficient = problem.comparisons.coefficients(cls)[sample, place]
                mine = problem.feature_classes == cls
                row[:-1][mine] = -coefficient * problem.matrix.rows(np.array([sample]))[0][mine] / counts[cls]
            row[-1] = 1.0
            rows.append(row)
            limits.append(-problem.alpha[sample])
    equal = np.zeros((problem.n_classes, columns + 1))
    for cls in range(problem.n_classes):
        equal[cls, :-1] = problem.feature_classes == cls
    bounds = [(0, 1)] * columns + [(None, None)]
    objective = np.append(np.zeros(columns), -1.0)
    return -linprog(objective, A_ub=rows, b_ub=limits, A_eq=equal, b_eq=counts, bounds=bounds).fun


@settings(max_examples=examples(120), deadline=None, suppress_health_check=SLOW)
@given(data=st.data(), instance=instances(values=TAME, max_features=8))
def test_the_relaxation_lies_between_the_model_and_the_value(data, instance):
    X, y = instance
    alpha, beta = data.draw(margins(len(y)))
    problem = cobic.Problem(X, y, alpha, beta)
    if not problem.feature_class_sizes.all():
        return
    counts = np.array([data.draw(st.integers(1, int(size))) for size in problem.feature_class_sizes])
    wanted = relaxation_by_linprog(problem, counts)
    rows = data.draw(st.sampled_from([2, 5, 400]))
    found = relaxation(problem, sample_rows=rows, close_value=1e-6, part_of_a_feature=1e-6, **TO_THE_END)
    found = found.at(counts, closely=True)
    size = 1.0 + float(np.abs(X).max())
    assert found.model <= wanted + 1e-6 * size
    assert found.value >= wanted - 1e-6 * size
    if rows > found.margins.size:
        assert found.value - found.model <= 1e-4 * size
    assert found.margins.min() == pytest.approx(found.model)
    x = found.mixture.x
    assert np.bincount(problem.feature_classes, x) == pytest.approx(counts)
    closely = FeaturePrograms(relaxation(problem)).solve(counts, closely=True)
    assert closely.model == pytest.approx(wanted, abs=1e-5 * size)


@pytest.fixture(scope="module")
def large():
    data = cobic.datasets.make_large_expression(5_000, n_samples=30, seed=1)
    return cobic.Problem(data.X, data.y)


@pytest.mark.parametrize("share", [0.9, 0.99, 0.999])
def test_small_samples_lead_to_the_value_of_all_features(large, share):
    counts = (share * large.feature_class_sizes).astype(int)
    budget = no_limit(large)
    found = relaxation(large, budget, **SMALL_SAMPLES).at(counts, closely=True)
    wanted = relaxation_by_linprog(large, counts)
    assert found.model <= wanted + 1e-6 * abs(wanted)
    assert found.value >= wanted - 1e-6 * abs(wanted)
    assert found.value - found.model <= max(1e-3 * abs(wanted), found.cut.effect)
    assert budget.lps <= 12
    assert found.cut.values(counts[None, :])[0] / found.cut.size == pytest.approx(found.value, rel=1e-9)


def test_the_mixture_is_what_it_is_said_to_be(large):
    counts = (0.99 * large.feature_class_sizes).astype(int)
    found = relaxation(large, **SMALL_SAMPLES).at(counts, closely=True)
    x = found.mixture.x
    np.testing.assert_allclose(np.bincount(large.feature_classes, x), counts, rtol=1e-7)
    margins_of_x = large.comparisons.margins(large.sums(x) / counts).ravel()
    np.testing.assert_allclose(found.margins, margins_of_x, atol=1e-9 * np.abs(margins_of_x).max())
    assert found.model == pytest.approx(margins_of_x.min())
    assert np.count_nonzero((x > 0) & (x < 1)) < 100  # a vertex has as many as there are comparisons, at most


def test_begun_with_good_multipliers_it_takes_fewer_looks(large):
    counts = (0.99 * large.feature_class_sizes).astype(int)
    budget = no_limit(large)
    engine = relaxation(large, budget, **SMALL_SAMPLES)
    cold = engine.at(counts, closely=True)
    looks = budget.lps
    other = relaxation(large, budget, **SMALL_SAMPLES)
    other.start_from(cold.cut.multipliers)
    warm = other.at(counts, closely=True)
    assert budget.lps - looks < looks
    assert warm.value == pytest.approx(cold.value, rel=1e-2)


def test_with_many_comparisons_the_program_holds_those_that_matter():
    data = cobic.datasets.make_large_expression(600, n_samples=300, n_classes=3, seed=2)
    problem = cobic.Problem(data.X, data.y)
    counts = problem.feature_class_sizes - 10
    few, all_ = (relaxation(problem, sample_rows=rows).at(counts, closely=True) for rows in (60, 1000))
    assert few.value == pytest.approx(all_.value, rel=5e-3)
    assert few.model == pytest.approx(all_.model, rel=5e-3)


@pytest.mark.parametrize("least", [False, True])
def test_where_the_counts_leave_no_choice_it_is_the_margin_of_the_only_selection(large, least):
    counts = large.feature_class_sizes.copy()
    if least:
        counts[0] -= 1
    found = relaxation(large, **SMALL_SAMPLES).at(counts, closely=True)
    wanted = relaxation_by_linprog(large, counts)
    assert found.value == pytest.approx(wanted, rel=1e-4)
    assert found.model == pytest.approx(wanted, rel=1e-4)


@pytest.fixture(scope="module")
def uneven():
    """Two classes, one with five of 5000 features."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 5000)), np.tile(["a", "b"], 20)
    leads = X[y == "b"].mean(axis=0) - X[y == "a"].mean(axis=0)
    X *= np.where((leads > 0) == (np.arange(5000) < 5), 1.0, -1.0)
    return cobic.Problem(X, y, 0.3)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_of_a_class_with_few_features_enough_are_drawn(uneven, n):
    counts, budget = np.array([1200, n]), no_limit(uneven)
    found = relaxation(uneven, budget, gathered_cells=40_000, **SMALL_SAMPLES).at(counts, closely=True)
    wanted = relaxation_by_linprog(uneven, counts)
    assert found.value == pytest.approx(wanted, rel=2e-2)
    assert found.model == pytest.approx(wanted, rel=2e-2)
    assert budget.lps <= 12


def test_dives_have_a_window_where_all_features_of_a_class_are_required(uneven):
    fixed_in = np.flatnonzero(uneven.feature_classes == 1).tolist()
    problem = cobic.Problem(uneven.raw, np.tile(["a", "b"], 20), 0.3, fixed_in=fixed_in)
    engine = relaxation(problem, **SMALL_SAMPLES)
    engine.at(np.array([1200, 5]))
    assert engine.window.by_class[1].size == 0


def test_a_rounded_mixture_has_the_counts_and_keeps_what_is_whole(large):
    rng = np.random.default_rng(0)
    counts = large.feature_class_sizes - 25
    x = relaxation(large).at(counts, closely=True).mixture.x
    for generator in (None, rng):
        support = round_to_counts(large, x, counts, generator)
        np.testing.assert_array_equal(large.counts(support), counts)
        assert support[x == 1].all()
        assert not support[x == 0].any()


def test_with_very_many_comparisons_relaxations_come_from_pieces_and_dives_have_their_window():
    data = cobic.datasets.make_large_expression(600, n_samples=300, n_classes=3, seed=2)
    problem = cobic.Problem(data.X, data.y)
    counts = problem.feature_class_sizes - 10
    by_program = relaxation(problem).at(counts, closely=True)
    engine = relaxation(problem, sampled_rows=100, complete_window_cells=0)
    by_pieces = engine.at(counts, closely=True)
    assert by_pieces.value == pytest.approx(by_program.value, rel=5e-3)
    assert engine.window.holds(counts)
