"""Sparse matrices: bands of rows (csr) or of columns (csc); absent entries are zeros, and nothing is made dense."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from cobic.matrix.base import Bits, Floats, Integers, Matrix, NotFinite, Survey, bits_of, require_exact
from cobic.matrix.cache import ColumnCache, RowsAhead
from cobic.matrix.grid import Places, bands
from cobic.matrix.parts import MatrixInParts, Wanted
from cobic.matrix.pool import Room, in_order
from cobic.matrix.stored import Form, cleaned, compressed, picked
from cobic.matrix.transform import Transform
from cobic.matrix.transformed import TransformedSparse, require_zeros, transformed_entries


class SparseInMemory:
    """A scipy csr or csc matrix, as a source."""

    words = "in memory"
    costly = False

    def __init__(self, array: Any) -> None:
        self._array = array
        self._is_clean = bool(array.has_canonical_format)
        self.shape, self.dtype, self.indptr = array.shape, array.dtype, array.indptr
        self.nbytes = array.data.nbytes + array.indices.nbytes + array.indptr.nbytes
        self.form: Form = array.format

    def band(self, part: slice) -> Any:
        """Some rows of csr, or columns of csc, in that form with sorted entries, each once."""
        start, stop = int(self.indptr[part.start]), int(self.indptr[part.stop])
        data, indices = self._array.data[start:stop], self._array.indices[start:stop]
        found = compressed(self.form, data, indices, self.indptr[part.start : part.stop + 1] - start, self.shape)
        return found if self._is_clean else cleaned(found)

    def lines(self, index: Integers) -> Any:
        """Any rows of csr, or columns of csc."""
        found = picked(self._array, index)
        return found if self._is_clean else cleaned(found)

    def take(self, index: Integers) -> "SparseInMemory":
        """Some rows."""
        taken = self._array[index]
        taken.sum_duplicates()  # rows that are not taken in rising order leave csc unsorted
        return SparseInMemory(taken)

    def transformed(self, transform: Transform) -> "SparseInMemory":
        """The same with transformed entries."""
        require_zeros(transform)
        return SparseInMemory(transformed_entries(self.band(slice(0, self.indptr.size - 1)), transform))


class SparseMatrix(MatrixInParts):
    """A csr or csc matrix."""

    def __init__(self, source: Any) -> None:
        super().__init__(SparseInMemory(source) if sp.issparse(source) else source)
        self._by_rows = self._source.form == "csr"
        # What is in memory already must not take much more by being used.
        self._cache = ColumnCache(self.shape[0], None if self.costly else self.nbytes // 4)
        self._ahead = RowsAhead()

    @property
    def kind(self) -> str:
        return f"{self._source.form} {self._source.dtype} {self._source.words}"

    @cached_property
    def _parts(self) -> list[slice]:
        return bands(self._source.indptr, self.shape[1] if self._by_rows else self.shape[0])

    def _read(self, part: slice, room: Room | None, _: Wanted) -> Iterator[tuple[Places, Places, Any]]:
        rows, columns = (part, slice(None)) if self._by_rows else (slice(None), part)
        yield rows, columns, _widened(self._source.band(part), room)

    @cached_property
    def _whole(self) -> Any:
        return _widened(self._source.band(self._parts[0]), None) if len(self._parts) == 1 else None

    def _out_of_bands(self, pick: Callable[[Any], Any]) -> Iterator[Any]:
        """What is picked out of each band, with numbers of the type that they have."""
        if self._whole is not None:
            return iter([pick(self._whole)])
        return in_order(lambda part: pick(self._source.band(part)), self._parts, ahead=1 if self.costly else 2)

    def rows(self, index: Integers) -> Floats:
        index = np.asarray(index)
        if self._by_rows:
            found = self._source.lines(index)
        elif self._whole is not None:
            found = self._whole[index]
        else:
            per_row = self._source.nbytes // self.shape[0]
            found = self._ahead.rows(index, self._read_rows, lambda _: self.shape[0], per_row)
        return np.ascontiguousarray(found.toarray(), dtype=np.float64)

    def _read_rows(self, index: Integers) -> Any:
        """Rows of a csc matrix, as csr."""
        return sp.hstack(list(self._out_of_bands(lambda band: band[index])), format="csr")

    def columns(self, index: Integers) -> Floats:
        index = np.asarray(index)
        if not self._by_rows:
            return np.asfortranarray(self._source.lines(index).toarray(), dtype=np.float64)
        if self._whole is not None:
            return np.asfortranarray(self._whole[:, index].toarray())
        return self._cache.columns(index, self._read_columns)

    def _read_columns(self, index: Integers) -> Floats:
        result = np.empty((self.shape[0], index.size), order="F")
        for part, values in zip(self._parts, self._out_of_bands(lambda band: band[:, index].toarray()), strict=True):
            result[part] = values
        return result

    def selected(self, index: Integers) -> Any:
        if not self._by_rows:
            return self._source.lines(index)
        return sp.vstack(list(self._out_of_bands(lambda band: band[:, index])), format="csr")

    def take(self, index: Integers) -> Matrix:
        return SparseMatrix(self._source.take(index))

    def transformed(self, transform: Transform) -> Matrix:
        source = self._source
        return SparseMatrix(TransformedSparse(source, transform) if self.costly else source.transformed(transform))

    @staticmethod
    def _survey_of(values: Any, bit_weights: Bits | None) -> Survey:
        size = np.abs(values.data)
        lines, others = np.zeros(values.indptr.size - 1), np.zeros(values.shape[1 if values.format == "csr" else 0])
        filled = np.flatnonzero(np.diff(values.indptr))
        if filled.size:
            lines[filled] = np.maximum.reduceat(size, values.indptr[filled])
            with np.errstate(invalid="ignore"):  # NaN is what is looked for
                np.maximum.at(others, values.indices, size)
        rows, columns = (lines, others) if values.format == "csr" else (others, lines)
        none = np.zeros(0, dtype=np.uint64)
        bits = none if bit_weights is None else SparseMatrix._fingerprints_of(values, bit_weights)
        return Survey(rows, columns, bits, None if np.isfinite(lines).all() else _first_not_finite(values))

    @staticmethod
    def _fingerprints_of(values: Any, bit_weights: Bits) -> Bits:
        rows, columns = _places(values)
        result = np.zeros(values.shape[1], dtype=np.uint64)
        np.add.at(result, columns, bits_of(values.data) * bit_weights[rows])
        return result


def _widened(band: Any, room: Room | None) -> Any:
    """The same with float64 entries, in memory that is used again and again if there is such."""
    if band.dtype == np.float64:
        return band
    require_exact(band.data)
    data = np.empty(band.data.size) if room is None else room.of(band.data.size)
    data[:] = band.data
    return compressed(band.format, data, band.indices, band.indptr, band.shape)


def _places(band: Any) -> tuple[Integers, Integers]:
    """Row and column of each entry."""
    lines = np.repeat(np.arange(band.indptr.size - 1), np.diff(band.indptr))
    return (lines, band.indices) if band.format == "csr" else (band.indices, lines)


def _first_not_finite(band: Any) -> NotFinite:
    bad = np.flatnonzero(~np.isfinite(band.data))
    rows, columns = (places[bad] for places in _places(band))
    first = np.lexsort((columns, rows))[0]
    return int(rows[first]), int(columns[first]), float(band.data[bad[first]])
