"""Files that stay on disk, through every face."""

import json
import subprocess
import sys

import anndata
import cloudpickle
import dask.array as da
import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zarr

import cobic
from cobic.cli import main
from cobic.errors import InputError
from cobic.matrix import Matrix, as_matrix
from matrix_kinds import CSC, CSR, DASK, DENSE

STAYING = {
    kind: make
    for kind, make in (DENSE | CSR | CSC | DASK).items()
    if any(word in kind for word in ("HDF5", "Zarr", "backed", "memory map", "dask"))
}


@pytest.fixture(scope="module")
def data():
    made = cobic.datasets.make_expression(80, class_sizes=(9, 8), seed=5)
    return np.round(made.X), made.y


@pytest.fixture(autouse=True)
def several_tiles(monkeypatch):
    monkeypatch.setattr("cobic.matrix.grid.TILE_CELLS", 400)
    monkeypatch.setattr("cobic.matrix.grid._LEAST_WIDTH", 30)


@pytest.mark.parametrize("kind", STAYING)
def test_the_estimator_takes_it_as_it_is(kind, data, tmp_path):
    X, y = data
    plain = cobic.ConsistentBiclustering(alpha=2.0).fit(X, y)
    made = STAYING[kind](X, tmp_path)
    model = cobic.ConsistentBiclustering(alpha=2.0).fit(made, y)
    assert isinstance(model._problem.matrix, Matrix)
    assert not model._problem.matrix.kind.endswith("in memory")
    assert model.n_features_in_ == 80
    assert model.n_selected_ == plain.n_selected_
    if kind in DENSE:
        assert (model.support_ == plain.support_).all()
    assert (model.predict(made) == plain.predict(X)).all()
    reduced = model.transform(made)
    reduced = reduced.compute() if isinstance(reduced, da.Array) else reduced
    reduced = reduced.toarray() if sp.issparse(reduced) else reduced
    np.testing.assert_array_equal(reduced, X[:, model.support_])
    with pytest.raises(ValueError, match="X has 79 features, but ConsistentBiclustering is expecting 80 features"):
        model.predict(STAYING[kind](X[:, :79], tmp_path))


@pytest.mark.parametrize("kind", STAYING)
def test_other_processes_open_it_again(kind, data, tmp_path):
    X, _ = data
    matrix = as_matrix(STAYING[kind](X, tmp_path)).take(np.arange(1, 17))
    matrix.columns(np.array([3]))
    sent = cloudpickle.dumps(matrix)
    np.testing.assert_array_equal(cloudpickle.loads(sent).rows(np.arange(16)), X[1:])


@pytest.mark.processes
def test_folds_of_a_file_run_in_other_processes(data, tmp_path):
    X, y = data
    plain = cobic.path(X, y, alphas=[0.0, 2.0], cv=2)
    made = cobic.path(STAYING["HDF5"](X, tmp_path), y, alphas=[0.0, 2.0], cv=2, n_jobs=2)
    same = [name for name in plain.table if name != "seconds"]
    pd.testing.assert_frame_equal(made.table[same], plain.table[same])


def test_a_fit_to_a_frame_is_forgotten(data, tmp_path):
    X, y = data
    model = cobic.ConsistentBiclustering().fit(pd.DataFrame(X, columns=[f"g{at}" for at in range(80)]), y)
    model.fit(STAYING["HDF5"](X, tmp_path), y)
    assert not hasattr(model, "feature_names_in_")


def h5ad(X, y, folder, form):
    path = folder / "cells.h5ad"
    adata = anndata.AnnData(form(X), obs=pd.DataFrame({"type": y}, index=[f"c{at}" for at in range(len(y))]))
    adata.layers["twice"] = form(2 * X)
    adata.write_h5ad(path)
    return path


def zarr_store(X, y, folder, form):
    path = folder / "cells.zarr"
    adata = anndata.AnnData(form(X), obs=pd.DataFrame({"type": y}, index=[f"c{at}" for at in range(len(y))]))
    group = zarr.open_group(str(path), mode="w", zarr_format=2)
    for part in ("X", "obs", "var"):
        anndata.io.write_elem(group, part, getattr(adata, part))
    return path


def zarr_group(X, y, folder, _):
    path = folder / "plain.zarr"
    group = zarr.open_group(str(path), mode="w")
    group.create_array("X", data=X)
    group.create_array("type", data=np.array([1 if each == y[0] else 2 for each in y]))
    return path


def loom(X, y, folder, _):
    path = folder / "cells.loom"
    with h5py.File(path, "w") as file:
        file["matrix"] = X.T
        file["row_attrs/Gene"] = [f"g{at}".encode() for at in range(X.shape[1])]
        file["col_attrs/CellID"] = [f"c{at}".encode() for at in range(X.shape[0])]
        file["col_attrs/type"] = [str(each).encode() for each in y]
    return path


FILES = [
    pytest.param(h5ad, np.asarray, id="h5ad"),
    pytest.param(h5ad, sp.csr_matrix, id="h5ad csr"),
    pytest.param(h5ad, sp.csc_matrix, id="h5ad csc"),
    pytest.param(zarr_store, np.asarray, id="zarr"),
    pytest.param(zarr_store, sp.csr_matrix, id="zarr csr"),
    pytest.param(zarr_group, np.asarray, id="zarr group"),
    pytest.param(loom, np.asarray, id="loom"),
]


@pytest.mark.parametrize(("write", "form"), FILES)
def test_files_are_read_piece_by_piece(write, form, data, tmp_path):
    X, y = data
    path = write(X, y, tmp_path, form)
    whole, backed = (cobic.read(path, "type", backed=stays) for stays in (False, True))
    assert isinstance(backed.X, Matrix)
    assert str(path) in backed.X.kind
    assert (backed.y == whole.y).all()
    assert backed.sample_names == whole.sample_names
    assert backed.feature_names == whole.feature_names
    np.testing.assert_array_equal(backed.X.rows(np.arange(17)), X)
    one, two = (cobic.solve(each.problem(alpha=2.0)) for each in (whole, backed))
    assert one.n_selected == two.n_selected
    assert cobic.verify(backed.problem(alpha=2.0), one.certificate).ok


def test_a_layer_stays_in_the_file(data, tmp_path):
    X, y = data
    path = h5ad(X, y, tmp_path, sp.csr_matrix)
    found = cobic.read(path, "type", part="twice", backed=True)
    np.testing.assert_array_equal(found.X.columns(np.array([4, 2])), 2 * X[:, [4, 2]])


def test_cell_ranger_files_stay_on_disk(data, tmp_path):
    X, y = data
    path = tmp_path / "cells.h5"
    csc = sp.csc_matrix(X.T)
    with h5py.File(path, "w") as file:
        for part in ("data", "indices", "indptr", "shape"):
            file[f"matrix/{part}"] = getattr(csc, part)
        file["matrix/barcodes"] = [f"{cls}_{at}".encode() for at, cls in enumerate(y)]
        file["matrix/features/id"] = [f"g{at}".encode() for at in range(80)]
        file["matrix/features/name"] = [f"gene {at}".encode() for at in range(80)]
    found = cobic.read(path, labels_from_names="^[A-Z]", backed=True)
    assert found.X.kind == f"csr float64 in {path}"
    np.testing.assert_array_equal(found.X.rows(np.arange(17)), X)


def test_npy_files_are_mapped(data, tmp_path):
    X, y = data
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    (tmp_path / "y.cls").write_text(f"17 2 1\n# a b\n{' '.join('0' if each == y[0] else '1' for each in y)}\n")
    found = cobic.read(tmp_path / "X.npy", labels_file=tmp_path / "y.cls", backed=True)
    assert found.X.kind == f"dense float32 in {tmp_path / 'X.npy'}"
    np.testing.assert_array_equal(found.X.rows(np.arange(17)), X)


def test_samples_and_features_can_be_left_out(data, tmp_path):
    X, y = data
    dense = h5ad(X, y, tmp_path, np.asarray)
    found = cobic.read(dense, "type", drop=["c3", "7"], backed=True)
    np.testing.assert_array_equal(found.X.rows(np.arange(16)), np.delete(np.delete(X, 3, 0), 7, 1))
    found = cobic.read(dense, "type", classes=[str(y[0])], backed=True)
    np.testing.assert_array_equal(found.X.rows(np.arange((y == y[0]).sum())), X[y == y[0]])
    (tmp_path / "sparse").mkdir()
    sparse = h5ad(X, y, tmp_path / "sparse", sp.csr_matrix)
    found = cobic.read(sparse, "type", drop=["c3"], backed=True)
    np.testing.assert_array_equal(found.X.rows(np.arange(16)), np.delete(X, 3, 0))
    with pytest.raises(InputError, match="no features can be left out: read it into memory"):
        cobic.read(sparse, "type", drop=["7"], backed=True)


def test_missing_values_are_named_as_in_memory(data, tmp_path):
    X, y = data
    X = X.copy()
    X[5, 9] = np.nan
    path = h5ad(X, y, tmp_path, np.asarray)
    messages = []
    for backed in (False, True):
        with pytest.raises(InputError, match="sample 'c5', feature '9': missing value") as caught:
            cobic.read(path, "type", backed=backed)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize(("name", "words"), [("table.csv", "only be read as a whole"), ("X.npz", "is packed")])
def test_what_cannot_stay_on_disk_is_said(name, words, tmp_path):
    if name == "X.npz":
        np.savez(tmp_path / name, X=np.ones((3, 4)))
    else:
        (tmp_path / name).write_text("class,a,b\nx,1,2\ny,3,4\n")
    with pytest.raises(InputError, match=words):
        cobic.read(tmp_path / name, "class", backed=True)


@pytest.mark.disk
def test_the_command_line_leaves_files_on_disk(data, tmp_path):
    path = h5ad(*data, tmp_path, sp.csr_matrix)
    command = [sys.executable, "-m", "cobic", "select", str(path), "--labels", "type", "--alpha", "2", "--json"]
    one, two = (
        json.loads(subprocess.run([*command, *extra], check=True, capture_output=True, text=True).stdout)
        for extra in ([], ["--backed"])
    )
    assert one["n_selected"] == two["n_selected"]
    inspect = [sys.executable, "-m", "cobic", "inspect", str(path), "--backed"]
    refused = subprocess.run(inspect, check=False, capture_output=True, text=True)
    assert refused.returncode == 2
    assert "leave out --backed" in refused.stderr


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix], ids=["dense", "csr", "csc"])
def test_new_samples_on_disk_are_matched_by_name(form, data, tmp_path, capsys):
    X, y = data
    (tmp_path / "new").mkdir()
    path, new = (h5ad(X, y, folder, form) for folder in (tmp_path, tmp_path / "new"))
    out = str(tmp_path / "out")
    select = ["select", str(path), "--labels", "type", "--backed", "--out", out, "--json"]
    assert main(select) == 0
    cells = anndata.read_h5ad(new)
    del cells.layers["twice"]
    cells[:, ::-1].copy().write_h5ad(new)
    answers = []
    for extra in ([], ["--backed"]):
        capsys.readouterr()
        assert main(["classify", f"{out}/model.json", str(new), "--labels", "type", "--json", *extra]) == 0
        shown = capsys.readouterr()
        assert "features matched by name" in shown.err
        answers.append(json.loads(shown.out))
    assert answers[0] == answers[1]
