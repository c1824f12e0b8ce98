"""Excluding all count vectors of one total: a tree of boxes, each leaf excluded by one vector of multipliers.

The counts n with Σ n_r = T form a simplex of whole numbers. A box of it is settled if some cut found so far bounds
v(n) by zero over the whole box. Otherwise look at one point of the box: if a cut excludes the point, the box is split
there; if none does, the relaxation is solved at the point and gives a new cut, or shows that the point is *open*: a
fractional selection with these counts exists. So linear programs are solved only where all earlier ones say nothing.
"""

import heapq
from dataclasses import dataclass, field

import numpy as np

from cobic.certified.bounds import Cut
from cobic.certified.boxes import cut_to_total, nearest_counts
from cobic.certified.bundle import Relaxed
from cobic.certified.programs import FeaturePrograms
from cobic.matrix import Bools, Floats, Integers


@dataclass
class Node:
    """A box of counts in the tree."""

    split: tuple[int, int] | None = None  # class r and count c: the first child has n_r ≤ c, the second n_r > c
    children: tuple[int, int] | None = None  # their places in the list of nodes
    cut: int | None = None  # the cut that excludes the box
    open: int | None = None  # the open point that the box consists of


@dataclass
class Slice:
    """What is known about the count vectors with one total."""

    total: int  # the total T
    or_more: bool = False  # whether it is about the count vectors with larger totals, too
    # The tree, its root first; a node with nothing set is an empty box, or not settled yet
    nodes: list[Node] = field(default_factory=list)
    open_points: list[Relaxed] = field(default_factory=list)  # points at which the relaxation has a solution
    complete: bool = False  # whether every count vector is excluded or among the open points

    @property
    def excluded(self) -> bool:
        """Whether multipliers alone prove that no selection has this many features."""
        return self.complete and not self.open_points


class Brancher:
    """Settles one slice after another; the cuts found for one serve all."""

    def __init__(self, programs: FeaturePrograms) -> None:
        self._programs, self._problem = programs, programs.problem
        self._budget, self._effort = programs.budget, programs.effort
        self.sizes = self._problem.feature_class_sizes
        self.least: Integers = np.maximum(self._problem.required_sizes, 1)
        self.cuts: list[Cut] = []

    def settle(self, total: int, near: Floats, max_open: int, *, or_more: bool = False) -> Slice:
        """Exclude all count vectors with a total, except for points that turn out to be open."""
        work = _Work(self, total, or_more=or_more)
        if work.boxes.size and not self._visit(work, self.nearest(total, near)):
            return work.slice
        while work.boxes.size and len(work.slice.open_points) <= max_open:
            if self._budget.exhausted() or len(work.slice.nodes) > self._effort.many_nodes:
                return work.slice
            points = work.points()
            unsettled = ~(work.excluded_points(points) | work.known_open(points))
            if unsettled.any():
                first = np.flatnonzero(unsettled)[np.argmax(work.bounds[unsettled])]
                if not self._visit(work, points[first]):
                    return work.slice
            else:
                work.split(points)
        work.slice.complete = work.boxes.size == 0
        return work.slice

    def nearest(self, total: int, shares: Floats) -> Integers:
        """The count vector with a total that is nearest to some shares, inside what the classes have."""
        return nearest_counts(total, shares, self.least, self.sizes)

    def least_excluded(self, total: int, finest: int, *, or_more: bool) -> int:
        """The smallest total below a given one that multipliers exclude, with all above it, by steps."""
        least, step = int(self.least.sum()), finest
        while total - step >= least and self._excludes(total - step, or_more=or_more):
            total, step = total - step, 2 * step
        while step > finest:
            step //= 2
            if total - step >= least and self._excludes(total - step, or_more=or_more):
                total -= step
        return total

    def largest_open(self, cut: Cut, counts: Integers) -> int:
        """The largest total at which multipliers leave a margin, with about the shares of some counts."""
        low, high = int(counts.sum()), int(self.sizes.sum())
        while low < high:
            total = (low + high + 1) // 2
            value = cut.values(self.nearest(total, counts / counts.sum())[None, :])[0]
            low, high = (total, high) if value > 0 else (low, total - 1)
        return low

    def fewer(self, cut: Cut, counts: Integers, level: float) -> Integers | None:
        """Smaller counts at which v is above a level, with fewer features in the classes where that helps most."""
        counts = counts.copy()
        value = float(cut.values(counts[None, :])[0])
        heap = [(-self._help(cut, cls, int(n)), cls) for cls, n in enumerate(counts)]
        heapq.heapify(heap)
        while value <= level + cut.error:
            help_, cls = heapq.heappop(heap)
            if help_ == np.inf:
                return None
            gone = self._some(int(counts[cls]), cls)
            value -= gone * help_
            counts[cls] -= gone
            heapq.heappush(heap, (-self._help(cut, cls, int(counts[cls])), cls))
        return counts

    def _some(self, n: int, cls: int) -> int:
        """A small part of the features of a class that can go."""
        return min(1 + n // self._effort.small_parts, n - int(self.least[cls]))

    def _help(self, cut: Cut, cls: int, n: int) -> float:
        """By how much v grows with each feature less in a class; −∞ if it cannot have fewer."""
        if n <= self.least[cls]:
            return -np.inf
        gone = self._some(n, cls)
        first, means = cut.means(cls, n - gone)
        return float(means[n - gone - first] - means[n - first]) / gone

    def release(self, cut: Cut, total: int) -> None:
        """Give back what a cut holds besides what is likely to be asked about a total, where that is much."""
        if self._problem.n_features > self._effort.many_features:
            cut.release(self._likely_least(total))

    def _likely_least(self, total: int) -> Integers:
        """Counts below which there is nothing of interest, unless far more features go than a total lets go."""
        others = self.sizes.sum() - self.sizes
        gone = int(self.sizes.sum()) - total
        least: Integers = np.maximum(self.least, total - 2 * gone - self._effort.many_features - others)
        return least

    def _excludes(self, total: int, *, or_more: bool) -> bool:
        """Whether the multipliers at hand exclude a total, as far as a few splits show."""
        work = _Work(self, total, or_more=or_more)
        while work.boxes.size and len(work.slice.nodes) < self._effort.few_nodes and not self._budget.exhausted():
            points = work.points()
            if (work.low == work.high).all(axis=1).any() or not work.excluded_points(points).all():
                return False
            work.split(points)
        return work.boxes.size == 0

    def _visit(self, work: "_Work", point: Integers) -> bool:
        """Solve the relaxation at a point; False if the budget ran out."""
        if self._programs.moved(point) > self._effort.far:
            known = [cut for cut in self.cuts[-self._effort.latest_cuts :] if cut.size and cut.reaches(point)]
            if known:
                best = min(known, key=lambda cut: float(cut.values(point[None, :])[0]) / cut.size)
                self._programs.start_from(best.multipliers)
        solution = self._programs.solve(point)
        if solution is None:
            return False
        self.cuts.append(solution.cut)
        work.apply(len(self.cuts) - 1)
        if not solution.excluded:
            work.add_open(solution)
        self.release(solution.cut, work.slice.total)
        return True


class _Work:
    """The boxes of a slice that are not settled yet, as arrays."""

    def __init__(self, brancher: Brancher, total: int, *, or_more: bool) -> None:
        self._cuts = brancher.cuts
        self.slice = Slice(total, or_more, [Node()])
        self._open: dict[tuple[int, ...], int] = {}
        self._take(np.zeros(1, dtype=np.int64), brancher.least[None, :], brancher.sizes[None, :])

    def _take(self, boxes: Integers, low: Integers, high: Integers) -> None:
        """Take the boxes in which the total leaves something, and settle those that a cut excludes already."""
        self.low, self.high = cut_to_total(low, high, self.slice.total, or_more=self.slice.or_more)
        self.boxes, self.bounds = boxes, np.full(boxes.size, np.inf)
        self._keep(np.asarray((self.low <= self.high).all(axis=1)))
        for cut in reversed(range(len(self._cuts))):  # the latest are the best for what is asked now
            self.apply(cut)

    def apply(self, cut: int) -> None:
        """Settle the boxes that a cut excludes."""
        if self.boxes.size == 0:
            return
        values = self._cuts[cut].box_values(self.low, self.high, self.slice.total)
        gone = self._cuts[cut].excludes(values)
        for box in self.boxes[gone]:
            self.slice.nodes[box].cut = cut
        np.minimum(self.bounds, values / max(self._cuts[cut].size, 1.0), out=self.bounds)
        self._keep(~gone)

    def points(self) -> Integers:
        """A count vector near the middle of each box, with the right total, or the least possible one beyond it."""
        width = self.high - self.low
        missing = np.maximum(self.slice.total - self.low.sum(axis=1), 0)
        share = missing / np.maximum(width.sum(axis=1), 1)
        points: Integers = self.low + np.floor(share[:, None] * width).astype(np.int64)
        for cls in range(points.shape[1]):
            step = np.minimum(self.high[:, cls] - points[:, cls], self.slice.total - points.sum(axis=1))
            points[:, cls] += np.maximum(step, 0)
        return points

    def excluded_points(self, points: Integers) -> Bools:
        """Which points some cut excludes."""
        excluded = np.zeros(points.shape[0], dtype=np.bool_)
        for cut in reversed(self._cuts):
            left = np.flatnonzero(~excluded)
            if left.size == 0:
                break
            excluded[left] = cut.excludes(cut.values(points[left]))
        return excluded

    def known_open(self, points: Integers) -> Bools:
        """Which points are known to be open."""
        if not self._open:
            return np.zeros(points.shape[0], dtype=np.bool_)
        return np.array([tuple(point) in self._open for point in points.tolist()])

    def add_open(self, solution: Relaxed) -> None:
        """Remember an open point."""
        self._open[tuple(solution.counts.tolist())] = len(self.slice.open_points)
        self.slice.open_points.append(solution)

    def split(self, points: Integers) -> None:
        """Split every box at its point; a box that is a single open point is settled as such."""
        width = self.high - self.low
        single = width.max(axis=1) == 0
        for box, point in zip(self.boxes[single], points[single], strict=True):
            self.slice.nodes[box].open = self._open.get(tuple(point.tolist()))
            if self.slice.nodes[box].open is None:  # excluded as a point, but by a hair not as a box
                self.slice.nodes[box].cut = next(
                    place for place, cut in enumerate(self._cuts) if cut.excludes(cut.values(point[None, :]))[0]
                )
        low, high, points = self.low[~single], self.high[~single], points[~single]
        cls = width[~single].argmax(axis=1)
        each = np.arange(cls.size)
        # The point goes to the first child, unless that would be the whole box.
        at = np.minimum(points[each, cls], high[each, cls] - 1)
        parents, first = self.boxes[~single], len(self.slice.nodes)
        for index, parent in enumerate(parents):
            self.slice.nodes[parent].split = (int(cls[index]), int(at[index]))
            self.slice.nodes[parent].children = (first + 2 * index, first + 2 * index + 1)
            self.slice.nodes += [Node(), Node()]
        left_high, right_low = high.copy(), low.copy()
        left_high[each, cls], right_low[each, cls] = at, at + 1
        low = np.stack([low, right_low], axis=1).reshape(-1, low.shape[1])
        high = np.stack([left_high, high], axis=1).reshape(-1, high.shape[1])
        self._take(first + np.arange(low.shape[0]), low, high)

    def _keep(self, which: Bools) -> None:
        self.low, self.high = self.low[which], self.high[which]
        self.boxes, self.bounds = self.boxes[which], self.bounds[which]
