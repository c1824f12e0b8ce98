"""LP fixed point: the loop of Busygin, Prokopyev & Pardalos (2005) with linear programs in place of 0-1 programs.

Take the shares of the feature classes in the present selection (all features at first), solve the linear program for
these shares, take the shares of its solution, and so on until they no longer move. Each solution is rounded at ½,
repaired and, if it is truly consistent, kept as a candidate.

The loop needs very few linear programs and ends close to the best value over all shares; it proves nothing.
"""

import numpy as np

from cobic.checks import require_whole
from cobic.methods.relaxation import Relaxation, shares_of
from cobic.problem import Problem
from cobic.search.budget import Budget, Incumbent
from cobic.search.judge import Outcome
from cobic.search.lp import LpSolver
from cobic.search.repair import repair

_SAME_SHARES = 1e-9  # shares are quotients of whole numbers: different ones differ by more


def solve(
    problem: Problem,
    budget: Budget,
    rng: np.random.Generator,  # noqa: ARG001
    *,
    max_iterations: int = 50,
) -> Outcome:
    """Run the fixed point.

    Parameters
    ----------
    problem, budget, rng : Problem, Budget, numpy.random.Generator
        What to solve, and when to stop; nothing is random here.
    max_iterations : int, default=50
        Largest number of linear programs; the loop can cycle.

    Returns
    -------
    Outcome
        The largest consistent selection met, or an empty one.
    """
    require_whole("max_iterations", max_iterations, 1)
    incumbent = Incumbent(problem, budget)
    if not incumbent.offer(problem.selectable):
        iterate(problem, budget, incumbent, max_iterations)
    return Outcome(incumbent.selection)


def iterate(problem: Problem, budget: Budget, incumbent: Incumbent, max_iterations: int) -> None:
    """Repeat the loop until the shares no longer move, offering a repaired selection after each linear program."""
    relaxation, solver = Relaxation(problem), LpSolver(budget)
    seen = [shares_of(problem, problem.selectable.astype(np.float64))]
    for _ in range(max_iterations):
        solution = solver.solve(relaxation.at_shares(seen[-1]))
        if solution is None:
            break
        x = relaxation.by_feature(solution.x)
        mended = repair(problem, x > 0.5, budget)
        if mended is not None:
            incumbent.offer(mended)
        shares = shares_of(problem, x)
        if any(np.abs(shares - earlier).max() < _SAME_SHARES for earlier in seen):
            break
        seen.append(shares)
