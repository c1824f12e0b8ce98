"""The pieces of the model with hard margins: selections that looks have found, and their margins.

A look at some λ gives a selection, the *piece* of that look: g·λ, with its margins g, is at most B(λ) everywhere, and
equal to it there. The largest of the pieces is the model.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cobic.certified.effort import DEFAULT, Effort
from cobic.certified.looks import Box, Decided, Look, Window, largest
from cobic.certified.quadratic import least_of_model, nearest_admissible, nearest_below
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem

FINEST = 1e-9  # of the slopes: the small programs come no closer in floating point
_NO_WEIGHT = 1e-6  # in a mixture: less is the interior point method standing short of the edge


@dataclass(eq=False)
class _Piece:
    """What a look has found: a selection, its counts, sums by class and margins."""

    counts: Integers
    sums: Floats
    margins: Floats
    packed: NDArray[np.uint8]
    last_used: int


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


@dataclass(frozen=True)
class Model:
    """What the pieces say."""

    least: float  # no multipliers have a bound below this, as far as the pieces tell: the value of a mixture of them
    scale: float  # how large the slopes of the pieces are


@dataclass(frozen=True, eq=False)
class Mixed:
    """A mixture of the pieces: the fractional selection, its margins and mean counts, and their spread.

    The spread is how far from their mean, on the average, the mixed counts of a class are.
    """

    mixture: Mixture
    margins: Floats
    mean_counts: Floats
    spread: Floats


class Pieces:
    """The pieces that are at hand, and the small programs over them."""

    def __init__(self, problem: Problem, effort: Effort = DEFAULT) -> None:
        self._problem, self._effort = problem, effort
        self._pieces: list[_Piece] = []
        self._slopes, self._weights, self._turn = np.zeros((0, 0)), np.zeros(0), 0
        self._likely: Bools = np.ones(problem.comparisons.other.size, dtype=np.bool_)

    def nearest_admissible(self, multipliers: Floats) -> Floats:
        """Multipliers (n, c) next to some others, up to a factor: they add up to 1."""
        return nearest_admissible(multipliers)

    def add(self, look: Look) -> None:
        """Keep what a look has found, and forget pieces that are idle."""
        self._turn += 1
        kept = [piece for piece in self._pieces if piece.last_used > self._turn - self._effort.idle]
        new = self._piece(look.support, look.counts, look.sums, self._turn)
        self._pieces = [*kept[1 - self._effort.most_pieces :], new]

    def refit(self, box: Box, look: Look, window: Window | None, decided: Decided | None) -> None:
        """Make the pieces of another box pieces of this one, if a window holds both; forget those out of use."""
        low, high = box
        if decided is not None:
            self._pieces = []
        if window is None or (low < high).any() or not window.holds(low):
            self._pieces = [piece for piece in self._pieces if (np.clip(piece.counts, low, high) == piece.counts).all()]
            return
        scores = window.scores(look.whole)
        recent = [piece for piece in self._pieces if piece.last_used >= self._turn - 1]
        self._pieces = [fit for piece in recent for fit in self._refitted(piece, low, window, scores)]

    def _refitted(self, piece: _Piece, counts: Integers, window: Window, scores: list[Floats]) -> list[_Piece]:
        """A piece with the features of a window that it lacks, or without some; none if it takes too many."""
        if (counts == piece.counts).all():
            return [piece]
        support = np.unpackbits(piece.packed, count=self._problem.n_features).astype(np.bool_)
        sums = piece.sums.copy()
        for cls in np.flatnonzero(counts != piece.counts):
            more, of_class = int(counts[cls] - piece.counts[cls]), window.by_class[cls]
            places = np.flatnonzero(support[of_class] != (more > 0))
            if abs(more) > places.size:
                return []
            moved = places[largest(np.sign(more) * scores[cls][places], abs(more))]
            sums[:, cls] += np.sign(more) * window.sums_of(int(cls), moved)
            support[of_class[moved]] ^= True
        return [self._piece(support, counts, sums, piece.last_used)]

    def _piece(self, support: Bools, counts: Integers, sums: Floats, last_used: int) -> _Piece:
        margins = self._problem.comparisons.margins(sums / counts).ravel()
        return _Piece(counts, sums, margins, np.packbits(support), last_used)

    def model(self, distance: float) -> Model:
        """The model made of the pieces at hand; `distance` is how far off the best value was from the last one."""
        self._slopes = slopes = np.array([piece.margins for piece in self._pieces])
        scale = max(float(np.abs(slopes).max()), np.finfo(np.float64).tiny)
        accuracy = max(self._effort.accuracy * min(distance / scale, self._effort.accuracy), FINEST)
        weights = least_of_model(slopes / scale, self._likely, accuracy)
        weights = np.where(weights > _NO_WEIGHT, weights, 0.0)
        weights /= weights.sum()
        for piece, weight in zip(self._pieces, weights, strict=True):
            if weight > 0:
                piece.last_used = self._turn
        self._weights, margins = weights, weights @ slopes
        # No more comparisons than there are pieces hold a best mixture back; a few times as many are likely to.
        count = self._effort.likely * len(self._pieces)
        self._likely = np.zeros(margins.size, dtype=np.bool_)
        self._likely[largest(-margins, count if count < margins.size // 2 else margins.size)] = True
        return Model(float(margins.min()), scale)

    def mixed(self) -> Mixed:
        """The mixture that the model's least value belongs to."""
        weights = self._weights
        counts = np.array([piece.counts for piece in self._pieces], dtype=np.float64)
        mean: Floats = weights @ counts
        spread: Floats = weights @ np.abs(counts - mean)
        parts = [(float(w), piece.packed) for w, piece in zip(weights, self._pieces, strict=True) if w > 0]
        return Mixed(Mixture(self._problem.n_features, parts), weights @ self._slopes, mean, spread)

    def next_point(self, model: Model, best: float, at: Floats, floor: float) -> Floats:
        """Where to look next: near the best multipliers so far, where the model is well below them."""
        least, scale = max(model.least, floor), model.scale
        distance = best - least
        level = (least + self._effort.level * distance) / scale
        accuracy = max(self._effort.accuracy * distance / scale, FINEST)
        point = nearest_below(self._slopes / scale, level, at.ravel(), self._likely, accuracy)
        return nearest_admissible(without_remains(point, accuracy)).reshape(at.shape)


def without_remains(multipliers: Floats, share: float) -> Floats:
    """The same without the smallest ones, which add up to a share of all at most.

    The interior point method leaves something of each; samples without multipliers cost a look at the data nothing.
    """
    order = np.argsort(multipliers)
    together = np.cumsum(multipliers[order])
    kept = multipliers.copy()
    kept[order[:-1][together[:-1] <= share * together[-1]]] = 0.0
    return kept
