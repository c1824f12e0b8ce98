"""Arrays with names, as numpy keeps them; nothing in them is ever executed."""

import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobic.checks import require
from cobic.errors import InputError
from cobic.io.raw import Axis, Format, Note, RawTable, Reading, as_text
from cobic.io.sizes import Stored, dense_size, held_as
from cobic.io.source import MOST_CELLS, foreign, require_unpacked, zip_names
from cobic.io.sparse import sparse_matrix
from cobic.matrix import StoredArray, require_exact

_MAGIC = b"\x93NUMPY"
_SPARSE = {"data", "indices", "indptr", "format", "shape"}


def read_npz(path: Path, options: Reading) -> RawTable:
    """Read an npz or npy file of numpy, or a sparse matrix that scipy wrote; arrays of objects are refused."""
    with foreign(path, "a file of numpy"):
        if options.backed:
            return from_arrays(path, "npy", {"matrix": _mapped(path)}, options.part)
        arrays: dict[str, Any] = _arrays(path)
        if set(arrays) >= _SPARSE:
            form = _word(arrays["format"].item())
            values = sparse_matrix(path, form, *(arrays[part] for part in ("data", "indices", "indptr", "shape")))
            arrays = {"matrix": values} | {name: array for name, array in arrays.items() if name not in _SPARSE}
        return from_arrays(path, "npz", arrays, options.part)


def _npy_size(path: Path) -> Stored | None:
    with suppress(ValueError), path.open("rb") as stream:  # the reader says what is wrong with it
        if path.suffix.lower() == ".npy":
            shape, _, kind = _header(stream)
            return dense_size(shape, kind)
    return None


def _is_numpy(path: Path, start: bytes) -> bool:
    return start.startswith(b"PK") and any(name.endswith(".npy") for name in zip_names(path))


NUMPY = Format(read_npz, ("npz", "npy"), (_MAGIC,), recognises=_is_numpy, parts=True, backed=True, size=_npy_size)


def _mapped(path: Path) -> StoredArray:
    """An npy file, of which nothing is read yet."""
    message = f"{path} is packed, so that it cannot be read piece by piece: leave out --backed, or save it as npy"
    require(_is_npy(path), message)
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    require(array.ndim == 2, f"{path} holds no table of numbers")
    return StoredArray(array, f"in {path}")


def _is_npy(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(len(_MAGIC)) == _MAGIC


def _word(text: Any) -> str:
    return text.decode() if isinstance(text, bytes) else str(text)


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    if _is_npy(path):
        with path.open("rb") as stream:
            return {"matrix": _one(path, stream)}
    with zipfile.ZipFile(path) as archive:
        require_unpacked(path, sum(member.file_size for member in archive.infolist()))
        found = {}
        for name in archive.namelist():
            if name.endswith(".npy"):
                with archive.open(name) as stream:
                    found[name.removesuffix(".npy")] = _one(path, stream)
        return found


def _header(stream: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and type of an array."""
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(stream)


def _one(path: Path, stream: Any) -> NDArray[Any]:
    """One array; its size is checked before memory is taken for it."""
    shape, fortran, dtype = _header(stream)
    size = int(np.prod([int(each) for each in shape], dtype=object))
    message = f"{path} holds Python objects, which are never read: save numbers and texts (dtype 'U')"
    require(not dtype.hasobject, message)
    message = f"{path} holds an array of shape {shape}: that is more than fits into memory"
    require(size >= 0 and size * dtype.itemsize <= 8 * MOST_CELLS, message)
    array = np.empty(size, dtype)
    rest = array.view(np.uint8).data if array.nbytes else memoryview(b"")
    while rest:
        taken = stream.readinto(rest)
        require(taken, f"{path} ends in the middle of an array: it seems cut short")
        rest = rest[taken:]
    return array.reshape(shape[::-1]).T if fortran else array.reshape(shape)


def from_arrays(
    path: Path,
    form: str,
    arrays: Mapping[str, Any],
    part: str | None,
    names: Mapping[str, tuple[tuple[str, ...] | None, tuple[str, ...] | None]] | None = None,
) -> RawTable:
    """Take the array with two dimensions for the measurements; those with one are about its rows or columns."""
    tables = [name for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "biuf"]
    chosen = tables[0] if part is None and len(tables) == 1 else part
    if chosen is None or chosen not in tables:
        several = f"several ({', '.join(tables[:5])}): say which with --part" if part is None else f"no {part!r}"
        message = f"{path} holds {several if tables else 'no table of numbers'}"
        raise InputError(message)
    values = arrays[chosen]
    if not hasattr(values, "tocsr") and not isinstance(values, StoredArray):
        require_exact(values, str(path))
        values = np.asarray(values, dtype=held_as(values.dtype))
    n_rows, n_columns = values.shape
    row_names, column_names = (names or {}).get(chosen, (None, None))
    texts = {name: _texts(array) for name, array in arrays.items() if array.ndim == 1 and name != chosen}
    # In a square table a vector could be about either side; names such as those of genes then tell.
    about = n_rows if n_rows != n_columns else -1
    rows, columns = [], []
    for name, each in texts.items():
        featured = any(word in name.lower() for word in ("feature", "gene", "col", "var"))
        if len(each) == n_columns and (featured or about != len(each)):
            columns.append(Note(name, each, leading=featured))
        elif len(each) == n_rows:
            rows.append(Note(name, each, leading=any(word in name.lower() for word in ("name", "id", "row", "obs"))))
    if row_names is None and column_names is not None and not any(note.leading for note in rows):
        row_names = tuple(f"row_{at + 1}" for at in range(n_rows))
    about_rows = Axis(n_rows, row_names, tuple(rows), word="row")
    about_columns = Axis(n_columns, column_names, tuple(columns), word="column")
    return RawTable(path, form, values, about_rows, about_columns)


def _texts(array: NDArray[Any]) -> tuple[str, ...]:
    return tuple(_word(value) if isinstance(value, bytes) else as_text(value) for value in array.tolist())
