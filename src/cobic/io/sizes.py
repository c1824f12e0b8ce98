"""How large the matrix in a file is, and what reading it takes, from its beginning or its contents page."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cobic.io.annotated import require_harmless
from cobic.io.raw import held_as
from cobic.io.source import foreign, needed, open_bytes

NUMBER = 8  # bytes of a number, unless the file says that it has fewer
_SMALLEST_FILE = 8_000_000  # nothing smaller unpacks to a gigabyte, and a look inside takes time
_SAMPLE = 1 << 20
_NOTHING = np.dtype("V0")
_TEXTS = (".csv", ".tsv", ".txt", ".tab", ".gct", ".res")

# Bytes at the peak of reading, as measured: python -m benchmarks --only memory measures them anew.
_PER_NAME = 300
_PER_TEXT_CELL = 65
_PER_COLUMN = 12_000  # of a data frame
_CHECKED = 1.25  # a sparse matrix while its indices are checked, of its own size
_UNPACKING = 4  # text shrinks so much when it is packed


@dataclass(frozen=True)
class Stored:
    """A matrix in a file.

    Attributes
    ----------
    shape : tuple of int or None
        Rows and columns, where they are known.
    cells : int
        How many numbers it has, zeros among them.
    matrix, reading : int
        Bytes of it in memory, and at the peak of reading it.
    form : {"dense", "sparse", "Parquet", "text"}
        How it is stored.
    """

    shape: tuple[int, int] | None
    cells: int
    matrix: int
    reading: int
    form: str


def stored(path: Path) -> Stored | None:
    """What is in a file, from its beginning or its contents page; None if it is small, or nobody knows."""
    ending = path.suffix.lower()
    if path.is_dir():
        return _zarr(path) if ending == ".zarr" else None
    if not path.is_file() or path.stat().st_size < _SMALLEST_FILE:
        return None
    if ending == ".npy":
        return _npy(path)
    if ending == ".h5ad":
        return _h5ad(path)
    if ending == ".parquet":
        return _parquet(path)
    return _delimited(path) if Path(path.name.lower().removesuffix(".gz")).suffix in _TEXTS else None


def _dense(shape: Any, kind: np.dtype[Any]) -> Stored | None:
    if len(shape) != 2:
        return None
    n_rows, n_columns = int(shape[0]), int(shape[1])
    cells, names = n_rows * n_columns, _PER_NAME * (n_rows + n_columns)
    held = held_as(kind)
    copied = kind.itemsize if held != kind else 0
    return Stored((n_rows, n_columns), cells, held.itemsize * cells, (copied + held.itemsize) * cells + names, "dense")


def _sparse(shape: Any, entries: int, item: int, index: int) -> Stored:
    n_rows, n_columns = (int(size) for size in shape)
    size = entries * (item + index)
    names = _PER_NAME * (n_rows + n_columns)
    return Stored((n_rows, n_columns), n_rows * n_columns, size, int(_CHECKED * size) + names, "sparse")


def _npy(path: Path) -> Stored | None:
    with path.open("rb") as stream:
        try:
            version = np.lib.format.read_magic(stream)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, kind = read(stream)
        except ValueError:  # the reader says what is wrong with it
            return None
    return _dense(shape, kind)


def _h5ad(path: Path) -> Stored | None:
    h5py = needed("h5py", "hdf")
    require_harmless(path)
    with foreign(path, "an HDF5 file"), h5py.File(path, "r") as file:
        X = file.get("X")
        if X is None:
            return None
        if hasattr(X, "shape"):
            return _dense(X.shape, X.dtype)
        if "data" not in X or "indices" not in X or "shape" not in X.attrs:
            return None
        return _sparse(X.attrs["shape"], X["data"].size, X["data"].dtype.itemsize, X["indices"].dtype.itemsize)


def _zarr(path: Path) -> Stored | None:
    """AnnData in Zarr, or one array; the metadata are JSON, and the library is not needed for them."""
    X = path / "X" if (path / "X").is_dir() else path
    try:
        whole = _zarr_array(X)
        if whole is not None:
            return _dense(*whole)
        (shape, kind), (_, index) = (_zarr_array(X / part) or ((0,), _NOTHING) for part in ("data", "indices"))
        return _sparse(_zarr_attributes(X)["shape"], int(shape[0]), kind.itemsize, index.itemsize)
    except (KeyError, TypeError, ValueError):  # the reader says what is wrong with it
        return None


def _zarr_array(folder: Path) -> tuple[Any, np.dtype[Any]] | None:
    for name, kind in ((".zarray", "dtype"), ("zarr.json", "data_type")):
        document = json.loads(_text(folder / name) or "{}")
        if kind in document:
            return document["shape"], np.dtype(document[kind])
    return None


def _zarr_attributes(folder: Path) -> Any:
    document = json.loads(_text(folder / "zarr.json") or "{}")
    return document.get("attributes") or json.loads(_text(folder / ".zattrs") or "{}")


def _parquet(path: Path) -> Stored | None:
    parquet = needed("pyarrow.parquet", "parquet")
    with foreign(path, "a Parquet file"), parquet.ParquetFile(path) as file:
        n_rows, n_columns = file.metadata.num_rows, file.metadata.num_columns
    cells = n_rows * n_columns
    reading = 3 * NUMBER * cells + _PER_COLUMN * n_columns
    return Stored((n_rows, n_columns), cells, NUMBER * cells, reading, "Parquet")


def _delimited(path: Path) -> Stored:
    """Cells of a text by how many there are in its beginning."""
    with open_bytes(path) as stream:
        start = stream.read(_SAMPLE)
    body = start[start.find(b"\n") + 1 :]
    start = body if len(body) > len(start) // 4 else start  # names are longer than numbers
    size = path.stat().st_size * (_UNPACKING if path.suffix.lower() == ".gz" else 1)
    ends = start.count(b"\n") + max(start.count(mark) for mark in (b",", b"\t", b";", b" "))
    cells = int(size * ends / max(1, len(start)))
    return Stored(None, cells, NUMBER * cells, _PER_TEXT_CELL * cells, "text")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""
