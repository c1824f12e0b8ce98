"""What a proof says about single features: those in every selection that is as large, and those in none.

Multipliers λ bound Σ λ·margin of every selection with counts n by v(n), where each class has its best n_r features
(:mod:`cobic.certified.bounds`). A selection without one of these, feature i, has the next best in its place: v falls by
(e_i − e_next)/n_r. Where that brings v to zero, every consistent selection with these counts has feature i; and
likewise for features that would have to come in. This is reduced-cost fixing, at each of the few count vectors that a
selection of the size can have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cobic.certified.bounds import Cut
from cobic.certified.branching import Brancher
from cobic.certified.bundle import Bundle
from cobic.certified.effort import DEFAULT
from cobic.certified.fixing import best_of_class
from cobic.certified.programs import FeaturePrograms
from cobic.errors import InputError
from cobic.matrix import Bools, Integers
from cobic.problem import Problem
from cobic.problem.identity import problem_parameters
from cobic.search.budget import Budget
from cobic.search.result import Result


@dataclass(frozen=True, eq=False)
class SettledFeatures:
    """Features about which all selections of a size agree.

    Attributes
    ----------
    n_selected : int
        The size: it is about all consistent selections with so many features or more.
    always : ndarray of bool, shape (n_features,)
        Features that every one of them has.
    never : ndarray of bool, shape (n_features,)
        Features that none of them has.

    Examples
    --------
    >>> import cobic
    >>> problem = cobic.datasets.make_expression(n_features=300, seed=1).problem()
    >>> settled = cobic.settled_features(problem, cobic.solve(problem))
    >>> int(settled.always.sum() + settled.never.sum() + settled.undecided.sum())
    300
    """

    n_selected: int
    always: Bools
    never: Bools

    @property
    def undecided(self) -> Bools:
        """Features about which nothing was proven."""
        return ~(self.always | self.never)

    def __repr__(self) -> str:
        """The numbers in one line."""
        return (
            f"<SettledFeatures: of all selections with {self.n_selected} features or more, {int(self.always.sum())} "
            f"features are in every one, {int(self.never.sum())} in none>"
        )


def settled_features(problem: Problem, result: Result, time_limit: float | None = 60.0) -> SettledFeatures:
    """Tell which features are in every selection as large as the one found, and which are in none; both are proven.

    Parameters
    ----------
    problem : Problem
        The problem, with hard margins.
    result : Result
        An answer of the method ``"certified"``; where it is optimal, it is about all optimal selections.
    time_limit : float or None, default=60.0
        Seconds; what could not be proven within them is undecided.

    Returns
    -------
    SettledFeatures
        What multipliers prove. A feature that is in neither list may still be in all or none.

    Raises
    ------
    InputError
        If the margins are soft, or the answer has no certificate, no selection, or is one of another problem.

    Examples
    --------
    >>> import cobic
    >>> problem = cobic.datasets.make_expression(n_features=300, seed=1).problem()
    >>> result = cobic.solve(problem)
    >>> settled = cobic.settled_features(problem, result)
    >>> bool((result.support >= settled.always).all())
    True
    """
    if problem.soft or result.certificate is None or not result.consistent:
        message = "features are settled by a certificate of hard margins with a selection: use the method certified"
        raise InputError(message)
    mine = {"data": problem.digest, "problem": problem_parameters(problem)}
    if any(result.certificate[part] != value for part, value in mine.items()):
        message = "the answer is not one of this problem: give the problem that was solved"
        raise InputError(message)
    size = result.n_selected
    if size == problem.n_selectable:
        return SettledFeatures(size, problem.selectable.copy(), ~problem.selectable)
    always, never = problem.required.copy(), ~problem.selectable
    with Budget(time_limit, None, problem.n_selectable) as budget:
        forced = _forced_at_all(problem, result, budget)
    if budget.stopped_by == "interrupt":
        raise KeyboardInterrupt
    if forced is not None:
        always, never = always | (forced[0] & problem.selectable), never | forced[1]
    return SettledFeatures(size, always, never)


def _forced_at_all(problem: Problem, result: Result, budget: Budget) -> tuple[Bools, Bools] | None:
    """Features forced in, and out, at all counts that a selection as large can have; None if that is not known."""
    brancher, points = Brancher(FeaturePrograms(Bundle(problem, budget))), []
    counts = problem.counts(result.support)
    for total in range(result.n_selected, result.upper_bound + 1):
        found = brancher.settle(total, counts / counts.sum(), DEFAULT.settled_counts)
        points += [point.counts for point in found.open_points]
        if not found.complete or len(points) > DEFAULT.settled_counts:
            return None
    always = np.ones(problem.n_features, dtype=np.bool_)
    never = always.copy()
    programs, cuts = FeaturePrograms(Bundle(problem, budget)), list[Cut]()
    for point in points:
        solution = programs.solve(point, closely=True)
        if solution is None:
            return None
        cuts = [solution.cut, *cuts[: DEFAULT.settling_cuts - 1]]
    # Multipliers that are best at one point often say as much at the others.
    for point in points:
        if budget.exhausted():
            return None
        forced = [_forced(problem, cut, point) for cut in cuts]
        always &= np.any([forced_in for forced_in, _ in forced], axis=0)
        never &= np.any([forced_out for _, forced_out in forced], axis=0)
    return (always, never) if points else None


def _forced(problem: Problem, cut: Cut, counts: Integers) -> tuple[Bools, Bools]:
    """Features that multipliers force into, and out of, all selections with some counts; where there are none, all."""
    forced_in = np.zeros(problem.n_features, dtype=np.bool_)
    forced_out = np.zeros(problem.n_features, dtype=np.bool_)
    value, enough = float(cut.values(counts[None, :])[0]), -2 * cut.error  # the values and the losses may be off
    for members, n in zip(problem.features_of_class, counts.tolist(), strict=True):
        free = members[~problem.required[members]]
        best, losses = best_of_class(cut.scores[free], n - int(problem.required[members].sum()), n)
        is_best = np.zeros(free.size, dtype=np.bool_)
        is_best[best] = True
        forced = value - losses <= enough
        forced_in[free] = forced & (is_best | (value <= enough))
        forced_out[free] = forced & (~is_best | (value <= enough))
    return forced_in, forced_out
