"""A sequence of continuous linear programs, after Nahapetyan, Busygin & Pardalos (2008).

Their paper says that a sequence of *continuous* linear programs takes the place of the 0-1 programs of Busygin,
Prokopyev & Pardalos (2005), and that this is faster and keeps more features. Its step rules are not freely available.
These are ours:

1. x = 1: all features. The surplus of every sample is 0.
2. Replace every class mean by its tangent at x (:mod:`cobic.methods.relaxation`); solve the linear program: maximise
   Σ x_i, 0 ≤ x ≤ 1, such that every margin holds by at least the sample's surplus. One elastic column, at a high price,
   keeps it solvable.
3. Round at ½. A rounded x that is consistent by its true means is a candidate.
4. If x has moved, back to 2 at the new x: this is sequential linear programming (Newton's method for the margins), and
   it settles within a few programs where it settles.
5. If x has settled and its rounding is not consistent, raise the surplus of each sample by what the rounding lacks
   there, and back to 2. Otherwise stop.

In contrast to the fixed point of the shares (:mod:`cobic.methods.fixed_point`) the tangent knows how a mean moves when
features are dropped. The largest candidate is the answer; if there was none, the last rounding is, and the result says
so. Nothing is proven.
"""

import numpy as np

from cobic.checks import require_whole
from cobic.matrix import Floats
from cobic.methods.relaxation import Relaxation
from cobic.problem import Problem
from cobic.search.budget import Budget, Incumbent
from cobic.search.judge import Outcome
from cobic.search.lp import LpSolver

_SAME = 1e-7  # the tolerance of the linear programs
_LEAST_STEP = 1e-9  # so that a margin that is just met is asked for a little more
_PRICE = 1e3  # features per unit of a row, whose entries are of size 1


def solve(
    problem: Problem,
    budget: Budget,
    rng: np.random.Generator,  # noqa: ARG001
    *,
    max_iterations: int = 100,
) -> Outcome:
    """Run the sequence.

    Parameters
    ----------
    problem, budget, rng : Problem, Budget, numpy.random.Generator
        What to solve, and when to stop; nothing is random here.
    max_iterations : int, default=100
        Largest number of linear programs.

    Returns
    -------
    Outcome
        The largest consistent selection met; the last selection if there was none.
    """
    require_whole("max_iterations", max_iterations, 1)
    relaxation, solver, incumbent = Relaxation(problem), LpSolver(budget), Incumbent(problem, budget)
    support, surplus = problem.selectable, np.zeros(problem.n_samples)
    x: Floats = support.astype(np.float64)
    settled = incumbent.offer(support)
    for _ in range(0 if settled else max_iterations):
        solution = solver.solve(relaxation.tangent(x, surplus).with_elastic(_PRICE))
        if solution is None:
            break
        before, x = x, relaxation.by_feature(solution.x[:-1])
        support = problem.constraints.complete(x > 0.5)
        if not problem.counts(support).all():
            break
        consistent = incumbent.offer(support)
        if np.abs(x - before).max() < _SAME:
            if consistent:
                break
            # By how much each sample misses its margin, per unit of its largest value; a trifle where it is just met.
            short = problem.violations(support) / problem.row_scale() + _LEAST_STEP
            surplus += np.where(problem.margins(support) <= 0, short, 0.0)
    return Outcome(support if incumbent.support is None else incumbent.support)
