import inspect
import subprocess
import sys
from pathlib import Path

import anndata
import numpy as np
import pytest
import scipy.sparse as sp

import cobic
from cobic.cli import main
from cobic.datasets import large as expression
from cobic.datasets import make_large_expression, write_expression
from cobic.datasets.plan import KINDS
from cobic.errors import InputError

READERS = {"h5ad": anndata.read_h5ad, "zarr": anndata.read_zarr}
# Larger than a tile or block in both directions.
DENSE = {"n_features": 20_000, "n_samples": 150, "n_classes": 3, "seed": 4}
SPARSE = {"n_features": 3000, "n_samples": 3000, "n_classes": 5, "density": 0.2, "mislabelled": 0.01, "seed": 4}


def test_making_and_writing_have_the_same_defaults():
    made, asked = (inspect.signature(function).parameters for function in (make_large_expression, expression.plan))
    for name in set(made) - {"n_features"}:
        assert made[name].default == asked[name].default, name
    assert made["n_features"].default == inspect.signature(write_expression).parameters["n_features"].default


def test_dense_data_are_what_was_asked_for():
    data = make_large_expression(20_000, class_sizes=(70, 50, 30), noisy=0.05, mislabelled=0.1, seed=1)
    assert data.X.shape == (150, 20_000)
    assert data.X.dtype == np.float32
    assert (np.round(data.X) == data.X).all()
    kinds = np.array(data.feature_kinds)
    assert [(kinds == kind).sum() for kind in KINDS] == [14_800, 4000, 1000, 200]
    assert data.sample_kinds.count("mislabelled") == 15
    assert set(data.class_sizes) == {"A", "B", "C"}
    assert len(set(data.feature_names)) == 20_000


@pytest.mark.parametrize("density", [0.01, 0.05, 0.5])
def test_sparse_data_have_the_density_and_differ_in_library_size(density):
    data = make_large_expression(5000, n_samples=300, n_classes=4, density=density, contaminated=0, seed=2)
    assert data.X.nnz / (5000 * 300) == pytest.approx(density, rel=0.05)
    assert data.X.dtype == np.float32
    assert data.X.has_canonical_format
    assert data.X.data.min() > 0
    per_sample = np.diff(data.X.indptr)
    assert per_sample.std() > 0.1 * per_sample.mean()


@pytest.mark.parametrize("arguments", [DENSE, SPARSE], ids=["dense", "sparse"])
@pytest.mark.parametrize("form", list(READERS))
def test_what_is_written_in_parts_is_what_is_made_in_memory(tmp_path, form, arguments):
    data = make_large_expression(**arguments)
    file = tmp_path / f"data.{form}"
    write_expression(file, **arguments)
    read = READERS[form](file)
    assert read.X.dtype == np.float32
    assert sp.issparse(read.X) == ("density" in arguments)
    differing = read.X != data.X
    assert (differing.nnz if sp.issparse(differing) else differing.sum()) == 0
    assert read.obs["class"].tolist() == data.y.tolist()
    assert read.obs["kind"].tolist() == list(data.sample_kinds)
    assert read.var["kind"].tolist() == list(data.feature_kinds)
    assert tuple(read.var_names) == data.feature_names
    assert tuple(read.obs_names) == data.sample_names


@pytest.mark.parametrize("arguments", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_large_data_are_determined_by_the_seed(arguments):
    first, second, other = (make_large_expression(**{**arguments, "seed": seed}).X for seed in (1, 1, 2))
    assert abs(first - second).max() == 0
    assert abs(first - other).max() > 0


def test_no_tile_repeats_the_noise_of_another():
    X = make_large_expression(2 * 16_384, n_samples=128, informative=0, contaminated=0, seed=1).X
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    assert abs((scaled[:, :16_384] * scaled[:, 16_384:]).mean()) < 0.01
    assert abs((scaled[:64] * scaled[64:]).mean()) < 0.02


def test_cobic_reads_the_h5ad_that_it_writes(tmp_path):
    arguments = {"n_features": 500, "n_samples": 40, "density": 0.3, "seed": 1}
    write_expression(tmp_path / "cells.h5ad", **arguments)
    data = cobic.read(tmp_path / "cells.h5ad", "class")
    made = make_large_expression(**arguments)
    assert abs(data.X - made.X).max() == 0
    assert data.y.tolist() == made.y.tolist()


@pytest.mark.long
def test_dense_conflicts_make_features_go_in_proportion():
    data = make_large_expression(10_000, n_samples=200, seed=0)
    problem, kinds = data.problem(), np.array(data.feature_kinds)
    margins, victims = problem.margins(np.ones(10_000, dtype=bool)), np.array(data.sample_kinds) == "victim"
    assert (margins[victims] < 0).all()
    assert (margins[~victims] > 0).all()
    result = cobic.solve(problem, max_programs=300)
    assert result.status in ("optimal", "feasible")  # and so a consistent selection exists
    assert result.upper_bound < 10_000 - 10  # proven: more than 0.1 % must go, whoever solves it
    assert (kinds[~result.support] == "contaminated").mean() > 0.9


@pytest.mark.parametrize(
    ("n_features", "n_samples", "n_classes"),
    [(2000, 40, 2), (200_000, 40, 2), (200_000, 200, 2), (20_000, 200, 20), (100_000, 200, 20), (2000, 2000, 5)],
)
def test_conflicts_do_not_fade_as_the_data_grow(n_features, n_samples, n_classes):
    data = make_large_expression(n_features, n_samples=n_samples, n_classes=n_classes, seed=3)
    victims = np.array(data.sample_kinds) == "victim"
    assert victims.any()
    problem = data.problem()
    contaminated = np.array(data.feature_kinds) == "contaminated"
    assert problem.margins(np.ones(n_features, dtype=bool))[victims].max() < 0
    # They stay in the class that they are planted in, else they would be no conflict.
    planned = expression.plan(n_features, n_samples=n_samples, n_classes=n_classes, seed=3)
    assert (problem.feature_classes == planned.raised_in)[contaminated].mean() > 0.95


def test_mislabelled_cells_are_worth_violating():
    data = make_large_expression(3000, n_samples=400, n_classes=4, density=0.05, mislabelled=0.03, seed=0)
    problem = data.problem(slack_penalty="auto")
    result = cobic.solve(problem, max_programs=300)
    violated = problem.margins(result.support) < 0
    mislabelled = np.array(data.sample_kinds) == "mislabelled"
    assert violated[mislabelled].mean() > 0.5
    assert violated[~mislabelled].mean() < 0.05


def test_a_file_is_not_replaced_unasked_and_nothing_is_left_behind(tmp_path, monkeypatch):
    file = tmp_path / "data.zarr"
    write_expression(file, 50, n_samples=10, seed=1)
    with pytest.raises(InputError, match=r"data\.zarr exists"):
        write_expression(file, 50, n_samples=10, seed=2)
    write_expression(file, 50, n_samples=10, seed=2, overwrite=True)
    kept = anndata.read_zarr(file)
    assert (kept.X == make_large_expression(50, n_samples=10, seed=2).X).all()

    def fails(self):
        yield slice(0, 10), slice(0, 50), np.zeros((10, 50), dtype=np.float32)
        raise KeyboardInterrupt

    monkeypatch.setattr(expression.Intensities, "tiles", fails)
    with pytest.raises(KeyboardInterrupt):
        write_expression(file, 50, n_samples=10, seed=3, overwrite=True)
    assert (anndata.read_zarr(file).X == kept.X).all()
    assert [each.name for each in tmp_path.iterdir()] == ["data.zarr"]


@pytest.mark.parametrize("name", ["data.csv", "nowhere/data.zarr", "nowhere/data.h5ad"])
def test_a_place_that_cannot_be_written_is_one_line(tmp_path, name):
    with pytest.raises(InputError, match=Path(name).name) as caught:
        write_expression(tmp_path / name, 50, n_samples=10)
    assert "\n" not in str(caught.value)


def test_a_missing_library_is_named_with_the_cure(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(InputError, match=r"zarr: pip install 'cobic\[scale\]'"):
        write_expression(tmp_path / "data.zarr", 50, n_samples=10)


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_features": 0},
        {"n_samples": 1},
        {"n_classes": 1},
        {"class_sizes": (5,)},
        {"class_sizes": (5, 0)},
        {"class_sizes": (5, 5.5)},
        {"density": 0.0},
        {"density": 0.7},
        {"density": float("nan")},
        {"informative": 0.9, "noisy": 0.2},
        {"contaminated": -0.1},
        {"mislabelled": 0.5},
        {"seed": -1},
    ],
)
def test_impossible_large_data_are_refused(arguments):
    with pytest.raises(InputError):
        make_large_expression(**arguments)


def test_the_command_makes_a_file(tmp_path, capsys):
    file = tmp_path / "cells.zarr"
    command = ["datasets", "--make", str(file), "--features", "300", "--samples", "30", "--classes", "3"]
    command += ["--density", "0.2", "--mislabelled", "0.1", "--seed", "5"]
    assert main(command) == 0
    assert "30 samples × 300 features in 3 classes" in capsys.readouterr().out
    made = make_large_expression(300, n_samples=30, n_classes=3, density=0.2, mislabelled=0.1, seed=5)
    assert (anndata.read_zarr(file).X != made.X).nnz == 0
    assert main(command) == 2
    assert "cells.zarr exists: choose another name, or overwrite it with --force" in capsys.readouterr().err
    assert main([*command, "--force"]) == 0
    assert main([*command, "--force", "--out", str(tmp_path)]) == 2
    assert main(["datasets", "--make", str(tmp_path / "new.zarr"), "--density", "2"]) == 2
    assert "density is 2.0" in capsys.readouterr().err


# The peak of this process alone: ru_maxrss would count the test runner that it is forked from.
_PEAK = """
import sys
from cobic.datasets import write_expression
import anndata, h5py, zarr
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024
write_expression(sys.argv[1] + "-warm.h5ad", 100, n_samples=10)
before = peak()
write_expression(sys.argv[1], 50_000, n_samples=2000, seed=1)
print(peak() - before)
"""


@pytest.mark.memory
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
@pytest.mark.parametrize("form", list(READERS))
def test_writing_400_megabytes_needs_a_fraction_of_them(tmp_path, form):
    file = tmp_path / f"large.{form}"
    ended = subprocess.run(
        [sys.executable, "-c", _PEAK, str(file)], capture_output=True, text=True, check=True, timeout=200
    )
    assert int(ended.stdout) < 100e6
