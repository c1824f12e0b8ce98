"""Small programs over multipliers λ: where a model of the bound is least, and the nearest λ where it is low enough.

A model is the largest of some linear functions g_i·λ, the *pieces*. Multipliers are admissible if λ ≥ 0 and Σ λ = 1.
There are few pieces and perhaps many multipliers, so a step of the interior point method that solves both programs
comes down to a linear system with a row for each piece. Of many multipliers few are above zero: a program holds those
that are likely to be, and others come in where it turns out that they are.
"""

from dataclasses import dataclass

import numpy as np

from cobic.matrix import Bools, Floats
from cobic.matrix.pool import one_blas_thread

_STEPS = 60  # of the interior point method, which takes about fifteen; rounding may keep it from an end
_SHORT_OF_THE_EDGE = 0.99  # of the way to where a variable would be zero
_TINY = 1e-14  # added to a diagonal of about 1: it keeps a matrix from being singular, and is lost in rounding
_AWAY = 1e-2  # from the edge, where slacks and their partners begin
_TO_THE_MIDDLE = 0.1  # of the way is where multipliers begin: those at hand may be on the edge


def nearest_admissible(multipliers: Floats) -> Floats:
    """Admissible multipliers next to some that are admissible up to rounding, or up to their sum."""
    found = np.maximum(multipliers, 0.0)
    return found / max(float(found.sum()), np.finfo(np.float64).tiny)


def least_of_model(pieces: Floats, likely: Bools, accuracy: float) -> Floats:
    """The mixture of pieces (p,), weights that add up to 1, whose least value is that of their maximum."""
    inside = likely.copy()
    while True:
        with one_blas_thread():  # the matrices are small: threads would wait for each other
            weights = _InteriorPoint(pieces[:, inside], 0.0, None).run(accuracy).weights
        mixture: Floats = weights / weights.sum()
        values = mixture @ pieces
        missing = ~inside & (values < values[inside].min() - accuracy)
        if not missing.any():
            return mixture
        inside |= missing


def nearest_below(pieces: Floats, level: float, near: Floats, likely: Bools, accuracy: float) -> Floats:
    """The admissible multipliers next to some others for which no piece is above a level.

    Where those that are likely to be above zero are too few for that, weights grow until others come in.
    """
    inside = likely | (near > 0)
    while True:
        with one_blas_thread():
            point = _InteriorPoint(pieces[:, inside], level, near[inside]).run(accuracy)
        missing = ~inside & (point.weights @ pieces + point.price < -accuracy)
        if not missing.any():
            found = np.zeros(near.size)
            found[inside] = point.multipliers
            return nearest_admissible(found)
        inside |= missing


class _InteriorPoint:
    """Mehrotra's method for min t (or ½|λ − near|²) subject to g_i·λ + slack_i = limit (+ t), λ ≥ 0, Σ λ = 1.

    Each variable that must not be negative (multipliers, slacks of the pieces) has a partner, and their products are
    brought to zero together.
    """

    def __init__(self, pieces: Floats, limit: float, near: Floats | None) -> None:
        self.pieces, self._limit = pieces, limit
        self.is_linear, self._near = near is None, 0.0 if near is None else near
        n_pieces, size = pieces.shape
        middle = np.full(size, 1.0 / size)
        self.multipliers: Floats = middle if near is None else (1.0 - _TO_THE_MIDDLE) * near + _TO_THE_MIDDLE * middle
        values = pieces @ self.multipliers
        self._height = float((values - limit).max()) + 1.0 if self.is_linear else 0.0
        self.slacks = np.maximum(limit + self._height - values, _AWAY)
        self.weights: Floats = np.full(n_pieces, 1.0 / n_pieces)
        self.duals = np.full(size, max(_AWAY, 1.0 / size))
        self.price = 0.0  # of Σ λ = 1

    def run(self, accuracy: float) -> "_InteriorPoint":
        for _ in range(_STEPS):
            residuals = self._residuals()
            gap = self._gap()
            if gap < accuracy and max(float(np.abs(each).max(initial=0.0)) for each in residuals) < accuracy:
                break
            try:
                self._advance(residuals, gap)
            except np.linalg.LinAlgError:
                break  # what it has is as good as it gets
        return self

    def _pairs(self) -> tuple[tuple[Floats, Floats], ...]:
        return (self.multipliers, self.duals), (self.slacks, self.weights)

    def _gap(self) -> float:
        return float(sum(one @ other for one, other in self._pairs()))

    def _residuals(self) -> tuple[Floats, Floats, Floats]:
        """What is missing of stationarity, of the pieces, and of multipliers and weights that add up to 1."""
        slope = self.weights @ self.pieces + self.price - self.duals
        if not self.is_linear:
            slope = slope + self.multipliers - self._near
        rows = self._limit + self._height - self.slacks - self.pieces @ self.multipliers
        sums = [1.0 - self.multipliers.sum(), *([1.0 - self.weights.sum()] if self.is_linear else [])]
        return slope, rows, np.array(sums)

    def _advance(self, residuals: tuple[Floats, Floats, Floats], gap: float) -> None:
        """One predictor and one corrector step."""
        system = _System(self)
        products = [-one * other for one, other in self._pairs()]
        steps = system.solve(residuals, products)
        lengths = self._lengths(steps)
        after = sum(
            float((one + lengths[0] * step) @ (other + lengths[1] * partner))
            for (one, other), (step, partner) in zip(self._pairs(), steps.pairs, strict=True)
        )
        size = self.multipliers.size + self.slacks.size
        aim = gap / size * min(1.0, max(after / gap, 0.0)) ** 3  # Mehrotra's rule
        corrected = [
            product + aim - step * partner for product, (step, partner) in zip(products, steps.pairs, strict=True)
        ]
        steps = system.solve(residuals, corrected)
        primal, dual = (min(1.0, _SHORT_OF_THE_EDGE * length) for length in self._lengths(steps))
        for pair, moves in zip(self._pairs(), steps.pairs, strict=True):
            for values, move, length in zip(pair, moves, (primal, dual), strict=True):
                values += length * move
        self._height += primal * steps.height
        self.price += dual * steps.price

    def _lengths(self, steps: "_Steps") -> tuple[float, float]:
        """How far one can go until a variable, or a partner, is zero; together where the objective is quadratic."""
        lengths = [1.0 / _SHORT_OF_THE_EDGE] * 2
        for pair, moves in zip(self._pairs(), steps.pairs, strict=True):
            for side in (0, 1):
                fastest = -float((moves[side] / pair[side]).min(initial=0.0))
                if fastest * lengths[side] > 1.0:
                    lengths[side] = 1.0 / fastest
        return (lengths[0], lengths[1]) if self.is_linear else (min(lengths), min(lengths))


@dataclass(frozen=True)
class _Steps:
    """Changes of the variables and their partners, of the height t, and of the price of Σ λ = 1."""

    pairs: tuple[tuple[Floats, Floats], ...]
    height: float
    price: float


class _System:
    """The linear system of a step, brought down to a row for each piece and one or two more.

    Its unknowns are the changes of the weights, of the price, and of the height where there is one.
    """

    def __init__(self, point: _InteriorPoint) -> None:
        self._point = point
        self._flat: Floats = 1.0 / (point.duals / point.multipliers + (0.0 if point.is_linear else 1.0))
        n_pieces = point.weights.size
        weighted = point.pieces * self._flat
        self._matrix = np.zeros((n_pieces + 1 + point.is_linear,) * 2)
        self._matrix[:n_pieces, :n_pieces] = weighted @ point.pieces.T
        self._matrix[:n_pieces, n_pieces] = self._matrix[n_pieces, :n_pieces] = weighted.sum(axis=1)
        self._matrix[n_pieces, n_pieces] = self._flat.sum()
        diagonal = np.arange(n_pieces + 1)
        self._matrix[diagonal, diagonal] += _TINY
        self._matrix[diagonal[:-1], diagonal[:-1]] += point.slacks / point.weights
        if point.is_linear:
            self._matrix[:n_pieces, -1] = self._matrix[-1, :n_pieces] = 1.0

    def solve(self, residuals: tuple[Floats, Floats, Floats], products: list[Floats]) -> _Steps:
        """The step that removes the residuals and changes the products of the pairs by given amounts."""
        point, n_pieces = self._point, self._point.weights.size
        slope = products[0] / point.multipliers - residuals[0]
        rows = residuals[1] - products[1] / point.weights
        known = self._flat * slope
        sums = residuals[2].copy()
        sums[0] = known.sum() - sums[0]
        found = np.linalg.solve(self._matrix, np.concatenate([point.pieces @ known - rows, sums]))
        weights, price = found[:n_pieces], float(found[n_pieces])
        move = self._flat * (slope - weights @ point.pieces - price)
        duals = (products[0] - point.duals * move) / point.multipliers
        slacks = (products[1] - point.slacks * weights) / point.weights
        return _Steps(((move, duals), (slacks, weights)), float(found[-1]) if point.is_linear else 0.0, price)
