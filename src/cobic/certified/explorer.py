"""Relaxations where they promise most: among the counts of a total, those at which multipliers leave a large margin.

The multipliers of some counts bound the margin at all others. So what earlier relaxations have found points to the
counts at which the next one is worth its time.
"""

import numpy as np

from cobic.certified.bounds import Cut
from cobic.certified.boxes import moved_counts
from cobic.certified.branching import Brancher
from cobic.certified.bundle import Bundle, Relaxed
from cobic.certified.effort import DEFAULT, Effort
from cobic.certified.programs import FeaturePrograms
from cobic.matrix import Floats, Integers
from cobic.problem import Problem
from cobic.search.budget import Budget


class Explorer:
    """Solves relaxations of one problem, and remembers where they were good."""

    def __init__(self, problem: Problem, budget: Budget, effort: Effort = DEFAULT) -> None:
        self.problem, self.budget, self.effort = problem, budget, effort
        self.bundle = Bundle(problem, budget, effort)
        self.programs = FeaturePrograms(self.bundle)
        self.brancher = Brancher(self.programs)
        # Shares of the classes where relaxations were good.
        self.near: Floats = problem.feature_class_sizes / problem.n_selectable
        self.reached = problem.n_selectable  # the largest total on the way to the bound that was not excluded
        self.solvable = 0  # the largest total that has a mixture of selections, and so is not excluded by multipliers
        self._recent: list[Cut] = []

    @property
    def has_few_classes(self) -> bool:
        """Whether the counts of a total can be searched through."""
        return self.problem.n_classes <= self.effort.few_classes

    def come_near(self, counts: Integers) -> None:
        """Look for other counts near some from now on."""
        self.near = counts / counts.sum()

    def solve(self, counts: Integers) -> Relaxed | None:
        """The best relaxation at some counts; None if out of budget."""
        point = self.programs.solve(counts, closely=True)
        if point is not None:
            self._remember(point)
        return point

    def _remember(self, point: Relaxed) -> None:
        """Keep the multipliers of a point to be asked about others, and its total if it has a solution."""
        total = int(point.counts.sum())
        if point.model > 0:
            self.solvable = max(self.solvable, total)
        self._recent = [*self._recent[1 - self.effort.recent_cuts :], point.cut]
        self.brancher.release(point.cut, total)

    def first_open(self, total: int) -> Relaxed | None:
        """The relaxation at counts of a total where it has a solution; if there seem to be none, at the best ones."""
        (counts, _), point = self._promising(total, self.brancher.nearest(total, self.near)), None
        for _ in range(self.effort.refinements):
            point = self.programs.solve(counts)
            if point is None:
                return None
            self.brancher.cuts.append(point.cut)
            self._remember(point)
            if not point.excluded or self.has_few_classes:
                self.near = counts / total
            better, value = self._promising(total, counts)
            if not point.excluded or value <= 0 or (better == counts).all():
                break
            counts = better
        return point

    def best_to_round(self, total: int) -> Relaxed | None:
        """The relaxation at the counts of a total where it is easiest to round, as far as a few steps show."""
        counts, _ = self._promising(total, self.brancher.nearest(total, self.near), to_round=True)
        best, furthest = None, -np.inf
        for _ in range(self.effort.refinements):
            point = self.solve(counts)
            if point is None:
                break
            leeway = point.model * float(_evenness(counts))
            if best is None or leeway > furthest:
                best, furthest = point, leeway
            before = counts
            counts, value = self._promising(total, counts, to_round=True)
            worth_it = furthest + self.effort.worth_another * abs(furthest)
            if (counts == before).all() or value * _evenness(counts) <= worth_it:
                break
        if best is not None and best.model > 0:
            self.come_near(best.counts)
        return best

    def _promising(self, total: int, near: Integers, *, to_round: bool = False) -> tuple[Integers, float]:
        """Counts near some others at which the multipliers at hand leave the largest margin, and that margin."""
        if not self._recent or not self.has_few_classes:
            return near, np.inf
        far = self.effort.short_reach if to_round else self.effort.first_reach
        radius = total // (self.effort.reach if self.bundle.is_small else far)
        best, step = near, max(1, radius // 2)
        while True:
            tried = np.array(
                [
                    best,
                    *(
                        moved
                        for moved in moved_counts(best, step, self.brancher.least, self.brancher.sizes)
                        if _within(moved, near, radius + 1)
                    ),
                ]
            )
            values = np.min([cut.values(tried) / cut.size for cut in self._recent if cut.size], axis=0)
            chosen = int((np.where(values > 0, values * _evenness(tried), values) if to_round else values).argmax())
            if chosen == 0 and step == 1:
                return best, float(values[0])
            best, step = tried[chosen], step if chosen else step // 2


def _within(counts: Integers, near: Integers, radius: int) -> bool:
    return bool(np.abs(counts - near).max() <= radius)


def _evenness(counts: Integers) -> Floats:
    """How little one feature does at some counts: a margin is the easier to keep in rounding the larger this is."""
    evenness: Floats = 1.0 / (1.0 / counts).sum(axis=-1)
    return evenness
