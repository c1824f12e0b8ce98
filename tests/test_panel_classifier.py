"""Panels in scikit-learn: its own checks, pipelines and grids, other kinds of table, data that lack something."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import cobic
from cobic import PanelClassifier
from easy_panels import easy

DATA, NEW = easy(0), easy(1)


# A size that most of their data have not, and one that they have: the first are taken whole, the second searched.
@pytest.mark.filterwarnings("ignore::cobic.InconsistentDataWarning", "ignore:size is:UserWarning")
@parametrize_with_checks([PanelClassifier(), PanelClassifier(size=4, target_gap=0.1)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def fitted():
    return PanelClassifier(size=4, tail=0.5).fit(DATA.X, DATA.y)


def test_it_is_the_answer_of_panel(fitted):
    found = cobic.panel(DATA.X, DATA.y, size=4, tail=0.5)
    assert fitted.support_.tolist() == found.support.tolist()
    assert fitted.features_ == found.features
    assert fitted.counts_.tolist() == list(found.counts)
    assert (fitted.tail_margin_, fitted.worst_margin_) == (found.tail_margin, found.worst_margin)
    assert (fitted.bound_, fitted.gap_, fitted.status_) == (found.bound, found.gap, "optimal")
    assert fitted.margins_.min() == found.worst_margin
    assert cobic.verify(fitted.panel_.problem, fitted.certificate_).ok


def test_predictions_are_those_of_the_definition(fitted):
    X = NEW.X
    of = fitted.panel_.problem.problem.feature_classes
    means = np.stack([X[:, fitted.support_ & (of == cls)].mean(axis=1) for cls in (0, 1)], axis=1)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[means.argmax(axis=1)])
    np.testing.assert_allclose(fitted.decision_function(X), means[:, 1] - means[:, 0])
    np.testing.assert_array_equal(fitted.predict_proba(X).argmax(axis=1), means.argmax(axis=1))


def test_the_answer_is_the_same_in_other_kinds_of_table(fitted, as_kind):
    model = PanelClassifier(size=4, tail=0.5).fit(as_kind(DATA.X), DATA.y)
    assert model.support_.tolist() == fitted.support_.tolist()
    assert model.predict(as_kind(NEW.X)).tolist() == fitted.predict(NEW.X).tolist()


def test_names_in_names_out(fitted):
    X = pd.DataFrame(DATA.X, columns=DATA.feature_names)
    model = PanelClassifier(size=4, tail=0.5).set_output(transform="pandas").fit(X, DATA.y)
    assert set(model.features_) == set(model.get_feature_names_out()) == set(model.transform(X).columns)
    assert model.model_.feature_names == tuple(DATA.feature_names)
    assert model.support_.tolist() == fitted.support_.tolist()


def test_pipelines_grids_and_clones():
    pipeline = make_pipeline(PanelClassifier(target_gap=0.1), StandardScaler(), LogisticRegression())
    sizes = {"panelclassifier__size": [2, 6], "panelclassifier__tail": [0.3, 0.5]}
    grid = GridSearchCV(pipeline, sizes, cv=3).fit(DATA.X, DATA.y)
    assert grid.score(NEW.X, NEW.y) > 0.9
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()
    model = PanelClassifier(size={"A": 1, "B": 2}, tail=0.1, fixed_in=[1])
    assert clone(model).get_params() == model.get_params()


def test_a_pickle_predicts_but_has_no_data(fitted):
    loaded = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(loaded.predict(NEW.X), fitted.predict(NEW.X))
    assert not hasattr(loaded, "panel_")
    assert loaded.certificate_ == fitted.certificate_


def test_more_than_there_is_takes_what_there_is():
    with pytest.warns(UserWarning, match="size is 100, more features than these data have: all of them are taken, 24"):
        model = PanelClassifier(size=100).fit(DATA.X, DATA.y)
    assert model.support_.all()
    assert model.status_ == "optimal"
    most = cobic.Problem(DATA.X, DATA.y).feature_class_sizes
    with pytest.warns(UserWarning, match="more features than these data have"):
        model = PanelClassifier(size={"A": 1000, "B": 1}).fit(DATA.X, DATA.y)
    assert model.counts_.tolist() == [most[0], 1]


def test_offsets_groups_and_logs_are_those_of_panel():
    rules = {"offset": True, "groups": ["one", "one", *[None] * 22], "floor": 1.0}
    model = PanelClassifier(size=4, tail=0.5, transformation="log2", **rules).fit(DATA.X, DATA.y)
    found = cobic.panel(DATA.X, DATA.y, size=4, tail=0.5, transform="log2", **rules)
    assert model.support_.tolist() == found.support.tolist()
    assert model.margins_.tolist() == found.margins.tolist()
    means = found.model.means(NEW.X)
    np.testing.assert_array_equal(model.decision_function(NEW.X), means[:, 1] - means[:, 0])
    assert model.predict(NEW.X).tolist() == found.model.predict(NEW.X).tolist()
    np.testing.assert_array_equal(model.transform(NEW.X), NEW.X[:, found.support])  # as they are
    with pytest.warns(UserWarning, match="all of them are taken, 23"):
        assert PanelClassifier(size=24, tail=0.5, groups=rules["groups"]).fit(DATA.X, DATA.y).support_.sum() == 23


def test_a_class_without_features_is_never_predicted():
    X, y = load_wine(return_X_y=True)
    weights = np.where(y == 0, 2.0, 1.0)
    for size in (4, {0: 2, 1: 2, 2: 2}):
        with pytest.warns(cobic.InconsistentDataWarning, match="no feature has its largest mean in class 1"):
            model = PanelClassifier(size=size, weights=weights).fit(X, y)
        assert model.counts_.tolist() == [2, 0, 2] or size == 4
        assert model.counts_.sum() == 4
        others = y != 1
        alone = cobic.panel(X[others], y[others], size=4 if size == 4 else {0: 2, 2: 2}, weights=weights[others])
        assert model.support_.tolist() == alone.support.tolist()
        assert model.predict(X[others]).tolist() == alone.model.predict(X[others]).tolist()
        assert not (model.predict(X) == 1).any()
        assert np.isneginf(model.decision_function(X)[:, 1]).all()
        assert np.isneginf(model.margins_[~others]).all()


def test_one_class_with_all_features_is_always_predicted():
    X, y = np.array([[3.0, 9.0, 4.0], [1.0, 2.0, 3.0], [3.0, 8.0, 4.0]]), [1, 0, 1]
    with pytest.warns(cobic.InconsistentDataWarning, match="in class 0"):
        model = PanelClassifier(size=2).fit(X, y)
    assert (model.support_.tolist(), model.features_, model.status_) == ([True, True, False], (1, 0), "infeasible")
    assert model.predict(X).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"size": 1}, "size is 1: give a whole number from 2"),
        ({"size": "many"}, "size is 'many'"),
        ({"size": {"A": 1, "C": 2}}, "give a number for each of A, B"),
        ({"tail": 2}, "tail is 2"),
        ({"weights": [1.0]}, "one number of at least 0 per sample"),
        ({"time_limit": 0}, "time_limit is 0"),
        ({"fixed_in": ["x"]}, "the features have none"),
    ],
)
def test_mistakes_are_named(choices, words):
    with pytest.raises(ValueError, match=words):
        PanelClassifier(**choices).fit(DATA.X, DATA.y)


def test_verbose_tells_how_it_goes(capsys):
    PanelClassifier(size=4, tail=0.5, verbose=True).fit(DATA.X, DATA.y)
    assert "[cobic]" in capsys.readouterr().out
