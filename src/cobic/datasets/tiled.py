"""Tables that are made in parts: where the parts are, and their way into memory or into a file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cobic.checks import is_number
from cobic.errors import InputError
from cobic.io.chunked import write_rows, write_tiles
from cobic.io.sparse import csr_of
from cobic.problem.dataset import Dataset

Singles = NDArray[np.float32]

# Part of what a seed means: other numbers make other data.
TILE_ROWS, TILE_COLUMNS = 64, 1 << 14
_BLOCK_CELLS = 1 << 22  # 16 MB of float32 at a time

_DENSEST = 0.5  # of a sparse matrix: above, it is larger than a dense one


@dataclass(frozen=True, eq=False)
class Table:
    """What is known about a table apart from its measurements."""

    seed: int
    density: float  # share of the values that are not zero; 1 if the table is dense
    y: NDArray[Any]  # class of each sample
    sample_names: Sequence[str]
    sample_kinds: "pd.Categorical[str]"  # what each sample and each feature was made as
    feature_kinds: "pd.Categorical[str]"
    source: str

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        return self.y.size, len(self.feature_kinds)

    @property
    def sparse(self) -> bool:
        """Whether most values are zero: the parts are blocks of a sparse matrix then, else tiles."""
        return self.density < 1.0


def stream(seed: int, *key: int) -> np.random.Generator:
    """Randomness of its own for each key."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def tiles_of(shape: tuple[int, int]) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of one tile after the other, all columns before the next rows."""
    for rows in _steps(shape[0], TILE_ROWS):
        for columns in _steps(shape[1], TILE_COLUMNS):
            yield rows, columns


def blocks_of(shape: tuple[int, int]) -> Iterator[slice]:
    """Rows of one block after the other; a block has all columns."""
    return _steps(shape[0], max(1, _BLOCK_CELLS // shape[1]))


def _steps(size: int, step: int) -> Iterator[slice]:
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))


def block_of_cells(cells: NDArray[np.intp], values: Singles, shape: tuple[int, int]) -> Any:
    """A csr matrix of the cells that are not zero, numbered row by row."""
    n_rows, n_columns = shape
    starts = np.searchsorted(cells, np.arange(n_rows + 1) * n_columns)
    return csr_of(values, (cells % n_columns).astype(np.int32), starts, shape)


def in_memory(table: Table, parts: Any) -> Dataset:
    """The data set that tiles, or blocks of a sparse matrix, make together."""
    return Dataset(
        X=_gathered(parts, table.shape) if table.sparse else _filled(parts, table.shape),
        y=table.y,
        feature_names=tuple(numbered("gene", table.shape[1])),
        sample_names=tuple(table.sample_names),
        source=table.source,
        feature_kinds=tuple(table.feature_kinds.tolist()),
        sample_kinds=tuple(table.sample_kinds.tolist()),
    )


def in_file(path: str | Path, table: Table, parts: Any, *, overwrite: bool) -> None:
    """Write tiles, or blocks of a sparse matrix, to a file in the layout of AnnData, one after the other."""
    obs = pd.DataFrame({"class": pd.Categorical(table.y), "kind": table.sample_kinds.remove_unused_categories()})
    obs.index = pd.Index(table.sample_names)
    var = pd.DataFrame({"kind": table.feature_kinds.remove_unused_categories()})
    var.index = pd.Index(numbered("gene", table.shape[1]))
    if table.sparse:
        write_rows(Path(path), obs, var, parts, overwrite=overwrite)
    else:
        write_tiles(Path(path), obs, var, parts, (TILE_ROWS, TILE_COLUMNS), overwrite=overwrite)


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


def _filled(tiles: Any, shape: tuple[int, int]) -> Singles:
    X = np.empty(shape, dtype=np.float32)
    for rows, columns, values in tiles:
        X[rows, columns] = values
    return X


def _gathered(blocks: Any, shape: tuple[int, int]) -> Any:
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
