import json
import os
import resource
import signal
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cobic
from cobic.cli import main
from cobic.io import table_text

SUMMARY_KEYS = {
    "n_selected",
    "upper_bound",
    "gap",
    "status",
    "worst_margin",
    "counts",
    "seconds",
    "method",
    "n_features",
    "n_samples",
    "classes",
}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    data = cobic.datasets.make_expression(n_features=150, contaminated=0.05, seed=3)
    folder = tmp_path_factory.mktemp("tables")
    (folder / "train.csv").write_text(table_text(data))
    (folder / "test.csv").write_text(table_text(data.test))
    return folder / "train.csv"


@pytest.fixture(scope="module")
def answer(table):
    """What is selected of the table, in a folder that nobody changes."""
    assert main(["select", str(table), "--labels", "class", "--out", str(table.parent / "answer")]) == 0
    return table.parent / "answer"


def run(*arguments, **settings):
    command = [sys.executable, "-m", "cobic", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **settings)


def fails(capsys, code, *arguments):
    """Run a command that must fail with one line on standard error and nothing on standard output."""
    try:
        found = main([str(argument) for argument in arguments])
    except SystemExit as exit_:
        found = exit_.code
    out, err = capsys.readouterr()
    assert found == code
    assert out == ""
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err


def test_select_json_has_the_promised_keys(table, capsys):
    assert main(["select", str(table), "--labels", "class", "--json", "--method", "fixed-point"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document) == SUMMARY_KEYS
    assert document["n_features"] == 150
    assert document["n_samples"] == 38
    assert document["classes"] == ["A", "B"]
    assert document["status"] == "feasible"
    assert sum(document["counts"]) == document["n_selected"]
    assert document["gap"] == document["upper_bound"] - document["n_selected"]


def test_select_then_classify(table, tmp_path, capsys):
    out = tmp_path / "answer"
    assert main(["select", str(table), "--labels", "class", "--alpha", "2", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "Kept" in told
    assert "Read 38 samples × 150 features, samples in rows; classes A: 27, B: 11." in told
    found, proven, where = told.splitlines()[-3:]
    assert found.startswith("Kept ")
    assert proven.startswith("Proven: no consistent selection has more than")
    assert where == f"Look at {out / 'report.html'}; the table, the model and the proof are beside it."
    assert sorted(path.name for path in out.iterdir()) == [
        "certificate.json",
        "model.json",
        "report.html",
        "run.json",
        "selection.csv",
    ]
    listed = pd.read_csv(out / "selection.csv")
    summary = json.loads((out / "run.json").read_text())
    assert listed.shape[0] == 150
    assert listed["selected"].sum() == summary["n_selected"]
    assert summary["alpha"] == [2.0] * 38
    data = cobic.read(table, labels="class")
    assert cobic.Problem(data.X, data.y, alpha=2.0).is_consistent(listed["selected"].to_numpy())

    test = table.parent / "test.csv"
    assert main(["classify", str(out / "model.json"), str(test), "--labels", "class", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    wrong = [row for row in answer["samples"] if row["predicted"] != row["class"]]
    assert answer["n_samples"] == 34
    assert answer["errors"] == len(wrong)

    written = tmp_path / "classes.csv"
    assert main(["classify", str(out / "model.json"), str(test), "--drop", "class", "--out", str(written)]) == 0
    assert pd.read_csv(written)["predicted"].tolist() == [row["predicted"] for row in answer["samples"]]
    capsys.readouterr()
    assert "exists" in fails(capsys, 2, "classify", out / "model.json", test, "--drop", "class", "--out", written)


def test_features_in_rows_and_a_labels_file_give_the_same_answer(table, tmp_path, capsys):
    data = cobic.read(table, labels="class")
    turned = pd.DataFrame(data.X.T, index=data.feature_names, columns=data.sample_names)
    turned.to_csv(tmp_path / "turned.csv.gz", index_label="gene")
    pd.Series(data.y, index=data.sample_names, name="class").to_csv(tmp_path / "labels.csv")
    method = ["--json", "--method", "fixed-point"]
    assert main(["select", str(table), "--labels", "class", *method]) == 0
    rows = json.loads(capsys.readouterr().out)
    files = [str(tmp_path / "turned.csv.gz"), "--labels-file", str(tmp_path / "labels.csv")]
    assert main(["select", *files, "--features-in-rows", *method]) == 0
    columns = json.loads(capsys.readouterr().out)
    assert {**rows, "seconds": 0} == {**columns, "seconds": 0}


def test_method_options_reach_the_method(table, capsys):
    options = ["--method", "bilevel-vns", "-O", "criterion=published", "-O", "restarts=2", "--seed", "3"]
    assert main(["select", str(table), "--labels", "class", *options]) == 5  # the published criterion is fooled
    assert main(["select", str(table), "--labels", "class", "--ties", "exclude", "--beta-rule", "sign-aware"]) == 0
    capsys.readouterr()
    assert "has no option 'speed'" in fails(capsys, 2, "select", table, "--labels", "class", "--json", "-O", "speed=1")
    assert "NAME=VALUE" in fails(capsys, 2, "select", table, "--labels", "class", "--json", "-O", "speed")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["select"], "DATA"),
        (["dance"], "invalid choice"),
        ([], "COMMAND"),
        (["select", "{table}"], "say where the classes are"),
        (["select", "nowhere.csv", "--labels", "class"], "there is no file nowhere.csv"),
        (["select", "{table}", "--labels", "kind"], "no column or line 'kind'"),
        (["select", "{table}", "--labels", "class", "--alpha", "much"], "alpha is 'much': give a number, a share"),
        (["select", "{table}", "--labels", "class", "--alpha", "-1"], "alpha is -1"),
        (["select", "{table}", "--labels", "class", "--beta", "0.5"], "beta is 0.5"),
        (["select", "{table}", "--labels", "class", "--json", "--method", "magic"], "choose one of certified"),
        (["select", "{table}", "--labels", "class", "--json", "--time-limit", "-1"], "time_limit is -1"),
        (["select", "{table}", "--labels", "class", "--features-in-rows"], "looks transposed"),
        (["select", "{table}", "--labels", "class", "--out", "{table}/sub"], "cannot write"),
        (["classify", "nowhere.json", "{table}"], "there is no file nowhere.json"),
        (["reproduce", "--rows", "golub:gamma"], "no row is called 'golub:gamma'"),
        (["datasets", "iris"], "no data set 'iris'"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(table, capsys, arguments, words):
    filled = [argument.replace("{table}", str(table)) for argument in arguments]
    assert words in fails(capsys, 2, *filled)


SELECT = ["select", "{table}", "--labels", "class", "--json"]
PATH = ["path", "{table}", "--labels", "class", "--json"]
REPRODUCE = ["reproduce", "--rows", "golub:alpha=50"]


@pytest.mark.parametrize("command", [SELECT, PATH, REPRODUCE], ids=lambda command: command[0])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--seed", "-1"], "seed is -1: give a whole number of at least 0"),
        (["--seed", "many"], "--seed: invalid int value"),
        (["--time-limit", "nan"], "time_limit is nan: give a number of seconds above 0"),
        (["--method", "magic"], "choose one of certified, bilevel-vns"),
        (["-O", "nonsense"], "--option 'nonsense': write it as NAME=VALUE"),
        (["-O", "nonsense=1"], "its options are max_programs, target_gap, start"),
        (["-O", "seed=3"], "has no option 'seed'"),
        (["-O", "problem=3"], "has no option 'problem'"),
        (["-O", "on_progress=3"], "has no option 'on_progress'"),
        (["-O", "start=3"], "start is 3: give a list of selections"),
        (["-O", "start=abc"], "start is 'abc': give a list of selections"),
        (["-O", "start={[]: 1}"], "give a list of selections"),
        (["-O", "start=[3]"], "the selection has shape ()"),
        (["-O", "start=[[[1], [1, 0]]]"], "give one entry per feature"),
        (["-O", "target_gap=abc"], "target_gap is 'abc': give a number of at least 0"),
        (["-O", "target_gap=None"], "target_gap is None"),
        (["-O", "max_programs=1.5"], "max_programs is 1.5: give a whole number of at least 1"),
        (["--method", "bilevel-vns", "-O", "starting_range=abc"], "starting_range is 'abc' and max_range 0.2"),
        (["--method", "bilevel-vns", "-O", "range_growth=abc"], "range_growth is 'abc': it must be above 1"),
        (["--method", "fixed-point", "-O", "max_iterations=abc"], "max_iterations is 'abc'"),
    ],
)
def test_mistakes_in_the_method_are_one_line_and_exit_2(table, capsys, request, command, arguments, words):
    if command is REPRODUCE:
        request.getfixturevalue("real_data")
    filled = [argument.replace("{table}", str(table)) for argument in [*command, *arguments]]
    assert words in fails(capsys, 2, *filled)


@pytest.mark.parametrize("command", [SELECT, PATH], ids=lambda command: command[0])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--slack-penalty", "cheap"], "slack_penalty is 'cheap': give a number above 0, \"auto\""),
        (["--slack-penalty", "nan"], "slack_penalty is nan"),
        (["--slack-penalty", "1", "--method", "bilevel-vns"], "knows no soft margins"),
        (["--groups", "nosuch.csv"], "there is no file nosuch.csv"),
        (["--groups", "{folder}"], "Is a directory"),
        (["--fixed-out", "nobody"], "fixed_out names 'nobody'"),
        (["--ties", "maybe"], "--ties: invalid choice"),
        (["--labels", "kind"], "no column or line 'kind'"),
        (["--ids", "nobody"], "no column 'nobody'"),
        (["--drop", "class", "--labels-file", "nosuch.csv"], "there is no file nosuch.csv"),
        (["--out", "{table}"], "cannot write"),
    ],
)
def test_mistakes_in_the_rules_are_one_line_and_exit_2(table, capsys, command, arguments, words):
    names = {"{table}": str(table), "{folder}": str(table.parent)}
    assert words in fails(capsys, 2, *(names.get(argument, argument) for argument in [*command, *arguments]))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--jobs", "0"], "n_jobs is 0: give a whole number above 0"),
        (["--cv", "-3"], "give cv of at least 2"),
        (["--cv", "2.5"], "--cv: invalid int value"),
        (["--betas", "0.5"], "betas is [0.5]: give finite numbers of at least 1"),
        (["--alphas", ""], "write numbers with commas"),
        (["--alphas", "0,inf"], "give finite numbers of at least 0"),
        (["--alphas", "1e300"], "numbers beyond 1e100 are too large"),
        (["--n-margins", "1"], "n_margins is 1: give a whole number of at least 2"),
        (["--alpha", "5"], "alpha is given, but alphas are varied: leave alpha out, or give betas"),
        (["--beta", "2", "--betas", "1,2"], "beta is given, but betas are varied: leave beta out, or give alphas"),
    ],
)
def test_mistakes_in_the_margins_of_a_path_are_one_line_and_exit_2(table, capsys, arguments, words):
    assert words in fails(capsys, 2, *(argument.replace("{table}", str(table)) for argument in [*PATH, *arguments]))


def test_a_seed_may_be_large(table, capsys):
    seed = str(2**40)
    assert main(["path", str(table), "--labels", "class", "--json", "--alphas", "0", "--cv", "2", "--seed", seed]) == 0


@pytest.mark.parametrize(
    "content", [b"", bytes(range(256)), b"class,g1,g2\n", b"class,g1\na,1\n", b"class,g1\na,x\nb,1\n"]
)
@pytest.mark.parametrize("command", ["select", "path", "classify", "verify"])
def test_unusable_files_are_one_line_and_exit_2(answer, tmp_path, capsys, command, content):
    (tmp_path / "bad.csv").write_bytes(content)
    first = {"classify": [answer / "model.json"], "verify": [answer / "certificate.json"]}.get(command, [])
    fails(capsys, 2, command, *first, tmp_path / "bad.csv", "--labels", "class")


def test_existing_answers_are_not_overwritten_without_force(table, tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("keep")
    arguments = ["select", table, "--labels", "class", "--method", "fixed-point", "--json", "--out", tmp_path]
    assert "--force" in fails(capsys, 2, *arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    assert main([str(each) for each in [*arguments, "--force"]]) == 0
    assert (tmp_path / "mine.txt").read_text() == "keep"
    assert (tmp_path / "model.json").exists()


def test_infeasible_is_exit_3_and_the_answer_is_written(tmp_path, capsys):
    (tmp_path / "flat.csv").write_text("class,g1,g2\na,1,1\nb,1,1\n")
    out = tmp_path / "out"
    assert main(["select", str(tmp_path / "flat.csv"), "--labels", "class", "--out", str(out)]) == 3
    told = capsys.readouterr().out.splitlines()
    assert told[-3].startswith("No consistent selection exists: no feature has its largest mean in class b")
    assert told[-1] == f"Look at {out / 'report.html'}; the table and the proof are beside it."
    assert json.loads((out / "run.json").read_text())["status"] == "infeasible"
    assert not (out / "model.json").exists()


@pytest.mark.parametrize("text", ["{}", "[]", "not JSON", '{"format": "cobic-model"}'])
def test_what_is_no_certificate_is_called_so(table, tmp_path, capsys, text):
    (tmp_path / "some.json").write_text(text)
    assert main(["verify", str(tmp_path / "some.json"), str(table), "--labels", "class"]) == 4
    assert capsys.readouterr().out == f"{tmp_path / 'some.json'} is not a certificate\n"


def test_infeasible_is_not_explained_by_itself(tmp_path, capsys):
    (tmp_path / "small.csv").write_text("class,g1,g2\na,2,1\nb,1,2\n")
    assert main(["select", str(tmp_path / "small.csv"), "--labels", "class", "--alpha", "50"]) == 3
    assert "No consistent selection exists.\n" in capsys.readouterr().out


def test_a_broken_model_is_exit_4(table, tmp_path, capsys):
    (tmp_path / "model.json").write_text('{"format": "cobic-model", "version": 99}')
    assert "version" in fails(capsys, 4, "classify", tmp_path / "model.json", table)


def test_the_features_of_a_panel_are_enough_to_classify(table, tmp_path, capsys):
    def printed(path):
        assert main(["classify", str(tmp_path / "a" / "model.json"), str(path), "--labels", "class"]) == 0
        return capsys.readouterr()

    rules = ["--size", "4", "--transform", "standardise", "--gap", "50%", "--time-limit", "5"]
    main(["panel", str(table), "--labels", "class", *rules, "--out", str(tmp_path / "a")])
    capsys.readouterr()
    everything, whole = printed(table), pd.read_csv(table, index_col=0)
    genes = pd.read_csv(tmp_path / "a" / "panel.csv")["feature"].tolist()
    whole[["class", *genes[::-1]]].to_csv(tmp_path / "four.csv")
    few = printed(tmp_path / "four.csv")
    assert few.out == everything.out
    assert "lacks features of the model, but none of the 4 by which it classifies" in few.err
    whole[genes].T.to_csv(tmp_path / "rows.csv")
    assert main(["classify", str(tmp_path / "a" / "model.json"), str(tmp_path / "rows.csv")]) == 0
    in_rows = capsys.readouterr().out
    whole[genes].to_csv(tmp_path / "columns.csv")
    assert main(["classify", str(tmp_path / "a" / "model.json"), str(tmp_path / "columns.csv")]) == 0
    assert in_rows == capsys.readouterr().out
    whole[["class", *genes[1:]]].to_csv(tmp_path / "three.csv")
    message = fails(capsys, 2, "classify", tmp_path / "a" / "model.json", tmp_path / "three.csv", "--labels", "class")
    assert "three.csv lacks " in message
    model = json.loads((tmp_path / "a" / "model.json").read_text())
    other = next(at for at, name in enumerate(model["feature_names"]) if name not in genes)
    model["feature_names"][other] = genes[0]  # another probe of the same name, which may be the one that was measured
    (tmp_path / "a" / "model.json").write_text(json.dumps(model))
    fails(capsys, 2, "classify", tmp_path / "a" / "model.json", tmp_path / "four.csv", "--labels", "class")


def test_new_data_that_do_not_match_are_exit_2(table, tmp_path, capsys):
    main(["select", str(table), "--labels", "class", "--method", "fixed-point", "--out", str(tmp_path / "a")])
    (tmp_path / "new.csv").write_text("sample,gene_001,gene_000\nx,1,2\n")
    capsys.readouterr()
    model = tmp_path / "a" / "model.json"
    message = fails(capsys, 2, "classify", model, tmp_path / "new.csv")
    assert f"{tmp_path / 'new.csv'} lacks " in message
    assert "the first is 'gene_002': it has 'gene_001', 'gene_000'; give data with the features" in message
    data = cobic.read(table, labels="class")
    turned = pd.DataFrame(data.X.T, index=data.feature_names, columns=data.sample_names)
    turned.to_csv(tmp_path / "turned.csv", index_label="gene")
    wrong = ["classify", model, tmp_path / "turned.csv", "--samples-in-rows"]
    assert "look transposed" in fails(capsys, 2, *wrong)
    assert main(["classify", str(model), str(table), "--drop", "class"]) == 0
    as_before = capsys.readouterr().out
    assert (
        main(["classify", str(model), str(tmp_path / "turned.csv")]) == 0
    )  # the model's features tell which way round
    assert capsys.readouterr().out == as_before


def test_features_of_new_data_are_matched_by_name(table, tmp_path, capsys):
    main(["select", str(table), "--labels", "class", "--method", "fixed-point", "--out", str(tmp_path / "a")])
    model = str(tmp_path / "a" / "model.json")
    capsys.readouterr()
    assert main(["classify", model, str(table), "--labels", "class"]) == 0
    as_before = capsys.readouterr().out
    data = cobic.read(table, labels="class")
    frame = pd.DataFrame(data.X, columns=data.feature_names, index=data.sample_names)[[*data.feature_names[::-1]]]
    frame.insert(1, "more", 1.0)
    frame.T.to_csv(tmp_path / "turned.csv", index_label="gene")
    frame.insert(0, "class", data.y)
    frame.to_csv(tmp_path / "other.csv", index_label="sample")
    assert main(["classify", model, str(tmp_path / "other.csv"), "--labels", "class"]) == 0
    told = capsys.readouterr()
    assert told.out == as_before
    assert "features matched by name" in told.err
    assert "1 that the model does not have are left out" in told.err
    assert main(["classify", model, str(tmp_path / "turned.csv")]) == 0
    assert "features matched by name" in capsys.readouterr().err
    frame.loc[frame.index[:2], "class"] = "new"
    frame.to_csv(tmp_path / "other.csv", index_label="sample")
    assert main(["classify", model, str(tmp_path / "other.csv"), "--labels", "class"]) == 0
    assert "the model does not know 'new' of 2 samples; it knows " in capsys.readouterr().err


@pytest.mark.disk
@pytest.mark.parametrize("room", [1000, 200_000], ids=["for nothing", "for all but the report"])
def test_a_full_disk_loses_nothing(table, tmp_path, room):
    out = tmp_path / "out"
    arguments = ["select", table, "--labels", "class", "--method", "fixed-point", "--json", "--out", out]
    assert run(*arguments).returncode == 0
    before = {path.name: path.read_text() for path in out.iterdir()}

    def no_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    full = run(*arguments, "--force", "--alpha", "1", preexec_fn=no_room)
    assert full.returncode == 2
    assert full.stderr.count("\n") == 1
    assert "cannot write" in full.stderr
    assert set(json.loads(full.stdout)) == SUMMARY_KEYS
    assert {path.name: path.read_text() for path in out.iterdir()} == before


@pytest.fixture(scope="module")
def slow_table(tmp_path_factory):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 2000)).round(3), np.array(["u", "v"])[np.arange(200) % 2]
    data = cobic.Dataset(X, y, tuple(f"g{i}" for i in range(2000)), tuple(f"s{i}" for i in range(200)), "noise")
    path = tmp_path_factory.mktemp("slow") / "slow.csv"
    path.write_text(table_text(data))
    return path


# The command line, with a word as soon as the search has looked at its clock a few times.
TELLS_WHEN_IT_SEARCHES = """
import sys
from clocks import Ticking, time_by
from cobic.cli import main
class Telling(Ticking):
    def __call__(self):
        if self.looks == 50:
            print("searching", flush=True)
        return super().__call__()
with time_by(Telling()):
    sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.processes
def test_ctrl_c_writes_the_best_so_far_and_exits_130(slow_table, tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-c", TELLS_WHEN_IT_SEARCHES, "select", str(slow_table), "--labels", "class"]
    command += ["--alpha", "0.15"]
    command += ["--method", "bilevel-vns", "-O", "restarts=100", "--time-limit", "0", "--out", str(out)]
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=places) as process:
        while "searching" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        told, complaints = process.communicate()
    assert process.returncode == 130
    assert complaints == ""
    assert "interrupt" in told
    summary = json.loads((out / "run.json").read_text())
    assert summary["stopped_by"] == "interrupt"
    assert summary["upper_bound"] == 2000


def test_ctrl_c_in_a_path_writes_the_curve_so_far_and_exits_130(monkeypatch, table, tmp_path, capsys):
    def interrupted(problem, *arguments, **options):
        result = cobic.solve(problem, *arguments, **options)
        return replace(result, stopped_by="interrupt" if problem.alpha[0] > 0 else None)

    monkeypatch.setattr("cobic.analyses.tracing.solve", interrupted)
    out = tmp_path / "curve"
    arguments = ["path", str(table), "--labels", "class", "--alphas", "0,10,30", "--out", str(out)]
    assert main([*arguments, "-O", "max_programs=30"]) == 130
    told = capsys.readouterr().out
    assert "interrupted" in told
    assert "found nothing in their time" not in told
    assert list(pd.read_csv(out / "path.csv")["alpha"]) == [0.0, 10.0]
    assert json.loads((out / "path.json").read_text())["stopped_by"] == "interrupt"
    assert len(pd.read_csv(out / "ranking.csv")) == 150


def test_ctrl_c_before_there_is_anything_is_one_line(monkeypatch, table, capsys):
    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    for module, begun in ("cobic.cli.common", "read_data"), ("cobic.cli.main", "import_module"):  # reading, loading
        monkeypatch.setattr(import_module(module), begun, interrupted)
        assert fails(capsys, 130, "select", table, "--labels", "class") == "cobic: interrupted\n"


def test_a_closed_pipe_ends_quietly(table):
    command = f"{sys.executable} -m cobic datasets | true"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert ended.stderr == ""


@pytest.mark.processes
def test_a_closed_pipe_does_not_keep_files_from_being_written(table, tmp_path):
    script = f"{sys.executable} -m cobic select {table} --labels class --method fixed-point --out {tmp_path / 'out'}"
    ended = subprocess.run(["bash", "-c", f"set -o pipefail; {script} | true"], capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert {"selection.csv", "model.json", "report.html"} <= {path.name for path in (tmp_path / "out").iterdir()}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", ["inspect", "select"])
def test_standard_output_that_cannot_be_written_is_one_line(table, command):
    with Path("/dev/full").open("w") as full:
        arguments = [sys.executable, "-m", "cobic", command, str(table), "--labels", "class"]
        ended = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr == "cobic: cannot write to standard output: No space left on device\n"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["select", "--report", "nowhere/r.html", "--out", "a/b"], "there is no folder"),
        (["select", "--report", ".", "--out", "a/b"], "is a folder"),
        (["export", "--out", "nowhere/m.lp"], "there is no folder"),
        (["export", "--out", "."], "is a folder"),
    ],
)
def test_places_are_looked_at_before_the_work(table, tmp_path, capsys, monkeypatch, command, words):
    def work(*_arguments, **_options):
        pytest.fail("the work was begun")

    monkeypatch.setattr("cobic.cli.select.solve", work)
    monkeypatch.setattr("cobic.cli.export.export_model", work)
    monkeypatch.chdir(tmp_path)
    assert words in fails(capsys, 2, command[0], table, "--labels", "class", *command[1:], "--force")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["select", "path"])
def test_a_failure_leaves_no_empty_folder(table, tmp_path, capsys, monkeypatch, command):
    def failing(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"cobic.cli.{command}.{'solve' if command == 'select' else 'path'}", failing)
    assert main([command, str(table), "--labels", "class", "--out", str(tmp_path / "a" / "b")]) == 130
    assert list(tmp_path.iterdir()) == []


def test_only_what_was_written_is_said_to_be_there(table, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["select", str(table), "--labels", "class", "--method", "fixed-point", "--out", str(out)]) == 0
    where = capsys.readouterr().out.splitlines()[-1]
    assert where == f"Look at {out / 'report.html'}; the table and the model are beside it."


def test_demo_shows_a_result(capsys):
    assert main(["demo", "--method", "fixed-point"]) == 0
    told = capsys.readouterr().out
    assert "Kept 71" in told
    assert "contaminated" in told
    assert "Proven optimal: no other panel" in told
    assert told.count("Held-out samples classified by the") == 2


def test_datasets_are_listed_and_version_is_told(capsys):
    assert main(["datasets"]) == 0
    listed = capsys.readouterr().out
    names = {"golub", "notterman", "khan", "sorlie", "alon", "singh", "gravier", "synthetic"}
    assert {line.split()[0] for line in listed.splitlines()} == names
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert exit_.value.code == 0
    assert cobic.__version__ in capsys.readouterr().out


def test_the_synthetic_data_are_those_of_make_expression(tmp_path, capsys):
    assert main(["datasets", "synthetic", "--out", str(tmp_path)]) == 0
    made, read = cobic.datasets.make_expression(seed=0), cobic.read(tmp_path / "synthetic.csv", "class")
    assert (read.X == made.X).all()
    assert (read.y == made.y).all()
    assert (cobic.read(tmp_path / "synthetic-test.csv", "class").X == made.test.X).all()


def test_a_data_set_is_written_as_a_table_that_select_takes(real_data, tmp_path, capsys):
    assert main(["datasets", "sorlie", "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["select", str(tmp_path / "sorlie.csv"), "--labels", "class", "--method", "fixed-point", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["n_samples"], document["n_features"]) == (85, 456)
    assert document["n_selected"] >= 435


@pytest.mark.parametrize(
    ("file", "labels", "n_selected", "set_aside"),
    [
        ("golub/data_set_ALL_AML_train.csv", ["--labels-file", "golub/actual.csv"], 7080, ["38 columns 'call'"]),
        (
            "notterman/CarcinomaNormaldatasetCancerResearch.csv",
            ["--labels-from-names", "(Tumor|Normal)"],
            7450,
            ["4 empty columns", "'T-Test tumor vs. normal'", "line 'Age'", "line 'Duke Stage'"],
        ),
    ],
)
def test_the_public_files_are_read_as_they_are(real_data, capsys, file, labels, n_selected, set_aside):
    where = [str(real_data / label) if label.endswith(".csv") else label for label in labels]
    assert main(["select", str(real_data / file), *where]) == 0
    told = capsys.readouterr().out
    assert f"Kept {n_selected} of" in told
    assert f"no consistent selection has more than {n_selected} features" in told
    assert "features in rows" in told
    aside = next(line for line in told.splitlines() if line.startswith("Set aside:"))
    assert all(name in aside for name in set_aside)


@pytest.mark.processes
def test_progress_goes_to_a_terminal_only(table):
    assert "selecting" in shown_on_a_terminal(f"select {table} --labels class --json", '"n_selected"')
    told = shown_on_a_terminal(f"path {table} --labels class --alphas 0,10 --cv 3 -O max_programs=30 --json", '"kind"')
    assert "tracing: " in told
    assert "of 3 folds done" in told


def shown_on_a_terminal(arguments, answer):
    script = f"{sys.executable} -m cobic {arguments}"
    silent = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert silent.stderr == ""
    # `script` gives the command a terminal; what it shows there is progress and the answer.
    live = subprocess.run(["script", "-qec", script, "/dev/null"], capture_output=True, text=True, check=True)
    assert answer in live.stdout
    return live.stdout


def test_help_shows_an_example_for_every_command(capsys):
    for command in ("demo", "inspect", "select", "classify", "verify", "reproduce", "datasets"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        assert f"example: cobic {command}" in capsys.readouterr().out


def test_select_with_soft_margins_writes_the_suspects_and_verifies(table, tmp_path, capsys):
    out = tmp_path / "answer"
    arguments = [str(table), "--labels", "class", "--alpha", "60", "--slack-penalty", "0.05", "--out", str(out)]
    assert main(["select", *arguments, "-O", "max_programs=200"]) == 0
    told = capsys.readouterr().out
    assert "samples violate their margin" in told
    assert "proven: at most" in told
    suspects = pd.read_csv(out / "violations.csv")
    assert list(suspects) == ["sample", "name", "class", "read_as", "amount"]
    assert suspects["amount"].is_monotonic_decreasing
    assert len(suspects) > 0
    assert main(["verify", str(out / "certificate.json"), str(table), "--labels", "class"]) == 0
    assert "slack penalty 0.05" in capsys.readouterr().out
    assert main(["classify", str(out / "model.json"), str(table.parent / "test.csv"), "--labels", "class"]) == 0


def test_soft_json_has_the_objective(table, capsys):
    arguments = ["--labels", "class", "--slack-penalty", "auto", "-O", "max_programs=100", "--json"]
    assert main(["select", str(table), *arguments]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document) == SUMMARY_KEYS | {"objective", "objective_bound"}
    assert document["gap"] == pytest.approx(document["objective_bound"] - document["objective"])


def test_fixed_and_grouped_features_on_the_command_line(table, tmp_path, capsys):
    names = pd.read_csv(table, nrows=1).columns.drop("class")
    names = [name for name in names if name.startswith("gene")]
    groups = tmp_path / "groups.csv"
    groups.write_text(f"feature,group\n{names[10]},g\n{names[11]},g\n")
    out = tmp_path / "answer"
    rules = ["--fixed-in", names[3], "--fixed-out", names[4], "--fixed-out", names[5], "--groups", str(groups)]
    assert main(["select", str(table), "--labels", "class", *rules, "--out", str(out)]) == 0
    capsys.readouterr()
    selected = pd.read_csv(out / "selection.csv").set_index("feature")["selected"]
    assert selected[names[3]]
    assert not selected[[names[4], names[5]]].any()
    assert selected[names[10]] == selected[names[11]]
    assert main(["verify", str(out / "certificate.json"), str(table), "--labels", "class"]) == 0
    told = capsys.readouterr().out
    assert f"1 feature required ({names[3]}), 2 features excluded ({names[4]}, {names[5]}), 1 groups" in told


def test_mistakes_in_rules_are_named(table, tmp_path, capsys):
    base = ["select", table, "--labels", "class"]
    assert "fixed_in names 'nobody'" in fails(capsys, 2, *base, "--fixed-in", "nobody")
    assert "slack_penalty is -1" in fails(capsys, 2, *base, "--slack-penalty", "-1")
    groups = tmp_path / "groups.csv"
    groups.write_text("gene,group\nx,a\n")
    assert "has no column 'feature'" in fails(capsys, 2, *base, "--groups", groups)
    groups.write_text("feature,group\nx,a\n")
    assert "the data have no feature 'x'" in fails(capsys, 2, *base, "--groups", groups)


def test_path_writes_the_curve_and_the_ranking(table, tmp_path, capsys):
    out = tmp_path / "curve"
    arguments = [str(table), "--labels", "class", "--alphas", "0,10,30", "--cv", "3", "-O", "max_programs=30"]
    assert main(["path", *arguments, "--top", "5", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "Choose: alpha = " in told
    answer = ["certificate.json", "model.json", "report.html", "run.json", "selection.csv"]
    curve = ["path.csv", "path.json", "path.svg", "ranking.csv"]
    assert sorted(path.name for path in out.iterdir()) == sorted([*answer, *curve])
    assert list(pd.read_csv(out / "path.csv")["alpha"]) == [0.0, 10.0, 30.0]
    ranking = pd.read_csv(out / "ranking.csv")
    assert list(ranking["rank"]) == list(range(1, 151))
    assert (out / "path.svg").read_text().startswith("<?xml")
    assert main(["path", *arguments, "--top", "5", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["alpha"] for row in document["rows"]] == [0.0, 10.0, 30.0]
    assert len(document["top"]) == 5
    assert document["top"][0]["feature"] == ranking["feature"][0]


def test_mistakes_in_a_path_are_named(table, capsys):
    base = ["path", table, "--labels", "class"]
    assert "write numbers with commas" in fails(capsys, 2, *base, "--alphas", "0;1")
    assert "--top is 0" in fails(capsys, 2, *base, "--top", "0")
    assert "give alphas or betas, not both" in fails(capsys, 2, *base, "--alphas", "0", "--betas", "1")
