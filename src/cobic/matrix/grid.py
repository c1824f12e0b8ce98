"""Where a matrix is cut: into tiles by its shape, into bands by its numbers of entries; never by how it is stored."""

from itertools import pairwise
from typing import Any

import numpy as np

from cobic.matrix.base import Integers

Places = Integers | slice
Tile = tuple[slice, slice]  # rows and columns

TILE_CELLS = 1 << 20  # 8 MB as float64: few enough calls, and it stays in the cache between them
_LEAST_WIDTH = 1 << 12  # columns: narrower tiles would read less than a page of a row at a time
_BAND_PER_LINE = 4  # entries for each line across: so few bands that adding them up costs little


def tile_shape(shape: tuple[int, int]) -> tuple[int, int]:
    """Rows and columns of a tile: all rows if there are few, else rows that are whole or at least wide.

    It must not depend on anything but the shape.
    """
    n_rows, n_columns = shape
    if n_rows * n_columns <= TILE_CELLS:
        return n_rows, n_columns
    width = min(n_columns, max(TILE_CELLS // n_rows, min(_LEAST_WIDTH, TILE_CELLS)))
    return min(n_rows, max(1, TILE_CELLS // width)), width


def tiles(whole: Tile, shape: tuple[int, int]) -> list[Tile]:
    """A rectangle in tiles of that shape, from left to right and from top to bottom."""
    across = slices(whole[1], shape[1])
    return [(rows, columns) for rows in slices(whole[0], shape[0]) for columns in across]


def slices(whole: slice, step: int) -> list[slice]:
    """A range in pieces of `step`."""
    return [slice(start, min(start + step, whole.stop)) for start in range(whole.start, whole.stop, step)]


def bands(indptr: Integers, n_minor: int) -> list[slice]:
    """Rows of a csr matrix, or columns of a csc matrix, that are worked on together.

    A band has enough entries to be worth a partial result with a line for each of `n_minor` columns (or rows).
    """
    n_major, n_entries = indptr.size - 1, int(indptr[-1])
    size = max(TILE_CELLS, _BAND_PER_LINE * n_minor) if n_entries > TILE_CELLS else max(1, n_entries)
    cuts = np.searchsorted(indptr, np.arange(size, n_entries, size), side="left")
    edges = np.unique(np.concatenate([[0], cuts, [n_major]]))
    return [slice(int(start), int(stop)) for start, stop in pairwise(edges)]


def is_range(index: Integers) -> bool:
    """Tell whether indices are one after the other, upwards."""
    return index.size > 0 and int(index[-1]) - int(index[0]) == index.size - 1 and bool((np.diff(index) == 1).all())


def crossing(rows: Places, columns: Places) -> Any:
    """Where rows and columns cross, as an index of an array."""
    return (rows, columns) if isinstance(rows, slice) or isinstance(columns, slice) else np.ix_(rows, columns)


def size_of(places: Places) -> int:
    """How many there are."""
    return places.stop - places.start if isinstance(places, slice) else int(places.size)
