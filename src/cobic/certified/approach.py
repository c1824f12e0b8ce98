"""The way to the bound: near the largest total at which the relaxation has a solution, from both sides.

Where features are many it begins with the bound of a part of them (:mod:`cobic.certified.coarse`).
"""

import numpy as np

from cobic.certified.bundle import Relaxed
from cobic.certified.coarse import Beginning, everything, part_of_features
from cobic.certified.effort import Effort
from cobic.certified.explorer import Explorer
from cobic.certified.selections import Selections
from cobic.certified.standing import Standing
from cobic.certified.totals import Totals
from cobic.problem import Problem
from cobic.search.budget import Budget, Incumbent, SilentBudget


class Approach:
    """Comes near the bound; of all features it takes selections and a rough bound along, of a part neither."""

    def __init__(
        self,
        explorer: Explorer,
        standing: Standing,
        totals: Totals | None = None,
        selections: Selections | None = None,
    ) -> None:
        self._explorer, self._standing, self._totals, self._selections = explorer, standing, totals, selections
        self._problem, self._effort, self._bundle = explorer.problem, explorer.effort, explorer.bundle
        self._closeness = self._effort.rough_of_part if totals is None else self._effort.rough
        self._vain = 0
        self.at = explorer.problem.n_selectable  # the total that it has come to

    def run(self, beginning: Beginning) -> None:
        """Find the bound, roughly, from somewhere near it."""
        total = int(np.clip(np.floor(beginning.amounts.sum()), self._standing.smallest, self._problem.n_selectable))
        if beginning.amounts.all():
            self._explorer.near = beginning.amounts / beginning.amounts.sum()
        bundle = self._bundle
        if beginning.multipliers is not None:
            bundle.start_from(beginning.multipliers)
        bundle.closeness = self._closeness
        self._close_in(total)
        if not self._explorer.budget.exhausted() and self._totals is not None:
            self._totals.exclude_from(self._problem.n_selectable + 1, None, self._closeness)
        bundle.closeness = self._effort.close

    def _close_in(self, total: int) -> None:
        """Go from total to total.

        Multipliers that exclude some counts say how many features must go at least, and the model how many are enough;
        those that do not, up to which total they leave a margin: it is excluded, or a solution is near the bound;
        between totals with a solution and without one, the next one is where their margins point to.
        """
        explorer, effort = self._explorer, self._effort
        bracket = _Bracket(self._standing.floor, self._problem.n_selectable + 1, effort)
        # With many classes the counts are a guess, and each step would be too short.
        boost = 0.0 if explorer.has_few_classes else effort.boost
        for _ in range(effort.approaches):
            self.at = total
            point = None if explorer.budget.exhausted() else explorer.first_open(total)
            if point is None:
                return
            self._select(point)
            if self._totals is None and point.value > 0 >= point.model and self._bundle.is_close:
                enough = explorer.brancher.fewer(point.cut, point.counts, (point.value - point.model) * point.cut.size)
                self.at = total if enough is None else int(enough.sum())
                return  # undecided, as closely as a part can tell: so many are enough
            if point.excluded:
                bracket.lower(total, point.value)
                level = (point.value - point.model - boost * point.model) * point.cut.size
                boost *= 2
                enough = explorer.brancher.fewer(point.cut, point.counts, level)
                if enough is None:
                    return
                total = int(enough.sum())
                if not explorer.has_few_classes:  # else earlier multipliers tell more about the shares
                    explorer.come_near(enough)
            else:
                bracket.rise(max(total, self._standing.floor), point.value)
                explorer.reached = bracket.low
            if bracket.high - bracket.low <= 1 + self._closeness * bracket.high:
                self.at = bracket.low + int(bracket.between * (bracket.high - bracket.low))
                return
            if point.excluded:
                self._bound_roughly(bracket)
            if not point.excluded or not bracket.low < total < bracket.high:
                total = bracket.next_total(explorer.brancher.largest_open(point.cut, point.counts))

    def _select(self, point: Relaxed) -> None:
        """Look for a selection on the way, until that was in vain too often: the bound may take long."""
        if self._selections is None or self._vain >= self._effort.vain_roundings:
            return
        if not self._standing.has_selection and point.model <= 0 < point.value and not self._bundle.is_small:
            lower = max(self._standing.smallest, int(point.counts.sum() * (1.0 - 2.0 * self._effort.approach_step)))
            point = self._explorer.first_open(lower) or point  # here the mixture's margin is too small, there it is not
        self._vain += self._selections.fails_to_round(point, self._closeness)

    def _bound_roughly(self, bracket: "_Bracket") -> None:
        """Have a bound already, however rough, as soon as a solution is known below it."""
        lower = bracket.high < (1.0 - self._closeness) * self._standing.upper_bound
        if self._totals is not None and bracket.margin_low > 0 and lower:
            self._totals.exclude_from(self._problem.n_selectable + 1, None, self._closeness)


class _Bracket:
    """Totals with a solution and without one, and the margins of their relaxations."""

    def __init__(self, low: int, high: int, effort: Effort) -> None:
        self.low, self.high = low, high
        self.margin_low = self._margin_high = 0.0
        self._was_excluded, self._step, self._effort = False, effort.approach_step, effort

    def lower(self, total: int, margin: float) -> None:
        """A total without a solution."""
        self.high, self._margin_high = min(self.high, total), margin
        self.margin_low *= self._effort.same_side if self._was_excluded else 1.0
        self._was_excluded = True

    def rise(self, total: int, margin: float) -> None:
        """A total with a solution."""
        self.low, self.margin_low = max(self.low, total), margin
        self._margin_high *= 1.0 if self._was_excluded else self._effort.same_side
        self._was_excluded = False

    @property
    def _has_both(self) -> bool:
        return self.margin_low > 0 > self._margin_high

    @property
    def between(self) -> float:
        """Where the margins point to, from 0 at the lower total to 1 at the higher one."""
        return self.margin_low / (self.margin_low - self._margin_high) if self._has_both else 1.0

    def next_total(self, open_up_to: int) -> int:
        """The next total: where the margins point to, or up by growing steps, at least to where multipliers lead."""
        if self._has_both:
            between = float(np.clip(self.between, self._effort.apart, 1 - self._effort.apart))
            return int(np.clip(self.low + between * (self.high - self.low), self.low + 1, self.high - 1))
        total = min((self.low + self.high) // 2, self.low + 1 + int(self._step * self.low))
        total = min(max(total, open_up_to), self.high - 1)
        self._step *= 2
        return total


def bound_of_part(problem: Problem, budget: Budget, effort: Effort) -> Beginning | None:
    """The bound of some of the features, carried over to all."""
    part = part_of_features(problem, effort)
    if part is None or part.is_consistent(part.selectable):
        return None
    silent = SilentBudget(budget)  # nobody is told about a part
    explorer = Explorer(part, silent, effort)
    standing = Standing(part, silent, Incumbent(part, silent), effort.programs, effort=effort)
    approach = Approach(explorer, standing)
    approach.run(bound_of_part(part, silent, effort) or everything(part))
    if not explorer.brancher.cuts or approach.at <= standing.smallest:
        return None  # what no part of the features can do, all of them may
    amounts = (
        explorer.near * approach.at * (1.0 - effort.rough_of_part / 2) * (problem.n_selectable / part.n_selectable)
    )
    return Beginning(amounts, explorer.brancher.cuts[-1].multipliers)
