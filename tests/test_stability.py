import importlib
import signal
import threading
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import cobic
from cobic.analyses.stability import Stability, nogueira, stability, stratified_rows
from cobic.errors import InputError
from cobic.matrix import SparseMatrix
from cobic.search.result import Status

# By its name in sys.modules: the package may have the function under the name of the module.
module = importlib.import_module("cobic.analyses.stability")


@pytest.fixture(scope="module")
def data():
    return cobic.datasets.make_expression(n_features=60, seed=0)


@pytest.fixture(scope="module")
def plain(data):
    return quick(data.X, data.y)


def quick(X, y, **given):
    return stability(X, y, **{"n_repeats": 5, "method": "fixed-point", **given})


def assert_same(one, other):
    np.testing.assert_array_equal(one.frequency, other.frequency)
    assert (one.n_selected, one.index, one.interval, one.n_failed) == (
        other.n_selected,
        other.index,
        other.interval,
        other.n_failed,
    )


def fixed_size(n_runs, n_features, size, rng):
    """Runs that each select `size` features at random."""
    return rng.random((n_runs, n_features)).argsort(axis=1) < size


def uneven(seed, n_runs, n_features):
    """Runs of different sizes that agree in part."""
    rng = np.random.default_rng(seed)
    return rng.random((n_runs, n_features)) < rng.beta(0.6, 0.6, n_features)


# The index


@pytest.mark.parametrize("size", [0, 1, 7, 19, 20])
@pytest.mark.parametrize("n_runs", [2, 3, 10])
def test_runs_that_agree_have_index_1_also_where_the_formula_is_0_over_0(size, n_runs):
    assert nogueira(np.tile(np.arange(20) < size, (n_runs, 1))) == (1.0, (1.0, 1.0))


def test_opposite_runs_have_the_smallest_index():
    assert nogueira([[1, 1, 0, 0], [0, 0, 1, 1]])[0] == pytest.approx(-1.0, abs=1e-15)


def test_random_selections_have_index_0():
    selections = fixed_size(200, 1000, 300, np.random.default_rng(1))
    index, (low, high) = nogueira(selections)
    assert abs(index) < 2e-3
    assert low < 0 < high


@pytest.mark.parametrize(("n_runs", "n_features", "size"), [(2, 5, 2), (7, 30, 11), (20, 50, 49)])
def test_with_equal_sizes_it_is_the_mean_pairwise_index_of_kuncheva(n_runs, n_features, size):
    selections = fixed_size(n_runs, n_features, size, np.random.default_rng(n_runs))
    chance = Fraction(size**2, n_features)
    sets = [set(np.flatnonzero(run).tolist()) for run in selections]
    pairs = [(len(one & other) - chance) / (size - chance) for one, other in combinations(sets, 2)]
    assert nogueira(selections)[0] == pytest.approx(float(sum(pairs) / len(pairs)), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_kappa_of_fleiss_with_runs_as_raters(seed):
    selections = uneven(seed, 9, 25)
    n_runs, n_features = selections.shape
    votes = [(int(column.sum()), n_runs - int(column.sum())) for column in selections.T]
    observed = sum(Fraction(a * (a - 1) + b * (b - 1), n_runs * (n_runs - 1)) for a, b in votes) / n_features
    shares = [Fraction(sum(kind), n_runs * n_features) for kind in zip(*votes)]
    expected = sum(share**2 for share in shares)
    kappa = (observed - expected) / (1 - expected)
    assert nogueira(selections)[0] == pytest.approx(float(kappa), abs=1e-12)


# Its interval


@pytest.mark.parametrize("seed", range(3))
def test_the_variance_is_about_that_of_the_jackknife(seed):
    selections = uneven(seed, 400, 30)
    n_runs = len(selections)
    without = np.array([nogueira(np.delete(selections, run, axis=0))[0] for run in range(n_runs)])
    jackknife = (n_runs - 1) / n_runs * ((without - without.mean()) ** 2).sum()
    _, (low, high) = nogueira(selections, confidence=0.6826894921370859)  # ± one standard error
    assert (high - low) / 2 == pytest.approx(np.sqrt(jackknife), rel=0.01)


def test_the_interval_covers_the_true_value_as_often_as_it_says():
    rng = np.random.default_rng(7)
    probability = rng.beta(0.5, 0.5, 40)
    mean = probability.mean()
    truth = 1 - (probability * (1 - probability)).mean() / (mean * (1 - mean))
    intervals = [nogueira(rng.random((60, 40)) < probability)[1] for _ in range(400)]
    covered = np.mean([low <= truth <= high for low, high in intervals])
    assert 0.9 < covered < 0.985


def test_the_interval_grows_with_the_confidence_and_ends_at_1():
    selections = np.tile(np.arange(20) < 10, (5, 1))
    selections[0, 0] = False
    index, (low, high) = nogueira(selections, 0.5)
    _, (lower, higher) = nogueira(selections, 0.9999)
    assert lower < low < index < high < higher == 1.0


@pytest.mark.parametrize(
    ("selections", "words"),
    [
        ([[1, 0]], r"shape \(1, 2\): give at least two runs"),
        ([1, 0], r"shape \(2,\)"),
        (np.zeros((3, 0)), r"shape \(3, 0\)"),
        ([[0.5, 1.0], [1.0, 0.0]], "true/false"),
    ],
)
def test_selections_that_are_none_are_refused(selections, words):
    with pytest.raises(InputError, match=words):
        nogueira(selections)


# Subsampling


def test_a_problem_in_place_of_the_data(data):
    choices = {"alpha": 5.0, "fixed_out": [2], "feature_names": data.feature_names}
    one, other = quick(data.X, data.y, **choices), quick(cobic.Problem(data.X, data.y, **choices), None)
    assert_same(one, other)
    assert other.feature_names == data.feature_names
    assert other.frequency[2] == 0


def test_every_class_is_in_every_subsample_and_none_is_there_twice():
    sizes = [30, 5, 3, 2, 1]
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(5), sizes))
    seen = set()
    for seed in range(50):
        rows = stratified_rows(labels, 0.3, np.random.default_rng(seed))
        assert np.bincount(labels[rows]).tolist() == [9, 2, 2, 2, 1]
        assert (np.diff(rows) > 0).all()
        seen.update(rows.tolist())
    assert len(seen) == sum(sizes)


def test_runs_see_their_rows_with_their_classes_and_margins(data, monkeypatch):
    drawn = []

    def spy(problem, *given):
        drawn.append(problem)
        return cobic.solve(problem, *given)

    monkeypatch.setattr(module, "solve", spy)
    X = data.X.copy()
    X[:, 0] = np.arange(38)  # the number of the sample
    y, margin = np.where(np.arange(38) < 36, data.y, "C"), np.arange(38) / 100
    X[36:, 1:8] += 1e5
    quick(X, y, alpha=margin, beta=1 + margin, sample_names=[f"s{i}" for i in range(38)])
    assert len(drawn) == 5
    for problem in drawn:
        rows = problem.matrix.columns(np.array([0])).ravel().astype(int)
        assert problem.class_sizes.tolist() == [22, 7, 2]
        np.testing.assert_array_equal(problem.matrix.rows(np.arange(31)), X[rows])
        np.testing.assert_array_equal(problem.classes[problem.labels], y[rows])
        np.testing.assert_array_equal(problem.alpha, margin[rows])
        np.testing.assert_array_equal(problem.beta, 1 + margin[rows])
    assert len({problem.alpha.tobytes() for problem in drawn}) == 5


def test_margins_per_sample_change_the_answer(data, plain):
    assert_same(plain, quick(data.X, data.y, alpha=np.zeros(38), beta=np.ones(38)))
    strict = quick(data.X, data.y, alpha=np.where(data.y == "A", 0.0, 60.0))
    assert sum(strict.n_selected) < sum(plain.n_selected)


# The whole


def test_the_answer_is_what_the_runs_say(data):
    found = stability(data.X, data.y, n_repeats=6, confidence=0.9, feature_names=data.feature_names)
    assert isinstance(found, Stability)
    assert (found.n_repeats, found.n_failed, found.confidence, len(found.n_selected)) == (6, 0, 0.9, 6)
    assert found.frequency.sum() * 6 == pytest.approx(sum(found.n_selected))
    assert set((found.frequency * 6).round(12)) <= set(range(7))
    assert found.interval[0] < found.index < found.interval[1] <= 1
    table = found.table
    assert table.columns.tolist() == ["feature", "frequency"]
    assert sorted(table.feature) == sorted(data.feature_names)
    by_hand = sorted(zip(-found.frequency, range(60), data.feature_names))
    assert list(table.itertuples(index=False, name=None)) == [(name, -minus) for minus, _, name in by_hand]
    text = repr(found)
    assert "\n" not in text
    assert f"{found.index:.3f} (90 % interval {found.interval[0]:.3f}" in text
    assert "of 60 features selected; 6 runs, 0 failed" in text


def test_the_answer_depends_on_the_seed_and_not_on_the_number_of_processes(data, plain):
    assert_same(plain, quick(data.X, data.y, n_jobs=1))
    assert_same(plain, quick(data.X, data.y, n_jobs=2))
    assert (quick(data.X, data.y, random_state=1).frequency != plain.frequency).any()


def test_other_kinds_of_table_give_the_same_answer(data, plain, as_kind):
    assert_same(plain, quick(as_kind(data.X), data.y))


def test_sparse_stays_sparse(data, plain, monkeypatch):
    seen = []

    def spy(problem, *given):
        seen.append(type(problem.matrix))
        return cobic.solve(problem, *given)

    monkeypatch.setattr(module, "solve", spy)
    assert_same(plain, quick(sp.dia_array(data.X), data.y))
    assert set(seen) == {SparseMatrix}


def test_the_names_of_a_frame_are_kept(data, plain):
    frame = pd.DataFrame(data.X, columns=data.feature_names, index=data.sample_names)
    found = quick(frame, pd.Series(data.y, index=data.sample_names))
    assert found.feature_names == data.feature_names
    assert_same(plain, found)
    assert plain.table.feature.dtype.kind == "i"


def test_choices_reach_every_run(data):
    X = data.X.copy()
    X[:, 5] = 3.0  # the same mean in all classes
    assert quick(X, data.y).frequency[5] > 0
    assert quick(X, data.y, ties="exclude").frequency[5] == 0


# Runs without a selection


def test_data_without_consistent_selection_say_so(data):
    with pytest.raises(InputError, match=r"0 of 5 runs found a selection, at least 2 are needed .*: lower alpha or"):
        quick(data.X, data.y, alpha=1e6)


def test_one_selection_is_not_enough(data, monkeypatch):
    runs = iter(range(5))

    def only_once(*given):
        result = cobic.solve(*given)
        return result if next(runs) == 2 else replace(result, status=Status.UNKNOWN)

    monkeypatch.setattr(module, "solve", only_once)
    with pytest.raises(InputError, match="1 of 5 runs found a selection"):
        quick(data.X, data.y)


def test_no_feature_for_a_class_is_named_as_the_reason():
    X = np.ones((8, 3)) + np.repeat([1.0, 0.0], 4)[:, None]
    with pytest.raises(InputError, match=r"\(no feature has its largest mean in class b, .*slack_penalty"):
        quick(X, list("aaaabbbb"))


def test_failed_runs_are_counted_and_left_out(data):
    X = data.X.copy()
    X[0] = 5.0  # no mean of this sample exceeds another: half of the runs can read all of theirs
    found = quick(X, data.y, subsample=0.5, n_repeats=10)
    assert 0 < found.n_failed < 9
    assert len(found.n_selected) == 10 - found.n_failed
    assert min(found.n_selected) > 0
    assert found.frequency.sum() == pytest.approx(np.mean(found.n_selected))


@pytest.mark.parametrize(("status", "counts"), [("feasible", True), ("optimal", True), ("unknown", False)])
def test_success_is_a_matter_of_the_status(data, monkeypatch, status, counts):
    runs = iter(range(5))

    def other_status(*given):
        result = cobic.solve(*given)
        return replace(result, status=Status(status)) if next(runs) == 0 else result

    monkeypatch.setattr(module, "solve", other_status)
    assert quick(data.X, data.y).n_failed == (0 if counts else 1)


def test_samples_that_contradict_the_choices_are_a_failed_run(data, monkeypatch):
    subset = cobic.Problem.subset

    def picky(problem, samples):
        if 0 not in samples:
            message = "this cannot be asked of these samples"
            raise InputError(message)
        return subset(problem, samples)

    monkeypatch.setattr(cobic.Problem, "subset", picky)
    found = quick(data.X, data.y, subsample=0.5, n_repeats=10)
    assert 0 < found.n_failed < 9


def test_ctrl_c_ends_all_runs(data, monkeypatch):
    started = []

    def interrupted(problem, method, time_limit, seed):
        started.append(problem)
        return cobic.solve(problem, method, time_limit, seed, on_progress=lambda _: signal.raise_signal(signal.SIGINT))

    assert threading.current_thread() is threading.main_thread()
    monkeypatch.setattr(module, "solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        quick(data.X, data.y)
    assert len(started) == 1


# What is refused


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n_repeats": 1}, "n_repeats is 1: give a whole number of at least 2"),
        ({"n_repeats": 2.5}, "n_repeats is 2.5"),
        ({"n_repeats": True}, "n_repeats is True"),
        ({"subsample": 0}, "subsample is 0: give a number above 0 and below 1"),
        ({"subsample": 1.0}, "subsample is 1.0"),
        ({"subsample": float("nan")}, "subsample is nan"),
        ({"subsample": "half"}, "subsample is 'half'"),
        ({"subsample": 0.99}, "subsample is 0.99: with classes of 11 to 27 samples every run would get all of them"),
        ({"confidence": 0.0}, "confidence is 0.0"),
        ({"confidence": 95}, "confidence is 95"),
        ({"random_state": -1}, "random_state is -1: give a whole number of at least 0"),
        ({"random_state": None}, "random_state is None"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"n_jobs": 1.5}, "n_jobs is 1.5"),
        ({"method": "magic"}, "there is no method 'magic'"),
        ({"time_limit": 0}, "time_limit is 0"),
        ({"alpha": -1.0}, "alpha is -1"),
        ({"alpha": [1.0, 2.0]}, r"alpha has shape \(2,\) for 38 samples"),
        ({"ties": "last"}, "ties is 'last'"),
        ({"feature_names": ["x"]}, "feature_names has 1 names for 60"),
    ],
)
def test_wrong_arguments_are_refused(data, given, words):
    with pytest.raises(InputError, match=words):
        quick(data.X, data.y, **given)


def test_errors_of_other_processes_are_the_same_errors(data):
    with pytest.raises(InputError, match="there is no method 'magic'"):
        quick(data.X, data.y, method="magic", n_jobs=2)


def test_wrong_data_are_named_by_their_place_among_all_samples(data):
    X = data.X.copy()
    X[30, 4] = np.nan
    with pytest.raises(InputError, match="sample 30, feature 4"):
        quick(X, data.y)
    with pytest.raises(InputError, match="X has 38 samples but y has 37 labels"):
        quick(data.X, data.y[1:])
