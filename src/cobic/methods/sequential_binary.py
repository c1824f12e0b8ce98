"""A sequence of 0-1 linear programs: the heuristic of Busygin, Prokopyev & Pardalos (2005).

The problem is fractional: a class mean has the number of selected features in its denominator. With the reciprocals
z_r of these numbers held fixed, the comparisons are linear in x:

1. x = 1: all features.
2. ``z_r = 1 / Σ_{F_r} x_i`` for every class.
3. Solve the 0-1 *linear* program: maximise Σ x_i such that ``z_r Σ_{F_r} a_ij x_i ≥ α_j + β_j z_q Σ_{F_q} a_ij x_i``
   for every comparison.
4. Stop if ``z_r Σ_{F_r} x_i = 1`` for every class: the numbers of features are those that z assumed, so x is
   consistent. Otherwise back to 2.

Their margin factor 1 + t with t = 0.1 is ``beta=1.1`` here. Where the source is silent, we read it so:

* the loop can go round in circles: it ends when numbers of features come back, and after `max_iterations`;
* a 0-1 program can take forever: after `program_seconds` its best solution is taken as it is;
* solvers do not know ``>``: each margin must hold by a millionth of the sample's largest value;
* the answer is the largest selection met that is consistent by its *true* means, whether the loop has settled or not.
  If there was none, it is the last x, and the result says so.

Nothing is repaired and nothing is proven: the method is here as it was published, to be compared with.
"""

import numpy as np

from cobic.checks import is_number, require_whole
from cobic.errors import InputError
from cobic.methods.relaxation import Relaxation
from cobic.problem import Problem
from cobic.search.budget import Budget, Incumbent
from cobic.search.judge import Outcome
from cobic.search.lp import solve_mixed

_SURPLUS = 1e-6  # of a margin: beyond the tolerance of the solver
_WHOLE = 1 - 1e-6  # a larger selection has at least one feature more


def solve(
    problem: Problem,
    budget: Budget,
    rng: np.random.Generator,  # noqa: ARG001
    *,
    max_iterations: int = 20,
    program_seconds: float = 10.0,
) -> Outcome:
    """Run the sequence.

    Parameters
    ----------
    problem, budget, rng : Problem, Budget, numpy.random.Generator
        What to solve, and when to stop; nothing is random here, but programs may end in time or not.
    max_iterations : int, default=20
        Largest number of 0-1 programs.
    program_seconds : float, default=10.0
        How long one of them may take.

    Returns
    -------
    Outcome
        The largest consistent selection met; the last selection if there was none.
    """
    require_whole("max_iterations", max_iterations, 1)
    if not (is_number(program_seconds) and program_seconds > 0):
        message = f"program_seconds is {program_seconds!r}: give a number of seconds above 0"
        raise InputError(message)
    relaxation, incumbent = Relaxation(problem), Incumbent(problem, budget)
    x, met = problem.selectable, set()
    if not incumbent.offer(x):
        for _ in range(max_iterations):
            counts = problem.counts(x)
            if tuple(counts) in met or not counts.all():
                break
            met.add(tuple(counts))
            program = relaxation.at_counts(counts, _SURPLUS)
            solution = solve_mixed(program, budget, gap=_WHOLE, seconds=program_seconds)
            if solution.x is None:
                break
            budget.lps += 1
            x = relaxation.by_feature(solution.x) > 0.5
            incumbent.offer(x)
    return Outcome(x if incumbent.support is None else incumbent.support)
