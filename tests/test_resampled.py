"""Data drawn from a real set: noisy copies of its columns and samples, the same in every part and by every way."""

import inspect
from dataclasses import replace

import anndata
import numpy as np
import pytest
import scipy.sparse as sp

import cobic
from cobic.datasets import make_expression, resample_expression, resampled, tiled, write_resampled
from cobic.errors import InputError

READERS = {"h5ad": anndata.read_h5ad, "zarr": anndata.read_zarr}
# More than a tile or block in both directions.
DENSE = {"n_features": 20_000, "n_samples": 150, "seed": 4}
SPARSE = {"n_features": 40_000, "n_samples": 150, "density": 0.2, "seed": 4}


@pytest.fixture(scope="module")
def real():
    """Small data of three classes, no value of them zero."""
    data = make_expression(300, class_sizes=(12, 7, 5), test_sizes=None, seed=2)
    return replace(data, X=data.X + 0.5)  # they are whole numbers


def sources(data, real):
    """The columns and samples that were drawn, by their names."""
    features = {name: place for place, name in enumerate(real.feature_names)}
    samples = {name: place for place, name in enumerate(real.sample_names)}
    return [samples[kind] for kind in data.sample_kinds], [features[kind] for kind in data.feature_kinds]


def test_each_column_is_a_noisy_copy_of_a_real_one(real):
    data = resample_expression(real, n_features=20_000, noise=0.2, seed=1)
    rows, columns = sources(data, real)
    assert rows == list(range(24))
    assert data.sample_names == real.sample_names
    assert data.y.tolist() == real.y.tolist()
    assert data.X.dtype == np.float32
    factors = data.X / real.X[:, columns]
    assert factors.mean() == pytest.approx(1.0, abs=0.002)
    assert factors.std() == pytest.approx(0.2, rel=0.01)
    # Normal, and not only in mean and spread.
    assert (np.abs(factors - 1) < 0.2).mean() == pytest.approx(0.683, abs=0.005)
    assert (np.abs(factors - 1) < 0.4).mean() == pytest.approx(0.954, abs=0.005)


def test_columns_are_drawn_evenly_with_replacement(real):
    _, columns = sources(resample_expression(real, n_features=30_000, seed=1), real)
    often = np.bincount(columns, minlength=300)
    assert often.min() > 50
    assert often.max() < 150
    assert often.std() == pytest.approx(10.0, rel=0.2)  # binomial, not dealt out in turn


def test_noise_is_not_repeated_in_another_column_sample_or_stretch(real):
    width = tiled.TILE_COLUMNS
    data = resample_expression(real, n_features=2 * width, seed=3)
    rows, columns = sources(data, real)
    noise = (data.X / real.X[np.ix_(rows, columns)] - 1) / 0.1
    for one, other in ((noise[:12], noise[12:]), (noise[:, :width], noise[:, width:]), (noise[:, 1:], noise[:, :-1])):
        assert abs((one * other).mean()) < 0.01


def test_without_noise_values_are_those_of_the_real_data(real):
    data = resample_expression(real, n_features=500, n_samples=40, noise=0.0, seed=1)
    np.testing.assert_array_equal(data.X, real.X[np.ix_(*sources(data, real))].astype(np.float32))


def test_samples_are_drawn_within_their_classes(real):
    data = resample_expression(real, n_features=50, n_samples=2000, seed=1)
    rows, _ = sources(data, real)
    assert data.X.shape == (2000, 50)
    assert data.y.tolist() == real.y[rows].tolist()
    assert [data.class_sizes[name] / 2000 for name in "ABC"] == pytest.approx([12 / 24, 7 / 24, 5 / 24], abs=1e-3)
    assert set(rows) == set(range(24))
    assert sorted(data.y.tolist()) != data.y.tolist()
    assert len(np.unique(data.X, axis=0)) == 2000  # copies of a sample differ
    assert len(set(data.sample_names)) == 2000
    assert resample_expression(real, n_features=50, class_sizes=(1, 9, 4)).class_sizes == {"A": 1, "B": 9, "C": 4}
    for size in range(3, 60):
        assert sum(resample_expression(real, n_features=1, n_samples=size).class_sizes.values()) == size


@pytest.mark.parametrize("tile", [(64, tiled.TILE_COLUMNS), (7, 1000), (150, 20_001), (1, 33_333)])
def test_values_do_not_depend_on_the_size_of_the_parts(real, monkeypatch, tile):
    drawn = resampled.draw(real, None, 35_000, n_samples=70, seed=5)
    whole = drawn.part(slice(0, 70), slice(0, 35_000))
    monkeypatch.setattr(tiled, "TILE_ROWS", tile[0])
    monkeypatch.setattr(tiled, "TILE_COLUMNS", tile[1])
    np.testing.assert_array_equal(resample_expression(real, n_features=35_000, n_samples=70, seed=5).X, whole)
    assert next(drawn.tiles())[2].shape == (min(tile[0], 70), tile[1])  # the tiles were other ones


@pytest.mark.parametrize("cells", [1, 123_456])
def test_sparse_values_do_not_depend_on_the_size_of_the_blocks(real, monkeypatch, cells):
    whole = resample_expression(real, **SPARSE).X
    monkeypatch.setattr(tiled, "_BLOCK_CELLS", cells)
    assert (whole != resample_expression(real, **SPARSE).X).nnz == 0


@pytest.mark.parametrize("density", [1.0, 0.3])
def test_fewer_features_are_the_first_of_more(real, density):
    more, fewer = (resample_expression(real, n_features=m, density=density, seed=2) for m in (20_000, 17_000))
    differing = more.X[:, :17_000] != fewer.X
    assert (differing.nnz if sp.issparse(differing) else differing.sum()) == 0
    assert more.feature_kinds[:17_000] == fewer.feature_kinds


@pytest.mark.parametrize("arguments", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_everything_is_determined_by_the_seed(real, arguments):
    first, second, other = (resample_expression(real, **{**arguments, "seed": seed}) for seed in (1, 1, 2))
    assert abs(first.X - second.X).max() == 0
    assert abs(first.X - other.X).max() > 0
    assert first.sample_kinds == second.sample_kinds != other.sample_kinds
    assert first.feature_kinds == second.feature_kinds != other.feature_kinds


@pytest.mark.parametrize("density", [0.05, 0.5])
def test_sparse_data_are_the_dense_ones_without_small_values(real, density):
    dense = resample_expression(real, n_features=5000, n_samples=100, seed=3).X
    data = resample_expression(real, n_features=5000, n_samples=100, density=density, seed=3)
    assert data.X.format == "csr"
    assert data.X.dtype == np.float32
    assert data.X.has_canonical_format
    assert data.X.nnz / dense.size == pytest.approx(density, rel=0.15)
    kept = data.X.toarray()
    np.testing.assert_array_equal(kept[kept != 0], dense[kept != 0])
    assert np.abs(dense[kept == 0]).max() < np.abs(kept[kept != 0]).min()


@pytest.mark.parametrize("arguments", [DENSE, SPARSE], ids=["dense", "sparse"])
@pytest.mark.parametrize("form", list(READERS))
def test_what_is_written_in_parts_is_what_is_made_in_memory(real, tmp_path, form, arguments):
    data = resample_expression(real, **arguments)
    file = tmp_path / f"data.{form}"
    write_resampled(file, real, **arguments)
    read = READERS[form](file)
    assert read.X.dtype == np.float32
    differing = read.X != data.X
    assert (differing.nnz if sp.issparse(differing) else differing.sum()) == 0
    assert read.obs["class"].tolist() == data.y.tolist()
    assert read.obs["kind"].tolist() == list(data.sample_kinds)
    assert read.var["kind"].tolist() == list(data.feature_kinds)
    assert tuple(read.var_names) == data.feature_names
    assert tuple(read.obs_names) == data.sample_names


def test_making_and_writing_have_the_same_defaults():
    made, asked = (inspect.signature(function).parameters for function in (resample_expression, resampled.draw))
    for name in set(made) - {"y", "n_features"}:
        assert made[name].default == asked[name].default, name
    assert made["n_features"].default == inspect.signature(write_resampled).parameters["n_features"].default


def test_arrays_of_other_kinds_give_what_the_data_set_gives(as_kind):
    rng = np.random.default_rng(0)
    X, y = rng.integers(1, 100, (8, 20)).astype(np.float64), np.repeat([3, 1], 4)
    reference = resample_expression(X, y, 300, seed=1)
    np.testing.assert_array_equal(resample_expression(as_kind(X), y, 300, seed=1).X, reference.X)
    assert reference.y.tolist() == y.tolist()
    assert reference.feature_kinds[0].startswith("column_")


def test_columns_of_golub_are_as_hard_as_golub(golub):
    data = resample_expression(golub, n_features=20_000, seed=0)
    assert data.class_sizes == golub.class_sizes
    problem = data.problem()
    assert not problem.is_consistent(problem.selectable)
    result = cobic.solve(problem, max_programs=200)
    assert result.n_selected > 0.98 * 20_000  # of Golub's own columns 99.3 % can stay
    assert result.upper_bound < 0.998 * 20_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_features": 0}, "n_features"),
        ({"n_samples": 2}, "n_samples is 2"),
        ({"n_samples": 20, "class_sizes": (10, 5, 5)}, "not both"),
        ({"class_sizes": (5, 5)}, "2 entries for 3 classes"),
        ({"class_sizes": (5, 5, 0)}, "each of class_sizes is 0"),
        ({"noise": -0.1}, "noise"),
        ({"noise": float("inf")}, "noise"),
        ({"noise": "much"}, "noise"),
        ({"density": 0.7}, "density is 0.7"),
        ({"seed": -1}, "seed"),
        ({"y": ["a"] * 24}, "leave y out"),
    ],
)
def test_what_cannot_be_drawn_is_refused(real, arguments, words):
    with pytest.raises(InputError, match=words) as caught:
        resample_expression(real, **arguments)
    assert "\n" not in str(caught.value)


def test_data_that_cannot_be_drawn_from_are_refused(real):
    with pytest.raises(InputError, match="give y"):
        resample_expression(real.X)
    with pytest.raises(InputError, match="missing value"):
        resample_expression([[1.0, np.nan], [2.0, 3.0]], ["a", "b"])
    with pytest.raises(InputError, match="too large for float32"):
        resample_expression([[1e38, 1.0], [3e38, 3.0]], ["a", "b"])
