"""The scikit-learn face: scikit-learn's own checks, pipelines, other kinds of table, data without an answer."""

import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import cobic
from cobic import ConsistentBiclustering


@pytest.mark.filterwarnings("ignore::cobic.InconsistentDataWarning", "ignore::UserWarning")
@parametrize_with_checks([ConsistentBiclustering(method_options={"max_programs": 200})])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def fitted(expression):
    return ConsistentBiclustering(alpha=10.0).fit(expression.X, expression.y)


def test_it_is_the_answer_of_solve(fitted, expression):
    result = cobic.solve(expression.problem(alpha=10.0))
    np.testing.assert_array_equal(fitted.support_, result.support)
    assert (fitted.n_selected_, fitted.upper_bound_, fitted.status_) == (
        result.n_selected,
        result.upper_bound,
        result.status,
    )
    assert fitted.margins_.min() == result.worst_margin > 0
    assert fitted.violations_.empty
    assert cobic.verify(expression.problem(alpha=10.0), fitted.certificate_).ok


def test_predictions_are_those_of_the_definition(fitted, expression):
    X = expression.test.X
    means = np.stack([X[:, columns].mean(axis=1) for columns in fitted.columns_], axis=1)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[means.argmax(axis=1)])
    np.testing.assert_allclose(fitted.decision_function(X), means[:, 1] - means[:, 0])
    shares = fitted.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(shares.argmax(axis=1), means.argmax(axis=1))
    # By its definition: e times the weight for a lead of the median training margin.
    typical = np.median(np.abs(fitted.margins_))
    np.testing.assert_allclose(np.log(shares[:, 1] / shares[:, 0]), (means[:, 1] - means[:, 0]) / typical, rtol=1e-6)


def test_biclusters(fitted, expression):
    rows, columns = fitted.biclusters_
    assert rows.sum() == expression.X.shape[0]
    assert columns.sum() == fitted.n_selected_
    samples, features = fitted.get_indices(1)
    assert set(expression.y[samples]) == {fitted.classes_[1]}
    assert (fitted.feature_classes_[features] == 1).all()
    assert fitted.get_submatrix(1, expression.X).shape == (samples.size, features.size) == fitted.get_shape(1)


def test_the_answer_is_the_same_in_other_kinds_of_table(fitted, expression, as_kind):
    assert (expression.X.astype(np.float32) == expression.X).all()
    model = ConsistentBiclustering(alpha=10.0).fit(as_kind(expression.X), expression.y)
    np.testing.assert_array_equal(model.support_, fitted.support_)
    np.testing.assert_array_equal(model.predict(as_kind(expression.X)), fitted.predict(expression.X))
    assert model.upper_bound_ == fitted.upper_bound_


@pytest.mark.parametrize(("frame", "kind"), [(pd.DataFrame, "pandas"), (pl.DataFrame, "polars")])
def test_names_in_names_out(expression, frame, kind):
    X = frame(dict(zip(expression.feature_names, expression.X.T)))
    model = ConsistentBiclustering(method="fixed-point").set_output(transform=kind).fit(X, expression.y)
    reduced = model.transform(X)
    assert isinstance(reduced, frame)
    expected = np.array(expression.feature_names)[model.support_]
    assert list(reduced.columns) == list(model.get_feature_names_out()) == list(expected)


def test_transform_and_back(fitted, expression):
    reduced = fitted.transform(expression.X)
    back = fitted.inverse_transform(reduced)
    np.testing.assert_array_equal(back[:, fitted.support_], expression.X[:, fitted.support_])
    assert not back[:, ~fitted.support_].any()


def test_pipelines_grids_and_clones(expression):
    pipeline = make_pipeline(ConsistentBiclustering(method="fixed-point"), StandardScaler(), LinearSVC())
    grid = GridSearchCV(pipeline, {"consistentbiclustering__alpha": [0.0, 20.0]}, cv=3)
    grid.fit(expression.X, expression.y)
    assert grid.score(expression.test.X, expression.test.y) > 0.9
    scores = cross_val_score(ConsistentBiclustering(alpha=5.0, method="fixed-point"), expression.X, expression.y, cv=3)
    assert scores.shape == (3,)
    assert scores.min() > 0.5
    model = ConsistentBiclustering(alpha=3.0, fixed_in=[1])
    assert clone(model).get_params() == model.get_params()


def test_a_pickle_predicts_but_has_no_data(fitted, expression):
    loaded = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(loaded.predict(expression.test.X), fitted.predict(expression.test.X))
    assert len(pickle.dumps(fitted)) < expression.X.nbytes / 2
    assert not hasattr(loaded, "ranking_")


def test_a_refit_ranks_anew():
    X, y = [[5, 1, 1, 4], [4, 2, 2, 9], [1, 6, 1, 2], [2, 5, 3, 3]], ["a", "a", "b", "b"]
    model = ConsistentBiclustering().fit(X, y)
    assert model.ranking_.shape == (4,)
    assert model.fit([row[:3] for row in X], y).ranking_.shape == (3,)


def test_infeasible_data_are_fitted_softly_with_a_warning_that_says_so():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    with pytest.warns(cobic.InconsistentDataWarning, match=r"this is proven.*soft margins") as caught:
        model = ConsistentBiclustering().fit(X, y)
    assert len(caught) == 1
    problem = cobic.Problem(X, y)
    assert cobic.verify(problem, model.infeasibility_certificate_).upper_bound == 0
    assert cobic.verify(problem.softened("auto"), model.certificate_).ok
    assert np.isfinite(model.slack_penalty_)
    assert model.objective_ <= model.objective_bound_
    assert len(model.violations_) == (model.margins_ < 0).sum() > 0
    assert model.score(X, y) > 0.7


@pytest.fixture
def searches(monkeypatch):
    """The searches of an estimator: method, seed and options of each."""
    done = []

    def recorded(problem, method, time_limit, seed, printer, options, part):
        done.append((method, seed, options))
        return cobic.solve(problem, method, time_limit, seed, printer, **options)

    monkeypatch.setattr("cobic.estimator.biclustering.attempt", recorded)
    return done


NOISE = np.random.default_rng(1).standard_normal((60, 8)), np.arange(60) % 2


@pytest.mark.filterwarnings("ignore::cobic.InconsistentDataWarning")
def test_the_soft_fit_has_the_seed_and_the_options_of_the_hard_one(searches):
    generator = np.random.RandomState(5)
    ConsistentBiclustering(random_state=generator, method_options={"max_programs": 30}).fit(*NOISE)
    assert searches[0] == searches[1]
    assert searches[0][1] == np.random.RandomState(5).randint(np.iinfo(np.int32).max)
    assert searches[0][2] == {"max_programs": 30}


@pytest.mark.filterwarnings("ignore::cobic.InconsistentDataWarning")
def test_options_of_another_method_are_not_for_the_soft_fit(searches):
    ConsistentBiclustering(method="fixed-point", method_options={"max_iterations": 3}).fit(*NOISE)
    assert searches == [("fixed-point", 0, {"max_iterations": 3}), ("certified", 0, {})]


def test_ctrl_c_before_a_selection_is_found_interrupts(monkeypatch):
    begun = []

    def interrupted(problem, *_arguments, **_options):
        begun.append(problem)
        return replace(cobic.solve(problem), status=cobic.Status.UNKNOWN, stopped_by="interrupt")

    monkeypatch.setattr("cobic.estimator.biclustering.attempt", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ConsistentBiclustering().fit(*NOISE)
    assert len(begun) == 1


def test_ctrl_c_keeps_the_selection_that_was_found(expression, expression_answer, monkeypatch):
    def interrupted(_problem, *_arguments, **_options):
        return replace(expression_answer[0], status=cobic.Status.FEASIBLE, stopped_by="interrupt")

    monkeypatch.setattr("cobic.estimator.biclustering.attempt", interrupted)
    model = ConsistentBiclustering().fit(expression.X, expression.y)
    assert model.result_.stopped_by == "interrupt"
    assert expression.problem().is_consistent(model.support_)


def test_infeasible_data_can_be_an_error():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(cobic.InputError, match="no consistent selection exists"):
        ConsistentBiclustering(on_infeasible="raise").fit(X, y)


def test_a_class_without_features_is_never_predicted():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(cobic.InconsistentDataWarning, match="no feature has its largest mean in class 1"):
        model = ConsistentBiclustering().fit(X, y)
    assert model.support_.all()
    assert not (model.predict(X) == 1).any()
    assert np.isneginf(model.decision_function(X)[:, 1]).all()
    assert not model.predict_proba(X)[:, 1].any()


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"on_infeasible": "shrug"}, "on_infeasible is 'shrug'"),
        ({"method": "magic"}, "there is no method 'magic'"),
        ({"alpha": -1.0}, "alpha is -1"),
        ({"method_options": {"colour": 1}}, "has no option 'colour'"),
        ({"fixed_in": ["x"]}, "the features have none"),
    ],
)
def test_mistakes_are_named(expression, choices, words):
    with pytest.raises(ValueError, match=words):
        ConsistentBiclustering(**choices).fit(expression.X, expression.y)


def test_missing_values_are_named():
    X = np.ones((6, 3))
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN.* at sample 4, feature 1"):
        ConsistentBiclustering().fit(X, [0, 1, 0, 1, 0, 1])


def test_verbose_tells_how_it_goes(expression, capsys):
    ConsistentBiclustering(verbose=True).fit(expression.X, expression.y)
    assert "features, at most" in capsys.readouterr().out


@pytest.mark.memory
def test_a_large_sparse_matrix_is_not_made_dense():
    rng = np.random.default_rng(0)
    X = sp.random(5000, 20_000, density=0.05, format="csr", random_state=0)
    y = np.arange(5000) % 2
    row = np.repeat(np.arange(5000), np.diff(X.indptr))
    X.data *= 1.0 + 0.2 * (X.indices % 2 == y[row]) + 0.01 * rng.random(X.data.size)
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    tracemalloc.start()
    model = ConsistentBiclustering(method_options={"max_programs": 100}, on_infeasible="raise").fit(X, y)
    model.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.n_selected_ < 20_000
    assert peak < 3 * size
