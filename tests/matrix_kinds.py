"""Every kind of table cobic takes, made of one dense float64 array of values that float32 holds exactly."""

import tempfile
from pathlib import Path

import anndata
import anndata.io
import dask.array as da
import h5py
import numpy as np
import scipy.sparse as sp
import zarr


def new(folder):
    return Path(tempfile.mkdtemp(dir=folder))


def memory_map(X, folder):
    folder = new(folder)
    written = np.memmap(folder / "X.raw", dtype=np.float32, mode="w+", shape=X.shape)
    written[:] = X
    written.flush()
    return np.memmap(folder / "X.raw", dtype=np.float32, mode="r", shape=X.shape)


def hdf(X, folder, **options):
    folder = new(folder)
    with h5py.File(folder / "X.h5", "w") as file:
        file.create_dataset("X", data=X, **options)
    return h5py.File(folder / "X.h5", "r")["X"]


def zarr_array(X, folder, chunks):
    folder = new(folder)
    array = zarr.create_array(str(folder / "X.zarr"), shape=X.shape, dtype=X.dtype, chunks=chunks)
    array[:] = X
    return zarr.open_array(str(folder / "X.zarr"), mode="r")


def backed(X, folder):
    folder = new(folder)
    anndata.AnnData(X).write_h5ad(folder / "X.h5ad")
    return anndata.read_h5ad(folder / "X.h5ad", backed="r").X


def zarr_sparse(X, folder):
    folder = new(folder)
    group = zarr.open_group(str(folder / "sparse.zarr"), mode="w", zarr_format=2)
    anndata.io.write_elem(group, "X", X)
    return anndata.io.sparse_dataset(zarr.open_group(str(folder / "sparse.zarr"), mode="r")["X"])


def chunks(shape, n_rows, n_columns):
    return max(1, -(-shape[0] // n_rows)), max(1, -(-shape[1] // n_columns))


def as_dask(X, n_rows, n_columns):
    return da.from_array(X, chunks=chunks(X.shape, n_rows, n_columns))


def big_indices(X):
    csr = sp.csr_array(X)
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return csr


def out_of_order(X):
    """Entries backwards, and the first one of each line in two halves."""
    csr = sp.csr_array(X)
    data, indices, indptr = [], [], [0]
    for row in range(X.shape[0]):
        part = slice(csr.indptr[row], csr.indptr[row + 1])
        values, columns = csr.data[part][::-1], csr.indices[part][::-1]
        data += [*values[:-1], *([values[-1] / 2] * 2 if values.size else [])]
        indices += [*columns[:-1], *([columns[-1]] * 2 if values.size else [])]
        indptr.append(len(data))
    return sp.csr_array((np.array(data), np.array(indices, dtype=np.int32), np.array(indptr)), shape=X.shape)


def reversed_view(X):
    return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]


# Those of which the same numbers must give the same result to the last bit.
DENSE = {
    "C": lambda X, _: np.ascontiguousarray(X),
    "F": lambda X, _: np.asfortranarray(X),
    "float32": lambda X, _: X.astype(np.float32),
    "float32 F": lambda X, _: np.asfortranarray(X, dtype=np.float32),
    "big-endian": lambda X, _: X.astype(">f8"),
    "part": lambda X, _: np.pad(X, 3, constant_values=np.nan)[3:-3, 3:-3],
    "reversed": lambda X, _: reversed_view(X),
    "memory map": memory_map,
    "HDF5": hdf,
    "HDF5 chunks": lambda X, f: hdf(X.astype(np.float32), f, chunks=chunks(X.shape, 3, 2), compression="gzip"),
    "Zarr": lambda X, f: zarr_array(X.astype(np.float32), f, chunks(X.shape, 2, 3)),
    "Zarr wide": lambda X, f: zarr_array(X, f, chunks(X.shape, 20, 1)),
    "backed": backed,
}
CSR = {
    "csr": lambda X, _: sp.csr_matrix(X),
    "csr float32": lambda X, _: sp.csr_array(X.astype(np.float32)),
    "csr int64 indices": lambda X, _: big_indices(X),
    "backed csr": lambda X, f: backed(sp.csr_matrix(X), f),
    "Zarr csr": lambda X, f: zarr_sparse(sp.csr_matrix(X.astype(np.float32)), f),
}
CSC = {
    "csc": lambda X, _: sp.csc_array(X),
    "csc float32": lambda X, _: sp.csc_matrix(X.astype(np.float32)),
    "backed csc": lambda X, f: backed(sp.csc_matrix(X), f),
    "Zarr csc": lambda X, f: zarr_sparse(sp.csc_matrix(X), f),
}
DASK = {
    "dask by rows": lambda X, _: as_dask(X, 3, 1),
    "dask by columns": lambda X, _: as_dask(X.astype(np.float32), 1, 4),
    "dask by both": lambda X, _: as_dask(X, 2, 3),
    "dask of csr": lambda X, _: as_dask(X, 2, 1).map_blocks(sp.csr_array),
    "dask of csc": lambda X, _: as_dask(X, 2, 2).map_blocks(sp.csc_matrix),
}
OTHER = {
    "coo": lambda X, _: sp.coo_array(X),
    "csr out of order": lambda X, _: out_of_order(X),
    "list": lambda X, _: X.tolist(),
}
KINDS = DENSE | CSR | CSC | DASK | OTHER
