"""The mixed-integer program: it says what the problem says, selection by selection."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cobic
from cobic.methods.linearisation import CountRange, Linearisation
from cobic.search.budget import Budget
from cobic.search.lp import LpSolver
from oracle import Oracle
from strategies import TAME, examples, instances, margins

TOLERANCE = 1e-7


def dense(program):
    A = np.zeros((program.n_rows, program.n_columns))
    entries = program.entries
    np.add.at(A, (entries.rows, entries.columns), entries.values)
    return A


def fits(program, x):
    rows = dense(program) @ x
    size = 1 + np.abs(rows)
    inside = (rows >= program.row_lower - TOLERANCE * size) & (rows <= program.row_upper + TOLERANCE * size)
    return inside.all() and (x >= program.lower - TOLERANCE).all() and (x <= program.upper + TOLERANCE).all()


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data(), instance=instances(values=TAME, max_features=6), at_least=st.integers(0, 4))
def test_a_selection_is_a_solution_exactly_if_its_margins_are_not_negative(data, instance, at_least):
    X, y = instance
    alpha, beta = data.draw(margins(len(y)))
    problem, oracle = cobic.Problem(X, y, alpha, beta), Oracle(X, y, alpha, beta)
    counts = CountRange.of(problem, at_least)
    if not problem.feature_class_sizes.all() or counts.empty:
        return
    model = Linearisation(problem, counts)
    for chosen in product((False, True), repeat=problem.n_features):
        support = np.array(chosen)
        worst = oracle.margins(support)
        if worst is None:
            continue
        holds = min(worst) >= 0 and support.sum() >= at_least
        assert fits(model.program, model.solution(support)) == holds
        np.testing.assert_array_equal(model.selection(model.solution(support)), support)


@settings(max_examples=examples(40), deadline=None)
@given(instance=instances(values=TAME, max_features=6), price=st.sampled_from([0.3, 1.0, 4.0]))
def test_with_soft_margins_every_selection_is_a_solution_worth_its_objective(instance, price):
    X, y = instance
    problem, oracle = cobic.Problem(X, y, slack_penalty=price), Oracle(X, y)
    if not problem.feature_class_sizes.all():
        return
    model = Linearisation(problem, CountRange.of(problem, 0), least=-1e3)
    for chosen in product((False, True), repeat=problem.n_features):
        objective = oracle.objective(chosen, price)
        if objective is not None:
            x = model.solution(np.array(chosen))
            assert fits(model.program, x)
            assert model.program.gain @ x == pytest.approx(float(objective))


@settings(max_examples=examples(30), deadline=None)
@given(instance=instances(values=TAME, max_features=5), at_least=st.integers(0, 3))
def test_a_whole_x_leaves_nothing_open(instance, at_least):
    X, y = instance
    problem = cobic.Problem(X, y, slack_penalty=1.0)  # soft: every selection has a solution
    counts = CountRange.of(problem, at_least)
    if not problem.feature_class_sizes.all() or counts.empty:
        return
    model = Linearisation(problem, counts, least=-1e3)
    m, k = problem.n_features, problem.n_classes
    solver, rng = LpSolver(Budget(None, None, m)), np.random.default_rng(0)
    for chosen in product((False, True), repeat=m):
        support = np.array(chosen)
        if not problem.counts(support).all() or support.sum() < at_least:
            continue
        truth = model.solution(support)
        fixed = replace(model.program, lower=model.program.lower.copy(), upper=model.program.upper.copy())
        fixed.lower[:m] = fixed.upper[:m] = truth[:m]
        gain = np.zeros(fixed.n_columns)
        gain[m : 2 * m + k] = rng.standard_normal(m + k)  # whatever is wanted of w and z, they cannot move
        found = solver.solve(replace(fixed, gain=gain, integer=None))
        np.testing.assert_allclose(found.x[: 2 * m + k], truth[: 2 * m + k], atol=1e-6)


def test_groups_and_fixed_features_are_in_the_program():
    X = np.array([[5.0, 4, 1, 2, 0], [6, 3, 0, 1, 1], [1, 0, 5, 4, 6], [0, 2, 4, 6, 5]])
    problem = cobic.Problem(X, list("aabb"), groups=["g", "g", "", "", ""], fixed_in=[2], fixed_out=[4])
    model = Linearisation(problem, CountRange.of(problem, 0))
    assert model.features.size == 4
    for chosen in product((False, True), repeat=5):
        support = np.array(chosen)
        if problem.counts(support).all() and not support[4]:
            assert fits(model.program, model.solution(support)) == problem.is_consistent(support)


def test_ranges_follow_from_the_sizes_of_the_classes():
    rng = np.random.default_rng(0)
    high = np.array([[3.0], [3.0], [0.0], [0.0]])
    X = np.hstack([rng.random((4, 7)) + high, rng.random((4, 5)) + 3.0 - high])
    problem = cobic.Problem(X, list("aabb"))
    counts = CountRange.of(problem, 9)
    assert (counts.low.tolist(), counts.high.tolist()) == ([4, 2], [7, 5])
    required = cobic.Problem(X, list("aabb"), fixed_in=[0, 1, 2, 3, 4, 5, 7])
    assert CountRange.of(required, 9).low.tolist() == [6, 2]
    assert CountRange.of(problem, 13).empty
    assert not CountRange.of(problem, 12).empty


@given(seed=st.integers(0, 1000))
def test_any_multipliers_bound_the_gain(seed):
    rng = np.random.default_rng(seed)
    problem = cobic.Problem(rng.integers(-5, 9, (6, 9)).astype(float), [0, 0, 0, 1, 1, 1])
    if not problem.feature_class_sizes.all():
        return
    program = replace(Linearisation(problem, CountRange.of(problem, 0)).program, integer=None)
    duals = rng.standard_normal(program.n_rows)
    x = Linearisation(problem, CountRange.of(problem, 0)).solution(np.ones(9, dtype=bool))
    if fits(program, x):
        assert program.dual_bound(duals) >= program.gain @ x - 1e-6
    best = LpSolver(Budget(None, None, 9)).solve(program)
    if fits(program, best.x):
        assert program.dual_bound(best.duals) == pytest.approx(program.gain @ best.x, abs=1e-5)
