"""The relaxation of a panel where comparisons are many: the bundle method in place of linear programs.

The multipliers of a tail margin add up to 1, those of a sample to at most its cap. What a look at the data finds, and
what is learned from it class by class, is the same as with soft margins (:mod:`cobic.certified.class_pieces`). Only
what is admissible differs, and what a mixture of panels is worth: its tail margin.
"""

from dataclasses import replace

import numpy as np

from cobic.certified.bounds import Cut
from cobic.certified.bundle import Bundle
from cobic.certified.class_pieces import ClassPieces
from cobic.certified.effort import Effort
from cobic.certified.newton import LevelProjection, projected
from cobic.certified.panel_relaxation import PanelRoot, bound_at
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import PanelProblem
from cobic.search.budget import Budget

_STEPS = 100  # of the search for the shift, which takes about ten
_TINY = 1e-13  # relative: less is rounding


class Tails:
    """The admissible multipliers, in units of the largest cap: so much in each sample at most, so much in all."""

    def __init__(self, panel: PanelProblem) -> None:
        self._shape = panel.problem.comparisons.other.shape
        self.unit = 1.0 if panel.caps is None else min(float(panel.caps.max()), 1.0)
        self.caps = np.full(self._shape[0], np.inf) if panel.caps is None else panel.caps / self.unit

    def nearest(self, multipliers: Floats) -> Floats:
        """Admissible multipliers (n, c) next to some in proportion."""
        given = multipliers.reshape(self._shape)
        return self.project(given / (self.unit * max(float(given.sum()), np.finfo(np.float64).tiny)))

    def project(self, points: Floats) -> Floats:
        """The nearest admissible multipliers: a shift of all that brings what is left of them to the right total."""
        total, found = 1.0 / self.unit, projected(points, self.caps)
        low, high, shift = -np.inf, np.inf, 0.0
        for _ in range(_STEPS):
            over = float(found.sum()) - total
            if abs(over) <= _TINY * total:
                break
            low, high = (low, shift) if over > 0 else (shift, high)
            shift = self._next_shift(points, found, over, low, high)
            if not low < shift < high:
                break
            found = projected(points + shift, self.caps)
        return found

    def _next_shift(self, points: Floats, found: Floats, over: float, low: float, high: float) -> float:
        """Newton's step, or half of the way to the other end where it leads out of the bracket."""
        shift = high if over > 0 else low
        loose = found.sum(axis=1) < self.caps * (1.0 - _TINY)
        moving = int((found[loose] > 0).sum())
        if moving and low < shift - over / moving < high:
            return shift - over / moving
        if np.isfinite(low) and np.isfinite(high):
            return 0.5 * (low + high)
        largest = float(np.abs(points).max()) + 1.0 / self.unit
        return shift - float(np.copysign(2.0 * abs(shift) + largest, over))


class TailProjection(LevelProjection):
    """The small program with a tail: the nearest multipliers at which the model is down to a level."""

    def __init__(self, panel: PanelProblem, tails: Tails, cls: Integers, means: Floats) -> None:
        super().__init__(panel.problem, cls, np.zeros(cls.size), means)
        self._panel, self._tails, self._caps, self._price = panel, tails, tails.caps, tails.unit

    def value(self, margins: Floats, weights: Floats) -> float:  # noqa: ARG002
        """The tail margin of a mixture."""
        return float(self._panel.tail_of(margins.min(axis=1)))

    def _admissible(self, points: Floats) -> Floats:
        return self._tails.project(points)

    def _balance(self, basis: Floats, loose: Bools) -> None:
        """What one multiplier gains the others lose."""
        if loose.any():
            basis[:, loose] -= basis[:, loose].mean(axis=1, keepdims=True)


class TailPieces(ClassPieces):
    """Parts of panels, class by class."""

    def __init__(self, panel: PanelProblem, effort: Effort) -> None:
        super().__init__(panel.problem, effort)
        self._panel, self._tails = panel, Tails(panel)

    def nearest_admissible(self, multipliers: Floats) -> Floats:
        """Multipliers next to some in proportion that a tail can have."""
        return self._tails.nearest(multipliers)

    def _program(self) -> TailProjection:
        cls, means = np.array([piece.cls for piece in self._pieces]), np.array([p.means for p in self._pieces])
        return TailProjection(self._panel, self._tails, cls, means)


class PanelLooks:
    """Relaxations by looks at the data, at one count vector after another."""

    def __init__(self, panel: PanelProblem, budget: Budget, effort: Effort) -> None:
        self._panel, self._effort, self._budget = panel, effort, budget
        # Few features are chosen, of those with the best scores: a small window holds all that may be.
        narrow = replace(effort, window_part=effort.panel_window_part)
        self._bundle = Bundle(panel.problem, budget, narrow, TailPieces(panel, narrow))

    def start_from(self, multipliers: Integers) -> None:
        """Begin with some multipliers."""
        self._bundle.start_from(multipliers)

    def at(self, counts: Integers) -> tuple[PanelRoot, bool] | None:
        """Some looks at some counts: the best multipliers so far, and whether there is more to gain; None: no time."""
        looks, close = 0, False

        def enough(value: float, model: float, _effect: float) -> bool:
            nonlocal looks, close
            looks, close = looks + 1, value - model <= self._effort.panel_close * abs(value)
            return close or looks > self._effort.looks_at_a_time

        relaxed = self._bundle.minimise(counts, counts, enough)
        if relaxed is None:
            return None
        cut, x = Cut(self._panel.problem, relaxed.cut.multipliers, counts, groups=self._panel.groups), relaxed.mixture.x
        x[self._panel.problem.required] = 0.0
        features = np.flatnonzero(x > 0)
        return PanelRoot(cut, bound_at(self._panel, cut, counts), features, x[features]), not close
