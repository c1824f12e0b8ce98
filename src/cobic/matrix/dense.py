"""Dense matrices: a grid of tiles, each brought to one form before it is multiplied."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from cobic.matrix.base import (
    Bits,
    Bools,
    Floats,
    Integers,
    Matrix,
    NotFinite,
    Survey,
    Surveyor,
    bits_of,
    by_class,
    own_class,
    runs,
)
from cobic.matrix.grid import Block, Tile, blocks, tile_shape
from cobic.matrix.pool import Room, in_order

Result = TypeVar("Result")

_ONE_BY_ONE = 2  # up to here a product for each column is faster than one for all: gemm first copies its operands
_STRIP = 256  # columns: a strip of all rows stays in the cache


class Source(Protocol):
    """Where the numbers of a dense matrix come from."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    words: str
    costly: bool

    @property
    def nbytes(self) -> int:
        """Size of the numbers."""

    def read(self, rows: slice, columns: slice) -> NDArray[Any]:
        """A rectangle, in any order and type."""

    def rows(self, index: Integers) -> NDArray[Any]:
        """Some rows."""

    def columns(self, index: Integers) -> NDArray[Any]:
        """Some columns."""

    def selected(self, index: Integers) -> NDArray[Any]:
        """Some columns, which are not kept for the next time."""

    def take(self, index: Integers) -> Self:
        """Some rows, as a source."""

    def tiles_per_block(self, _tile: tuple[int, int]) -> tuple[int, int]:
        """How many tiles, down and across, are best read at a time."""


class InMemory:
    """An array in memory."""

    words = "in memory"
    costly = False

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array
        self.shape: tuple[int, int] = (array.shape[0], array.shape[1])
        self.dtype = array.dtype

    @property
    def nbytes(self) -> int:
        return int(self._array.nbytes)

    def read(self, rows: slice, columns: slice) -> NDArray[Any]:
        return self._array[rows, columns]

    def rows(self, index: Integers) -> NDArray[Any]:
        return self._array[index]

    def columns(self, index: Integers) -> NDArray[Any]:
        return self._array[:, index]

    def selected(self, index: Integers) -> NDArray[Any]:
        return self._array[:, index]

    def take(self, index: Integers) -> "InMemory":
        return InMemory(self._array[index])

    def tiles_per_block(self, _tile: tuple[int, int]) -> tuple[int, int]:
        return 1, 1


class DenseMatrix(Matrix):
    """A table of numbers; its tiles are widened to float64 as they are needed."""

    def __init__(self, source: NDArray[Any] | Source) -> None:
        self._source: Source = InMemory(source) if isinstance(source, np.ndarray) else source
        super().__init__(self._source.shape)
        self.costly = self._source.costly
        self._is_small = tile_shape(self.shape) == self.shape

    @property
    def kind(self) -> str:
        return f"dense {self._source.dtype} {self._source.words}"

    @property
    def nbytes(self) -> int:
        return self._source.nbytes

    @cached_property
    def _whole(self) -> Floats:
        """All numbers of a matrix of one tile, ready for use."""
        rows, columns = slice(0, self.shape[0]), slice(0, self.shape[1])
        return _canonical(self._source.read(rows, columns))

    @cached_property
    def _blocks(self) -> list[Block]:
        return blocks(self.shape, self._source.tiles_per_block(tile_shape(self.shape)))

    def _on_tiles(self, kernel: Callable[[Floats, Tile], Result]) -> Iterator[tuple[Tile, Result]]:
        """What a kernel makes of each tile, in their order."""
        room = Room()

        def work(block: Block) -> list[tuple[Tile, Result]]:
            values = self._source.read(block.outline.rows, block.outline.columns)
            return [(tile, kernel(_canonical(values[tile.within(block.outline)], room), tile)) for tile in block.tiles]

        if self._is_small:
            whole = Tile(slice(0, self.shape[0]), slice(0, self.shape[1]))
            yield whole, kernel(self._whole, whole)
            return
        for results in in_order(work, self._blocks, ahead=1 if self.costly else 2):
            yield from results

    def products(self, weights: Floats) -> Floats:
        if self._is_small:
            return self._whole @ weights
        result = np.zeros((self.shape[0], weights.shape[1]))
        for tile, part in self._on_tiles(lambda values, tile: _times(values, weights[tile.columns])):
            result[tile.rows] += part
        return result

    def transposed_products(self, multipliers: Floats) -> Floats:
        if self._is_small:
            return self._whole.T @ multipliers
        result = np.zeros((self.shape[1], multipliers.shape[1]))
        for tile, part in self._on_tiles(lambda values, tile: _times(values.T, multipliers[tile.rows])):
            result[tile.columns] += part
        return result

    def class_sums(self, weights: Floats, classes: Integers, n_classes: int) -> Floats:
        if self._is_small:
            return self._whole @ by_class(weights, classes, n_classes)

        def kernel(values: Floats, tile: Tile) -> Floats:
            return _times(values, by_class(weights[tile.columns], classes[tile.columns], n_classes))

        result = np.zeros((self.shape[0], n_classes))
        for tile, part in self._on_tiles(kernel):
            result[tile.rows] += part
        return result

    def class_scores(self, pull: Floats, classes: Integers) -> Floats:
        if self._is_small:
            return own_class(self._whole.T @ pull, classes)

        def kernel(values: Floats, tile: Tile) -> Floats:
            return own_class(_times(values.T, pull[tile.rows]), classes[tile.columns])

        result = np.zeros(self.shape[1])
        for tile, part in self._on_tiles(kernel):
            result[tile.columns] += part
        return result

    def grouped_scores(self, pull: Floats, classes: Integers, groups: Integers) -> Floats:
        def kernel(values: Floats, tile: Tile) -> list[tuple[int, Floats]]:
            mine, of = pull[tile.rows], classes[tile.columns]
            parts = runs(groups[tile.rows])
            return [(group, own_class(_times(values[part].T, mine[part]), of)) for group, part in parts]

        result = np.zeros((int(groups[-1]) + 1, self.shape[1]))
        for tile, found in self._on_tiles(kernel):
            for group, scores in found:
                result[group, tile.columns] += scores
        return result

    def rows(self, index: Integers) -> Floats:
        chosen = self._whole[index] if self._is_small else self._source.rows(index)
        return np.ascontiguousarray(chosen, dtype=np.float64)

    def columns(self, index: Integers) -> Floats:
        chosen = self._whole[:, index] if self._is_small else self._source.columns(index)
        return np.asfortranarray(chosen, dtype=np.float64)

    def selected(self, index: Integers) -> Any:
        return self._source.selected(np.asarray(index))

    def take(self, index: Integers) -> Matrix:
        return DenseMatrix(self._source.take(index))

    def row_peaks(self, features: Bools) -> Floats:
        result = np.zeros(self.shape[0])
        for tile, part in self._on_tiles(lambda values, tile: _row_peaks(values[:, features[tile.columns]])):
            result[tile.rows] = np.maximum(result[tile.rows], part)
        return result

    def weighted_bits(self, weights: Bits) -> Bits:
        result = np.zeros(self.shape[1], dtype=np.uint64)
        for tile, part in self._on_tiles(lambda values, tile: _weighted_bits(values, weights[tile.rows])):
            result[tile.columns] += part
        return result

    def survey(self, bit_weights: Bits | None = None) -> Survey:
        def kernel(values: Floats, tile: Tile) -> Survey:
            return _survey(values, None if bit_weights is None else bit_weights[tile.rows])

        whole = Surveyor(self.shape, with_bits=bit_weights is not None)
        for tile, part in self._on_tiles(kernel):
            whole.add(part, tile.rows, tile.columns)
        return whole.survey


def _canonical(values: NDArray[Any], room: Room | None = None) -> Floats:
    """A tile in the one form that is multiplied: the BLAS has other kernels, with other rounding, for other forms.

    A piece of a larger array in that form stays where it is; another one is copied, into the room if there is one.
    """
    if values.dtype == np.float64 and values.dtype.isnative and values.flags.aligned:
        down, across = values.strides
        if across == 8 and down % 8 == 0 and down >= 8 * values.shape[1]:
            return values
    copied = np.empty(values.shape) if room is None else room.of(values.size).reshape(values.shape)
    # Columns that lie one behind the other are turned in strips: whole rows of 2¹² cells would share a few cache lines.
    step = _STRIP if values.strides[0] < values.strides[1] else max(1, values.shape[1])
    for start in range(0, values.shape[1], step):
        copied[:, start : start + step] = values[:, start : start + step]
    return copied


def _times(left: Floats, right: Floats) -> Floats:
    if right.shape[1] > _ONE_BY_ONE:
        return left @ right
    return np.stack([left @ column for column in np.ascontiguousarray(right.T)], axis=1)


def _row_peaks(values: Floats) -> Floats:
    peaks: Floats = np.maximum(values.max(axis=1, initial=0.0), -values.min(axis=1, initial=0.0))
    return peaks


def _weighted_bits(values: Floats, weights: Bits) -> Bits:
    total: Bits = (bits_of(values) * weights[:, None]).sum(axis=0, dtype=np.uint64)
    return total


def _survey(values: Floats, bit_weights: Bits | None) -> Survey:
    row_peaks, column_peaks = (np.maximum(values.max(axis=axis), -values.min(axis=axis)) for axis in (1, 0))
    bits = None if bit_weights is None else _weighted_bits(values, bit_weights)
    return Survey(row_peaks, column_peaks, _first_not_finite(values, row_peaks), bits)


def _first_not_finite(values: Floats, row_peaks: Floats) -> NotFinite | None:
    """The place of the first; a row that has one has no finite peak."""
    odd = np.flatnonzero(~np.isfinite(row_peaks))
    if odd.size == 0:
        return None
    row = int(odd[0])
    column = int(np.argmin(np.isfinite(values[row])))
    return row, column, float(values[row, column])
