"""The search for the best panel: branch and bound over counts and features.

Any multipliers within the caps bound the tail margin of all panels with some counts, and of those in a box of counts
(:mod:`cobic.certified.bounds`). The case with the largest bound comes first. A box of counts is split at the counts
that promise most. At single counts the relaxation (:mod:`cobic.certified.panel_relaxation`) gives multipliers, which
decide most features at once: those whose other value would bring the bound down to the best panel. The others are
gathered, and what is left is split on a feature that the fractional panel holds in part. Fractional panels lead to good
ones from the first on (:mod:`cobic.certified.panel_climbs`).
"""

import heapq
import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cobic.certified.bounds import Cut
from cobic.certified.boxes import cut_to_total, moved_counts, nearest_counts
from cobic.certified.certificate import make_panel_certificate
from cobic.certified.effort import DEFAULT, Effort
from cobic.certified.fixing import FREE, IN, OUT, NodeBound, Values
from cobic.certified.panel_climbs import PanelClimbs
from cobic.certified.panel_incumbent import PanelIncumbent
from cobic.certified.panel_multipliers import error_of, first_shares, tail_shares_of, whole_multipliers
from cobic.certified.panel_relaxation import Arena, PanelRoot, best_features, losses_at, places_of, root_at
from cobic.certified.panel_root import PanelLooks
from cobic.certified.panel_rounding import dive, held_twice
from cobic.certified.proof import All, Close, Fix, Multipliers, Single, SplitCount, SplitFeature, Step
from cobic.matrix import Integers
from cobic.problem import PanelProblem
from cobic.search.budget import Budget

_FRACTIONAL = 1e-6  # away from 0 and 1: less is the tolerance of the solver


@dataclass(eq=False)
class _Case:
    """A box of counts; or, at single counts, a node of the tree over features at hand."""

    low: Integers
    high: Integers
    bound: float
    cut: int  # the multipliers that prove the bound
    arena: Arena | None = None
    values: Values | None = None
    fixes: list[int] = field(default_factory=list)  # multipliers that decide features here
    split: SplitCount | SplitFeature | Single | All | None = None
    children: list["_Case"] = field(default_factory=list)

    @property
    def is_point(self) -> bool:
        return bool((self.low == self.high).all())


class PanelSearch:
    """Brings the best panel and the proven bound together."""

    def __init__(
        self,
        panel: PanelProblem,
        budget: Budget,
        target_gap: float = 0.0,
        max_programs: int | None = None,
        effort: Effort = DEFAULT,
        seed: int = 0,
    ) -> None:
        self._panel, self._problem, self._budget, self._effort = panel, panel.problem, budget, effort
        many = panel.problem.comparisons.other.size > effort.program_rows and not panel.offset
        self._looks = PanelLooks(panel, budget, effort) if many else None
        self._target_gap = target_gap
        self._most_programs = np.inf if max_programs is None else max_programs
        self.incumbent = PanelIncumbent(panel, budget)
        self._climbs = PanelClimbs(panel, self.incumbent, budget, effort, seed, lambda: self._close_enough)
        self._proof: list[Multipliers] = []
        self._cuts: dict[int, Cut] = {}  # those of counts, which say something about boxes
        self._roots: dict[tuple[int, ...], tuple[PanelRoot, int]] = {}
        self._heap: list[tuple[float, int, _Case]] = []
        self._pushed, self._settled = itertools.count(), -np.inf
        self._at_work = np.inf  # the bound of the case that is visited
        self._n_nodes, self._told = 0, np.inf
        self._arenas: dict[Arena, None] = {}  # those that hold memory, the one that was visited last at the end

    @property
    def bound(self) -> float:
        """No panel has a larger tail margin."""
        best_open = -self._heap[0][0] if self._heap else -np.inf
        decided = self.incumbent.level  # features were decided at that level
        return float(max(best_open, self._at_work, self._settled, decided))

    @property
    def _close_enough(self) -> bool:
        """Whether no panel can be better by more than is asked for."""
        return self.bound - self.incumbent.tail_margin <= self._target_gap * abs(self.incumbent.tail_margin)

    def run(self) -> None:
        """Search until nothing is left, or selection and bound are close enough, or the budget is spent."""
        start = whole_multipliers(self._panel, first_shares(self._panel))
        shares = np.full(self._panel.low.size, 1.0 / self._panel.low.size)
        counts = nearest_counts(self._panel.total, shares, self._panel.low, self._panel.high)
        cut = Cut(self._problem, start, counts, groups=self._panel.groups)
        self._root = _Case(self._panel.low, self._panel.high, np.inf, self._record(cut.multipliers, cut.slope))
        self._cuts[self._root.cut] = cut
        self._climbs.offer(self._problem.required, best_features(self._panel, cut, counts))  # some panel at once
        cut.release(most=self._panel.high)
        self._relaxed(counts)  # before any split: multipliers that know the samples tell which counts promise most
        self._bound_box(self._root)  # also where time is up by now
        self._push(self._root)
        self._at_work = -np.inf
        while self._heap and not self._budget.exhausted() and self._budget.lps < self._most_programs:
            self._tell()
            if self._close_enough:
                return
            _, _, case = heapq.heappop(self._heap)
            self._at_work = case.bound
            visited = self._visit(case)
            self._at_work = -np.inf
            if not visited:
                self._push(case)
                break
        self._budget.report(objective_bound=self.bound, boxes=len(self._heap))

    def _tell(self) -> None:
        """Tell about the bound where its distance from the best panel has fallen by a hundredth."""
        distance = self.bound - self.incumbent.tail_margin
        if distance < self._effort.panel_told * self._told:
            self._told = distance
            self._budget.report(objective_bound=self.bound, boxes=len(self._heap))

    def certificate(self) -> dict[str, Any]:
        """The proof of the present bound."""
        steps: list[Step] = []
        left = [self._root]
        while left:
            case = left.pop()
            steps += [Fix(cut) for cut in case.fixes]
            if isinstance(case.split, (SplitCount, SplitFeature)):
                steps.append(case.split)
                left += reversed(case.children)
            else:
                steps.append(Close(case.cut) if case.split is None else case.split)
        best = self.incumbent
        return make_panel_certificate(self._panel, best.support, best.offsets, self.bound, self._proof, steps)

    def _push(self, case: _Case) -> None:
        """Keep a case for later, unless nothing in it is better than what is there."""
        if case.bound <= self.incumbent.level:
            self._settled = max(self._settled, case.bound)
        else:
            heapq.heappush(self._heap, (-case.bound, next(self._pushed), case))

    def _record(self, whole: Integers, slope: float = 0.0) -> int:
        self._proof.append(Multipliers.of(whole, slope))
        return len(self._proof) - 1

    def _visit(self, case: _Case) -> bool:
        """Split a case, or show that nothing in it is better; False if out of budget."""
        if case.arena is not None:
            self._visit_node(case)
            return True
        if not case.is_point:
            self._bound_box(case)
            if case.bound <= self.incumbent.level:
                self._push(case)
                return True
        counts = case.low if case.is_point else self._promising(case)
        root = self._relaxed(counts)
        if root is None:
            return False
        if case.is_point:
            self._open(case, *root)
        else:
            self._bound_box(case)
            self._split_box(case, counts)
        return True

    def _relaxed(self, counts: Integers) -> tuple[PanelRoot, int] | None:
        """The relaxation at some counts and the place of its multipliers; its rounded panel is offered."""
        known = self._roots.get(tuple(counts.tolist()))
        if known is not None:
            return known
        if self._looks is not None:
            root = self._looked(self._looks, counts)
        else:
            root = root_at(self._panel, counts, self._nearest_multipliers(), self._budget)
            if root is not None:
                if self._is_given:
                    self._at_work = min(self._at_work, root.value)
                self._climbs.from_root(counts, root)
        if root is None:
            return None
        place = self._record(root.cut.multipliers, root.cut.slope)
        self._cuts[place] = root.cut
        self._roots[tuple(counts.tolist())] = (root, place)
        root.cut.release(most=self._panel.high)
        return root, place

    @property
    def _is_given(self) -> bool:
        """Whether there are no other counts."""
        return bool((self._panel.low == self._panel.high).all())

    def _looked(self, looks: PanelLooks, counts: Integers) -> PanelRoot | None:
        """The same by looks at the data, some at a time, each time with a rounded panel."""
        looks.start_from(self._nearest_multipliers())
        root, more, vain = None, True, 0
        while more and (found := looks.at(counts)) is not None:
            before, (root, more) = np.inf if root is None else root.value, found
            gained = before - root.value > self._effort.panel_close * abs(root.value)
            vain = 0 if gained else vain + 1
            more = more and vain < self._effort.panel_vain_looks
            if self._is_given:
                self._at_work = min(self._at_work, root.value)
                self._budget.report(objective_bound=max(root.value, self.incumbent.level))
            self._climbs.from_root(counts, root, 0 if more or not self._is_given else self._effort.panel_kicks)
        return root

    def _nearest_multipliers(self) -> Integers:
        """Multipliers to begin with: the last ones; at first the shares in the tail of the panel at hand."""
        if self._roots or self.incumbent.support is None or self._panel.offset:
            return next(reversed(self._cuts.values())).multipliers
        return whole_multipliers(self._panel, tail_shares_of(self._panel, self.incumbent.support))

    def _open(self, case: _Case, root: PanelRoot, place: int) -> None:
        """Begin the tree at single counts: most features are decided by the multipliers of the relaxation."""
        if root.value < case.bound:
            case.bound, case.cut = root.value, place
        if case.bound <= self.incumbent.level:
            self._push(case)
            return
        bound, features = losses_at(self._panel, case.low, root.cut, self.incumbent.level)
        root.cut.release()
        forced = bound.forced
        too_many = self._problem.comparisons.other.size > self._effort.panel_tree_rows
        if too_many or int((~forced).sum()) * self._problem.n_samples > self._effort.panel_tree_cells:
            self._settled = max(self._settled, case.bound)  # what is left is too much to be split
            return
        fixed_in = np.zeros(self._problem.n_features, dtype=np.bool_)
        fixed_in[features[forced & (bound.preferred == IN)]] = True
        case.fixes.append(place)
        if self._panel.groups is not None:
            if not self._panel.groups.admit(fixed_in):
                self._settled = max(self._settled, self.incumbent.level)  # what is decided leaves no panel
                return
            forced = forced | self._panel.groups.mates(np.flatnonzero(fixed_in))[features]
        arena = Arena(self._panel, case.low, features[~forced], fixed_in, self._budget)
        case.arena, case.values = arena, arena.undecided()
        self._push(case)

    def _visit_node(self, case: _Case) -> None:
        """Bound a node of the tree over features, decide what its multipliers decide, and split it."""
        arena, values = case.arena, case.values
        assert arena is not None
        assert values is not None
        self._make_room(arena)
        whole = self._proof[case.cut].dense(self._problem.comparisons.other.shape)
        bound = arena.bound(whole, values, self.incumbent.level)
        if self._decide(case, bound, case.cut):
            return
        if self._look_at_all(case):
            return
        relaxed = arena.relax(values, bound.losses, self.incumbent.level)
        if relaxed is None:
            if self._budget.exhausted():
                self._push(case)
            else:
                self._settle_by_hand(case)
            return
        self._n_nodes += 1
        place = self._record(relaxed.whole)
        if self._decide(case, relaxed.bound, place):
            return
        self._climbs.from_node(arena, relaxed.x, relaxed.bound, values)
        if self._n_nodes % self._effort.panel_dives == 1:
            for deeper, decided in dive(arena, relaxed, values, self.incumbent.level):
                self._climbs.from_node(arena, deeper.x, relaxed.bound, decided)
            if self._n_nodes > 1:
                self._climbs.from_node(arena, relaxed.x, relaxed.bound, values, self._effort.panel_kicks)
        if case.bound <= self.incumbent.level:
            self._push(case)
            return
        away = np.where(values == FREE, 0.5 - np.abs(relaxed.x - 0.5), -1.0)
        if away.max(initial=-1.0) >= _FRACTIONAL:
            self._split_node(case, int(away.argmax()))
        elif (twice := held_twice(arena, relaxed.x, values)).size:
            self._split_node(case, int(twice[0]))
        else:
            self._settle_by_hand(case)

    def _make_room(self, arena: Arena) -> None:
        """Let the arenas that were not visited for longest give back what is too much for all of them."""
        self._arenas.pop(arena, None)
        held = sum(other.held for other in self._arenas)
        for other in [*self._arenas]:
            if held <= self._effort.panel_arena_bytes:
                break
            held -= other.held
            other.release()
            del self._arenas[other]
        self._arenas[arena] = None

    def _look_at_all(self, case: _Case) -> bool:
        """Look at every panel that is left, if the worst margin counts, two features are missing, and it is quick."""
        arena, values = case.arena, case.values
        assert arena is not None
        assert values is not None
        missing = arena.missing(values)
        many = self._panel.offset and missing.size > 2
        if self._panel.caps is not None or many or (missing < 0).any() or missing.sum() != 2:
            return False
        first, second = (np.flatnonzero((values == FREE) & (arena.classes == cls)) for cls in places_of(missing))
        cells = first.size * second.size * self._problem.comparisons.other.size
        effort = self._effort
        if cells > (effort.panel_first_looked_at if self._panel.total == 2 else effort.panel_looked_at):
            return False
        pair = arena.best_pair(values, first, second)
        if pair is not None:
            support = arena.fixed_in.copy()
            support[arena.features[(values == IN)]] = support[arena.features[list(pair)]] = True
            self.incumbent.offer(support)
        case.split = All()
        self._settled = max(self._settled, self.incumbent.level)
        return True

    def _decide(self, case: _Case, bound: NodeBound, place: int) -> bool:
        """Take what multipliers say about a node: its bound, and features that are decided. Is nothing better left?"""
        assert case.values is not None
        level = self.incumbent.level
        value = (bound.value + bound.error) / float(self._proof[place].values.sum()) + level
        if value < case.bound:
            case.bound, case.cut = value, place
        if bound.closes or case.bound <= level:
            self._settled = max(self._settled, min(case.bound, level))
            if bound.closes:
                case.cut = place
            return True
        forced = (case.values == FREE) & bound.forced
        if forced.any():
            assert case.arena is not None
            case.fixes.append(place)
            case.values[forced] = bound.preferred[forced]
            if not case.arena.take(case.values, np.flatnonzero(forced & (bound.preferred == IN))):
                self._settled = max(self._settled, level)  # what is decided leaves no panel
                return True
        return False

    def _split_node(self, case: _Case, place: int) -> None:
        """Split a node on a feature: without it, and with it."""
        assert case.arena is not None
        assert case.values is not None
        case.split = SplitFeature(int(case.arena.features[place]))
        for value in (OUT, IN):
            values = case.values.copy()
            values[place] = value
            if value == IN:
                case.arena.take(values, np.array([place]))
            child = _Case(case.low, case.high, case.bound, case.cut, case.arena, values)
            case.children.append(child)
            self._push(child)
        case.values = None

    def _settle_by_hand(self, case: _Case) -> None:
        """Where the program says nothing new, split on any feature, until one panel is left, or none."""
        arena, values = case.arena, case.values
        assert arena is not None
        assert values is not None
        missing, free = arena.missing(values), values == FREE
        if ((missing < 0) | (missing > arena.available(values))).any():
            return  # there is none: any multipliers show that
        available = np.bincount(arena.classes[free], minlength=missing.size)
        if ((missing == 0) | (missing == available)).all():
            support = arena.fixed_in.copy()
            support[arena.features[(values == IN) | (free & (missing[arena.classes] > 0))]] = True
            self.incumbent.offer(support)
            if self._panel.offset and self._panel.admits(support):  # it takes multipliers to prove what it comes to
                values[free] = np.where(missing[arena.classes[free]] > 0, IN, OUT)
                if free.any():
                    self._push(case)
                else:
                    self._settled = max(self._settled, case.bound)
                return
            case.split, ceiling = Single(), self._panel.ceiling(support)
            self._settled = max(self._settled, ceiling)
            return
        still_open = (missing > 0) & (missing < available)
        self._split_node(case, int(np.flatnonzero(free & still_open[arena.classes])[0]))

    def _bound_box(self, case: _Case) -> None:
        """Bound a box by all multipliers that say something about boxes."""
        for place, cut in self._cuts.items():
            error = error_of(self._panel, cut.multipliers.astype(np.float64))
            value = cut.box_values(case.low[None, :], case.high[None, :], self._panel.total)[0]
            value = float((value + 2.0 * error) / cut.size)  # twice, for what the slope adds and takes away again
            if value < case.bound:
                case.bound, case.cut = value, place

    def _promising(self, case: _Case) -> Integers:
        """The counts in a box at which the multipliers at hand leave the largest margin, as far as small steps show."""
        best = nearest_counts(self._panel.total, case.high / case.high.sum(), case.low, case.high)
        step = max(1, int((case.high - case.low).max()) // 4)
        while True:
            tried = np.array([best, *moved_counts(best, step, case.low, case.high)])
            values = np.min([cut.values(tried) / cut.size for cut in self._cuts.values()], axis=0)
            chosen = int(values.argmax())
            if chosen == 0 and step == 1:
                return best
            best, step = tried[chosen], step if chosen else step // 2

    def _split_box(self, case: _Case, counts: Integers) -> None:
        """Split a box at some counts; they go to the first half, unless that would be the whole box."""
        cls = int((case.high - case.low).argmax())
        at = int(min(counts[cls], case.high[cls] - 1))
        case.split = SplitCount(cls, at)
        for half in (0, 1):
            low, high = case.low.copy(), case.high.copy()
            if half:
                low[cls] = at + 1
            else:
                high[cls] = at
            low, high = cut_to_total(low, high, self._panel.total, or_more=False)
            child = _Case(low, high, case.bound, case.cut)
            case.children.append(child)
            if (low <= high).all():
                self._bound_box(child)
                self._push(child)
