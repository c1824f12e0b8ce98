import numpy as np
import pytest
import scipy.sparse as sp

import cobic
from lab_files import CLASSES, FORMATS, GENES, SAMPLES, X, digest

NAMELESS = {"sparse_npz", "npy", "sparse_arff", "r_list"}
SPARSE = {"h5ad_sparse", "ten_x", "ten_x_hdf", "sparse_npz"}


@pytest.fixture(scope="module")
def expected():
    return digest(cobic.Dataset(X, np.array(CLASSES), tuple(GENES), tuple(SAMPLES), "here"))


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_data_in_every_format_give_the_same_digest_and_selection(name, expected, tmp_path):
    path, arguments = FORMATS[name](tmp_path)
    data = cobic.read(path, **arguments)
    assert digest(data) == expected
    assert data.y.tolist() == CLASSES
    assert sp.issparse(data.X) == (name in SPARSE)
    if name not in NAMELESS:
        assert data.feature_names == tuple(GENES)
        assert data.sample_names == (tuple(SAMPLES) if name != "geo" else tuple(f"GSM{at}" for at in range(len(X))))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("kind", "held"),
    [
        ("<f4", "<f4"),
        (">f4", "<f4"),
        ("u1", "u1"),
        ("<i2", "<i2"),
        ("?", "u1"),
        ("<f2", "<f8"),
        ("<i8", "<f8"),
        (">f8", "<f8"),
    ],
)
def test_small_numbers_stay_small(tmp_path, kind, held, turned, packed):
    values = np.random.default_rng(1).integers(0, 2 if kind == "?" else 100, (30, 17)).astype(kind)
    path = tmp_path / ("data.npz" if packed else "data.npy")
    stored = np.asfortranarray(values) if turned else values
    np.savez_compressed(path, X=stored) if packed else np.save(path, stored)
    X = cobic.read(path).X
    assert X.dtype == np.dtype(held)
    assert X.flags.writeable
    assert np.array_equal(X, values)


@pytest.mark.parametrize("form", ["h5ad", "zarr"])
def test_a_store_of_float32_is_read_as_float32(tmp_path, form):
    path = tmp_path / f"data.{form}"
    cobic.datasets.write_expression(path, 300, n_samples=40, seed=1)
    X = cobic.read(path, "class").X
    assert X.dtype == np.float32
    assert np.array_equal(X, cobic.datasets.make_large_expression(300, n_samples=40, seed=1).X)
