"""The few operations cobic needs of a data matrix; no other module asks what X is.

A :class:`Matrix` has samples in rows and features in columns. Dense arrays of any order and number type and scipy
sparse matrices are used as they are: no copy of the whole is made, and sums are accumulated in float64.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import singledispatch
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cobic.errors import InputError

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

_BLOCK_CELLS = 1 << 20


class Matrix(ABC):
    """Samples × features, seen through a handful of operations."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape

    @abstractmethod
    def products(self, weights: Floats) -> Floats:
        """``X @ weights``: (n, g) for feature weights (m, g)."""

    @abstractmethod
    def transposed_products(self, multipliers: Floats) -> Floats:
        """``X.T @ multipliers``: (m, g) for sample multipliers (n, g)."""

    @abstractmethod
    def rows(self, index: Integers) -> Floats:
        """Some samples, dense: (len(index), m)."""

    @abstractmethod
    def columns(self, index: Integers) -> Floats:
        """Some features, dense: (n, len(index))."""

    @abstractmethod
    def take(self, index: Integers) -> "Matrix":
        """Some samples, in the same form."""

    @abstractmethod
    def peaks(self) -> tuple[Floats, Floats]:
        """Largest absolute value of each sample (n,) and of each feature (m,)."""

    @abstractmethod
    def fingerprints(self) -> NDArray[np.uint64]:
        """A number per feature (m,) that depends on its values alone: equal for equal features, else as by chance."""

    @abstractmethod
    def first_not_finite(self) -> tuple[int, int, float] | None:
        """Row, column and value of the first NaN or infinity, or None."""


class DenseMatrix(Matrix):
    """A two-dimensional array of numbers; blocks of rows are widened to float64 as they are needed."""

    def __init__(self, array: NDArray[Any]) -> None:
        super().__init__((array.shape[0], array.shape[1]))
        self._array = array

    def _blocks(self) -> Iterator[tuple[slice, Floats]]:
        step = self.shape[0]
        if self._array.dtype != np.float64:
            step = max(1, _BLOCK_CELLS // max(1, self.shape[1]))
        for start in range(0, self.shape[0], max(1, step)):
            part = slice(start, start + step)
            yield part, self._array[part].astype(np.float64, copy=False)

    def products(self, weights: Floats) -> Floats:
        result = np.empty((self.shape[0], weights.shape[1]))
        for part, block in self._blocks():
            result[part] = block @ weights
        return result

    def transposed_products(self, multipliers: Floats) -> Floats:
        result = np.zeros((self.shape[1], multipliers.shape[1]))
        for part, block in self._blocks():
            result += block.T @ multipliers[part]
        return result

    def rows(self, index: Integers) -> Floats:
        return self._array[index].astype(np.float64, copy=False)

    def columns(self, index: Integers) -> Floats:
        return self._array[:, index].astype(np.float64, copy=False)

    def take(self, index: Integers) -> Matrix:
        return DenseMatrix(self._array[index])

    def peaks(self) -> tuple[Floats, Floats]:
        of_rows, of_columns = np.zeros(self.shape[0]), np.zeros(self.shape[1])
        for part, block in self._blocks():
            size = np.abs(block)
            of_rows[part] = size.max(axis=1)
            np.maximum(of_columns, size.max(axis=0), out=of_columns)
        return of_rows, of_columns

    def fingerprints(self) -> NDArray[np.uint64]:
        weights = _fingerprint_weights(self.shape[0])
        result = np.zeros(self.shape[1], dtype=np.uint64)
        step = max(1, _BLOCK_CELLS // self.shape[1])
        for start in range(0, self.shape[0], step):
            bits = _bits(self._array[start : start + step])
            result += (bits * weights[start : start + step, None]).sum(axis=0, dtype=np.uint64)
        return result

    def first_not_finite(self) -> tuple[int, int, float] | None:
        for part, block in self._blocks():
            finite = np.isfinite(block)
            if not finite.all():
                row, column = np.unravel_index(int(np.argmin(finite)), finite.shape)
                return part.start + int(row), int(column), float(block[row, column])
        return None


class SparseMatrix(Matrix):
    """A scipy csr or csc matrix; absent entries are zeros, and nothing is made dense but what is asked for."""

    def __init__(self, array: Any) -> None:
        super().__init__((int(array.shape[0]), int(array.shape[1])))
        self._array = array

    def products(self, weights: Floats) -> Floats:
        return np.asarray(self._array @ weights, dtype=np.float64)

    def transposed_products(self, multipliers: Floats) -> Floats:
        return np.asarray(self._array.T @ multipliers, dtype=np.float64)

    def rows(self, index: Integers) -> Floats:
        return np.asarray(self._array[index].toarray(), dtype=np.float64)

    def columns(self, index: Integers) -> Floats:
        return np.asarray(self._array[:, index].toarray(), dtype=np.float64)

    def take(self, index: Integers) -> Matrix:
        return SparseMatrix(self._array[index])

    def peaks(self) -> tuple[Floats, Floats]:
        size = abs(self._array)
        by_row, by_column = (size.max(axis=axis).toarray().ravel() for axis in (1, 0))
        return by_row.astype(np.float64), by_column.astype(np.float64)

    def fingerprints(self) -> NDArray[np.uint64]:
        weights = _fingerprint_weights(self.shape[0])
        result = np.zeros(self.shape[1], dtype=np.uint64)
        starts = self._array.indptr
        for start in range(0, self._array.data.size, _BLOCK_CELLS):
            part = slice(start, min(start + _BLOCK_CELLS, self._array.data.size))
            minor, bits = self._array.indices[part], _bits(self._array.data[part])
            major = np.searchsorted(starts, np.arange(part.start, part.stop), side="right") - 1
            row, column = (major, minor) if self._array.format == "csr" else (minor, major)
            np.add.at(result, column, bits * weights[row])
        return result

    def first_not_finite(self) -> tuple[int, int, float] | None:
        bad = np.flatnonzero(~np.isfinite(self._array.data))
        if bad.size == 0:
            return None
        cells = self._array.tocoo()
        first = min(bad, key=lambda cell: (cells.row[cell], cells.col[cell]))
        return int(cells.row[first]), int(cells.col[first]), float(cells.data[first])


def _fingerprint_weights(size: int) -> NDArray[np.uint64]:
    return np.random.default_rng(0).integers(1, 1 << 63, size, dtype=np.uint64) | np.uint64(1)


def _bits(values: NDArray[Any]) -> NDArray[np.uint64]:
    """The bits of numbers as float64, with one zero only; zeros have none, so that absent entries count nothing."""
    return (values.astype(np.float64) + 0.0).view(np.uint64)


def as_matrix(X: Any) -> Matrix:
    """Look at X as a :class:`Matrix`, without copying it where that can be avoided.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        ndarray of any order and real number type, data frame, nested lists, or any scipy.sparse format.

    Returns
    -------
    Matrix
        The same numbers behind cobic's operations.

    Raises
    ------
    InputError
        If X is not a table of finite real numbers with at least one row and one column.

    Examples
    --------
    >>> as_matrix([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    if isinstance(X, Matrix):
        return X
    matrix = _wrap(X)
    if 0 in matrix.shape:
        what = "samples" if matrix.shape[0] == 0 else "features"
        message = f"X has zero {what} (shape {matrix.shape[0]} × {matrix.shape[1]}): there is nothing to select from"
        raise InputError(message)
    return matrix


@singledispatch
def _wrap(X: Any) -> Matrix:
    to_numpy = getattr(X, "to_numpy", None)  # pandas and polars frames
    array = to_numpy() if to_numpy is not None else np.asarray(X)
    return _wrap_array(array)


@_wrap.register
def _wrap_array(array: np.ndarray) -> Matrix:
    if array.ndim != 2:
        message = f"X has {array.ndim} dimension(s), not 2: give a table with samples in rows and features in columns"
        raise InputError(message)
    if array.dtype.kind not in "biuf":
        array = _numbers(array)
    return DenseMatrix(array)


@_wrap.register(sp.spmatrix)
@_wrap.register(sp.sparray)
def _wrap_sparse(array: Any) -> Matrix:
    if array.dtype.kind not in "biuf":
        message = f"X is a sparse matrix of {array.dtype}, not of real numbers"
        raise InputError(message)
    array = array if array.format in ("csr", "csc") else array.tocsr()
    if not array.has_canonical_format:
        array = array.copy()
        array.sum_duplicates()
    return SparseMatrix(array if array.dtype.kind == "f" else array.astype(np.float64))


def _numbers(array: NDArray[Any]) -> Floats:
    if array.dtype.kind in "OUS":
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError):
            row, column = next(cell for cell in np.ndindex(*array.shape) if not _is_number(array[cell]))
            message = f"X[{row}, {column}] is {array[row, column]!r}, not a number: leave text columns out of X"
            raise InputError(message) from None
    message = f"X has numbers of type {array.dtype}, not real numbers"
    raise InputError(message)


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return cell is None
    return True
