"""Selections between the best one and the bound: relaxations are rounded, and mended by dives, exchanges and repair."""

import numpy as np

from cobic.certified.bundle import Relaxed
from cobic.certified.effort import DEFAULT, Effort
from cobic.certified.explorer import Explorer
from cobic.certified.feature_search import FeatureSearch
from cobic.certified.margins import selections_with_large_margins
from cobic.certified.programs import round_to_counts
from cobic.certified.standing import Standing
from cobic.matrix import Integers
from cobic.problem import Problem
from cobic.search.repair import repair


class Selections:
    """Looks for larger selections; what it finds is offered to the incumbent."""

    def __init__(
        self, explorer: Explorer, standing: Standing, features: FeatureSearch, rng: np.random.Generator
    ) -> None:
        self._explorer, self._standing, self._features, self._rng = explorer, standing, features, rng
        self._problem, self._effort = explorer.problem, explorer.effort

    def find_first(self) -> None:
        """A selection where none was found on the way to the bound: next to it, or a small one with a large margin.

        Where features are many, relaxations at small counts would take as long as the way down from the bound.
        """
        if not self._explorer.bundle.is_small:
            self.rise(0, self._effort.rough)
            return
        for step in self._effort.descents:
            point = self._explorer.best_to_round(self._below_bound(step))
            if point is not None and point.model > 0 and self.dive(point, 0, 0):
                return
        without = self._problem.with_margins(0.0, self._problem.beta)
        for _, support in selections_with_large_margins(without, self._standing.budget, self._effort):
            found = support is not None and self._standing.incumbent.offer(support)
            if self._standing.has_selection and not found:
                return  # larger ones have smaller margins

    def _below_bound(self, step: int) -> int:
        """A total below the bound, and not above where a relaxation had a solution."""
        return max(min(self._standing.upper_bound - step, self._explorer.reached), self._standing.smallest)

    def rise(self, stage: int, closeness: float = 0.0) -> None:
        """One selection next to the bound, then by halving, up to a share of the features.

        As long as there is no selection at all, it goes down from the bound by growing steps.
        """
        standing, effort = self._standing, self._effort
        failed, step = standing.upper_bound + 1, max(1, int(effort.rough * standing.upper_bound))
        size = self._below_bound(step)
        while size > standing.n_selected and not standing.is_spent() and not self._find(size, stage):
            step *= 2
            failed, size = size, max(size - step, standing.smallest)
            if standing.has_selection:
                break
            if size == failed:
                return
        while not standing.is_spent():
            if failed - standing.n_selected <= 1 + (effort.wide_gap / 2 if standing.is_wide else closeness) * failed:
                break
            size = (failed + standing.n_selected) // 2
            if not self._find(size, stage):
                failed = size

    def _find(self, size: int, stage: int) -> bool:
        """Look for a selection of a size at its most promising counts, and where the gap is wide next to them."""
        standing, point = self._standing, self._explorer.best_to_round(size)
        dives = 2 + (1 << stage) // 2  # two windows at least; from stage to stage twice as many
        for _ in range(self._effort.neighbours):
            if point is None or point.model <= 0:
                return False
            if any(not standing.is_spent() and self.dive(point, stage, turn) for turn in range(dives)):
                return True
            if not standing.is_wide or standing.is_spent():
                return False
            self._features.close(point, standing.for_tree(self._effort.tree_programs << (stage + 1)))
            if standing.n_selected >= size:
                return True
            counts = more_even(self._problem, point.counts, self._effort)
            point = None if (counts == point.counts).all() else self._explorer.solve(counts)
        return False

    def fails_to_round(self, point: Relaxed, closeness: float) -> bool:
        """Round a relaxation on the way to the bound, if it has far more features than the best selection; in vain?"""
        far = self._standing.n_selected < (1.0 - closeness) * point.counts.sum()
        if point.model <= point.cut.effect or not far:  # a margin below what one feature does does not survive rounding
            return False
        return not (self.dive(point, 0, 0) or self.dive(point, 0, 1))

    def dive(self, point: Relaxed, stage: int, turn: int) -> bool:
        """Round the relaxation at some counts and mend it."""
        effort, n_comparisons = self._effort, self._problem.comparisons.other.size
        if self._problem.constraints.groups or (n_comparisons > effort.many_comparisons and turn == 0):
            return turn == 0 and self._repair(point)
        few = self._explorer.bundle.is_small
        size = effort.dive_windows[(stage + turn) % len(effort.dive_windows)] if few else effort.dive_window_of_many
        size = min(size, 1 + effort.dive_cells // n_comparisons)
        base = round_to_counts(self._problem, point.mixture.x, point.counts, self._rng)
        self._standing.charge(effort.cooling_programs)
        programs = self._standing.for_tree(effort.tree_programs * (stage + 1))
        return self._features.dive(point, base, size, programs, stage, self._rng)

    def _repair(self, point: Relaxed) -> bool:
        """Round the relaxation at some counts and move single features; tell whether that is as large a selection."""
        incumbent = self._standing.incumbent
        rounded = round_to_counts(self._problem, point.mixture.x, point.counts)
        mended = repair(self._problem, rounded, self._standing.budget, self._effort.repair_moves)
        return mended is not None and incumbent.offer(mended) and incumbent.n_selected >= int(point.counts.sum())


def more_even(problem: Problem, counts: Integers, effort: Effort = DEFAULT) -> Integers:
    """Counts with some more of the class that has fewest, and less of the one that has most."""
    counts = counts.copy()
    few, many = int(counts.argmin()), int(counts.argmax())
    least = max(int(problem.required_sizes[many]), 1)
    room = min(int(problem.feature_class_sizes[few] - counts[few]), int(counts[many]) - least)
    step = min(1 + int(counts[few]) // effort.evening, room)
    counts[few] += step
    counts[many] -= step
    return counts
