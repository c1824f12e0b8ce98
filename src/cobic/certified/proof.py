"""The steps of a proof: a tree of cases, parents before children, each leaf settled by multipliers.

This is where steps are written as JSON; the checker reads them by itself. `docs/certificate.md` has the format.
"""

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from cobic.matrix import Integers


@dataclass(frozen=True)
class Multipliers:
    """One vector of multipliers in a proof; most of them are zero."""

    places: Integers  # running indices of those comparisons that have one
    values: Integers  # the λ there, whole numbers above zero
    # The σ to be used with them over a box of counts; any number up to 0 is right, a good one gives a tight bound
    slope: float

    @classmethod
    def of(cls, multipliers: Integers, slope: float) -> "Multipliers":
        """From all of them, (n_samples, n_comparisons)."""
        flat = multipliers.ravel()
        places = np.flatnonzero(flat)
        return cls(places, flat[places], slope)

    def dense(self, shape: tuple[int, int]) -> Integers:
        """All of them, (n_samples, n_comparisons)."""
        flat = np.zeros(shape[0] * shape[1], dtype=np.int64)
        flat[self.places] = self.values
        return flat.reshape(shape)

    def pairs(self) -> list[list[int]]:
        """Places and values, to be written down."""
        return [[place, value] for place, value in zip(self.places.tolist(), self.values.tolist(), strict=True)]


@dataclass(frozen=True)
class Close:
    """Multipliers settle this case."""

    cut: int


@dataclass(frozen=True)
class Fix:
    """Multipliers decide some features; what follows is about the others."""

    cut: int


@dataclass(frozen=True)
class SplitCount:
    """Two cases follow: at most so many features of a class, and more."""

    cls: int
    at: int


@dataclass(frozen=True)
class SplitFeature:
    """Two cases follow: without a feature, and with it."""

    feature: int


@dataclass(frozen=True)
class Empty:
    """No counts are left in this case."""


@dataclass(frozen=True)
class Single:
    """A single selection is left in this case, which the reader looks at."""


@dataclass(frozen=True)
class All:
    """At most two features are missing in this case: the reader looks at every panel that is left."""


@dataclass(frozen=True)
class OrMore:
    """What follows is about all larger totals, too."""


Step = Close | Fix | SplitCount | SplitFeature | Empty | Single | All | OrMore
_WORDS: dict[type, str] = {
    Close: "cut",
    Fix: "fix",
    SplitCount: "count",
    SplitFeature: "feature",
    Empty: "empty",
    Single: "selection",
    All: "all",
    OrMore: "or more",
}


def cuts_in(steps: Iterable[Step]) -> list[int]:
    """The multipliers that some steps use, in the order in which a reader comes to them."""
    return list(dict.fromkeys(step.cut for step in steps if isinstance(step, (Close, Fix))))


def written(step: Step, place: Mapping[int, int]) -> list[Any]:
    """A step as JSON, with its multipliers known by their place in the certificate."""
    if isinstance(step, (Close, Fix)):
        return [_WORDS[type(step)], place[step.cut]]
    return [_WORDS[type(step)], *astuple(step)]
