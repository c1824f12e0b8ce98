"""What is known about a relaxation: the multipliers with the least bound, and a mixture of selections."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cobic.certified.bounds import PRECISION, Cut
from cobic.matrix import Floats, Integers

_NOTHING = 1e-200  # multipliers that are all below stand for none: their factor would overflow


@dataclass(frozen=True, eq=False)
class Mixture:
    """A fractional selection, kept in little room: a mixture of whole ones, but for the shares of a few features."""

    n_features: int
    parts: list[tuple[float, NDArray[np.uint8]]]
    features: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    shares: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def x(self) -> Floats:
        """The share of each feature, (n_features,)."""
        x = np.zeros(self.n_features)
        for weight, packed in self.parts:
            x += weight * np.unpackbits(packed, count=self.n_features)
        x[self.features] = self.shares
        return x


@dataclass(frozen=True, eq=False)
class Relaxed:
    """What is known about the relaxation over a box of counts."""

    cut: Cut  # the multipliers with the least bound
    value: float  # their bound: on the worst margin (hard), or on the objective (soft)
    model: float  # no multipliers have a bound below this: the value of the mixture
    margins: Floats  # margins of the mixture
    mean_counts: Floats  # mean counts of the mixture, and how far from them, on the average, the mixed counts are
    spread: Floats
    counts: Integers  # the mean counts, rounded; the counts themselves where the box is a point
    excluded: bool  # with hard margins: whether the multipliers prove that no selection has counts in the box
    mixture: Mixture  # the fractional selection


def whole_numbers(multipliers: Floats) -> tuple[Integers, float]:
    """Multipliers as whole numbers, and the factor between."""
    top = float(multipliers.max())
    factor = PRECISION / top if top > _NOTHING else 0.0
    return np.round(multipliers * factor).astype(np.int64), factor
