"""The first hour of somebody with files of their own: what they have is understood, and what they are told helps."""

import re
import shlex
import tarfile
from pathlib import Path

import numpy as np
import pytest

import cobic
from clocks import Ticking, time_by
from cobic.analyses import margin
from cobic.analyses.tracing import NoPathError
from cobic.certified.approach import Approach
from cobic.cli import main
from cobic.io import table_text

PAGE = Path(__file__).parents[1] / "docs" / "first.md"


@pytest.fixture(scope="module")
def data():
    return cobic.datasets.make_expression(n_features=120, seed=3)


@pytest.fixture(scope="module")
def table(data, tmp_path_factory):
    file = tmp_path_factory.mktemp("table") / "ok.csv"
    file.write_text(table_text(data))
    return file


def out_of(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def without_numbers(text):
    return re.sub(r"[-−]?\d+(\.\d+)?", "#", text)


@pytest.mark.real_data
def test_the_transcript_is_what_happens_and_inspect_proposes_it(real_data, tmp_path, monkeypatch, capsys):
    with tarfile.open(real_data / "binary" / "alon.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.chdir(tmp_path)
    console = re.search(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    commands = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", console, re.MULTILINE)
    assert len(commands) <= 5
    proposed = commands[0][1]
    for place, (command, told) in enumerate(commands):
        code, out, err = out_of(capsys, *shlex.split(command)[1:])
        assert (code, err) == (0, "")
        assert out == told if place < 2 else without_numbers(out).split() == without_numbers(told).split()
        assert place == 0 or command in proposed
    assert "3 of 19 samples are not given their class" in out
    assert "New samples" in Path("panel/report.html").read_text(encoding="utf-8")


def test_where_time_ends_before_the_bound_there_is_a_selection_of_fewer_features(data, monkeypatch):
    problem = cobic.Problem(data.X, data.y, alpha=90)

    def bound_takes_all_the_time(self, beginning):
        while not self._explorer.budget.exhausted():
            pass

    with time_by(Ticking()):
        monkeypatch.setattr(Approach, "run", bound_takes_all_the_time)
        result = cobic.solve(problem, time_limit=2000)
    assert result.consistent
    assert result.n_selected > 2


def test_nothing_found_has_a_code_of_its_own_and_says_what_to_try(table, capsys, monkeypatch):
    asked = ("select", table, "--labels", "class", "--time-limit", "1e-9")
    code, out, _ = out_of(capsys, *asked, "--alpha", "90")
    assert code == 5
    assert "No consistent selection was found before the time limit.\n" in out
    alpha = re.search(r"--alpha (\S+) ", out)[1]
    assert "--slack-penalty auto" in out
    assert "--time-limit" in out
    assert "cobic panel" in out
    monkeypatch.undo()
    code, out, _ = out_of(capsys, *asked[:-2], "--alpha", alpha, "--time-limit", "20", "-O", "max_programs=300")
    assert code == 0
    assert "Kept" in out


def test_where_no_selection_exists_a_feasible_margin_is_named(table, capsys):
    code, out, _ = out_of(capsys, "select", table, "--labels", "class", "--alpha", "1000")
    assert code == 3
    assert "--alpha 98.49 " in out
    assert "--time-limit" not in out


def test_a_path_writes_the_answer_of_its_choice(table, tmp_path, capsys):
    asked = (table, "--labels", "class")
    margins = ("--alphas", "0,20", "--cv", "2", "-O", "max_programs=200")
    assert main([*map(str, ("path", *asked, *margins, "--out", tmp_path / "curve"))]) == 0
    for command in (
        ("verify", tmp_path / "curve" / "certificate.json", *asked),
        ("classify", tmp_path / "curve" / "model.json", *asked),
        ("report", tmp_path / "curve", *asked, "--path", tmp_path / "curve", "--force"),
    ):
        assert out_of(capsys, *command)[0] == 0


@pytest.mark.parametrize("ending", ["tumour", "7"])
def test_a_first_line_of_data_is_asked_about(tmp_path, ending, capsys):
    rng = np.random.default_rng(0)
    lines = [f"{'ab'[row % 2]}{ending},{','.join(f'{value:.2f}' for value in rng.normal(size=9))}" for row in range(8)]
    file = tmp_path / "table.csv"
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(cobic.InputError, match=r"line 1 looks like data.*--header-row 0"):
        cobic.read(file, labels_from_names="^[ab]")
    assert cobic.read(file, header_row=0).X.shape == (8, 9)
    code, out, _ = out_of(capsys, "inspect", file)
    assert code == 0
    assert "8 samples × 9 features" in out
    assert "--header-row 0" in out.splitlines()[-5]


def test_names_that_are_numbers_are_names(tmp_path):
    (tmp_path / "table.csv").write_text("gene,1,2,3,4\nx,1.5,2,3,1.5\ny,2,2.5,1,1\n")
    assert cobic.read(tmp_path / "table.csv", features_in_rows=True).sample_names == ("1", "2", "3", "4")


@pytest.mark.parametrize("heading", ["", "class\n"])
def test_labels_may_be_a_column_in_the_order_of_the_samples(tmp_path, heading):
    rows = "\n".join(f"{at},{at % 3}.5,{at % 2}.25" for at in range(6))
    (tmp_path / "table.csv").write_text(f"g1,g2,g3\n{rows}\n")
    (tmp_path / "classes.txt").write_text(heading + "1.0e+00\n2.0e+00\n" * 3)
    read = cobic.read(tmp_path / "table.csv", labels_file=tmp_path / "classes.txt", features_in_rows=False)
    assert read.y.tolist() == ["1", "2"] * 3
    (tmp_path / "classes.txt").write_text("1\n2\n1\n")
    with pytest.raises(cobic.InputError, match="fits the other side"):
        cobic.read(tmp_path / "table.csv", labels_file=tmp_path / "classes.txt", features_in_rows=False)


def test_new_samples_without_names_are_matched_by_place_or_refused(tmp_path, capsys):
    rng = np.random.default_rng(1)
    X = np.round(rng.normal(size=(8, 5)) + np.repeat([[0, 3], [3, 0]], 4, axis=0)[:, [0, 0, 1, 1, 1]], 2)
    text = "\n".join(",".join(map(str, row)) for row in X.tolist()) + "\n"
    for name, content in {
        "old.csv": "\n".join(f"{'ab'[at // 4]},{line}" for at, line in enumerate(text.splitlines())),
        "new.csv": text,
        "shifted.csv": "\n".join(f"{at},{line}" for at, line in enumerate(text.splitlines())),
    }.items():
        (tmp_path / name).write_text(content)
    place = ("--header-row", "0")
    assert (
        main([*map(str, ("select", tmp_path / "old.csv", "--labels", "column_1", *place, "--out", tmp_path / "a"))])
        == 0
    )
    capsys.readouterr()
    model = tmp_path / "a" / "model.json"
    code, out, err = out_of(capsys, "classify", model, tmp_path / "new.csv", *place)
    assert code == 0
    assert [line.split(",")[1] for line in out.splitlines()[1:]] == ["a"] * 4 + ["b"] * 4
    assert "matched by their places" in err
    code, out, err = out_of(capsys, "classify", model, tmp_path / "shifted.csv", *place)
    assert (code, out) == (2, "")
    assert "has 6 features and the model 5" in err


def test_a_part_is_held_out(table, data, tmp_path, capsys):
    code, _, _ = out_of(capsys, "split", table, "--labels", "class", "--test", "0.25", "--out", tmp_path / "parts")
    assert code == 0
    train, test = (cobic.read(tmp_path / "parts" / f"{name}.csv", "class") for name in ("train", "test"))
    assert not {*train.sample_names} & {*test.sample_names}
    assert {*train.sample_names} | {*test.sample_names} == {*data.sample_names}
    assert test.class_sizes == {"A": 7, "B": 3}
    for part in (train, test):
        rows = [data.sample_names.index(name) for name in part.sample_names]
        assert (data.X[rows] == part.X).all()
        assert part.y.tolist() == data.y[rows].tolist()
    code, _, err = out_of(capsys, "split", table, "--labels", "class", "--test", "0", "--out", tmp_path / "none")
    assert code == 2
    assert "--test 0 holds no sample" in err


def test_a_margin_is_a_share_of_the_largest_or_cross_validated(data, table, tmp_path, capsys):
    largest = cobic.path(data.X, data.y, cv=None, n_margins=2, method_options={"max_programs": 30}).largest.found
    some = cobic.ConsistentBiclustering(alpha="30%", method_options={"max_programs": 30}).fit(data.X, data.y)
    assert some.alpha_ == pytest.approx(0.3 * largest, rel=0.05)
    assert some.result_.consistent
    whole = cobic.ConsistentBiclustering(alpha="100%", method_options={"max_programs": 30}).fit(data.X, data.y)
    assert whole.alpha_ > 3 * some.alpha_
    assert whole.result_.consistent
    assert (whole.margins_ > 0).all()
    asked = ["--alpha", "30%", "-O", "max_programs=30", "--out", tmp_path / "answer"]
    code, out, _ = out_of(capsys, "select", table, "--labels", "class", *asked)
    assert code == 0
    assert re.search(r"^alpha = [\d.]+ is 30% of [\d.]+, the largest", out, re.MULTILINE)
    code, out, _ = out_of(capsys, "verify", tmp_path / "answer" / "certificate.json", table, "--labels", "class")
    assert code == 0, out


def test_the_cross_validated_margin_is_that_of_the_path(data):
    asked = {"alphas": [0, 20], "cv": 3, "method_options": {"max_programs": 30}}
    curve = cobic.path(data.X, data.y, **asked)
    model = cobic.ConsistentBiclusteringCV(**asked).fit(data.X, data.y)
    assert model.alpha_ == curve.chosen
    assert model.reason_ == curve.reason
    assert model.cv_results_["cv_error"].tolist() == curve.table["cv_error"].tolist()
    assert model.n_selected_ >= curve.chosen_result.n_selected
    assert (model.predict(data.X) == data.y).all()


def test_a_search_for_the_margin_that_ran_out_of_time_says_so(data, monkeypatch):
    def in_vain(*_, **__):
        raise NoPathError

    monkeypatch.setattr(margin, "path", in_vain)
    chosen = margin.choose_alpha(cobic.Problem(data.X, data.y), "auto", margin.TimeLeft(None))
    assert chosen.words == "alpha = 0, as no selection was found even without a margin"
    limited = margin.choose_alpha(cobic.Problem(data.X, data.y), "auto", margin.TimeLeft(1000.0))
    assert re.fullmatch(rf"{chosen.words} in [\d.]+ s, the share of a fit in the time limit", limited.words)


def test_where_hard_margins_become_soft_ones_that_is_loud(data):
    with pytest.warns(cobic.InconsistentDataWarning) as caught:
        model = cobic.ConsistentBiclustering(alpha=1000, method_options={"max_programs": 30}).fit(data.X, data.y)
    words = str(caught[0].message)
    assert "alpha = 98.49 is feasible" in words
    assert f"keep {model.n_selected_} of 120 features and" in words
    assert "do not compare" in words
    with pytest.raises(cobic.InputError, match=r"alpha = 98.49 is feasible"):
        cobic.ConsistentBiclustering(alpha=1000, on_infeasible="raise").fit(data.X, data.y)


def test_a_fit_has_one_time_limit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 30)), np.arange(60) % 2
    with time_by(Ticking(0.01)) as clock, pytest.warns(cobic.InconsistentDataWarning):
        cobic.ConsistentBiclustering(alpha=0.5, time_limit=10.0).fit(X, y)
    assert clock.tick * clock.looks < 1.2 * 10.0


def test_what_was_cut_short_is_said(table, tmp_path, capsys):
    asked = (table, "--labels", "class", "--time-limit", "5")
    with time_by(Ticking(0.1)):
        code, out, _ = out_of(capsys, "path", *asked, "--alphas", "20,40", "--cv", "2", "--out", tmp_path / "curve")
        assert code == 0
        assert "6 fits were cut short by the time limit" in out
    with time_by(Ticking(0.005)):
        asked = (*asked, "--gap", "0", "--alpha", "30", "--repeats", "3")
        assert re.search(r"\d selections were cut short by the time limit", out_of(capsys, "stability", *asked)[1])


def test_identical_samples_of_two_classes_are_infeasible_at_once(data):
    X = data.X.copy()
    first, second = (int(np.flatnonzero(data.y == cls)[0]) for cls in "AB")
    X[second] = X[first]
    problem = cobic.Problem(X, data.y, sample_names=data.sample_names)
    result = cobic.solve(problem)
    assert (result.status, result.lps) == ("infeasible", 0)
    assert f"{data.sample_names[first]} of class A and {data.sample_names[second]} of class B" in result.reason
    assert cobic.verify(problem, result.certificate).ok
    assert cobic.verify(problem, result.certificate, exact=True).ok
    X[second, 0] += 1.0
    assert not cobic.verify(cobic.Problem(X, data.y), result.certificate).ok
    lower = cobic.Problem(-np.abs(np.array([[1.0, 2], [1, 2], [3, 1]])), ["a", "b", "b"], beta=1.5)
    assert cobic.solve(lower, max_programs=20).lps > 0  # with negative means and β above 1 nothing follows


@pytest.mark.parametrize("estimator", [cobic.ConsistentBiclustering(), cobic.PanelClassifier(size=2)])
@pytest.mark.parametrize("labels", [[None, "a", "b", "a"], ["a", None, "b", "a"], [1, None, 2, 1]])
def test_a_sample_without_a_label_is_one_line(estimator, labels):
    with pytest.raises(cobic.InputError, match="y has no class for 1 sample"):
        estimator.fit(np.eye(4), np.array(labels, dtype=object))


@pytest.mark.parametrize("alpha", ["50", "much", "120%", "%"])
def test_a_margin_that_is_a_text_is_one_line(data, alpha):
    with pytest.raises(cobic.InputError, match=r"alpha is .*: give a number"):
        cobic.ConsistentBiclustering(alpha=alpha).fit(data.X, data.y)
    with pytest.raises(cobic.InputError, match=r"alpha is .*: give a number"):
        cobic.Problem(data.X, data.y, alpha=alpha)


def test_features_that_survive_alike_are_ranked_by_their_effects_and_said_to_be_ties(data, table, capsys):
    options = {"max_programs": 30}
    curve = cobic.path(data.X, data.y, alphas=[0, 40], cv=None, method_options=options)
    last = curve.results[-1].support
    means = np.array([data.X[data.y == cls].mean(axis=0) for cls in ("A", "B")])
    effect = np.abs(means[0] - means[1]) / data.X.std(axis=0)
    wanted = np.flatnonzero(last)[np.argsort(-effect[last], kind="stable")]
    assert np.argsort(curve.survival.ranking)[: last.sum()].tolist() == wanted.tolist()
    margins = ("--alphas", "0,40", "--cv", "0", "-O", "max_programs=30", "--top", "5")
    code, out, err = out_of(capsys, "path", table, "--labels", "class", *margins)
    assert code == 0
    assert f"{last.sum()} features survive alpha = 40 alike" in out
    assert f"cobic panel {table} --labels class --size 5" in err
