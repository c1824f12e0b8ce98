"""Measurements of large synthetic data, tile by tile or block by block, each drawn from a seed of its own.

They do not depend on which tiles are made, in what order, or where they are put.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobic.datasets.plan import AHEAD, CONTAMINATED, FILLING, INFORMATIVE, NOISY, PLANNING, Plan
from cobic.datasets.tiled import TILE_COLUMNS, TILE_ROWS, Singles, block_of_cells, blocks_of, stream, tiles_of

_SLOTS = 16  # of a feature in the table that counts are drawn from, in the mean
_BURST = 8  # counts of a noisy feature come so many at once
_ERROR_COUNTS = (50, 150)  # far above what a feature has in a class, as doublets and debris bring them
_LIBRARY_SPREAD = 0.3  # of the logarithm of a cell's library, as in droplet data


class Intensities:
    """Whole numbers as of a microarray, negative ones among them, in tiles."""

    def __init__(self, planned: Plan) -> None:
        self.plan = planned
        n_features, kinds, rng = planned.shape[1], planned.kinds, stream(planned.seed, PLANNING, 1)
        self._baseline = np.exp(np.float32(5.0) + np.float32(1.2) * rng.standard_normal(n_features, dtype=np.float32))
        factor = np.where(kinds == NOISY, np.float32(3.0), np.float32(0.25))
        self._spread = factor * self._baseline + np.float32(60.0)
        strength = np.float32(0.1) + np.float32(0.5) * rng.random(n_features, dtype=np.float32)
        self._shift = np.where(kinds == INFORMATIVE, strength * (self._baseline + np.float32(150.0)), np.float32(0.0))
        # One victim for each contaminated feature; the feature is raised enough to stay in its class.
        self._victim = np.full(n_features, -1, dtype=np.int32)
        self._error = np.zeros(n_features, dtype=np.float32)
        for cls, victims in enumerate(planned.victims):
            features = planned.contaminated(cls)
            errors = np.round(planned.error * rng.uniform(0.5, 1.5, features.size))
            self._victim[features] = victims[np.arange(features.size) % victims.size]
            self._error[features] = errors
            ahead = rng.uniform(AHEAD - 0.2, AHEAD + 0.2, features.size)
            self._shift[features] = ahead * errors / max(2, min(planned.class_sizes))

    def tiles(self) -> Iterator[tuple[slice, slice, Singles]]:
        """Rows, columns and values of one tile after the other, all columns before the next rows."""
        for rows, columns in tiles_of(self.plan.shape):
            rng = stream(self.plan.seed, FILLING, rows.start // TILE_ROWS, columns.start // TILE_COLUMNS)
            values = rng.standard_normal((rows.stop - rows.start, columns.stop - columns.start), dtype=np.float32)
            values *= self._spread[columns]
            values += self._baseline[columns]
            classes, raised_in, shift = self.plan.classes[rows], self.plan.raised_in[columns], self._shift[columns]
            for cls in np.unique(classes):
                values[classes == cls] += np.where(raised_in == cls, shift, np.float32(0.0))
            victim = self._victim[columns]
            hit = np.flatnonzero((victim >= rows.start) & (victim < rows.stop))
            values[victim[hit] - rows.start, hit] += self._error[columns][hit]
            yield rows, columns, np.round(values, out=values)


class Counts:
    """Counts as of single cells, by size of the library and logged, in blocks of rows.

    The counts of a cell are Poisson: as many are drawn as its library has, and the feature of each is looked up in a
    table where features have as many slots as they are expressed. What a class has in excess is drawn from a table of
    its own.
    """

    def __init__(self, planned: Plan) -> None:
        self.plan = planned
        rng = stream(planned.seed, PLANNING, 1)
        kinds, (n_samples, m), k = planned.kinds, planned.shape, len(planned.class_sizes)
        level = np.exp(rng.standard_normal(m, dtype=np.float32))
        self._burst = np.where(kinds == NOISY, _BURST, 1).astype(np.int64)
        slots = np.maximum(1, np.round(_SLOTS * level / level.mean() / self._burst)).astype(np.int32)
        excess = np.zeros(m, dtype=np.int32)
        for kind, low, high in ((INFORMATIVE, 2.0, 8.0), (CONTAMINATED, 8.0, 12.0)):
            drawn = np.round(_SLOTS * (low + (high - low) * rng.random(m, dtype=np.float32))).astype(np.int32)
            excess = np.where(kinds == kind, drawn, excess)
        self._table = np.repeat(np.arange(m, dtype=np.int32), slots)
        self._excess = [
            np.repeat(np.flatnonzero(own).astype(np.int32), excess[own])
            for own in (planned.raised_in == cls for cls in range(k))
        ]
        self._per_slot = _per_slot(planned.density, slots, excess, k)
        self._libraries = np.exp(_LIBRARY_SPREAD * rng.standard_normal(n_samples))
        self._errors = rng.integers(*_ERROR_COUNTS, size=m, dtype=np.int32)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Rows and their values as csr, one block after the other."""
        for number, rows in enumerate(blocks_of(self.plan.shape)):
            yield rows, self._block(rows, stream(self.plan.seed, FILLING, number))

    def _block(self, rows: slice, rng: np.random.Generator) -> Any:
        n_rows, m = rows.stop - rows.start, self.plan.shape[1]
        libraries, classes = self._libraries[rows], self.plan.classes[rows]
        counts = np.zeros(n_rows * m, dtype=np.int64)
        for row in range(n_rows):  # row by row, for the counters of one row stay in the cache
            own = counts[row * m : (row + 1) * m]
            for table in (self._table, self._excess[classes[row]]):
                number = rng.poisson(libraries[row] * self._per_slot * table.size)
                if number:
                    own += np.bincount(table[rng.integers(table.size, size=number)], minlength=m)
            own *= self._burst
        for cls, victims in enumerate(self.plan.victims):
            here = victims[(victims >= rows.start) & (victims < rows.stop)]
            if here.size:
                features = self.plan.contaminated(cls)
                counts.reshape(-1, m)[np.ix_(here - rows.start, features)] += self._errors[features]
        cells = np.flatnonzero(counts)
        values = np.log1p(counts[cells] / libraries[cells // m]).astype(np.float32)
        return block_of_cells(cells, values, (n_rows, m))


def _per_slot(density: float, slots: NDArray[np.int32], excess: NDArray[np.int32], k: int) -> float:
    """Counts per slot such that the share of cells that are not zero is as wanted."""
    base, own = slots[: 1 << 16].astype(np.float64), (slots + excess)[: 1 << 16].astype(np.float64)
    libraries = np.exp(_LIBRARY_SPREAD * math.sqrt(3.0) * np.array([-1.0, 0.0, 1.0]))  # Gauss-Hermite, three points

    def expected(rate: float) -> float:
        zero, zero_own = (np.exp(-np.outer(rate * libraries, each)).mean(axis=1) for each in (base, own))
        return 1.0 - float(np.array([1.0, 4.0, 1.0]) / 6.0 @ (((k - 1) * zero + zero_own) / k))

    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if expected(middle) < density else (low, middle)
    return high
