"""Pieces for multipliers that add up to 1, those of a sample perhaps to its cap: hard margins, and tails of panels.

What a look at the data finds, and what is learned from it class by class, is the same as with soft margins
(:mod:`cobic.certified.class_pieces`). Only what is admissible differs, and what a mixture is worth: its worst margin,
or its tail margin.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from cobic.certified.class_pieces import ClassPieces
from cobic.certified.effort import Effort
from cobic.certified.newton import LevelProjection, projected
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem

_STEPS = 100  # of the search for the shift, which takes about ten
_TINY = 1e-13  # relative: less is rounding
Worth = Callable[[Floats], Any]  # a number: of a mixture, from the worst margin of each sample


class Tails:
    """The admissible multipliers, in units of the largest cap: so much in each sample at most, so much in all."""

    def __init__(self, problem: Problem, caps: Floats | None) -> None:
        self._shape = problem.comparisons.other.shape
        self.unit = 1.0 if caps is None else min(float(caps.max()), 1.0)
        self.caps = np.full(self._shape[0], np.inf) if caps is None else caps / self.unit

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
    """The small program: the nearest multipliers at which the model is down to a level."""

    def __init__(self, problem: Problem, worth: Worth, tails: Tails, cls: Integers, means: Floats) -> None:
        super().__init__(problem, cls, np.zeros(cls.size), means)
        self._worth, self._tails, self._caps, self._price = worth, tails, tails.caps, tails.unit

    def value(self, margins: Floats, weights: Floats) -> float:  # noqa: ARG002
        """The worst margin of a mixture, or that of its tail."""
        return float(self._worth(margins.min(axis=1)))

    def _admissible(self, points: Floats) -> Floats:
        return self._tails.project(points)

    def _balance(self, basis: Floats, loose: Bools) -> None:
        """What one multiplier gains the others lose."""
        if loose.any():
            basis[:, loose] -= basis[:, loose].mean(axis=1, keepdims=True)


class TailPieces(ClassPieces):
    """Parts of selections, class by class; without caps a mixture is worth its worst margin."""

    def __init__(self, problem: Problem, effort: Effort, caps: Floats | None = None, worth: Worth = np.min) -> None:
        super().__init__(problem, effort)
        self._worth, self._tails = worth, Tails(problem, caps)
        self.admissible = self._tails

    def _program(self) -> TailProjection:
        cls, means = np.array([piece.cls for piece in self._pieces]), np.array([p.means for p in self._pieces])
        return TailProjection(self._problem, self._worth, self._tails, cls, means)
