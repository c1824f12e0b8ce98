"""Markers for scanpy: the best panel of each group, proven by trying all; drawn, read and written by scanpy itself."""

import warnings
from itertools import combinations

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import cobic
from cobic import InputError

FORMS = {"dense": np.asarray, "csr": sp.csr_matrix, "csc": sp.csc_matrix}


@pytest.fixture(scope="module")
def scanpy():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of its own imports
        return pytest.importorskip("scanpy")


@pytest.fixture(scope="module")
def blood(scanpy):
    """700 blood cells of ten types, which scanpy brings along."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return scanpy.datasets.pbmc68k_reduced()


@pytest.fixture
def cells():
    rng = np.random.default_rng(3)
    X = np.round(rng.gamma(1.0, 2.0, size=(24, 8)), 2) * (rng.random((24, 8)) < 0.7)
    types = np.array(["b", "a", "c"])[np.arange(24) % 3]
    X[types == "c", 5] += 3
    obs = pd.DataFrame({"type": pd.Categorical(types, ["c", "a", "b"])}, index=[f"c{i}" for i in range(24)])
    return anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=[f"g{i}" for i in range(8)]))


def divided(X):
    spread = X.std(axis=0)
    return X / (spread + np.median(spread))


def margin_of(values, inside, genes):
    """The mean margin by its definition, group and rest of equal weight."""
    scores = values[:, list(genes)].mean(axis=1)
    threshold = (scores[inside].mean() + scores[~inside].mean()) / 2
    return ((scores[inside] - threshold).mean() + (threshold - scores[~inside]).mean()) / 2


def test_no_other_genes_have_a_wider_margin(cells):
    table = cobic.markers(cells, "type", n=3)
    values = divided(cells.X)
    for group, rows in table.groupby("group", observed=True):
        inside = (cells.obs["type"] == group).to_numpy()
        chosen = [cells.var_names.get_loc(name) for name in rows["names"]]
        for size in (1, 2, 3):
            best = max(margin_of(values, inside, genes) for genes in combinations(range(8), size))
            assert rows["margins"].iloc[size - 1] == pytest.approx(best, rel=1e-12)
            assert margin_of(values, inside, chosen[:size]) == pytest.approx(best, rel=1e-12)


def test_a_panel_of_the_same_question_is_the_same_and_its_certificate_holds(cells):
    table = cobic.markers(cells, "type", n=3).set_index("group")
    nothing = np.zeros((24, 1))  # a feature for the rest, which has none of its own
    panel = cobic.panel(
        np.hstack([divided(cells.X), nothing]),
        cells.obs["type"] == "c",
        size={False: 1, True: 3},
        tail=1,
        weights="balanced",
        offset=True,
        fixed_in=[8],
    )
    assert panel.status == "optimal"
    assert cobic.verify(panel.problem, panel.certificate).ok
    assert {f"g{at}" for at in panel.features if at != 8} == set(table.loc["c", "names"])
    assert panel.tail_margin == pytest.approx(table.loc["c", "margins"].iloc[-1])


def test_cells_are_read_back_by_the_nearer_mean(cells):
    rows = cobic.markers(cells, "type", n=2).query("group == 'c'")
    scores = divided(cells.X)[:, [cells.var_names.get_loc(name) for name in rows["names"]]].mean(axis=1)
    inside = (cells.obs["type"] == "c").to_numpy()
    nearer = np.abs(scores - scores[inside].mean()) < np.abs(scores - scores[~inside].mean())
    assert rows["read_back"].iloc[1] == pytest.approx((nearer[inside].mean() + (~nearer[~inside]).mean()) / 2)


@pytest.mark.parametrize("form", FORMS)
def test_form_place_and_cells_without_a_group_change_nothing(cells, form):
    expected = cobic.markers(cells, "type", n=2)
    more = anndata.concat([cells, cells[:2]], index_unique="-")
    more.X = FORMS[form](more.X)
    more.obs["type"] = pd.Categorical([*cells.obs["type"], None, ""], ["c", "a", "b", ""])
    more.layers["counts"] = more.X.copy()
    pd.testing.assert_frame_equal(cobic.markers(more, "type", n=2), expected)
    more.raw = more.copy()
    more.X = FORMS[form](np.ones(more.shape))
    pd.testing.assert_frame_equal(cobic.markers(more, "type", n=2), expected)
    pd.testing.assert_frame_equal(cobic.markers(more, "type", n=2, layer="counts"), expected)
    assert more.uns["cobic_markers"]["params"]["use_raw"] is False
    assert (cobic.markers(more, "type", n=2, use_raw=False)["scores"] == 0).all()


def test_one_cell_and_constant_genes(cells):
    cells.X[:, 0] = 0.0
    cells.obs["type"] = ["alone", *["rest"] * 23]
    table = cobic.markers(cells, "type", n=8).set_index("group")
    assert np.isfinite(table[["scores", "margins", "read_back"]]).all(axis=None)
    assert np.isnan(table.loc["alone", "pvals"]).all()
    assert table[table["names"] == "g0"]["scores"].tolist() == [0.0, 0.0]


def test_it_can_be_written_and_read(cells, tmp_path):
    cobic.markers(cells, "type", key_added="best")
    cells.write_h5ad(tmp_path / "cells.h5ad")
    back = anndata.read_h5ad(tmp_path / "cells.h5ad").uns["best"]
    assert back["names"].dtype.names == ("c", "a", "b")  # in the order of the categories
    assert [list(row) for row in back["names"]] == [list(row) for row in cells.uns["best"]["names"]]
    assert back["params"]["groupby"] == "type"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groupby": "kind"}, "adata.obs has no column 'kind': its columns are type"),
        ({"n": 9}, "n is 9: there are 8 genes"),
        ({"n": 0}, "n is 0"),
        ({"layer": "counts"}, "adata has no layer 'counts'"),
        ({"use_raw": True}, "adata.raw is empty"),
        ({"use_raw": True, "layer": "counts"}, "choose one of them"),
    ],
)
def test_what_cannot_be_is_one_line(cells, change, message):
    with pytest.raises(InputError, match=message):
        cobic.markers(cells, **{"groupby": "type", **change})
    assert "cobic_markers" not in cells.uns


def test_a_value_that_is_none_is_named(cells):
    cells.X[3, 2] = np.nan
    with pytest.raises(InputError, match="cell 'c3', gene 'g2' is nan"):
        cobic.markers(cells, "type")


def test_every_blood_cell_type_has_its_markers(blood):
    table = cobic.markers(blood, "bulk_labels", n=5)
    assert table.groupby("group", observed=True).size().tolist() == [5] * 10
    assert (table["scores"] > 0).all()
    markers = table.groupby("group", observed=True)["names"].agg(set)
    known = {
        "CD19+ B": {"CD79A", "MS4A1"},
        "CD56+ NK": {"GNLY", "NKG7"},
        "CD14+ Monocyte": {"AIF1", "LST1"},
        "Dendritic": {"CST3", "HLA-DRA"},
        "CD8+ Cytotoxic T": {"CCL5", "GZMA"},
        "CD8+/CD45RA+ Naive Cytotoxic": {"CD8B", "CCR7"},
        "CD4+/CD25 T Reg": {"CD3D", "IL32"},
    }
    assert all(genes <= markers[group] for group, genes in known.items())
    assert (table.groupby("group", observed=True)["read_back"].last() > 0.8).all()


def test_what_is_told_beside_is_as_scanpy_tells_it(scanpy, blood):
    mine = cobic.markers(blood, "bulk_labels", n=765).set_index(["group", "names"])
    told = ["logfoldchanges", "pvals", "pvals_adj"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scanpy.tl.rank_genes_groups(blood, "bulk_labels", method="t-test", key_added="t")
        theirs = scanpy.get.rank_genes_groups_df(blood, None, key="t").set_index(["group", "names"]).loc[mine.index]
    for name in told:
        np.testing.assert_allclose(mine[name].fillna(1), theirs[name], rtol=2e-3, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("kind", ["", "_dotplot", "_matrixplot", "_stacked_violin", "_heatmap", "_tracksplot"])
def test_scanpy_draws_them(scanpy, blood, kind):
    import matplotlib.pyplot as plt

    cobic.markers(blood, "bulk_labels", n=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scanpy.tl.dendrogram(blood, "bulk_labels")
        getattr(scanpy.pl, f"rank_genes_groups{kind}")(blood, key="cobic_markers", show=False)
    texts = [text.get_text() for axes in plt.gcf().axes for text in axes.findobj(plt.Text)]
    plt.close("all")
    assert any("CD79A" in text for text in texts) or kind == ""


def test_scanpy_reads_them_and_draws_a_table_of_them(scanpy, blood):
    import matplotlib.pyplot as plt

    table = cobic.markers(blood, "bulk_labels", n=3)
    genes = {group: rows["names"].tolist() for group, rows in table.groupby("group", observed=True)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read = scanpy.get.rank_genes_groups_df(blood, None, key="cobic_markers")
        scanpy.pl.dotplot(blood, genes, groupby="bulk_labels", show=False)
    plt.close("all")
    assert read["names"].tolist() == table["names"].tolist()
    np.testing.assert_allclose(read["scores"], table["scores"])


def test_values_that_are_no_logarithms_have_no_fold_changes_and_markers_all_the_same(cells):
    cells.X *= np.array([1e4, -1e4, *[1] * 6])
    cells.X[:, 2] = np.where(cells.obs["type"] == "a", 1, 1e5)  # one of the means is beyond all counts
    assert np.isfinite(cobic.markers(cells, "type", n=8)[["scores", "margins"]]).all(axis=None)
