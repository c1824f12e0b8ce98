"""The comparison of classifiers: top scoring pairs, what is tuned where, and runs that go on."""

import itertools
import sys
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold

from benchmarks import accuracy
from benchmarks.accuracy import abess, choices, data, elsewhere, ktsp, protocol, rivals, scgenefit, tables
from benchmarks.accuracy.protocol import Cache, Method


@pytest.fixture
def fold():
    """Two classes told apart by some of 40 features, a quarter of the samples held out."""
    rng = np.random.default_rng(0)
    y = np.array(["no", "yes"])[np.arange(80) % 2]
    X = rng.normal(size=(80, 40))
    X[y == "yes", :5] += 2.0
    return data.Fold(X[20:], y[20:], X[:20], (X[20:], X[:20])), y[:20]


def scores_by_hand(X, second):
    """The score of every pair as a fraction."""
    said = {
        (i, j): [Fraction(int((X[part, i] < X[part, j]).sum()), int(part.sum())) for part in (~second, second)]
        for i, j in itertools.permutations(range(X.shape[1]), 2)
    }
    return {pair: yes - no for pair, (no, yes) in said.items()}


@pytest.mark.parametrize("seed", range(8))
def test_top_pairs_are_those_with_the_best_scores(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(15, 7)).astype(float)  # with ties
    second = np.arange(15) % 3 == 0
    scores, taken = scores_by_hand(X, second), set()
    for i, j in ktsp.top_pairs(X, second, 3):
        best = max(score for pair, score in scores.items() if not taken & set(pair))
        assert scores[i, j] == best
        taken |= {i, j}
    assert len(taken) == 6


def test_among_equal_scores_the_pair_whose_ranks_differ_more_comes_first():
    X = np.array([[3.0, 1.0, 9.0, 0.0], [3.0, 1.0, 9.0, 0.0], [1.0, 3.0, 0.0, 9.0], [1.0, 3.0, 0.0, 9.0]])
    second = np.array([False, False, True, True])
    assert ktsp.top_pairs(X, second, 2).tolist() == [[2, 3], [0, 1]]


def test_the_majority_of_pairs_decides():
    pairs = np.array([[0, 1], [2, 3], [4, 5]])
    assert ktsp.votes(pairs, np.array([[0, 1, 0, 1, 1, 0.0], [0, 1, 1, 0, 1, 1.0]])).tolist() == [True, False]


def test_pairs_held_out_one_by_one_are_those_fitted_without_the_sample():
    rng = np.random.default_rng(3)
    X, second = rng.normal(size=(14, 8)), np.arange(14) % 2 == 0
    X[second, :2] += 1.0
    right = 0
    for out in range(14):
        kept = np.arange(14) != out
        pairs = ktsp.top_pairs(X[kept], second[kept], 3)
        right += int(ktsp.votes(pairs, X[[out]])[0] == second[out])
    assert ktsp.leave_one_out(X, second, [1, 3])[3] == right


def test_pairs_on_the_colon_data_are_as_good_as_published(real_data):
    """Tan et al., Bioinformatics 21 (2005), leave one out: 91.1 % by one pair, 90.3 % by k, of which one was taken."""
    X, y = data.everything("alon")
    found = ktsp.leave_one_out(X, y == 2, [1])
    assert found[1] == pytest.approx(0.911 * 62, abs=1)
    assert found[1] == pytest.approx(56, abs=1)  # 90.3 % of 62 samples


@pytest.mark.parametrize("method", [each for each in rivals.all_rivals() if each.name != "abess"], ids=lambda m: m.name)
def test_rivals_keep_to_the_size(fold, method):
    part, truth = fold
    found = method.answers(part, method.sizes)
    assert set(found) == {size for size in method.sizes if isinstance(size, str) or size < 40} | (
        {50, 200} & set(method.sizes) if method.name == "L1 logistic" else set()
    )
    for size, (predicted, features) in found.items():
        assert (predicted == truth).mean() >= 0.7
        if isinstance(size, int):
            assert 1 <= features.size <= size


def test_shrunken_centroids_and_rankings_have_exactly_the_size(fold):
    for method in rivals.all_rivals():
        if method.name in ("shrunken centroids", "F test + SVM", "mRMR + SVM") and 10 in method.sizes:
            assert method.answers(fold[0], [10])[10][1].size == 10


def test_mrmr_leaves_out_what_is_known_already():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 6))
    X[:, 0] += 2.5 * y
    X[:, 1] = X[:, 0] + 0.01 * rng.normal(size=60)  # the same once more
    X[:, 2] += 1.8 * y
    assert rivals.by_f_test(X, y)[:3].tolist() in ([0, 1, 2], [1, 0, 2])
    assert 2 in rivals.by_mrmr(X, y)[:2]


@pytest.mark.parametrize("package", [abess.ABESS, scgenefit.SCGENEFIT], ids=lambda one: one.package)
def test_a_package_is_left_out_with_a_word_where_it_is_missing(package, monkeypatch, capsys):
    monkeypatch.delenv(package.variable, raising=False)
    assert not [method for method in rivals.all_rivals() if package.package in method.name]
    assert f"{package.package} is left out: {package.variable} names no Python" in capsys.readouterr().out


def test_a_package_in_another_python_is_asked_again_after_it_died(fold, monkeypatch):
    script = """
import json, sys
for line in sys.stdin:
    sizes = json.loads(line)["sizes"]
    if 20 in sizes:
        sys.exit(1)
    print(json.dumps([[size, "kept"] for size in sizes]), flush=True)
"""
    package = elsewhere.Elsewhere("COBIC_TEST_PYTHON", "json", script)
    monkeypatch.setenv(package.variable, sys.executable)
    assert package.at_hand()
    assert package.ask(fold[0], [4, "chosen"]) == {4: "kept", "chosen": "kept"}
    assert package.ask(fold[0], [4, 20]) == {}
    assert package.ask(fold[0], [10]) == {10: "kept"}


def seen(part, size, log):
    """A method that knows nothing and remembers what it was shown."""
    log.append((size, part.X.copy(), part.new.copy()))
    means = np.tile([1.0, 0.75], (len(part.new), 1))
    return (np.full(len(part.new), part.y[0]), np.arange(size)), means


def test_margins_inside_are_those_of_the_training_part_alone(fold):
    log = []
    held_out = protocol.inner_margins(partial(seen, log=log))(fold[0])
    assert set(held_out) == set(protocol.SIZES)
    assert held_out[10] == np.where(fold[0].y == "no", 0.25, -0.25).tolist()
    test = {row.tobytes() for row in fold[0].new}
    assert len(log) == 3 * len(protocol.SIZES)
    for _, X, new in log:
        assert not test & {row.tobytes() for row in np.vstack([X, new])}
        assert not {row.tobytes() for row in X} & {row.tobytes() for row in new}


def test_rules_point_at_an_answer_that_is_there():
    right = [1.0] * 86
    held_out = {
        4: [*[-1.0] * 7, *right, *[1.0] * 7],
        10: [-1.0] * 5 + [0.9] * 95,
        20: [*[-1.0] * 5, *right, *[1.0] * 9],
    }
    place = {"data": "golub", "method": "panel, even", "repeat": 0, "fold": 0}
    answers = [{**place, "size": size, "right": [size]} for size in held_out]
    added = choices.with_choices([*answers, {**place, "size": "held out", "margins": held_out}])[4:]
    assert {record["size"]: record["right"] for record in added} == {
        "chosen": [20],  # the shortfall with 10 is 0.0056 more, by the same five samples: 0.0024 would be by chance
        "least shortfall": [20],
        "least error": [10],
        "one standard error": [4],  # 0.07 is below 0.05 + 0.0219
        "one paired standard error": [10],  # 0.02 is above 0.0141
    }


def test_a_run_goes_on_where_it_stopped(tmp_path):
    log = []
    method = Method("seen", protocol.by_size(partial(seen, log=log)), (4, 10))
    protocol.measure(Cache(tmp_path), ["wine"], [method], repeat=0, folds=3)
    assert len(log) == 6
    with (tmp_path / "answers.jsonl").open("a") as stream:
        stream.write('{"data": "wine", "rep')  # cut off
    protocol.measure(Cache(tmp_path), ["wine"], [method], repeat=0)
    kept = Cache(tmp_path)
    assert len(log) == 10
    assert len(kept.records) == 10
    assert sum(sum(record["of"]) for record in kept.records if record["size"] == 4) == 178  # each sample once
    protocol.measure(kept, ["wine"], [method], repeat=0)
    assert len(log) == 10


def test_few_features_are_standardised_in_the_training_part():
    X, y = load_breast_cancer(return_X_y=True)
    train, test = next(StratifiedKFold(5).split(X, y))
    part = data.Fold.of(data.load("breast cancer"), train, test)
    assert np.allclose(part.X.mean(axis=0), 0.0)
    assert np.allclose(part.new, (X[test] - X[train].mean(axis=0)) / X[train].std(axis=0))


def record(name, method, repeat, number, right, size=10, features=(0, 1)):
    place = {"data": name, "method": method, "repeat": repeat, "fold": number, "size": size}
    return {**place, "right": right, "of": [4, 2], "features": list(features), "columns": 9, "seconds": 1.0}


def test_tables_by_hand():
    records = [
        *(record("golub", "a", repeat, n, [4, 2 - repeat]) for repeat in range(2) for n in range(5)),
        *(record("golub", "b", repeat, n, [3, 2], features=(n, n + 1)) for repeat in range(2) for n in range(5)),
        record("golub", "b", 2, 0, [0, 0]),  # a repeat that is not whole
        *(record("alon", name, 0, n, [4, 2]) for name in "ab" for n in range(5)),
        {"data": "golub", "method": "c", "repeat": 0, "fold": 0, "size": 10},  # not possible
    ]
    found = {(line["data"], line["method"]): line for line in tables.lines(records)}
    line = found["golub", "a"]
    assert line["right"] == pytest.approx(100 * (1 + 5 / 6) / 2)
    assert line["se"] == pytest.approx(100 / 12)
    assert line["classes"] == pytest.approx(100 * (1 + 0.75) / 2)
    assert (line["repeats"], line["features"], line["stability"]) == (2, 2.0, 1.0)
    assert found["golub", "b"]["repeats"] == 2
    assert found["golub", "b"]["stability"] < 0.5
    rows = tables.paired(list(found.values()))
    assert [(row["method"], row["mean rank"], row["behind"]) for row in rows] == [
        ("a", "1.2", "0.0"),
        ("b", "1.8", "4.2"),
    ]
    assert list(rows[0].values())[-1] == 2
    (row,) = tables.against(list(found.values()), "b")
    assert list(row.values()) == ["a", 2, "-4.2", 0, 1, 1]  # 8.3 points behind on 30 samples, where 5.0 are by chance


def test_only_repeats_that_are_whole_are_compared():
    margins, folds = {"4": [-1.0, -1.0], "10": [1.0, 1.0]}, range(5)
    records = []
    for name, right in (("golub", 4), ("alon", 2)):
        for place in ((name, "panel, even", repeat, n) for repeat in (0, 1) for n in folds):
            records += [record(*place, [1, 2], 4), record(*place, [right, 2], 10)]
            records += [{**records[-1], "size": "held out", "margins": margins}]
        records += [record(name, "random forest", repeat, n, [4, 2], "all") for repeat in (0, 1) for n in folds]
    records.pop()  # of Alon's second repeat
    kept = tables.comparable(records, range(2))
    assert {(each["data"], each["repeat"]) for each in kept} == {("golub", 0), ("golub", 1), ("alon", 0)}
    golub, alon, mean, beside = tables.rules(tables.lines(kept))
    assert (golub["chosen"], golub["4"], alon["chosen"]) == ("100.0 (2)", "50.0 (2)", "66.7 (2)")
    assert (mean["chosen"], mean["4"], beside["4"]) == ("83.3", "50.0", "-33.3 ± 16.7")
    assert {each["data"] for each in tables.comparable(records, range(1, 2))} == {"golub"}


def test_the_quick_comparison_has_a_line_per_method_and_size():
    rows = accuracy.run(quick=True)
    assert {row["method"] for row in rows} == {"panel, even", "panel", "F test + centroid", "k-TSP"}
    assert all(row["right"] > 75 for row in rows)
    assert [row["data"] for row in accuracy.table(rows)] == ["breast cancer"]
