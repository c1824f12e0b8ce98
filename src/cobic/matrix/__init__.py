"""The few operations cobic needs of a data matrix; no other module asks what X is.

A :class:`Matrix` has samples in rows and features in columns. Arrays in memory, sparse matrices, files and chunks on
other machines are used as they are: no copy of the whole is made, and sums are accumulated in float64.

A matrix is a grid of *tiles* (of bands, if it is sparse). An operation is a kernel on a tile, and a sum over tiles in
their order. The grid of a dense matrix follows from its shape alone, so that the same numbers give the same result to
the last bit, whatever they are stored as and however many threads work on them.
"""

from cobic.matrix.base import Bools, Floats, Integers, Matrix, require_exact
from cobic.matrix.convert import as_matrix, stays_where_it_is, stored_sparse
from cobic.matrix.sparse import SparseMatrix
from cobic.matrix.stored import StoredArray, StoredSparse
from cobic.matrix.transform import TRANSFORMS, Transform, TransformName

__all__ = [
    "TRANSFORMS",
    "Bools",
    "Floats",
    "Integers",
    "Matrix",
    "SparseMatrix",
    "StoredArray",
    "StoredSparse",
    "Transform",
    "TransformName",
    "as_matrix",
    "require_exact",
    "stays_where_it_is",
    "stored_sparse",
]
