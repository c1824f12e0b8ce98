import numpy as np
import pytest
import scipy.sparse as sp

from cobic.errors import InputError
from cobic.matrix import as_matrix


@pytest.fixture
def numbers():
    rng = np.random.default_rng(0)
    X = rng.integers(-50, 50, size=(7, 11)) / 8
    X[rng.random(X.shape) < 0.5] = 0.0
    return X


def test_every_operation_agrees_with_dense_arithmetic(as_kind, numbers):
    matrix = as_matrix(as_kind(numbers))
    rng = np.random.default_rng(1)
    W, L = rng.standard_normal((11, 3)), rng.standard_normal((7, 2))
    assert matrix.shape == (7, 11)
    np.testing.assert_allclose(matrix.products(W), numbers @ W, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(matrix.transposed_products(L), numbers.T @ L, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(matrix.rows(np.array([5, 0])), numbers[[5, 0]])
    np.testing.assert_array_equal(matrix.columns(np.array([10, 3, 3])), numbers[:, [10, 3, 3]])
    rows, columns = matrix.peaks()
    np.testing.assert_array_equal(rows, np.abs(numbers).max(axis=1))
    np.testing.assert_array_equal(columns, np.abs(numbers).max(axis=0))
    assert matrix.first_not_finite() is None


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.int16, np.bool_, np.float16])
def test_number_types_are_widened_before_they_are_added(dtype):
    X = np.ones((300, 3), dtype=dtype) * np.array([1, 1, 0], dtype=dtype)
    X = (X * 100).astype(dtype) if dtype is not np.bool_ else X
    total = as_matrix(X).transposed_products(np.ones((300, 1)))[:, 0]
    np.testing.assert_array_equal(total, X.astype(np.float64).sum(axis=0))


def test_first_not_finite_is_the_first_in_reading_order(as_kind, numbers):
    numbers[4, 2], numbers[3, 9] = np.nan, np.inf
    row, column, value = as_matrix(as_kind(numbers)).first_not_finite()
    assert (row, column, value) == (3, 9, np.inf)


def test_float32_blocks_give_the_same_sums(monkeypatch, numbers):
    monkeypatch.setattr("cobic.matrix.grid.TILE_CELLS", 30)
    matrix = as_matrix(numbers.astype(np.float32))
    np.testing.assert_allclose(matrix.transposed_products(np.ones((7, 1)))[:, 0], numbers.sum(axis=0), rtol=1e-12)
    assert as_matrix(np.where(np.arange(77).reshape(7, 11) == 60, np.nan, 1.0).astype(np.float32)).first_not_finite()[
        :2
    ] == (5, 5)


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
