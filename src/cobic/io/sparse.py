"""Sparse matrices out of their parts; nothing else here knows scipy's."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cobic.checks import require
from cobic.matrix import require_exact


def sparse_matrix(path: Path, form: str, data: Any, indices: Any, indptr: Any, shape: Any) -> Any:
    """A csr or csc matrix; its indices are checked, since the libraries below do not."""
    require(form in ("csr", "csc"), f"{path} holds a sparse matrix of kind {form!r}: csr and csc are known")
    size: Any = tuple(int(number) for number in shape)
    message = f"{path} holds a sparse matrix of shape {size}: two dimensions are needed"
    require(len(size) == 2 and min(size) >= 0, message)
    data = np.asarray(data)
    require(data.dtype.kind in "biuf", f"{path} holds a sparse matrix of {data.dtype}, not of real numbers")
    require_exact(data, str(path))
    kind = sp.csr_matrix if form == "csr" else sp.csc_matrix
    matrix = kind((data if data.dtype.kind == "f" else data.astype(np.float64), indices, indptr), shape=size)
    matrix.check_format(full_check=True)
    matrix.sum_duplicates()
    return matrix


def as_csr(matrix: Any) -> Any:
    """Any sparse matrix as csr with real numbers."""
    return sp.csr_matrix(matrix, dtype=np.float64)


def csr_of(data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
    """A csr matrix out of parts that need no check; they are not copied."""
    return sp.csr_matrix((data, indices, indptr), shape=shape)
