"""Matrices on disk, as they are: arrays of HDF5, Zarr and memory maps, and the sparse matrices of anndata's files.

The libraries are not imported here: the user's X brings what is needed of them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from importlib import import_module
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cobic.errors import InputError
from cobic.matrix.base import Integers
from cobic.matrix.cache import ColumnCache, RowsAhead
from cobic.matrix.grid import Places, bands, crossing, is_range, size_of, slices

Form = Literal["csr", "csc"]

_READ_CELLS = 1 << 23  # 64 MB as float64
_WIDEST_READ = 1 << 16  # columns of a rectangle, so that it has many rows, too
_BLOCK_BYTES = 1 << 27  # 128 MB of tiles that are worked on at a time
_NEAR_BYTES = 1 << 12  # a page: what is closer is read along
_NEAR_ENTRIES = 1 << 14  # the same of a sparse matrix


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Say it in one line if the numbers cannot be read any more."""
    try:
        yield
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        message = f"X cannot be read ({what}): {' '.join(str(error).split())}; is the file closed, moved or damaged?"
        raise InputError(message) from error


class _Address(NamedTuple):
    """Where an array in an HDF5 file is, for another process: h5py cannot send it there."""

    file: str
    name: str


class _Stored:
    """Something with arrays on disk that other processes can be given."""

    ndim = 2
    costly = True

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        for name, value in state.items():
            if type(value).__module__.startswith("h5py"):
                with reading("to be opened by another process"):
                    state[name] = _Address(value.file.filename, value.name)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name, value in state.items():
            if isinstance(value, _Address):
                with reading(f"in {value.file}"):
                    setattr(self, name, import_module("h5py").File(value.file, "r")[value.name])


class StoredArray(_Stored):
    """A dense array on disk, or some of its rows and columns, either way round; nothing is read before it is needed."""

    def __init__(
        self,
        handle: Any,
        words: str,
        *,
        index: tuple[Integers | None, Integers | None] = (None, None),
        turned: bool = False,
    ) -> None:
        self._handle, self.words, self._index, self._turned = handle, words, index, turned
        with reading(words):
            whole = zip(handle.shape, index, strict=True)
            chunk = getattr(handle, "shards", None) or getattr(handle, "chunks", None) or (1, 1)
            self.dtype: np.dtype[Any] = np.dtype(handle.dtype)
        sizes = [int(size) if part is None else int(part.size) for size, part in whole]
        self.shape: tuple[int, int] = (sizes[1], sizes[0]) if turned else (sizes[0], sizes[1])
        self._handle_chunk = (int(chunk[0]), int(chunk[1]))  # what is read at once in any case
        self._chunk = self._handle_chunk[::-1] if turned else self._handle_chunk
        self._cache, self._ahead = ColumnCache(self.shape[0]), RowsAhead()

    @property
    def nbytes(self) -> int:
        """Size of the numbers, without compression."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    @property
    def T(self) -> "StoredArray":
        """The same with rows and columns exchanged."""
        return StoredArray(self._handle, self.words, index=self._index, turned=not self._turned)

    def take(self, index: Integers) -> "StoredArray":
        """Some rows; nothing is read."""
        rows, columns = self._index[::-1] if self._turned else self._index
        taken = np.asarray(index) if rows is None else rows[index]
        parts = (columns, taken) if self._turned else (taken, columns)
        return StoredArray(self._handle, self.words, index=parts, turned=self._turned)

    __getitem__ = take

    def read(self, rows: slice, columns: slice) -> NDArray[Any]:
        """A rectangle."""
        wanted = (columns, rows) if self._turned else (rows, columns)
        places = [_places(part, index) for part, index in zip(wanted, self._index, strict=True)]
        found = self._fetch(*places)
        return found.T if self._turned else found

    def rows(self, index: Integers) -> NDArray[Any]:
        """Some rows; of rows one after the other also those up to the end of the last one's chunk are read."""

        def end(stop: int) -> int:
            return min(self.shape[0], -(-stop // self._chunk[0]) * self._chunk[0])

        row_bytes = self.shape[1] * self.dtype.itemsize
        found: NDArray[Any] = self._ahead.rows(np.asarray(index), self._read_rows, end, row_bytes)
        return found

    def _read_rows(self, index: Integers) -> NDArray[Any]:
        return self.take(index).read(slice(0, index.size), slice(0, self.shape[1]))

    def columns(self, index: Integers) -> NDArray[Any]:
        """Some columns."""
        return self._cache.columns(np.asarray(index), self._read_columns)

    def selected(self, index: Integers) -> NDArray[Any]:
        """Some columns, which are not kept for the next time."""
        return self._read_columns(np.asarray(index))

    def _read_columns(self, index: Integers) -> NDArray[Any]:
        return self.T._read_rows(index).T

    def tiles_per_block(self, tile: tuple[int, int]) -> tuple[int, int]:
        """As many tiles as make a few chunks, so that hardly any chunk is unpacked twice, and memory allows."""
        most = max(1, _BLOCK_BYTES // (tile[0] * tile[1] * self.dtype.itemsize))
        down = min(most, max(1, 2 * self._chunk[0] // tile[0]), -(-self.shape[0] // tile[0]))
        across = min(most // down, max(1, 2 * self._chunk[1] // tile[1]), -(-self.shape[1] // tile[1]))
        return down, max(1, across)

    def _fetch(self, rows: Places, columns: Places) -> NDArray[Any]:
        """Cells of the handle, read in rectangles of bounded size."""
        near = max(1, self._handle_chunk[1], _NEAR_BYTES // self.dtype.itemsize)
        wide = list(_runs(columns, _WIDEST_READ, near))
        widest = max((read.stop - read.start for read, _, _ in wide), default=1)
        tall = list(_runs(rows, max(1, _READ_CELLS // widest), self._handle_chunk[0]))
        with reading(self.words):
            if len(tall) == len(wide) == 1 and isinstance(rows, slice) and isinstance(columns, slice):
                return np.asarray(self._handle[rows, columns])
            result = np.empty((size_of(rows), size_of(columns)), dtype=self.dtype)
            for row_read, row_to, row_from in tall:
                for column_read, column_to, column_from in wide:
                    values = np.asarray(self._handle[row_read, column_read])
                    result[crossing(row_to, column_to)] = values[row_from][:, column_from]
        return result


def _places(part: slice, index: Integers | None) -> Places:
    if index is None:
        return part
    chosen = index[part]
    return slice(int(chosen[0]), int(chosen[-1]) + 1) if is_range(chosen) else chosen


def _runs(places: Places, most: int, near: int) -> Iterator[tuple[slice, Places, Places]]:
    """Cut places into ranges to read of at most `most`: what to read, where it goes, and which of it is meant."""
    if isinstance(places, slice):
        for read in slices(places, most):
            yield read, slice(read.start - places.start, read.stop - places.start), slice(None)
        return
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    begin = 0
    for at in range(1, ordered.size + 1):
        if at == ordered.size or ordered[at] - ordered[at - 1] > near or ordered[at] - ordered[begin] >= most:
            part = ordered[begin:at]
            yield slice(int(part[0]), int(part[-1]) + 1), order[begin:at], part - part[0]
            begin = at


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


def picked(band: Any, lines: Any) -> Any:
    """Some rows of csr, or columns of csc."""
    return band[lines] if band.format == "csr" else band[:, lines]


class StoredSparse(_Stored):
    """A csr or csc matrix on disk in its three parts, or some of its rows."""

    def __init__(self, group: Any, form: Form, shape: tuple[int, int], words: str) -> None:
        with reading(words):
            self._data, self._indices, pointer = (group[part] for part in ("data", "indices", "indptr"))
            self._indptr: Integers = np.asarray(pointer[:]).astype(np.int64)  # that of all rows
        self.form, self.words = form, words
        self._all_shape = self.shape = (int(shape[0]), int(shape[1]))
        self.dtype: np.dtype[Any] = np.dtype(self._data.dtype)
        self._entry_bytes = int(self.dtype.itemsize) + int(np.dtype(self._indices.dtype).itemsize)
        self._index: Integers | None = None  # the rows that are meant
        self._turned = False  # whether these have become columns
        lines = shape[0] if form == "csr" else shape[1]
        sizes = {int(self._data.shape[0]), int(self._indices.shape[0]), int(self._indptr[-1])}
        if self._indptr.size != lines + 1 or self._indptr[0] != 0 or np.diff(self._indptr).min() < 0 or len(sizes) > 1:
            message = f"X is a damaged {form} matrix ({words}): its parts do not belong together"
            raise InputError(message)

    @cached_property
    def indptr(self) -> Integers:
        """Where each line begins; in columns of which some rows are meant, this must be counted."""
        if self._index is None:
            return self._indptr
        if self.form == "csr":
            sizes = np.diff(self._indptr)[self._index]
        else:
            parts = bands(self._indptr, self._all_shape[0])
            sizes = np.concatenate([np.diff(self._all_of(part)[self._index].indptr) for part in parts])
        return np.concatenate([[0], np.cumsum(sizes)])

    @property
    def nbytes(self) -> int:
        """Size of the entries and their places, without compression; of some rows, about."""
        everything = int(self._indptr[-1]) * self._entry_bytes + int(self._indptr.nbytes)
        return everything if self._index is None else int(everything * self.shape[0] / max(1, self._all_shape[0]))

    @property
    def T(self) -> "StoredSparse":
        """The same with rows and columns exchanged; of some rows, good for nothing but to be turned back."""
        other = self._like_this()
        other.shape = self.shape[::-1]
        if self._index is None:
            other.form, other._all_shape = "csc" if self.form == "csr" else "csr", other.shape
        else:
            other._turned = not self._turned
        return other

    def take(self, index: Integers) -> "StoredSparse":
        """Some rows; nothing is read."""
        self.require_rows()
        other = self._like_this()
        other._index = np.asarray(index) if self._index is None else self._index[index]
        other.shape = (int(other._index.size), self.shape[1])
        return other

    __getitem__ = take

    def _like_this(self) -> "StoredSparse":
        other = copy(self)
        other.__dict__.pop("indptr", None)
        return other

    def require_rows(self) -> None:
        """Refuse to work with some columns."""
        if self._turned:
            message = f"X is a sparse matrix {self.words}, of which no features can be left out: read it into memory"
            raise InputError(message)

    def band(self, part: slice) -> Any:
        """Some rows of csr, or columns of csc."""
        if self._index is None:
            return self._all_of(part)
        if self.form == "csr":
            return self._any_of(self._index[part])
        found = self._all_of(part)[self._index]
        return found if found.has_canonical_format else cleaned(found)

    def lines(self, index: Integers) -> Any:
        """Any rows of csr, or columns of csc."""
        if self._index is None:
            return self._any_of(np.asarray(index))
        return self._any_of(self._index[index]) if self.form == "csr" else self._any_of(index)[self._index]

    def _all_of(self, part: slice) -> Any:
        """A band in which all rows are meant."""
        start, stop = int(self._indptr[part.start]), int(self._indptr[part.stop])
        with reading(self.words):
            data, indices = np.asarray(self._data[start:stop]), np.asarray(self._indices[start:stop])
        size = self._all_shape[1 if self.form == "csr" else 0]
        if indices.size and not (indices.min() >= 0 and indices.max() < size):
            message = f"X is a damaged {self.form} matrix ({self.words}): it has an index of {size} or more"
            raise InputError(message)
        indptr = self._indptr[part.start : part.stop + 1] - start
        found = compressed(self.form, data, indices, indptr, self._all_shape)
        return found if found.has_canonical_format else cleaned(found)

    def _any_of(self, index: Integers) -> Any:
        """Lines in which all rows are meant, from as few places of the file as possible."""
        per_line = max(1, int(self._indptr[-1]) // max(1, self._indptr.size - 1))
        runs = _runs(index, max(1, _READ_CELLS // per_line), max(1, _NEAR_ENTRIES // per_line))
        parts = [(picked(self._all_of(read), places), to) for read, to, places in runs]
        if not parts:
            return picked(self._all_of(slice(0, 0)), np.empty(0, dtype=np.intp))
        found = (sp.vstack if self.form == "csr" else sp.hstack)([part for part, _ in parts], format=self.form)
        back = np.argsort(np.concatenate([to for _, to in parts]))
        return found if is_range(back) else picked(found, back)
