"""The search for the proven optimum: bound first, then selections and proofs until they meet."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from cobic.budget import Budget, Incumbent
from cobic.certified.bounds import Cut
from cobic.certified.branching import Brancher, Slice
from cobic.certified.certificate import Multipliers, Token, make_certificate
from cobic.certified.coarse import Beginning, part_of_features, quiet
from cobic.certified.columns import ColumnSearch
from cobic.certified.bundle import CLOSENESS, Bundle, Relaxed
from cobic.certified.programs import FeaturePrograms, round_to_counts
from cobic.matrix import Floats, Integers
from cobic.problem import Problem
from cobic.repair import repair

# What may be spent at a time, in linear programs (about a millisecond each).
_QUICK = 200
_THOROUGH = 1500
_DIVE = 400
_SETTING_UP = 15
_DIVE_POINTS = 8
_DIVE_FEATURES = (400, 1000, 160)
_CLOSE_DIVES = 3
_NEAR_BOUND = 4
_MOVES = 60
_FIRST_DIVES = 8
_MANY_DIVES = 80
_FEW_POINTS = 6
_MAX_OPEN = 60
_FEW_CLASSES = 6
_SLOW = 5e-4  # of the features: where a bound falls by less at a time, it is time to look for selections
_FIRST_SHARES = (0.999, 0.995, 0.98, 0.9)


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
    """Brings the largest selection and the proven bound together.

    Parameters
    ----------
    problem : Problem
        What to solve; every class has features.
    budget : Budget
        When to stop.
    incumbent : Incumbent
        The best selection so far.
    rng : numpy.random.Generator
        What makes dives differ.
    max_programs : int
        How many linear programs may be solved in all.
    closeness : float, optional
        The share of the features up to which totals need not be told apart.
    """

    def __init__(
        self,
        problem: Problem,
        budget: Budget,
        incumbent: Incumbent,
        rng: np.random.Generator,
        max_programs: int,
        closeness: float = CLOSENESS,
    ) -> None:
        self._problem, self._budget, self._incumbent = problem, budget, incumbent
        self._relaxation = Bundle(problem, budget, closeness)
        self._programs = FeaturePrograms(problem, budget, self._relaxation)
        self._brancher = Brancher(problem, self._relaxation, budget)
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
        self.upper_bound = problem.n_selectable

    def run(self, beginning: Beginning | None = None) -> None:
        """Search.

        Parameters
        ----------
        beginning : Beginning, optional
            Where; by default at the bound of a part of the features where there are very many, else at all of them.
        """
        beginning = (
            beginning or self._bound_of_part() or Beginning(self._problem.feature_class_sizes.astype(np.float64))
        )
        self._begin(beginning)
        self._rise()
        if not self._done():
            self._find_bound(self._middle(), roughly=False)
            self._rise()
        if not self._done():
            self._descend()
        if not self._done():
            self._work_on_gap()

    def _middle(self) -> int:
        """A total half way between the selection and the bound."""
        return (self._floor + self.upper_bound) // 2

    def _begin(self, beginning: Beginning) -> None:
        """Find the bound from somewhere near it."""
        total = float(np.clip(beginning.amounts.sum(), self._least + 1, self._problem.n_selectable))
        if beginning.amounts.all():
            self._near = beginning.amounts / beginning.amounts.sum()
        if beginning.multipliers is not None:
            counts = self._brancher.nearest(int(total), self._near)
            self._relaxation.start_from(beginning.multipliers)
            cut = Cut(self._problem, beginning.multipliers, counts)
            self._brancher.cuts.append(cut)
            self._offer_best_scores(cut, int(total))
            self._brancher.release(cut, int(total))
        if beginning.multipliers is None and self._problem.n_classes > _FEW_CLASSES:
            total = min(total, self._reachable_total())
            self._find_quickly(int(total))  # a selection first: the bound may take all the time there is
        self._find_bound(int(np.floor(total + 1e-6)), roughly=True)

    def _offer_best_scores(self, cut: Cut, total: int) -> None:
        """Look for a first selection: the features with the best scores, fewer and fewer until they are consistent."""
        for share in _FIRST_SHARES:
            size = max(int(share * total), self._least + 1)
            support = round_to_counts(self._problem, cut.scores, self._brancher.nearest(size, self._near))
            if self._budget.exhausted() or self._incumbent.offer(support):
                return

    def _reachable_total(self) -> float:
        """A total at which the relaxation has a solution, and its shares: with many classes they are hard to guess.

        From all features down: multipliers that exclude the present counts say in which classes fewer features help
        most.
        """
        counts, step = self._brancher.sizes.copy(), 1.0
        while not self._budget.exhausted():
            solution = self._relaxation.at(counts)
            if solution is None:
                break
            self._brancher.cuts.append(solution.cut)
            if not solution.excluded:
                self._near = counts / counts.sum()
                return float(counts.sum())
            fewer = self._brancher.fewer(solution.cut, counts, int(step))
            self._brancher.release(solution.cut, int(counts.sum()))
            if fewer is None:
                break
            counts, step = fewer, 1.25 * step
        return np.inf

    def _bound_of_part(self) -> Beginning | None:
        """The bound of some of the features, carried over to all."""
        part = part_of_features(self._problem)
        if part is None or part.is_consistent(part.selectable):
            return None
        search = CertifiedSearch(part, *quiet(part, self._budget), self._rng, self._last_program, _SLOW)
        search._begin(search._bound_of_part() or Beginning(part.feature_class_sizes.astype(np.float64)))
        if not search._brancher.cuts or search.upper_bound == 0:
            return None  # what no part of the features can do, all of them may
        shares = search._near * (search.upper_bound / part.n_selectable)
        return Beginning(shares * self._problem.n_selectable, search._brancher.cuts[-1].multipliers)

    def certificate(self) -> dict[str, Any]:
        """The proof of the present bound: a tree for each total above it, the last for all that are larger, too."""
        cuts = [cut.proof for cut in self._brancher.cuts]
        tree: list[Token] = []
        total = max(self.upper_bound, self._least) + 1
        while total <= self._problem.n_selectable:
            if total in self._excluded:
                tree += [["or more"], *_tokens(self._excluded[total], {}, shift=len(cuts))]
                break
            proven = self._totals[total]
            tree += _tokens(proven.slice, proven.closed, shift=len(cuts))
            total += 1
        return make_certificate(self._problem, self._incumbent.support, self.upper_bound, [*cuts, *self._proof], tree)

    def _done(self) -> bool:
        return self._incumbent.n_selected >= self.upper_bound or self._budget.exhausted()

    @property
    def _floor(self) -> int:
        """Totals up to here need no proof: there is a selection, or none so small can be consistent."""
        return max(self._incumbent.n_selected, self._least)

    def _find_bound(self, guess: int, *, roughly: bool) -> None:
        """Bracket the smallest total that multipliers exclude; roughly: until that gets slow.

        Multipliers found at one total exclude, as a rule, smaller ones, too: the smallest of them is the next guess, as
        in Newton's method. Where that leads on slowly, by growing steps, then by halving.
        """
        low, high = self._floor, self._exclude_from(self._problem.n_selectable + 1, None)
        probe, step, bracketed = guess + 1, 1, False
        while high - low > 1 and not self._budget.exhausted():
            probe = min(max(probe, low + 1), high - 1)
            slice_ = self._settle_from(probe)
            if slice_.excluded:
                before, high, step = high, self._exclude_from(probe, slice_), 2 * step
                if roughly and before - high <= _SLOW * high:
                    return
            else:
                low, bracketed, step = probe, True, 1
                if slice_.open_points:
                    counts = slice_.open_points[0].counts
                    self._near = counts / counts.sum()
                high = self._exclude_from(high, None)
            low = max(low, self._floor)
            probe = max(high - step, (low + high) // 2) if bracketed else high - step

    def _exclude_from(self, total: int, slice_: Slice | None) -> int:
        """Take the smallest total that multipliers exclude as the bound; it is at most one that is excluded anyway."""
        least = self._brancher.least_excluded(total, or_more=self._or_more)
        lower = self._settle_from(least) if least < total else None
        if lower is not None and lower.excluded:
            total, slice_ = least, lower
        if slice_ is not None:
            self._excluded[total] = slice_
            self._lower_bound_to(total - 1)
        return total

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

    def _rise(self) -> None:
        """Selections between the best one and the bound: down from the bound until one is found, then by halving."""
        failed = self.upper_bound + 1
        step = max(1, int(_SLOW * self.upper_bound))
        size = max(self.upper_bound - step, self._incumbent.n_selected + 1, self._least + 1)
        while not self._spent() and not self._find_quickly(size):
            step *= 2
            failed, size = size, max(size - step, self._least + 1)
            if size == failed or size <= self._incumbent.n_selected:
                break
        while failed - self._incumbent.n_selected > 1 and not self._spent():
            size = (failed + self._incumbent.n_selected) // 2
            if not self._find_quickly(size):
                failed = size

    def _find_quickly(self, size: int) -> bool:
        """Look for a selection of a size by a few dives at the most promising counts."""
        points = [self._solve_at(self._brancher.nearest(size, self._near))]
        if size < self.upper_bound - _NEAR_BOUND:
            points += self._points_between(size)
        for point in points:
            if point is not None and point.model > 0 and not self._spent() and self._dive([point], _CLOSE_DIVES):
                return True
        return False

    def _best_points(self, total: _Total, count: int) -> list[Relaxed]:
        """The most promising points of a total; where none is known to be open, the one nearest to the best shares."""
        ranked = self._ranked(total)[:count]
        if ranked or total.excluded:
            return [total.points[index] for index in ranked]
        nearest = self._brancher.nearest(total.slice.total, self._near)
        point = self._solve_at(nearest)
        return [] if point is None else [point]

    def _solve_at(self, counts: Integers) -> Relaxed | None:
        """The best relaxation at some counts."""
        solution = self._programs.vertex(counts)
        if solution is not None:
            self._brancher.release(solution.cut, int(counts.sum()))
        return solution

    def _points_between(self, size: int) -> list[Relaxed]:
        """The relaxation at shares between those of the bound and those of the best selection.

        Where few features of a class are best for the relaxation, whole ones often do not do; the best selection has
        shares with which they do.
        """
        if self._incumbent.support is None:
            return []
        counts = self._problem.counts(self._incumbent.support)
        shares = counts / counts.sum()
        between = np.sqrt(shares * self._near)
        points = (self._brancher.nearest(size, each) for each in (shares, between / between.sum()))
        solved = (self._solve_at(point) for point in points)
        return [solution for solution in solved if solution is not None]

    def _descend(self) -> None:
        """From the bound downwards: find a selection of a size, or exclude that total."""
        size = self.upper_bound
        while size > self._incumbent.n_selected and not self._spent():
            total = self._settle(size, _MAX_OPEN)
            if self._dive_at(total, _FIRST_DIVES):
                return
            if size == self.upper_bound and self._exclude_quickly(total):
                self._lower_bound_to(size - 1)
            elif self._dive_at(total, _FIRST_DIVES):
                return
            size -= 1

    def _exclude_quickly(self, total: _Total) -> bool:
        """Exclude a total if most of its open points, the hardest first, turn out to be empty at once."""
        if not total.slice.complete:
            return False
        resisting = self._close(total, self._ranked(total), _QUICK, max(_FEW_POINTS // 2, len(total.points) // 3))
        if resisting is not None:
            self._close(total, resisting, _THOROUGH, len(resisting))
        return total.excluded

    def _work_on_gap(self) -> None:
        """Close the gap from below and from above, with growing effort."""
        programs, few = _THOROUGH, _FEW_POINTS
        while not self._spent():
            before = (self._budget.lps, self._last_program)
            at_bound = self._settle(self.upper_bound, _MAX_OPEN)
            if at_bound.slice.complete and len(at_bound.unsettled) <= few:
                self._close_bound(programs)
                programs *= 4
            for size in range(self._floor + 1, self.upper_bound + 1):
                total = self._settle(size, _MAX_OPEN)
                if total.excluded:
                    continue
                if self._spent() or not self._dive_at(total, _MANY_DIVES):
                    break
            few *= 2
            if before == (self._budget.lps, self._last_program) and few > 2 * _MAX_OPEN:
                return  # there is nothing left that more effort would be spent on

    def _close_bound(self, programs: int) -> None:
        """Try to exclude the total at the bound, and the next ones if that succeeds."""
        while not self._spent():
            total = self._settle(self.upper_bound, _MAX_OPEN)
            if not total.slice.complete:
                return
            self._close(total, self._ranked(total), programs, _FEW_POINTS // 2)
            if not total.excluded:
                return
            self._lower_bound_to(self.upper_bound - 1)

    def _spent(self) -> bool:
        return self._done() or self._budget.lps >= self._last_program

    def _programs_left(self) -> int:
        """Linear programs that may still be solved; setting up a tree is charged as some of them."""
        self._last_program -= _SETTING_UP
        return max(1, self._last_program - self._budget.lps)

    def _close(self, total: _Total, ranked: list[int], programs: int, may_resist: int) -> list[int] | None:
        """Prove open points empty, a few linear programs for each; those that resist, None if they are too many."""
        resisting: list[int] = []
        for index in ranked:
            if self._spent() or len(resisting) > may_resist:
                return None
            tokens = self._columns.close(total.points[index], min(programs, self._programs_left()))
            if tokens is not None:
                total.closed[index] = tokens
            else:
                resisting.append(index)
        return resisting

    def _dive_at(self, total: _Total, dives: int) -> bool:
        """Look for a selection at the most promising open points of a total."""
        return self._dive(self._best_points(total, _DIVE_POINTS), dives)

    def _dive(self, points: list[Relaxed], dives: int) -> bool:
        """Look for a selection at some points, in turn."""
        for turn in range(dives if points else 0):
            if self._spent():
                return False
            point = points[turn % len(points)]
            features = _DIVE_FEATURES[(turn // len(points) + turn) % len(_DIVE_FEATURES)]
            base = round_to_counts(self._problem, point.mixture.x, point.counts, self._rng)
            if self._columns.dive(point, base, features, min(_DIVE, self._programs_left()), self._rng):
                return True
        return False


def _tokens(slice_: Slice, closed: dict[int, list[Token]], shift: int) -> list[Token]:
    """The tree of a settled total as a list of tokens, parents before children."""
    tokens: list[Token] = []
    left = [0]
    while left:
        node = slice_.nodes[left.pop()]
        if node.split is not None and node.children is not None:
            tokens.append(["count", *node.split])
            left += [node.children[1], node.children[0]]
        elif node.cut is not None:
            tokens.append(["cut", node.cut])
        elif node.open is not None:
            moved = [
                [token[0], token[1] + shift] if token[0] in ("cut", "fix") else token for token in closed[node.open]
            ]
            tokens += moved
        else:
            tokens.append(["empty"])
    return tokens
