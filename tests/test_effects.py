"""What describes a feature is what scipy and scikit-learn say of it one by one."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.metrics import roc_auc_score

import cobic
from cobic.answer.curve import Curve, path_files
from cobic.answer.effects import effect_table

NAMES = ["difference", "AUC", "t", "p", "adjusted p"]


@pytest.fixture(scope="module")
def data():
    return cobic.datasets.make_expression(n_features=40, class_sizes=(9, 7, 6), test_sizes=None, seed=4)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, np.float32], ids=["dense", "csr", "float32"])
def test_each_feature_is_described_as_by_scipy_and_scikit_learn(data, kind):
    X = np.where(np.quantile(data.X, 0.3) < data.X, data.X, 0)
    X[:, 3], X[0] = 7.0, 7.0
    problem = cobic.Problem(kind(X), data.y)
    table = effect_table(problem)
    assert list(table) == NAMES
    for feature in range(40):
        inside = data.y == problem.classes[problem.feature_classes[feature]]
        column = X[:, feature] if kind != np.float32 else X[:, feature].astype(np.float32).astype(float)
        mine, rest = column[inside], column[~inside]
        row = table.iloc[feature]
        assert row["difference"] == pytest.approx(mine.mean() - rest.mean(), abs=1e-9)
        assert row["AUC"] == pytest.approx(roc_auc_score(inside, column))
        if feature == 3:
            assert np.isnan(row[["t", "p", "adjusted p"]]).all()
        else:
            expected = stats.ttest_ind(mine, rest, equal_var=False)
            assert (row["t"], row["p"]) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-6)
    known = table["p"].notna()
    adjusted = stats.false_discovery_control(table["p"][known])
    np.testing.assert_allclose(table["adjusted p"][known], adjusted)


def test_a_fold_change_is_called_by_its_name(data):
    problem = cobic.Problem(data.X, data.y, transform="log2", floor=20)
    values = np.log2(np.maximum(data.X, 20))
    table = effect_table(problem)
    assert list(table) == ["log2 fold change", *NAMES[1:]]
    inside = data.y == problem.classes[problem.feature_classes[0]]
    assert table["log2 fold change"][0] == pytest.approx(values[inside, 0].mean() - values[~inside, 0].mean(), abs=1e-6)


def test_a_class_of_one_sample_and_features_in_no_class_have_gaps():
    X = [[5.0, 1, 1, 2], [1, 1, 2, 2], [2, 1, 4, 2]]
    table = effect_table(cobic.Problem(X, ["a", "b", "b"], ties="exclude"))
    assert table["AUC"].isna().tolist() == [False, True, False, True]
    assert table["t"].isna().all()
    assert table["adjusted p"].isna().all()


def test_numbers_near_the_largest_ones_are_no_error():
    table = effect_table(cobic.Problem([[1e200, 1.0], [2e200, 2.0], [0, 5.0], [1.0, 3.0]], ["a", "a", "b", "b"]))
    assert table["AUC"].tolist() == [1.0, 1.0]


def test_selection_and_ranking_have_them_and_are_read_back(data, tmp_path):
    problem = data.problem()
    result = cobic.solve(problem)
    table = cobic.selection_table(problem, result)
    pd.testing.assert_frame_equal(table[NAMES], effect_table(problem))
    path = cobic.path(problem, alphas=[0, 5])
    for name, text in path_files(path).items():
        (tmp_path / name).write_text(text)
    ranking = pd.read_csv(tmp_path / "ranking.csv").set_index("feature")
    np.testing.assert_allclose(ranking.loc[table["feature"], NAMES], table[NAMES])
    assert Curve.read(tmp_path, problem).rank.tolist() == path.survival.ranking.tolist()
