"""The inner linear program: cobic's way of driving HiGHS against scipy's `linprog` on the same matrix."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from benchmarks.timing import best_of, data_sets
from cobic.budget import Budget
from cobic.lp import LpSolver
from cobic.program import LinearProgram
from cobic.relaxation import Relaxation, shares_of


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Cold and warm solves, as ratios to one cold `linprog` with its defaults."""
    rows = []
    for name, data in data_sets().items():
        problem = data.problem()
        relaxation = Relaxation(problem)
        shares = shares_of(problem, np.ones(problem.n_features))
        program = relaxation.at_shares(shares)
        moved = relaxation.at_shares(shares + np.array([0.01, -0.01]))
        repetitions = 2 if quick else 5
        theirs, other = best_of(repetitions, lambda program=program: _linprog(program))
        cold, x = best_of(repetitions, lambda program=program: LpSolver(Budget(None, None, 0)).solve(program))
        solver = LpSolver(Budget(None, None, 0))
        solver.solve(program)
        warm, _ = best_of(1, lambda moved=moved, solver=solver: solver.solve(moved))
        rows.append(
            {
                "data": name,
                "linprog s": theirs,
                "cold s": cold,
                "cold/linprog": cold / theirs,
                "warm/linprog": warm / theirs,
                "same optimum": bool(abs(x.x.sum() + other.fun) < 1e-6 * x.x.size),
            }
        )
    return rows


def _linprog(program: LinearProgram) -> Any:
    shape = (program.n_rows, program.n_columns)
    rows = sp.csc_matrix((program.values, program.rows, program.starts), shape=shape)
    return linprog(-np.ones(shape[1]), -rows, np.zeros(shape[0]), bounds=(0, 1))
