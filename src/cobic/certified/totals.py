"""Totals of features, settled by multipliers: the smallest one that they exclude is the bound.

What multipliers exclude at one total they exclude, as a rule, at smaller ones, too. So the smallest of these is
bracketed, between totals that are excluded and totals at which the relaxation has a solution.
"""

from dataclasses import dataclass, field

from cobic.certified.branching import Slice
from cobic.certified.bundle import Relaxed
from cobic.certified.explorer import Explorer
from cobic.certified.proof import Close, Empty, SplitCount, Step
from cobic.certified.selections import Selections
from cobic.certified.standing import Standing


@dataclass
class Total:
    """The state of one total: its slice, and what is known about each open point."""

    slice: Slice
    points: list[Relaxed]
    closed: dict[int, list[Step]] = field(default_factory=dict)  # the proofs that open points are empty
    optimised: set[int] = field(default_factory=set)  # open points whose relaxation was solved closely

    @property
    def unsettled(self) -> list[int]:
        """Open points that are not proven to be empty."""
        return [index for index in range(len(self.points)) if index not in self.closed]

    @property
    def excluded(self) -> bool:
        """Whether it is proven that no selection has this total."""
        return self.slice.complete and not self.unsettled

    def steps(self, first_cut: int) -> list[Step]:
        """Its tree as steps of a proof, parents before children; its cuts are numbered from `first_cut`."""
        steps: list[Step] = []
        left = [0]
        while left:
            node = self.slice.nodes[left.pop()]
            if node.split is not None and node.children is not None:
                steps.append(SplitCount(*node.split))
                left += [node.children[1], node.children[0]]
            elif node.cut is not None:
                steps.append(Close(first_cut + node.cut))
            elif node.open is not None:
                steps += self.closed[node.open]
            else:
                steps.append(Empty())
        return steps


class Totals:
    """Settles totals, and lowers the bound to what multipliers prove."""

    def __init__(self, explorer: Explorer, standing: Standing, selections: Selections) -> None:
        self._explorer, self._standing, self._selections = explorer, standing, selections
        # Multipliers that exclude a total exclude what is above, unless some features must be selected.
        self._or_more = bool(explorer.problem.required.any())
        self._known: dict[int, Total] = {}
        self._excluded: dict[int, Slice] = {}

    def find_bound(self, guess: int, closeness: float) -> None:
        """Bracket the smallest total that multipliers exclude, up to a share of the features.

        The smallest total that the multipliers at hand exclude is the next guess, as in Newton's method. Where that
        leads on slowly, by growing steps, then by halving.
        """
        standing, explorer = self._standing, self._explorer
        low, high = max(standing.floor, explorer.solvable), standing.upper_bound + 1
        high = self.exclude_from(high, self._excluded.get(high), closeness)
        shortest = 1 + int(closeness * high)
        probe, step, bracketed = guess + 1, shortest, False
        while high - low > 1 + closeness * high and not standing.is_done():
            probe = min(max(probe, low + 1), high - 1)
            slice_ = self._settle_from(probe)
            if slice_.excluded:
                high, step = self.exclude_from(probe, slice_, closeness), 2 * step
            else:
                low, bracketed, step = probe, True, shortest
                if slice_.open_points:
                    point = slice_.open_points[0]
                    explorer.come_near(point.counts)
                    if closeness > explorer.effort.close:
                        self._selections.fails_to_round(point, closeness)
                high = self.exclude_from(high, None, closeness)
            low = max(low, standing.floor)
            probe = max(high - step, (low + high) // 2) if bracketed else high - step

    def exclude_from(self, total: int, slice_: Slice | None, closeness: float = 0.0) -> int:
        """Take the smallest total that multipliers exclude as the bound; it is at most one that is excluded anyway.

        A total that is lower by less than a share of the features is not worth the relaxations that it may take.
        """
        if slice_ is not None:
            self._exclude(total, slice_)
        finest = 1 + int(closeness * total)
        least = self._explorer.brancher.least_excluded(total, finest, or_more=self._or_more)
        lower = self._settle_from(least) if total - least > closeness * total else None
        if lower is None or not lower.excluded:
            return total
        self._exclude(least, lower)
        return least

    def _exclude(self, total: int, slice_: Slice) -> None:
        """Take a total that multipliers exclude as the bound."""
        self._excluded[total] = slice_
        self.lower_bound_to(total - 1)

    def lower_bound_to(self, bound: int) -> None:
        """Take a bound that was proven."""
        self._standing.lower_to(bound, boxes=sum(len(total.unsettled) for total in self._known.values()))

    def _settle_from(self, total: int) -> Slice:
        """Settle a total and all above it."""
        if self._or_more:
            return self._explorer.brancher.settle(total, self._explorer.near, 0, or_more=True)
        return self.settle(total, most_open=0).slice

    def settle(self, total: int, most_open: int) -> Total:
        """Settle a total by counts, unless more of them than that stay open."""
        known = self._known.get(total)
        if known is not None and (known.slice.complete or most_open < len(known.points)):
            return known
        slice_ = self._explorer.brancher.settle(total, self._explorer.near, most_open)
        self._known[total] = Total(slice_, list(slice_.open_points))
        return self._known[total]

    def exclusion(self, total: int, first_cut: int) -> list[Step] | None:
        """The proof that no selection has a total or more, if multipliers alone prove that."""
        excluded = self._excluded.get(total)
        return None if excluded is None else Total(excluded, []).steps(first_cut)
