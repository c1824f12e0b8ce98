"""Bounds over whole boxes of counts, against every selection and against a linear program that lists all sets."""

import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import cobic
from cobic.certified.bundle import Bundle
from cobic.certified.effort import Effort
from cobic.search.budget import Budget
from cobic.search.lp import LpSolver
from cobic.search.program import LinearProgram
from strategies import TAME, examples, instances, margins
from test_constraints import constrained
from test_soft import PRICES, check_against_brute_force

UNHURRIED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


def no_limit(problem):
    return Budget(None, None, problem.n_features)


# Features are decided on before counts are, or boxes are put back after every look.
OTHERWISE = pytest.mark.parametrize(
    "effort",
    [Effort(mixed=np.inf, no_share=0.0), Effort(looks_at_a_time=1)],
    ids=["features first", "a look at a time"],
)


@OTHERWISE
@settings(max_examples=examples(100), deadline=None, suppress_health_check=UNHURRIED)
@given(data=st.data(), instance=instances(values=TAME, max_features=7), price=PRICES)
def test_boxes_lead_to_the_optimum_of_brute_force(effort, data, instance, price):
    X, y = instance
    alpha, beta = data.draw(margins(len(y)))
    check_against_brute_force(X, y, price, effort, alpha=alpha, beta=beta)


@OTHERWISE
@settings(max_examples=examples(60), deadline=None, suppress_health_check=UNHURRIED)
@given(case=constrained(), price=PRICES)
def test_they_do_with_constraints(effort, case, price):
    X, y, fixed_in, fixed_out, groups = case
    check_against_brute_force(X, y, price, effort, fixed_in=fixed_in, fixed_out=fixed_out, groups=groups)


def least_bound(problem, low, high):
    """The best mixture of all sets with counts in a box: what no multipliers can go below."""
    columns, sizes, classes = [], [], []
    dense = problem.columns(np.arange(problem.n_features))
    for cls, members in enumerate(problem.features_of_class):
        for size in range(low[cls], high[cls] + 1):
            for chosen in combinations(members.tolist(), size):
                means = np.zeros((problem.n_samples, problem.n_classes))
                means[:, cls] = dense[:, list(chosen)].mean(axis=1)
                empty = np.zeros_like(means)
                comparisons = problem.comparisons
                columns.append((comparisons.margins(means) - comparisons.margins(empty)).ravel())
                sizes.append(size)
                classes.append(cls)
    empty_margins = problem.comparisons.margins(np.zeros((problem.n_samples, problem.n_classes)))
    per_sample = empty_margins.shape[1]
    slacks = np.repeat(np.eye(problem.n_samples), per_sample, axis=0)
    found = linprog(
        -np.concatenate([sizes, np.full(problem.n_samples, -problem.slack_penalty)]),
        A_ub=-np.concatenate([np.array(columns).T, slacks], axis=1),
        b_ub=empty_margins.ravel(),
        A_eq=np.concatenate(
            [np.equal.outer(np.arange(problem.n_classes), classes), np.zeros((problem.n_classes, problem.n_samples))],
            axis=1,
        ),
        b_eq=np.ones(problem.n_classes),
    )
    assert found.success
    return -found.fun


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_the_bound_of_a_box_is_the_least_that_multipliers_can_prove(n_classes, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(9) % n_classes
    X = rng.normal(size=(9, 5 * n_classes)) + 0.7 * np.equal.outer(y, np.arange(5 * n_classes) % n_classes)
    problem = cobic.Problem(X, y, alpha=1.0, slack_penalty=2.0)
    low, high = np.ones(n_classes, dtype=int), problem.feature_class_sizes.copy()
    low[0] = min(2, high[0])
    wanted = least_bound(problem, low, high)
    relaxation = Bundle(problem, no_limit(problem))
    solution = relaxation.minimise(low, high, lambda value, model, _: value - model <= 1e-6)
    assert solution.model <= wanted + 1e-6
    proven = float(solution.cut.objective_bounds(low[None, :], high[None, :])[0])
    assert proven == pytest.approx(wanted, abs=1e-5)
    assert proven >= wanted - 1e-9
    assert proven < problem.n_features - 0.1  # it says something
    assert (solution.counts >= low).all()
    assert (solution.counts <= high).all()


@pytest.mark.long
@pytest.mark.parametrize("shape", [(60, 6000, 2, 1.0, 10.0), (2100, 400, 4, 0.05, 3.0)], ids=["wide", "thin"])
def test_where_no_single_point_tells_much_the_bound_still_does(shape):
    n_samples, n_features, n_classes, density, price = shape
    data = cobic.datasets.make_large_expression(
        n_features, n_samples=n_samples, n_classes=n_classes, density=density, mislabelled=0.03, seed=0
    )
    problem = cobic.Problem(data.X, data.y, slack_penalty="auto")
    problem = problem.softened(price * problem.slack_penalty)
    result = cobic.solve(problem, max_programs=100)
    assert result.lps <= 100
    assert result.objective_bound - result.objective < 0.02 * n_features
    assert result.objective_bound < 0.995 * n_features
    assert cobic.verify(problem, result.certificate).ok


def test_a_program_that_grows_and_shrinks_starts_where_it_was():
    rng = np.random.default_rng(3)
    budget = Budget(None, None, 1)
    solver, columns, rows = LpSolver(budget, primal=True), [], []
    entries, gains = {}, {}
    steps = {"warm": 0, "cold": 0}
    for turn in range(40):
        rows = [row for row in rows if rng.random() > 0.03] + [("row", turn)]
        columns = [column for column in columns if rng.random() > 0.03] + [("column", turn)]
        gains[columns[-1]] = rng.random()
        A = np.array([[entries.setdefault((row, column), rng.random()) for column in columns] for row in rows])
        program = LinearProgram(
            starts=np.arange(0, A.size + 1, len(rows), dtype=np.int32),
            rows=np.tile(np.arange(len(rows), dtype=np.int32), len(columns)),
            values=A.T.ravel(),
            gain=np.array([gains[column] for column in columns]),
            lower=np.zeros(len(columns)),
            upper=np.ones(len(columns)),
            row_lower=np.full(len(rows), -np.inf),
            row_upper=np.ones(len(rows)),
        )
        x = solver.solve(program, (columns, rows)).x
        anew = LpSolver(budget, primal=True)
        anew.solve(program)
        steps["warm"] += solver.highs.getInfo().simplex_iteration_count
        steps["cold"] += anew.highs.getInfo().simplex_iteration_count
        wanted = linprog(-program.gain, A_ub=A, b_ub=np.ones(len(rows)), bounds=(0, 1))
        assert program.gain @ x == pytest.approx(-wanted.fun, abs=1e-7)
        assert (A @ x <= 1 + 1e-6).all()
    assert 1.5 * steps["warm"] < steps["cold"]


def test_prices_and_values_beyond_what_the_solver_bears_are_bounded_all_the_same():
    X = 1e4 * np.random.default_rng(0).normal(size=(9, 10))
    problem = cobic.Problem(X, np.arange(9) % 2, alpha=1e4, slack_penalty=1e12)
    result = cobic.solve(problem, max_programs=50)
    assert result.objective <= result.objective_bound
    assert cobic.verify(problem, result.certificate).ok


_SOLVED = """
import hashlib, json, cobic
data = cobic.datasets.make_large_expression(400, n_samples=300, n_classes=4, density=0.1, mislabelled=0.05, seed=0)
problem = cobic.Problem(data.X, data.y, slack_penalty="auto")
result = cobic.solve(problem.softened(5 * problem.slack_penalty), max_programs=60)
print(len(result.certificate["multipliers"]), hashlib.sha256(json.dumps(result.certificate).encode()).hexdigest())
"""


@pytest.mark.processes
def test_the_certificate_is_the_same_in_every_process():
    told = {subprocess.run([sys.executable, "-c", _SOLVED], capture_output=True, check=True).stdout for _ in range(3)}
    assert len(told) == 1
    assert int(told.pop().split()[0]) > 0
