import subprocess
import sys
import threading
import tracemalloc
from fractions import Fraction

import anndata
import dask.array as da
import h5py
import numpy as np
import pytest
import scipy.sparse as sp
import zarr

import cobic
from cobic.errors import InputError
from cobic.matrix import as_matrix
from matrix_kinds import CSC, CSR, DENSE, KINDS, backed, hdf

TILINGS = {"one tile": (1 << 20, 1 << 12), "wide tiles": (24, 1 << 12), "small tiles": (12, 3)}


@pytest.fixture(params=TILINGS)
def tiling(request, monkeypatch):
    """Tiles of a few cells only, so that there are many."""
    cells, width = TILINGS[request.param]
    monkeypatch.setattr("cobic.matrix.grid.TILE_CELLS", cells)
    monkeypatch.setattr("cobic.matrix.grid._LEAST_WIDTH", width)
    monkeypatch.setattr("cobic.matrix.grid._BAND_PER_LINE", 1)


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr("cobic.matrix.grid.TILE_CELLS", 12)
    monkeypatch.setattr("cobic.matrix.grid._LEAST_WIDTH", 3)
    monkeypatch.setattr("cobic.matrix.grid._BAND_PER_LINE", 1)


@pytest.fixture(params=[1, 3], ids=["1 thread", "3 threads"])
def threads(request, monkeypatch):
    monkeypatch.setattr("cobic.matrix.pool.n_threads", lambda: request.param)


@pytest.fixture(params=KINDS)
def stored_as(request, tmp_path):
    """A function that makes one kind of table of a dense array."""
    return lambda X: KINDS[request.param](X, tmp_path)


@pytest.fixture
def numbers():
    rng = np.random.default_rng(0)
    X = rng.integers(-50, 50, size=(7, 11)) / 8
    X[rng.random(X.shape) < 0.5] = 0.0
    X[2], X[:, 4] = 0.0, 0.0
    return X


def assert_like(matrix, X):
    """Every operation agrees with dense arithmetic."""
    n, m = X.shape
    rng = np.random.default_rng(1)
    classes = rng.integers(-1, 3, m)
    assert matrix.shape == X.shape
    for g in (1, 2, 3):
        for weighted in (1.0, 0.2, 0.0):  # the share that is not zero: lines without a weight are not looked at
            W, L = weights(rng, (m, g), weighted), weights(rng, (n, g), weighted)
            np.testing.assert_allclose(matrix.products(W), X @ W, rtol=1e-12, atol=1e-11)
            np.testing.assert_allclose(matrix.transposed_products(L), X.T @ L, rtol=1e-12, atol=1e-11)
    w, pull = rng.standard_normal(m), rng.standard_normal((n, 3))
    sums = np.stack([X[:, classes == cls] @ w[classes == cls] for cls in range(3)], axis=1)
    np.testing.assert_allclose(matrix.class_sums(w, classes, 3), sums, rtol=1e-12, atol=1e-11)
    scores = np.where(classes >= 0, (X * pull[:, classes]).sum(axis=0), 0.0)
    np.testing.assert_allclose(matrix.class_scores(pull, classes), scores, rtol=1e-12, atol=1e-11)
    for index in (np.array([5 % n, 0, 0]), np.arange(1, n), np.arange(n)[::-1]):
        assert_same(matrix.rows(index), X[index])
    for index in (np.array([10 % m, 3, 3]), np.arange(m), np.array([6, 1]), np.array([2])):
        assert_same(matrix.columns(index), X[:, index])
        assert matrix.columns(index).flags.f_contiguous
    rows, columns = matrix.peaks()
    assert_same(rows, np.abs(X).max(axis=1))
    assert_same(columns, np.abs(X).max(axis=0))
    for some in (classes >= 0, classes == 1, np.zeros(m, dtype=bool)):
        assert_same(matrix.row_peaks(some), np.abs(X[:, some]).max(axis=1, initial=0.0))
    assert_same(matrix.fingerprints(), as_matrix(X).fingerprints())
    assert matrix.first_not_finite() is None


def weights(rng, shape, share):
    return rng.standard_normal(shape) * (rng.random(shape[0]) < share)[:, None]


def assert_same(found, wanted):
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def test_every_operation_agrees_with_dense_arithmetic(stored_as, numbers, tiling, threads):
    assert_like(as_matrix(stored_as(numbers)), numbers)


def test_every_kind_of_frame_is_taken(as_any_kind, numbers):
    assert_like(as_matrix(as_any_kind(numbers)), numbers)


def test_samples_are_taken_again_and_again(stored_as, numbers, small_tiles):
    first, second = np.array([6, 0, 3, 4, 1]), np.array([4, 1, 2, 1])
    taken = as_matrix(stored_as(numbers)).take(first)
    assert_like(taken, numbers[first])
    assert_like(taken.take(second), numbers[first][second])


def everything(matrix):
    """The results of all operations on matrices of one shape."""
    n, m = matrix.shape
    rng = np.random.default_rng(2)
    classes = rng.integers(-1, 5, m)
    yield from matrix.peaks()
    yield matrix.fingerprints()
    for g, weighted in ((1, 1.0), (2, 1.0), (5, 1.0), (2, 0.1)):
        yield matrix.products(weights(rng, (m, g), weighted))
        yield matrix.transposed_products(weights(rng, (n, g), weighted))
    yield matrix.class_sums(rng.standard_normal(m), classes, 5)
    yield matrix.class_scores(rng.standard_normal((n, 5)), classes)
    # What is computed from some rows or columns must not depend on the kind either, so neither may their order.
    yield matrix.columns(np.arange(5, m)) @ rng.standard_normal(m - 5)
    yield matrix.rows(np.arange(5, n)) @ rng.standard_normal(m)


@pytest.mark.parametrize("family", [DENSE, CSR, CSC], ids=["dense", "csr", "csc"])
@pytest.mark.parametrize("shape", [(40, 900), (900, 40), (131, 257)], ids=str)
def test_the_same_numbers_give_the_same_bits(family, shape, tmp_path, monkeypatch):
    monkeypatch.setattr("cobic.matrix.grid.TILE_CELLS", 4000)
    monkeypatch.setattr("cobic.matrix.grid._LEAST_WIDTH", 100)
    rng = np.random.default_rng(3)
    X = rng.standard_normal(shape).astype(np.float32).astype(np.float64)
    X[rng.random(shape) < 0.4] = 0.0
    index = rng.permutation(shape[0])[: shape[0] // 2]
    plain, *others = family
    wanted = as_matrix(family[plain](X, tmp_path))
    wanted_part = wanted.take(index)
    for threads, kind in enumerate(others, 1):
        monkeypatch.setattr("cobic.matrix.pool.n_threads", lambda threads=threads: threads)
        found = as_matrix(family[kind](X, tmp_path))
        for one, two in zip(everything(found), everything(wanted), strict=True):
            assert (one == two).all(), kind
        for one, two in zip(everything(found.take(index)), everything(wanted_part), strict=True):
            assert (one == two).all(), kind


def test_sums_are_as_good_as_the_exact_ones(small_tiles, tmp_path):
    rng = np.random.default_rng(4)
    X = (rng.standard_normal((9, 40)) * 2.0 ** rng.integers(-20, 20, (9, 40))).astype(np.float32).astype(np.float64)
    w, classes = rng.standard_normal(40), np.arange(40) % 2
    pull = rng.standard_normal((9, 2))
    for kind, make in KINDS.items():
        matrix = as_matrix(make(X, tmp_path))
        sums, scores = matrix.class_sums(w, classes, 2), matrix.class_scores(pull, classes)
        for sample in range(9):
            terms = X[sample, classes == 1] * w[classes == 1]
            exact = exact_dot(X[sample, classes == 1], w[classes == 1])
            assert abs(sums[sample, 1] - exact) <= 40 * 2.0**-53 * np.abs(terms).sum(), kind
        for feature in range(40):
            terms = X[:, feature] * pull[:, classes[feature]]
            exact = exact_dot(X[:, feature], pull[:, classes[feature]])
            assert abs(scores[feature] - exact) <= 18 * 2.0**-53 * np.abs(terms).sum(), kind


def exact_dot(left, right):
    return float(sum(Fraction(a) * Fraction(b) for a, b in zip(left.tolist(), right.tolist(), strict=True)))


def test_the_answer_and_its_proof_do_not_depend_on_the_kind(tmp_path, monkeypatch):
    monkeypatch.setattr("cobic.matrix.grid.TILE_CELLS", 120)
    monkeypatch.setattr("cobic.matrix.grid._LEAST_WIDTH", 15)
    data = cobic.datasets.make_expression(40, class_sizes=(8, 7), seed=3)
    X = np.round(data.X).astype(np.float32).astype(np.float64)
    plain = cobic.solve(cobic.Problem(X, data.y, alpha=2.0))
    assert plain.status == "optimal"
    for kind, make in KINDS.items():
        problem = cobic.Problem(make(X, tmp_path), data.y, alpha=2.0)
        result = cobic.solve(problem)
        assert (result.status, result.upper_bound) == ("optimal", plain.upper_bound), kind
        assert cobic.verify(problem, plain.certificate).ok, kind
        assert cobic.verify(problem, result.certificate).ok, kind
        if kind in DENSE:
            assert (result.support == plain.support).all(), kind
            assert result.certificate == plain.certificate, kind


def test_threads_change_nothing_and_are_used(small_tiles, monkeypatch):
    X = np.random.default_rng(5).standard_normal((20, 30))
    W = np.random.default_rng(6).standard_normal((30, 2))
    matrix, seen, enough = as_matrix(X), set(), threading.Event()
    read = matrix._source.read

    def watched(*part):
        seen.add(threading.get_ident())
        if len(seen) >= threads:
            enough.set()
        enough.wait(60)  # nobody goes on before all have begun
        return read(*part)

    monkeypatch.setattr(matrix._source, "read", watched)
    found = []
    for threads in (1, 2, 4):
        monkeypatch.setattr("cobic.matrix.pool.n_threads", lambda threads=threads: threads)
        seen.clear()
        enough.clear()
        found.append(matrix.products(W))
        assert len(seen) >= threads
    assert all((each == found[0]).all() for each in found)


@pytest.mark.parametrize("kind", ["C", "float32", "csr", "csc", "HDF5", "dask by both"])
def test_overflow_is_left_to_who_asks(kind, small_tiles, monkeypatch, tmp_path):
    monkeypatch.setattr("cobic.matrix.pool.n_threads", lambda: 2)
    matrix = as_matrix(KINDS[kind](np.full((6, 30), 2.0**127), tmp_path))
    with np.errstate(over="ignore", invalid="ignore"):
        assert np.isinf(matrix.products(np.full((30, 3), 1e300))).all()
        assert np.isinf(matrix.class_scores(np.full((6, 2), 1e300), np.zeros(30, dtype=int))).all()


def test_a_failure_in_a_thread_is_told(small_tiles, monkeypatch):
    monkeypatch.setattr("cobic.matrix.pool.n_threads", lambda: 2)
    matrix = as_matrix(np.ones((20, 30)))
    monkeypatch.setattr(matrix._source, "read", lambda *at: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        matrix.products(np.ones((30, 1)))


def test_small_matrices_start_no_threads(monkeypatch):
    def never(*args, **kwargs):
        raise AssertionError

    monkeypatch.setattr("cobic.matrix.pool.ThreadPoolExecutor", never)
    for X in (np.ones((38, 7129), dtype=np.float32), sp.csr_array(np.ones((38, 712)))):
        matrix = as_matrix(X)
        matrix.products(np.ones((X.shape[1], 2)))
        matrix.class_scores(np.ones((38, 2)), np.zeros(X.shape[1], dtype=int))
        matrix.peaks()
        matrix.fingerprints()


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.int16, np.bool_, np.float16])
def test_number_types_are_widened_before_they_are_added(dtype):
    X = np.ones((300, 3), dtype=dtype) * np.array([1, 1, 0], dtype=dtype)
    X = (X * 100).astype(dtype) if dtype is not np.bool_ else X
    total = as_matrix(X).transposed_products(np.ones((300, 1)))[:, 0]
    np.testing.assert_array_equal(total, X.astype(np.float64).sum(axis=0))


def test_first_not_finite_is_the_first_in_reading_order(stored_as, numbers, tiling):
    numbers[4, 2], numbers[3, 9], numbers[3, 10] = np.nan, np.inf, np.nan
    matrix = as_matrix(stored_as(numbers))
    assert matrix.first_not_finite() == (3, 9, np.inf)
    assert matrix.take(np.array([0, 4, 3])).first_not_finite()[:2] == (1, 2)
    assert matrix.take(np.array([0, 1])).first_not_finite() is None


def test_a_missing_value_in_a_file_is_named(tmp_path, small_tiles):
    X = np.arange(80.0).reshape(8, 10)
    X[6, 7] = np.nan
    for kind in ("HDF5 chunks", "Zarr", "memory map", "dask by both", "backed csr"):
        with pytest.raises(InputError, match=r"a missing value \(NaN\) at sample 6, feature 7: impute it first"):
            cobic.Problem(KINDS[kind](X, tmp_path), [0, 1] * 4)


def test_duplicate_sparse_entries_add_up_and_the_input_is_left_alone():
    X = sp.csr_matrix((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2, 2])), shape=(2, 2))
    assert as_matrix(X).columns(np.array([0]))[0, 0] == 3.0
    assert X.nnz == 2


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([1, 2, 3], "1 dimension"),
        (np.zeros((2, 3, 4)), "3 dimension"),
        (np.zeros((3, 0)), "zero features"),
        (np.zeros((0, 3)), "zero samples"),
        (np.array([[1, 2j]]), "complex"),
        (sp.csr_matrix(np.array([[1, 2j]])), "complex"),
        (np.array([[1, 2], [3, "x"]], dtype=object), r"X\[1, 1\] is 'x'"),
        (np.array([["1", "y"]]), r"X\[0, 1\] is"),
    ],
)
def test_what_is_not_a_table_of_numbers_is_refused(X, words):
    with pytest.raises(InputError, match=words):
        as_matrix(X)


def test_what_a_file_or_a_chunk_cannot_be_is_said(tmp_path):
    closed = hdf(np.ones((3, 4)), tmp_path)
    closed.file.close()
    texts = hdf(np.array([[b"a", b"b"]]), tmp_path)
    unknown = da.from_array(np.ones((6, 3)), chunks=2)
    unknown = unknown[da.from_array(np.array([True] * 6), chunks=2)]
    for X, words in (
        (closed, "file that is closed: open it again"),
        (hdf(np.ones(3), tmp_path), "1 dimension"),
        (hdf(np.ones((2, 3, 4)), tmp_path), "3 dimension"),
        (hdf(np.ones((0, 4)), tmp_path), "zero samples"),
        (hdf(np.ones((3, 4), dtype=complex), tmp_path), "complex128, not real numbers"),
        (texts, "not real numbers"),
        (texts.file, "no csr or csc matrix"),
        (da.ones((2, 3, 4)), "3 dimension"),
        (da.ones((2, 3), dtype=complex), "complex128, not real numbers"),
        (unknown, r"X.compute_chunk_sizes\(\)"),
        (anndata.AnnData(np.ones((2, 3))), "such as adata.X"),
    ):
        with pytest.raises(InputError, match=words) as caught:
            as_matrix(X)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["HDF5", "HDF5 chunks", "backed csr", "backed csc"])
def test_a_file_that_is_closed_meanwhile_is_said(kind, tmp_path, numbers, small_tiles):
    X = KINDS[kind](numbers, tmp_path)
    matrix = as_matrix(X)
    (X.group if hasattr(X, "group") else X).file.close()
    for operation in (matrix.peaks, lambda: matrix.rows(np.arange(3)), lambda: matrix.columns(np.array([1, 5]))):
        with pytest.raises(InputError, match=r"X cannot be read .*is the file closed"):
            operation()


@pytest.mark.parametrize("fault", ["index", "order", "length"])
def test_damaged_sparse_files_are_refused(fault, tmp_path, numbers):
    with h5py.File(tmp_path / "X.h5", "w") as file:
        csr = sp.csr_matrix(numbers)
        if fault == "index":
            csr.indices[3] = 4711
        if fault == "order":
            csr.indptr[2] = csr.indptr[4]
        indices = csr.indices[:-1] if fault == "length" else csr.indices
        for name, part in (("data", csr.data), ("indices", indices), ("indptr", csr.indptr)):
            file[name] = part
        file.attrs["encoding-type"], file.attrs["shape"] = "csr_matrix", numbers.shape
    with h5py.File(tmp_path / "X.h5") as file, pytest.raises(InputError, match="damaged csr matrix"):
        as_matrix(file).peaks()


def test_columns_are_read_once_and_forgotten_in_time(tmp_path, numbers, small_tiles, monkeypatch):
    monkeypatch.setattr("cobic.matrix.cache.MOST_BYTES", 4 * 7 * 8)
    for kind in ("HDF5", "dask by both", "backed csr"):
        matrix = as_matrix(KINDS[kind](numbers, tmp_path))
        owner = matrix._source if kind == "HDF5" else matrix
        asked = []
        read = owner._read_columns
        monkeypatch.setattr(
            owner, "_read_columns", lambda index, asked=asked, read=read: (asked.append(index.tolist()), read(index))[1]
        )
        for index in ([1, 2], [2, 1, 2], [2, 3], [7, 8, 9], [3, 9], [1]):
            np.testing.assert_array_equal(matrix.columns(np.array(index)), numbers[:, index])
        assert asked == [[1, 2], [3], [7, 8, 9], [1]], kind


def test_files_are_read_in_pieces_of_chunks(tmp_path, monkeypatch):
    X = np.arange(60.0 * 50).reshape(60, 50)
    array = zarr.create_array(zarr.storage.MemoryStore(), shape=X.shape, dtype=X.dtype, chunks=(30, 25))
    array[:] = X
    monkeypatch.setattr("cobic.matrix.grid.TILE_CELLS", 50)
    matrix = as_matrix(array)
    cells = []
    read = matrix._source._handle
    monkeypatch.setattr(matrix._source, "_handle", Watched(read, cells))
    for operation in (
        matrix.peaks,
        lambda: matrix.columns(np.array([3, 20, 22])),
        lambda: [matrix.rows(np.arange(start, start + 5)) for start in range(0, 60, 5)],
    ):
        cells.clear()
        operation()
        assert sum(cells) <= X.size
        assert len(cells) <= 4
    cells.clear()
    matrix.take(np.arange(1, 60, 2)).products(np.ones((50, 1)))
    assert sum(cells) <= X.size


def test_a_problem_reads_a_file_twice(tmp_path, small_tiles, monkeypatch):
    X = np.arange(60.0 * 50).reshape(60, 50) % 47
    matrix = as_matrix(hdf(X, tmp_path, chunks=(30, 25)))
    cells = []
    monkeypatch.setattr(matrix._source, "_handle", Watched(matrix._source._handle, cells))
    problem = cobic.Problem(matrix, [0, 1] * 30)
    assert problem.matrix.fingerprints().size == 50
    assert sum(cells) == 2 * X.size


def test_rows_one_after_the_other_are_read_once(monkeypatch):
    X = np.arange(60.0 * 50).reshape(60, 50)
    loaded = []

    def load(block):
        loaded.append(block.shape)
        return block

    chunks = da.from_array(X, chunks=(20, 25)).map_blocks(load, meta=X[:0, :0])
    monkeypatch.setattr("cobic.matrix.grid.TILE_CELLS", 500)
    csc = as_matrix(sp.csc_array(X))
    assert len(csc._parts) > 3
    read = csc._source.band
    monkeypatch.setattr(csc._source, "band", lambda part: (loaded.append(part), read(part))[1])
    for matrix, most in ((as_matrix(chunks), 6), (csc, len(csc._parts))):
        loaded.clear()
        found = [matrix.rows(np.arange(start, start + 4)) for start in range(0, 60, 4)]
        np.testing.assert_array_equal(np.concatenate(found), X)
        assert len(loaded) <= most


class Watched:
    def __init__(self, array, cells):
        self.array, self.cells = array, cells
        self.shape, self.dtype, self.chunks = array.shape, array.dtype, array.chunks

    def __getitem__(self, part):
        found = self.array[part]
        self.cells.append(found.size)
        return found


@pytest.mark.parametrize("kind", ["csr", "csc", "HDF5", "memory map", "float32", "backed csr"])
def test_nothing_is_copied_whole(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("cobic.matrix.grid.TILE_CELLS", 1 << 12)
    monkeypatch.setattr("cobic.matrix.pool.n_threads", lambda: 2)
    rng = np.random.default_rng(7)
    X = rng.standard_normal((300, 2000)).astype(np.float32)  # 2.4 MB
    if "cs" in kind:
        X[rng.random(X.shape) < 0.5] = 0
    made = KINDS["csr float32" if kind == "csr" else "csc float32" if kind == "csc" else kind](X, tmp_path)
    W, L, classes = np.ones((2000, 2)), np.ones((300, 2)), np.zeros(2000, dtype=int)
    tracemalloc.start()
    try:
        matrix = as_matrix(made)
        matrix.peaks()
        matrix.fingerprints()
        matrix.products(W)
        matrix.transposed_products(L)
        matrix.class_sums(W[:, 0], classes, 2)
        matrix.class_scores(L, classes)
        matrix.columns(np.arange(5))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.5 * X.nbytes


def test_libraries_are_imported_only_for_their_own():
    program = (
        "import sys, numpy, scipy.sparse, cobic; from cobic.matrix import as_matrix;"
        "as_matrix(numpy.ones((2, 2))); as_matrix(scipy.sparse.eye_array(3).tocsr());"
        "assert not {'dask', 'zarr', 'h5py', 'anndata'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_matrix_says_what_it_is(tmp_path):
    X = np.ones((30, 40), dtype=np.float32)
    for make, kind, size in (
        (lambda: X, "dense float32 in memory", 4800),
        (lambda: sp.csr_array(X), "csr float32 in memory", 1200 * 8 + 31 * 4),
        (lambda: hdf(X, tmp_path), "dense float32 in an HDF5 file", 4800),
        (lambda: backed(sp.csc_array(X), tmp_path), "csc float32 in an HDF5 file", 1200 * 8 + 41 * 8),
        (lambda: da.from_array(X, chunks=20), "dask float32 in 4 chunks", 4800),
    ):
        matrix = as_matrix(make())
        assert (matrix.kind, matrix.nbytes) == (kind, size)
