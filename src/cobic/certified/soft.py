"""The search with soft margins: branch and bound over boxes of counts and features.

Any multipliers bound the objective over a box of counts, class by class (:mod:`cobic.certified.bounds`). The best ones
for the box with the largest bound are sought (:mod:`cobic.certified.bundle`): first for all counts at once. The mixture
of selections that comes with them is rounded, and features are moved from there for as long as that helps. Counts of a
class at which the bound is down to the best selection, whatever those of the others are, are split off from both ends.
What is left is split on the counts of a class if the mixture holds different ones, else on a feature that some of its
selections have and others have not. Nothing is left when all bounds are down to the best selection; until then the
largest of them is the proven bound.
"""

import heapq
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cobic.certified.bounds import Cut
from cobic.certified.boxes import cut_to_total
from cobic.certified.bundle import Bundle, Relaxed
from cobic.certified.certificate import make_certificate
from cobic.certified.effort import DEFAULT, Effort
from cobic.certified.looks import Decided
from cobic.certified.proof import Close, Single, SplitCount, SplitFeature, Step
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem
from cobic.search.budget import Budget, Incumbent
from cobic.search.repair import climb, climb_by_several, climb_in_batches, is_large

_ROUNDING = 1e-6  # features: by so much an objective in floating point may be off


@dataclass
class _Node:
    """A box of counts with some features decided, in the tree of the proof."""

    low: Integers
    high: Integers
    decided_in: tuple[int, ...] = ()
    decided_out: tuple[int, ...] = ()
    bound: float = np.inf
    cut: int = 0
    split: SplitCount | SplitFeature | None = None
    children: list["_Node"] = field(default_factory=list)
    selection: bool = False

    @property
    def decided(self) -> bool:
        return bool(self.decided_in or self.decided_out)


class SoftSearch:
    """Brings the best objective and its proven bound together."""

    def __init__(
        self,
        problem: Problem,
        budget: Budget,
        incumbent: Incumbent,
        max_programs: int,
        target_gap: float,
        effort: Effort = DEFAULT,
    ) -> None:
        self._problem, self._budget, self._incumbent, self._effort = problem, budget, incumbent, effort
        self._bundle = Bundle(problem, budget, effort)
        self._max_programs, self._target_gap = max_programs, target_gap
        self._large = is_large(problem)
        self._cuts: list[Cut] = []
        self._root = _Node(np.maximum(problem.required_sizes, 1), problem.feature_class_sizes)
        self._heap: list[tuple[float, int, _Node]] = []
        self._pushed = self._until = 0
        self._settled_bound = self._improved = -np.inf
        self._at_root = True
        self._pause, self._longest = 0, 1  # nodes until the next climb, twice as many after one that led nowhere

    @property
    def objective_bound(self) -> float:
        """No selection has a larger objective."""
        open_bound = -self._heap[0][0] if self._heap else -np.inf
        return float(max(open_bound, self._settled_bound, self._incumbent.ceiling))

    def run(self) -> None:
        """Search until the gap is closed or the effort spent."""
        nothing = np.zeros(self._problem.comparisons.other.shape, dtype=np.int64)
        self._cuts.append(Cut(self._problem, nothing, self._root.high))
        self._bound(self._root)
        self._push(self._root)
        if self._incumbent.support is not None:
            self._bundle.start_near(self._incumbent.support)
        while self._heap and not self._finished():
            _, _, node = heapq.heappop(self._heap)
            if not self._visit(node):
                self._push(node)
                return

    def _finished(self) -> bool:
        """Whether bound and selection are close enough, or nothing more may be done."""
        self._budget.report_objective(self.objective_bound, len(self._heap))
        return self.objective_bound - self._incumbent.objective <= self._target_gap or self._spent()

    def _spent(self) -> bool:
        """Whether looks or time have run out."""
        return self._budget.lps >= self._max_programs or self._budget.exhausted()

    def certificate(self) -> dict[str, Any]:
        """The proof of the present bound."""
        cuts = [cut.proof for cut in self._cuts]
        support, bound = self._incumbent.support, self.objective_bound
        return make_certificate(self._problem, support, self._problem.n_selectable, cuts, self._steps(bound), bound)

    def _push(self, node: _Node) -> None:
        """Keep a node for later, unless nothing in it is better than what is there."""
        if node.bound <= self._incumbent.objective:
            self._settled_bound = max(self._settled_bound, node.bound)
            return
        self._pushed += 1
        heapq.heappush(self._heap, (-node.bound, self._pushed, node))

    def _visit(self, node: _Node) -> bool:
        """Bound a node as well as multipliers can, and split it if that is not enough; False if out of budget."""
        self._bound(node, node.cut)
        if node.bound <= self._incumbent.objective:  # by what has been found meanwhile
            self._push(node)
            return True
        before, self._at_root = node.bound, node is self._root
        if not self._at_root:
            self._bundle.start_from(self._cuts[node.cut].multipliers)
        relaxed = self._relaxed(self._low(node), node.high, self._masks(node) if node.decided else None)
        if relaxed is None:
            return False
        self._bound(node)
        gap = node.bound - self._incumbent.objective
        goes_on = self._budget.lps >= self._until and before - node.bound > self._effort.least_progress * gap
        goes_on &= relaxed.value - relaxed.model > self._effort.share_of_gap * gap
        self._round_and_climb(relaxed, polish=not goes_on)
        if goes_on or self._spent():
            self._push(node)
            return True
        self._improve(node.bound)
        inner = self._tightened(node)
        narrower = (inner.high - self._low(inner)).sum() < self._effort.narrower * (node.high - self._low(node)).sum()
        if narrower or inner.bound - self._incumbent.objective <= self._target_gap:
            self._push(inner)
        else:
            self._split(inner, relaxed)
        return True

    def _relaxed(self, low: Integers, high: Integers, decided: Decided | None) -> Relaxed | None:
        """The relaxation over a box, whose multipliers are kept; None if out of budget."""
        self._until = self._budget.lps + self._effort.looks_at_a_time
        self._bundle.floor = self._incumbent.objective
        relaxed = self._bundle.minimise(low, high, self._enough, decided)
        if relaxed is not None:
            self._cuts[-1].release(self._low(self._root))
            self._cuts.append(relaxed.cut)
        return relaxed

    def _enough(self, value: float, model: float, _effect: float) -> bool:
        """Whether a bound is down to the best selection, or as far down as it is worth."""
        gap = value - self._incumbent.objective
        near = self._effort.near_at_root * self._target_gap if self._at_root else self._effort.share_of_gap * gap
        close = gap <= self._effort.share_of_gap * self._target_gap or value - model <= near
        return close or self._budget.lps >= min(self._until, self._max_programs)

    def _masks(self, node: _Node) -> Decided:
        """Features that every selection in a node holds, and those that none holds."""
        decided_in, decided_out = self._problem.required.copy(), ~self._problem.selectable
        decided_in[list(node.decided_in)] = True
        decided_out[list(node.decided_out)] = True
        return decided_in, decided_out

    def _round_and_climb(self, relaxed: Relaxed, *, polish: bool = False) -> None:
        """The selection with the largest shares, and what climbing from it leads to where that is promising."""
        problem, x = self._problem, relaxed.mixture.x
        support = np.zeros(problem.n_features, dtype=np.bool_)
        for members, n in zip(problem.features_of_class, relaxed.counts, strict=True):
            order = np.lexsort((-relaxed.cut.scores[members], -x[members]))
            support[members[order[: int(n)]]] = True
        support = problem.constraints.complete(support)
        before = self._incumbent.objective
        promising = self._offer(support) > before - self._effort.promising
        self._pause -= polish
        due = polish and self._pause <= 0
        if promising or due:
            self._offer(self._climb(support, closely=due))
        if due:
            self._pause = self._longest = 1 if self._incumbent.objective > before else 2 * self._longest

    def _climb(self, support: Bools, *, closely: bool) -> Bools:
        """Move features for as long as that raises the objective: where data are large, many at a time."""
        if not self._large:
            return climb(self._problem, support, self._budget)
        better = climb_in_batches(self._problem, support, self._budget)
        return climb_by_several(self._problem, better, self._budget) if closely else better

    def _offer(self, support: Bools) -> float:
        """Take a selection if it is better; its objective. Exact arithmetic is left to those that may be."""
        problem = self._problem
        worst = problem.comparisons.margins(problem.means(support)).min(axis=1)
        objective = float(support.sum() - problem.slack_penalty * np.maximum(-worst, 0.0).sum())
        if objective > self._incumbent.objective - _ROUNDING:
            self._incumbent.offer(support)
        return objective

    def _improve(self, bound: float) -> None:
        """Round the relaxation at the counts of the best selection, for as long as there is a new one."""
        while self._incumbent.support is not None and self._incumbent.objective > self._improved and not self._spent():
            self._improved = self._incumbent.objective
            counts = self._problem.counts(self._incumbent.support)
            if bound - self._incumbent.objective > self._effort.near_at_root * self._target_gap:
                relaxed = self._relaxed(counts, counts, None)
                if relaxed is not None:
                    self._round_and_climb(relaxed, polish=True)

    def _bound(self, node: _Node, cut: int = -1) -> None:
        """Bound a node by some multipliers, the last ones by default."""
        index = cut % len(self._cuts)
        value = self._value(node, self._cuts[index])
        if value < node.bound:
            node.bound, node.cut = value, index

    def _value(self, node: _Node, cut: Cut) -> float:
        """What a cut says about a node."""
        curves = self._curves(node, cut)
        if curves is None:
            return self._incumbent.objective  # nothing in it is better
        return sum(float(values.max()) for _, values in curves) + cut.error - cut.offset

    def _curves(self, node: _Node, cut: Cut) -> list[tuple[int, Floats]] | None:
        """For each class the least count of a node, and what that and the next ones add to the bound of a cut.

        None if nothing in the node has more features than the best objective, or the decided ones leave no counts.
        """
        low, curves = self._low(node), []
        decided_in, decided_out = self._masks(node)
        for cls, members in enumerate(self._problem.features_of_class):
            least, most = int(low[cls]), int(node.high[cls])
            if node.decided:
                already, free = members[decided_in[members]], members[~(decided_in | decided_out)[members]]
                n = already.size
                least, most = max(least, n), min(most, n + free.size)
                sums = cut.scores[already].sum() + np.concatenate([[0.0], np.cumsum(np.sort(cut.scores[free])[::-1])])
                means = sums[least - n : most + 1 - n] / np.arange(least, max(most, least - 1) + 1)
            else:
                first, means = cut.means(cls, least)
                means = means[least - first : most + 1 - first]
            if least > most:
                return None
            curves.append((least, means + np.arange(least, most + 1)))
        return curves

    def _tightened(self, node: _Node) -> _Node:
        """Split off the counts at both ends that its cut shows to be no better than the best selection."""
        cut = self._cuts[node.cut]
        for cls in range(self._problem.n_classes):
            curves = self._curves(node, cut)
            if curves is None:
                return node
            first, values = curves[cls]
            others = sum(float(values.max()) for _, values in curves) - float(values.max())
            better = np.flatnonzero(values > self._incumbent.objective - others + cut.offset - cut.error)
            if better.size == 0:
                return node
            for at, side in ((first + int(better[0]) - 1, 1), (first + int(better[-1]), 0)):
                if self._low(node)[cls] <= at < node.high[cls]:
                    children = self._halves(node, cls, at)
                    self._push(children[1 - side])
                    node = children[side]
        return node

    def _low(self, node: _Node) -> Integers:
        """The least counts in a node with which a selection can have more features than the best objective."""
        total = int(np.floor(max(self._incumbent.objective, 0.0))) + 1
        return cut_to_total(node.low, node.high, total, or_more=True)[0]

    def _split(self, node: _Node, relaxed: Relaxed) -> None:
        """Split a node on the counts or on the feature in which the mixed selections differ."""
        decided_in, decided_out = self._masks(node)
        low, free = self._low(node), ~(decided_in | decided_out)
        width = node.high - low
        spread = np.where(width > 0, relaxed.spread, 0.0)
        away: Floats = np.where(free, 0.5 - np.abs(relaxed.mixture.x - 0.5), -1.0)  # nothing is decided twice
        if spread.max() > self._effort.mixed or (width.any() and away.max() < self._effort.no_share):
            cls = int((spread if spread.max() > self._effort.mixed else width).argmax())
            at = int(np.clip(int(relaxed.mean_counts[cls]), low[cls], node.high[cls] - 1))
            for child in self._halves(node, cls, at):
                self._push(child)
            return
        if not width.any():
            missing, available = node.high - self._problem.counts(decided_in), self._problem.counts(free)
            if ((missing == 0) | (missing == available)).all():
                self._settle_selection(node, decided_in, free, missing)
                return
            still_open = (missing > 0) & (missing < available)
            away = np.where(free & still_open[self._problem.feature_classes], away, -1.0)
        feature = int(away.argmax())
        node.split = SplitFeature(feature)
        out = _Node(node.low, node.high, node.decided_in, (*node.decided_out, feature))
        into = _Node(node.low, node.high, (*node.decided_in, feature), node.decided_out)
        for child in self._adopted(node, [out, into]):
            self._push(child)

    def _halves(self, node: _Node, cls: int, at: int) -> list[_Node]:
        """The parts of a box with at most some count of a class, and with more."""
        first, second = node.high.copy(), node.low.copy()
        first[cls], second[cls] = at, at + 1
        node.split = SplitCount(cls, at)
        boxes = ((node.low, first), (second, node.high))
        return self._adopted(node, [_Node(*box, node.decided_in, node.decided_out) for box in boxes])

    def _adopted(self, node: _Node, children: list[_Node]) -> list[_Node]:
        """The children of a node, bounded by its own cut and the last one."""
        node.children = children
        for child in children:
            self._bound(child, node.cut)
            self._bound(child)
        return children

    def _settle_selection(self, node: _Node, decided_in: Bools, free: Bools, missing: Integers) -> None:
        """A leaf with a single selection: its bound is its objective."""
        support = decided_in | (free & (missing > 0)[self._problem.feature_classes])
        self._incumbent.offer(support)
        node.bound, node.selection = self._problem.objective_ceiling(support), True
        self._settled_bound = max(self._settled_bound, node.bound)

    def _steps(self, bound: float) -> list[Step]:
        """The tree as steps of a proof, parents before children; what a cut settles is not split any further."""
        steps: list[Step] = []
        if bound >= self._problem.n_selectable:
            return steps
        left = [self._root]
        while left:
            node = left.pop()
            if node.selection:
                steps.append(Single())
            elif node.bound <= bound or node.split is None:
                steps.append(Close(node.cut))
            else:
                steps.append(node.split)
                left += reversed(node.children)
        return steps
