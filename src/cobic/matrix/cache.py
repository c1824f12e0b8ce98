"""Rows and columns that cost a pass over the data, kept for the next time: a search asks for much the same ones."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobic.matrix.base import Floats, Integers
from cobic.matrix.grid import is_range

MOST_BYTES = 1 << 28  # 256 MB: beside it the interpreter is small, and a laptop has it
AHEAD_BYTES = 1 << 27  # half of that: what is read ahead must not push out what is there


class ColumnCache:
    """The columns asked for last, within bounds."""

    def __init__(self, n_rows: int, most_bytes: int | None = None) -> None:
        self._n_rows = n_rows
        self._most_bytes = MOST_BYTES if most_bytes is None else min(MOST_BYTES, most_bytes)
        self._kept: OrderedDict[int, NDArray[Any]] = OrderedDict()
        self._bytes = 0

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": OrderedDict(), "_bytes": 0}

    def columns(self, index: Integers, read: Callable[[Integers], NDArray[Any]]) -> Floats:
        """Some columns, of which those that are not here are read, all at once."""
        wanted = index.tolist()
        missing = np.unique([column for column in wanted if column not in self._kept]).astype(np.intp)
        new = read(missing) if missing.size else np.empty((self._n_rows, 0))
        if missing.size and np.array_equal(missing, index):  # not to have them twice
            self._keep(missing, new)
            return np.asfortranarray(new, dtype=np.float64)
        result = np.empty((self._n_rows, index.size), order="F")
        place = {int(column): at for at, column in enumerate(missing)}
        for at, column in enumerate(wanted):
            if column in place:
                result[:, at] = new[:, place[column]]
            else:
                result[:, at] = self._kept[column]
                self._kept.move_to_end(column)
        self._keep(missing, new)
        return result

    def _keep(self, index: Integers, columns: NDArray[Any]) -> None:
        size = max(1, columns.itemsize * self._n_rows)
        for at in range(max(0, index.size - self._most_bytes // size), index.size):
            self._kept[int(index[at])] = columns[:, at].copy()
            self._bytes += size
        while self._bytes > self._most_bytes:
            _, old = self._kept.popitem(last=False)
            self._bytes -= max(1, old.nbytes)


class RowsAhead:
    """The rows read last, with those after them: who asks for rows one after the other goes on so."""

    def __init__(self) -> None:
        self._first = 0
        self._kept: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_first": 0, "_kept": None}

    def rows(self, index: Integers, read: Callable[[Integers], Any], end: Callable[[int], int], row_bytes: int) -> Any:
        """Some rows; those one after the other are read on to the end that suits the last, as far as memory allows."""
        if not is_range(index):
            return read(index)
        start, stop = int(index[0]), int(index[-1]) + 1
        if self._kept is None or not self._first <= start <= stop <= self._first + self._kept.shape[0]:
            self._kept = None  # to have both would take twice the memory
            most = start + max(1, AHEAD_BYTES // max(1, row_bytes))
            self._kept = read(np.arange(start, max(stop, min(end(stop), most))))
            self._first = start
        return self._kept[start - self._first : stop - self._first]
