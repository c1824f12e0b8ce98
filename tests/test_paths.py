"""Paths over margins: the figures of single fits, monotony, the choice, the ranking, the largest margin."""

import signal
from dataclasses import replace
from itertools import product

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from sklearn.model_selection import StratifiedKFold

import cobic
from cobic.analyses.path import survival
from cobic.certified.margins import largest_margin
from cobic.search.budget import Budget
from oracle import Oracle
from strategies import TAME, examples, instances

mpl.use("svg")

ALPHAS = [0.0, 15.0, 30.0]
LIMITED = {"max_programs": 60}  # where it does not matter whether the last feature is proven


@pytest.fixture(scope="module")
def data():
    return cobic.datasets.make_expression(n_features=150, class_sizes=(12, 10), contaminated=0.05, seed=3)


@pytest.fixture(scope="module")
def curve(data):
    return cobic.path(data.X, data.y, n_margins=6, cv=3, feature_names=data.feature_names, method_options=LIMITED)


@pytest.mark.long
def test_the_figures_are_those_of_single_fits(data):
    path = cobic.path(data.X, data.y, alphas=ALPHAS, cv=3)
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(data.X, data.y))
    for row in path.table.itertuples():
        model = cobic.ConsistentBiclustering(alpha=row.alpha).fit(data.X, data.y)
        assert model.status_ == row.status == "optimal"
        assert (model.n_selected_, model.upper_bound_) == (row.n_selected, row.upper_bound)
        errors = []
        for train, test in splits:
            part = cobic.ConsistentBiclustering(alpha=row.alpha).fit(data.X[train], data.y[train])
            errors.append(1.0 - part.score(data.X[test], data.y[test]))
        assert row.cv_error == pytest.approx(np.mean(errors))
        assert row.cv_se == pytest.approx(np.std(errors, ddof=1) / np.sqrt(3))


@pytest.mark.processes
def test_n_jobs_makes_no_difference(data):
    one, two = (cobic.path(data.X, data.y, alphas=ALPHAS, cv=3, n_jobs=jobs, method_options=LIMITED) for jobs in (1, 2))
    columns = one.table.columns.drop("seconds")
    assert one.table[columns].equals(two.table[columns])
    np.testing.assert_array_equal(one.survival.ranking, two.survival.ranking)


@pytest.mark.parametrize("jobs", [None, 2])
def test_progress_tells_margins_and_folds(data, jobs):
    lines = []
    choices = {"n_jobs": jobs, "method_options": LIMITED}
    cobic.path(data.X, data.y, alphas=ALPHAS, cv=3, on_progress=lines.append, **choices)
    margins = [line for line in lines if line.startswith("alpha")]
    assert [line for line in margins if ":" not in line] == ["alpha 0", "alpha 15", "alpha 30"]
    assert any(line.startswith("alpha 30: ") and "features, at most" in line for line in margins)
    assert lines[len(margins) :] == [f"cross-validation: {done} of 3 folds done" for done in range(4)]


def test_the_default_grid_reaches_the_largest_margin(data, curve):
    values = curve.table["alpha"]
    assert values[0] == 0.0
    assert len(values) <= 6
    assert curve.table["n_selected"].is_monotonic_decreasing
    assert curve.table["upper_bound"].is_monotonic_decreasing
    assert (curve.table["gap"] >= 0).all()
    assert values.iloc[-1] <= curve.largest.found <= curve.largest.bound
    assert data.problem(values.iloc[-1]).is_consistent(curve.results[-1].support)


def test_the_choice_is_the_largest_within_one_standard_error(curve):
    table = curve.table
    best = table.loc[table["cv_error"].idxmin()]
    within = table[table["cv_error"] <= best["cv_error"] + best["cv_se"]]
    assert curve.chosen == within["alpha"].max()
    assert f"alpha = {curve.chosen:.6g}" in curve.reason


def test_survival_is_the_largest_margin_at_which_a_feature_is_selected(curve):
    supports = np.array([result.support for result in curve.results])
    values = curve.table["alpha"].to_numpy()
    for feature in range(supports.shape[1]):
        selected = values[supports[:, feature]]
        expected = selected.max() if selected.size else np.nan
        assert curve.survival.margin[feature] == pytest.approx(expected, nan_ok=True)
    assert sorted(curve.survival.ranking) == list(range(1, supports.shape[1] + 1))
    order = np.argsort(curve.survival.ranking)
    margins = np.nan_to_num(curve.survival.margin[order], nan=-1.0)
    assert (np.diff(margins) <= 0).all()


def test_the_top_features(curve, data):
    top = curve.top(10)
    assert list(top["rank"]) == list(range(1, 11))
    assert set(top["feature"]) <= set(data.feature_names)
    assert top["survives"].is_monotonic_decreasing
    assert len(curve.top(10_000)) == 150


def test_the_strongest_selection_leads_the_ranking(curve):
    strongest = curve.results[-1]
    assert set(curve.survival.ranking[strongest.support]) == set(range(1, strongest.n_selected + 1))


def test_paths_over_beta(data):
    path = cobic.path(data.X, data.y, betas=[1.0, 1.1, 1.2], cv=None)
    assert list(path.table["beta"]) == [1.0, 1.1, 1.2]
    assert path.chosen is None
    assert "cv_error" not in path.table
    single = cobic.solve(data.problem(beta=1.2))
    assert path.table["status"].iloc[-1] == single.status == "optimal"
    assert path.table["n_selected"].iloc[-1] == single.n_selected


def test_the_default_grid_over_beta(data):
    path = cobic.path(np.abs(data.X), data.y, betas="auto", n_margins=4, cv=None, method_options=LIMITED)
    assert path.table["beta"][0] == 1.0
    for result, beta in zip(path.results, path.table["beta"]):
        assert cobic.Problem(np.abs(data.X), data.y, beta=beta).is_consistent(result.support)


def test_soft_paths(data):
    path = cobic.path(data.X, data.y, slack_penalty=0.05, n_margins=4, cv=3, method_options=LIMITED)
    assert len(path.table) == 4
    assert path.table["objective"].is_monotonic_decreasing
    assert (path.table["objective"] <= path.table["objective_bound"]).all()


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(instance=instances(values=TAME, max_features=6))
def test_no_selection_exceeds_the_bound_on_the_largest_margin(instance):
    X, y = instance
    problem = cobic.Problem(X, y)
    if not problem.feature_class_sizes.all():
        return
    oracle = Oracle(X, y)
    worst = [oracle.margins(support) for support in product((0, 1), repeat=X.shape[1])]
    best = max(float(min(margins)) for margins in worst if margins is not None)
    largest = largest_margin(problem, "alpha", Budget(None, None, problem.n_selectable))
    assert largest.found <= best + 1e-9
    assert largest.bound >= best - 1e-6
    assert problem.worst_margin(largest.support) == pytest.approx(largest.found)


def test_the_estimator_ranks_on_demand():
    data = cobic.datasets.make_expression(16, class_sizes=(6, 5), test_sizes=None, contaminated=0.1, seed=0)
    model = cobic.ConsistentBiclustering().fit(data.X, data.y)
    np.testing.assert_array_equal(model.ranking_, survival(data.problem(), start=[model.support_]).ranking)


def test_a_picture(curve):
    axes = curve.plot()
    assert axes.get_xlabel() == "margin α"
    assert len(axes.figure.axes) == 2  # features, and errors


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"alphas": [0.0], "betas": [1.0]}, "give alphas or betas, not both"),
        ({"alphas": [-1.0]}, "at least 0"),
        ({"betas": [0.5]}, "at least 1"),
        ({"alphas": []}, "give finite numbers"),
        ({"n_margins": 1}, "n_margins is 1"),
        ({"n_margins": True}, "n_margins is True"),
        ({"alphas": "many"}, "alphas is 'many': give finite numbers"),
        ({"alpha": 5.0}, "alpha is given, but alphas are varied"),
        ({"alphas": [0.0], "cv": 1}, "give cv of at least 2"),
        ({"alphas": [0.0], "cv": 2.5}, "cv is 2.5: give a number of folds"),
        ({"alphas": [0.0], "n_jobs": 0}, "n_jobs is 0: give a whole number above 0"),
        ({"alphas": [0.0], "random_state": -1}, "random_state is -1: give a whole number of at least 0"),
        ({"alphas": [0.0], "time_limit": "long"}, "time_limit is 'long'"),
        ({"alphas": [0.0], "method_options": {"seed": 1}}, "has no option 'seed'"),
    ],
)
def test_mistakes_are_named(data, choices, words):
    with pytest.raises(cobic.InputError, match=words):
        cobic.path(data.X, data.y, **choices)


def test_a_class_of_one_sample_is_not_cross_validated():
    with pytest.raises(cobic.InputError, match=r"class b has one sample.*cv=None, --cv 0"):
        cobic.path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0]], ["a", "a", "b"], alphas=[0.0])


def test_a_problem_in_place_of_the_data(data):
    choices = {"fixed_out": [0], "groups": [index // 2 for index in range(150)], "feature_names": data.feature_names}
    how = {"alphas": ALPHAS[:2], "cv": 3, "method_options": LIMITED}
    one = cobic.path(data.X, data.y, beta=1.1, **choices, **how)
    other = cobic.path(cobic.Problem(data.X, data.y, beta=1.1, **choices), **how)
    columns = one.table.columns.drop("seconds")
    assert one.table[columns].equals(other.table[columns])
    assert one.top(5).equals(other.top(5))
    assert (other.problem.beta == 1.1).all()
    assert not other.results[0].support[0]


@pytest.mark.parametrize("analysis", [cobic.path, cobic.stability])
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"y": [0, 1]}, "a Problem is given, and y beside it"),
        ({"alpha": 0.0}, "and alpha beside it"),
        ({"y": [0, 1], "beta": 1.0, "ties": "first"}, "and y, beta, ties beside it: it has its own, leave them out"),
    ],
)
def test_a_problem_has_its_own_classes_margins_and_choices(data, analysis, given, words):
    with pytest.raises(ValueError, match=words) as error:
        analysis(data.problem(), **given)
    assert "\n" not in str(error.value)
    with pytest.raises(cobic.InputError, match="y is missing: give the class of each sample, or a Problem"):
        analysis(data.X)


def test_a_margin_of_a_problem_that_is_varied_is_a_mistake(data):
    with pytest.raises(cobic.InputError, match="alpha is given, but alphas are varied"):
        cobic.path(data.problem(5.0), alphas=ALPHAS)


def test_without_a_consistent_selection_there_is_no_path():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((60, 8)), np.arange(60) % 2
    with pytest.raises(cobic.InputError, match=r"there is no path: .* proven; give slack_penalty"):
        cobic.path(X, y)


def interrupt(monkeypatch, at):
    """Let the fit number `at` (from 1) be cut short by Ctrl-C; the list of all fits that were begun."""
    begun = []

    def solve_until_interrupted(problem, *arguments, **options):
        begun.append(problem)
        result = cobic.solve(problem, *arguments, **options)
        return replace(result, stopped_by="interrupt") if len(begun) == at else result

    monkeypatch.setattr("cobic.analyses.tracing.solve", solve_until_interrupted)
    return begun


def test_ctrl_c_in_the_curve_returns_the_curve_so_far(data, monkeypatch):
    begun = interrupt(monkeypatch, at=2)
    path = cobic.path(data.X, data.y, alphas=ALPHAS, cv=3, method_options=LIMITED)
    assert path.stopped_by == "interrupt"
    assert list(path.table["alpha"]) == ALPHAS[:2]
    assert len(begun) == 2
    assert path.chosen is None
    assert "interrupted" in path.reason
    assert "cv_error" not in path.table
    assert len(path.top(3)) == 3


@pytest.mark.parametrize("at", [1, 2, 4, 7])
def test_ctrl_c_on_a_grid_of_its_own_returns_the_curve_so_far(data, monkeypatch, at):
    begun = interrupt(monkeypatch, at)
    path = cobic.path(data.X, data.y, n_margins=6, cv=3, method_options=LIMITED)
    assert path.stopped_by == "interrupt"
    assert len(begun) == at
    assert 1 <= len(path.table) <= 6
    assert path.largest is None or path.table["alpha"].max() <= path.largest.found
    for alpha, result in zip(path.table["alpha"], path.results):
        assert data.problem(alpha).is_consistent(result.support)


def test_ctrl_c_in_the_folds_returns_the_whole_curve(data, monkeypatch):
    begun = interrupt(monkeypatch, at=len(ALPHAS) + 2)
    path = cobic.path(data.X, data.y, alphas=ALPHAS, cv=3, method_options=LIMITED)
    assert path.stopped_by == "interrupt"
    assert list(path.table["alpha"]) == ALPHAS
    assert len(begun) == len(ALPHAS) + 2
    assert "cv_error" not in path.table


def test_ctrl_c_before_anything_is_found_interrupts(data, monkeypatch):
    def nothing(problem, *_arguments, **_options):
        result = cobic.solve(problem, max_programs=1)
        return replace(result, status=cobic.Status.UNKNOWN, stopped_by="interrupt")

    monkeypatch.setattr("cobic.analyses.tracing.solve", nothing)
    with pytest.raises(KeyboardInterrupt):
        cobic.path(data.X, data.y, alphas=ALPHAS)


def test_ctrl_c_while_the_largest_margin_is_sought(data, monkeypatch):
    def interrupted(problem, kind, budget, known):
        signal.raise_signal(signal.SIGINT)
        return largest_margin(problem, kind, budget, known)

    monkeypatch.setattr("cobic.analyses.tracing.largest_margin", interrupted)
    path = cobic.path(data.X, data.y, n_margins=6, cv=3, method_options=LIMITED)
    assert path.stopped_by == "interrupt"
    assert list(path.table["alpha"]) == [0.0]


def test_without_ctrl_c_nothing_stopped_it(curve):
    assert curve.stopped_by is None


@pytest.mark.real_data
def test_golub_path_has_the_published_counts(golub):
    path = cobic.path(golub.X, golub.y, alphas=[0, 10, 20, 50], cv=None)
    assert list(path.table["n_selected"]) == [7080, 7077, 7074, 7062]
    assert set(path.table["status"]) == {"optimal"}


def test_what_a_path_tells_can_be_asked_for_again(data, curve):
    told = [float(f"{value:.6g}") for value in curve.table["alpha"]]
    assert told == curve.table["alpha"].tolist()
    top, row = told[-1], curve.table.iloc[-1]
    assert cobic.Problem(data.X, data.y, alpha=top).is_consistent(curve.results[-1].support)
    assert row["n_selected"] > 0
