"""The search with soft margins: branch and bound over boxes of counts, then over features.

First the relaxation is followed uphill from the counts of a good selection: the multipliers at its best counts n often
bound the objective at all others, too, because there n_r + P_r(n_r) is largest in every class. From there dives look
for a selection: fix one fractional feature after the other. Where the multipliers of the first point leave the bound
far away, there is no use in going uphill, and where data are large, none in diving: features are then moved in batches.

Any multipliers bound the objective over a box of counts, class by class (:mod:`cobic.certified.bounds`). The box with
the largest bound is looked at where that bound is attained: the relaxation there gives better multipliers and a
fractional selection to round. Where that does not help and the bound is far from the best objective, and at once where
it would take long, the multipliers that are best for the box as a whole are sought (:mod:`cobic.certified.box`). What
does not get lower is split by counts, and a single point on the features that are fractional. Nothing is left when all
bounds are down to the best selection; until then the largest of them is the proven bound.
"""

import heapq
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cobic.budget import Budget, SoftIncumbent
from cobic.certified.aggregated import AggregatedRelaxation
from cobic.certified.bounds import Cut
from cobic.certified.box import BoxRelaxation
from cobic.certified.certificate import Token, make_certificate
from cobic.certified.soft_lp import SoftRelaxation, SoftSolution
from cobic.certified.tangents import Tangents, largest_cost
from cobic.matrix import Floats, Integers
from cobic.problem import Problem
from cobic.repair import climb, climb_by_several, climb_in_batches, is_large

_RECENT_CUTS = 10
_UPHILL_CUTS = 40
_PROMISING = 1.0
_FRACTIONAL = 1e-6
_DIVE = 60
_MANY_SAMPLES = 2000
_SHARE_OF_GAP = 0.1
_LEAST_TOLERANCE = 1e-3
_ROUGHLY = (300.0, 30.0)
_MANY_FEATURES = 100_000
_FAR = 1.0
_MIXED = 0.5
_LARGEST_COST = 1e13  # HiGHS refuses larger numbers


@dataclass
class _Node:
    """A box of counts with some features decided, in the tree of the proof."""

    low: Integers
    high: Integers
    decided_in: tuple[int, ...] = ()
    decided_out: tuple[int, ...] = ()
    bound: float = np.inf
    cut: int | None = None
    split: Token | None = None
    children: list["_Node"] = field(default_factory=list)
    selection: bool = False

    @property
    def decided(self) -> bool:
        return bool(self.decided_in or self.decided_out)


@dataclass(frozen=True)
class _Peak:
    """The relaxation at some counts: its value, and which way it rises."""

    solution: SoftSolution
    value: float
    slopes: Floats


class SoftSearch:
    """Brings the best objective and its proven bound together.

    Parameters
    ----------
    problem : Problem
        A problem with soft margins in which every class has features.
    budget : Budget
        When to stop.
    incumbent : SoftIncumbent
        The best selection so far.
    max_programs : int
        How many linear programs may be solved.
    target_gap : float
        Distance between objective and bound at which to stop.
    """

    def __init__(
        self, problem: Problem, budget: Budget, incumbent: SoftIncumbent, max_programs: int, target_gap: float
    ) -> None:
        self._problem, self._budget, self._incumbent = problem, budget, incumbent
        self._tolerance = max(_SHARE_OF_GAP * target_gap, _LEAST_TOLERANCE)
        tangents, self._bearable = Tangents(problem), largest_cost(problem) < _LARGEST_COST
        self._relaxation = (
            AggregatedRelaxation(problem, budget, tangents)
            if problem.n_samples > _MANY_SAMPLES and self._bearable
            else SoftRelaxation(problem, budget)
        )
        self._boxes = BoxRelaxation(problem, budget, tangents)
        self._max_programs, self._target_gap = max_programs, target_gap
        self._large = is_large(problem)
        self._slow = self._large or isinstance(self._relaxation, AggregatedRelaxation)
        self._cuts: list[Cut] = []
        self._root = _Node(np.maximum(problem.required_sizes, 1), problem.feature_class_sizes)
        self._heap: list[tuple[float, int, _Node]] = []
        self._pushed = self._uphill = 0
        self._settled_bound = -np.inf
        self._rises = True
        self._tried: set[tuple[int, ...]] = set()

    @property
    def objective_bound(self) -> float:
        """No selection has a larger objective."""
        open_bound = -self._heap[0][0] if self._heap else -np.inf
        return float(max(open_bound, self._settled_bound, self._incumbent.ceiling))

    def run(self) -> None:
        """Search until the gap is closed or the effort spent."""
        nothing = np.zeros(self._problem.comparisons.other.shape, dtype=np.int64)
        self._cuts.append(Cut(self._problem, nothing, self._root.high))
        self._bound(self._root, 0)
        if self._incumbent.support is not None:
            self._ascend(self._problem.counts(self._incumbent.support))
        self._uphill = min(len(self._cuts), _UPHILL_CUTS)
        self._push(self._root)
        while self._heap and not self._finished():
            # As close as the gap is worth it: boxes far away need not be known to the last digit.
            gap = self.objective_bound - self._incumbent.objective
            self._relaxation.tolerance = float(
                np.clip(_SHARE_OF_GAP * gap, self._tolerance, _ROUGHLY[0] * self._tolerance)
            )
            _, _, node = heapq.heappop(self._heap)
            if not self._visit(node):
                self._push(node)
                return

    def _ascend(self, counts: Integers) -> None:
        """Follow the relaxation uphill, roughly at first and then closely, unless its multipliers say little elsewhere.

        Where it ends, dive; or round and climb, where each step of a dive would take long.
        """
        best = None
        for roughly in _ROUGHLY if isinstance(self._relaxation, AggregatedRelaxation) else (1.0,):
            self._relaxation.tolerance = roughly * self._tolerance
            self._tried.clear()
            best = self._uphill_from(counts) or best
            if best is None or self._spent() or self._stays_here():
                break
            counts = best.solution.counts
        if best is not None:
            if self._slow:
                self._round(best.solution, polish=True)
            else:
                self._dive(best)

    def _stays_here(self) -> bool:
        """Whether steps uphill take long and promise little."""
        return self._slow and self._is_far(self._root)

    def _uphill_from(self, counts: Integers) -> "_Peak | None":
        """Class by class, with growing and shrinking steps."""
        best = self._try(counts)
        step = 4
        while best is not None and step and not self._spent() and not self._stays_here():
            moved = self._step(best, step)
            step = min(2 * step, 64) if moved is not None else step // 2
            best = moved or best
        return best

    def _step(self, here: "_Peak", step: int) -> "_Peak | None":
        """A neighbour that is better: all classes moved the way that multipliers promise, or one of them alone."""
        slope = here.slopes
        steepest = np.argsort(-np.abs(slope), kind="stable")
        alone = [np.arange(slope.size) == cls for cls in (steepest if step == 1 else steepest[:1])]
        for which in (np.ones(slope.size, dtype=np.bool_), *alone):
            move = np.where(which, np.sign(slope), 0).astype(np.int64) * step
            counts = np.clip(here.solution.counts + move, self._root.low, self._root.high)
            if tuple(counts.tolist()) not in self._tried and not self._spent():
                there = self._try(counts)
                if there is not None and there.value > here.value:
                    return there
        return None

    def _try(self, counts: Integers) -> "_Peak | None":
        """Solve the relaxation at some counts and bound the root by it."""
        self._tried.add(tuple(counts.tolist()))
        solution = self._solve(self._root, counts)
        if solution is None:
            return None
        self._append(solution.cut)
        self._bound(self._root, len(self._cuts) - 1)
        self._budget.report_objective(self._root.bound, 1)
        value = float(solution.cut.values(counts[None, :])[0]) + int(counts.sum())
        return _Peak(solution, value, self._slopes(solution.cut, counts))

    @staticmethod
    def _slopes(cut: Cut, counts: Integers) -> Floats:
        """How the bound of a cut changes with one feature more (where that is a gain), or less, of each class."""
        slopes = []
        for cls, n in enumerate(counts.tolist()):
            first, means = cut.means(cls, max(n - 1, 1))
            here = n - first
            up = 1.0 + means[here + 1] - means[here] if here + 1 < means.size else -1.0
            down = means[here - 1] - means[here] - 1.0 if n > 1 else -1.0
            slopes.append(up if up > 0 else -down if down > 0 else 0.0)
        return np.array(slopes)

    def _append(self, cut: Cut) -> None:
        """Keep a cut; of those before it, where features are very many, what is likely to be asked for."""
        if self._cuts and self._problem.n_features > _MANY_FEATURES:
            self._cuts[-1].release(self._low(self._root))
        self._cuts.append(cut)

    def _dive(self, peak: "_Peak") -> None:
        """Fix the fractional features one after the other, each the way that violates less."""
        solution, node = peak.solution, replace(self._root)
        counts = solution.counts
        for _ in range(_DIVE):
            away = np.minimum(solution.x, 1.0 - solution.x)
            away[self._problem.constraints.part_of >= 0] = 0.0
            places = np.flatnonzero(away > _FRACTIONAL)
            if places.size == 0 or self._spent():
                break
            size = np.abs(self._problem.columns(places)).max(axis=0)
            feature = int(places[np.argmax(size * away[places])])
            choices: list[tuple[float, int, _Node, SoftSolution]] = []
            into = replace(node, decided_in=(*node.decided_in, feature))
            for child in (into, replace(node, decided_out=(*node.decided_out, feature))):
                found = self._solve(child, counts)
                if found is not None:
                    choices.append((self._violation(found), len(choices), child, found))
            if not choices:
                return
            _, _, node, solution = min(choices)
        self._round(solution, polish=True)

    def _violation(self, solution: SoftSolution) -> float:
        problem = self._problem
        margins = problem.comparisons.margins(problem.sums(solution.x) / solution.counts)
        return float(np.maximum(-margins.min(axis=1), 0.0).sum())

    def _spent(self) -> bool:
        return self._budget.lps - self._boxes.programs_for_sets >= self._max_programs or self._budget.exhausted()

    def certificate(self) -> dict[str, Any]:
        """The proof of the present bound."""
        cuts = [cut.proof for cut in self._cuts]
        support, bound = self._incumbent.support, self.objective_bound
        return make_certificate(self._problem, support, self._problem.n_selectable, cuts, self._tokens(bound), bound)

    def _finished(self) -> bool:
        gap = self.objective_bound - self._incumbent.objective
        self._budget.report_objective(self.objective_bound, len(self._heap))
        return gap <= self._target_gap or self._spent()

    def _push(self, node: _Node) -> None:
        """Keep a node for later, unless nothing in it is better than what is there."""
        if node.bound <= self._incumbent.objective:
            self._settled_bound = max(self._settled_bound, node.bound)
            return
        self._pushed += 1
        heapq.heappush(self._heap, (-node.bound, self._pushed, node))

    def _visit(self, node: _Node) -> bool:
        """Look at the best counts of a node, then lower its bound or split it; False if the budget ran out."""
        if self._slow and self._is_far(node):
            return self._visit_box(node)
        counts = self._best_counts(node)
        if counts is None:
            return True  # the decided features leave no counts, or none that could be better
        solution = self._solve(node, counts)
        if solution is None:
            return False
        before = node.bound
        self._append(solution.cut)
        self._bound(node, len(self._cuts) - 1)
        if before - node.bound > 0.1 * (before - self._incumbent.objective):
            self._push(node)
        elif self._is_far(node):
            return self._visit_box(node)
        else:
            self._split(node, counts, solution)
        return True

    def _is_far(self, node: _Node) -> bool:
        """Whether a box is so wide, and its bound so far away, that no single point of it tells much."""
        gap = node.bound - self._incumbent.objective
        width = node.high - self._low(node)
        wide = width.min() >= 0 and width.max() > 0
        return bool(self._bearable and not node.decided and wide and gap > _FAR)

    def _visit_box(self, node: _Node) -> bool:
        """Bound a whole box as well as multipliers can, and split it where counts are mixed; False if out of budget."""
        low = self._low(node)
        solution = self._boxes.tighten(low, node.high, self._incumbent.objective)
        if solution is None:
            return False
        self._append(solution.cut)
        self._bound(node, len(self._cuts) - 1)
        counts = np.clip(solution.counts, low, node.high)
        self._round(SoftSolution(counts, solution.x, solution.cut))
        self._climb_on()
        if not solution.done or node.bound <= self._incumbent.objective:
            self._push(node)
            return True
        spread = np.where(node.high > low, solution.spread, 0.0)
        cls = int((spread if spread.max() > _MIXED else node.high - low).argmax())
        self._split_counts(node, cls, int(counts[cls]))
        return True

    def _climb_on(self) -> None:
        """Go on from the best selection by some more steps, if the last ones were of use."""
        support = self._incumbent.support
        if self._large and self._rises and support is not None:
            before = self._incumbent.objective
            self._incumbent.offer(climb_by_several(self._problem, support, self._budget))
            self._rises = self._incumbent.objective > before

    def _solve(self, node: _Node, counts: Integers) -> SoftSolution | None:
        decided_in, decided_out = self._masks(node)
        solution = self._relaxation.minimise_violation(counts, decided_in, decided_out)
        if solution is not None:
            self._round(solution)
        return solution

    def _masks(self, node: _Node) -> tuple[Any, Any]:
        decided_in, decided_out = self._problem.required.copy(), ~self._problem.selectable
        decided_in[list(node.decided_in)] = True
        decided_out[list(node.decided_out)] = True
        return decided_in, decided_out

    def _round(self, solution: SoftSolution, *, polish: bool = False) -> None:
        """The selection with the largest x, and what climbing from it leads to where that is promising."""
        support = np.zeros(self._problem.n_features, dtype=np.bool_)
        for members, n in zip(self._problem.features_of_class, solution.counts, strict=True):
            order = np.lexsort((-solution.cut.scores[members], -solution.x[members]))
            support[members[order[: int(n)]]] = True
        support = self._problem.constraints.complete(support)
        before = self._incumbent.objective
        objective = self._incumbent.offer(support)
        if polish or objective > before - _PROMISING:
            better = (climb_in_batches if self._large else climb)(self._problem, support, self._budget)
            self._incumbent.offer(better)

    def _bound(self, node: _Node, index: int) -> None:
        value = self._value(node, index)
        if value < node.bound:
            node.bound, node.cut = value, index

    def _value(self, node: _Node, index: int) -> float:
        """What a cut says about a node."""
        low = self._low(node)
        if (low > node.high).any():
            return float(node.high.sum())  # no more features than the best objective: nothing better in it
        if not node.decided:
            return float(self._cuts[index].objective_bounds(low[None, :], node.high[None, :])[0])
        curves = self._curves(node, index)
        if curves is None:
            return -np.inf
        return float(sum(values.max() for _, values in curves) - self._cuts[index].offset + self._cuts[index].error)

    def _low(self, node: _Node) -> Integers:
        """The least counts in a node with which a selection can have more features than the best objective."""
        total = int(np.floor(max(self._incumbent.objective, 0.0))) + 1
        low: Integers = np.maximum(node.low, total - (node.high.sum() - node.high))
        return low

    def _best_counts(self, node: _Node) -> Integers | None:
        """Where the bound of a node is attained; None if its counts cannot be reached."""
        curves = self._curves(node, node.cut or 0)
        if curves is None:
            return None
        return np.array([counts[int(values.argmax())] for counts, values in curves])

    def _curves(self, node: _Node, index: int) -> list[tuple[Integers, Floats]] | None:
        """For each class the counts in the box that can be reached, and what they add to the bound."""
        cut, problem = self._cuts[index], self._problem
        decided_in, decided_out = self._masks(node)
        curves, lows = [], self._low(node)
        for cls, members in enumerate(problem.features_of_class):
            low, high = int(lows[cls]), int(node.high[cls])
            if low > high:
                return None
            if not node.decided:
                counts = np.arange(low, high + 1)
                first, means = cut.means(cls, low)
                curves.append((counts, means[low - first : high + 1 - first] + counts))
                continue
            inside, free = members[decided_in[members]], members[~(decided_in | decided_out)[members]]
            counts = np.arange(max(low, inside.size), min(high, inside.size + free.size) + 1)
            if counts.size == 0:
                return None
            sums = cut.scores[inside].sum() + np.concatenate([[0.0], np.cumsum(np.sort(cut.scores[free])[::-1])])
            curves.append((counts, sums[counts - inside.size] / counts + counts))
        return curves

    def _split(self, node: _Node, counts: Integers, solution: SoftSolution) -> None:
        low = self._low(node)
        if (low < node.high).any():
            cls = int((node.high - low).argmax())
            self._split_counts(node, cls, int(counts[cls]))
            return
        feature = self._branching_feature(node, counts, solution)
        if feature is None:
            return
        node.split = ["feature", feature]
        box = (node.low, node.high)
        out = _Node(*box, node.decided_in, (*node.decided_out, feature))
        into = _Node(*box, (*node.decided_in, feature), node.decided_out)
        self._keep_children(node, [out, into])

    def _split_counts(self, node: _Node, cls: int, count: int) -> None:
        """Split a box into one with at most some count of a class, and one with more."""
        at = min(count, int(node.high[cls]) - 1)
        first, second = node.high.copy(), node.low.copy()
        first[cls], second[cls] = at, at + 1
        node.split = ["count", cls, at]
        boxes = ((node.low, first), (second, node.high))
        self._keep_children(node, [_Node(low, high, node.decided_in, node.decided_out) for low, high in boxes])

    def _keep_children(self, node: _Node, children: list[_Node]) -> None:
        node.children = children
        for child in children:
            self._bound_child(child, node)
            self._push(child)

    def _bound_child(self, child: _Node, parent: _Node) -> None:
        """Bound a child by the cuts of its parent, of the way uphill, and the latest ones."""
        recent = range(max(0, len(self._cuts) - _RECENT_CUTS), len(self._cuts))
        for index in sorted({*range(self._uphill), *recent, parent.cut or 0}):
            self._bound(child, index)

    def _branching_feature(self, node: _Node, counts: Integers, solution: SoftSolution) -> int | None:
        """The feature that is furthest from whole; any that is free if all are whole; None if none is free."""
        decided_in, decided_out = self._masks(node)
        free = np.flatnonzero(~(decided_in | decided_out))
        missing = counts - self._problem.counts(decided_in)
        available = self._problem.counts(~(decided_in | decided_out))
        if ((missing == 0) | (missing == available)).all():
            self._settle_selection(node, decided_in, free, missing)
            return None
        open_class = (missing > 0) & (missing < available)
        free = free[open_class[self._problem.feature_classes[free]]]
        away = np.minimum(solution.x[free], 1.0 - solution.x[free])
        return int(free[np.argmax(away)])

    def _settle_selection(self, node: _Node, decided_in: Any, free: Integers, missing: Integers) -> None:
        """A leaf with a single selection: its bound is its objective."""
        support = decided_in.copy()
        support[free] = missing[self._problem.feature_classes[free]] > 0
        self._incumbent.offer(support)
        node.bound, node.selection = self._problem.objective_ceiling(support), True
        self._settled_bound = max(self._settled_bound, node.bound)

    def _tokens(self, bound: float) -> list[Token]:
        """The tree as a list of tokens, parents before children; what a cut settles is not split any further."""
        tokens: list[Token] = []
        if bound >= self._problem.n_selectable:
            return tokens
        left = [self._root]
        while left:
            node = left.pop()
            if node.selection:
                tokens.append(["selection"])
            elif node.bound <= bound or node.split is None:
                tokens.append(["cut", node.cut or 0])
            else:
                tokens.append(node.split)
                left += reversed(node.children)
        return tokens
