"""Zarr stores: what anndata has written, or an array with what is known about its rows and columns."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from cobic.checks import require
from cobic.io.annotated import read_annotated
from cobic.io.arrays import from_arrays
from cobic.io.raw import Format, RawTable, Reading
from cobic.io.sizes import Stored, dense_size, sparse_size
from cobic.io.source import foreign, needed, require_cells
from cobic.matrix import StoredArray

_NOTHING = np.dtype("V0")
_MARKS = ("zarr.json", ".zgroup", ".zarray")


def is_zarr(path: Path) -> bool:
    """Tell whether a folder is a Zarr store."""
    return any((path / mark).is_file() for mark in _MARKS)


def read_zarr(path: Path, options: Reading) -> RawTable:
    """Read a Zarr store of anndata, an array of numbers, or a group of such."""
    zarr = needed("zarr", "zarr")
    with foreign(path, "a Zarr store"):
        store = zarr.open(str(path), mode="r")
        whole = hasattr(store, "shape")
        if not whole and "obs" in store and "var" in store:
            return read_annotated(path, store, options, "zarr")
        nodes = {"matrix": store} if whole else dict(store.arrays())
        dimensions = len(store.shape) if whole else 2
        require(dimensions == 2, f"{path} holds an array with {dimensions} dimensions, not 2")
        arrays = {name: _array(path, node, options) for name, node in nodes.items() if len(node.shape) in (1, 2)}
        return from_arrays(path, "zarr", arrays, options.part)


def _zarr_size(path: Path) -> Stored | None:
    """AnnData in Zarr, or one array; the metadata are JSON, and the library is not needed for them."""
    X = path / "X" if (path / "X").is_dir() else path
    try:
        whole = _shape_and_kind(X)
        if whole is not None:
            return dense_size(*whole)
        (shape, kind), (_, index) = (_shape_and_kind(X / part) or ((0,), _NOTHING) for part in ("data", "indices"))
        about = _document(X / "zarr.json").get("attributes") or _document(X / ".zattrs")
        return sparse_size(about["shape"], int(shape[0]), kind.itemsize, index.itemsize)
    except (KeyError, TypeError, ValueError):  # the reader says what is wrong with it
        return None


def _shape_and_kind(folder: Path) -> tuple[Any, np.dtype[Any]] | None:
    for name, kind in ((".zarray", "dtype"), ("zarr.json", "data_type")):
        document = _document(folder / name)
        if kind in document:
            return document["shape"], np.dtype(document[kind])
    return None


def _document(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


ZARR = Format(read_zarr, ("zarr",), parts=True, backed=True, size=_zarr_size)


def _array(path: Path, node: Any, options: Reading) -> Any:
    if len(node.shape) == 2:
        if options.backed:
            return StoredArray(node, f"in {path}")
        require_cells(path, *node.shape)
    return np.asarray(node[:])
