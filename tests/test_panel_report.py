"""The page and the folder of a panel: they say what the answer is, hold together, and show names as names."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import cobic
from cobic.answer.panel_words import panel_explanation, panel_lines, panel_question, panel_sentence
from cobic.cli import main
from cobic.io import table_text
from cobic.problem import PanelProblem
from cobic.report import views
from cobic.report.page import render
from cobic.report.story import PanelStory
from cobic.search.result import Progress, Status
from test_report import EVIL, Page, unpacked

DATA = cobic.datasets.make_expression(n_features=60, seed=0)


def some_panel(X, y, size, bound=None, **asked):
    """A panel without a search: the first features of each class; of a random choice the page says the same."""
    names = {name: asked.pop(name) for name in ("feature_names", "sample_names", "transform", "floor") if name in asked}
    base = cobic.Problem(X, y, **names)
    if isinstance(size, int):
        size = dict.fromkeys(base.classes.tolist(), size // base.n_classes)
    problem = PanelProblem(base, size, **asked)
    support = np.zeros(problem.problem.n_features, dtype=bool)
    for cls, count in enumerate(problem.low):
        support[np.flatnonzero(problem.problem.feature_classes == cls)[:count]] = True
    value = problem.tail_margin(support)
    history = (Progress(0.5, None, 2, 1), Progress(1.0, int(support.sum()), 2, 2, 0, value, value + 2))
    bound = value + 1.0 if bound is None else bound
    return cobic.Panel.of(problem, support, bound, seconds=2.0, history=history, stopped_by=None, certificate={})


def none_found(panel):
    empty = np.zeros_like(panel.support)
    known = {"seconds": 0.1, "history": (), "stopped_by": "time limit", "certificate": {}}
    return cobic.Panel.of(panel.problem, empty, panel.bound, **known)


@pytest.fixture(scope="module")
def found():
    rules = {"feature_names": DATA.feature_names, "sample_names": DATA.sample_names}
    return cobic.panel(DATA.X, DATA.y, size={"A": 3, "B": 2}, tail=0.2, **rules)


@pytest.fixture(scope="module")
def page(found):
    return Page(render(PanelStory(found, "made.csv", "cobic panel made.csv", new=DATA.test)))


def test_the_answer_is_one_sentence(found, page):
    most = f"no panel of 3 + 2 features has a tail margin above {found.bound:.6g}: proven"
    assert panel_sentence(found) == f"5 of 60 features with a tail margin of {found.tail_margin:.6g}; {most}"
    assert panel_sentence(found) in page.text
    assert "Which 5 (3 + 2) of the 60 features tell A and B apart by the widest margin?" in page.text
    assert "cobic panel made.csv" in page.text
    assert found.problem.problem.digest["sha256"] in page.text
    gap = replace(found, status=Status.FEASIBLE, bound=1.5 * found.tail_margin)
    assert panel_sentence(gap).endswith("proven, a gap of 50\u00a0%")
    assert panel_sentence(none_found(found)).startswith("No panel was found; no panel of 3 + 2 features has")


def test_what_it_means_depends_on_the_tail_and_on_who_is_read_back():
    y = np.array(["a", "a", "b", "b"])
    X = np.array([[8.0, 1], [2, 1], [1, 4], [5, 4]])
    two = some_panel(X, y, 2, tail=0.5)
    assert two.tail_margin == 0
    assert "In the worst 50\u00a0% of the 4 samples" in panel_explanation(two)
    assert "on average 0 higher than those of the other class; in the worst sample, 1 lower." in panel_explanation(two)
    assert panel_explanation(two).endswith("1 of the 4 samples is not read back.")
    assert panel_explanation(some_panel(X, y, 2, tail=1.0)).startswith("In the 4 samples, ")
    worst = some_panel(X[:3], y[:3], 2, tail=0.0)
    assert "In the worst of the 3 samples, the features of the sample's own class are on average 1 higher" in (
        panel_explanation(worst)
    )
    assert panel_explanation(worst).endswith("The class of every sample is read back.")
    assert "no panel of 1 + 1 features has a worst margin above" in panel_sentence(worst)


def test_what_is_proven_is_told_in_percent_where_that_means_something(found):
    def proven(tail_margin, bound):
        left = replace(found, status=Status.FEASIBLE, tail_margin=tail_margin, bound=bound)
        return panel_lines(left).splitlines()[-1]

    assert proven(2.0, 3.0) == "Proven: no other panel of 3 + 2 features is better by more than 50 %."
    most = "Proven: no other panel of 3 + 2 features has a tail margin above"
    assert proven(0.5, 3.25) == f"{most} 3.25."  # by 550 %: so little is known about the panel, too
    assert proven(0.0, 3.25) == f"{most} 3.25."  # of which there is no share
    assert proven(-0.5, -0.25) == f"{most} −0.25."


def test_a_small_class_that_is_lost_is_named_with_what_helps():
    y = np.array(["a"] * 8 + ["b"])
    X = np.column_stack([np.r_[np.full(8, 9.0), 8.5], np.r_[np.full(8, 1.0), 1.5]])
    lost = some_panel(X, y, 2, tail=0.3)
    told = "1 of the 9 samples is not read back. These are 1 of 1 of class b"
    cure = ": with balanced weights (--weights balanced) all classes count the same."
    assert told + cure in panel_explanation(lost)
    assert told + cure in panel_lines(lost)
    balanced = some_panel(X, y, 2, tail=0.3, weights="balanced")  # there is no other panel of two
    assert panel_explanation(balanced).endswith(f"{told}.")
    assert panel_explanation(some_panel(X, y, 2, tail=0.0)).endswith(f"{told}.")  # the worst has no weight


def test_under_log2_margins_are_factors_too():
    X, y = np.array([[64.0, 1], [32, 2], [1, 16], [2, 64]]), ["a", "a", "b", "b"]
    panel = some_panel(X, y, 2, tail=0.0, transform="log2")
    assert panel.worst_margin == 4
    assert "4 (16-fold) higher" in panel_explanation(panel)
    page = Page(render(PanelStory(panel)))
    assert page.data["features"]["more"] == [["lead", "lead", 76], ["fold change", "fold", 100]]
    assert unpacked(page.data["features"]["fold"], "<f8") == pytest.approx([2**5.0, 2**4.5])
    assert page.data["strips"]["leads"] == ["32-fold", "22.6-fold"]
    assert np.array_equal(unpacked(page.data["strips"]["values"], "<f4"), np.log2(X).T.ravel())
    assert re.search(r"Values\s+log2", page.text)


def test_the_table_of_the_page_is_that_of_the_panel(found, page):
    table, features = found.table, page.data["features"]
    assert features["name"] == table["feature"].tolist()
    assert np.array_equal(unpacked(features["lead"], "<f8"), table["lead"])
    for cls, packed in zip(found.classes, features["means"], strict=True):
        assert np.array_equal(unpacked(packed, "<f8"), table[f"mean in {cls}"])
    values = unpacked(page.data["strips"]["values"], "<f4").reshape(5, -1)
    columns = [DATA.feature_names.index(name) for name in features["name"]]
    rows = [DATA.sample_names.index(name) for name in page.data["strips"]["samples"]]
    assert np.array_equal(values, DATA.X[np.ix_(rows, columns)].T.astype(np.float32))


@pytest.mark.parametrize("tail", [0.0, 0.1, 0.33, 1.0])
def test_the_shaded_samples_have_the_tail_margin_as_their_mean(tail):
    panel = some_panel(DATA.X, DATA.y, 4, tail=tail)
    view = views.tail_view(panel)
    assert (np.diff(view.margins) >= 0).all()
    assert view.tail == pytest.approx(max(tail * 38, 1.0 if tail == 0 else 0.0))
    shares = np.clip(view.tail - np.arange(38), 0, 1)
    assert (shares * view.margins).sum() / shares.sum() == pytest.approx(panel.tail_margin)
    assert view.misread.sum() == (panel.margins <= 0).sum()


def test_who_is_not_read_back_is_listed():
    panel = some_panel(DATA.X, DATA.y[::-1], 4, sample_names=DATA.sample_names)
    wrong = np.flatnonzero(panel.margins <= 0)
    page = Page(render(PanelStory(panel)))
    assert wrong.size
    part = page.text[page.text.index("Samples that are not read back") :]
    assert all(DATA.sample_names[sample] in part for sample in wrong)
    assert "Diamonds are samples that are not read back." in page.text
    read = panel.problem.problem.classes[panel.read_as]
    assert np.array_equal(read, panel.model.predict(DATA.X))


def test_new_samples_are_counted(found, page):
    wrong = int((found.model.predict(DATA.test.X) != DATA.test.y).sum())
    assert f"{34 - wrong} of 34 samples that took no part are given their class." in page.text
    assert f"{100 * (34 - wrong) / 34:.3g} % accuracy" in page.text
    assert len(page.data["notes"]["newcomers"]["text"]) == 34
    new = replace(DATA.test, y=np.where(np.arange(34) == 5, "C", DATA.test.y))
    other = Page(render(PanelStory(found, new=new)))
    said = next(text for text in other.data["notes"]["newcomers"]["text"] if text.startswith(new.sample_names[5]))
    assert re.search(r" · C · read as [AB] · margin -", said)
    unlabelled = Page(render(PanelStory(found, new=replace(DATA.test, y=None))))
    assert "34 samples without a class were classified" in unlabelled.text
    margins = [float(text.rsplit(" ", 1)[1]) for text in unlabelled.data["notes"]["newcomers"]["text"]]
    assert min(margins) >= 0


def test_the_offsets_are_told():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 8)) + 5 * (np.arange(8) % 2), np.arange(20) % 2
    panel = cobic.panel(X, y, size=4, tail=0.3, offset=True)
    page = Page(render(PanelStory(panel)))
    assert f"Added to the means: {panel.offsets[1]:.4g} to 1." in page.text
    assert "offsets included" in page.text
    assert page.data["notes"]["margins"]["text"][0].endswith(" · not read back") == (panel.worst_margin <= 0)


def test_the_frontier_is_a_table(found):
    frontier = pd.DataFrame(
        {"size": [2, 4, 9], "tail_margin": [1.0, 2.0, 1.5], "bound": [1.0, 2.5, 1.8], "cv_error": [0.2, 0.1, np.nan]}
    ).assign(cv_se=0.05, chosen=[False, True, False])
    page = Page(render(PanelStory(found, frontier=frontier)))
    assert "Chosen by cross-validation: 4 features." in page.text
    assert "4 2 2.5 25 % 10 % ± 5 chosen" in page.text
    assert page.data["notes"]["path"]["text"][2] == "9 features · tail margin 1.5, at most 1.8"
    bare = Page(render(PanelStory(found, frontier=frontier[["size", "tail_margin", "bound"]])))
    assert "Error" not in bare.text[bare.text.index("Sizes") :]


def awkward(kind):
    """Panels for which a page must open all the same."""
    rng = np.random.default_rng(2)
    if kind == "none":
        return none_found(some_panel(DATA.X, DATA.y, 4))
    if kind == "interrupted":
        return replace(some_panel(DATA.X, DATA.y, 4), stopped_by="interrupt", history=())
    if kind == "many":
        X = rng.normal(size=(30, 700)) + 2 * (np.arange(30)[:, None] % 3 == np.arange(700) % 3)
        return some_panel(X, np.arange(30) % 3, {0: 120, 1: 100, 2: 150})
    if kind == "eight":
        X = rng.normal(size=(64, 80)) + 3 * (np.arange(64)[:, None] % 8 == np.arange(80) % 8)
        return some_panel(X, [f"a class with quite a long name {i % 8}" for i in range(64)], 8)
    if kind == "one each":
        return some_panel(np.eye(3) * 5, ["a", "b", "c"], 3)
    if kind == "all misread":
        # Each sample is lowest in the features of its class, but for one sample that decides the means.
        X = np.array([[9.0, 0], [0, 1], [0, 1], [0, 9], [1, 0], [1, 0]])
        return some_panel(X, ["a", "a", "a", "b", "b", "b"], 2, tail=0.5)
    if kind == "constant":
        X = np.array([[1.0, 0], [1.0, 0], [0, 1], [0, 1]])
        return some_panel(X, ["a", "a", "b", "b"], 2, bound=1.0)
    return evil_panel()


def evil_panel():
    rng = np.random.default_rng(1)
    names = [*EVIL, "a_name_without_a_space_that_is_as_long_as_some_identifiers_in_real_files_are_" * 3]
    n_features = 2 * len(names)
    X = rng.normal(size=(12, n_features)) + 3 * (np.arange(12)[:, None] % 2 == np.arange(n_features) % 2)
    labels = np.array([EVIL[0], names[-1]])[np.arange(12) % 2]
    samples = [f"{names[i % len(names)]}{i}" for i in range(12)]
    return some_panel(X, labels, dict.fromkeys(set(labels), 6), feature_names=names * 2, sample_names=samples)


AWKWARD = ("none", "interrupted", "many", "eight", "one each", "all misread", "constant", "evil")


@pytest.mark.parametrize("kind", AWKWARD)
def test_every_panel_has_a_page(kind):
    panel = awkward(kind)
    page = Page(render(PanelStory(panel)))
    assert panel_question(panel) in page.text or kind == "evil"
    if kind == "none":
        assert "There is no panel whose margins could be shown" in page.text
        assert "strips" not in page.data
    if kind == "many":
        assert len(page.data["strips"]["features"]) == 300
        assert "300 of 370 features are shown" in page.text
        assert len(page.data["features"]["name"]) == 370
    if kind == "eight":
        assert "no panel of 8 × 1 features has" in page.text
    if kind == "all misread":
        assert "4 of the 6 samples are not read back." in page.text


def test_names_are_shown_and_never_run():
    panel = evil_panel()
    base = panel.problem.problem
    X = base.matrix.columns(np.arange(base.n_features))
    new = cobic.Dataset(X, base.classes[base.labels], base.feature_names, base.sample_names, EVIL[0])
    page = Page(render(PanelStory(panel, EVIL[0], EVIL[1], new=new)))
    assert len(page.scripts) == 4  # data, the library, the table, the page
    assert "alert(" not in "".join(page.scripts[2:])
    assert not [attributes for _, attributes in page.tags if any(name.startswith("on") for name in attributes)]
    assert "img" not in [tag for tag, _ in page.tags]
    assert set(page.data["features"]["name"]) & set(EVIL)
    assert EVIL[1] in " ".join(page.words)


def test_write_report_takes_a_panel(found, tmp_path):
    cobic.write_report(tmp_path / "report.html", found, new=DATA.test)
    assert panel_sentence(found) in Page((tmp_path / "report.html").read_text()).text
    with pytest.raises(cobic.InputError, match="neither a result nor a path"):
        cobic.write_report(tmp_path / "no.html", found, cobic.solve(found.problem.problem))
    with pytest.raises(cobic.InputError, match="without its result"):
        cobic.write_report(tmp_path / "no.html", found.problem.problem)
    problem = found.problem.problem
    with pytest.raises(cobic.InputError, match="a frontier goes with a panel"):
        cobic.write_report(tmp_path / "no.html", problem, cobic.solve(problem), frontier=pd.DataFrame())
    assert not (tmp_path / "no.html").exists()


# --- from a folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, and the folder of `cobic panel` about it."""
    place = tmp_path_factory.mktemp("panel")
    names = ("twin", "twin", *DATA.feature_names[2:])
    (place / "train.csv").write_text(table_text(replace(DATA, feature_names=names)))
    (place / "new.csv").write_text(table_text(replace(DATA.test, feature_names=names)))
    assert (
        main(["panel", str(place / "train.csv"), "--labels", "class", "--size", "4", "--out", f"{place}/answer"]) == 0
    )
    return place


@pytest.fixture
def copied(folder, tmp_path):
    for file in (folder / "answer").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def report(folder, answer, *more):
    return main(["report", str(answer), str(folder / "train.csv"), "--labels", "class", *map(str, more)])


def test_the_report_of_a_folder_tells_the_same(folder, tmp_path, capsys):
    assert {file.name for file in (folder / "answer").iterdir()} == {
        "panel.csv", "panel.json", "model.json", "certificate.json", "report.html"
    }  # fmt: skip
    out = tmp_path / "page.html"
    assert report(folder, folder / "answer", "--new", folder / "new.csv", "--out", out) == 0
    told = capsys.readouterr().out.splitlines()
    assert "no panel of 4 features has a tail margin above" in told[0]
    assert told[1] == f"Look at {out}."
    first, second = Page((folder / "answer" / "report.html").read_text()), Page(out.read_text())
    for part in ("features", "strips"):
        assert first.data[part] == second.data[part]
    for part in ("margins", "course"):
        assert first.data["notes"][part]["text"] == second.data["notes"][part]["text"]
    assert "checked against the data when this page was made: a panel of 4 features" in second.text
    for page in (first, second):
        assert "cobic panel" in page.text[page.text.index("Command") :]
    assert "of 34 samples that took no part" in second.text


@pytest.mark.parametrize(
    ("name", "change", "code", "words"),
    [
        ("panel.json", lambda text: "{", 4, "panel.json is damaged"),
        ("panel.json", lambda text: text.replace('"problem"', '"puzzle"'), 2, "which problem it is about"),
        ("panel.json", lambda text: text.replace('"tail":', '"tale":'), 2, "which panel was asked for"),
        ("panel.json", lambda text: text.replace('"sha256": "', '"sha256": "0'), 2, "does not hold the data of"),
        ("panel.json", lambda text: re.sub(r'"bound": [\d.]+', '"bound": 9.5', text), 4, "does not prove the bound"),
        ("panel.json", lambda text: re.sub(r'"bound": [\d.]+', '"bound": "x"', text), 4, "panel.json is damaged"),
        ("panel.json", lambda text: text.replace('"optimal"', '"feasible"'), 4, "says feasible, and the answer is"),
        ("panel.json", lambda text: re.sub(r'"elapsed": [\d.]+', '"elapsed": "x"', text, count=1), 4, "is damaged"),
        ("panel.json", lambda text: text.replace('"timings"', '"times"'), 4, "panel.json is damaged"),
        ("panel.json", lambda text: text.replace('"sample_names": [', '"sample_names": ["x",'), 2, "sample 1 is"),
        ("panel.json", lambda text: re.sub(r'"features": \[', '"features": ["x",', text), 4, "different features"),
        ("panel.csv", lambda text: text.replace("gene", "jean", 1), 4, "different features"),
        ("panel.csv", lambda text: text.replace("feature", "name", 1), 4, "different features"),
        ("panel.csv", None, 2, "cannot read panel.csv"),
        ("certificate.json", lambda text: text.replace("1", "2", 1), 4, "does not hold"),
        ("certificate.json", None, 2, "cannot read certificate.json"),
    ],
)
def test_a_panel_that_does_not_hold_together_is_refused(folder, copied, capsys, name, change, code, words):
    before = (copied / name).read_text()
    if change is None:
        (copied / name).unlink()
    else:
        assert change(before) != before
        (copied / name).write_text(change(before))
    assert report(folder, copied, "--force") == code
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert words in error


def test_what_can_be_computed_is_not_read(folder, copied):
    document = json.loads((copied / "panel.json").read_text())
    (copied / "panel.json").write_text(json.dumps({**document, "worst_margin": 999, "tail_margin": 998}))
    assert report(folder, copied, "--force") == 0
    told = Page((copied / "report.html").read_text()).text
    assert "999" not in told
    assert f"a tail margin of {document['tail_margin']:.6g}" in told


def test_other_names_are_refused(folder, copied, tmp_path, capsys):
    features = json.loads((copied / "panel.json").read_text())["features"]
    text = (folder / "train.csv").read_text()
    (tmp_path / "renamed.csv").write_text(re.sub(rf",{features[2]}\b", ",other", text, count=1))
    assert main(["report", str(copied), str(tmp_path / "renamed.csv"), "--labels", "class", "--force"]) == 2
    assert f"feature of the panel 3 is 'other', it was '{features[2]}'" in capsys.readouterr().err


def test_a_path_is_not_for_panels_and_a_frontier_not_for_selections(folder, copied, tmp_path, capsys):
    assert report(folder, copied, "--force", "--path", tmp_path) == 2
    assert "--path is for selections" in capsys.readouterr().err
    assert main(["select", str(folder / "train.csv"), "--labels", "class", "--out", str(tmp_path / "answer")]) == 0
    capsys.readouterr()
    assert report(folder, tmp_path / "answer", "--force", "--frontier", tmp_path) == 2
    assert "--frontier is for panels" in capsys.readouterr().err


def test_force_leaves_nothing_of_an_answer_of_the_other_kind(folder, copied, capsys):
    table = [str(folder / "train.csv"), "--labels", "class", "--out", str(copied), "--force"]
    assert main(["select", *table]) == 0
    assert not (copied / "panel.json").exists()
    assert report(folder, copied, "--force") == 0
    assert main(["panel", *table, "--size", "2"]) == 0
    assert not (copied / "selection.csv").exists()
    assert report(folder, copied, "--force") == 0
    assert "no panel of 1 + 1 features" in capsys.readouterr().out


def test_without_a_panel_the_bound_is_written(folder, tmp_path, capsys, monkeypatch):
    whole = cobic.panel(cobic.read(folder / "train.csv", labels="class").problem(), size=4)
    proof = whole.certificate
    none = none_found(whole)
    monkeypatch.setattr("cobic.cli.panel.panel", lambda *_, **__: replace(none, certificate=without_panel(proof)))
    out = tmp_path / "none"
    assert main(["panel", str(folder / "train.csv"), "--labels", "class", "--size", "4", "--out", str(out)]) == 0
    assert "No panel was found" in capsys.readouterr().out
    assert {file.name for file in out.iterdir()} == {"panel.json", "certificate.json", "report.html"}
    assert report(folder, out, "--force") == 0
    assert "No panel was found; no panel of 4 features has" in capsys.readouterr().out


def without_panel(proof):
    from cobic.problem.identity import checksum

    bare = {**proof, "selected": []}
    return {**bare, "checksum": checksum(bare)}
