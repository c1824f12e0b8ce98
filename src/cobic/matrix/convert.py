"""From whatever a user has to a matrix, without importing the libraries that it may be of."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cobic.errors import InputError
from cobic.matrix.base import Floats, Matrix
from cobic.matrix.chunked import ChunkedMatrix
from cobic.matrix.dense import DenseMatrix
from cobic.matrix.sparse import SparseMatrix
from cobic.matrix.stored import StoredArray, StoredSparse

_NOT_REAL = "X has numbers of type {}, not real numbers"
_NOT_REAL_ENTRIES = "X is a sparse matrix of {}, not of real numbers"


def as_matrix(X: Any) -> Matrix:
    """Look at X as a :class:`Matrix`, without copying it where that can be avoided."""
    if isinstance(X, Matrix):
        return X
    matrix = _wrap(X)
    if 0 in matrix.shape:
        what = "samples" if matrix.shape[0] == 0 else "features"
        message = f"X has zero {what} (shape {matrix.shape[0]} × {matrix.shape[1]}): there is nothing to select from"
        raise InputError(message)
    return matrix


def stays_where_it_is(X: Any) -> bool:
    """Tell whether X is on disk, in chunks, or a matrix already, so that nobody may turn it into an array."""
    return isinstance(X, (Matrix, StoredArray, StoredSparse, np.memmap)) or _library(X) is not None


def _wrap(X: Any) -> Matrix:
    if isinstance(X, np.memmap):
        return _wrap_file(X, "in a memory map")
    if isinstance(X, StoredArray):
        return DenseMatrix(_real(X))
    if isinstance(X, StoredSparse):
        X.require_rows()
        return SparseMatrix(_real(X, _NOT_REAL_ENTRIES))
    if isinstance(X, (sp.spmatrix, sp.sparray)):
        sparse: Any = X
        _require_table(sparse.ndim)
        return SparseMatrix(_real(sparse if sparse.format in ("csr", "csc") else sparse.tocsr(), _NOT_REAL_ENTRIES))
    library = None if isinstance(X, np.ndarray) else _library(X)
    if library is not None:
        return _OF_LIBRARY[library](X)
    to_numpy = getattr(X, "to_numpy", None)  # pandas and polars frames
    array = to_numpy() if to_numpy is not None else np.asarray(X)
    _require_table(array.ndim)
    return DenseMatrix(_numbers(array) if array.dtype.kind in "OUS" else _real(array))


def _library(X: Any) -> str | None:
    """The library that X is of, if it is one that keeps numbers elsewhere than in memory."""
    roots = (cls.__module__.partition(".")[0] for cls in type(X).__mro__)
    return next((root for root in roots if root in _OF_LIBRARY), None)


def _wrap_hdf(X: Any) -> Matrix:
    if not X:  # so h5py says that the file is closed
        message = "X is in an HDF5 file that is closed: open it again"
        raise InputError(message)
    return _wrap_file(X, "in an HDF5 file")


def _wrap_file(X: Any, words: str) -> Matrix:
    if not hasattr(X, "dtype"):
        return _wrap(stored_sparse(X, words))
    _require_table(len(X.shape))
    return _wrap(StoredArray(X, words))


def _wrap_backed(X: Any) -> Matrix:
    """What anndata makes of a sparse matrix in a file."""
    group = getattr(X, "group", None)
    if group is None:
        message = f"X is of type {type(X).__name__}: give its table of numbers, such as adata.X"
        raise InputError(message)
    return _wrap(group)


def stored_sparse(group: Any, words: str) -> StoredSparse:
    """The sparse matrix in a group of HDF5 or Zarr, as anndata writes it."""
    attributes = group.attrs
    form = attributes.get("encoding-type", attributes.get("h5sparse_format", ""))
    form = str(form.decode() if isinstance(form, bytes) else form).removesuffix("_matrix").removesuffix("_array")
    shape = attributes.get("shape", attributes.get("h5sparse_shape", ()))
    if form not in ("csr", "csc") or len(shape) != 2:
        message = f"X is a group {words}, but no csr or csc matrix as anndata writes it: give the array in it"
        raise InputError(message)
    return StoredSparse(group, "csr" if form == "csr" else "csc", shape, words)


def _wrap_dask(X: Any) -> Matrix:
    _require_table(X.ndim)
    if any(size != size for size in X.shape):
        message = "X is a dask array of chunks of unknown size: call X.compute_chunk_sizes() first"
        raise InputError(message)
    return ChunkedMatrix(_real(X))


_OF_LIBRARY: dict[str, Callable[[Any], Matrix]] = {
    "anndata": _wrap_backed,
    "dask": _wrap_dask,
    "h5py": _wrap_hdf,
    "zarr": lambda X: _wrap_file(X, "in a Zarr store"),
}


def _require_table(ndim: int) -> None:
    if ndim != 2:
        message = f"X has {ndim} dimension(s), not 2: give a table with samples in rows and features in columns"
        raise InputError(message)


def _real(array: Any, refusal: str = _NOT_REAL) -> Any:
    if np.dtype(array.dtype).kind not in "biuf":
        raise InputError(refusal.format(array.dtype))
    return array


def _numbers(array: NDArray[Any]) -> Floats:
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        row, column = next(cell for cell in np.ndindex(*array.shape) if not _is_number(array[cell]))
        message = f"X[{row}, {column}] is {array[row, column]!r}, not a number: leave text columns out of X"
        raise InputError(message) from None


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return cell is None
    return True
