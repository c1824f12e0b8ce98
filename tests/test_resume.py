"""Long runs go on where they were stopped, with the same answer; nothing is taken for a step that is none."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import cobic
from cobic.answer import steps as steps_module
from cobic.answer.records import read_result, result_document
from cobic.answer.steps import Steps, run_parameters
from cobic.cli import main
from cobic.errors import InputError, UnfinishedError
from cobic.io import table_text

ALPHAS = [0.0, 15.0, 30.0]


@pytest.fixture(scope="module")
def data():
    return cobic.datasets.make_expression(n_features=150, class_sizes=(12, 10), contaminated=0.05, seed=3)


@pytest.fixture(scope="module")
def table(tmp_path_factory, data):
    file = tmp_path_factory.mktemp("data") / "data.csv"
    file.write_text(table_text(data))
    return file


def trace(data, folder=None, **given):
    given = {"alphas": ALPHAS, "cv": 3, "time_limit": None, **given}
    return cobic.path(data.X, data.y, folder=folder, **given)


def repeat(data, folder=None, **given):
    given = {"n_repeats": 5, "method": "fixed-point", "time_limit": None, **given}
    return cobic.stability(data.X, data.y, folder=folder, **given)


def assert_same_path(one, other):
    assert one.table.drop(columns="seconds").equals(other.table.drop(columns="seconds"))
    assert (one.chosen, one.reason, one.stopped_by) == (other.chosen, other.reason, other.stopped_by)
    np.testing.assert_array_equal(one.survival.ranking, other.survival.ranking)
    assert (one.largest is None) == (other.largest is None)
    if one.largest is not None:
        assert (one.largest.found, one.largest.bound) == (other.largest.found, other.largest.bound)
    for left, right in zip(one.results, other.results, strict=True):
        np.testing.assert_array_equal(left.support, right.support)
        assert left.certificate == right.certificate


def names(folder):
    return sorted(file.name for file in folder.iterdir())


class Stopped(Exception):
    """What ends a run in the middle, as a power cut does: no handler of cobic's knows it."""


def stopping(monkeypatch, target, after):
    """Let a function work `after` times, then fail; the calls that were begun."""
    module, _, name = target.rpartition(".")
    original, calls = getattr(import_module(module), name), []

    def once_more(*given, **options):
        calls.append(given)
        if len(calls) > after:
            raise Stopped
        return original(*given, **options)

    monkeypatch.setattr(import_module(module), name, once_more)
    return calls


# --- the same answer


@pytest.mark.parametrize(
    ("given", "stops"),
    [
        ({}, (1, 2)),
        ({"alphas": None, "n_margins": 3, "cv": None}, (3,)),  # where the largest margin is sought
        ({"slack_penalty": 0.05, "alphas": [0.0, 20.0], "method_options": {"max_programs": 60}}, (1,)),
    ],
)
def test_a_path_goes_on_where_it_was_stopped(tmp_path, monkeypatch, given, stops):
    data = cobic.datasets.make_expression(n_features=60, class_sizes=(10, 8), contaminated=0.05, seed=3)
    fits = stopping(monkeypatch, "cobic.analyses.tracing.solve", 10_000)
    whole, needed = trace(data, **given), len(fits)
    for stop in stops:
        folder = tmp_path / f"{stop}"
        with monkeypatch.context() as patched:
            stopping(patched, "cobic.analyses.tracing.solve", stop)
            with pytest.raises(Stopped):
                trace(data, folder, **given)
        fits.clear()
        assert_same_path(trace(data, folder, **given), whole)
        assert len(fits) == needed - stop
        fits.clear()
        assert_same_path(trace(data, folder, **given), whole)
        assert fits == []  # a finished run is read


@pytest.mark.resume
def test_a_finished_fold_is_not_done_again(data, tmp_path, monkeypatch):
    whole = trace(data)
    with monkeypatch.context() as patched:
        stopping(patched, "cobic.analyses.path._errors_of_fold", 2)
        with pytest.raises(Stopped):
            trace(data, tmp_path)
    assert names(tmp_path) == [
        "fit-0001.json", "fit-0002.json", "fit-0003.json", "fold-0001.json", "fold-0002.json", "run.json",
    ]  # fmt: skip
    folds, lines = stopping(monkeypatch, "cobic.analyses.path._errors_of_fold", 10), []
    assert_same_path(trace(data, tmp_path, on_progress=lines.append), whole)
    assert len(folds) == 1
    assert lines[-2:] == ["cross-validation: 2 of 3 folds done", "cross-validation: 3 of 3 folds done"]


def test_subsamples_are_not_drawn_again(data, tmp_path, monkeypatch):
    whole = repeat(data)
    with monkeypatch.context() as patched:
        stopping(patched, "cobic.analyses.stability._run", 3)
        with pytest.raises(Stopped):
            repeat(data, tmp_path)
    assert len(names(tmp_path)) == 4
    runs = stopping(monkeypatch, "cobic.analyses.stability._run", 10)
    again = repeat(data, tmp_path)
    assert len(runs) == 2
    np.testing.assert_array_equal(again.frequency, whole.frequency)
    assert (again.index, again.interval, again.n_selected) == (whole.index, whole.interval, whole.n_selected)


def test_runs_without_a_selection_are_kept_too(data, tmp_path, monkeypatch):
    X = data.X.copy()
    X[0] = 5.0  # no mean of this sample exceeds another
    given = {"n_repeats": 8, "subsample": 0.5, "method": "fixed-point", "time_limit": None}
    first = cobic.stability(X, data.y, folder=tmp_path, **given)
    runs = stopping(monkeypatch, "cobic.analyses.stability._run", 0)
    again = cobic.stability(X, data.y, folder=tmp_path, **given)
    assert runs == []
    assert first.n_failed == again.n_failed > 0
    np.testing.assert_array_equal(first.frequency, again.frequency)


def test_results_survive_a_file_unchanged(data):
    for problem, options in (
        (data.problem(20.0), {}),
        (data.problem(20.0, slack_penalty=0.05), {"max_programs": 30}),
        (data.problem(1e6), {"method": "fixed-point"}),
        (data.problem(), {"method": "bilevel-vns", "restarts": 2}),
    ):
        result = cobic.solve(problem, **options)
        again = read_result(json.loads(json.dumps(result_document(result))), problem)
        for name in result.__dataclass_fields__:
            np.testing.assert_equal(getattr(again, name), getattr(result, name), err_msg=name)


# --- what is refused


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"time_limit": 50.0}, r"time_limit changed from none to 50.0"),
        ({"random_state": 1}, r"cv changed, random_state changed from 0 to 1"),
        ({"alphas": [0.0, 15.0]}, r"alphas changed from \[0.0, 15.0, 30.0\] to \[0.0, 15.0\]"),
        ({"cv": 2}, r"cv changed"),
        ({"beta": 1.1}, r"beta changed from 1.0 to 1.1"),
        ({"method": "fixed-point"}, r"method changed from certified to fixed-point"),
        ({"method_options": {"max_programs": 9}}, r"method_options changed from {} to {'max_programs': 9}"),
        ({"ties": "exclude"}, r"ties changed from first to exclude"),
        ({"fixed_out": [3]}, r"excluded changed from \[\] to \[3\]"),
        ({"slack_penalty": 2.0}, r"slack_penalty changed from none to 2.0"),
    ],
)
def test_other_parameters_are_refused_by_name(data, tmp_path, change, words):
    folds = {} if {"cv", "random_state"} & set(change) else {"cv": None}
    trace(data, tmp_path, **folds)
    before = names(tmp_path)
    with pytest.raises(InputError, match=rf"steps of another run \({words}\): give another folder"):
        trace(data, tmp_path, **{**folds, **change})
    assert names(tmp_path) == before


def test_other_data_labels_versions_and_runs_are_refused(data, tmp_path, monkeypatch):
    repeat(data, tmp_path)
    X, y = data.X.copy(), data.y.copy()
    X[3, 4] += 1e-9
    with pytest.raises(InputError, match="the data changed"):
        cobic.stability(X, y, n_repeats=5, method="fixed-point", time_limit=None, folder=tmp_path)
    y[0] = y[-1]
    with pytest.raises(InputError, match="the classes of the samples changed"):
        cobic.stability(data.X, y, n_repeats=5, method="fixed-point", time_limit=None, folder=tmp_path)
    with pytest.raises(InputError, match="cobic stability, not path"):
        trace(data, tmp_path)
    monkeypatch.setattr(steps_module, "version", lambda _: "99.0")
    with pytest.raises(InputError, match=r"now 99\.0"):
        repeat(data, tmp_path)


def test_a_folder_of_something_else_is_left_alone(data, tmp_path):
    (tmp_path / "mine.json").write_text("{}")
    for anew in (False, True):
        with pytest.raises(InputError, match="holds files that are no steps of cobic"):
            repeat(data, Steps(tmp_path, anew=anew))
    assert names(tmp_path) == ["mine.json"]
    with pytest.raises(InputError, match="folder is 7"):
        repeat(data, 7)


@pytest.mark.parametrize("damage", ["truncated", "changed", "foreign", "binary"])
def test_a_damaged_step_is_done_again(data, tmp_path, monkeypatch, damage):
    whole = repeat(data, tmp_path / "steps")
    step = tmp_path / "steps" / "subsample-0002.json"
    text = step.read_text()
    if damage == "truncated":
        step.write_text(text[:-20])
    elif damage == "changed":  # another selection
        place = text.index('"support":"') + 12
        step.write_text(text[:place] + ("0" if text[place] != "0" else "1") + text[place + 1 :])
    elif damage == "foreign":  # the same step of another run, whole
        repeat(data, tmp_path / "other", random_state=1)
        step.write_text((tmp_path / "other" / "subsample-0002.json").read_text())
    else:
        step.write_bytes(b"\xff\xfe\x00")
    runs, told = stopping(monkeypatch, "cobic.analyses.stability._run", 10), []
    again = repeat(data, Steps(tmp_path / "steps", on_resume=lambda *counts: told.append(counts)))
    assert told == [(4, 1)]
    assert len(runs) == 1
    np.testing.assert_array_equal(again.frequency, whole.frequency)
    assert step.read_text() == text


def test_a_step_about_something_else_is_not_used(data, tmp_path):
    def parameters():
        return run_parameters("sum", data.problem(), {})

    with Steps(tmp_path).opened(parameters) as steps:
        steps.keep("one", [1], 1)
        assert steps.recall("one", [1]) == 1
        assert steps.recall("one", [2]) is None
        assert steps.recall("two", [1]) is None


def test_a_second_process_is_kept_away(data, tmp_path):
    code = (
        "import sys, time\nfrom cobic.answer.steps import Steps\n"
        f"with Steps({str(tmp_path)!r}).opened(dict):\n    print('in', flush=True)\n    time.sleep(100)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "in\n"
        with pytest.raises(InputError, match=f"in use by process {process.pid} on "):
            repeat(data, tmp_path)
    finally:
        process.kill()
        process.communicate()
    assert repeat(data, tmp_path).n_repeats == 5  # the lock went with the process


def test_an_error_that_would_come_again_leaves_nothing(data, tmp_path):
    with pytest.raises(InputError, match="0 of 5 runs found a selection"):
        repeat(data, tmp_path / "steps", alpha=1e6)
    assert names(tmp_path) == []


def test_a_full_disk_loses_only_the_step_at_hand(data, tmp_path, monkeypatch):
    whole, synced, sync = repeat(data), [], os.fsync

    def full(handle):
        synced.append(handle)
        if len(synced) > 6:  # run.json and two steps, each with the folder that it is in
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(UnfinishedError, match=r"No space left on device; what was finished before is kept"):
            repeat(data, tmp_path)
    assert names(tmp_path) == ["run.json", "subsample-0001.json", "subsample-0002.json"]
    runs = stopping(monkeypatch, "cobic.analyses.stability._run", 10)
    np.testing.assert_array_equal(repeat(data, tmp_path).frequency, whole.frequency)
    assert len(runs) == 3


# --- the command line


def command(*arguments):
    return [sys.executable, "-m", "cobic", *map(str, arguments)]


def without_seconds(text):
    document = json.loads(text)
    for row in document.get("rows", []):
        del row["seconds"]
    return document


def begun(process, folder, pattern):
    """Wait until a run has finished a step."""
    deadline = time.monotonic() + 120
    while not list(folder.glob(pattern)):
        assert process.poll() is None, "it ended before it could be stopped"
        assert time.monotonic() < deadline
        time.sleep(0.005)


PATH = ["--labels", "class", "--alphas", "0,5,10,15,20,25,30", "--cv", "4", "--time-limit", "0", "--json"]


@pytest.mark.resume
def test_a_killed_path_goes_on_with_the_same_command(table, tmp_path):
    out, plain = tmp_path / "out", tmp_path / "plain"
    ended = subprocess.run(command("path", table, *PATH, "--out", plain), capture_output=True, text=True, check=True)
    assert ended.stderr == ""
    process = subprocess.Popen(command("path", table, *PATH, "--out", out), stdout=subprocess.PIPE)
    begun(process, out / "steps", "fit-0002.json")
    os.kill(process.pid, signal.SIGKILL)
    assert process.communicate()[0] == b""
    assert names(out) == ["steps"]
    kept = len(list((out / "steps").glob("f*.json")))
    again = subprocess.run(command("path", table, *PATH, "--out", out), capture_output=True, text=True, check=True)
    assert again.stderr == f"cobic: goes on after {kept} finished step(s) in {out / 'steps'}\n"
    assert without_seconds(again.stdout) == without_seconds(ended.stdout)
    assert names(out) == names(plain)  # the steps are gone, the answer is there
    assert (out / "ranking.csv").read_bytes() == (plain / "ranking.csv").read_bytes()


def begin(monkeypatch, target, after, *arguments):
    with monkeypatch.context() as patched:
        stopping(patched, target, after)
        with pytest.raises(Stopped):
            main([str(each) for each in arguments])


@pytest.mark.resume
def test_the_command_line_refuses_a_changed_run_and_forces_a_new_one(table, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    arguments = ["path", table, *PATH, "--out", out]
    begin(monkeypatch, "cobic.analyses.tracing.solve", 2, *arguments)
    capsys.readouterr()
    for change, words in (
        (["--seed", "4"], "random_state changed from 0 to 4"),
        (["--alphas", "0,5"], "alphas changed from"),
        (["--ties", "exclude"], "ties changed from first to exclude"),
    ):
        assert main([str(each) for each in [*arguments, *change]]) == 2
        told = capsys.readouterr()
        assert told.err.count("\n") == 1
        assert words in told.err
        assert "--force" in told.err
        assert told.out == ""
    other = tmp_path / "other.csv"
    text = table.read_text()
    other.write_text(text[:-2] + ("1" if text[-2] != "1" else "2") + "\n")
    assert main([str(each) for each in ["path", other, *arguments[2:]]]) == 2
    assert "the data changed" in capsys.readouterr().err
    fits = stopping(monkeypatch, "cobic.analyses.tracing.solve", 100)
    assert main([str(each) for each in [*arguments, "--alphas", "0,5", "--cv", "0", "--force"]]) == 0
    assert len(fits) == 2
    assert [row["alpha"] for row in json.loads(capsys.readouterr().out)["rows"]] == [0.0, 5.0]
    assert "steps" not in names(out)


def test_a_folder_with_other_files_is_still_refused(table, tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("keep")
    assert main(["path", str(table), *PATH, "--out", str(tmp_path)]) == 2
    assert "already has files in it" in capsys.readouterr().err
    assert names(tmp_path) == ["mine.txt"]


@pytest.mark.resume
def test_ctrl_c_keeps_the_steps(table, tmp_path, capsys, monkeypatch):
    def interrupted(problem, *given, **options):
        if problem.alpha[0] == 10:
            raise KeyboardInterrupt
        return cobic.solve(problem, *given, **options)

    out = tmp_path / "out"
    arguments = ["path", str(table), *PATH, "--out", str(out)]
    with monkeypatch.context() as patched:
        patched.setattr("cobic.analyses.tracing.solve", interrupted)
        assert main(arguments) == 130
    assert {"path.csv", "steps"} <= set(names(out))
    capsys.readouterr()
    assert main(arguments) == 0
    told = capsys.readouterr()
    assert "goes on after 2 finished step(s)" in told.err
    assert len(json.loads(told.out)["rows"]) == 7
    assert "steps" not in names(out)


def test_stability_on_the_command_line(data, table, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    arguments = ["stability", str(table), "--labels", "class", "--repeats", "6", "--method", "fixed-point"]
    arguments += ["--top", "2", "--out", str(out)]
    begin(monkeypatch, "cobic.analyses.stability._run", 4, *arguments)
    assert main([*arguments, "--json"]) == 0
    told = capsys.readouterr()
    assert told.err == f"cobic: goes on after 4 finished step(s) in {out / 'steps'}\n"
    document = json.loads(told.out)
    found = cobic.stability(data.X, data.y, n_repeats=6, method="fixed-point", feature_names=data.feature_names)
    assert (document["index"], document["interval"]) == (found.index, list(found.interval))
    assert document["n_selected"] == list(found.n_selected)
    assert [row["feature"] for row in document["top"]] == list(found.table["feature"][:2])
    assert names(out) == ["stability.csv", "stability.json"]
    assert (out / "stability.csv").read_text() == found.table.to_csv(index=False, lineterminator="\n")
    assert main([*arguments, "--force"]) == 0
    told = capsys.readouterr().out
    assert f"Stability {found.index:.3f}, 95 % interval" in told
    assert "6 subsamples, 0 without a selection" in told
    assert main(["stability", str(table), "--labels", "class", "--subsample", "1.5"]) == 2
    assert "subsample is 1.5" in capsys.readouterr().err


def test_the_folder_of_a_failed_run_is_gone(table, tmp_path, capsys):
    arguments = ["stability", str(table), "--labels", "class", "--repeats", "3", "--alpha", "1e6"]
    assert main([*arguments, "--method", "fixed-point", "--out", str(tmp_path / "a" / "b")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert list(Path(tmp_path).iterdir()) == []
