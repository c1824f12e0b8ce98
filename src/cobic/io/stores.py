"""Zarr stores: what anndata has written, or an array with what is known about its rows and columns."""

from pathlib import Path
from typing import Any

import numpy as np

from cobic.errors import InputError
from cobic.io.annotated import read_annotated
from cobic.io.arrays import from_arrays
from cobic.io.delimited import FileOptions
from cobic.io.raw import RawTable
from cobic.io.source import foreign, needed, require_cells
from cobic.matrix import StoredArray

_MARKS = ("zarr.json", ".zgroup", ".zarray")


def is_zarr(path: Path) -> bool:
    """Tell whether a folder is a Zarr store."""
    return any((path / mark).is_file() for mark in _MARKS)


def read_zarr(path: Path, options: FileOptions) -> RawTable:
    """Read a Zarr store of anndata, an array of numbers, or a group of such."""
    zarr = needed("zarr", "zarr")
    with foreign(path, "a Zarr store"):
        store = zarr.open(str(path), mode="r")
        if hasattr(store, "shape"):
            return from_arrays(path, "zarr", {"matrix": _array(path, store, options)}, options.part)
        if "obs" in store and "var" in store:
            return read_annotated(path, store, options, "zarr")
        nodes = dict(store.arrays())
        tables = {name: _array(path, node, options) for name, node in nodes.items() if len(node.shape) == 2}
        notes = {name: np.asarray(node[:]) for name, node in nodes.items() if len(node.shape) == 1}
        return from_arrays(path, "zarr", tables | notes, options.part)


def _array(path: Path, node: Any, options: FileOptions) -> Any:
    if len(node.shape) != 2:
        message = f"{path} holds an array with {len(node.shape)} dimensions, not 2"
        raise InputError(message)
    if options.backed:
        return StoredArray(node, f"in {path}")
    require_cells(path, *node.shape)
    return np.asarray(node[:])
