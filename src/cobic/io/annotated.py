"""Single-cell files: h5ad, loom and 10x. What is sparse stays sparse."""

import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io

from cobic.checks import require
from cobic.errors import InputError
from cobic.io import hdf_probe
from cobic.io.labels import some
from cobic.io.raw import Axis, Format, Note, RawTable, Reading, as_text
from cobic.io.sizes import Stored, dense_size, held_as, sparse_size
from cobic.io.source import (
    MOST_CELLS,
    PACKED_ENDINGS,
    first_bytes,
    foreign,
    needed,
    open_bytes,
    require_cells,
    require_unpacked,
    text_lines,
    unpacked_name,
)
from cobic.io.sparse import as_csr, sparse_matrix
from cobic.matrix import StoredArray, StoredSparse, require_exact, stored_sparse

_DESCRIBING = {"gene_name", "gene_names", "gene_symbol", "gene_symbols", "symbol", "feature_name", "description"}
_CELL_NAMES = ("CellID", "cell_id", "obs_names", "CellId")
_GENE_NAMES = ("Gene", "gene", "var_names", "Accession")


_PROBE_SECONDS = 30.0  # a good file takes one or two; some damaged ones never end


def read_hdf(path: Path, options: Reading) -> RawTable:
    """Read h5ad, loom, or the HDF5 file of Cell Ranger; which of them it is, its groups tell."""
    h5py = needed("h5py", "hdf")
    with foreign(path, "an HDF5 file"), ExitStack() as opened:
        require_harmless(path)
        file = opened.enter_context(h5py.File(path, "r"))
        if "obs" in file and "var" in file:
            table = read_annotated(path, file, options, "h5ad")
        elif "matrix" in file and "col_attrs" in file:
            table = _loom(path, file, options)
        elif "matrix" in file and "barcodes" in file["matrix"]:
            table = _cell_ranger(path, file["matrix"], backed=options.backed)
        else:
            message = f"{path} is an HDF5 file, but neither h5ad, loom nor 10x: it has none of their groups"
            raise InputError(message)
        if options.backed:
            opened.pop_all()  # the numbers are still to be read
        return table


def _h5ad_size(path: Path) -> Stored | None:
    if path.suffix.lower() != ".h5ad":
        return None
    h5py = needed("h5py", "hdf")
    with foreign(path, "an HDF5 file"), ExitStack() as opened:
        require_harmless(path)
        file = opened.enter_context(h5py.File(path, "r"))
        X = file.get("X")
        if hasattr(X, "shape"):
            return dense_size(X.shape, X.dtype)
        if X is None or "data" not in X or "indices" not in X or "shape" not in X.attrs:
            return None
        return sparse_size(X.attrs["shape"], X["data"].size, X["data"].dtype.itemsize, X["indices"].dtype.itemsize)


HDF = Format(read_hdf, ("h5ad", "loom", "h5"), (b"\x89HDF\r\n",), parts=True, backed=True, size=_h5ad_size)


def require_harmless(path: Path) -> None:
    """Look into the file first: some take numbers from other files, and some crash the HDF5 library, or never let go.

    This is done in another process, where the system lets us start one.
    """
    crashed, elsewhere = False, ""
    if sys.executable:
        command = [sys.executable, "-I", hdf_probe.__file__, str(path.resolve())]
        try:
            ended = subprocess.run(command, capture_output=True, timeout=_PROBE_SECONDS, check=False)
            crashed, elsewhere = ended.returncode < 0, ended.stdout.decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            crashed = True
    else:
        with needed("h5py", "hdf").File(path, "r") as file:
            elsewhere = hdf_probe.outside(file)
    require(not crashed, f"{path} crashes the HDF5 library: it is damaged; get it again")
    message = (
        f"{path}: {elsewhere}: no other file is read through a data file; copy the numbers into one file (h5repack)"
    )
    require(not elsewhere, message)


def read_annotated(path: Path, file: Any, options: Reading, form: str) -> RawTable:
    """Read what anndata has written, to HDF5 or Zarr."""
    node, var, layer = file.get("X"), file["var"], options.part
    if layer == "raw" and "raw" in file:
        node, var = file["raw/X"], file["raw/var"]
    elif layer is not None:
        node = _layer(path, file, layer)
    if node is None:
        message = f"{path} has no X: name a layer with --part, {some(list(file.get('layers', ())))}"
        raise InputError(message)
    values = _matrix(path, node, backed=options.backed)
    samples = _frame(path, file["obs"], values.shape[0], "sample")
    return RawTable(path, form, values, samples, _frame(path, var, values.shape[1], "feature"), "rows")


def _layer(path: Path, file: Any, layer: str) -> Any:
    layers = file.get("layers", {})
    if layer not in layers:
        message = f"{path} has no layer {layer!r}: {some(list(layers)) if len(layers) else 'it has none'}"
        raise InputError(message)
    return layers[layer]


def _matrix(path: Path, node: Any, *, backed: bool) -> Any:
    """A dense or sparse matrix, in the form that it has."""
    if hasattr(node, "shape"):
        require(len(node.shape) == 2, f"{path}: {node.name} has {len(node.shape)} dimensions, not 2")
        if backed:
            return StoredArray(node, f"in {path}")
        require_cells(path, *node.shape)
        require_unpacked(path, node.size * node.dtype.itemsize)
        values = np.asarray(node[()])
        require_exact(values, str(path))
        return values.astype(held_as(node.dtype), copy=False)
    if backed:
        return stored_sparse(node, f"in {path}")
    form = _plain(node.attrs.get("encoding-type", node.attrs.get("h5sparse_format", "")))
    shape = node.attrs["shape"] if "shape" in node.attrs else node.attrs["h5sparse_shape"]
    data, indices, indptr = (_array(path, node[part]) for part in ("data", "indices", "indptr"))
    return sparse_matrix(path, form.removesuffix("_matrix").removesuffix("_array"), data, indices, indptr, shape)


def _array(path: Path, node: Any) -> Any:
    message = f"{path}: {node.name} has {node.size} entries: that is none, or more than fits into memory"
    require(node.size is not None and node.size <= MOST_CELLS, message)
    require_unpacked(path, node.size * node.dtype.itemsize)
    return node[()]


def _plain(text: Any) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)


def _frame(path: Path, node: Any, size: int, word: str) -> Axis:
    """What an annotation table says; one without names gets numbers."""
    categorical = set[str]()
    if hasattr(node, "dtype") and node.dtype.names:  # as anndata wrote it before version 0.7
        columns = {name: [_text(value) for value in _array(path, node)[name]] for name in node.dtype.names}
        index = next(iter(columns))
    else:
        old = node.get("__categories", {})
        index = _plain(node.attrs.get("_index", "index"))
        columns = {name: _column(path, node[name], old.get(name)) for name in node if name != "__categories"}
        coded = {name for name in columns if not hasattr(node[name], "shape") and "codes" in node[name]}
        categorical = coded.union(name for name in columns if name in old)
    for name, texts in columns.items():
        require(len(texts) == size, f"{path}: {node.name}/{name} has {len(texts)} entries for {size} in the matrix")
    names = tuple(columns.pop(index, [str(at) for at in range(size)]))
    notes = (Note(name, tuple(each), name in _DESCRIBING, name in categorical) for name, each in columns.items())
    return Axis(size, names, tuple(notes), word=word)


def _column(path: Path, node: Any, categories: Any = None) -> list[str]:
    """A column of an annotation table as texts: plain, categorical, or with a mask of missing values."""
    if hasattr(node, "shape"):
        values = _array(path, node)
        if categories is not None:
            return _coded(values, _column(path, categories))
        return [_text(value) for value in np.atleast_1d(values)] if np.ndim(values) < 2 else []
    if "codes" in node:
        return _coded(_array(path, node["codes"]), _column(path, node["categories"]))
    values, mask = _column(path, node["values"]), _array(path, node["mask"])
    return ["" if missing else text for text, missing in zip(values, mask, strict=True)]


def _coded(codes: Any, categories: Sequence[str]) -> list[str]:
    return ["" if code < 0 else categories[code] for code in codes.tolist()]


def _text(value: Any) -> str:
    if isinstance(value, (bytes, str)):
        return _plain(value)
    return as_text(value.item() if hasattr(value, "item") else value)


def _loom(path: Path, file: Any, options: Reading) -> RawTable:
    node = file["matrix"] if options.part is None else _layer(path, file, options.part)
    values = _matrix(path, node, backed=options.backed)
    genes = _attributes(path, file["row_attrs"], values.shape[0], _GENE_NAMES, "feature")
    cells = _attributes(path, file["col_attrs"], values.shape[1], _CELL_NAMES, "sample")
    return RawTable(path, "loom", values, genes, cells, "columns")


def _attributes(path: Path, node: Any, size: int, usual: Sequence[str], word: str) -> Axis:
    texts = {name: _column(path, node[name]) for name in node if node[name].shape == (size,)}
    index = next((name for name in usual if name in texts), None)
    names = [f"{word}_{at + 1}" for at in range(size)] if index is None else texts.pop(index)
    return Axis(size, tuple(names), tuple(Note(name, tuple(each)) for name, each in texts.items()), word=word)


def _cell_ranger(path: Path, node: Any, *, backed: bool) -> RawTable:
    values: Any
    if backed:
        n_features, n_cells = _array(path, node["shape"]).tolist()
        values = StoredSparse(node, "csc", (n_features, n_cells), f"in {path}")
    else:
        parts = [_array(path, node[part]) for part in ("data", "indices", "indptr", "shape")]
        values = sparse_matrix(path, "csc", *parts)
    features = node.get("features", node)
    ids = _column(path, features["id" if "id" in features else "genes"])
    described = _column(path, features["name" if "name" in features else "gene_names"])
    return _ten_x(path, values, ids, {"name": described}, _column(path, node["barcodes"]))


def read_ten_x(path: Path, options: Reading) -> RawTable:
    """Read a folder with matrix.mtx, barcodes.tsv and features.tsv or genes.tsv, each plain or packed."""
    matrix = _member(path, "matrix.mtx", "matrix.mtx") if path.is_dir() else path
    folder, name = matrix.parent, matrix.name
    barcodes = _member(folder, "barcodes.tsv", name)
    try:
        features = _member(folder, "features.tsv", name)
    except InputError:
        features = _member(folder, "genes.tsv", name)
    values = _matrix_market(matrix)
    columns = [line.rstrip("\r\n").split("\t") for line in text_lines(features, options.encoding) if line.strip()]
    width = min((len(cells) for cells in columns), default=0)
    notes = {name: [cells[at] for cells in columns] for at, name in ((1, "name"), (2, "type")) if at < width}
    cells = [line.split("\t")[0].strip() for line in text_lines(barcodes, options.encoding) if line.strip()]
    return _ten_x(matrix, values, [each[0].strip() for each in columns], notes, cells)


TEN_X = Format(read_ten_x, ("mtx",), (b"%%MatrixMarket",))


def _ten_x(path: Path, values: Any, ids: list[str], notes: dict[str, list[str]], cells: list[str]) -> RawTable:
    message = (
        f"{path} has {values.shape[0]} × {values.shape[1]} entries, but there are {len(ids)} features and "
        f"{len(cells)} barcodes: the files do not belong together"
    )
    require(values.shape == (len(ids), len(cells)), message)
    described = tuple(Note(name, tuple(texts), leading=name == "name") for name, texts in notes.items())
    features = Axis(len(ids), tuple(ids), described, word="feature")
    return RawTable(path, "10x", values, features, Axis(len(cells), tuple(cells), word="sample"), "columns")


def _member(folder: Path, what: str, beside: str) -> Path:
    """The file of that name in the folder, plain or packed; rather one whose name begins as that of the matrix."""
    alike = [unpacked_name(beside.replace("matrix.mtx", what))] if "matrix.mtx" in beside else []
    for name in dict.fromkeys((*alike, what)):
        for ending in ("", *PACKED_ENDINGS):
            if (folder / (name + ending)).is_file():
                return folder / (name + ending)
    message = f"{folder} has no file {what} (or {what}.gz): a 10x folder has matrix.mtx, barcodes.tsv and features.tsv"
    raise InputError(message)


def _matrix_market(path: Path) -> Any:
    """A Matrix Market file; the sizes in its head are checked before memory is taken for them."""
    head = [line for line in first_bytes(path).split(b"\n") if line.strip() and not line.startswith(b"%")]
    sizes = [int(word) for word in head[0].split() if word.isdigit() and len(word) < 12] if head else []
    if len(sizes) == 2:
        require_cells(path, *sizes)
    elif len(sizes) != 3 or sizes[2] > MOST_CELLS or max(sizes[:2]) > MOST_CELLS:
        message = f"{path} is not a Matrix Market file of a size that can be read: {head[:1]!r:.80}"
        raise InputError(message)
    with foreign(path, "a Matrix Market file"), open_bytes(path) as stream:
        return as_csr(scipy.io.mmread(stream))
