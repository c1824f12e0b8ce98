"""The linear program of a tree over features: the largest worst margin of a node, over the features that may change.

It holds the *active* features and the comparisons that matter. The other features stand at the values of the root;
those come in that turn out to be on the wrong side of a threshold, and so do comparisons that turn out to be violated.
"""

import numpy as np

from cobic.certified.bundle import Relaxed, whole_numbers
from cobic.certified.fixing import FREE, IN, OUT, Values
from cobic.certified.programs import FeaturePrograms
from cobic.certified.restriction import GivenUp, Restriction
from cobic.matrix import Floats, Integers
from cobic.search.lp import BranchingLp

_VIOLATED = 1e-9  # of a row's scale: less is the rounding of the solver


class NodeProgram:
    """Solves the nodes of one tree, so many programs at most; at first so many features are active, or all."""

    def __init__(
        self, restriction: Restriction, programs: FeaturePrograms, point: Relaxed, allowed: int, active: int | None
    ) -> None:
        self.restriction, self._programs, self.effort = restriction, programs, programs.effort
        self._budget, self._last_program = programs.budget, programs.budget.lps + allowed
        self._rows = self._tight_rows(point)
        self._active = np.zeros(restriction.features.size, dtype=np.bool_)
        self._activate(np.argsort(restriction.free.losses, kind="stable")[:active])

    def _tight_rows(self, point: Relaxed) -> Integers:
        """The comparisons that matter: those with a multiplier, and as many again that come next."""
        weighted = np.flatnonzero(point.cut.multipliers.ravel())
        wanted = self.effort.rows_per_multiplier * weighted.size + self.effort.more_rows
        return np.union1d(weighted, np.argsort(point.margins, kind="stable")[:wanted])

    def _activate(self, places: Integers) -> None:
        """Take more features into the program."""
        restriction = self.restriction
        self._active[places] = True
        self._in_program = np.flatnonzero(self._active)
        fixed_in = restriction.free.fixed_in.copy()
        fixed_in[restriction.features[~self._active & (restriction.free.standing == IN)]] = True
        features = restriction.features[self._in_program]
        self.lp = BranchingLp(self._programs.program(features, fixed_in, restriction.counts, self._rows), self._budget)

    def add_violated_rows(self, x: Floats) -> bool:
        """Take comparisons into the program that a solution violates; tell whether there were any."""
        margins = self.restriction.margins(x)
        margins[self._rows] = np.inf
        violated = np.flatnonzero(margins < -_VIOLATED * self.restriction.row_scale)
        if violated.size:
            self._rows = np.union1d(self._rows, violated)
            self._activate(violated[:0])
        return violated.size > 0

    def solve(self, values: Values) -> float:
        """The largest worst margin of a node; enough features are active that its sign is right."""
        standing = self.restriction.free.standing
        against = np.flatnonzero(~self._active & (values != FREE) & (values != standing))
        if against.size:
            self._activate(against)
        while True:
            active = values[self._in_program]
            lower, upper = (active == IN).astype(np.float64), (active != OUT).astype(np.float64)
            self.lp.bound(np.arange(active.size), lower, upper)
            best = self.lp.maximum() if self._budget.lps < self._last_program else None
            if best is None:
                raise GivenUp
            incoming = self._incoming(values, best)
            if incoming.size == 0:
                return best
            self._activate(incoming)

    def _incoming(self, values: Values, best: float) -> Integers:
        """Features that could raise a margin that is not positive, most promising first.

        Where it is not positive but the multipliers do not prove that, some are on the wrong side of the threshold.
        """
        none = np.zeros(0, dtype=np.intp)
        if best > 0 or self._active.all():
            return none
        idle = ~self._active & (values == FREE)
        if best == -np.inf:
            needed = np.flatnonzero(idle)[: self.effort.activated_in_need]
            return needed if self.restriction.is_reachable(values) else none
        bound = self.restriction.bound(self.multipliers(), values)
        if bound.closes:
            return none
        wrong = np.flatnonzero(idle & (bound.preferred != self.restriction.free.standing))
        return wrong[np.argsort(-bound.losses[wrong], kind="stable")[: self.effort.activated]]

    def solution(self, values: Values) -> Floats:
        """The solution of a node, of all free features."""
        x = np.where(values == FREE, self.restriction.free.standing, values).astype(np.float64)
        x[self._in_program] = self.lp.solution().x[:-1]
        return x

    def multipliers(self) -> Integers:
        """The multipliers that come with the last solution, as whole numbers."""
        rows, scale = self._rows, self.restriction.row_scale
        multipliers = np.zeros(scale.size)
        multipliers[rows] = np.maximum(self.lp.solution().duals[: rows.size], 0.0) / scale[rows]
        return whole_numbers(multipliers.reshape(self.restriction.shape))[0]
