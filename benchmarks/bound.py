"""Time until the bound is proven, against one cold `linprog` of the share program with its tie to the counts."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

import cobic
from benchmarks.timing import best_of, data_sets
from cobic.relaxation import Relaxation


def run(*, quick: bool) -> list[dict[str, Any]]:
    """One line per data set: bound, seconds, and their ratio to the other solver's single program."""
    rows = []
    repetitions = 2 if quick else 5
    for name, data in data_sets().items():
        problem = data.problem()
        _, result = best_of(1, lambda p=problem: cobic.solve(p))
        program = _tied_program(problem, np.array(result.counts) / result.n_selected)
        theirs, other = best_of(repetitions, lambda program=program: linprog(**program))
        ours = min(_time_to_bound(cobic.solve(problem)) for _ in range(repetitions))
        whole, result = best_of(repetitions, lambda p=problem: cobic.solve(p))
        checking, checked = best_of(1, lambda p=problem, r=result: cobic.verify(p, r.certificate))
        rows.append(
            {
                "data": name,
                "linprog s": theirs,
                "linprog value": -other.fun,
                "bound": result.upper_bound,
                "bound s": ours,
                "bound/linprog": ours / theirs,
                "optimum/linprog": whole / theirs,
                "verify s": checking,
                "verified": checked.ok,
            }
        )
    return rows


def _time_to_bound(result: cobic.Result) -> float:
    return next((event.elapsed for event in result.history if event.upper_bound == result.upper_bound), result.seconds)


def _tied_program(problem: cobic.Problem, shares: Any) -> dict[str, Any]:
    """The linear program for fixed shares, whose solution must have these shares."""
    program = Relaxation(problem).at_shares(shares)
    matrix = sp.csc_matrix((program.values, program.rows, program.starts), shape=(program.n_rows, program.n_columns))
    of = np.repeat(np.arange(problem.n_classes), problem.feature_class_sizes)
    ties = np.stack([(of == cls) / shares[cls] - 1.0 for cls in range(problem.n_classes - 1)])
    return {
        "c": -np.ones(program.n_columns),
        "A_ub": -matrix,
        "b_ub": np.zeros(program.n_rows),
        "A_eq": sp.csc_matrix(ties),
        "b_eq": np.zeros(len(ties)),
        "bounds": (0, 1),
    }
