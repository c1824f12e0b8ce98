"""How far selection and bound are apart, and whether more may be spent on bringing them together."""

import numpy as np

from cobic.certified.effort import DEFAULT, Effort
from cobic.problem import Problem
from cobic.search.budget import Budget, Incumbent


class Standing:
    """The bound, the best selection, and what is left to spend; effort is counted in programs."""

    def __init__(
        self,
        problem: Problem,
        budget: Budget,
        incumbent: Incumbent,
        max_programs: int,
        target_gap: float = 0.0,
        effort: Effort = DEFAULT,
    ) -> None:
        self.budget, self.incumbent, self._target_gap, self.effort = budget, incumbent, target_gap, effort
        self.upper_bound = problem.n_selectable
        self.has_few_features = problem.n_selectable <= effort.few_features
        # No consistent selection is smaller than one feature per class, or than the required ones.
        self.smallest = int(np.maximum(problem.required_sizes, 1).sum())
        self._last_program, self._charged = max_programs, 0
        self._gap, self._improved_at = problem.n_selectable, 0  # that was last news, and when

    def of_part(self, problem: Problem) -> "Standing":
        """That of a search over some of the selections, which offers what it finds to the same incumbent."""
        return Standing(problem, self.budget, self.incumbent, self._last_program, self._target_gap, self.effort)

    def follow(self, whole: "Standing") -> None:
        """Take over what the search over all selections has come to."""
        self.upper_bound = whole.upper_bound
        self._gap, self._improved_at, self._charged = whole._gap, whole._improved_at, whole._charged

    def lower_to(self, bound: int, boxes: int) -> None:
        """Take a bound that was proven, and tell about it."""
        self.upper_bound = bound if bound >= self.smallest else 0
        self.budget.report(upper_bound=self.upper_bound, boxes=boxes)

    @property
    def n_selected(self) -> int:
        """Features of the best selection."""
        return self.incumbent.n_selected

    @property
    def has_selection(self) -> bool:
        """Whether there is any selection yet."""
        return self.incumbent.support is not None

    @property
    def floor(self) -> int:
        """Totals up to here need no proof: there is a selection, or none so small can be consistent."""
        return max(self.n_selected, self.smallest - 1)

    @property
    def is_wide(self) -> bool:
        """Whether selection and bound are so far apart that a unit of the bound is nothing."""
        return self.upper_bound - self.n_selected > self.effort.wide_gap * self.upper_bound

    @property
    def is_close_enough(self) -> bool:
        """Whether selection and bound are as close as was asked for."""
        return self.upper_bound - self.n_selected <= (self._target_gap * self.upper_bound if self.has_selection else 0)

    def is_stuck(self) -> bool:
        """Whether more effort has brought nothing for long that is worth mentioning."""
        gap, spent = self.upper_bound - self.n_selected, self.budget.lps + self._charged
        if self._gap - gap >= min(self.effort.news * self._gap, self.effort.notable * self.upper_bound):
            self._gap, self._improved_at = gap, spent
        idle = spent - self._improved_at
        may_give_up = self.has_selection and self._target_gap > 0 and not self.has_few_features
        return may_give_up and idle > max(self.effort.patience, self._improved_at)

    def is_done(self) -> bool:
        """Whether nothing is left to do, or no time to do it."""
        return self.is_close_enough or self.budget.exhausted()

    def is_spent(self) -> bool:
        """Whether nothing is left to do, or nothing to do it with."""
        return self.is_done() or self.budget.lps >= self._last_program or self.is_stuck()

    def charge(self, programs: int) -> None:
        """Count work that is not done by programs, when it comes to giving up."""
        self._charged += programs

    def for_tree(self, programs: int) -> int:
        """How many of some programs a tree or a dive may solve; setting it up is charged as some."""
        self._last_program -= self.effort.tree_setup
        return min(programs, max(1, self._last_program - self.budget.lps))
