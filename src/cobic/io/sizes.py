"""How large the matrix in a file is, and what reading it takes: what formats can tell without reading it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cobic.io.source import PACKED_ENDINGS, open_bytes, unpacked_size

NUMBER = 8  # bytes of a number, unless the file says that it has fewer
SMALLEST_FILE = 8_000_000  # nothing smaller takes a gigabyte, and a look inside takes time
SMALLEST_PACKED = 500_000  # of a file that may unpack to two hundred times its size
_PACKED_SAMPLE = 1 << 24  # characters of a packed text: as many as tell how much it shrinks, in a tenth of a second
_SAMPLE = 1 << 20  # characters of a text: some hundred lines, or more than one where they are long

# Bytes at the peak of reading, as measured: python -m benchmarks --only memory measures them anew.
_PER_NAME = 300
_PER_TEXT_CELL = 65  # a Python text of a few characters, and its place in a list
_CHECKED = 1.25  # a sparse matrix while its indices are checked, of its own size


@dataclass(frozen=True)
class Stored:
    """A matrix in a file."""

    shape: tuple[int, int] | None  # rows and columns, where they are known
    cells: int  # how many numbers it has, zeros among them
    matrix: int  # bytes of it in memory
    reading: int  # and at the peak of reading it
    sparse: bool = False
    unpacking: int = 0  # bytes of chunks while some of it is read, in memory or not


def held_as(kind: np.dtype[Any]) -> np.dtype[Any]:
    """The type that numbers of a file have in memory: their own if it takes less room and is exact, else float64."""
    if kind.kind == "b":
        return np.dtype(np.uint8)
    small = kind.itemsize <= 4 and kind.kind in "iuf" and kind != np.float16
    return kind.newbyteorder("=") if small else np.dtype(np.float64)


def dense_size(shape: Any, kind: np.dtype[Any]) -> Stored | None:
    """A table of numbers of that type; None if it is none."""
    if len(shape) != 2:
        return None
    n_rows, n_columns = int(shape[0]), int(shape[1])
    cells, names = n_rows * n_columns, _PER_NAME * (n_rows + n_columns)
    held = held_as(kind)
    copied = kind.itemsize if held != kind else 0
    return Stored((n_rows, n_columns), cells, held.itemsize * cells, (copied + held.itemsize) * cells + names)


def sparse_size(shape: Any, entries: int, item: int, index: int) -> Stored:
    """A sparse matrix of so many entries, each a number and an index of so many bytes."""
    n_rows, n_columns = (int(size) for size in shape)
    size = entries * (item + index)
    names = _PER_NAME * (n_rows + n_columns)
    return Stored((n_rows, n_columns), n_rows * n_columns, size, int(_CHECKED * size) + names, sparse=True)


def text_size(path: Path) -> Stored:
    """Cells of a text, which may be packed, by how many there are in its beginning."""
    packed = path.suffix.lower() in PACKED_ENDINGS
    with open_bytes(path) as stream:
        start = stream.read(_PACKED_SAMPLE if packed else _SAMPLE)
        size = unpacked_size(path, stream, len(start)) if packed else path.stat().st_size
    body = start[start.find(b"\n") + 1 :]
    start = body if len(body) > len(start) // 4 else start  # names are longer than numbers
    ends = start.count(b"\n") + max(start.count(mark) for mark in (b",", b"\t", b";", b" "))
    cells = int(size * ends / max(1, len(start)))
    return Stored(None, cells, NUMBER * cells, _PER_TEXT_CELL * cells)
