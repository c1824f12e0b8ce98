"""Rivals run in processes of their own: what hangs, fails or eats memory is a row, and the next one has its turn."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

import cobic
from benchmarks import apart, one_run, real_columns, timing
from benchmarks.apart import alone, of_version, one_by_one


def work(item):
    if item == "hang":
        time.sleep(60)
    if item == "fail":
        message = "no such gene"
        raise ValueError(message)
    if item == "eat":
        np.ones(1 << 36)
    if item == "die":
        raise SystemExit(3)
    return os.getpid() if item == "who" else item * 2


@pytest.mark.rivals
def test_every_item_gets_its_row():
    items = [1, "hang", "fail", "eat", "die", 4]
    ended = dict(one_by_one(work, items, seconds=5.0))
    assert list(ended) == items
    hows = [each.how for each in ended.values()]
    assert hows == [
        "done",
        "time-out",
        "failed: ValueError: no such gene",
        "out of memory",
        "failed: the process died",
        "done",
    ]
    assert (ended[1].value, ended["hang"].value, ended[4].value) == (2, None, 8)
    assert ended["hang"].seconds >= 5.0
    assert ended[1].megabytes > 1


@pytest.mark.rivals
def test_items_that_succeed_share_a_process():
    processes = {ended.value for _, ended in one_by_one(work, ["who"] * 6, seconds=30.0)}
    assert len(processes) == 1


def test_memory_is_capped():
    assert alone(work, 3, seconds=30.0, memory=4 << 30).value == 6
    assert alone(len, "x" * 10, seconds=30.0).value == 10


SCRIPT = """
import json, sys, time
import cobic
asked = json.loads(sys.argv[1])
if asked["do"] == "hang":
    time.sleep(60)
if asked["do"] == "eat":
    raise MemoryError
if asked["do"] == "fail":
    raise ValueError("no such gene")
print("words before")
print(json.dumps({"version": cobic.__version__, "asked": asked}))
"""


@pytest.fixture
def other(tmp_path):
    """Another version of cobic in a checkout of its own, and a script that tells which one it has."""
    (tmp_path / "checkout" / "src" / "cobic").mkdir(parents=True)
    (tmp_path / "checkout" / "src" / "cobic" / "__init__.py").write_text("__version__ = 'other'\n")
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "json.py").write_text("raise RuntimeError('what is beside the script was imported')\n")
    return tmp_path


@pytest.mark.rivals
def test_a_script_runs_with_the_version_that_is_asked_for(other):
    here = Path(cobic.__file__).parents[1]
    for tree, version in ((other / "checkout" / "src", "other"), (here, cobic.__version__)):
        ended = of_version(tree, other / "script.py", {"do": "tell"}, 60.0)
        assert ended.how == "done"
        assert ended.value == {"version": version, "asked": {"do": "tell"}}


@pytest.mark.rivals
@pytest.mark.parametrize(
    ("do", "how"), [("hang", "time-out"), ("eat", "out of memory"), ("fail", "failed: ValueError: no such gene")]
)
def test_a_script_that_does_not_end_well_is_a_row(other, do, how):
    ended = of_version(other / "checkout" / "src", other / "script.py", {"do": do}, 2.0 if do == "hang" else 60.0)
    assert (ended.how, ended.value) == (how, None)


def test_a_checkout_is_found_by_its_folder_or_its_source(other):
    tree = (other / "checkout" / "src").resolve()
    assert real_columns.source_tree(other / "checkout") == tree
    assert real_columns.source_tree(tree) == tree
    with pytest.raises(FileNotFoundError, match="has no cobic"):
        real_columns.source_tree(other)


@pytest.mark.rivals
def test_one_run_tells_what_it_found_and_when(tmp_path, expression, expression_answer):
    np.save(tmp_path / "X.npy", expression.X.astype(np.float32))
    np.save(tmp_path / "y.npy", expression.y)
    asked = {"folder": str(tmp_path), "seconds": 60.0, "goals": [0.5, 0.0], "memory": apart.MEMORY, "until_goal": False}
    ended = of_version(Path(cobic.__file__).parents[1], real_columns._SCRIPT, asked, 100.0)
    assert ended.how == "done"
    found = ended.value
    assert Path(found["cobic"]) == Path(cobic.__file__)
    assert found["status"] == "optimal"
    assert found["selected"] == found["bound"] == expression_answer[0].n_selected
    assert 0 < found["s to first"] <= found["s to goals"][0] <= found["s to goals"][1] < 60.0
    assert found["matrix MB"] == pytest.approx(38 * 600 * 4 / 2**20)
    assert found["peak MB"] > 10 * found["matrix MB"]  # of which the interpreter is most


def test_the_clock_is_read_once_at_each_goal_and_the_run_ended_at_the_last():
    clock = one_run._Clock([10.0, 5.0], until_goal=True)
    clock.hear(cobic.Progress(0.0, None, 100, 0))
    assert clock.first is None
    clock.hear(cobic.Progress(0.0, 80, 100, 0))
    assert clock.first is not None
    assert clock.reached == [None, None]
    clock.hear(cobic.Progress(0.0, 90, 100, 0))
    first, near = clock.first, clock.reached[0]
    assert near > first
    assert clock.reached[1] is None
    with pytest.raises(KeyboardInterrupt):
        clock.hear(cobic.Progress(0.0, 96, 100, 0))
    clock.hear(cobic.Progress(0.0, 100, 100, 0))  # not again
    assert (clock.first, clock.reached[0]) == (first, near)
    assert clock.reached[1] > near


def test_growth_is_the_power_that_times_follow():
    assert timing.exponent([(10, 5.0), (100, 50.0 * 10**0.5), (1000, 5000.0)]) == pytest.approx(1.5)
    assert timing.exponent([(10, 1.0), (100, 2.0)]) is None
    assert timing.exponent([]) is None
