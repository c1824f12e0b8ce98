"""Small programs over multipliers λ: where a model of the bound is least, and the nearest λ where it is low enough.

A model is the largest of some linear functions g_i·λ + b_i, the *pieces*. Multipliers are admissible if λ ≥ 0, if those
of a sample add up to at most its cap, and if all add up to a given total (one of the two may be missing). There are few
pieces and perhaps many multipliers, so a step of the interior point method that solves both programs comes down to a
linear system with a row for each piece, whatever the number of samples.
"""

from dataclasses import dataclass

import numpy as np

from cobic.matrix import Floats
from cobic.matrix.pool import one_blas_thread

_STEPS = 60  # of the interior point method, which takes about fifteen; rounding may keep it from an end
_SHORT_OF_THE_EDGE = 0.99  # of the way to where a variable would be zero
_TINY = 1e-14  # added to a diagonal of about 1: it keeps a matrix from being singular, and is lost in rounding
_AWAY = 1e-2  # from the edge, where slacks and their partners begin
_TO_THE_MIDDLE = 0.1  # of the way is where multipliers begin: those at hand may be on the edge


@dataclass(frozen=True)
class Admissible:
    """The multipliers that are admissible."""

    shape: tuple[int, int]  # samples and comparisons of each
    cap: float | None = None  # the multipliers of a sample add up to at most this
    total: float | None = None  # all multipliers add up to this

    @property
    def centre(self) -> Floats:
        """Multipliers in the middle, (n, c)."""
        n_samples, per_sample = self.shape
        most = np.inf if self.cap is None else 0.5 * self.cap / per_sample
        return np.full(self.shape, min(most, np.inf if self.total is None else self.total / (n_samples * per_sample)))

    def least(self, slopes: Floats) -> float:
        """The least of slopes·λ over all that are admissible, for slopes (n, c)."""
        if self.cap is None:
            return float(slopes.min()) * (self.total or 0.0)
        by_sample = np.sort(slopes.min(axis=1)) * self.cap
        if self.total is None:
            return float(np.minimum(by_sample, 0.0).sum())
        whole = int(self.total / self.cap)
        part = self.total / self.cap - whole
        return float(by_sample[:whole].sum() + (part * by_sample[whole] if part > 0 else 0.0))

    def nearest(self, multipliers: Floats) -> Floats:
        """Admissible multipliers (n, c) next to some that are admissible up to rounding."""
        found = np.maximum(multipliers.reshape(self.shape), 0.0)
        if self.total is not None:
            found *= self.total / max(float(found.sum()), np.finfo(np.float64).tiny)
        if self.cap is not None:
            found *= np.minimum(1.0, self.cap / np.maximum(found.sum(axis=1), _TINY))[:, None]
        return found


def least_of_model(pieces: Floats, offsets: Floats, admissible: Admissible, accuracy: float) -> Floats:
    """The mixture of pieces (p,), weights that add up to 1, whose least value is that of their maximum."""
    with one_blas_thread():  # the matrices are small: threads would wait for each other
        weights = _InteriorPoint(pieces, -offsets, admissible, None).run(accuracy).weights
    mixture: Floats = weights / weights.sum()
    return mixture


def nearest_below(
    pieces: Floats, offsets: Floats, level: float, near: Floats, admissible: Admissible, accuracy: float
) -> Floats:
    """The admissible multipliers (n, c) next to some others for which no piece is above a level."""
    with one_blas_thread():
        point = _InteriorPoint(pieces, level - offsets, admissible, near.ravel()).run(accuracy)
    return admissible.nearest(point.multipliers)


class _InteriorPoint:
    """Mehrotra's method for min t (or ½|λ − near|²) subject to g_i·λ + slack_i = limit_i (+ t), λ admissible.

    For each of the three kinds of variables that must not be negative (multipliers, slacks of the pieces, what is left
    of the caps) there is a partner, and their products are brought to zero together.
    """

    def __init__(self, pieces: Floats, limits: Floats, admissible: Admissible, near: Floats | None) -> None:
        self._set, self._limits = admissible, limits
        self._is_linear, self._near = near is None, 0.0 if near is None else near
        self._n_pieces, size = pieces.shape
        self._rows = pieces if admissible.total is None else np.vstack([pieces, np.ones(size)])
        middle = admissible.centre.ravel()
        self.multipliers: Floats = middle if near is None else (1.0 - _TO_THE_MIDDLE) * near + _TO_THE_MIDDLE * middle
        values = pieces @ self.multipliers
        self._height = float((values - limits).max()) + 1.0 if self._is_linear else 0.0
        self._slacks = np.maximum(limits + self._height - values, _AWAY)
        self.weights: Floats = np.full(self._n_pieces, 1.0 / self._n_pieces)
        self._duals = np.full(size, max(_AWAY, 1.0 / size))
        self._equal = np.zeros(self._rows.shape[0] - self._n_pieces)
        n_capped = 0 if admissible.cap is None else admissible.shape[0]
        self._left = np.maximum((admissible.cap or 0.0) - self._by_sample(self.multipliers), _AWAY)[:n_capped]
        self._prices = np.full(n_capped, 1.0 / size)

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

    def _by_sample(self, values: Floats) -> Floats:
        total: Floats = values.reshape(*values.shape[:-1], *self._set.shape).sum(axis=-1)
        return total

    def _pairs(self) -> tuple[tuple[Floats, Floats], ...]:
        pairs = ((self.multipliers, self._duals), (self._slacks, self.weights), (self._left, self._prices))
        return pairs if self._left.size else pairs[:2]

    def _gap(self) -> float:
        return float(sum(one @ other for one, other in self._pairs()))

    def _residuals(self) -> tuple[Floats, Floats, Floats, Floats]:
        """What is missing of stationarity, of the rows, of the caps, and of weights that add up to 1."""
        slope = self._rows.T @ np.concatenate([self.weights, self._equal]) - self._duals
        if not self._is_linear:
            slope = slope + self.multipliers - self._near
        if self._left.size:
            slope = slope + np.repeat(self._prices, self._set.shape[1])
        values = self._rows @ self.multipliers
        rows = np.full(values.size, self._set.total or 0.0)
        rows[: self._n_pieces] = self._limits + self._height - self._slacks
        caps = (self._set.cap or 0.0) - self._left - self._by_sample(self.multipliers)[: self._left.size]
        return slope, rows - values, caps, np.array([1.0 - self.weights.sum()] if self._is_linear else [])

    def _advance(self, residuals: tuple[Floats, Floats, Floats, Floats], gap: float) -> None:
        """One predictor and one corrector step."""
        system = _System(self)
        products = [-one * other for one, other in self._pairs()]
        steps = system.solve(residuals, products)
        lengths = self._lengths(steps)
        after = sum(
            float((one + lengths[0] * step) @ (other + lengths[1] * partner))
            for (one, other), (step, partner) in zip(self._pairs(), steps.pairs, strict=True)
        )
        size = sum(one.size for one, _ in self._pairs())
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
        self._equal = self._equal + dual * steps.equal

    def _lengths(self, steps: "_Steps") -> tuple[float, float]:
        """How far one can go until a variable, or a partner, is zero; together where the objective is quadratic."""
        lengths = [1.0 / _SHORT_OF_THE_EDGE] * 2
        for pair, moves in zip(self._pairs(), steps.pairs, strict=True):
            for side in (0, 1):
                fastest = -float((moves[side] / pair[side]).min(initial=0.0))
                if fastest * lengths[side] > 1.0:
                    lengths[side] = 1.0 / fastest
        return (lengths[0], lengths[1]) if self._is_linear else (min(lengths), min(lengths))


@dataclass(frozen=True)
class _Steps:
    """Changes of the variables and their partners, kind by kind, of the height t, and of the price of the total."""

    pairs: tuple[tuple[Floats, Floats], ...]
    height: float
    equal: Floats


class _System:
    """The linear system of a step, brought down to a row for each piece and factorised once."""

    def __init__(self, point: _InteriorPoint) -> None:
        self._point = point
        per_sample = point._set.shape[1]
        self._flat: Floats = 1.0 / (point._duals / point.multipliers + (0.0 if point._is_linear else 1.0))
        weighted = point._rows * self._flat
        matrix = weighted @ point._rows.T
        if point._left.size:
            self._stiff: Floats = point._by_sample(self._flat) + point._left / point._prices
            by_sample = point._by_sample(weighted)
            matrix -= (by_sample / self._stiff) @ by_sample.T
        self._per_sample = per_sample
        pieces, rows = point._n_pieces, matrix.shape[0]
        size = rows + int(point._is_linear)
        self._matrix = np.zeros((size, size))
        self._matrix[:rows, :rows] = matrix
        diagonal = np.arange(rows)
        self._matrix[diagonal, diagonal] += _TINY
        self._matrix[diagonal[:pieces], diagonal[:pieces]] += point._slacks / point.weights
        if point._is_linear:
            self._matrix[:pieces, rows] = self._matrix[rows, :pieces] = 1.0

    def solve(self, residuals: tuple[Floats, Floats, Floats, Floats], products: list[Floats]) -> _Steps:
        """The step that removes the residuals and changes the products of the pairs by given amounts."""
        point = self._point
        slope, rows, caps, weights = residuals
        pieces = point._n_pieces
        slope = products[0] / point.multipliers - slope
        aim = rows.copy()
        aim[:pieces] -= products[1] / point.weights
        capped = caps - products[2] / point._prices if caps.size else caps
        known, _ = self._from_slope(slope, capped)
        right = np.concatenate([point._rows @ known - aim, weights])
        found = np.linalg.solve(self._matrix, right)
        n_rows = point._rows.shape[0]
        move, prices = self._from_slope(slope - point._rows.T @ found[:n_rows], capped)
        duals = (products[0] - point._duals * move) / point.multipliers
        slacks = (products[1] - point._slacks * found[:pieces]) / point.weights
        pairs: tuple[tuple[Floats, Floats], ...] = ((move, duals), (slacks, found[:pieces]))
        if caps.size:
            pairs = (*pairs, ((products[2] - point._left * prices) / point._prices, prices))
        return _Steps(pairs, float(found[-1]) if point._is_linear else 0.0, found[pieces:n_rows])

    def _from_slope(self, slope: Floats, capped: Floats) -> tuple[Floats, Floats]:
        """The change of the multipliers that answers a slope, and that of the prices of the caps."""
        if not capped.size:
            return self._flat * slope, capped
        prices = (self._point._by_sample(self._flat * slope) - capped) / self._stiff
        return self._flat * (slope - np.repeat(prices, self._per_sample)), prices
