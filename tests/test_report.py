"""The report says what the answer is, holds everything it shows, and shows names as names."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import cobic
from cobic.answer.curve import Curve
from cobic.answer.words import answer_sentence, proven_line
from cobic.cli import main
from cobic.io import table_text
from cobic.report import figures, views
from cobic.report.page import render, script_json
from cobic.report.story import Story

EVIL = [
    "<script>alert(1)</script>",
    "</script>",
    "<!--",
    "\"'&",
    "]]>",
    "\u2028",
    "$$x$$",
    "<img src=x onerror=alert(2)>",
]


class Page(HTMLParser):
    """The text and the scripts of a page, as a browser would take it apart."""

    def __init__(self, html):
        super().__init__()
        self.scripts, self.words, self.tags, self._inside = [], [], [], ""
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))

    @property
    def data(self):
        return json.loads(self.scripts[0])


def unpacked(text, kind):
    return np.frombuffer(base64.b64decode(text), dtype=kind)


@pytest.fixture(scope="module")
def solved():
    data = cobic.datasets.make_expression(n_features=200, contaminated=0.05, seed=6)
    problem = data.problem()
    return data, problem, cobic.solve(problem)


@pytest.fixture(scope="module")
def page(solved):
    data, problem, result = solved
    return Page(render(Story(problem, result, source="made.csv", new=data.test)))


def test_the_answer_is_one_sentence(solved, page):
    _, problem, result = solved
    sentence = f"{result.n_selected} of 200 features kept; no selection can keep more than {result.n_selected}: proven"
    assert answer_sentence(problem, result) == sentence
    assert sentence in page.text
    gap = replace(result, status=cobic.Status.FEASIBLE, upper_bound=result.n_selected + 1)
    assert answer_sentence(problem, gap).endswith(f"more than {gap.upper_bound}: proven, a gap of 1")
    unproven = replace(result, status=cobic.Status.FEASIBLE, upper_bound=200)
    assert answer_sentence(problem, unproven).endswith("features kept; nothing is proven about larger selections")


def test_the_table_of_the_page_is_the_table_of_the_selection(solved, page):
    _, problem, result = solved
    table, features = cobic.selection_table(problem, result), page.data["features"]
    assert features["name"] == table["feature"].tolist()
    assert np.array_equal(unpacked(features["kept"], "u1").astype(bool), table["selected"])
    assert np.array_equal(unpacked(features["cls"], "<i2"), problem.feature_classes)
    for cls, packed in zip(problem.classes, features["means"], strict=True):
        assert np.array_equal(unpacked(packed, "<f8"), table[f"mean {cls}"])


def test_new_samples_are_counted(solved, page):
    data, problem, result = solved
    wrong = int((cobic.Model.of(problem, result).predict(data.test.X) != data.test.y).sum())
    assert f"{34 - wrong} of 34 samples that took no part are given their class." in page.text
    unlabelled = cobic.Dataset(data.test.X, None, data.test.feature_names, data.test.sample_names, "new")
    assert "34 samples without a class were classified" in Page(render(Story(problem, result, new=unlabelled))).text


def test_a_class_that_the_model_does_not_know_has_a_row(solved):
    data, problem, result = solved
    other = np.where(np.arange(34) == 5, "C", data.test.y)
    new = cobic.Dataset(data.test.X, other, data.test.feature_names, data.test.sample_names, "new")
    page = Page(render(Story(problem, result, new=new)))
    assert re.search(r"\bC\b", page.text[page.text.index("took no part") :])


def test_the_heatmap_is_by_class_and_standardised(solved):
    _, problem, result = solved
    view = views.heatmap_view(problem, result)
    X = problem.matrix.columns(np.arange(200))
    scores = (X - X.mean(axis=0)) / X.std(axis=0)
    shown = (view.cells / 127.0 - 1) * views.HEATMAP_SPAN
    expected = np.clip(scores[np.ix_(view.samples, view.features)], -views.HEATMAP_SPAN, views.HEATMAP_SPAN)
    assert np.abs(shown - expected).max() <= views.HEATMAP_SPAN / 254 + 1e-9
    assert (np.diff(problem.labels[view.samples]) >= 0).all()
    assert sorted(view.features) == list(range(200))
    for block in view.blocks:
        part = view.features[block.start : block.stop]
        assert (problem.feature_classes[part] == block.cls).all()
        assert (result.support[part] == block.kept).all()


@pytest.mark.parametrize(("classes", "orientation"), [(2, "vertical"), (20, "horizontal"), (100, "horizontal")])
def test_names_beside_the_heatmap_have_room(classes, orientation):
    y = np.repeat([f"cell type {number:02d}" for number in range(classes)], 6)
    problem = cobic.Problem(np.kron(np.eye(classes), np.ones((6, 2))), y)
    figure = figures.heatmap_figure(problem, views.heatmap_view(problem, cobic.solve(problem)))
    places = np.sort(figure.yaxis[0].ticker.ticks) * figure.height / y.size  # in pixels
    room = 12 if orientation == "horizontal" else 7 * len("cell type 00")
    assert np.diff(places).min() >= room
    assert figure.yaxis[0].major_label_orientation == orientation
    assert set(figure.yaxis[0].major_label_overrides) == set(figure.yaxis[0].ticker.ticks)


def test_a_large_heatmap_is_thinned_and_says_so(solved, monkeypatch):
    _, problem, result = solved
    monkeypatch.setattr(views, "MAX_COLUMNS", 50)
    monkeypatch.setattr(views, "_WHOLE", 5)
    monkeypatch.setattr("cobic.report.story.MAX_TABLE", 100)
    view = views.heatmap_view(problem, result)
    assert view.thinned
    assert view.features.size < 70
    assert {(block.cls, block.kept) for block in view.blocks} == {(0, True), (1, True), (0, False), (1, False)}
    page = Page(render(Story(problem, result)))
    assert f"{view.features.size} of 200 features are listed" in page.text
    names = [page.data["features"]["name"][place] for place in unpacked(page.data["heatmap"]["columns"], "<i4")]
    assert names == [problem.feature_names[feature] for feature in view.features]


@pytest.mark.parametrize("beta", [1.0, 1.1])
@pytest.mark.parametrize("kind", ["two", "three"])
def test_harm_is_what_margins_say(kind, beta):
    rng = np.random.default_rng(5)
    y = np.arange(24) % (2 if kind == "two" else 3)
    X = rng.normal(5.0, 1.0, (24, 60)) + (y[:, None] == np.arange(60) % (y.max() + 1))
    problem = cobic.Problem(X, y, alpha=0.4, beta=beta, beta_rule="sign-aware", slack_penalty=5.0)
    result = cobic.solve(problem)
    harm, margins = views.harm_view(problem, result), problem.margins(result.support)
    assert sorted(harm.features) == np.flatnonzero(~result.support).tolist()
    broken_by = np.zeros(24, dtype=int)
    for place, feature in enumerate(harm.features):
        support = result.support.copy()
        support[feature] = True
        after = problem.margins(support)
        breaks = (margins > 0) & (after <= 0)
        broken_by += breaks
        assert harm.broken[place] == breaks.sum()
        assert harm.gain[place] == pytest.approx(problem.objective(support) - problem.objective(result.support))
        smaller = np.flatnonzero(after < margins)
        assert harm.worst_margin[place] == pytest.approx(after[smaller].min())
    assert np.array_equal(harm.per_sample, broken_by)
    assert np.array_equal(views.margins_view(problem, result).binding, broken_by[np.argsort(margins)] > 0)


def test_every_feature_dropped_from_an_optimum_breaks_a_sample(solved):
    _, problem, result = solved
    assert result.status == "optimal"
    assert (views.harm_view(problem, result).broken > 0).all()


def test_the_policy_names_the_scripts_of_the_page_and_no_others(solved):
    html = render(Story(*solved[1:]))
    policy = dict(re.findall(r"([a-z-]+) ([^;\"]+)", re.search(r'Security-Policy" content="([^"]+)"', html)[1]))
    digests = [
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    ]
    assert policy["script-src"].split() == digests
    assert "unsafe" not in str(policy)
    nonce = re.search(r'<style nonce="([0-9a-f]{64})">', html)[1]
    assert policy["style-src"] == f"'nonce-{nonce}'"
    assert {policy[name] for name in ("default-src", "base-uri", "form-action")} == {"'none'"}
    assert " style=" not in html.partition('<script type="application/json"')[0]


def test_the_course_ends_with_the_answer(solved):
    course = views.course_view(solved[2])
    assert course.found[-1] == course.bound[-1] == solved[2].n_selected
    assert (np.diff(course.bound) <= 0).all()


def test_soft_margins_are_told_as_objective_and_violations():
    data = cobic.datasets.make_expression(n_features=150, seed=1)
    y = data.y.copy()
    y[3] = "B"
    problem = cobic.Problem(data.X, y, alpha=60, slack_penalty=0.05, sample_names=data.sample_names)
    result = cobic.solve(problem, max_programs=200)
    page = Page(render(Story(problem, result)))
    assert f"an objective of {result.objective:.6g}; no selection has an objective above" in page.text
    assert "no selection can keep more" not in page.text
    assert "suspects for label errors" in page.text
    worst = cobic.violation_table(problem, result.support).iloc[0]
    assert str(worst["name"]) in page.text[page.text.index("suspects for label errors") :]


def test_infeasible_and_unknown_have_a_page():
    nothing = cobic.Problem([[1.0, 1.0], [1.0, 1.0]], ["a", "b"])
    page = Page(render(Story(nothing, cobic.solve(nothing))))
    assert "No selection of features is consistent: proven" in page.text
    assert "There is no selection whose margins could be shown" in page.text
    rng = np.random.default_rng(0)
    noise = cobic.Problem(rng.standard_normal((40, 30)), np.arange(40) % 2, alpha=0.5)
    unknown = cobic.solve(noise, method="bilevel-vns", criterion="published")
    if unknown.status == "unknown":
        assert "No consistent selection was found; nothing is proven" in Page(render(Story(noise, unknown))).text


def test_names_are_shown_and_never_run():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, len(EVIL) * 2)) + 3 * (np.arange(12)[:, None] % 2 == np.arange(len(EVIL) * 2) % 2)
    X[0, :4] = [-40, 60, -40, 60]
    labels = np.array([EVIL[0], EVIL[7]])[np.arange(12) % 2]
    samples = [f"{name}{i}" for i, name in enumerate((EVIL * 2)[:12])]
    data = cobic.Dataset(X, labels, tuple(EVIL * 2), tuple(samples), EVIL[0])
    problem = data.problem(slack_penalty=1.0)
    result = cobic.solve(problem)
    path = cobic.path(X, labels, alphas=[0, 0.1], cv=None, feature_names=EVIL * 2)
    html = render(Story(problem, result, source=EVIL[0], new=data, curve=Curve.of(path), options={"a": EVIL[1]}))
    page = Page(html)
    assert len(page.scripts) == 4  # data, the library, the table, the page
    assert "alert(" not in "".join(page.scripts[2:])
    assert not [attributes for _, attributes in page.tags if any(name.startswith("on") for name in attributes)]
    assert "img" not in [tag for tag, _ in page.tags]
    assert page.data["features"]["name"] == EVIL * 2
    assert EVIL[0] in " ".join(page.words)
    card = result._repr_html_()
    assert "<script" not in card
    assert "<img" not in card
    assert "&lt;script&gt;" in card


def test_nothing_is_fetched(page):
    for tag, attributes in page.tags:
        assert "src" not in attributes, tag
        assert not attributes.get("href", "#").startswith(("http", "//")), tag
    policy = next(attributes for tag, attributes in page.tags if attributes.get("http-equiv"))
    assert policy["content"].startswith("default-src 'none';")


def test_json_in_a_script_cannot_end_it():
    text = script_json({"names": EVIL})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"names": EVIL}


def test_names_that_are_no_text_can_be_written(tmp_path):
    problem = cobic.Problem([[3, 1], [1, 4]], ["a\ud800", "b"], feature_names=["x\ud800", "y"])
    cobic.write_report(tmp_path / "report.html", problem, cobic.solve(problem))
    assert Page((tmp_path / "report.html").read_text()).data["features"]["name"] == ["x?", "y"]


def test_a_path_of_other_data_is_not_drawn(solved, tmp_path):
    _, problem, result = solved
    other = cobic.path([[3, 1, 2], [1, 4, 0]], ["a", "b"], alphas=[0], cv=None)
    with pytest.raises(cobic.InputError, match="about 3 features and the problem about 200"):
        cobic.write_report(tmp_path / "report.html", problem, result, path=other)


def test_a_result_shows_itself(solved):
    _, _, result = solved
    card = result._repr_html_()
    assert f"<b>{result.n_selected} of 200 features kept; proven: no selection can keep more</b>" in card
    assert len(card) < 1000


def test_write_report_writes_a_file(solved, tmp_path):
    data, problem, result = solved
    path = cobic.path(data.X, data.y, alphas=[0, 10], cv=3, feature_names=data.feature_names)
    cobic.write_report(tmp_path / "report.html", problem, result, path=path, new=data.test)
    page = Page((tmp_path / "report.html").read_text())
    assert path.reason[1:] in page.text
    assert np.array_equal(unpacked(page.data["features"]["rank"], "<f8"), path.survival.ranking)


# --- from a folder


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    """The folders of `cobic select` and `cobic path` about a table, and the table."""
    folder = tmp_path_factory.mktemp("report")
    data = cobic.datasets.make_expression(n_features=150, contaminated=0.05, seed=3)
    names = ("twin", "twin", *data.feature_names[2:])
    (folder / "train.csv").write_text(table_text(replace(data, feature_names=names)))
    (folder / "new.csv").write_text(table_text(replace(data.test, feature_names=names)))
    table = [str(folder / "train.csv"), "--labels", "class"]
    assert main(["select", *table, "--alpha", "2", "--fixed-out", names[5], "--out", str(folder / "answer")]) == 0
    assert main(["path", *table, "--alphas", "0,2", "--cv", "3", "--out", str(folder / "curve")]) == 0
    return folder


@pytest.fixture
def copied(answer, tmp_path):
    for file in (answer / "answer").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def report(answer, folder, *more):
    return main(["report", str(folder), str(answer / "train.csv"), "--labels", "class", *map(str, more)])


def test_the_report_of_a_folder_tells_the_same(answer, tmp_path, capsys):
    out = tmp_path / "page.html"
    more = ["--new", answer / "new.csv", "--path", answer / "curve", "--out", out]
    assert report(answer, answer / "answer", *more) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].endswith(": proven.")
    assert told[1] == f"Look at {out}."
    first, second = Page((answer / "answer" / "report.html").read_text()), Page(out.read_text())
    assert first.data["features"]["means"] == second.data["features"]["means"]
    assert first.data["features"]["kept"] == second.data["features"]["kept"]
    assert first.data["notes"]["margins"] == second.data["notes"]["margins"]
    assert first.data["notes"]["course"]["text"] == second.data["notes"]["course"]["text"]
    assert "checked against the data when this page was made" in second.text
    assert "features excluded" in second.text
    ranking = pd.read_csv(answer / "curve" / "ranking.csv").set_index("feature")["rank"]
    ranks = pd.Series(unpacked(second.data["features"]["rank"], "<f8"), second.data["features"]["name"])
    assert sorted(ranks["twin"]) == sorted(ranking["twin"])
    assert ranks.drop("twin").astype(int).to_dict() == ranking.drop("twin").to_dict()


def test_a_report_is_not_overwritten_without_force(answer, copied, capsys):
    before = (copied / "report.html").read_text()
    assert report(answer, copied) == 2
    assert "--force" in capsys.readouterr().err
    assert (copied / "report.html").read_text() == before
    assert report(answer, copied, "--force") == 0
    assert (copied / "report.html").read_text() != before


def complaint(capsys, code, answer, folder, *more):
    assert report(answer, folder, "--force", *more) == code
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


@pytest.mark.parametrize(
    ("name", "change", "code", "words"),
    [
        ("run.json", lambda text: "{", 4, "run.json is damaged"),
        ("run.json", lambda text: "[]", 4, "run.json is damaged"),
        ("run.json", lambda text: text.replace('"problem"', '"puzzle"'), 2, "which problem it is about"),
        ("run.json", lambda text: text.replace('"sha256": "', '"sha256": "0'), 2, "does not hold the data of"),
        ("run.json", lambda text: text.replace('"optimal"', '"splendid"'), 4, "run.json is damaged"),
        ("run.json", lambda text: re.sub(r'"upper_bound": \d+', '"upper_bound": 150', text), 4, "prove the bound"),
        ("selection.csv", lambda text: text.replace("True", "False", 1), 4, "is not the selection of run.json"),
        ("selection.csv", lambda text: text.replace("True", "Yes", 1), 4, "whether they are selected"),
        ("selection.csv", lambda text: text.replace("selected", "chosen"), 4, "no columns 'feature' and 'selected'"),
        ("certificate.json", lambda text: text.replace("1", "2", 1), 4, "does not hold"),
        ("run.json", lambda text: text.replace('"optimal"', '"infeasible"'), 4, "says infeasible, and the answer is"),
        ("run.json", lambda text: text.replace('"optimal"', '"feasible"'), 4, "says feasible, and the answer is"),
        ("run.json", lambda text: text.replace('"certified"', '"magic"'), 4, "run.json is damaged"),
        ("run.json", lambda text: text.replace('"sample_names": [', '"sample_names": ["x",'), 2, "sample 1 is"),
        ("run.json", lambda text: text.replace('"timings"', '"times"'), 4, "run.json is damaged"),
        ("run.json", lambda text: text.replace('"options"', '"choices"'), 4, "run.json is damaged"),
        ("run.json", lambda text: re.sub(r'"options": \{[^}]*\}', '"options": [1]', text), 4, "run.json is damaged"),
        ("run.json", lambda text: re.sub(r'"read": [\d.]+', '"read": "soon"', text), 4, "run.json is damaged"),
        ("run.json", lambda text: re.sub(r'"elapsed": [\d.]+', '"elapsed": "x"', text, count=1), 4, "is damaged"),
        ("certificate.json", None, 4, "certificate.json is missing"),
        ("run.json", None, 2, "is not a folder of `cobic select --out`"),
        ("selection.csv", None, 2, "is not a folder of `cobic select --out`"),
    ],
)
def test_an_answer_that_does_not_hold_together_is_refused(answer, copied, capsys, name, change, code, words):
    if change is None:
        (copied / name).unlink()
    else:
        (copied / name).write_text(change((copied / name).read_text()))
    assert words in complaint(capsys, code, answer, copied)


def test_what_can_be_computed_is_not_read(answer, copied):
    run = json.loads((copied / "run.json").read_text())
    (copied / "run.json").write_text(json.dumps({**run, "worst_margin": 999, "classes": ["C", "D"]}))
    assert report(answer, copied, "--force") == 0
    told = Page((copied / "report.html").read_text()).text
    assert "999" not in told
    assert f"the smallest margin is {run['worst_margin']:.4g}" in told


def test_soft_claims_are_checked(answer, tmp_path, capsys):
    out = tmp_path / "soft"
    table = [str(answer / "train.csv"), "--labels", "class", "--alpha", "60", "--slack-penalty", "0.05"]
    assert main(["select", *table, "-O", "max_programs=200", "--out", str(out)]) == 0
    run = json.loads((out / "run.json").read_text())
    (out / "run.json").write_text(json.dumps({**run, "objective": 29}))
    capsys.readouterr()
    assert report(answer, out, "--force") == 0
    assert f"an objective of {run['objective']:.6g};" in capsys.readouterr().out
    (out / "run.json").write_text(json.dumps({**run, "objective_bound": -1}))
    assert "does not prove the bound of run.json, -1" in complaint(capsys, 4, answer, out)


def test_without_a_certificate_nothing_is_proven(answer, tmp_path, capsys):
    table = [str(answer / "train.csv"), "--labels", "class", "--alpha", "2"]
    out = tmp_path / "point"
    assert main(["select", *table, "--method", "fixed-point", "--out", str(out)]) == 0
    run = json.loads((out / "run.json").read_text())
    capsys.readouterr()
    assert report(answer, out, "--force") == 0
    assert "nothing is proven about larger selections" in capsys.readouterr().out
    claim = {"status": "optimal", "upper_bound": run["n_selected"]}
    (out / "run.json").write_text(json.dumps({**run, **claim}))
    assert "nothing proves the bound of run.json" in complaint(capsys, 4, answer, out)
    (out / "run.json").write_text(json.dumps({**run, **claim, "method": "milp"}))
    assert report(answer, out, "--force") == 0
    assert f"no selection can keep more than {run['n_selected']}: by the word of HiGHS." in capsys.readouterr().out
    (out / "run.json").write_text(json.dumps({**run, **claim, "method": "milp", "upper_bound": 3}))
    assert "nothing proves" in complaint(capsys, 4, answer, out)


def test_other_names_are_refused(answer, copied, tmp_path, capsys):
    text = (answer / "train.csv").read_text()
    header, first = text.splitlines()[:2]
    gene, sample = header.split(",")[-1], first.split(",")[0]
    (tmp_path / "genes.csv").write_text(text.replace(f",{gene}\n", ",other\n", 1))
    assert f"feature 150 is 'other', it was '{gene}'" in complaint_with(capsys, copied, tmp_path / "genes.csv")
    (tmp_path / "samples.csv").write_text(text.replace(f"\n{sample},", "\nother,", 1))
    assert f"sample 1 is 'other', it was '{sample}'" in complaint_with(capsys, copied, tmp_path / "samples.csv")


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("path.json", lambda text: re.sub(r'"n_selected": \d+', '"n_selected": 149', text, count=1), "differ"),
        ("path.csv", lambda text: re.sub(r"\n([\d.]+),\d+,", r"\n\1,3,", text, count=1), "differ"),
        ("path.json", lambda text: re.sub(r'"chosen": [\d.]+', '"chosen": 1.5', text), "the choice of path.json"),
        ("path.json", lambda text: re.sub(r'"reason": ".*?"', '"reason": "luck"', text), "the choice of path.json"),
        ("path.json", lambda text: re.sub(r'"reason": ".*?"', '"reason": 7', text), "is damaged"),
        ("path.json", lambda text: re.sub(r'"cv_error": [\d.]+', '"cv_error": "x"', text, count=1), "is damaged"),
        ("path.csv", lambda text: text.replace("n_selected", "kept"), "is damaged"),
        ("ranking.csv", lambda text: re.sub(r",[\d.-]+\n", ",x\n", text, count=1), "is damaged"),
        ("ranking.csv", lambda text: re.sub(r"(,[AB]),2\.0,", r"\1,0.0,", text, count=40), "than ranking.csv"),
    ],
)
def test_a_path_that_does_not_hold_together_is_refused(answer, copied, tmp_path, capsys, name, change, words):
    curve = tmp_path / "curve"
    curve.mkdir()
    for file in (answer / "curve").iterdir():
        (curve / file.name).write_bytes(file.read_bytes())
    before = (curve / name).read_text()
    (curve / name).write_text(change(before))
    assert (curve / name).read_text() != before
    assert words in complaint(capsys, 4, answer, copied, "--path", curve)


def test_a_path_of_other_data_is_refused(answer, copied, tmp_path, capsys):
    assert "cannot read" in complaint(capsys, 2, answer, copied, "--path", tmp_path / "nowhere")
    curve = tmp_path / "curve"
    curve.mkdir()
    for file in (answer / "curve").iterdir():
        (curve / file.name).write_bytes(file.read_bytes())
    ranking = pd.read_csv(curve / "ranking.csv")
    ranking.assign(**{"mean A": ranking["mean A"] + 1}).to_csv(curve / "ranking.csv", index=False)
    assert "a feature or its means differ" in complaint(capsys, 2, answer, copied, "--path", curve)
    ranking.head(3).to_csv(curve / "ranking.csv", index=False)
    assert "other features or classes" in complaint(capsys, 2, answer, copied, "--path", curve)
    (curve / "path.json").write_text("{}")
    assert "damaged" in complaint(capsys, 4, answer, copied, "--path", curve)


def test_other_data_are_refused(answer, copied, tmp_path, capsys):
    assert "does not hold the data" in complaint_with(capsys, copied, answer / "new.csv")
    frame = pd.read_csv(answer / "train.csv")
    frame.iloc[:, :10].to_csv(tmp_path / "less.csv", index=False)
    complaint_with(capsys, copied, tmp_path / "less.csv")


def complaint_with(capsys, folder, table):
    assert main(["report", str(folder), str(table), "--labels", "class", "--force"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_new_samples_with_other_features_are_one_line(answer, copied, tmp_path, capsys):
    (tmp_path / "other.csv").write_text("sample,class,g1,g2\nx,A,1,2\n")
    assert "feature 1 is 'g1'" in complaint(capsys, 2, answer, copied, "--new", tmp_path / "other.csv")


def test_new_samples_without_classes_are_classified(answer, copied, tmp_path, capsys):
    pd.read_csv(answer / "new.csv", header=None).drop(columns=1).to_csv(tmp_path / "new.csv", index=False, header=False)
    assert report(answer, copied, "--force", "--new", tmp_path / "new.csv") == 0
    assert capsys.readouterr().out.startswith("New samples without classes: ")
    assert "34 samples without a class were classified" in Page((copied / "report.html").read_text()).text


def test_run_json_says_how_it_was_found(answer):
    run = json.loads((answer / "answer" / "run.json").read_text())
    certificate = json.loads((answer / "answer" / "certificate.json").read_text())
    assert run["digest"] == certificate["data"]
    assert run["problem"] == certificate["problem"]
    assert set(run["timings"]) == {"read", "solve", "report"}
    assert {"python", "cobic", "numpy", "highspy"} <= set(run["versions"])
    assert run["history"][-1]["upper_bound"] == run["upper_bound"]


def test_force_leaves_nothing_of_an_earlier_answer(answer, copied, capsys):
    table = [str(answer / "train.csv"), "--labels", "class"]
    (copied / "mine.txt").write_text("keep")
    assert main(["select", *table, "--method", "fixed-point", "--out", str(copied), "--force"]) == 0
    assert not (copied / "certificate.json").exists()
    assert (copied / "mine.txt").read_text() == "keep"


def test_select_can_write_the_report_alone(answer, tmp_path, capsys):
    page = tmp_path / "page.html"
    command = ["select", str(answer / "train.csv"), "--labels", "class", "--report", str(page)]
    assert main(command) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"Look at {page};")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert main(command) == 2
    assert "--force" in capsys.readouterr().err


def test_a_gap_says_how_to_go_on_only_where_that_is_true(solved):
    _, problem, result = solved
    left = replace(result, status=cobic.Status.FEASIBLE, upper_bound=result.n_selected + 1)
    assert left.upper_bound < problem.n_selectable
    for why in ("target gap", "patience"):
        assert proven_line(problem, replace(left, left_open_by=why)).endswith("; --gap 0 goes on.")
    assert proven_line(problem, replace(left, stopped_by="time limit")).endswith("; more time may close it.")
    for other in (replace(left, stopped_by="interrupt"), replace(left, left_open_by="max_programs")):
        assert "goes on" not in proven_line(problem, other)
        assert "more time" not in proven_line(problem, other)


def test_a_method_that_proves_is_not_said_to_compute_no_bound(solved):
    _, problem, result = solved
    left = replace(result, status=cobic.Status.FEASIBLE, upper_bound=problem.n_selectable)
    assert "larger selections: no bound was found before it ended (certified" in proven_line(problem, left)
    assert "larger selections: fixed-point computes no bound (" in proven_line(
        problem, replace(left, method="fixed-point")
    )
