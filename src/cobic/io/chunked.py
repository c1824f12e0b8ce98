"""AnnData files, h5ad and Zarr, written part by part: they never have to fit into memory, and appear when whole."""

import contextlib
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cobic.checks import require
from cobic.io.files import naming
from cobic.io.source import needed

_ENTRIES = 1 << 20  # of a sparse matrix in one chunk: 4 MB
_FORMS = (".h5ad", ".zarr")


def write_tiles(
    path: Path,
    obs: pd.DataFrame,
    var: pd.DataFrame,
    tiles: Iterable[tuple[slice, slice, NDArray[np.float32]]],
    chunks: tuple[int, int],
    *,
    overwrite: bool = False,
) -> None:
    """Write a dense matrix of which one tile at a time is there."""
    shape = (len(obs), len(var))
    with _annotated(path, obs, var, overwrite=overwrite) as file:
        fitting = tuple(min(size, chunk) for size, chunk in zip(shape, chunks, strict=True))
        # HDF5 pads chunks at the edges, and reads rows and columns of what is in one piece as well.
        X = _array(file, "X", shape, np.float32, fitting if path.suffix == ".zarr" else None)
        X.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
        for rows, columns, values in tiles:
            X[rows, columns] = values


def write_rows(
    path: Path, obs: pd.DataFrame, var: pd.DataFrame, blocks: Iterable[tuple[slice, Any]], *, overwrite: bool = False
) -> None:
    """Write a sparse matrix of which one block of rows at a time is there."""
    with _annotated(path, obs, var, overwrite=overwrite) as file:
        X = file.create_group("X")
        shape = np.array([len(obs), len(var)])
        X.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0"})
        X.attrs["shape"] = shape if hasattr(X, "id") else shape.tolist()  # HDF5 keeps arrays, Zarr JSON
        parts = {name: _Growing(X, name, kind) for name, kind in (("data", np.float32), ("indices", np.int32))}
        starts = np.zeros(len(obs) + 1, dtype=np.int64)
        for rows, block in blocks:
            starts[rows.start + 1 : rows.stop + 1] = starts[rows.start] + block.indptr[1:]
            parts["data"].append(block.data)
            parts["indices"].append(block.indices)
        for part in parts.values():
            part.finish()
        _array(X, "indptr", starts.shape, np.int64, (min(starts.size, _ENTRIES),))[:] = starts


class _Growing:
    """A vector in a file, written in whole chunks; what does not fill one waits for more."""

    def __init__(self, group: Any, name: str, kind: Any) -> None:
        self._array = _array(group, name, (0,), kind, (_ENTRIES,))
        self._waiting: list[NDArray[Any]] = []

    def append(self, values: NDArray[Any]) -> None:
        self._waiting.append(values)
        if sum(part.size for part in self._waiting) >= _ENTRIES:
            joined = np.concatenate(self._waiting)
            whole = joined.size - joined.size % _ENTRIES
            self._write(joined[:whole])
            self._waiting = [joined[whole:].copy()]  # a view would keep all of it

    def finish(self) -> None:
        if self._waiting:
            self._write(np.concatenate(self._waiting))

    def _write(self, values: NDArray[Any]) -> None:
        (start,) = self._array.shape
        self._array.resize((start + values.size,))
        self._array[start:] = values


def _array(group: Any, name: str, shape: tuple[int, ...], kind: Any, chunks: tuple[int, ...] | None) -> Any:
    if hasattr(group, "create_array"):  # Zarr
        return group.create_array(name, shape=shape, dtype=kind, chunks=chunks)
    most = None if chunks is None else (None,) * len(shape)
    return group.create_dataset(name, shape=shape, dtype=kind, chunks=chunks, maxshape=most)


@contextlib.contextmanager
def _annotated(path: Path, obs: pd.DataFrame, var: pd.DataFrame, *, overwrite: bool) -> Iterator[Any]:
    """An open file with annotations and no matrix yet, which takes its name once it is whole."""
    require(path.suffix in _FORMS, f"{path}: give a name that ends with {' or '.join(_FORMS)}")
    write = needed("anndata", "scale").io.write_elem
    with _beside(path, overwrite=overwrite) as place, _opened(place) as file:
        file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        write(file, "obs", obs)
        write(file, "var", var)
        yield file


@contextlib.contextmanager
def _opened(place: Path) -> Iterator[Any]:
    """A new file; of Zarr format 2, which all versions of anndata read."""
    if place.suffix == ".h5ad":
        with needed("h5py", "scale").File(place, "w") as file:
            yield file
        return
    zarr = needed("zarr", "scale")
    yield zarr.open_group(str(place), mode="w", zarr_format=2)
    zarr.consolidate_metadata(str(place))


@contextlib.contextmanager
def _beside(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """A place in the same folder for what will be called `path` when it is done."""
    message = f"{path} exists: choose another name, or say that it may be overwritten"
    require(overwrite or not path.exists(), message)
    with naming(path), tempfile.TemporaryDirectory(dir=path.parent, prefix=".cobic-", suffix=".part") as folder:
        place, before = Path(folder) / path.name, Path(folder) / "replaced"
        yield place
        if path.is_dir():
            path.rename(before)  # no folder takes the place of one with files in it
        try:
            place.replace(path)
        except BaseException:
            if before.exists():
                before.rename(path)
            raise
