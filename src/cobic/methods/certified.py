"""The proven optimum: how many features can be kept at most, a selection that attains it, and a proof.

1. *Start.* If all features together are consistent there is nothing to do.
2. *Bound.* For a total T, all ways to distribute T over the classes are excluded by multipliers, each of which proves
   by one look at the data and a sort that no consistent selection has certain counts (:mod:`cobic.certified.bounds`).
   The level bundle method finds them (:mod:`cobic.certified.bundle`); the smallest excluded T is bracketed
   (:mod:`cobic.certified.branching`).
3. *Selection.* Below the bound fractional selections are rounded and mended; at the counts that remain, branching on
   features finds a selection or proves that there is none (:mod:`cobic.certified.search`).
4. *Certificate.* Everything that was proven is written down, for `cobic.verify` or anybody else to check.

`docs/certified.md` explains the mathematics.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cobic.certified.certificate import make_certificate
from cobic.certified.coarse import Beginning
from cobic.certified.effort import Effort
from cobic.certified.margins import selections_with_large_margins, some_selection
from cobic.certified.proof import Close, Multipliers, OrMore
from cobic.certified.search import CertifiedSearch
from cobic.certified.soft import SoftSearch
from cobic.certified.standing import Standing
from cobic.checks import is_number, require_whole
from cobic.errors import InputError
from cobic.matrix import Bools
from cobic.methods.fixed_point import iterate
from cobic.problem import Problem
from cobic.problem.identity import twins
from cobic.search.budget import Budget, Incumbent
from cobic.search.judge import Outcome
from cobic.search.repair import climb, climb_in_batches, grow, is_large, raise_margin, repair
from cobic.search.result import LeftOpenBy


def solve(
    problem: Problem,
    budget: Budget,
    rng: np.random.Generator,
    *,
    max_programs: int | None = None,
    target_gap: float = 1e-4,
    start: Sequence[Bools] = (),
    effort: Effort | None = None,
) -> Outcome:
    """Find the largest consistent selection and prove that there is no larger one.

    Parameters
    ----------
    problem, budget, rng : Problem, Budget, numpy.random.Generator
        What to solve, when to stop, and what makes repeated searches for a selection differ.
    max_programs : int, optional
        How many linear programs and looks at the data there may be, 100000 by default (4000 with soft margins). Where
        they are spent before selection and bound meet, the result is ``"feasible"`` with the gap that is left.
    target_gap : float, default=1e-4
        How far selection and bound may be apart for the search to stop, as a share of the bound (with soft margins: of
        the number of features). Unless it is 0, the search with hard margins stops as well when more effort has brought
        nothing for long; 0 goes on to the proof, or until a limit is reached.
    start : sequence of ndarray of bool, shape (n_features,), optional
        Selections from which to start, such as the answers for similar margins, the most similar one first.
    effort : cobic.certified.effort.Effort, optional
        All other limits of the search: how many programs a tree may take, how much memory a window may, and so on. They
        change how fast an answer comes, and how far the search goes, but never make one wrong.

    Returns
    -------
    Outcome
        The selection, the bound and the certificate.
    """
    if not (effort is None or isinstance(effort, Effort)):
        message = f"effort is {effort!r}: give a cobic.certified.effort.Effort"
        raise InputError(message)
    effort = effort or Effort()
    if max_programs is None:
        max_programs = effort.soft_programs if problem.soft else effort.programs
    require_whole("max_programs", max_programs, 1)
    if not (is_number(target_gap) and target_gap >= 0):
        message = f"target_gap is {target_gap!r}: give a number of at least 0"
        raise InputError(message)
    if isinstance(start, str) or not np.iterable(start):
        message = f"start is {start!r}: give a list of selections, each with one true/false value per feature"
        raise InputError(message)
    start = [problem.check_support(support) for support in start]
    if problem.soft:
        return _solve_soft(problem, budget, max_programs, target_gap * problem.n_selectable, start, effort)
    pair = twins(problem)
    if pair is not None:
        return Outcome(np.zeros(problem.n_features, dtype=np.bool_), 0, certificate=_cancelling(problem, pair))
    incumbent = Incumbent(problem, budget)
    everything = problem.selectable
    if incumbent.offer(everything):
        certificate = make_certificate(problem, everything, problem.n_selectable, [], [])
        return Outcome(everything, problem.n_selectable, certificate=certificate)
    beginning = None
    if start:
        best = _start_from(problem, budget, incumbent, start, effort.starting_moves)
        beginning = Beginning(problem.counts(best & problem.selectable).astype(np.float64))
    standing = Standing(problem, budget, incumbent, max_programs, target_gap, effort)
    search = CertifiedSearch(problem, standing, rng)
    with budget.unless_in_vain(effort.vain_time):
        search.run(beginning)
    if incumbent.support is None and standing.upper_bound and _finds_fewer(problem, budget, incumbent, effort):
        search.run(Beginning(problem.counts(incumbent.selection).astype(np.float64)))
    if incumbent.support is not None and not is_large(problem):
        incumbent.offer(raise_margin(problem, incumbent.support, budget))
    why, bound = _left_open_by(standing), standing.upper_bound
    return Outcome(incumbent.selection, bound, left_open_by=why, certificate=search.certificate())


def _cancelling(problem: Problem, pair: tuple[int, int]) -> dict[str, Any]:
    """The proof that two samples contradict each other: the multipliers of these alone, which exclude all counts."""
    multipliers = np.zeros(problem.comparisons.other.shape, dtype=np.int64)
    for one, other in (pair, pair[::-1]):
        multipliers[one, int((problem.comparisons.other[one] == problem.labels[other]).argmax())] = 1
    return make_certificate(problem, None, 0, [Multipliers.of(multipliers, 0.0)], [OrMore(), Close(0)])


def _finds_fewer(problem: Problem, budget: Budget, incumbent: Incumbent, effort: Effort) -> bool:
    """Look for a selection with far fewer features, which can have far larger margins; tell whether there is one."""
    some = some_selection(problem, budget, effort)
    if some is not None:
        for each in (some, grow(problem, some, budget)):
            incumbent.offer(each)
        return True
    without = problem.with_margins(0.0, problem.beta)
    return any(
        support is not None and incumbent.offer(support)
        for _, support in selections_with_large_margins(without, budget, effort)
    )


def _left_open_by(standing: Standing) -> LeftOpenBy | None:
    """What ended a search before selection and bound met; None if they did, or it was cut short."""
    if standing.budget.stopped_by is not None or standing.upper_bound == standing.n_selected:
        return None
    if standing.is_close_enough:
        return "target gap"
    return "patience" if standing.is_stuck() else "max_programs"


def _start_from(problem: Problem, budget: Budget, incumbent: Incumbent, start: Sequence[Bools], moves: int) -> Bools:
    """Mend what is there; where to begin with the bound."""
    for support in start:
        consistent = incumbent.offer(support)
        mended = grow(problem, support, budget) if consistent else repair(problem, support, budget, moves)
        if mended is not None:
            incumbent.offer(mended)
    return start[0] if incumbent.support is None else incumbent.support


def _solve_soft(
    problem: Problem, budget: Budget, max_programs: int, target_gap: float, start: Sequence[Bools], effort: Effort
) -> Outcome:
    incumbent = Incumbent(problem, budget)
    large, moves = is_large(problem), effort.starting_moves
    for support in [*start[:1], *_consistent(problem, budget, effort), problem.selectable]:
        incumbent.offer(support)
        better = climb_in_batches(problem, support, budget) if large else climb(problem, support, budget, moves)
        incumbent.offer(better)
    search = SoftSearch(problem, budget, incumbent, max_programs, target_gap, effort)
    search.run()
    bound = search.objective_bound
    why: LeftOpenBy | None = None
    if budget.stopped_by is None and bound > incumbent.objective:
        why = "target gap" if bound - incumbent.objective <= target_gap else "max_programs"
    return Outcome(incumbent.selection, problem.n_selectable, bound, left_open_by=why, certificate=search.certificate())


def _consistent(problem: Problem, budget: Budget, effort: Effort) -> list[Bools]:
    """A selection that violates nothing, if one is at hand: where violations are dear it is a good start."""
    if problem.comparisons.other.size * problem.n_features > effort.starting_cells:
        return []
    hard = problem.softened(float("inf"))
    incumbent = Incumbent(hard, budget)
    iterate(hard, budget, incumbent, effort.starting_programs)
    return [] if incumbent.support is None else [incumbent.support]
