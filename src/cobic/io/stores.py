"""Zarr stores: what anndata has written, or an array with what is known about its rows and columns."""

import json
import math
import os
from collections.abc import Iterator
from dataclasses import replace
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
_CHUNKS_AT_ONCE = 10  # which the library reads side by side: its setting async.concurrency


def is_zarr(path: Path) -> bool:
    """Tell whether a folder is a Zarr store."""
    return any((path / mark).is_file() for mark in _MARKS)


def read_zarr(path: Path, options: Reading) -> RawTable:
    """Read a Zarr store of anndata, an array of numbers, or a group of such."""
    zarr = needed("zarr", "zarr")
    with foreign(path, "a Zarr store"):
        require_harmless(path)
        store = zarr.open(path, mode="r")  # a text could be the address of something else
        whole = hasattr(store, "shape")
        if not whole and "obs" in store and "var" in store:
            return read_annotated(path, store, options, "zarr")
        nodes = {"matrix": store} if whole else dict(store.arrays())
        dimensions = len(store.shape) if whole else 2
        require(dimensions == 2, f"{path} holds an array with {dimensions} dimensions, not 2")
        arrays = {name: _array(path, node, options) for name, node in nodes.items() if len(node.shape) in (1, 2)}
        return from_arrays(path, "zarr", arrays, options.part)


# Codecs that turn bytes into numbers and texts, and do nothing else: those of Zarr, and of numcodecs what is in use.
_CODECS = frozenset(
    (
        *("adler32", "astype", "bitround", "blosc", "bytes", "bz2", "crc32", "crc32c", "delta", "endian"),
        *("fixedscaleoffset", "fletcher32", "gzip", "jenkins_lookup3", "lz4", "lzma", "packbits", "quantize"),
        *("sharding_indexed", "shuffle", "transpose", "vlen-bytes", "vlen-utf8", "zlib", "zstd"),
    )
)
_CODED_BY = frozenset({"compressor", "filters", "codecs", "index_codecs", "storage_transformers"})
_METADATA = frozenset({".zarray", ".zgroup", ".zmetadata", "zarr.json"})


def require_harmless(path: Path) -> None:
    """Refuse a store that would have code run, or files outside of it read, before anything in it is opened."""
    root, folders = path.resolve(), [path]
    while folders:
        for entry in os.scandir(folders.pop()):
            place = Path(entry.path)
            inside = not entry.is_symlink() or place.resolve().is_relative_to(root)
            require(inside, f"{place} is a link out of the store: no other file is read through a data file; copy it")
            if entry.is_dir(follow_symlinks=False):
                folders.append(place)
            require(
                entry.is_dir() or entry.is_file(), f"{place} is neither a file nor a folder: it is no part of a store"
            )
            if entry.name in _METADATA:
                _require_plain(place)


def _require_plain(document: Path) -> None:
    """Refuse metadata, also consolidated ones, with other codecs, or of places elsewhere."""
    for key, value in _entries(json.loads(document.read_bytes())):
        require(".." not in key.split("/"), f"{document} names a place outside of the store: {key!r}")
        if key not in _CODED_BY or not value:
            continue
        for codec in value if isinstance(value, list) else [value]:
            names = {codec[word] for word in ("id", "name") if word in codec} if isinstance(codec, dict) else {codec}
            known = names and all(str(name).removeprefix("numcodecs.") in _CODECS for name in names)
            what = f"the codec {codec!r:.80}, which may run code"
            message = f"{document} asks for {what}: write the store anew with blosc, gzip or zstd"
            require(known, message)


def _entries(document: Any) -> Iterator[tuple[str, Any]]:
    """All keys with their values, however deep, but for what users keep there."""
    if isinstance(document, dict):
        for key, value in document.items():
            if key != "attributes" and not key.endswith(".zattrs"):
                yield key, value
                yield from _entries(value)
    elif isinstance(document, list):
        for each in document:
            yield from _entries(each)


def _zarr_size(path: Path) -> Stored | None:
    """AnnData in Zarr, or one array; the metadata are JSON, and the library is not needed for them."""
    X = path / "X" if (path / "X").is_dir() else path
    try:
        whole = _shape_and_kind(X)
        if whole is not None:
            return _with_chunks(dense_size(*whole), X)
        (shape, kind), (_, index) = (_shape_and_kind(X / part) or ((0,), _NOTHING) for part in ("data", "indices"))
        about = _document(X / "zarr.json").get("attributes") or _document(X / ".zattrs")
        return _with_chunks(sparse_size(about["shape"], int(shape[0]), kind.itemsize, index.itemsize), X / "data")
    except (KeyError, TypeError, ValueError):  # the reader says what is wrong with it
        return None


def _shape_and_kind(folder: Path) -> tuple[Any, np.dtype[Any]] | None:
    for name, kind in ((".zarray", "dtype"), ("zarr.json", "data_type")):
        document = _document(folder / name)
        if kind in document:
            return document["shape"], np.dtype(document[kind])
    return None


def _with_chunks(size: Stored | None, folder: Path) -> Stored | None:
    """The same with the chunks that are in memory while an array is read: as they are stored, and unpacked."""
    found = _shape_and_kind(folder)
    if size is None or found is None:
        return size
    shape, kind = found
    old, new = _document(folder / ".zarray"), _document(folder / "zarr.json")
    chunk = old["chunks"] if old else new["chunk_grid"]["configuration"]["chunk_shape"]
    cells = min(math.prod(shape), _CHUNKS_AT_ONCE * math.prod(chunk))
    unpacking = 2 * kind.itemsize * max(cells, math.prod(chunk))
    return replace(size, reading=size.reading + unpacking, unpacking=unpacking)


def _document(path: Path) -> Any:
    own = path.is_file() and not path.is_symlink()
    return json.loads(path.read_text(encoding="utf-8")) if own else {}


ZARR = Format(read_zarr, ("zarr",), parts=True, backed=True, size=_zarr_size)


def _array(path: Path, node: Any, options: Reading) -> Any:
    if len(node.shape) == 2:
        if options.backed:
            return StoredArray(node, f"in {path}")
        require_cells(path, *node.shape)
    return np.asarray(node[:])
