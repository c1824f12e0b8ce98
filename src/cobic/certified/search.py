"""The search for the proven optimum: bound first, then selections and proofs until they meet."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from cobic.budget import Budget, Incumbent
from cobic.certified.branching import Brancher, Slice
from cobic.certified.certificate import Multipliers, Token, make_certificate
from cobic.certified.columns import ColumnSearch, Effort
from cobic.certified.count_lp import CountRelaxation, CountSolution
from cobic.matrix import Floats
from cobic.problem import Problem

_QUICK_NODES = 12
_FIND_NODES = 60
_FIND_FEATURES = 250
_FIND_POINTS = 3
_MAX_OPEN = 60


@dataclass
class _Total:
    """The state of one total: its slice, and what is known about each open point."""

    slice: Slice
    points: list[CountSolution]
    closed: dict[int, list[Token]]

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
    max_nodes : int
        How much may be spent on branching on features.
    """

    def __init__(self, problem: Problem, budget: Budget, incumbent: Incumbent, max_nodes: int) -> None:
        self._problem, self._budget, self._incumbent = problem, budget, incumbent
        self._relaxation = CountRelaxation(problem, budget)
        self._brancher = Brancher(problem, self._relaxation, budget)
        self._proof: list[Multipliers] = []
        self._columns = ColumnSearch(problem, self._relaxation, budget, incumbent, self._proof)
        self._nodes_left = max_nodes
        self._totals: dict[int, _Total] = {}
        self._near: Floats = problem.feature_class_sizes / problem.n_selectable
        self._least = problem.n_classes - 1  # no consistent selection is smaller than one feature per class
        self.upper_bound = problem.n_selectable

    def run(self, x: Floats) -> None:
        """Search, starting from a fractional solution for some shares."""
        sums = np.array([x[members].sum() for members in self._problem.features_of_class])
        if sums.all():
            self._near = sums / sums.sum()
        self._find_bound(int(np.floor(sums.sum() + 1e-6)))
        if not self._done():
            self._descend()
        while not self._done() and self._nodes_left > 0:
            if not self._work_on_bound():
                break

    def certificate(self) -> dict[str, Any]:
        """The proof of the present bound."""
        proven = self._totals.get(max(self.upper_bound, self._least) + 1)
        cuts = [Multipliers(cut.multipliers, cut.slope) for cut in self._brancher.cuts]
        tree = [] if proven is None else _tokens(proven, shift=len(cuts))
        return make_certificate(self._problem, self._incumbent.support, self.upper_bound, [*cuts, *self._proof], tree)

    def _done(self) -> bool:
        return self._incumbent.n_selected >= self.upper_bound or self._budget.exhausted()

    @property
    def _floor(self) -> int:
        """Totals up to here need no proof: there is a selection, or none so small can be consistent."""
        return max(self._incumbent.n_selected, self._least)

    def _find_bound(self, guess: int) -> None:
        """Bracket the smallest total that multipliers exclude: by growing steps, then by halving."""
        low, high = self._floor, self._problem.n_selectable + 1
        probe, step, bracketed = guess + 1, 1, [False, False]
        while high - low > 1 and not self._budget.exhausted():
            probe = min(max(probe, low + 1), high - 1)
            total = self._settle(probe, max_open=0)
            if total.slice.excluded:
                high, bracketed[1] = probe, True
                self._lower_bound_to(high - 1)
            elif total.slice.open_points:
                low, bracketed[0] = probe, True
                self._near = total.slice.open_points[0].counts / probe
            else:
                return
            low = max(low, self._floor)
            if all(bracketed):
                probe = (low + high) // 2
            else:
                probe = high - step if bracketed[1] else low + step
                step *= 2

    def _lower_bound_to(self, bound: int) -> None:
        self.upper_bound = bound if bound > self._least else 0
        self._budget.report(upper_bound=self.upper_bound, boxes=self._open_boxes())

    def _open_boxes(self) -> int:
        return sum(len(total.unsettled) for total in self._totals.values())

    def _settle(self, total: int, max_open: int) -> _Total:
        """Settle a total by counts; its open points are solved to optimality, the best ones first."""
        known = self._totals.get(total)
        if known is not None and (known.slice.complete or max_open <= len(known.points)):
            return known
        slice_ = self._brancher.settle(total, self._near, max_open)
        self._totals[total] = _Total(slice_, list(slice_.open_points), {})
        return self._totals[total]

    def _ranked(self, total: _Total) -> list[int]:
        """Unsettled open points of a total, the largest possible margin first."""
        for index in total.unsettled:
            solution = self._relaxation.solve(total.points[index].counts, to_optimality=True)
            if solution is None:
                break
            total.points[index] = solution
        return sorted(total.unsettled, key=lambda index: (-total.points[index].margin, index))

    def _descend(self) -> None:
        """From the bound downwards: exclude a total quickly, or find a selection of that size."""
        size = self.upper_bound
        while size > self._incumbent.n_selected and not self._budget.exhausted():
            total = self._settle(size, _MAX_OPEN)
            ranked = self._ranked(total)
            if size == self.upper_bound and total.slice.complete:
                self._close(total, ranked, _QUICK_NODES)
                ranked = [index for index in ranked if index not in total.closed]
            if size == self.upper_bound and total.excluded:
                self._lower_bound_to(size - 1)
            elif self._find(total, ranked[:_FIND_POINTS]) or self._nodes_left <= 0:
                return
            size -= 1

    def _close(self, total: _Total, ranked: list[int], nodes: int) -> None:
        """Prove open points empty, a few nodes for each."""
        for index in ranked:
            if self._done() or self._nodes_left <= 0:
                return
            tokens = self._spend(total.points[index], Effort(min(nodes, self._nodes_left)))
            if tokens is not None:
                total.closed[index] = tokens

    def _find(self, total: _Total, ranked: list[int]) -> bool:
        """Look for a selection at open points."""
        for index in ranked:
            before = self._incumbent.n_selected
            self._spend(total.points[index], Effort(min(_FIND_NODES, self._nodes_left), _FIND_FEATURES))
            if self._incumbent.n_selected > before:
                return True
            if self._done() or self._nodes_left <= 0:
                return False
        return False

    def _spend(self, point: CountSolution, effort: Effort) -> list[Token] | None:
        allowed = effort.nodes
        tokens = self._columns.settle(point, effort)
        self._nodes_left -= allowed - max(effort.nodes, 0)
        return tokens

    def _work_on_bound(self) -> bool:
        """Close the gap from above or from below with growing effort; False if nothing is left to try."""
        size, nodes = self.upper_bound, 8 * _QUICK_NODES
        total = self._settle(size, _MAX_OPEN)
        ranked = self._ranked(total)
        while not self._done() and self._nodes_left > 0:
            if total.slice.complete:
                self._close(total, ranked, nodes)
                ranked = [index for index in ranked if index not in total.closed]
                if total.excluded:
                    self._lower_bound_to(size - 1)
                    return True
            if not self._done():
                self._find(total, ranked)
            nodes *= 4
            if not total.slice.complete:
                return False
        return False


def _tokens(total: _Total, shift: int) -> list[Token]:
    """The tree of a settled total as a list of tokens, parents before children."""
    tokens: list[Token] = []
    left = [0]
    while left:
        node = total.slice.nodes[left.pop()]
        if node.split is not None and node.children is not None:
            tokens.append(["count", *node.split])
            left += [node.children[1], node.children[0]]
        elif node.cut is not None:
            tokens.append(["cut", node.cut])
        elif node.open is not None:
            moved = [
                [token[0], token[1] + shift] if token[0] in ("cut", "fix") else token
                for token in total.closed[node.open]
            ]
            tokens += moved
        else:
            tokens.append(["empty"])
    return tokens
