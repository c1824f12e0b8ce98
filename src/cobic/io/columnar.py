"""Data frames, and the files that hold them: Parquet and Feather."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cobic.io.grid import ID_NAMES, Grid
from cobic.io.raw import Axis, Format, Note, RawTable, Reading, as_text
from cobic.io.sizes import NUMBER, Stored
from cobic.io.source import foreign, needed, require_cells, require_unpacked
from cobic.matrix import require_exact

_PER_COLUMN = 12_000  # bytes of a data frame while it is read, as measured


def read_parquet(path: Path, _: Reading) -> RawTable:
    """Read a Parquet file."""
    parquet = needed("pyarrow.parquet", "parquet")
    with foreign(path, "a Parquet file"), parquet.ParquetFile(path) as file:
        sizes = file.metadata
        require_cells(path, sizes.num_rows, sizes.num_columns)
        require_unpacked(path, sum(sizes.row_group(at).total_byte_size for at in range(sizes.num_row_groups)))
        return from_frame(path, "Parquet", file.read().to_pandas())


def read_feather(path: Path, _: Reading) -> RawTable:
    """Read a Feather file, which is the same as an Arrow file."""
    feather = needed("pyarrow.feather", "parquet")
    with foreign(path, "a Feather file"):
        table = feather.read_table(path)
        require_cells(path, table.num_rows, table.num_columns)
        table.validate(full=True)
        return from_frame(path, "Feather", table.to_pandas())


def _parquet_size(path: Path) -> Stored | None:
    parquet = needed("pyarrow.parquet", "parquet")
    with foreign(path, "a Parquet file"), parquet.ParquetFile(path) as file:
        n_rows, n_columns = file.metadata.num_rows, file.metadata.num_columns
    cells = n_rows * n_columns
    return Stored((n_rows, n_columns), cells, NUMBER * cells, 3 * NUMBER * cells + _PER_COLUMN * n_columns)


PARQUET = Format(read_parquet, ("parquet",), (b"PAR1",), size=_parquet_size)
FEATHER = Format(read_feather, ("feather",), (b"ARROW1", b"FEA1"))


def from_frame(path: Path, form: str, frame: pd.DataFrame) -> RawTable:
    """Tell the measurements of a data frame from what is about its rows; an index that does not count holds names."""
    if not _counts(frame.index):
        several = frame.index.nlevels > 1
        frame = frame.reset_index(names=None if several else frame.index.name or "", allow_duplicates=True)
    header = [as_text(name) for name in frame.columns]
    kinds = frame.dtypes.tolist()  # asked for once: pandas looks at all columns each time
    numeric = [at for at, kind in enumerate(kinds) if _is_measured(kind, header[at], at)]
    if not numeric:
        rows = ((at + 1, [as_text(value) for value in row]) for at, row in enumerate(frame.itertuples(index=False)))
        return Grid(path, form, header).split(rows)
    for at in numeric:
        if isinstance(kinds[at], np.dtype):
            require_exact(frame.iloc[:, at].to_numpy(), f"{path}, column {frame.columns[at]!r}")
    values = frame.iloc[:, numeric].to_numpy(dtype=np.float64, na_value=np.nan)
    others = sorted(set(range(len(header))).difference(numeric))
    notes = tuple(Note(header[at], _texts(frame.iloc[:, at]), leading=at < numeric[0]) for at in others)
    names = tuple(header[at] for at in numeric)
    return RawTable(path, form, values, Axis(len(frame), notes=notes), Axis(len(names), names, word="column"))


def _counts(index: "pd.Index[Any]") -> bool:
    """Tell whether an index says nothing: 0, 1, … as in pandas, or 1, 2, … as in R."""
    if isinstance(index, pd.RangeIndex):
        return True
    return any(index.equals(pd.RangeIndex(first, first + len(index))) for first in (0, 1))


def _is_measured(kind: Any, name: str, at: int) -> bool:
    """Tell whether a column of this type holds real numbers; a first one called id, say, holds names."""
    types = pd.api.types
    if not types.is_numeric_dtype(kind) or types.is_bool_dtype(kind) or types.is_complex_dtype(kind):
        return False
    return at > 0 or name.lower() not in ID_NAMES


def _texts(column: pd.Series) -> tuple[str, ...]:
    cells = zip(column.astype(object), column.isna(), strict=True)
    return tuple("" if missing else as_text(value) for value, missing in cells)
