import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

import cobic
from clocks import Ticking
from cobic.methods.relaxation import Relaxation, shares_of
from cobic.search.budget import Budget
from cobic.search.lp import LpSolver


def make(k, seed, as_kind=np.asarray, **arguments):
    rng = np.random.default_rng(seed)
    X = rng.integers(-20, 40, size=(5 * k, 60)).astype(float)
    y = np.arange(5 * k) % k
    X[:, :k] += 40 * (y[:, None] == np.arange(k))  # every class gets a feature
    return cobic.Problem(as_kind(X), y, **arguments)


def dense_rows(program):
    matrix = sp.csc_matrix((program.values, program.rows, program.starts), shape=(program.n_rows, program.n_columns))
    return matrix.toarray()


CASES = [
    {"k": 2},
    {"k": 2, "alpha": 3.0},
    {"k": 2, "beta": 1.5},
    {"k": 3, "alpha": 1.0, "beta": 1.2},
    {"k": 4},
    {"k": 3, "beta": 2.0, "beta_rule": "sign-aware"},
]


@pytest.mark.parametrize("case", CASES)
def test_rows_at_the_true_shares_have_the_signs_of_the_true_margins(case):
    problem = make(seed=1, **case)
    relaxation = Relaxation(problem)
    rng = np.random.default_rng(2)
    order = relaxation.by_feature(np.arange(1.0, problem.n_selectable + 1)).astype(int) - 1
    for _ in range(20):
        support = rng.random(problem.n_features) < 0.7
        if not problem.counts(support).all():
            continue
        x = np.empty(problem.n_features)
        x[order] = support
        rows = dense_rows(relaxation.at_shares(shares_of(problem, support.astype(float)))) @ x
        margins = problem.comparisons.margins(problem.means(support))
        expected = margins * support.sum() / problem.row_scale()[:, None]
        np.testing.assert_allclose(rows, expected.ravel(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_the_optimum_is_that_of_an_independent_solver(case, as_kind):
    problem = make(seed=3, as_kind=as_kind, **case)
    budget = Budget(None, None, problem.n_features)
    relaxation, solver = Relaxation(problem), LpSolver(budget)
    shares = shares_of(problem, np.ones(problem.n_features))
    for nudge in (0.0, 0.03, -0.05):  # the later ones start from the basis of the first
        moved = shares.copy()
        moved[0] += nudge
        moved[1] -= nudge
        program = relaxation.at_shares(moved)
        x = solver.solve(program).x
        other = linprog(-np.ones(program.n_columns), -dense_rows(program), np.zeros(program.n_rows), bounds=(0, 1))
        assert x.sum() == pytest.approx(-other.fun, abs=1e-6)
        assert (dense_rows(program) @ x > -1e-6).all()
    assert budget.lps == 3


def test_shares_are_positive_and_add_up_to_one():
    problem = make(3, 0)
    for weights in (np.zeros(60), np.ones(60), (problem.feature_classes == 1).astype(float)):
        shares = shares_of(problem, weights)
        assert (shares > 0).all()
        assert shares.sum() == pytest.approx(1)


def test_a_solve_that_is_out_of_time_returns_nothing():
    problem = make(2, 0)
    budget = Budget(1, None, problem.n_features, clock=Ticking())
    assert LpSolver(budget).solve(Relaxation(problem).at_shares(np.array([0.5, 0.5]))) is None
    assert budget.stopped_by == "time limit"


def test_the_solver_is_interrupted_in_the_middle_of_a_program():
    rng = np.random.default_rng(0)
    problem = cobic.Problem(rng.standard_normal((200, 1000)), np.arange(200) % 2, alpha=0.2)  # many rows bind
    clock = Ticking()
    budget = Budget(100, None, problem.n_features, clock=clock)
    relaxation = Relaxation(problem)
    assert LpSolver(budget).solve(relaxation.at_shares(np.array([0.5, 0.5]))) is None
    assert budget.stopped_by == "time limit"
    assert clock.looks <= 102
