"""The JSON schemas that come with the package hold for what is written, and refuse what is not."""

import argparse
import copy
import json
import signal
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

import cobic
from cobic.answer.curve import PATH_FILES
from cobic.answer.folder import ANSWER_FILES
from cobic.answer.frontier import FRONTIER_FILES
from cobic.answer.panel_folder import PANEL_FILES
from cobic.cli import main
from cobic.cli import stability as stability_command
from cobic.cli.main import build_parser
from cobic.io import table_text

FOLDER = Path(str(files("cobic") / "schemas"))
SCHEMAS = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.iterdir()}
RESOURCES = {name: Resource.from_contents(schema) for name, schema in SCHEMAS.items()}
NAMES = sorted(SCHEMAS)
PARTS = "common.json"  # which is no document
OPEN = {"options", "parameters"}  # what a method, or a run, has of its own
MAY_MISS = {
    *("transform", "panel", "split", "offsets", "top"),
    *("class", "mean A", "mean B", "A", "B"),  # which depend on the data
    *("missing", "infinite", "not a number"),
    *("read", "solve", "report", "choose"),  # seconds by step
}


@cache
def validator(name):
    return Draft202012Validator({"$ref": name}, registry=Registry().with_resources(RESOURCES.items()))


def faults(name, document):
    """What a schema has against a document; empty if nothing."""
    return [f"{fault.json_path}: {fault.message[:300]}" for fault in validator(name).iter_errors(document)]


# --- the schemas themselves


def commands():
    parsers = next(each for each in build_parser()._actions if isinstance(each, argparse._SubParsersAction)).choices
    return {name for name, parser in parsers.items() if "--json" in parser._option_string_actions}


def test_every_command_with_json_has_a_schema_and_every_schema_a_command():
    assert {name for name in NAMES if name.startswith("cobic-")} == {f"cobic-{name}.json" for name in commands()}


def test_every_json_file_of_an_answer_has_a_schema_and_every_schema_a_file():
    written = {*ANSWER_FILES, *PANEL_FILES, *PATH_FILES, *FRONTIER_FILES, *stability_command._FILES}
    expected = {name for name in written if name.endswith(".json")} | {"steps-run.json"}
    assert {name for name in NAMES if not name.startswith("cobic-")} == expected | {PARTS}


# Keys that other people's scripts rely on.
ANSWER = "n_selected upper_bound gap status worst_margin counts seconds method n_features n_samples classes"
PANEL = "features counts tail_margin worst_margin bound gap status seconds n_features n_samples classes"
ROW = "dataset kind value published n_selected upper_bound gap status errors published_errors seconds"


def test_the_keys_that_were_promised_are_always_there():
    select, panel, reproduce = (SCHEMAS[f"cobic-{name}.json"] for name in ("select", "panel", "reproduce"))
    assert set(select["$defs"]["answer"]["required"]) == set(ANSWER.split())
    assert set(panel["$defs"]["panel"]["required"]) == set(PANEL.split())
    assert set(reproduce["properties"]["rows"]["items"]["required"]) == set(ROW.split())


def parts_of(schema):
    """A schema and all schemas in it."""
    yield schema
    for key in ("properties", "patternProperties", "$defs", "dependentSchemas"):
        for each in schema.get(key, {}).values():
            yield from parts_of(each) if isinstance(each, dict) else ()
    for key in ("items", "additionalProperties"):
        yield from parts_of(schema[key]) if isinstance(schema.get(key), dict) else ()
    for key in ("anyOf", "allOf", "oneOf", "prefixItems"):
        for each in schema.get(key, []):
            yield from parts_of(each)


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_one_and_says_what_everything_is(name):
    schema = SCHEMAS[name]
    Draft202012Validator.check_schema(schema)
    assert {"$schema", "title", "description"} <= set(schema)
    for part in parts_of(schema):
        for key, each in part.get("properties", {}).items():
            if part.get("type") == "object" or "unevaluatedProperties" in part:  # not of what is only a condition
                text = each.get("description", "")
                assert text, (name, key)
                assert "\n" not in text
                assert len(text) <= 120, (name, key)


# --- what is refused


def shortened(document):
    """The same with three items of each list: more of a kind say nothing more."""
    if isinstance(document, dict):
        return {key: shortened(value) for key, value in document.items()}
    return [shortened(each) for each in document[:3]] if isinstance(document, list) else document


def places(document, path=()):
    """Where there are objects and values in a document; of a list the first item."""
    yield path, document
    if isinstance(document, dict):
        for key, value in document.items():
            if key not in OPEN:
                yield from places(value, (*path, key))
    elif isinstance(document, list) and document:
        yield from places(document[0], (*path, 0))


def changed(document, path, change):
    """A copy of a document in which a place is changed, known by what holds it and the key there."""
    whole = {"document": copy.deepcopy(document)}
    parent, key = whole, "document"
    for step in path:
        parent, key = parent[key], step
    change(parent, key)
    return whole["document"]


def other_kind(parent, key):
    parent[key] = "forged" if isinstance(parent[key], dict) else {"forged": True}


def one_more(parent, key):
    parent[key]["forged"] = "more"


def one_less(parent, key):
    del parent[key]


def forgeries(document):
    """A document with a key less, a key more, or a value of another kind, everywhere in turn."""
    document = shortened(document)
    for path, value in places(document):
        key = path[-1] if path else 0
        changes = [other_kind, *([one_more] if isinstance(value, dict) and key not in OPEN else [])]
        changes += [one_less] if isinstance(key, str) and key not in MAY_MISS else []
        yield from ((f"{change.__name__} {path}", changed(document, path, change)) for change in changes)


def assert_strict(name, document):
    """A document holds, and whatever is changed in it does not."""
    assert faults(name, document) == []
    passed = [how for how, forged in forgeries(document) if not faults(name, forged)]
    assert passed == []


# --- what is written


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    data = cobic.datasets.make_expression(n_features=60, contaminated=0.05, seed=3)
    folder = tmp_path_factory.mktemp("schemas")
    (folder / "train.csv").write_text(table_text(data))
    (folder / "new.csv").write_text(table_text(data.test))
    (folder / "without.csv").write_text("sample,g1,g2\ns1,1,2\ns2,3,\n")
    X, y = data.X.copy(), data.y.copy()
    X[1], y[0], y[1] = X[0], "A", "B"  # twins of two classes: proven infeasible
    pairs = {"g1": [3, 1, 4, 1], "g2": [1, 4, 1, 5], "g3": [2, 2, 3, 3], "g4": [5, 1, 6, 2], "class": list("abab")}
    rows = [",".join(map(str, row)) for row in zip(*pairs.values(), strict=True)]
    (folder / "few.csv").write_text("\n".join([",".join(pairs), *rows]) + "\n")
    (folder / "pairs.csv").write_text("feature,group\ng1,one\ng4,one\n")
    lines = [",".join(["sample", *map(str, range(60)), "class"])]
    lines += [",".join([f"s{i}", *map(str, row), label]) for i, (row, label) in enumerate(zip(X, y, strict=True))]
    (folder / "twins.csv").write_text("\n".join(lines) + "\n")
    return folder


QUICK = ["--method", "fixed-point"]
GROUPED = ["--fixed-in", "g2", "--fixed-out", "g3", "--tail", "0", "--weights", "balanced"]
SHORT = ["--time-limit", "2"]
RUNS = {
    "select": ["select", "train.csv"],
    "select-heuristic": ["select", "train.csv", "--method", "bilevel-vns", "-O", "restarts=2"],
    "select-soft": ["select", "train.csv", "--slack-penalty", "1", "--gap", "10%"],
    "select-standardised": ["select", "train.csv", "--transform", "standardise", *SHORT],
    "select-infeasible": ["select", "twins.csv"],
    "select-soft-infeasible": ["select", "few.csv", "--slack-penalty", "1", "--fixed-out", "g2"],
    "select-unknown": ["select", "train.csv", "--alpha", "1000", *QUICK],
    "select-grouped": ["select", "few.csv", "--groups", "pairs.csv", "--fixed-in", "g2", "--beta", "1.1"],
    "panel": ["panel", "train.csv", "--size", "4", "--gap", "50%", *SHORT],
    "panel-offset": ["panel", "train.csv", "--size", "4", "--offset", "--transform", "log2", "--floor", "20", *SHORT],
    "panel-each": ["panel", "train.csv", "--size", "A=2,B=1", "--gap", "50%", *SHORT],
    "panel-even": ["panel", "train.csv", "--size", "5", "--split", "even", "--gap", "50%", *SHORT],
    "panel-grouped": ["panel", "few.csv", "--size", "2", "--groups", "pairs.csv", *GROUPED],
    "frontier": ["frontier", "train.csv", "--sizes", "2,4", "--cv", "2", "--gap", "20%", *SHORT],
    "frontier-logs": ["frontier", "few.csv", "--sizes", "2", "--cv", "0", "--transform", "log2", *SHORT],
    "path": ["path", "train.csv", "--n-margins", "3", "--cv", "2", "--top", "2", *QUICK],
    "path-beta": ["path", "train.csv", "--betas", "1,1.1,9", "--cv", "0", *QUICK],
    "path-soft": ["path", "train.csv", "--alphas", "0,5", "--cv", "2", "--slack-penalty", "1", "--gap", "10%"],
    "stability": ["stability", "train.csv", "--repeats", "3", "--top", "2", *QUICK],
    "inspect": ["inspect", "train.csv"],
}


@pytest.fixture(scope="module")
def printed(table, tmp_path_factory):
    """What a command prints, and the folder that it writes, by the name of a run; each is run once."""
    done = {}

    def of(name, capsys):
        if name not in done:
            command, data, *more = RUNS[name]
            more = [str(table / word) if word.endswith(".csv") else word for word in more]
            out = [] if command == "inspect" else ["--out", str(tmp_path_factory.mktemp("out") / "answer")]
            main([command, str(table / data), "--labels", "class", "--json", *more, *out])
            done[name] = json.loads(capsys.readouterr().out), Path(out[-1]) if out else None
        return done[name]

    return of


@pytest.mark.parametrize("run", RUNS)
def test_what_is_printed_and_written_holds(run, printed, capsys):
    document, folder = printed(run, capsys)
    assert_strict(f"cobic-{RUNS[run][0]}.json", document)
    written = [] if folder is None else list(folder.glob("*.json"))
    assert written or folder is None
    for file in written:
        assert_strict(file.name, json.loads(file.read_text()))


def test_the_runs_are_as_different_as_they_should_be(printed, capsys):
    answers = {name: printed(name, capsys) for name in RUNS}
    statuses = {name: document.get("status") for name, (document, _) in answers.items()}
    assert statuses["select-infeasible"] == "infeasible"
    assert statuses["select-unknown"] == "unknown"
    assert answers["select-soft-infeasible"][0]["objective"] is None
    models = {
        name: json.loads((folder / "model.json").read_text())
        for name, (_, folder) in answers.items()
        if folder and (folder / "model.json").exists()
    }
    assert {model["version"] for model in models.values()} == {1, 2}
    assert {model.get("transform", {}).get("name") for model in models.values()} == {None, "log2", "standardise"}
    assert json.loads((answers["select-heuristic"][1] / "run.json").read_text())["runs"]
    assert {row.get("kind") for row, _ in answers.values()} >= {"alpha", "beta"}


CHECKS = {
    "hard": ("select", "train.csv", [], True),
    "soft": ("select-soft", "train.csv", [], True),
    "panel": ("panel-offset", "train.csv", [], True),
    "groups": ("panel-grouped", "few.csv", [], True),
    "selected groups": ("select-grouped", "few.csv", ["--exact"], True),
    "another question": ("panel-offset", "train.csv", ["--alpha", "3"], False),
    "other data": ("select", "twins.csv", [], False),
}


@pytest.mark.parametrize("check", CHECKS)
def test_what_verify_prints_holds(check, table, printed, capsys):
    run, data, more, ok = CHECKS[check]
    proof = printed(run, capsys)[1] / "certificate.json"
    main(["verify", str(proof), str(table / data), "--labels", "class", "--json", *more])
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is ok
    assert_strict("cobic-verify.json", document)


@pytest.mark.parametrize("text", ["{}", "no JSON", '{"format": "cobic-certificate", "version": 2}'])
def test_what_verify_prints_of_what_is_no_certificate_holds(text, table, tmp_path, capsys):
    (tmp_path / "proof.json").write_text(text)
    assert main(["verify", str(tmp_path / "proof.json"), str(table / "train.csv"), "--labels", "class", "--json"]) == 4
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is False
    assert document["problem"] is None
    assert_strict("cobic-verify.json", document)


@pytest.mark.parametrize("labels", [["--labels", "class"], ["--drop", "class"]])
def test_what_classify_prints_holds(labels, table, printed, capsys):
    model = printed("panel-offset", capsys)[1] / "model.json"
    assert main(["classify", str(model), str(table / "new.csv"), *labels, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["errors"] is None) == (labels[0] == "--drop")
    assert_strict("cobic-classify.json", document)


def test_what_inspect_prints_of_a_poor_table_holds(table, capsys):
    assert main(["inspect", str(table / "without.csv"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["first_places"]
    assert_strict("cobic-inspect.json", document)


@pytest.mark.real_data
def test_what_reproduce_prints_holds(real_data, capsys):
    assert main(["reproduce", "--rows", "golub:alpha=0", "notterman:alpha=0", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["rows"]) == 2
    assert_strict("cobic-reproduce.json", document)


def test_the_steps_of_a_run_that_was_stopped_say_what_it_is(table, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("cobic.analyses.stability._summary", stop)
    arguments = ["stability", str(table / "train.csv"), "--labels", "class", "--repeats", "2", *QUICK]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 128 + signal.SIGINT
    document = json.loads((tmp_path / "out" / "steps" / "run.json").read_text())
    assert_strict("steps-run.json", document)


def test_models_with_every_kind_of_label_hold():
    for labels in (["a", "b"], [0, 1], [False, True], [0.0, 2.0]):
        problem = cobic.Problem(np.array([[3.0, 1.0], [1.0, 4.0]]), labels)
        assert faults("model.json", json.loads(cobic.Model.of(problem, cobic.solve(problem)).to_json())) == []
