"""Tables that are made in parts: where the parts are, and their way into memory or into a file."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cobic.checks import is_number
from cobic.errors import InputError
from cobic.io.chunked import write_rows, write_tiles
from cobic.io.sparse import csr_of
from cobic.problem.dataset import Dataset

Singles = NDArray[np.float32]
Tiles = Iterable[tuple[slice, slice, Singles]]
Blocks = Iterable[tuple[slice, Any]]

# Part of what a seed means: other numbers make other data.
TILE_ROWS, TILE_COLUMNS = 64, 1 << 14
_BLOCK_CELLS = 1 << 22  # 16 MB of float32 at a time

_DENSEST = 0.5  # of a sparse matrix: above, it is larger than a dense one


class Described(Protocol):
    """What is known about a table apart from its measurements."""

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""

    @property
    def y(self) -> NDArray[Any]:
        """Class of each sample."""

    @property
    def feature_names(self) -> Sequence[str]:
        """Name of each feature."""

    @property
    def sample_names(self) -> Sequence[str]:
        """Name of each sample."""

    @property
    def feature_kinds(self) -> "pd.Categorical[str]":
        """What each feature was made as."""

    @property
    def sample_kinds(self) -> "pd.Categorical[str]":
        """What each sample was made as."""

    @property
    def source(self) -> str:
        """What the data are."""


def stream(seed: int, *key: int) -> np.random.Generator:
    """Randomness of its own for each key."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def tiles_of(shape: tuple[int, int]) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of one tile after the other, all columns before the next rows."""
    n_rows, n_columns = shape
    for top in range(0, n_rows, TILE_ROWS):
        for left in range(0, n_columns, TILE_COLUMNS):
            yield slice(top, min(top + TILE_ROWS, n_rows)), slice(left, min(left + TILE_COLUMNS, n_columns))


def blocks_of(shape: tuple[int, int]) -> Iterator[slice]:
    """Rows of one block after the other; a block has all columns."""
    n_rows, n_columns = shape
    step = max(1, _BLOCK_CELLS // n_columns)
    for top in range(0, n_rows, step):
        yield slice(top, min(top + step, n_rows))


def block_of_cells(cells: NDArray[np.intp], values: Singles, shape: tuple[int, int]) -> Any:
    """A csr matrix of the cells that are not zero, numbered row by row."""
    n_rows, n_columns = shape
    starts = np.searchsorted(cells, np.arange(n_rows + 1) * n_columns)
    indices = (cells - np.repeat(np.arange(n_rows) * n_columns, np.diff(starts))).astype(np.int32)
    return csr_of(values, indices, starts, shape)


def in_memory(table: Described, parts: Any, *, sparse: bool) -> Dataset:
    """The data set that tiles, or blocks of a sparse matrix, make together."""
    return Dataset(
        X=_gathered(parts, table.shape) if sparse else _filled(parts, table.shape),
        y=table.y,
        feature_names=tuple(table.feature_names),
        sample_names=tuple(table.sample_names),
        source=table.source,
        feature_kinds=tuple(table.feature_kinds.tolist()),
        sample_kinds=tuple(table.sample_kinds.tolist()),
    )


def in_file(path: Path, table: Described, parts: Any, *, sparse: bool, overwrite: bool) -> None:
    """Write tiles, or blocks of a sparse matrix, to a file in the layout of AnnData, one after the other."""
    obs = pd.DataFrame({"class": categories(table.y), "kind": table.sample_kinds.remove_unused_categories()})
    obs.index = pd.Index(table.sample_names)
    var = pd.DataFrame({"kind": table.feature_kinds.remove_unused_categories()}, index=pd.Index(table.feature_names))
    if sparse:
        write_rows(path, obs, var, parts, overwrite=overwrite)
    else:
        write_tiles(path, obs, var, parts, (TILE_ROWS, TILE_COLUMNS), overwrite=overwrite)


def categories(words: NDArray[Any]) -> "pd.Categorical[str]":
    """The same words, each kept once."""
    names, codes = np.unique(words, return_inverse=True)
    return pd.Categorical.from_codes(codes, categories=pd.Index(names.tolist()))


def numbered(word: str, size: int) -> list[str]:
    """gene_0001 and so on."""
    width = len(str(size))
    return [f"{word}_{number:0{width}d}" for number in range(1, size + 1)]


def require_density(density: Any) -> float:
    """Return 1 for dense data or the share of a sparse matrix that is not zero, or raise `InputError`."""
    if not is_number(density) or not (density == 1 or 0 < density <= _DENSEST):
        message = (
            f"density is {density!r}: give 1 for dense data, or a number above 0 and at most {_DENSEST} for sparse"
        )
        raise InputError(message)
    return float(density)


def _filled(tiles: Tiles, shape: tuple[int, int]) -> Singles:
    X = np.empty(shape, dtype=np.float32)
    for rows, columns, values in tiles:
        X[rows, columns] = values
    return X


def _gathered(blocks: Blocks, shape: tuple[int, int]) -> Any:
    """All blocks as one matrix; a list at a time is joined and let go, for that is most of the memory."""
    data, indices, lengths = [], [], []
    for _, block in blocks:
        data.append(block.data)
        indices.append(block.indices)
        lengths.append(np.diff(block.indptr))
    starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths), dtype=np.int64)])
    joined = np.concatenate(data)
    del data
    return csr_of(joined, np.concatenate(indices), starts, shape)
