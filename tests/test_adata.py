"""The AnnData face: the estimator's answer in the annotations, whole after a trip through a file."""

import json

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import cobic
from cobic import ConsistentBiclustering, InconsistentDataWarning, InputError
from cobic.adata import select_adata
from cobic.analyses.path import survival

FORMS = {"dense": np.asarray, "csr": sp.csr_matrix, "csc": sp.csc_matrix, "csr_array": sp.csr_array}


@pytest.fixture(scope="module")
def data():
    sizes = {"class_sizes": (9, 7, 6), "test_sizes": None}
    return cobic.datasets.make_expression(n_features=80, contaminated=0.02, seed=0, **sizes)


@pytest.fixture(scope="module")
def small():
    """Data whose whole path is quickly solved."""
    return cobic.datasets.make_expression(16, class_sizes=(6, 5), test_sizes=None, contaminated=0.1, seed=0)


def annotated(X, y, **columns):
    """Cells named c0, c1, … and genes named g0, g1, …."""
    obs = pd.DataFrame({"type": pd.Categorical(list(y)), **columns}, index=[f"c{i}" for i in range(X.shape[0])])
    return anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=[f"g{i}" for i in range(X.shape[1])]))


@pytest.fixture
def adata(data):
    return annotated(data.X.copy(), data.y)


@pytest.fixture(scope="module")
def model(data):
    return ConsistentBiclustering(alpha=10.0).fit(data.X, data.y)


@pytest.fixture(scope="module")
def noise():
    """Cells with the wrong labels, and too few genes to tell them apart."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(24, 6)), np.array(["a", "b"])[np.arange(24) % 2]


def through_file(adata, tmp_path):
    adata.write_h5ad(tmp_path / "answer.h5ad")
    return anndata.read_h5ad(tmp_path / "answer.h5ad")


def assert_same(one, other):
    """Dicts of what h5ad files hold are equal, to the bit."""
    assert one.keys() == other.keys()
    for key, value in one.items():
        if isinstance(value, dict):
            assert_same(value, other[key])
        elif isinstance(value, pd.DataFrame):
            pd.testing.assert_frame_equal(value, other[key], check_index_type=False, check_exact=True)
        else:
            np.testing.assert_array_equal(value, other[key], err_msg=key)


@pytest.mark.parametrize("form", FORMS)
def test_the_answer_is_that_of_the_estimator(form, data, model):
    adata = annotated(FORMS[form](data.X), data.y)
    assert select_adata(adata, "type", alpha=10.0, ranking=False) is None
    assert adata.var["cobic_selected"].dtype == bool
    np.testing.assert_array_equal(adata.var["cobic_selected"], model.support_)
    np.testing.assert_array_equal(adata.var["cobic_class"].cat.codes, model.feature_classes_)
    assert list(adata.var["cobic_class"].cat.categories) == list(model.classes_) == ["A", "B", "C"]
    assert "cobic_ranking" not in adata.var
    answer = adata.uns["cobic"]
    assert answer["n_selected"] == model.n_selected_ < data.X.shape[1]
    assert answer["upper_bound"] == model.upper_bound_
    assert (answer["objective"], answer["objective_bound"]) == (model.objective_, model.objective_bound_)
    assert answer["status"] == model.status_
    assert answer["worst_margin"] == model.result_.worst_margin
    assert dict(zip(answer["classes"], answer["counts"])) == dict(zip("ABC", model.result_.counts))
    assert answer["n_left_out"] == 0
    assert answer["params"]["groupby"] == "type"
    assert not {"layer", "fixed_in"} & answer["params"].keys()


def test_the_ranking_is_that_of_the_estimator(small):
    adata = annotated(small.X, small.y)
    select_adata(adata, "type", alpha=10.0)
    assert adata.var["cobic_ranking"].dtype.kind == "i"
    np.testing.assert_array_equal(
        adata.var["cobic_ranking"], ConsistentBiclustering(alpha=10.0).fit(small.X, small.y).ranking_
    )


def test_the_number_of_margins_counts(small):
    adata = annotated(small.X, small.y)
    orders = []
    for n_margins in (2, 6):
        select_adata(adata, "type", n_margins=n_margins)
        orders.append(adata.var["cobic_ranking"].to_numpy())
        np.testing.assert_array_equal(orders[-1], survival(small.problem(), n_margins).ranking)
    assert (orders[0] != orders[1]).any()


def test_a_layer_is_used_instead_of_x(data, model):
    adata = annotated(np.zeros_like(data.X), data.y)
    adata.layers["counts"] = sp.csr_matrix(data.X)
    select_adata(adata, "type", layer="counts", alpha=10.0, ranking=False)
    np.testing.assert_array_equal(adata.var["cobic_selected"], model.support_)
    assert adata.uns["cobic"]["params"]["layer"] == "counts"


def test_a_layer_will_do_where_there_is_no_x(data, model):
    named = annotated(data.X, data.y)
    adata = anndata.AnnData(obs=named.obs, var=named.var, layers={"counts": data.X})
    select_adata(adata, "type", layer="counts", alpha=10.0, ranking=False)
    np.testing.assert_array_equal(adata.var["cobic_selected"], model.support_)
    with pytest.raises(InputError, match=r"adata.X is empty: name a layer to use, its layers are counts"):
        select_adata(adata, "type")


@pytest.mark.parametrize("form", FORMS)
def test_everything_survives_a_file_and_the_certificate_holds(form, data, tmp_path):
    adata = annotated(FORMS[form](data.X), data.y)
    adata.obs.loc["c5", "type"] = np.nan
    alpha = np.linspace(0.0, 20.0, adata.n_obs)
    choices = {"fixed_in": ["g3", "g7"], "fixed_out": [0], "ties": "exclude"}
    labels = ["pair" if gene in (10, 11) else None for gene in range(adata.n_vars)]
    select_adata(adata, "type", alpha=alpha, n_margins=2, groups=["B", "A"], feature_groups=labels, **choices)
    back = through_file(adata, tmp_path)
    pd.testing.assert_frame_equal(back.var, adata.var)
    assert_same(back.uns["cobic"], adata.uns["cobic"])
    part = (back.obs["type"].isin(["A", "B"])).to_numpy()
    names = list(back.var_names)
    problem = cobic.Problem(
        back.X[part], back.obs["type"][part], alpha[part], groups=labels, feature_names=names, **choices
    )
    checked = cobic.verify(problem, json.loads(back.uns["cobic"]["certificate"]))
    assert checked.ok, checked.reason
    assert (checked.n_selected, checked.upper_bound) == (adata.uns["cobic"]["n_selected"],) * 2
    assert problem.is_consistent(back.var["cobic_selected"].to_numpy())


def test_a_method_without_proof_and_options_survive_a_file(adata, tmp_path):
    select_adata(adata, "type", method="bilevel-vns", ranking=False, time_limit=None, method_options={"restarts": 2})
    assert "certificate" not in adata.uns["cobic"]
    assert "time_limit" not in adata.uns["cobic"]["params"]
    back = through_file(adata, tmp_path)
    assert_same(back.uns["cobic"], adata.uns["cobic"])
    assert "restarts" in back.uns["cobic"]["params"]["method_options"]


def test_names_of_genes_are_understood(adata, model):
    dropped = np.flatnonzero(~model.support_)[:1]
    kept = adata.var_names[np.flatnonzero(model.support_)[:3]]
    select_adata(adata, "type", ranking=False, fixed_in=adata.var_names[dropped], fixed_out=kept)
    assert adata.var["cobic_selected"].iloc[dropped].all()
    assert not adata.var["cobic_selected"][kept].any()
    with pytest.raises(InputError, match="fixed_in names 'TP53', but no feature is called so"):
        select_adata(adata, "type", fixed_in="TP53")


def test_tied_genes_have_no_class(data, tmp_path):
    X = data.X.copy()
    X[:, 4] = 7.0
    adata = annotated(X, data.y)
    select_adata(adata, "type", ties="exclude", ranking=False)
    assert adata.var["cobic_class"].isna().to_numpy().nonzero()[0].tolist() == [4]
    assert not adata.var["cobic_selected"].iloc[4]
    pd.testing.assert_frame_equal(through_file(adata, tmp_path).var, adata.var)


@pytest.mark.parametrize(("form", "missing"), [("dense", np.nan), ("csr", None), ("csc", " ")])
def test_cells_without_a_group_take_no_part(form, missing, data):
    labels = np.array(data.y, dtype=object)
    left_out = [0, 11, 20]
    labels[left_out] = missing
    adata = annotated(FORMS[form](data.X), data.y, labels=labels)
    alpha = np.linspace(0.0, 20.0, adata.n_obs)
    select_adata(adata, "labels", alpha=alpha, ranking=False)
    rest = np.delete(np.arange(adata.n_obs), left_out)
    expected = ConsistentBiclustering(alpha=alpha[rest]).fit(data.X[rest], np.array(data.y)[rest])
    np.testing.assert_array_equal(adata.var["cobic_selected"], expected.support_)
    assert adata.uns["cobic"]["n_left_out"] == 3
    np.testing.assert_array_equal(adata.uns["cobic"]["params"]["alpha"], alpha)


def test_only_some_groups_are_told_apart(adata, data):
    select_adata(adata, "type", groups=["C", "A"], ranking=False)
    part = np.isin(data.y, ["A", "C"])
    expected = ConsistentBiclustering().fit(data.X[part], np.array(data.y)[part])
    np.testing.assert_array_equal(adata.var["cobic_selected"], expected.support_)
    assert list(adata.var["cobic_class"].cat.categories) == list(adata.uns["cobic"]["classes"]) == ["A", "C"]
    assert adata.uns["cobic"]["n_left_out"] == (~part).sum()


@pytest.mark.skipif(pd.__version__ >= "3", reason="pandas 3 always gives what is only read")
def test_groups_are_told_apart_where_pandas_gives_what_is_only_read(adata):
    with pd.option_context("mode.copy_on_write", True):  # noqa: FBT003
        select_adata(adata, "type", groups=["C", "A"], ranking=False)
    assert adata.uns["cobic"]["classes"].tolist() == ["A", "C"]


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ([10, 9, 2], ["2", "9", "10"]),
        (pd.array([1, 2, 3], dtype="Int64"), ["1", "2", "3"]),
        (pd.array(["x", "y", "z"], dtype="string"), ["x", "y", "z"]),
        ([True, False, False], ["False", "True"]),
    ],
    ids=["int", "Int64", "string", "bool"],
)
def test_groups_of_any_kind_are_written_as_text(labels, names, data, tmp_path):
    of_cell = pd.Series(labels)[np.unique(data.y, return_inverse=True)[1]]
    adata = annotated(data.X, data.y, labels=of_cell.array)
    select_adata(adata, "labels", groups=names, ranking=False)
    back = through_file(adata, tmp_path)
    assert list(back.var["cobic_class"].cat.categories) == list(back.uns["cobic"]["classes"]) == names
    problem = cobic.Problem(data.X, of_cell)
    np.testing.assert_array_equal(back.var["cobic_class"].cat.codes, problem.feature_classes)
    assert cobic.verify(problem, json.loads(back.uns["cobic"]["certificate"])).ok


def test_a_copy_leaves_the_original_as_it_is(adata, data, model):
    changed = select_adata(adata, "type", alpha=10.0, ranking=False, copy=True, key_added="own")
    assert adata.var.shape[1] == 0
    assert not adata.uns
    np.testing.assert_array_equal(adata.X, data.X)
    np.testing.assert_array_equal(changed.var["own_selected"], model.support_)
    assert set(changed.var) == {"own_selected", "own_class"}
    assert set(changed.uns) == {"own"}


def test_a_view_becomes_an_object_of_its_own_and_its_parent_stays(adata, data):
    view = adata[2:, 5:]
    select_adata(view, "type", ranking=False)
    expected = ConsistentBiclustering().fit(data.X[2:, 5:], data.y[2:])
    np.testing.assert_array_equal(view.var["cobic_selected"], expected.support_)
    assert not view.is_view
    assert adata.var.shape[1] == 0
    assert not adata.uns


def test_a_second_call_leaves_nothing_of_the_first(small):
    adata = annotated(small.X, small.y, kind=np.char.add("kind ", small.y))
    adata.var["other"] = 1
    select_adata(adata, "type", n_margins=2, fixed_out=[0])
    assert list(adata.var) == ["other", "cobic_selected", "cobic_class", "cobic_ranking"]
    select_adata(adata, "kind", ranking=False)
    assert list(adata.var) == ["other", "cobic_selected", "cobic_class"]
    assert list(adata.var["cobic_class"].cat.categories) == ["kind A", "kind B"]
    assert "fixed_out" not in adata.uns["cobic"]["params"]


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix])
def test_sparse_data_are_not_made_dense(kind, monkeypatch):
    rng = np.random.default_rng(1)
    y = np.arange(900) % 2
    rate = 0.1 * (1 + 9 * (np.arange(400) % 2 == y[:, None]))
    adata = annotated(kind(rng.poisson(rate).astype(np.float32)), [f"t{label}" for label in y])
    adata.obs.loc[["c7", "c8"], "type"] = np.nan
    cells = []
    whole = kind.toarray

    def counted(matrix, *args, **kwargs):
        cells.append(matrix.shape[0] * matrix.shape[1])
        return whole(matrix, *args, **kwargs)

    for each in (sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array):
        monkeypatch.setattr(each, "toarray", counted)
    select_adata(adata, "type", ranking=False)
    assert adata.uns["cobic"]["status"] == "optimal"
    assert 0 < max(cells) <= 0.3 * adata.n_obs * adata.n_vars  # a block of rows for the digest
    assert isinstance(adata.X, kind)


def test_data_without_an_answer_get_soft_margins(noise, tmp_path):
    X, y = noise
    adata = annotated(X, y)
    with pytest.warns(InconsistentDataWarning, match="this is proven"):
        select_adata(adata, "type", n_margins=3)
    with pytest.warns(InconsistentDataWarning):
        model = ConsistentBiclustering().fit(X, y)
    np.testing.assert_array_equal(adata.var["cobic_selected"], model.support_)
    assert sorted(adata.var["cobic_ranking"]) == [1, 2, 3, 4, 5, 6]
    answer = through_file(adata, tmp_path).uns["cobic"]
    assert_same(answer, adata.uns["cobic"])
    assert answer["worst_margin"] < 0
    suspects = answer["violations"]
    assert list(suspects.index) == [f"c{row}" for row in model.violations_["sample"]]
    assert list(suspects.columns) == ["class", "read_as", "amount"]
    assert suspects["amount"].is_monotonic_decreasing
    assert suspects["amount"].iloc[0] == -answer["worst_margin"]
    soft = cobic.Problem(X, y, slack_penalty=answer["slack_penalty"])
    assert cobic.verify(soft, json.loads(answer["certificate"])).ok
    assert cobic.verify(cobic.Problem(X, y), json.loads(answer["infeasibility_certificate"])).upper_bound == 0
    with pytest.raises(InputError, match="no consistent selection exists"):
        select_adata(adata, "type", on_infeasible="raise")


def test_suspects_are_named_rightly_after_cells_were_left_out(noise):
    X, y = noise
    adata = annotated(X, y)
    adata.obs.loc[["c0", "c3"], "type"] = np.nan
    with pytest.warns(InconsistentDataWarning):
        select_adata(adata, "type", ranking=False)
    suspects = adata.uns["cobic"]["violations"]
    assert len(suspects) > 0
    assert (adata.obs["type"][suspects.index].astype(str) == suspects["class"]).all()
    used = ~np.isin(adata.obs_names, ["c0", "c3"])
    margins = pd.Series(
        cobic.Problem(X[used], y[used]).margins(adata.var["cobic_selected"].to_numpy()), index=adata.obs_names[used]
    )
    np.testing.assert_allclose(suspects["amount"], -margins[suspects.index], rtol=1e-12)


def test_a_group_without_genes_leaves_nothing_to_rank_by(tmp_path):
    adata = annotated(np.array([[3.0, 4.0], [5.0, 4.0], [1.0, 2.0], [0.0, 1.0]]), "aabb")
    with pytest.warns(InconsistentDataWarning, match="all features are kept"):
        select_adata(adata, "type")
    assert adata.var["cobic_ranking"].isna().all()
    assert adata.var["cobic_selected"].all()
    assert list(adata.var["cobic_class"].cat.categories) == ["a", "b"]
    back = through_file(adata, tmp_path)
    pd.testing.assert_frame_equal(back.var, adata.var)
    assert_same(back.uns["cobic"], adata.uns["cobic"])
    assert back.uns["cobic"]["status"] == "infeasible"
    assert back.uns["cobic"]["worst_margin"] == -np.inf


def test_fits_that_find_nothing_cost_the_ranking_only(adata, model, monkeypatch):
    def fruitless(*arguments, **_choices):
        message = "there is no path"
        raise InputError(message)

    monkeypatch.setattr("cobic.adata.survival", fruitless)
    select_adata(adata, "type", alpha=10.0)
    assert adata.var["cobic_ranking"].isna().all()
    np.testing.assert_array_equal(adata.var["cobic_selected"], model.support_)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groupby": "celltype"}, "adata.obs has no column 'celltype': its columns are type, score, one, none"),
        ({"groupby": "score"}, r"adata.obs\['score'\] cannot be the groups: .* look like measurements"),
        ({"groupby": "one"}, r"adata.obs\['one'\] cannot be the groups: .*at least two classes are needed"),
        ({"groupby": "none"}, r"adata.obs\['none'\] has no group for any of the 22 cells"),
        ({"layer": "raw"}, "adata has no layer 'raw': its layers are counts, scaled"),
        ({"groups": ["A", "T"]}, r"groups holds 'T': the groups in adata.obs\['type'\] are A, B, C"),
        ({"groups": ["A", "A"]}, "at least two groups"),
        ({"groups": "A"}, "groups is 'A': give a list of at least two groups"),
        ({"groups": None}, "groups is None: give a list of at least two groups"),
        ({"alpha": [1.0, 2.0]}, r"alpha has shape \(2,\) for 22 cells"),
        ({"beta": 0.5}, "beta is 0.5: it must be a finite number of at least 1"),
        ({"n_margins": 1}, "n_margins is 1: give a whole number of at least 2"),
        ({"random_state": None}, "random_state is None: give a whole number"),
        ({"colour": "red"}, "there is no choice 'colour': the further choices are ties, beta_rule"),
        ({"method": "magic"}, "there is no method 'magic'"),
    ],
)
def test_what_cannot_be_used_is_named_with_the_cure(arguments, message, data):
    columns = {"score": np.linspace(0, 1, 22), "one": "A", "none": np.full(22, np.nan)}
    adata = annotated(data.X, data.y, **columns)
    adata.layers["counts"] = adata.layers["scaled"] = data.X
    with pytest.raises(InputError, match=message) as raised:
        select_adata(adata, **{"groupby": "type", **arguments})
    assert "\n" not in str(raised.value)
    assert adata.var.shape[1] == 0


def test_a_bad_number_is_named_by_cell_and_gene(data):
    X = data.X.copy()
    X[20, 6] = np.nan
    adata = annotated(sp.csr_matrix(X), data.y)
    adata.obs.loc["c3", "type"] = np.nan
    with pytest.raises(InputError, match="cell 'c20', gene 'g6' is nan: impute it first"):
        select_adata(adata, "type")


def test_a_table_is_no_anndata(data):
    with pytest.raises(InputError, match=r"type DataFrame: give an AnnData object \(pip install 'cobic\[anndata\]'\)"):
        select_adata(pd.DataFrame(data.X), "type")


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix], ids=["dense", "csr", "csc"])
def test_data_on_disk_stay_there(adata, form, tmp_path):
    adata.X = form(adata.X)
    adata.obs["type"] = adata.obs["type"].astype(object)
    adata.obs.iloc[3, adata.obs.columns.get_loc("type")] = ""  # takes no part
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    copied = select_adata(backed, "type", alpha=2.0, ranking=False, copy=True)
    assert "cobic" not in backed.uns
    assert not copied.isbacked
    select_adata(backed, "type", alpha=2.0, ranking=False)
    select_adata(adata, "type", alpha=2.0, ranking=False)
    assert backed.isbacked
    assert adata.uns["cobic"]["n_left_out"] == 1
    for found in (backed, copied):
        assert (found.var["cobic_selected"] == adata.var["cobic_selected"]).all()
        assert found.uns["cobic"]["upper_bound"] == adata.uns["cobic"]["upper_bound"]
    backed.file.close()
