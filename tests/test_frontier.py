"""Panels of several sizes: what the table says, which size is taken, files, and runs that are stopped and go on."""

import json
import statistics
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import PredefinedSplit, StratifiedKFold

import cobic
from clocks import CtrlC, time_by
from cobic.analyses.folds import add_shortfalls, margins_of
from cobic.analyses.frontier import default_sizes
from cobic.answer.frontier import choose_size, read_frontier
from cobic.cli import main
from cobic.io import table_text
from easy_panels import easy

DATA = easy(0)
ASKED = {"sizes": [2, 6, 24], "tail": 0.5, "cv": 3}


@pytest.fixture(scope="module")
def found():
    return cobic.frontier(DATA.problem(), **ASKED)


def test_each_size_has_its_best_panel(found):
    names = "size counts tail_margin bound gap status worst_margin read_back seconds"
    judged = "cv_error cv_se cv_shortfall cv_shortfall_se chosen"
    assert list(found.table) == [*names.split(), *judged.split()]
    for size, row in zip(ASKED["sizes"], found.table.to_dict("records")):
        alone = cobic.panel(DATA.X, DATA.y, size=size, tail=0.5)
        kept = found.panels[size]
        assert (row["size"], row["tail_margin"], row["status"]) == (size, alone.tail_margin, "optimal")
        assert row["counts"] == " + ".join(map(str, alone.counts))
        assert row["read_back"] == (alone.margins > 0).sum()
        assert kept.support.tolist() == alone.support.tolist()
        assert cobic.verify(kept.problem, kept.certificate).ok
    assert found.panel is found.panels[found.chosen]
    assert "choose" in repr(found)


def test_all_pairs_in_rationals(found):
    """The first row against a complete search that is not ours."""
    X = [[Fraction(float(value)) for value in row] for row in DATA.X]
    of = DATA.problem().feature_classes
    best = max(
        sum(sorted((row[a] - row[b]) * (1 if cls == "A" else -1) for row, cls in zip(X, DATA.y))[:20]) / 20
        for a, b in combinations(range(24), 2)
        for a, b in [(a, b) if of[a] == 0 else (b, a)]
        if {of[a], of[b]} == {0, 1}
    )
    assert found.table["tail_margin"][0] == pytest.approx(float(best), rel=1e-9)


def test_held_out_samples_are_judged_by_panels_chosen_in_the_folds(found):
    folds = StratifiedKFold(3, shuffle=True, random_state=0).split(DATA.X, DATA.y)
    wrong, margins = [], {size: [] for size in ASKED["sizes"]}
    for train, test in folds:
        for size in ASKED["sizes"]:
            alone = cobic.panel(DATA.X[train], DATA.y[train], size=size, tail=0.5, split="even")
            first, second = alone.model.means(DATA.X[test]).T
            margins[size] += np.where(DATA.y[test] == alone.model.classes[0], first - second, second - first).tolist()
        wrong.append((alone.model.predict(DATA.X[test]) != DATA.y[test]).mean())
    assert found.table["cv_error"].iloc[-1] == pytest.approx(np.mean(wrong))
    assert found.table["cv_se"].iloc[-1] == pytest.approx(np.std(wrong, ddof=1) / np.sqrt(3))
    typical = {size: statistics.median(map(abs, each)) for size, each in margins.items()}
    short = {size: [max(0.0, 1 - one / typical[size]) for one in each] for size, each in margins.items()}
    mean = {size: statistics.fmean(each) for size, each in short.items()}
    least = min(mean, key=mean.get)
    for row in found.table.to_dict("records"):
        more = [here - there for here, there in zip(short[row["size"]], short[least], strict=True)]
        assert row["cv_shortfall"] == pytest.approx(mean[row["size"]])
        assert row["cv_shortfall_se"] == pytest.approx(statistics.stdev(more) / np.sqrt(len(more)))


def test_the_smallest_size_within_a_standard_error_is_taken(found):
    table = pd.DataFrame({"size": [2, 5, 10], "tail_margin": 1.0, "cv_shortfall": [0.3, 0.15, 0.1]})
    table["cv_shortfall_se"] = [0.1, 0.06, 0.0]
    assert choose_size(table)[0] == 5
    assert choose_size(table.assign(cv_shortfall_se=[0.2, 0.01, 0.0]))[0] == 2  # each by its own difference
    assert choose_size(table.assign(cv_shortfall_se=0.01))[0] == 10
    assert choose_size(table.assign(cv_shortfall_se=np.nan))[0] == 10
    assert choose_size(table.assign(cv_shortfall=[np.nan, 0.15, 0.1]))[0] == 5
    assert choose_size(table.assign(cv_shortfall=np.nan)) == (None, "no size could be fitted in all folds")
    assert choose_size(table[["size", "tail_margin"]]) == (None, "without cross-validation nothing is chosen")
    assert found.table["chosen"].tolist() == (found.table["size"] == found.chosen).tolist()


def test_a_margin_is_above_the_largest_of_the_other_classes():
    means = np.array([[3.0, 1.0, 2.5], [3.0, 1.0, 2.5]])
    assert margins_of(means, np.array([0, 1])).tolist() == [0.5, -2.0]


def test_a_size_that_leaves_samples_close_to_the_border_is_not_taken_for_having_no_more_errors():
    right, close = [2.0] * 30, [*[2.0] * 18, *[0.1] * 12]
    table = pd.DataFrame({"size": [2, 5], "tail_margin": 1.0})
    add_shortfalls(table, np.array([close, right]))
    assert table["cv_shortfall"].tolist() == pytest.approx([12 * 0.95 / 30, 0.0])
    assert choose_size(table)[0] == 5
    add_shortfalls(table, np.zeros((2, 30)))  # nothing is told apart: no share of nothing
    assert table["cv_shortfall"].tolist() == [1.0, 1.0]
    assert choose_size(table)[0] == 2


def test_held_out_classes_of_which_nothing_was_learned_are_errors_and_decide_nothing():
    others = DATA.X[:6] + 5.0 * (np.arange(24) % 3 == 0)
    X, y = np.vstack([DATA.X, others]), np.array([*DATA.y, *["other"] * 6])
    folds = PredefinedSplit([*np.arange(len(DATA.y)) // 2 % 2, *[0] * 6])
    found = cobic.frontier(X, y, sizes=[3, 9], cv=folds)
    assert found.chosen in (3, 9)
    assert np.isfinite(found.table["cv_shortfall"]).all()
    assert (found.table["cv_error"] >= 0.5 * 6 / 26 - 1e-12).all()


def test_sizes_by_default_are_round_and_go_to_the_ends():
    assert default_sizes(DATA.problem()) == [2, 5, 10, 20, 24]
    assert default_sizes(DATA.problem(fixed_in=[0, 4, 8], fixed_out=[1])) == [4, 5, 10, 20, 23]
    assert default_sizes(DATA.problem(), groups=["x"] * 10 + [None] * 14) == [2, 5, 10, 15]


def test_rules_of_panels_are_kept_in_the_folds():
    asked = {"sizes": [2, 4], "cv": 2, "tail": 0.5, "offset": True, "transform": "log2", "floor": 1.0}
    groups = ["one", "one", *[None] * 22]
    found = cobic.frontier(DATA.X, DATA.y, groups=groups, weights=np.arange(40) + 1.0, **asked)
    panel = found.panels[4]
    assert panel.offsets is not None
    assert panel.support[:2].sum() <= 1
    assert panel.problem.problem.transformation.name == "log2"
    assert found.table["cv_error"].notna().all()
    assert found.table["cv_error"].max() < 0.5


def test_a_class_that_lacks_features_in_a_fold_leaves_that_size_open():
    X = np.array([[9.0, 1], [9, 1], [9, 5], [1, 9], [1, 1], [1, 1]])
    found = cobic.frontier(X, [0, 0, 0, 1, 1, 1], sizes=[2], cv=3)
    assert found.chosen is None
    with pytest.raises(cobic.InputError, match="no size was chosen: no size could be fitted in all folds"):
        _ = found.panel


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"sizes": []}, "give whole numbers of features"),
        ({"sizes": [2, 2.5]}, "give whole numbers of features"),
        ({"sizes": 4}, "give whole numbers of features"),
        ({"sizes": [1, 4]}, "size is 1: give a whole number from 2"),
        ({"sizes": [4, 25]}, "size is 25: .* to 24"),
        ({"tail": 2}, "tail is 2"),
        ({"cv": 1}, "cv is 1"),
        ({"time_limit": 0}, "time_limit is 0"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"random_state": -1}, "random_state is -1"),
        ({"offset": True, "beta": 2.0}, "beta"),
    ],
)
def test_bad_input_is_one_line(arguments, words):
    with pytest.raises(cobic.InputError, match=words) as raised:
        cobic.frontier(DATA.X, DATA.y, **{**ASKED, **arguments})
    assert "\n" not in str(raised.value)


def assert_same(one, other):
    assert one.table.drop(columns="seconds").equals(other.table.drop(columns="seconds"))
    assert (one.chosen, one.reason, one.stopped_by) == (other.chosen, other.reason, other.stopped_by)
    for size, panel in one.panels.items():
        assert panel.certificate == other.panels[size].certificate


def test_ctrl_c_keeps_what_is_done_and_the_same_call_goes_on(found, tmp_path, monkeypatch):
    with time_by(CtrlC(at=0)), pytest.raises(KeyboardInterrupt):
        cobic.frontier(DATA.problem(), **ASKED)
    told = []

    def stop(line):
        told.append(line)
        if line.startswith("2 of 3 sizes"):
            raise KeyboardInterrupt

    part = cobic.frontier(DATA.problem(), **ASKED, folder=tmp_path / "steps", on_progress=stop)
    assert part.stopped_by == "interrupt"
    assert part.table["size"].tolist() == [2, 6]
    assert part.chosen is None
    monkeypatch.setattr("cobic.analyses.frontier.panel", counted := Counted())
    whole = cobic.frontier(DATA.problem(), **ASKED, folder=tmp_path / "steps")
    assert_same(whole, found)
    assert counted.sizes[0] == 24
    with pytest.raises(cobic.InputError, match=r"steps of another run .*tail changed"):
        cobic.frontier(DATA.problem(), **{**ASKED, "tail": 0.4}, folder=tmp_path / "steps")


class Counted:
    """Panels, and for which sizes they were asked."""

    def __init__(self):
        self.sizes = []

    def __call__(self, problem, size, **asked):
        self.sizes.append(size)
        return cobic.panel(problem, size=size, **asked)


@pytest.mark.processes
def test_any_number_of_processes_gives_the_same(found):
    assert_same(cobic.frontier(DATA.problem(), **ASKED, n_jobs=2), found)


def test_the_picture_has_margin_bound_error_and_choice(found):
    axes = found.plot()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["no panel is better than this", "tail margin found", f"chosen: {found.chosen}"]
    assert axes.get_xscale() == "log"
    assert cobic.plot.frontier(found, axes) is axes
    axes.figure.canvas.draw()


# --- the command line


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    file = tmp_path_factory.mktemp("frontier") / "data.csv"
    file.write_text(table_text(DATA))
    return file


def command(table, *more):
    return ["frontier", str(table), "--labels", "class", "--sizes", "2,6,24", "--tail", "0.5", "--cv", "3", *more]


@pytest.fixture(scope="module")
def folder(table):
    assert main(command(table, "--out", str(table.parent / "sizes"))) == 0
    return table.parent / "sizes"


def test_the_folder_holds_the_frontier_and_the_chosen_panel(folder, table, found, capsys):
    files = "certificate.json frontier.csv frontier.json frontier.svg model.json panel.csv panel.json report.html"
    assert sorted(file.name for file in folder.iterdir()) == files.split()
    asked = found.panel.problem
    read = read_frontier(folder, asked)
    assert read.drop(columns="seconds").equals(found.table.drop(columns="seconds"))
    data = [str(table), "--labels", "class"]
    assert main(["verify", str(folder / "certificate.json"), *data]) == 0
    assert main(["classify", str(folder / "model.json"), *data, "--json"]) == 0
    assert main(["report", str(folder), *data, "--frontier", str(folder), "--out", str(table.parent / "r.html")]) == 0
    assert "Chosen by cross-validation" in (table.parent / "r.html").read_text()
    assert main(["report", str(folder), *data, "--frontier", str(table.parent), "--out", str(table.parent / "q")]) == 2
    assert "is not a folder of `cobic frontier --out`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"chosen": 24}, "does not follow from its rows"),
        ({"rows": []}, "frontier.json and frontier.csv differ"),
        ({"reason": None}, "is damaged"),
        ({"tail": 0.3}, "another question than the panel: tail"),
        ({"digest": {}}, "is not about these data"),
    ],
)
def test_a_changed_folder_is_refused(folder, found, tmp_path, change, words):
    document = json.loads((folder / "frontier.json").read_text())
    (tmp_path / "frontier.csv").write_text((folder / "frontier.csv").read_text())
    (tmp_path / "frontier.json").write_text(json.dumps({**document, **change}))
    with pytest.raises(cobic.InputError, match=words):
        read_frontier(tmp_path, found.panel.problem)


def test_json_is_one_object(table, found, capsys):
    assert main(command(table, "--json")) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["chosen"] == found.chosen
    assert [row["size"] for row in document["rows"]] == [2, 6, 24]
    assert document["panel"]["features"] == list(found.panel.features)


def test_an_interrupted_run_is_written_and_goes_on(table, found, capsys, monkeypatch):
    out = table.parent / "stopped"

    class Stopping(Counted):
        def __call__(self, problem, size, **asked):
            if len(self.sizes) == 2:
                raise KeyboardInterrupt
            return super().__call__(problem, size, **asked)

    with monkeypatch.context() as patched:
        patched.setattr("cobic.analyses.frontier.panel", Stopping())
        assert main(command(table, "--out", str(out))) == 130
    assert "No choice: it was interrupted" in capsys.readouterr().out
    assert pd.read_csv(out / "frontier.csv")["size"].tolist() == [2, 6]
    assert not (out / "model.json").exists()
    assert main(command(table, "--out", str(out))) == 0
    assert "goes on after 2 finished step(s)" in capsys.readouterr().err
    assert read_frontier(out, found.panel.problem)["size"].tolist() == [2, 6, 24]
    assert not (out / "steps").exists()


@pytest.mark.parametrize("sizes", ["x", "2,,4", "1,4", "2,99", "2.5"])
def test_bad_sizes_on_the_command_line_are_one_line(table, capsys, sizes):
    assert main(["frontier", str(table), "--labels", "class", "--sizes", sizes]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_path_points_to_panels(table, capsys):
    asked = ["path", str(table), "--labels", "class", "--alphas", "0", "--cv", "0", "--top", "3"]
    assert main(asked) == 0
    told = capsys.readouterr().err  # before the work
    assert f"cobic panel {table} --labels class --size 3" in told
