"""Transforms on the command line, what is advised, and what is said of margins."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

import cobic
from cobic.answer.words import margin_words
from cobic.cli.main import main
from cobic.matrix import as_matrix
from cobic.methods.memory import estimate_memory
from cobic.problem.advice import transform_advice
from cobic.problem.identity import checksum


@pytest.fixture
def table(intensities, tmp_path):
    X, y, new = intensities
    names = [f"g{i}" for i in range(24)]
    for name, values, classes in (("table", X, y), ("new", new, None)):
        frame = pd.DataFrame(values, columns=names, index=[f"{name}{i}" for i in range(len(values))])
        frame = frame if classes is None else frame.assign(type=np.where(classes, "b", "a"))
        frame.to_csv(tmp_path / f"{name}.csv", index_label="sample")
    return tmp_path / "table.csv"


def test_the_command_line(intensities, table, capsys):
    folder = table.parent / "answer"
    log = ["--labels", "type", "--transform", "log2", "--floor", "20"]
    assert main(["select", str(table), *log, "--out", str(folder)]) == 0
    told = capsys.readouterr()
    assert re.search(r"worst margin [\d.]+ \([\d.]+-fold\)", told.out)
    assert "consider" not in told.out
    assert main(["verify", str(folder / "certificate.json"), str(table), "--labels", "type"]) == 0
    assert "log2 with floor 20" in capsys.readouterr().out
    assert main(["report", str(folder), str(table), "--labels", "type", "--force"]) == 0
    assert "log2 with floor 20" in (folder / "report.html").read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["classify", str(folder / "model.json"), str(table.parent / "new.csv"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["samples"]
    X, y, new = intensities
    problem = cobic.Problem(X, np.where(y, "b", "a"), transform="log2", floor=20)
    model = cobic.Model.of(problem, cobic.solve(problem))
    assert [sample["predicted"] for sample in told] == model.predict(new).tolist()


def test_the_panel_of_the_command_line(table, capsys):
    folder, log = table.parent / "panel", ["--labels", "type", "--transform", "log2", "--floor", "20"]
    assert main(["panel", str(table), *log, "--size", "2", "--out", str(folder)]) == 0
    assert re.search(r"margins [\d.]+ \([\d.]+-fold\), worst margin −?[\d.]+ \([\d.]+-fold\)", capsys.readouterr().out)
    assert main(["verify", str(folder / "certificate.json"), str(table), "--labels", "type"]) == 0
    document = json.loads((folder / "certificate.json").read_text())
    for spoil in ({"name": "log2", "floor": 0.001}, {"name": "log2"}, "log2", {"name": "vst", "floor": None}):
        changed = {**document, "problem": {**document["problem"], "transform": spoil}}
        changed["checksum"] = checksum(changed)
        (folder / "forged.json").write_text(json.dumps(changed))
        assert main(["verify", str(folder / "forged.json"), str(table), "--labels", "type"]) == 4
        assert "does not hold" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["path", "stability", "export"])
def test_other_commands_go_through_the_transform(table, capsys, command):
    quick = {"path": ["--alphas", "0,0.1", "--cv", "2"], "stability": ["--repeats", "3", "--alpha", "1"], "export": []}[
        command
    ]
    asked = [command, str(table), "--labels", "type", *quick]
    told = []
    for log in ([], ["--transform", "log2", "--floor", "20"]):
        assert main([*asked, *log]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] != told[1]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--transform", "log2"], "(?s)X at sample .*, which has no log2: give floor=20, what is below counts as 20"),
        (["--floor", "20"], "floor is 20.0, but there is no transform"),
        (["--transform", "standardise", "--floor", "1"], "floor is 1.0: there is none to standardise by"),
        (["--transform", "ln"], "invalid choice: 'ln'"),
    ],
)
def test_bad_input_on_the_command_line(table, capsys, more, words):
    for command in ("select", "panel"):
        try:
            code = main([command, str(table), "--labels", "type", *more])
        except SystemExit as end:  # of argparse
            code = end.code
        assert code == 2
        assert re.search(words, capsys.readouterr().err)


def raw_values():
    return np.random.default_rng(0).lognormal(5, 1.5, (20, 30))


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (raw_values(), "consider --transform log2$"),
        (raw_values() - 10, "consider --transform log2 --floor [1-9]0?$"),
        (np.round(raw_values()).T - 2 > 0, "^$"),
        (np.round(raw_values().T) * (np.indices((30, 20)).sum(axis=0) % 2), r"consider --transform log2 --floor \d+$"),
        (sp.csr_matrix(np.round(raw_values()) * (np.indices((20, 30)).sum(axis=0) % 2)), "consider --transform log1p$"),
        (np.round(raw_values()) * (np.indices((20, 30)).sum(axis=0) % 30 == 0), "consider --transform log1p$"),
        (np.log2(raw_values()), "^$"),
        (np.log2(raw_values()) - 5, "^$"),
        (StandardScaler().fit_transform(raw_values()), "^$"),
        (np.random.default_rng(0).normal(1000, 100, (20, 30)), "^$"),
        (load_wine().data, "^$"),
        (load_breast_cancer().data, "^$"),
        (load_digits().data, "^$"),
        (load_iris().data, "^$"),
    ],
)
def test_advice_for_values_that_look_raw(X, words):
    assert re.search(words, transform_advice(as_matrix(X)))


def test_advice_for_real_data(real_data):
    advised = {"golub": "20", "notterman": "2", "singh": "1", "alon": None}
    for name in ("golub", "notterman", "singh", "alon", "gravier", "khan", "sorlie"):
        told = transform_advice(as_matrix(getattr(cobic.datasets, f"load_{name}")().X))
        floor = "" if advised.get(name) is None else f" --floor {advised[name]}"
        line = f"these look like raw intensities or counts: consider --transform log2{floor}"
        assert told == (line if name in advised else ""), name


def test_advice_on_the_command_line(table, capsys):
    line = r"these look like raw intensities or counts: consider --transform log2 --floor \d+"
    for command in ("select", "panel --size 2"):
        name, *more = command.split()
        assert main([name, str(table), "--labels", "type", *more]) == 0
        assert re.search(f"^{line.replace('these', 'These')}\\.$", capsys.readouterr().out, re.M)
    assert main(["inspect", str(table), "--labels", "type"]) == 0
    assert re.search(f"^advice +{line}$", capsys.readouterr().out, re.M)
    assert main(["inspect", str(table), "--labels", "type", "--json"]) == 0
    assert re.fullmatch(line, json.loads(capsys.readouterr().out)["advice"])


@pytest.mark.parametrize(
    ("choices", "margin", "words"),
    [
        ({"transform": "log2"}, 2.25, "2.25 (4.8-fold)"),
        ({"transform": "log2"}, -0.5, "−0.5 (0.71-fold)"),
        ({"transform": "log2"}, 7.0, "7 (128-fold)"),
        ({"transform": "log2"}, float("-inf"), "-inf"),
        ({"transform": "log2", "beta": 1.5}, 2.25, "2.25"),
        ({"transform": "log2", "alpha": 0.5}, 2.25, "2.25"),
        ({"transform": "log1p"}, 2.25, "2.25"),
        ({}, 2.25, "2.25"),
    ],
)
def test_margins_as_fold_changes(choices, margin, words):
    assert margin_words(cobic.Problem([[4, 1], [1, 4]], ["a", "b"], **choices), margin) == words


def test_the_copy_counts_in_the_memory(tmp_path):
    X, y = np.ones((200, 1000), dtype=np.float32), np.arange(200) % 2
    plain, logged = (estimate_memory(cobic.Problem(X, y, transform=name)) for name in (None, "log2"))
    assert (plain.matrix, logged.matrix) == (800_000, 1_600_000)
    assert logged.solving == plain.solving + 800_000
    np.save(tmp_path / "X.npy", X)
    on_disk = cobic.Problem(np.load(tmp_path / "X.npy", mmap_mode="r"), y, transform="log2")
    assert estimate_memory(on_disk).matrix == 0
