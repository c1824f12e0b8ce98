"""Matrices on disk, as they are: arrays of HDF5, Zarr and memory maps, and the sparse matrices of anndata's files.

The libraries are not imported here: the user's X brings what is needed of them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cobic.errors import InputError
from cobic.matrix.base import Integers
from cobic.matrix.cache import ColumnCache, RowsAhead, most_ahead
from cobic.matrix.grid import bands, is_range
from cobic.matrix.sparse import Form, cleaned, compressed

_READ_CELLS = 1 << 23  # 64 MB as float64
_WIDEST_READ = 1 << 16  # columns of a rectangle, so that it has many rows, too
_BLOCK_BYTES = 1 << 27  # 128 MB of tiles that are worked on at a time
_NEAR_BYTES = 1 << 12  # a page: what is closer is read along


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Say it in one line if the numbers cannot be read any more."""
    try:
        yield
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        message = f"X cannot be read ({what}): {' '.join(str(error).split())}; is the file closed, moved or damaged?"
        raise InputError(message) from error


@dataclass(frozen=True)
class _Address:
    """Where an array in an HDF5 file is, for another process: h5py cannot send it there."""

    file: str
    name: str

    @classmethod
    def of(cls, handle: Any) -> Any:
        """The address of an array of h5py; others can be sent as they are."""
        if not type(handle).__module__.startswith("h5py"):
            return handle
        with reading("to be opened by another process"):
            return cls(handle.file.filename, handle.name)

    def opened(self) -> Any:
        """The array at this address."""
        h5py = import_module("h5py")
        with reading(f"in {self.file}"):
            return h5py.File(self.file, "r")[self.name]


class _Sent:
    """Something with arrays on disk that other processes can be given."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: _Address.of(value) for name, value in self.__dict__.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value.opened() if isinstance(value, _Address) else value)


class StoredArray(_Sent):
    """A dense array on disk, or some of its rows and columns, either way round; nothing is read before it is needed."""

    ndim = 2
    costly = True

    def __init__(
        self,
        handle: Any,
        words: str,
        *,
        rows: Integers | None = None,
        columns: Integers | None = None,
        turned: bool = False,
    ) -> None:
        self._handle, self.words, self._turned = handle, words, turned
        self._index = (rows, columns)
        with reading(words):
            whole = zip(handle.shape, self._index, strict=True)
            chunk = getattr(handle, "shards", None) or getattr(handle, "chunks", None) or (1, 1)
            self.dtype: np.dtype[Any] = np.dtype(handle.dtype)
        sizes = [int(size) if part is None else int(part.size) for size, part in whole]
        self.shape: tuple[int, int] = (sizes[1], sizes[0]) if turned else (sizes[0], sizes[1])
        self._handle_chunk = (int(chunk[0]), int(chunk[1]))  # what is read at once in any case
        self._chunk = self._handle_chunk[::-1] if turned else self._handle_chunk
        self._cache = ColumnCache(self.shape[0])
        self._ahead = RowsAhead()

    @property
    def nbytes(self) -> int:
        """Size of the numbers, without compression."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    @property
    def T(self) -> "StoredArray":
        """The same with rows and columns exchanged."""
        rows, columns = self._index
        return StoredArray(self._handle, self.words, rows=rows, columns=columns, turned=not self._turned)

    def take(self, index: Integers) -> "StoredArray":
        """Some rows; nothing is read."""
        axis = 1 if self._turned else 0
        before = self._index[axis]
        parts = list(self._index)
        parts[axis] = np.asarray(index) if before is None else before[index]
        return StoredArray(self._handle, self.words, rows=parts[0], columns=parts[1], turned=self._turned)

    def __getitem__(self, index: Integers) -> "StoredArray":
        return self.take(index)

    def read(self, rows: slice, columns: slice) -> NDArray[Any]:
        """A rectangle."""
        wanted = (columns, rows) if self._turned else (rows, columns)
        places = [_places(part, index) for part, index in zip(wanted, self._index, strict=True)]
        found = self._fetch(*places)
        return found.T if self._turned else found

    def rows(self, index: Integers) -> NDArray[Any]:
        """Some rows; of rows one after the other also the next ones are read, because they are asked for next."""
        index = np.asarray(index)
        if not is_range(index):
            return self.take(index).read(slice(0, index.size), slice(0, self.shape[1]))
        start, stop = int(index[0]), int(index[-1]) + 1
        found: NDArray[Any] = self._ahead.rows(start, stop, self._worth_reading(start, stop), self._read_rows)
        return found

    def _worth_reading(self, start: int, stop: int) -> int:
        """Up to the end of the chunk that the last row is in, or as far as memory allows."""
        end = -(-stop // self._chunk[0]) * self._chunk[0]
        return min(self.shape[0], end, start + most_ahead(self.shape[1] * self.dtype.itemsize))

    def _read_rows(self, start: int, stop: int) -> NDArray[Any]:
        return self.read(slice(start, stop), slice(0, self.shape[1]))

    def columns(self, index: Integers) -> NDArray[Any]:
        """Some columns."""
        return self._cache.columns(np.asarray(index), self._read_columns)

    def selected(self, index: Integers) -> NDArray[Any]:
        """Some columns, which are not kept for the next time."""
        return self._read_columns(np.asarray(index))

    def _read_columns(self, index: Integers) -> NDArray[Any]:
        turned = self.T.take(index)
        return turned.read(slice(0, index.size), slice(0, self.shape[0])).T

    def tiles_per_block(self, _tile: tuple[int, int]) -> tuple[int, int]:
        """As many tiles as make a few chunks, so that hardly any chunk is unpacked twice, and memory allows."""
        most = max(1, _BLOCK_BYTES // (_tile[0] * _tile[1] * self.dtype.itemsize))
        down = min(most, max(1, 2 * self._chunk[0] // _tile[0]), -(-self.shape[0] // _tile[0]))
        across = min(most // down, max(1, 2 * self._chunk[1] // _tile[1]), -(-self.shape[1] // _tile[1]))
        return down, max(1, across)

    def _fetch(self, rows: Integers | slice, columns: Integers | slice) -> NDArray[Any]:
        """Cells of the handle, read in rectangles of bounded size."""
        near = [max(1, size, _NEAR_BYTES // self.dtype.itemsize) for size in self._handle_chunk]
        wide = list(_runs(columns, _WIDEST_READ, near[1]))
        widest = max((read.stop - read.start for read, _, _ in wide), default=1)
        tall = list(_runs(rows, max(1, _READ_CELLS // widest), self._handle_chunk[0]))
        with reading(self.words):
            if len(tall) == len(wide) == 1 and isinstance(rows, slice) and isinstance(columns, slice):
                return np.asarray(self._handle[rows, columns])
            result = np.empty((_size(rows), _size(columns)), dtype=self.dtype)
            for row_read, row_to, row_from in tall:
                for column_read, column_to, column_from in wide:
                    values = np.asarray(self._handle[row_read, column_read])
                    _put(result, row_to, column_to, values[row_from][:, column_from])
        return result


Places = Integers | slice
Run = tuple[slice, Places, Places]


def _places(part: slice, index: Integers | None) -> Places:
    if index is None:
        return part
    chosen = index[part]
    return slice(int(chosen[0]), int(chosen[-1]) + 1) if is_range(chosen) else chosen


def _size(places: Places) -> int:
    return places.stop - places.start if isinstance(places, slice) else int(places.size)


def _put(result: NDArray[Any], rows: Places, columns: Places, values: NDArray[Any]) -> None:
    if isinstance(rows, np.ndarray) and isinstance(columns, np.ndarray):
        result[np.ix_(rows, columns)] = values
    else:
        result[rows, columns] = values


def _runs(places: Places, most: int, near: int) -> Iterator[Run]:
    """Cut places into ranges to read of at most `most`: what to read, where it goes, and which of it is meant."""
    if isinstance(places, slice):
        for start in range(places.start, places.stop, most):
            stop = min(start + most, places.stop)
            yield slice(start, stop), slice(start - places.start, stop - places.start), slice(None)
        return
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    begin = 0
    for at in range(1, ordered.size + 1):
        if at == ordered.size or ordered[at] - ordered[at - 1] > near or ordered[at] - ordered[begin] >= most:
            part = ordered[begin:at]
            yield slice(int(part[0]), int(part[-1]) + 1), order[begin:at], part - part[0]
            begin = at


class StoredSparse(_Sent):
    """A csr or csc matrix on disk in its three parts, or some of its rows."""

    ndim = 2
    costly = True

    def __init__(self, group: Any, form: Form, shape: tuple[int, int], words: str) -> None:
        with reading(words):
            self._data, self._indices, pointer = (group[part] for part in ("data", "indices", "indptr"))
            self.indptr: Integers = np.asarray(pointer[:]).astype(np.int64)
        self.form, self.words = form, words
        self.shape: tuple[int, int] = (int(shape[0]), int(shape[1]))
        self.dtype: np.dtype[Any] = np.dtype(self._data.dtype)
        self._entry_bytes = int(self.dtype.itemsize) + int(np.dtype(self._indices.dtype).itemsize)
        self._require_whole()

    def _require_whole(self) -> None:
        lines = self.shape[0] if self.form == "csr" else self.shape[1]
        sizes = {int(self._data.shape[0]), int(self._indices.shape[0]), int(self.indptr[-1])}
        if self.indptr.size != lines + 1 or self.indptr[0] != 0 or np.diff(self.indptr).min() < 0 or len(sizes) > 1:
            message = f"X is a damaged {self.form} matrix ({self.words}): its parts do not belong together"
            raise InputError(message)

    @property
    def nbytes(self) -> int:
        """Size of the entries and their places, without compression."""
        return int(self.indptr[-1]) * self._entry_bytes + int(self.indptr.nbytes)

    @property
    def T(self) -> "StoredSparse":
        """The same with rows and columns exchanged."""
        other = copy(self)
        other.form, other.shape = "csc" if self.form == "csr" else "csr", (self.shape[1], self.shape[0])
        return other

    def __getitem__(self, index: Integers) -> "RowsOfSparse":
        return self.take(index)

    def band(self, part: slice) -> Any:
        """Some rows of csr, or columns of csc."""
        start, stop = int(self.indptr[part.start]), int(self.indptr[part.stop])
        with reading(self.words):
            data, indices = np.asarray(self._data[start:stop]), np.asarray(self._indices[start:stop])
        size = self.shape[1 if self.form == "csr" else 0]
        if indices.size and not (indices.min() >= 0 and indices.max() < size):
            message = f"X is a damaged {self.form} matrix ({self.words}): it has an index of {size} or more"
            raise InputError(message)
        found = compressed(self.form, data, indices, self.indptr[part.start : part.stop + 1] - start, self.shape)
        return found if found.has_canonical_format else cleaned(found)

    def lines(self, index: Integers) -> Any:
        """Any rows of csr, or columns of csc."""
        lines = self.shape[0 if self.form == "csr" else 1]
        per_line = max(1, int(self.indptr[-1]) // max(1, lines))
        runs = _runs(np.asarray(index), max(1, _READ_CELLS // per_line), max(1, (1 << 14) // per_line))
        parts = [(self._pick(self.band(read), places), to) for read, to, places in runs]
        if not parts:
            return self._pick(self.band(slice(0, 0)), np.empty(0, dtype=np.intp))
        found = (sp.vstack if self.form == "csr" else sp.hstack)([part for part, _ in parts], format=self.form)
        back = np.argsort(np.concatenate([to for _, to in parts]))
        return found if is_range(back) else self._pick(found, back)

    def _pick(self, band: Any, lines: Any) -> Any:
        return band[lines] if self.form == "csr" else band[:, lines]

    def take(self, index: Integers) -> "RowsOfSparse":
        """Some rows; nothing is read."""
        return RowsOfSparse(self, np.asarray(index))


class RowsOfSparse:
    """Some rows of a sparse matrix on disk."""

    ndim = 2
    costly = True

    def __init__(self, source: StoredSparse, index: Integers) -> None:
        self._source, self._index = source, index
        self.form, self.dtype, self.words = source.form, source.dtype, source.words
        self.shape: tuple[int, int] = (int(index.size), source.shape[1])

    @cached_property
    def indptr(self) -> Integers:
        """Where each line begins; of columns this must be counted."""
        if self.form == "csr":
            sizes = np.diff(self._source.indptr)[self._index]
        else:
            parts = bands(self._source.indptr, self._source.shape[0])
            sizes = np.concatenate([np.diff(self._source.band(part)[self._index].indptr) for part in parts])
        return np.concatenate([[0], np.cumsum(sizes)])

    @property
    def nbytes(self) -> int:
        """Size of the entries and their places, about."""
        return int(self._source.nbytes * self.shape[0] / max(1, self._source.shape[0]))

    def band(self, part: slice) -> Any:
        """Some rows of csr, or columns of csc."""
        if self.form == "csr":
            return self._source.lines(self._index[part])
        found = self._source.band(part)[self._index]
        return found if found.has_canonical_format else cleaned(found)

    def lines(self, index: Integers) -> Any:
        """Any rows of csr, or columns of csc."""
        if self.form == "csr":
            return self._source.lines(self._index[index])
        return self._source.lines(index)[self._index]

    def take(self, index: Integers) -> "RowsOfSparse":
        """Some of these rows; nothing is read."""
        return RowsOfSparse(self._source, self._index[index])

    def __getitem__(self, index: Integers) -> "RowsOfSparse":
        return self.take(index)

    @property
    def T(self) -> "TurnedRows":
        """The same with rows and columns exchanged."""
        return TurnedRows(self)


class TurnedRows:
    """Some columns of a sparse matrix on disk: good for nothing but to be turned back."""

    ndim = 2

    def __init__(self, T: RowsOfSparse) -> None:
        self.T = T
        self.shape: tuple[int, int] = (T.shape[1], T.shape[0])
        self.dtype = T.dtype

    def __getitem__(self, index: Integers) -> RowsOfSparse:
        raise self.refusal()

    def refusal(self) -> InputError:
        """What to say to who wants to work with it."""
        return InputError(
            f"X is a sparse matrix {self.T.words}, of which no features can be left out: read it into memory"
        )
