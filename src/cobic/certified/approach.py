"""The way to the bound: near the largest total at which the relaxation has a solution, from both sides."""

import numpy as np

from cobic.certified.effort import Effort
from cobic.certified.explorer import Explorer
from cobic.certified.relaxed import Relaxed
from cobic.certified.selections import Selections
from cobic.certified.standing import Standing
from cobic.certified.totals import Totals
from cobic.matrix import Floats


class Approach:
    """Comes near the bound, and takes selections and a rough bound along."""

    def __init__(self, explorer: Explorer, standing: Standing, totals: Totals, selections: Selections) -> None:
        self._explorer, self._standing, self._totals, self._selections = explorer, standing, totals, selections
        self._problem, self._effort, self._relaxation = explorer.problem, explorer.effort, explorer.relaxation
        self._closeness, self._vain = self._effort.rough, 0

    def run(self, amounts: Floats) -> None:
        """Find the bound, roughly, from about so many features of each class."""
        total = int(np.clip(np.floor(amounts.sum()), self._standing.smallest, self._problem.n_selectable))
        if amounts.all():
            self._explorer.near = amounts / amounts.sum()
        self._relaxation.closeness = self._closeness
        self._close_in(total)
        if not self._explorer.budget.exhausted():
            self._totals.exclude_from(self._problem.n_selectable + 1, None, self._closeness)
        self._relaxation.closeness = self._effort.close

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
            point = None if explorer.budget.exhausted() else explorer.first_open(total)
            if point is None:
                return
            self._select(point)
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
                return
            if point.excluded:
                self._bound_roughly(bracket)
            if not point.excluded or not bracket.low < total < bracket.high:
                total = bracket.next_total(explorer.brancher.largest_open(point.cut, point.counts))

    def _select(self, point: Relaxed) -> None:
        """Look for a selection on the way, until that was in vain too often: the bound may take long."""
        if self._vain >= self._effort.vain_roundings:
            return
        if not self._standing.has_selection and point.model <= 0 < point.value and not self._relaxation.is_small:
            lower = max(self._standing.smallest, int(point.counts.sum() * (1.0 - 2.0 * self._effort.approach_step)))
            point = self._explorer.first_open(lower) or point  # here the mixture's margin is too small, there it is not
        self._vain += self._selections.fails_to_round(point, self._closeness)

    def _bound_roughly(self, bracket: "_Bracket") -> None:
        """Have a bound already, however rough, as soon as a solution is known below it."""
        lower = bracket.high < (1.0 - self._closeness) * self._standing.upper_bound
        if bracket.margin_low > 0 and lower:
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

    def next_total(self, open_up_to: int) -> int:
        """The next total: where the margins point to, or up by growing steps, at least to where multipliers lead."""
        if self._has_both:
            between = self.margin_low / (self.margin_low - self._margin_high)
            between = float(np.clip(between, self._effort.apart, 1 - self._effort.apart))
            return int(np.clip(self.low + between * (self.high - self.low), self.low + 1, self.high - 1))
        total = min((self.low + self.high) // 2, self.low + 1 + int(self._step * self.low))
        total = min(max(total, open_up_to), self.high - 1)
        self._step *= 2
        return total
