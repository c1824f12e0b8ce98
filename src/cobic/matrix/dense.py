"""Dense matrices: a grid of tiles, each brought to one form before it is multiplied."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobic.matrix.base import Bits, Floats, Integers, Matrix, NotFinite, Survey, bits_of, require_exact
from cobic.matrix.grid import Places, Tile, tile_shape, tiles
from cobic.matrix.parts import MatrixInParts, Wanted
from cobic.matrix.pool import Room
from cobic.matrix.stored import StoredArray
from cobic.matrix.transform import Transform, value_type
from cobic.matrix.transformed import TransformedArray

_STRIP = 256  # columns: a strip of all rows stays in the cache


class InMemory:
    """An array in memory, as a source."""

    words = "in memory"
    costly = False

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array
        self.shape, self.dtype, self.nbytes = array.shape, array.dtype, array.nbytes

    def read(self, rows: slice, columns: slice) -> NDArray[Any]:
        return self._array[rows, columns]

    def rows(self, index: Integers) -> NDArray[Any]:
        return self._array[index]

    def columns(self, index: Integers) -> NDArray[Any]:
        return self._array[:, index]

    selected = columns

    def take(self, index: Integers) -> "InMemory":
        return InMemory(self._array[index])

    def tiles_per_block(self, _tile: tuple[int, int]) -> tuple[int, int]:
        return 1, 1


class DenseMatrix(MatrixInParts):
    """A table of numbers; its tiles are widened to float64 as they are needed."""

    def __init__(self, source: NDArray[Any] | InMemory | StoredArray | TransformedArray) -> None:
        super().__init__(InMemory(source) if isinstance(source, np.ndarray) else source)
        self._tile = tile_shape(self.shape)
        if self._tile == self.shape:
            self._few = 0  # a product at once is the fastest here

    @property
    def kind(self) -> str:
        return f"dense {self._source.dtype} {self._source.words}"

    @cached_property
    def _parts(self) -> list[Tile]:
        """Neighbouring tiles, which are read together."""
        down, across = self._source.tiles_per_block(self._tile)
        whole = slice(0, self.shape[0]), slice(0, self.shape[1])
        return tiles(whole, (down * self._tile[0], across * self._tile[1]))

    def _read(self, part: Tile, room: Room | None, wanted: Wanted) -> Iterator[tuple[Places, Places, Floats]]:
        if any(lines is not None and not lines[at].any() for lines, at in zip(wanted, part, strict=True)):
            return
        values, (top, left) = self._source.read(*part), (part[0].start, part[1].start)
        for rows, columns in tiles(part, self._tile):
            tile = values[rows.start - top : rows.stop - top, columns.start - left : columns.stop - left]
            picked = [
                at if lines is None else at.start + np.flatnonzero(lines[at])
                for lines, at in zip(wanted, (rows, columns), strict=True)
            ]
            if wanted[0] is not None:
                tile = tile[picked[0] - rows.start]
            if wanted[1] is not None:
                tile = tile[:, picked[1] - columns.start]
            yield picked[0], picked[1], _canonical(tile, room)

    @cached_property
    def _whole(self) -> Floats | None:
        if self._tile != self.shape:
            return None
        return _canonical(self._source.read(slice(0, self.shape[0]), slice(0, self.shape[1])), None)

    def rows(self, index: Integers) -> Floats:
        chosen = self._source.rows(index) if self._whole is None else self._whole[index]
        return np.ascontiguousarray(chosen, dtype=np.float64)

    def columns(self, index: Integers) -> Floats:
        chosen = self._source.columns(index) if self._whole is None else self._whole[:, index]
        return np.asfortranarray(chosen, dtype=np.float64)

    def selected(self, index: Integers) -> Any:
        return self._source.selected(np.asarray(index))

    def take(self, index: Integers) -> Matrix:
        return DenseMatrix(self._source.take(index))

    def transformed(self, transform: Transform) -> Matrix:
        if self.costly:
            return DenseMatrix(TransformedArray(self._source, transform))
        kind = value_type(self._source.dtype)
        result: NDArray[Any] = np.empty(self.shape, dtype=kind)
        for rows, columns, part in self._on_parts(lambda values, _, at: transform.part(at).of(values, kind)):
            result[rows, columns] = part
        return DenseMatrix(result)

    @staticmethod
    def _survey_of(values: Floats, bit_weights: Bits | None) -> Survey:
        row_peaks = np.maximum(values.max(axis=1, initial=0.0), -values.min(axis=1, initial=0.0))
        column_peaks = np.maximum(values.max(axis=0, initial=0.0), -values.min(axis=0, initial=0.0))
        none = np.zeros(0, dtype=np.uint64)
        bits = none if bit_weights is None else DenseMatrix._fingerprints_of(values, bit_weights)
        return Survey(row_peaks, column_peaks, bits, _first_not_finite(values, row_peaks))

    @staticmethod
    def _fingerprints_of(values: Floats, bit_weights: Bits) -> Bits:
        total: Bits = (bits_of(values) * bit_weights[:, None]).sum(axis=0, dtype=np.uint64)
        return total


def _canonical(values: NDArray[Any], room: Room | None) -> Floats:
    """A tile in the one form that is multiplied: the BLAS has other kernels, with other rounding, for other forms.

    A piece of a larger array in that form stays where it is; another one is copied, into the room if there is one.
    """
    if values.dtype == np.float64 and values.dtype.isnative and values.flags.aligned:
        down, across = values.strides
        if across == 8 and down % 8 == 0 and down >= 8 * values.shape[1]:
            return values
    require_exact(values)
    copied = np.empty(values.shape) if room is None else room.of(values.size).reshape(values.shape)
    # Columns that lie one behind the other are turned in strips: whole rows of 2¹² cells would share a few cache lines.
    step = _STRIP if values.strides[0] < values.strides[1] else max(1, values.shape[1])
    for start in range(0, values.shape[1], step):
        copied[:, start : start + step] = values[:, start : start + step]
    return copied


def _first_not_finite(values: Floats, row_peaks: Floats) -> NotFinite | None:
    """The place of the first; a row that has one has no finite peak."""
    odd = np.flatnonzero(~np.isfinite(row_peaks))
    if odd.size == 0:
        return None
    row = int(odd[0])
    column = int(np.argmin(np.isfinite(values[row])))
    return row, column, float(values[row, column])
