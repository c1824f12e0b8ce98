"""Matrices in chunks, as dask has them: the work goes to the chunks, and only its small results come back."""

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any
from uuid import uuid4

import numpy as np

from cobic.matrix.base import Bits, Bools, Floats, Integers, Matrix, Survey
from cobic.matrix.cache import ColumnCache, RowsAhead
from cobic.matrix.grid import Places, crossing, size_of
from cobic.matrix.pool import one_blas_thread, single_threaded
from cobic.matrix.transform import Transform

Task = Callable[[int, int], tuple[Any, ...] | None]  # an operation and its arguments for a row and column of chunks
Grid = list[tuple[int, int, Any]]

_AT_ONCE = 256  # chunks whose results wait for each other


class ChunkedMatrix(Matrix):
    """A dask array, chunked by samples, by features or both; a chunk may be anything that is a matrix in memory."""

    costly = True

    def __init__(self, array: Any, index: Integers | None = None, transform: Transform | None = None) -> None:
        super().__init__((array.shape[0] if index is None else index.size, array.shape[1]))
        self._array, self._index, self._transform = array, index, transform
        self._cache, self._ahead = ColumnCache(self.shape[0]), RowsAhead()
        parts, self._columns = (_slices(sizes) for sizes in array.chunks)
        # Of each row of chunks: where its rows go, and which of them are meant.
        self._rows: list[tuple[Places, Integers | None]] = [(part, None) for part in parts]
        if index is not None:
            self._rows = list(_within(index, parts))

    @property
    def kind(self) -> str:
        how = "" if self._transform is None else f", {self._transform.words}"
        return f"dask {self._array.dtype} in {self._array.npartitions} chunks{how}"

    @property
    def nbytes(self) -> int:
        return int(self.shape[0] * self.shape[1] * self._array.dtype.itemsize)

    def products(self, weights: Floats) -> Floats:
        parts = [_shared(weights[columns]) for columns in self._columns]
        return self._sums(0, lambda _, c: ("products", parts[c]), weights.shape[1])

    def transposed_products(self, multipliers: Floats) -> Floats:
        parts = [_shared(multipliers[rows]) for rows, _ in self._rows]
        return self._sums(1, lambda r, _: ("transposed_products", parts[r]), multipliers.shape[1])

    # The next two would do without, but send more than they need.
    def class_sums(self, weights: Floats, classes: Integers, n_classes: int) -> Floats:
        parts = [(_shared(weights[columns]), _shared(classes[columns])) for columns in self._columns]
        return self._sums(0, lambda _, c: ("class_sums", *parts[c], n_classes), n_classes)

    def class_scores(self, pull: Floats, classes: Integers) -> Floats:
        pulls = [_shared(pull[rows]) for rows, _ in self._rows]
        parts = [_shared(classes[columns]) for columns in self._columns]
        return self._sums(1, lambda r, c: ("class_scores", pulls[r], parts[c]))

    def rows(self, index: Integers) -> Floats:
        ends = [part.stop for part in _slices(self._array.chunks[0])] if self._index is None else []

        def end(stop: int) -> int:
            return next((end for end in ends if end >= stop), stop)

        found: Floats = self._ahead.rows(np.asarray(index), self._read_rows, end, 8 * self.shape[1])
        return found.copy()

    def _read_rows(self, index: Integers) -> Floats:
        taken = self.take(index)
        result = np.empty((index.size, self.shape[1]))
        for r, c, part in _computed(taken._map(lambda r, _: ("rows", np.arange(size_of(taken._rows[r][0]))))):
            result[crossing(taken._rows[r][0], self._columns[c])] = part
        return result

    def columns(self, index: Integers) -> Floats:
        return self._cache.columns(np.asarray(index), self._read_columns)

    def _read_columns(self, index: Integers) -> Floats:
        wanted = list(_within(index, self._columns))
        result = np.empty((self.shape[0], index.size), order="F")
        grid = self._map(lambda _, c: ("columns", wanted[c][1]) if wanted[c][1].size else None)
        for r, c, part in _computed(grid):
            result[crossing(self._rows[r][0], wanted[c][0])] = part
        return result

    def selected(self, index: Integers) -> Any:
        array = self._array if self._index is None else self._array[self._index]
        chosen = array[:, index]
        return chosen if self._transform is None else ChunkedMatrix(chosen, None, self._transform.part(index))

    def take(self, index: Integers) -> "ChunkedMatrix":
        chosen = np.asarray(index) if self._index is None else self._index[index]
        return ChunkedMatrix(self._array, chosen, self._transform)

    def transformed(self, transform: Transform) -> "ChunkedMatrix":
        return ChunkedMatrix(self._array, self._index, transform)

    def row_peaks(self, features: Bools) -> Floats:
        parts = [_shared(features[columns]) for columns in self._columns]
        result = np.zeros(self.shape[0])
        for r, _, peaks in _computed(self._map(lambda _, c: ("row_peaks", parts[c]))):
            rows = self._rows[r][0]
            result[rows] = np.maximum(result[rows], peaks)
        return result

    def survey(self, bit_weights: Bits | None = None) -> Survey:
        parts = [_shared(None if bit_weights is None else bit_weights[rows]) for rows, _ in self._rows]
        whole = Survey.blank(self.shape, with_bits=bit_weights is not None)
        for r, c, part in _computed(self._map(lambda r, _: ("survey", parts[r]))):
            whole.add(part, self._rows[r][0], self._columns[c])
        return whole

    @cached_property
    def _blocks(self) -> Any:
        return self._array.to_delayed()

    def _map(self, task: Task) -> Grid:
        """An operation with its arguments for each chunk that has something of what is meant."""
        delayed = _dask().delayed(_on_chunk, pure=False)
        locals_ = [_shared(local) for _, local in self._rows]
        transforms = [_shared(self._transform and self._transform.part(columns)) for columns in self._columns]
        grid = []
        for r, (to, _) in enumerate(self._rows):
            for c, columns in enumerate(self._columns):
                call = task(r, c) if size_of(to) and size_of(columns) else None
                if call is not None:
                    grid.append((r, c, delayed(self._blocks[r, c], locals_[r], transforms[c], *call)))
        return grid

    def _sums(self, axis: int, task: Task, *rest: int) -> Floats:
        """A result with a line for each sample (or feature), to which all chunks of a row (or column) of chunks add."""
        places = self._columns if axis else [rows for rows, _ in self._rows]
        result = np.zeros((self.shape[axis], *rest))
        for at, part in _summed(self._map(task), axis):
            result[places[at]] = part
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
            pairs = [parts[at : at + 2] for at in range(0, len(parts), 2)]
            parts[:] = [add(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    yield from zip(lines, _compute([parts[0] for parts in lines.values()]), strict=True)


def _slices(sizes: Sequence[int]) -> list[slice]:
    """Where parts of such sizes are, one behind the other."""
    return [slice(stop - size, stop) for stop, size in zip(np.cumsum(sizes).tolist(), sizes, strict=True)]


def _within(index: Integers, parts: list[slice]) -> Iterator[tuple[Integers, Integers]]:
    """Of each part: which of the indices are in it, and where there."""
    for part in parts:
        inside = np.flatnonzero((index >= part.start) & (index < part.stop))
        yield inside, index[inside] - part.start


def _on_chunk(chunk: Any, rows: Integers | None, transform: Transform | None, operation: str, *given: Any) -> Any:
    """Do something where the chunk is; other threads of that place do the same with theirs."""
    from cobic.matrix.convert import as_matrix  # a matrix of chunks is one of the matrices that it knows

    with single_threaded(), np.errstate(over="ignore", invalid="ignore"):  # who asked for it looks at the result
        matrix = as_matrix(chunk)
        matrix = matrix if rows is None else matrix.take(rows)
        return getattr(matrix if transform is None else matrix.transformed(transform), operation)(*given)
