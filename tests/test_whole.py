"""Old whole or new whole: whatever fails, and whenever a run is killed, no answer is lost or mixed."""

import fcntl
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import cobic
import cobic.answer.steps as steps_module
from cobic.answer.folder import Answer, answer_files, read_answer
from cobic.answer.model import Model
from cobic.answer.steps import Steps
from cobic.cli import main
from cobic.errors import InputError
from cobic.io.chunked import _beside
from cobic.io.files import prepare_folder, settle, write_folder, write_text
from injection import DONE, INTERRUPTED, KILLED, REFUSED, TRACEBACK, injected, matrix

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")

DATA = cobic.datasets.make_expression(60, seed=1)


@pytest.fixture(scope="module")
def answers():
    """Two answers about the same data, as files; the second has one file more, and one less."""
    problems = DATA.problem(alpha=5.0), DATA.problem(slack_penalty=0.1)
    found = [answer_files(Answer(problem, cobic.solve(problem, max_programs=20))) for problem in problems]
    del found[1]["model.json"]
    return found


@pytest.fixture
def quick_place(tmp_path):
    """A folder in memory, where there is such a place: to sync thousands of files on a disk takes minutes."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder)


def content(folder):
    return {file.name: file.read_text() if file.is_file() else None for file in folder.iterdir()}


def judge_of(folder, wholes, again, ends):
    """A judge that wants one of some contents, and that the next run is not hindered."""

    def judge(code, what):
        ends.add(code)
        assert code != TRACEBACK, what
        settle(folder)
        assert {name: text for name, text in content(folder).items() if name[0] != "."} in wholes, what
        again()
        assert content(folder) == wholes[-1], what  # without any rest
        settle(folder)

    return judge


@pytest.mark.disk
@pytest.mark.parametrize("before", ["nothing", "another answer"])
def test_a_folder_of_answers_is_the_old_one_or_the_new_one(quick_place, answers, before):
    folder, (old, new), ends = quick_place / "answer", answers, set()
    there = {"mine.txt": "mine", **(old if before == "another answer" else {})}

    def prepare():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, text in there.items():
            (folder / name).write_text(text)

    def work():
        write_folder(folder, new, instead_of=[*old, *new])

    n_points = matrix(prepare, work, judge_of(folder, [there, {"mine.txt": "mine", **new}], work, ends))
    assert n_points > 150
    assert ends == {DONE, REFUSED, INTERRUPTED, KILLED}


@pytest.mark.disk
def test_who_reads_first_ends_what_a_killed_run_began(quick_place, answers):
    folder, (old, new) = quick_place / "answer", answers
    found = set()

    def prepare():
        shutil.rmtree(folder, ignore_errors=True)
        write_folder(folder, old, instead_of=new)

    def judge(_code, what):
        answer = read_answer(folder, DATA)
        found.add(answer.problem.soft)
        assert (folder / "model.json").exists() is not answer.problem.soft, what
        assert answer.checked.ok

    matrix(prepare, lambda: write_folder(folder, new, instead_of=old), judge)
    assert found == {False, True}


def test_a_model_is_read_from_the_answer_that_counts(tmp_path, answers):
    (old, _), other = answers, DATA.problem(alpha=9.0)
    new = answer_files(Answer(other, cobic.solve(other)))
    write_folder(tmp_path, old)
    with injected(-1, "") as done:
        write_folder(tmp_path, new)
    last_move = max(at for at, name in enumerate(done) if name == "replace")
    write_folder(tmp_path, old)
    with pytest.raises(InputError), injected(last_move - 3, "fails"):
        write_folder(tmp_path, new)
    assert Model.load(tmp_path / "model.json").to_json() == new["model.json"]
    assert content(tmp_path) == new


def test_a_file_is_the_old_one_or_the_new_one(quick_place):
    file, ends = quick_place / "model.json", set()

    def judge(code, what):
        ends.add(code)
        assert code != TRACEBACK, what
        assert file.read_text() in ("old", "new" * 100), what

    n_points = matrix(lambda: file.write_text("old"), lambda: write_text(file, "new" * 100), judge)
    assert n_points >= 5 * 5
    assert ends == {DONE, REFUSED, INTERRUPTED, KILLED}


def test_rests_of_killed_runs_hinder_nobody(tmp_path):
    for name in (".cobic-0123456789abcdef.part", "file"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text("{}")
    with pytest.raises(InputError, match="already has files in it"):
        prepare_folder(tmp_path, overwrite=False)
    shutil.rmtree(tmp_path / "file")
    prepare_folder(tmp_path, overwrite=False)
    write_folder(tmp_path, {"run.json": "{}"})
    assert content(tmp_path) == {"run.json": "{}"}


@pytest.mark.parametrize("plan", ["{", "[]", '{"files": [], "stale": ["../mine.txt"]}', '{"files": [1], "stale": []}'])
def test_a_plan_leads_nowhere_else(tmp_path, plan):
    (tmp_path / "mine.txt").write_text("mine")
    whole = tmp_path / "answer" / ".cobic-whole"
    whole.mkdir(parents=True)
    (whole / "plan.json").write_text(plan)
    with pytest.raises(InputError, match="is damaged: delete it"):
        settle(tmp_path / "answer")
    assert (tmp_path / "mine.txt").exists()
    shutil.move(whole, tmp_path / "elsewhere")
    whole.symlink_to(tmp_path / "elsewhere")
    settle(tmp_path / "answer")
    assert (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("folders", [False, True])
def test_large_data_that_fail_leave_what_was_there(tmp_path, folders):
    path = tmp_path / "data"

    def write(place, text):
        if folders:
            place.mkdir()
        (place / "X" if folders else place).write_text(text)

    def work():
        with _beside(path, overwrite=True) as place:
            write(place, "new")

    def prepare():
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        write(path, "old")

    def judge(code, what):
        if code == KILLED and folders:  # such a store is made of its seed again
            return
        assert (path / "X" if folders else path).read_text() in ("old", "new"), what

    matrix(prepare, work, judge)


def test_folders_are_synced_after_every_change(tmp_path, monkeypatch):
    synced, sync = [], os.fsync

    def noting(handle):
        synced.append(stat.S_ISDIR(os.fstat(handle).st_mode))
        sync(handle)

    monkeypatch.setattr(os, "fsync", noting)
    write_text(tmp_path / "a", "x")
    assert synced == [False, True]
    write_folder(tmp_path / "b", {"x": "1", "y": "2"})
    assert synced[2:6] == [False, False, False, True]  # the files, the plan, the folder that they are in
    assert synced[6:] == [True] * 3  # before and after the files get their places, and when that is done


@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o600), (0o027, 0o640), (0o022, 0o644)])
def test_who_may_read_an_answer_says_the_umask(tmp_path, mask, mode):
    code = (
        "import os; from pathlib import Path; from cobic.io.files import write_folder, write_text; "
        f"os.umask({mask}); write_folder(Path('out'), {{'run.json': '{{}}'}}); write_text(Path('file'), 'x')"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    for path in (tmp_path / "out" / "run.json", tmp_path / "file"):
        assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize("what", ["fifo", "folder", "device"])
def test_only_ordinary_files_are_replaced(tmp_path, what):
    path = tmp_path / "out"
    if what == "device":
        path.symlink_to("/dev/null")
    else:
        os.mkfifo(path) if what == "fifo" else path.mkdir()
    with pytest.raises(InputError, match="no ordinary file"):
        write_text(path, "x")


# --- steps


def run_of(parameters):
    return {"run": "sum", "cobic": "1", "classes": [], "data": "", "format": "cobic-steps", "version": 1} | {
        "parameters": parameters
    }


@pytest.mark.disk
def test_steps_are_there_or_not_and_hinder_nobody(quick_place):
    folder = quick_place / "steps"

    def work():
        with Steps(folder).opened(lambda: run_of({})) as steps:
            for name in ("one", "two"):
                if steps.recall(name, []) is None:
                    steps.keep(name, [], name * 100)

    def judge(code, what):
        assert code != TRACEBACK, what
        with Steps(folder).opened(lambda: run_of({})) as steps:
            assert {steps.recall(name, []) for name in ("one", "two")} <= {None, "one" * 100, "two" * 100}, what
        work()
        assert sorted(content(folder)) == ["one.json", "run.json", "two.json"], what

    assert matrix(lambda: shutil.rmtree(folder, ignore_errors=True), work, judge) > 100


@pytest.mark.disk
def test_a_run_begun_anew_is_never_taken_for_something_else(quick_place):
    folder = quick_place / "steps"

    def run(seed, *, anew=False):
        with Steps(folder, anew=anew).opened(lambda: run_of({"seed": seed})) as steps:
            steps.keep("one", [], seed)

    def prepare():
        shutil.rmtree(folder, ignore_errors=True)
        run(1)

    def judge(code, what):
        assert code != TRACEBACK, what
        complaint = ""
        try:
            run(2)
        except InputError as error:
            complaint = str(error)
        assert not complaint or "steps of another run (seed changed from 1 to 2)" in complaint, what
        run(2, anew=True)

    assert matrix(prepare, lambda: run(2, anew=True), judge) > 100


def test_a_lock_has_one_owner(tmp_path, monkeypatch):
    """Another process opens the file before its owner removes it, and locks what is no longer there."""
    first = steps_module._locked(tmp_path)
    first.__enter__()
    flock, waiting = fcntl.flock, [first]

    def late(stream, how):
        if waiting:
            waiting.pop().__exit__(None, None, None)
        flock(stream, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with steps_module._locked(tmp_path), pytest.raises(InputError, match="is in use by"):
        steps_module._locked(tmp_path).__enter__()
    with steps_module._locked(tmp_path):
        assert list(content(tmp_path)) == ["lock"]


# --- Ctrl-C


@pytest.mark.parametrize("command", ["select", "panel"])
def test_ctrl_c_while_the_page_is_made_still_writes_the_answer(tmp_path, monkeypatch, capsys, command):
    table, out = tmp_path / "d.csv", tmp_path / "out"
    table.write_text(cobic.io.table_text(DATA))
    module = sys.modules.get(f"cobic.cli.{command}") or __import__(f"cobic.cli.{command}", fromlist=[""])
    render = module.render

    def interrupted(story):
        os.kill(os.getpid(), 2)
        return render(story)

    monkeypatch.setattr(module, "render", interrupted)
    more = ["--size", "2"] if command == "panel" else []
    assert main([command, str(table), "--labels", "class", *more, "--out", str(out), "--json"]) == 130
    told = capsys.readouterr()
    assert told.err == "cobic: interrupted\n"
    assert json.loads(told.out)["status"] == "optimal"
    assert main(["report", str(out), str(table), "--labels", "class", "--force"]) == 0
    assert main(["verify", str(out / "certificate.json"), str(table), "--labels", "class"]) == 0

    def twice(story):
        os.kill(os.getpid(), 2)
        os.kill(os.getpid(), 2)
        return render(story)

    monkeypatch.setattr(module, "render", twice)
    before = content(out)
    assert main([command, str(table), "--labels", "class", *more, "--out", str(out), "--force"]) == 130
    assert content(out) == before
    assert Path(out).is_dir()
