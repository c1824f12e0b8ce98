"""Matrices in chunks, as dask has them: the kernels go to the chunks, and only their small results come back."""

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any
from uuid import uuid4

import numpy as np

from cobic.matrix.base import Bits, Bools, Floats, Integers, Matrix, Survey, Surveyor
from cobic.matrix.cache import ColumnCache, RowsAhead, most_ahead
from cobic.matrix.grid import is_range
from cobic.matrix.pool import one_blas_thread, single_threaded

Task = Callable[[int, int], tuple[Any, ...] | None]
Grid = list[tuple[int, int, Any]]

_AT_ONCE = 256  # chunks whose results wait for each other


class ChunkedMatrix(Matrix):
    """A dask array, chunked by samples, by features or both; a chunk may be anything that is a matrix in memory."""

    costly = True

    def __init__(self, array: Any, index: Integers | None = None) -> None:
        super().__init__((array.shape[0] if index is None else index.size, array.shape[1]))
        self._array, self._index = array, index
        self._cache, self._ahead = ColumnCache(self.shape[0]), RowsAhead()
        self._columns = [slice(stop - size, stop) for stop, size in _ends(array.chunks[1])]
        starts = [slice(stop - size, stop) for stop, size in _ends(array.chunks[0])]
        # Of each row of chunks: where its rows go, and which of them are meant.
        self._rows: list[tuple[Any, Integers | None]] = [(part, None) for part in starts]
        if index is not None:
            inside = [np.flatnonzero((index >= part.start) & (index < part.stop)) for part in starts]
            self._rows = [(to, index[to] - part.start) for to, part in zip(inside, starts, strict=True)]

    @property
    def kind(self) -> str:
        return f"dask {self._array.dtype} in {self._array.npartitions} chunks"

    @property
    def nbytes(self) -> int:
        return int(self.shape[0] * self.shape[1] * self._array.dtype.itemsize)

    def products(self, weights: Floats) -> Floats:
        parts = [_shared(weights[columns]) for columns in self._columns]
        return self._by_rows(lambda _, c: (_products, parts[c]), weights.shape[1])

    def transposed_products(self, multipliers: Floats) -> Floats:
        parts = [_shared(multipliers[rows]) for rows, _ in self._rows]
        return self._by_columns(lambda r, _: (_transposed_products, parts[r]), multipliers.shape[1])

    def class_sums(self, weights: Floats, classes: Integers, n_classes: int) -> Floats:
        parts = [_shared((weights[columns], classes[columns], n_classes)) for columns in self._columns]
        return self._by_rows(lambda _, c: (_class_sums, parts[c]), n_classes)

    def class_scores(self, pull: Floats, classes: Integers) -> Floats:
        pulls = [_shared(pull[rows]) for rows, _ in self._rows]
        parts = [_shared(classes[columns]) for columns in self._columns]
        return self._by_columns(lambda r, c: (_class_scores, pulls[r], parts[c]))

    def grouped_scores(self, pull: Floats, classes: Integers, groups: Integers) -> Floats:
        size = int(groups[-1]) + 1
        pulls = [_shared((pull[rows], groups[rows], size)) for rows, _ in self._rows]
        parts = [_shared(classes[columns]) for columns in self._columns]
        return self._by_columns(lambda r, c: (_grouped_scores, pulls[r], parts[c]), size).T

    def rows(self, index: Integers) -> Floats:
        index = np.asarray(index)
        if not is_range(index):
            return self._read_rows(index)
        start, stop = int(index[0]), int(index[-1]) + 1
        end = next((int(end) for end in np.cumsum(self._array.chunks[0]) if end >= stop), stop)
        ahead = stop if self._index is not None else min(end, start + most_ahead(8 * self.shape[1]))
        found: Floats = self._ahead.rows(start, stop, ahead, lambda *ends: self._read_rows(np.arange(*ends)))
        return found.copy()

    def _read_rows(self, index: Integers) -> Floats:
        picked = self._taken(index)
        result = np.empty((index.size, self.shape[1]))
        for r, c, part in _computed(picked._map(lambda *_: (_values, None))):
            result[_cross(picked._rows[r][0], self._columns[c])] = part
        return result

    def columns(self, index: Integers) -> Floats:
        return self._cache.columns(np.asarray(index), self._read_columns)

    def _read_columns(self, index: Integers) -> Floats:
        wanted = [np.flatnonzero((index >= part.start) & (index < part.stop)) for part in self._columns]
        local = [index[to] - part.start for to, part in zip(wanted, self._columns, strict=True)]
        result = np.empty((self.shape[0], index.size), order="F")
        grid = self._map(lambda _, c: (_values, local[c]) if local[c].size else None)
        for r, c, part in _computed(grid):
            result[_cross(self._rows[r][0], wanted[c])] = part
        return result

    def selected(self, index: Integers) -> Any:
        array = self._array if self._index is None else self._array[self._index]
        return array[:, index]

    def take(self, index: Integers) -> Matrix:
        return self._taken(np.asarray(index))

    def _taken(self, index: Integers) -> "ChunkedMatrix":
        return ChunkedMatrix(self._array, index if self._index is None else self._index[index])

    def row_peaks(self, features: Bools) -> Floats:
        parts = [_shared(features[columns]) for columns in self._columns]
        result = np.zeros(self.shape[0])
        for r, _, peaks in _computed(self._map(lambda _, c: (_row_peaks, parts[c]))):
            rows = self._rows[r][0]
            result[rows] = np.maximum(result[rows], peaks)
        return result

    def weighted_bits(self, weights: Bits) -> Bits:
        fingerprints = self.survey(weights).fingerprints
        return np.zeros(self.shape[1], dtype=np.uint64) if fingerprints is None else fingerprints

    def survey(self, bit_weights: Bits | None = None) -> Survey:
        parts = [_shared(None if bit_weights is None else bit_weights[rows]) for rows, _ in self._rows]
        whole = Surveyor(self.shape, with_bits=bit_weights is not None)
        for r, c, part in _computed(self._map(lambda r, _: (_survey, parts[r]))):
            whole.add(part, self._rows[r][0], self._columns[c])
        return whole.survey

    @cached_property
    def _blocks(self) -> Any:
        return self._array.to_delayed()

    def _map(self, task: Task) -> Grid:
        """A kernel with its arguments for each chunk that has something of what is meant."""
        delayed = _dask().delayed(_on_chunk, pure=False)
        locals_ = [_shared(local) for _, local in self._rows]
        grid = []
        for r, (to, _) in enumerate(self._rows):
            for c, columns in enumerate(self._columns):
                call = None if _is_empty(to) or _is_empty(columns) else task(r, c)
                if call is not None:
                    grid.append((r, c, delayed(self._blocks[r, c], locals_[r], *call)))
        return grid

    def _by_rows(self, task: Task, *rest: int) -> Floats:
        """A result with a line for each sample, to which all chunks of a row of chunks add."""
        result = np.zeros((self.shape[0], *rest))
        for at, part in _summed(self._map(task), axis=0):
            result[self._rows[at][0]] = part
        return result

    def _by_columns(self, task: Task, *rest: int) -> Floats:
        """A result with a line for each feature, to which all chunks of a column of chunks add."""
        result = np.zeros((self.shape[1], *rest))
        for at, part in _summed(self._map(task), axis=1):
            result[self._columns[at]] = part
        return result


def _dask() -> Any:
    import dask  # who has a dask array has it already

    return dask


def _shared(value: Any) -> Any:
    """An argument that is sent once, for however many chunks."""
    return _dask().delayed(value, name=f"cobic-{uuid4().hex}", traverse=False)


def _compute(parts: Sequence[Any]) -> tuple[Any, ...]:
    with one_blas_thread():
        found: tuple[Any, ...] = _dask().compute(*parts)
    return found


def _computed(grid: Grid) -> Iterator[tuple[int, int, Any]]:
    """The results of all chunks, of which no more than a few hundred are here at a time."""
    for start in range(0, len(grid), _AT_ONCE):
        some = grid[start : start + _AT_ONCE]
        for (r, c, _), part in zip(some, _compute([part for *_, part in some]), strict=True):
            yield r, c, part


def _summed(grid: Grid, axis: int) -> Iterator[tuple[int, Any]]:
    """The sums over the rows or columns of chunks, added two by two where the chunks are."""
    add = _dask().delayed(operator.add, pure=False)
    lines: dict[int, list[Any]] = {}
    for entry in grid:
        lines.setdefault(entry[axis], []).append(entry[2])
    for parts in lines.values():
        while len(parts) > 1:
            parts[:] = [
                add(*parts[at : at + 2]) if at + 1 < len(parts) else parts[at] for at in range(0, len(parts), 2)
            ]
    yield from zip(lines, _compute([parts[0] for parts in lines.values()]), strict=True)


def _ends(sizes: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(np.cumsum(sizes).tolist(), sizes, strict=True))


def _is_empty(places: Any) -> bool:
    return bool(places.start == places.stop) if isinstance(places, slice) else len(places) == 0


def _cross(rows: Any, columns: Any) -> Any:
    both = isinstance(rows, np.ndarray) and isinstance(columns, np.ndarray)
    return np.ix_(rows, columns) if both else (rows, columns)


def _on_chunk(chunk: Any, rows: Integers | None, kernel: Callable[..., Any], *given: Any) -> Any:
    """Run a kernel where the chunk is; other threads of that place do the same with theirs."""
    from cobic.matrix.convert import as_matrix  # a matrix of chunks is one of the matrices that it knows

    with single_threaded(), np.errstate(over="ignore", invalid="ignore"):  # who asked for it looks at the result
        matrix = as_matrix(chunk)
        return kernel(matrix if rows is None else matrix.take(rows), *given)


def _products(matrix: Matrix, weights: Floats) -> Floats:
    return matrix.products(weights)


def _transposed_products(matrix: Matrix, multipliers: Floats) -> Floats:
    return matrix.transposed_products(multipliers)


def _class_sums(matrix: Matrix, given: tuple[Floats, Integers, int]) -> Floats:
    return matrix.class_sums(*given)


def _class_scores(matrix: Matrix, pull: Floats, classes: Integers) -> Floats:
    return matrix.class_scores(pull, classes)


def _grouped_scores(matrix: Matrix, given: tuple[Floats, Integers, int], classes: Integers) -> Floats:
    pull, groups, size = given
    scores = np.zeros((matrix.shape[1], size))
    found = matrix.grouped_scores(pull, classes, groups)
    scores[:, : found.shape[0]] = found.T
    return scores


def _row_peaks(matrix: Matrix, features: Bools) -> Floats:
    return matrix.row_peaks(features)


def _survey(matrix: Matrix, bit_weights: Bits | None) -> Survey:
    return matrix.survey(bit_weights)


def _values(matrix: Matrix, columns: Integers | None) -> Floats:
    return matrix.rows(np.arange(matrix.shape[0])) if columns is None else matrix.columns(columns)
