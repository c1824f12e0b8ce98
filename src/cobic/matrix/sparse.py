"""Sparse matrices: bands of rows (csr) or of columns (csc); absent entries are zeros, and nothing is made dense."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Literal, Protocol, Self, TypeVar

import numpy as np
import scipy.sparse as sp

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
from cobic.matrix.cache import ColumnCache, RowsAhead, most_ahead
from cobic.matrix.grid import bands, is_range
from cobic.matrix.pool import Room, in_order

Result = TypeVar("Result")
Form = Literal["csr", "csc"]

_ONE_BY_ONE = 2  # as for dense data


class SparseSource(Protocol):
    """Where the entries of a sparse matrix come from."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    form: Form
    words: str
    costly: bool

    @property
    def indptr(self) -> Integers:
        """Where each row of csr, or column of csc, begins."""

    @property
    def nbytes(self) -> int:
        """Size of the entries and their places."""

    def band(self, part: slice) -> Any:
        """Some rows of csr, or columns of csc, as a scipy matrix of that form with sorted entries, each once."""

    def lines(self, index: Integers) -> Any:
        """Any rows of csr, or columns of csc."""

    def take(self, index: Integers) -> Self:
        """Some rows, as a source."""


class SparseInMemory:
    """A scipy csr or csc matrix."""

    words = "in memory"
    costly = False

    def __init__(self, array: Any) -> None:
        self._array = array
        self._is_clean = bool(array.has_canonical_format)
        self.shape: tuple[int, int] = (int(array.shape[0]), int(array.shape[1]))
        self.dtype = array.dtype
        self.form: Form = array.format

    @property
    def indptr(self) -> Integers:
        indptr: Integers = self._array.indptr
        return indptr

    @property
    def nbytes(self) -> int:
        return int(self._array.data.nbytes + self._array.indices.nbytes + self._array.indptr.nbytes)

    def band(self, part: slice) -> Any:
        start, stop = int(self.indptr[part.start]), int(self.indptr[part.stop])
        data, indices = self._array.data[start:stop], self._array.indices[start:stop]
        found = compressed(self.form, data, indices, self.indptr[part.start : part.stop + 1] - start, self.shape)
        return found if self._is_clean else cleaned(found)

    def lines(self, index: Integers) -> Any:
        found = self._array[index] if self.form == "csr" else self._array[:, index]
        return found if self._is_clean else cleaned(found)

    def take(self, index: Integers) -> "SparseInMemory":
        taken = self._array[index]
        taken.sum_duplicates()  # rows that are not taken in rising order leave csc unsorted
        return SparseInMemory(taken)


def compressed(form: Form, data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
    """A scipy matrix of a few lines of another one, of which nothing is copied but the numbers of large integers."""
    if max(*shape, int(indptr[-1])) <= np.iinfo(np.int32).max:
        indices, indptr = indices.astype(np.int32, copy=False), indptr.astype(np.int32, copy=False)
    lines = indptr.size - 1
    # The constructor would copy parts of larger arrays.
    band = sp.csr_array((lines, shape[1])) if form == "csr" else sp.csc_array((shape[0], lines))
    band.data, band.indices, band.indptr = data, indices, indptr
    return band


def cleaned(band: Any) -> Any:
    """The same with sorted entries, each once."""
    band = band.copy()
    band.sum_duplicates()
    return band


class SparseMatrix(Matrix):
    """A csr or csc matrix."""

    def __init__(self, source: Any) -> None:
        self._source: SparseSource = SparseInMemory(source) if sp.issparse(source) else source
        super().__init__(self._source.shape)
        self.costly = self._source.costly
        self._by_rows = self._source.form == "csr"
        # What is in memory already must not take much more by being used.
        self._cache = ColumnCache(self.shape[0], None if self.costly else self.nbytes // 4)
        self._ahead = RowsAhead()

    @property
    def kind(self) -> str:
        return f"{self._source.form} {self._source.dtype} {self._source.words}"

    @property
    def nbytes(self) -> int:
        return self._source.nbytes

    @cached_property
    def _bands(self) -> list[slice]:
        return bands(self._source.indptr, self.shape[1] if self._by_rows else self.shape[0])

    @cached_property
    def _whole(self) -> Any:
        """All entries of a matrix of one band, ready for use."""
        return _widened(self._source.band(self._bands[0]))

    def _on_bands(
        self, kernel: Callable[[Any, slice], Result], *, widen: bool = True
    ) -> Iterator[tuple[slice, Result]]:
        """What a kernel makes of each band, in their order; the band has float64 entries unless that is not needed."""
        if len(self._bands) == 1:
            yield self._bands[0], kernel(self._whole, self._bands[0])
            return

        room = Room()

        def work(part: slice) -> tuple[slice, Result]:
            band = self._source.band(part)
            return part, kernel(_widened(band, room) if widen else band, part)

        yield from in_order(work, self._bands, ahead=1 if self.costly else 2)

    def _along(self, kernel: Callable[[Any, slice], Floats], size: int, *rest: int) -> Floats:
        """A result with a line for each line of the bands."""
        result = np.empty((size, *rest))
        for part, values in self._on_bands(kernel):
            result[part] = values
        return result

    def _across(self, kernel: Callable[[Any, slice], Floats]) -> Floats:
        """A result to which every band adds."""
        parts = (values for _, values in self._on_bands(kernel))
        result = next(parts)
        for values in parts:
            result += values
        return result

    def products(self, weights: Floats) -> Floats:
        if self._by_rows:
            few = _few_columns(weights)
            return self._along(lambda band, _: _times(band, weights, few), self.shape[0], weights.shape[1])
        return self._across(lambda band, part: band @ weights[part])

    def transposed_products(self, multipliers: Floats) -> Floats:
        if self._by_rows:
            return self._across(lambda band, part: band.T @ multipliers[part])
        few = _few_columns(multipliers)
        return self._along(lambda band, _: _times(band.T, multipliers, few), self.shape[1], multipliers.shape[1])

    def class_sums(self, weights: Floats, classes: Integers, n_classes: int) -> Floats:
        if self._by_rows:
            return self.products(by_class(weights, classes, n_classes))
        return self._across(lambda band, part: band @ by_class(weights[part], classes[part], n_classes))

    def class_scores(self, pull: Floats, classes: Integers) -> Floats:
        if self._by_rows:
            return self._across(lambda band, part: own_class(band.T @ pull[part], classes))
        few = _few_columns(pull)
        return self._along(lambda band, part: own_class(_times(band.T, pull, few), classes[part]), self.shape[1])

    def grouped_scores(self, pull: Floats, classes: Integers, groups: Integers) -> Floats:
        def kernel(band: Any, part: slice) -> list[tuple[int, Floats]]:
            mine, of = (pull[part], classes) if self._by_rows else (pull, classes[part])
            parts = runs(groups[part] if self._by_rows else groups)
            return [(group, own_class(_lines(band, rows).T @ mine[rows], of)) for group, rows in parts]

        result = np.zeros((int(groups[-1]) + 1, self.shape[1]))
        for part, found in self._on_bands(kernel):
            for group, scores in found:
                result[group, self._columns_of(part)] += scores
        return result

    def rows(self, index: Integers) -> Floats:
        index = np.asarray(index)
        if self._by_rows:
            return np.ascontiguousarray(self._source.lines(index).toarray(), dtype=np.float64)
        if len(self._bands) > 1 and is_range(index):
            start, stop = int(index[0]), int(index[-1]) + 1
            per_row = self._source.nbytes // self.shape[0]
            found = self._ahead.rows(start, stop, min(self.shape[0], start + most_ahead(per_row)), self._read_rows)
            return np.ascontiguousarray(found.toarray(), dtype=np.float64)
        result = np.empty((index.size, self.shape[1]))
        for part, values in self._on_bands(lambda band, _: band[index].toarray(), widen=False):
            result[:, part] = values
        return result

    def _read_rows(self, start: int, stop: int) -> Any:
        """Rows of a csc matrix, as csr."""
        parts = [found for _, found in self._on_bands(lambda band, _: band[start:stop], widen=False)]
        return sp.hstack(parts, format="csr")

    def columns(self, index: Integers) -> Floats:
        index = np.asarray(index)
        if not self._by_rows:
            return np.asfortranarray(self._source.lines(index).toarray(), dtype=np.float64)
        if len(self._bands) == 1:
            return np.asfortranarray(self._whole[:, index].toarray())
        return self._cache.columns(index, self._read_columns)

    def _read_columns(self, index: Integers) -> Floats:
        result = np.empty((self.shape[0], index.size), order="F")
        for part, values in self._on_bands(lambda band, _: band[:, index].toarray(), widen=False):
            result[part] = values
        return result

    def selected(self, index: Integers) -> Any:
        if not self._by_rows:
            return self._source.lines(index)
        return sp.vstack(
            [part for _, part in self._on_bands(lambda band, _: band[:, index], widen=False)], format="csr"
        )

    def take(self, index: Integers) -> Matrix:
        return SparseMatrix(self._source.take(index))

    def row_peaks(self, features: Bools) -> Floats:
        result = np.zeros(self.shape[0])
        for part, peaks in self._on_bands(lambda band, part: _row_peaks(band, features[self._columns_of(part)])):
            rows = part if self._by_rows else slice(None)
            result[rows] = np.maximum(result[rows], peaks)
        return result

    def weighted_bits(self, weights: Bits) -> Bits:
        result = np.zeros(self.shape[1], dtype=np.uint64)
        for part, values in self._on_bands(lambda band, part: _weighted_bits(band, self._of_rows(weights, part))):
            result[self._columns_of(part)] += values
        return result

    def survey(self, bit_weights: Bits | None = None) -> Survey:
        def kernel(band: Any, part: slice) -> Survey:
            return _survey(band, None if bit_weights is None else self._of_rows(bit_weights, part))

        whole = Surveyor(self.shape, with_bits=bit_weights is not None)
        for part, found in self._on_bands(kernel):
            whole.add(found, *((part, slice(None)) if self._by_rows else (slice(None), part)))
        return whole.survey

    def _of_rows(self, values: Bits, part: slice) -> Bits:
        return values[part] if self._by_rows else values

    def _columns_of(self, part: slice) -> slice:
        return slice(None) if self._by_rows else part


def _lines(band: Any, rows: slice) -> Any:
    """Some rows of a band; all of them without a copy."""
    return band if rows == slice(0, band.shape[0]) else band[rows]


def _few_columns(right: Floats) -> Floats | None:
    """The columns, each in one piece, if they are so few that a product with each is faster than one with all."""
    return np.ascontiguousarray(right.T) if right.shape[1] <= _ONE_BY_ONE else None


def _times(left: Any, right: Floats, columns: Floats | None) -> Floats:
    """A product line by line: of csr, or of the transpose of csc."""
    if columns is None:
        product: Floats = left @ right
        return product
    return np.stack([left @ column for column in columns], axis=1)


def _widened(band: Any, room: Room | None = None) -> Any:
    """The same with float64 entries, in memory that is used again and again if there is such."""
    if band.dtype == np.float64:
        return band
    data = np.empty(band.data.size) if room is None else room.of(band.data.size)
    data[:] = band.data
    return compressed(band.format, data, band.indices, band.indptr, band.shape)


def _places(band: Any) -> tuple[Integers, Integers]:
    """Row and column of each entry."""
    lines = np.repeat(np.arange(band.indptr.size - 1), np.diff(band.indptr))
    return (lines, band.indices) if band.format == "csr" else (band.indices, lines)


def _weighted_bits(band: Any, weights: Bits) -> Bits:
    rows, columns = _places(band)
    result = np.zeros(band.shape[1], dtype=np.uint64)
    np.add.at(result, columns, bits_of(band.data) * weights[rows])
    return result


def _survey(band: Any, bit_weights: Bits | None) -> Survey:
    size = np.abs(band.data)
    lines, others = np.zeros(band.indptr.size - 1), np.zeros(band.shape[1 if band.format == "csr" else 0])
    filled = np.flatnonzero(np.diff(band.indptr))
    if filled.size:
        lines[filled] = np.maximum.reduceat(size, band.indptr[filled])
        with np.errstate(invalid="ignore"):  # NaN is what is looked for
            np.maximum.at(others, band.indices, size)
    rows, columns = (lines, others) if band.format == "csr" else (others, lines)
    bits = None if bit_weights is None else _weighted_bits(band, bit_weights)
    return Survey(rows, columns, None if np.isfinite(lines).all() else _first_not_finite(band), bits)


def _row_peaks(band: Any, features: Bools) -> Floats:
    kept = band.data * features[_places(band)[1]]
    return _survey(compressed(band.format, kept, band.indices, band.indptr, band.shape), None).row_peaks


def _first_not_finite(band: Any) -> NotFinite:
    bad = np.flatnonzero(~np.isfinite(band.data))
    rows, columns = (places[bad] for places in _places(band))
    first = np.lexsort((columns, rows))[0]
    return int(rows[first]), int(columns[first]), float(band.data[bad[first]])
