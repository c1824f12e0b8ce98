"""Where a matrix is cut: into tiles by its shape, into bands by its numbers of entries; never by how it is stored."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cobic.matrix.base import Integers

TILE_CELLS = 1 << 20  # 8 MB as float64: few enough calls, and it stays in the cache between them
_LEAST_WIDTH = 1 << 12  # columns: narrower tiles would read less than a page of a row at a time
_BAND_PER_LINE = 4  # entries for each line across: so few bands that adding them up costs little


@dataclass(frozen=True)
class Tile:
    """A rectangle of cells."""

    rows: slice
    columns: slice

    def within(self, outer: "Tile") -> tuple[slice, slice]:
        """Where it is, counted from the start of a rectangle around it."""
        top, left = outer.rows.start, outer.columns.start
        return (
            slice(self.rows.start - top, self.rows.stop - top),
            slice(self.columns.start - left, self.columns.stop - left),
        )


@dataclass(frozen=True)
class Block:
    """Neighbouring tiles that are read together, from left to right and from top to bottom."""

    outline: Tile
    tiles: tuple[Tile, ...]


def tile_shape(shape: tuple[int, int]) -> tuple[int, int]:
    """Rows and columns of a tile: all rows if there are few, else rows that are whole or at least wide.

    It must not depend on anything but the shape.
    """
    n_rows, n_columns = shape
    if n_rows * n_columns <= TILE_CELLS:
        return n_rows, n_columns
    width = min(n_columns, max(TILE_CELLS // n_rows, min(_LEAST_WIDTH, TILE_CELLS)))
    return min(n_rows, max(1, TILE_CELLS // width)), width


def blocks(shape: tuple[int, int], tiles_per_block: tuple[int, int] = (1, 1)) -> list[Block]:
    """The tiles of a matrix, some rows and columns of tiles at a time."""
    height, width = tile_shape(shape)
    found = []
    for rows in _slices(shape[0], height * tiles_per_block[0]):
        for columns in _slices(shape[1], width * tiles_per_block[1]):
            tiles = tuple(Tile(r, c) for r in _slices_of(rows, height) for c in _slices_of(columns, width))
            found.append(Block(Tile(rows, columns), tiles))
    return found


def _slices(size: int, step: int) -> Iterator[slice]:
    return _slices_of(slice(0, size), step)


def _slices_of(whole: slice, step: int) -> Iterator[slice]:
    for start in range(whole.start, whole.stop, step):
        yield slice(start, min(start + step, whole.stop))


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
