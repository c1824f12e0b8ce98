"""The search for the proven optimum: selections and bound close in on each other, with growing effort.

A rough bound comes first (:mod:`cobic.certified.branching`). Totals between the best selection and the bound are then
bisected by success: at the most promising counts of a total the relaxation is solved, rounded, and mended by dives
(:mod:`cobic.certified.columns`) and exchanges (:mod:`cobic.certified.swaps`). Then the bound is lowered: by
multipliers, and where these leave a few counts open, by deciding on features. What fails is tried again with more
effort, until the two meet, or are as close as was asked for, or more effort has brought nothing for long.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from cobic.certified.bounds import Cut
from cobic.certified.branching import Brancher, Slice
from cobic.certified.bundle import CLOSENESS, Bundle, Relaxed
from cobic.certified.certificate import Multipliers, Token, make_certificate
from cobic.certified.coarse import Beginning, part_of_features, quiet
from cobic.certified.columns import GIANT, ColumnSearch
from cobic.certified.margins import selections_with_large_margins
from cobic.certified.programs import FeaturePrograms, round_to_counts
from cobic.matrix import Floats, Integers
from cobic.problem import Problem
from cobic.search.budget import Budget, Incumbent
from cobic.search.repair import repair

# Small linear programs (about a millisecond each) for a dive or a tree at first; doubled with the effort.
_PROGRAMS = 100
_MOST_EFFORT = 8
_PATIENCE = 7000  # programs without any news, and as many again as it took to the last news
_SETTING_UP = 15  # programs that setting up a tree is charged as
# Features that are dived into and exchanged, in turn: most data need few, some need many; twice as many where all are
# very many, because there is more to mend after rounding.
_WINDOWS = (400, 1000, 160)
_DIVE_CELLS = 1 << 21  # effects of features on comparisons in a dive: 16 MB
_MAX_OPEN = 60  # counts left open by multipliers: with more, trees would not settle them all
_FEW_CLASSES = 6  # boxes of counts of more classes have no end
_SLOW = 5e-4  # of the features: where a bound falls by less at a time, it is time to look for selections
_MANY_TOTALS, _CLOSER = 10, 0.25  # totals that are not told apart at first; what is left of these the next time
_OF_A_PART = 4e-3  # of the features: by more the bound of a part differs from that of the whole
_BOOST = 0.5  # of the margin that is missing
_AGAIN = 0.5  # of the margin at the other end, if two totals in turn are on the same side (the Illinois rule)
_INSIDE = 0.1  # of the way between two totals: the next one is not closer to either
_APPROACHES, _STEP = 30, 2e-3  # relaxations on the way to the bound, and by how much of a total to go up at first
_DESCENTS = (1, 5, 25, 125)  # features below the bound, where the first selection is looked for
_TRIES = 2  # of these at which a selection may be looked for in vain
_MOVES, _MANY_COMPARISONS = 60, 5000  # of a repair, which is better than dives where comparisons are many
_COOLING = 50  # programs that a cooling is charged as, when it comes to giving up
_POINTS = 8  # counts of a total that are dived into in turn
_RECENT = 30  # multipliers that are asked which counts are promising
_REACH, _SHORT_REACH = 8, 200  # part of a total by which counts may move at a time; the latter stays inside a window
# Relaxations to find the best counts of a total, and by how much of a margin the next must promise to be better.
_REFINEMENTS, _WORTH_IT = 4, 0.1
_UNITS = 4  # by which a bound is lowered at first before selections are looked for again
_WIDE = 0.01  # of the bound: with such a gap trees are worth their time far below the bound, too
_NEIGHBOURS = 4  # counts that are tried then
_DEPTH = 4  # giants that are decided one after the other


@dataclass
class _Total:
    """The state of one total: its slice, and what is known about each open point."""

    slice: Slice
    points: list[Relaxed]
    closed: dict[int, list[Token]]
    optimised: set[int]

    @property
    def unsettled(self) -> list[int]:
        return [index for index in range(len(self.points)) if index not in self.closed]

    @property
    def excluded(self) -> bool:
        return self.slice.complete and not self.unsettled


class CertifiedSearch:
    """Brings the largest selection and the proven bound together."""

    def __init__(
        self,
        problem: Problem,
        budget: Budget,
        incumbent: Incumbent,
        rng: np.random.Generator,
        max_programs: int,
        target_gap: float = 0.0,
        *,
        is_part: bool = False,
    ) -> None:
        self._problem, self._budget, self._incumbent, self._is_part = problem, budget, incumbent, is_part
        self._target_gap, self._seen = target_gap, (0, problem.n_selectable)
        self._improved_at = self._charged = 0
        self._relaxation = Bundle(problem, budget)
        self._programs = FeaturePrograms(problem, budget, self._relaxation)
        self._brancher = Brancher(problem, self._programs, budget)
        self._proof: list[Multipliers] = []
        self._columns = ColumnSearch(problem, self._programs, budget, incumbent, self._proof)
        self._rng, self._last_program = rng, max_programs
        self._totals: dict[int, _Total] = {}
        self._near: Floats = problem.feature_class_sizes / problem.n_selectable
        # No consistent selection is smaller than one feature per class, or than the required ones.
        self._least = int(self._brancher.least.sum()) - 1
        # Multipliers that exclude a total exclude what is above, unless some features must be selected.
        self._or_more = bool(problem.required.any())
        self._excluded: dict[int, Slice] = {}
        self._trees: dict[int, list[Token]] = {}
        self._recent: list[Cut] = []
        self._approached = self._reached = problem.n_selectable
        self._solvable = 0  # the largest total that has a mixture of selections, and so is not excluded by multipliers
        self._parts: dict[tuple[int, bool], CertifiedSearch] = {}
        self.upper_bound = problem.n_selectable

    def run(self, beginning: Beginning | None = None) -> None:
        """Search."""
        beginning = (
            beginning or self._bound_of_part() or Beginning(self._problem.feature_class_sizes.astype(np.float64))
        )
        self._begin(beginning)
        for effort in range(_MOST_EFFORT):
            if self._spent():
                return
            if effort == 0:
                self._close_in()
            before = self._incumbent.n_selected
            self._rise(effort)
            if self._is_wide and self._incumbent.n_selected > before:
                continue  # more selections are worth more than a bound that is lower by a unit
            for _ in range(_UNITS << effort):
                if self._spent() or not self._lower_bound(effort):
                    break

    def _close_in(self) -> None:
        """The bound and selections in turn, where features are many roughly at first, then more and more closely."""
        closeness = _SLOW
        while not self._spent():
            middle = (self._floor + self.upper_bound) // 2
            self._find_bound(min(middle, self._reached + int(closeness * middle)), closeness)
            if closeness <= CLOSENESS:
                return
            self._rise(0, _CLOSER * closeness)
            many = closeness * self.upper_bound > _MANY_TOTALS
            closeness = max(closeness * _CLOSER, CLOSENESS) if many else CLOSENESS

    def _begin(self, beginning: Beginning) -> None:
        """Find the bound, roughly, from somewhere near it."""
        total = int(np.clip(np.floor(beginning.amounts.sum()), self._least + 1, self._problem.n_selectable))
        if beginning.amounts.all():
            self._near = beginning.amounts / beginning.amounts.sum()
        if beginning.multipliers is not None:
            self._relaxation.start_from(beginning.multipliers)
        self._relaxation.closeness = self._roughly
        self._approach(total)
        if not self._budget.exhausted() and not self._is_part:
            self._exclude_from(self._problem.n_selectable + 1, None)
        self._relaxation.closeness = CLOSENESS
        if self._incumbent.support is None and self.upper_bound and not self._is_part:
            self._begin_small()

    def _begin_small(self) -> None:
        """A selection where none was found on the way to the bound: next to it, or a small one with a large margin.

        Where features are many, relaxations at small counts would take as long as the way down from the bound.
        """
        if not self._relaxation.is_small:
            self._rise(0, _SLOW)
            return
        for step in _DESCENTS:
            point = self._best_point(max(min(self.upper_bound - step, self._reached), self._least + 1))
            if point is not None and point.model > 0 and self._dive(point, 0, 0):
                return
        without = self._problem.with_margins(0.0, self._problem.beta)
        for _, support in selections_with_large_margins(without, self._budget):
            found = support is not None and self._incumbent.offer(support)
            if self._incumbent.support is not None and not found:
                return  # larger ones have smaller margins

    def _approach(self, total: int) -> None:
        """Come near the largest total at which the relaxation has a solution, from both sides.

        Multipliers that exclude some counts say how many features must go at least, and the model how many are enough;
        between totals with a solution and without one, the next one is where their margins point to.
        """
        low, high, step, failures = self._floor, self._problem.n_selectable + 1, _STEP, 0
        margin_low, margin_high, was_excluded = 0.0, 0.0, False
        # With many classes the counts are a guess, and each step would be too short.
        boost = _BOOST if self._problem.n_classes > _FEW_CLASSES else 0.0
        for _ in range(_APPROACHES):
            self._approached = total
            point = None if self._budget.exhausted() else self._explored(total)
            if point is None:
                return
            if failures < _TRIES:  # the bound may take long
                failures += self._fails_to_round(point, self._roughly)
            if point.excluded:
                high, margin_high = min(high, total), point.value
                margin_low *= _AGAIN if was_excluded else 1.0
                level = (point.value - point.model - boost * point.model) * point.cut.size
                boost *= 2
                enough = self._brancher.fewer(point.cut, point.counts, level)
                if enough is None:
                    return
                total = int(enough.sum())
                if self._problem.n_classes > _FEW_CLASSES:  # else earlier multipliers tell more about the shares
                    self._near = enough / total
            else:
                low, margin_low = max(low, total, self._floor), point.value
                margin_high *= 1.0 if was_excluded else _AGAIN
                self._reached = low
            was_excluded = point.excluded
            between = margin_low / (margin_low - margin_high) if margin_low > 0 > margin_high else 1.0
            if high - low <= 1 + self._roughly * high:
                self._approached = low + int(between * (high - low))
                return
            if point.excluded and low < total < high:
                if margin_low > 0 and not self._is_part and self.upper_bound == self._problem.n_selectable:
                    self._exclude_from(self.upper_bound + 1, None)  # a rough bound already
                continue
            if margin_low > 0 > margin_high:
                between = float(np.clip(between, _INSIDE, 1 - _INSIDE))
                total = int(np.clip(low + between * (high - low), low + 1, high - 1))
            else:
                total = min((low + high) // 2, low + 1 + int(step * low))
                step *= 2

    def _fails_to_round(self, point: Relaxed, closeness: float) -> bool:
        """Round a relaxation on the way to the bound, if it has far more features than the best selection; in vain?"""
        far = self._incumbent.n_selected < (1.0 - closeness) * point.counts.sum()
        if point.model <= 0 or self._is_part or not far:
            return False
        return not (self._dive(point, 0, 0) or self._dive(point, 0, 1))

    def _explored(self, total: int) -> Relaxed | None:
        """The relaxation at counts of a total at which it has a solution; if there seem to be none, at the best ones.

        What earlier multipliers say about all counts points to where the next relaxation is solved.
        """
        (counts, _), point = self._promising(total, self._brancher.nearest(total, self._near)), None
        for _ in range(_REFINEMENTS):
            point = self._programs.solve(counts)
            if point is None:
                return None
            self._brancher.cuts.append(point.cut)
            self._remember(point)
            if not point.excluded or self._problem.n_classes <= _FEW_CLASSES:
                self._near = counts / total
            better, value = self._promising(total, counts)
            if not point.excluded or value <= 0 or (better == counts).all():
                break
            counts = better
        return point

    def _remember(self, point: Relaxed) -> None:
        """Keep the multipliers of a point to be asked about others, and its total if it has a solution."""
        if point.model > 0:
            self._solvable = max(self._solvable, int(point.counts.sum()))
        self._recent = [*self._recent[1 - _RECENT :], point.cut]
        self._brancher.release(point.cut, int(point.counts.sum()))

    def _bound_of_part(self) -> Beginning | None:
        """The bound of some of the features, carried over to all."""
        part = part_of_features(self._problem)
        if part is None or part.is_consistent(part.selectable):
            return None
        search = CertifiedSearch(part, *quiet(part, self._budget), self._rng, self._last_program, is_part=True)
        search._begin(search._bound_of_part() or Beginning(part.feature_class_sizes.astype(np.float64)))
        if not search._brancher.cuts or search._approached <= search._least + 1:
            return None  # what no part of the features can do, all of them may
        amounts = search._near * search._approached * (1.0 - _STEP) * (self._problem.n_selectable / part.n_selectable)
        return Beginning(amounts, search._brancher.cuts[-1].multipliers)

    def certificate(self) -> dict[str, Any]:
        """The proof of the present bound: a tree for each total above it, the last for all that are larger, too."""
        tree: list[Token] = []
        first = len(self._proof)
        total = max(self.upper_bound, self._least) + 1
        while total <= self._problem.n_selectable:
            if total in self._excluded:
                tree += [["or more"], *_tokens(_Total(self._excluded[total], [], {}, set()), first)]
                break
            tree += self._trees[total]
            total += 1
        cuts = [*self._proof, *(cut.proof for cut in self._brancher.cuts)]
        return make_certificate(self._problem, self._incumbent.support, self.upper_bound, cuts, tree)

    def _done(self) -> bool:
        return self.is_close_enough or self._budget.exhausted()

    @property
    def is_close_enough(self) -> bool:
        """Whether selection and bound are as close as was asked for."""
        missing = self.upper_bound - self._incumbent.n_selected
        return missing <= (self._target_gap * self.upper_bound if self._incumbent.support is not None else 0)

    @property
    def is_stuck(self) -> bool:
        """Whether more effort has brought nothing for long."""
        state = (self._incumbent.n_selected, self.upper_bound)
        spent = self._budget.lps + self._charged
        if state != self._seen:
            self._seen, self._improved_at = state, spent
        idle = spent - self._improved_at
        found = self._incumbent.support is not None
        return found and self._target_gap > 0 and idle > _PATIENCE + self._improved_at

    @property
    def _roughly(self) -> float:
        """How closely to approach the bound, of the features; that of a part is not the same share anyway."""
        return _OF_A_PART if self._is_part else _SLOW

    @property
    def _is_wide(self) -> bool:
        """Whether selection and bound are so far apart that a unit of the bound is nothing."""
        return self.upper_bound - self._incumbent.n_selected > _WIDE * self.upper_bound

    @property
    def _floor(self) -> int:
        """Totals up to here need no proof: there is a selection, or none so small can be consistent."""
        return max(self._incumbent.n_selected, self._least)

    def _find_bound(self, guess: int, closeness: float) -> None:
        """Bracket the smallest total that multipliers exclude, up to a share of the features.

        Multipliers found at one total exclude, as a rule, smaller ones, too: the smallest of them is the next guess, as
        in Newton's method. Where that leads on slowly, by growing steps, then by halving.
        """
        low, high = max(self._floor, self._solvable), self.upper_bound + 1
        high = self._exclude_from(high, self._excluded.get(high), closeness)
        least = 1 + int(closeness * high)
        probe, step, bracketed = guess + 1, least, False
        while high - low > 1 + closeness * high and not self._done():
            probe = min(max(probe, low + 1), high - 1)
            slice_ = self._settle_from(probe)
            if slice_.excluded:
                high, step = self._exclude_from(probe, slice_, closeness), 2 * step
            else:
                low, bracketed, step = probe, True, least
                if slice_.open_points:
                    point = slice_.open_points[0]
                    self._near = point.counts / point.counts.sum()
                    if closeness > CLOSENESS:
                        self._fails_to_round(point, closeness)
                high = self._exclude_from(high, None, closeness)
            low = max(low, self._floor)
            probe = max(high - step, (low + high) // 2) if bracketed else high - step

    def _exclude_from(self, total: int, slice_: Slice | None, closeness: float = 0.0) -> int:
        """Take the smallest total that multipliers exclude as the bound; it is at most one that is excluded anyway.

        A total that is lower by less than a share of the features is not worth the relaxations that it may take.
        """
        if slice_ is not None:
            self._exclude(total, slice_)
        least = self._brancher.least_excluded(total, or_more=self._or_more)
        lower = self._settle_from(least) if total - least > closeness * total else None
        if lower is None or not lower.excluded:
            return total
        self._exclude(least, lower)
        return least

    def _exclude(self, total: int, slice_: Slice) -> None:
        """Take a total that multipliers exclude as the bound."""
        self._excluded[total] = slice_
        self._lower_bound_to(total - 1)

    def _settle_from(self, total: int) -> Slice:
        """Settle a total and all above it."""
        if self._or_more:
            return self._brancher.settle(total, self._near, 0, or_more=True)
        return self._settle(total, max_open=0).slice

    def _lower_bound_to(self, bound: int) -> None:
        self.upper_bound = bound if bound > self._least else 0
        self._budget.report(upper_bound=self.upper_bound, boxes=self._open_boxes())

    def _open_boxes(self) -> int:
        return sum(len(total.unsettled) for total in self._totals.values())

    def _settle(self, total: int, max_open: int) -> _Total:
        """Settle a total by counts; its open points are solved to optimality, the best ones first."""
        known = self._totals.get(total)
        if known is not None and (known.slice.complete or max_open < len(known.points)):
            return known
        slice_ = self._brancher.settle(total, self._near, max_open)
        self._totals[total] = _Total(slice_, list(slice_.open_points), {}, set())
        return self._totals[total]

    def _ranked(self, total: _Total) -> list[int]:
        """Unsettled open points of a total, the largest possible margin first."""
        for index in total.unsettled:
            if index not in total.optimised:
                solution = self._solve_at(total.points[index].counts)
                if solution is None:
                    break
                total.points[index] = solution
                total.optimised.add(index)
                if solution.excluded:
                    self._proof.append(solution.cut.proof)
                    total.closed[index] = [["cut", len(self._proof) - 1]]
        return sorted(total.unsettled, key=lambda index: (-total.points[index].model, index))

    def _rise(self, effort: int, closeness: float = 0.0) -> None:
        """Selections between the best one and the bound: one next to the bound, then by halving.

        As long as there is no selection at all, it goes down from the bound by growing steps.
        """
        failed, step = self.upper_bound + 1, max(1, int(_SLOW * self.upper_bound))
        size = max(min(self.upper_bound - step, self._reached), self._least + 1)
        while size > self._incumbent.n_selected and not self._spent() and not self._find(size, effort):
            step *= 2
            failed, size = size, max(size - step, self._least + 1)
            if self._incumbent.support is not None:
                break
            if size == failed:
                return
        while not self._spent():
            if failed - self._incumbent.n_selected <= 1 + (_WIDE / 2 if self._is_wide else closeness) * failed:
                break
            size = (failed + self._incumbent.n_selected) // 2
            if not self._find(size, effort):
                failed = size

    def _find(self, size: int, effort: int) -> bool:
        """Look for a selection of a size at its most promising counts, and where the gap is wide next to them."""
        point = self._best_point(size)
        for _ in range(_NEIGHBOURS):
            if point is None or point.model <= 0:
                return False
            if any(not self._spent() and self._dive(point, effort, turn) for turn in range(2 + (1 << effort) // 2)):
                return True
            if not self._is_wide or self._spent():
                return False
            self._columns.close(point, min(_PROGRAMS << (effort + 1), self._programs_left()))
            if self._incumbent.n_selected >= size:
                return True
            counts = self._more_even(point.counts)
            point = None if (counts == point.counts).all() else self._solve_at(counts)
        return False

    def _more_even(self, counts: Integers) -> Integers:
        """Counts with some more of the class that has fewest, and less of the one that has most."""
        counts = counts.copy()
        few, many = int(counts.argmin()), int(counts.argmax())
        room = min(int(self._brancher.sizes[few] - counts[few]), int(counts[many] - self._brancher.least[many]))
        step = min(1 + int(counts[few]) // 8, room)
        counts[few] += step
        counts[many] -= step
        return counts

    def _dive(self, point: Relaxed, effort: int, turn: int) -> bool:
        """Round the relaxation at some counts and mend it."""
        many = self._problem.comparisons.other.size > _MANY_COMPARISONS
        if self._problem.constraints.groups or (many and turn == 0):
            rounded = round_to_counts(self._problem, point.mixture.x, point.counts)
            mended = None if turn else repair(self._problem, rounded, self._budget, _MOVES)
            total = int(point.counts.sum())
            return mended is not None and self._incumbent.offer(mended) and self._incumbent.n_selected >= total
        size = _WINDOWS[(effort + turn) % len(_WINDOWS)] * (1 if self._relaxation.is_small else 2)
        size = min(size, 1 + _DIVE_CELLS // self._problem.comparisons.other.size)
        base = round_to_counts(self._problem, point.mixture.x, point.counts, self._rng)
        self._charged += _COOLING
        programs = min(_PROGRAMS * (effort + 1), self._programs_left())
        return self._columns.dive(point, base, size, programs, effort, self._rng)

    def _best_point(self, total: int) -> Relaxed | None:
        """The relaxation at the counts of a total where its margin is largest, as far as a few steps show."""
        counts, _ = self._promising(total, self._brancher.nearest(total, self._near), to_round=True)
        best, furthest = None, -np.inf
        for _ in range(_REFINEMENTS):
            point = self._solve_at(counts)
            if point is None:
                break
            reach = point.model * float(_evenness(counts))
            if best is None or reach > furthest:
                best, furthest = point, reach
            before = counts
            counts, value = self._promising(total, counts, to_round=True)
            if (counts == before).all() or value * _evenness(counts) <= furthest + _WORTH_IT * abs(furthest):
                break
        if best is not None and best.model > 0:
            self._near = best.counts / best.counts.sum()
        return best

    def _promising(self, total: int, near: Integers, *, to_round: bool = False) -> tuple[Integers, float]:
        """Counts near some others at which the multipliers at hand leave the largest margin, and that margin."""
        if not self._recent or self._problem.n_classes > _FEW_CLASSES:
            return near, np.inf
        radius = total // (_REACH if self._relaxation.is_small else _SHORT_REACH)
        best, step = near, max(1, radius // 2)
        while True:
            candidates = [best]
            for into in range(near.size):
                for out in range(near.size):
                    moved = best.copy()
                    moved[into] += step
                    moved[out] -= step
                    fits = moved[into] <= self._brancher.sizes[into] and moved[out] >= self._brancher.least[out]
                    if into != out and fits and np.abs(moved - near).max() <= radius + 1:
                        candidates.append(moved)
            tried = np.array(candidates)
            values = np.min([cut.values(tried) / cut.size for cut in self._recent if cut.size], axis=0)
            chosen = int((np.where(values > 0, values * _evenness(tried), values) if to_round else values).argmax())
            if chosen == 0 and step == 1:
                return best, float(values[0])
            best, step = tried[chosen], step if chosen else step // 2

    def _solve_at(self, counts: Integers) -> Relaxed | None:
        """The best relaxation at some counts."""
        solution = self._programs.solve(counts, closely=True)
        if solution is not None:
            self._remember(solution)
        return solution

    def _lower_bound(self, effort: int) -> bool:
        """Prove that no selection is as large as the bound; tells whether that was of use."""
        total = self.upper_bound
        tokens = self._empty(total, effort, min(effort, _DEPTH))
        if tokens is None:
            return False
        self._trees[total] = tokens
        self._lower_bound_to(total - 1)
        return True

    def _empty(self, total: int, effort: int, depth: int) -> list[Token] | None:
        """The proof that no selection has a total; None if one was found, or effort is spent.

        Multipliers come first, then trees over features at the counts that they leave open. Where these do not do it,
        a feature that does much more than others is decided first: with and without it other counts are best.
        """
        known = self._settle(total, _MAX_OPEN)
        ranked = self._ranked(known)
        if known.slice.complete and not known.excluded:
            for turn in range(1 << effort if ranked else 0):
                if self._spent() or self._dive(known.points[ranked[turn % min(len(ranked), _POINTS)]], effort, turn):
                    return None
            self._close(known, ranked, _PROGRAMS << effort, max(3, len(ranked) // 3))
        if known.excluded:
            start = len(self._proof)
            self._proof += [cut.proof for cut in self._brancher.cuts]
            return _tokens(known, start)
        feature = self._giant(known.points[ranked[0]]) if depth and ranked and not self._spent() else None
        if feature is None:
            return None
        out = self._deciding(feature, inside=False)._empty(total, effort, depth - 1)
        into = out and self._deciding(feature, inside=True)._empty(total, effort, depth - 1)
        if not out or not into:
            return None
        self._proof.append(known.points[ranked[0]].cut.proof)
        return self._decided_tokens(feature, out, into, len(self._proof) - 1)

    def _decided_tokens(self, feature: int, out: list[Token], into: list[Token], cut: int) -> list[Token]:
        """The proof without and with a feature; the counts that this leaves its class are said first.

        The searches behind `out` and `into` know that these are one less at most, or one more at least. Counts beyond
        cannot be reached: any multipliers settle them.
        """
        cls = int(self._problem.feature_classes[feature])
        most, least = int(self._problem.feature_class_sizes[cls]), int(self._problem.required_sizes[cls])
        without: list[Token] = [["count", cls, most - 1], *out, ["cut", cut]]
        within: list[Token] = [["count", cls, least], ["cut", cut], *into]
        return [["feature", feature], *without, *within]

    def _giant(self, point: Relaxed) -> int | None:
        """The fractional feature that does most, if that is far more than others do."""
        features, _ = self._programs.window.nearest(point.cut.multipliers, point.counts, max(_WINDOWS))
        if features.size == 0:
            return None
        x = point.mixture.x[features]
        away = np.where(self._problem.constraints.part_of[features] < 0, np.minimum(x, 1.0 - x), 0.0)
        size = (
            np.abs(self._problem.columns(features)).max(axis=0) / point.counts[self._problem.feature_classes[features]]
        )
        place = int(np.argmax(size * away))
        return int(features[place]) if away[place] > 0 and size[place] > GIANT * np.median(size) else None

    def _deciding(self, feature: int, *, inside: bool) -> "CertifiedSearch":
        """A search over the selections with, or without, a feature; it offers what it finds to the same incumbent."""
        key = (feature, inside)
        if key not in self._parts:
            part = self._problem.deciding(feature, inside=inside)
            search = CertifiedSearch(
                part, self._budget, self._incumbent, self._rng, self._last_program, self._target_gap
            )
            search._near, search._proof = self._near, self._proof
            search._columns = ColumnSearch(part, search._programs, self._budget, self._incumbent, self._proof)
            self._parts[key] = search
        search = self._parts[key]
        search.upper_bound, search._improved_at, search._charged = self.upper_bound, self._improved_at, self._charged
        return search

    def _spent(self) -> bool:
        return self._done() or self._budget.lps >= self._last_program or self.is_stuck

    def _programs_left(self) -> int:
        """Linear programs that may still be solved; setting up a tree is charged as some of them."""
        self._last_program -= _SETTING_UP
        return max(1, self._last_program - self._budget.lps)

    def _close(self, total: _Total, ranked: list[int], programs: int, may_resist: int) -> None:
        """Prove open points empty, a few linear programs for each, unless too many resist."""
        resisting = 0
        for index in ranked:
            if self._spent() or resisting > may_resist:
                return
            tokens = self._columns.close(total.points[index], min(programs, self._programs_left()))
            if tokens is not None:
                total.closed[index] = tokens
            resisting += tokens is None


def _evenness(counts: Integers) -> Floats:
    """How little one feature does at some counts: a margin is the easier to keep in rounding the larger this is."""
    evenness: Floats = 1.0 / (1.0 / counts).sum(axis=-1)
    return evenness


def _tokens(total: _Total, first: int) -> list[Token]:
    """The tree of a settled total as a list of tokens, parents before children; its cuts are numbered from `first`."""
    tokens: list[Token] = []
    left = [0]
    while left:
        node = total.slice.nodes[left.pop()]
        if node.split is not None and node.children is not None:
            tokens.append(["count", *node.split])
            left += [node.children[1], node.children[0]]
        elif node.cut is not None:
            tokens.append(["cut", first + node.cut])
        elif node.open is not None:
            tokens += total.closed[node.open]
        else:
            tokens.append(["empty"])
    return tokens
