"""Work side by side: the same answer on every backend, with workers that die, and one line where it cannot be."""

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import cobic
from clocks import time_by
from cobic.cli import main
from cobic.errors import InputError, UnfinishedError
from cobic.io import table_text
from cobic.search import parallel
from cobic.search.cluster import cluster
from cobic.search.parallel import side_by_side

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

ALPHAS = [0.0, 15.0, 30.0]


@pytest.fixture(scope="module")
def data():
    return cobic.datasets.make_expression(n_features=150, class_sizes=(12, 10), contaminated=0.05, seed=3)


@pytest.fixture(scope="module")
def table(tmp_path_factory, data):
    file = tmp_path_factory.mktemp("data") / "data.csv"
    file.write_text(table_text(data))
    return file


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            silence_logs=logging.CRITICAL,
            dashboard_address=":0",
            scheduler_kwargs={"dashboard": False},
        ) as local,
        distributed.Client(local, timeout=120) as client,
    ):
        yield client


@pytest.fixture
def on_dask(client):
    client.wait_for_workers(2, timeout=120)
    with joblib.parallel_config(backend="dask", client=client):
        yield client


def trace(data, **given):
    return cobic.path(data.X, data.y, **{"alphas": ALPHAS, "cv": 4, "time_limit": None, **given})


@pytest.fixture(scope="module")
def alone(data):
    return trace(data)


def assert_same_path(one, other):
    assert one.table.drop(columns="seconds").equals(other.table.drop(columns="seconds"))
    assert (one.chosen, one.stopped_by) == (other.chosen, other.stopped_by)
    np.testing.assert_array_equal(one.survival.ranking, other.survival.ranking)


def worker_pids(client):
    return list(client.run(os.getpid).values())


# --- the same answer everywhere


@pytest.mark.processes
def test_a_path_on_a_cluster_is_the_same(data, alone, on_dask):
    lines = []
    assert_same_path(trace(data, on_progress=lines.append), alone)
    assert lines[-1] == "cross-validation: 4 of 4 folds done"


@pytest.mark.processes
def test_a_killed_worker_changes_nothing(data, alone, on_dask):
    killed = []

    def kill_one(line):
        if line.startswith("cross-validation: 1 ") and not killed:
            killed.append(worker_pids(on_dask)[0])
            os.kill(killed[0], signal.SIGKILL)

    assert_same_path(trace(data, on_progress=kill_one), alone)
    assert killed
    on_dask.wait_for_workers(2, timeout=120)
    assert killed[0] not in worker_pids(on_dask)


@pytest.mark.processes
def test_even_if_all_workers_die_the_work_is_done(on_dask):
    """With the last worker the data are lost, which Dask cannot bring back."""
    pids = worker_pids(on_dask)
    done = []
    for key, answer in side_by_side(slowly, 2.0, {number: (number,) for number in range(5)}, None):
        done.append((key, answer))
        if len(done) == 1:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
    assert sorted(done) == [(number, 2.0 * number) for number in range(5)]
    on_dask.wait_for_workers(2, timeout=120)


def slowly(factor, number):
    time.sleep(0.3)
    return factor * number


@pytest.mark.processes
@pytest.mark.parametrize("chunks", [(22, 50), (8, 150), (8, 50)], ids=["by features", "by samples", "both"])
def test_chunks_on_a_cluster_give_the_same_answer(data, client, chunks):
    array = da.from_array(data.X, chunks=chunks).persist()
    there, here = (cobic.Problem(X, data.y, alpha=20.0) for X in (array, data.X))
    found = cobic.solve(there, max_programs=40)
    wanted = cobic.solve(here, max_programs=40)
    assert (found.n_selected, found.upper_bound) == (wanted.n_selected, wanted.upper_bound)
    assert here.is_consistent(found.support)
    assert cobic.verify(here, found.certificate).ok


@pytest.mark.processes
def test_stability_and_restarts_on_a_cluster(data, on_dask):
    given = {"n_repeats": 6, "method": "fixed-point", "time_limit": None}
    found = cobic.stability(data.X, data.y, **given)
    result = cobic.solve(data.problem(25.0), "bilevel-vns", None, restarts=4, max_iterations=4)
    model = cobic.ConsistentBiclustering(
        method="bilevel-vns", method_options={"restarts": 2}, alpha=20, time_limit=None
    )
    support = model.fit(data.X, data.y).support_
    with joblib.parallel_config(backend="loky", n_jobs=1):
        np.testing.assert_array_equal(found.frequency, cobic.stability(data.X, data.y, **given).frequency)
        assert_same_result(result, cobic.solve(data.problem(25.0), "bilevel-vns", None, restarts=4, max_iterations=4))
        np.testing.assert_array_equal(support, model.fit(data.X, data.y).support_)


def assert_same_result(one, other):
    np.testing.assert_array_equal(one.support, other.support)
    assert (one.runs, one.lps, one.status) == (other.runs, other.lps, other.status)


@pytest.mark.processes
@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_every_backend_gives_the_same_path(data, alone, backend):
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert_same_path(trace(data), alone)


@pytest.mark.parametrize("criterion", ["consistent", "published"])
@pytest.mark.parametrize("alpha", [0.0, 25.0])
def test_restarts_side_by_side_are_the_same(data, criterion, alpha):
    options = {"criterion": criterion, "restarts": 4, "max_iterations": 5}
    one, two = (cobic.solve(data.problem(alpha), "bilevel-vns", None, n_jobs=jobs, **options) for jobs in (1, 2))
    assert_same_result(one, two)
    assert [event.n_selected for event in one.history[-1:]] == [event.n_selected for event in two.history[-1:]]


def test_a_restart_does_not_depend_on_those_before_it():
    """With many equal values a linear program has many solutions; which one comes out depends on where it began."""
    rng, y = np.random.default_rng(45), np.arange(24) % 3
    X = rng.integers(0, 3, (24, 40))
    for cls in range(3):
        X[np.ix_(y == cls, np.arange(cls * 13, cls * 13 + 8))] += 1
    options = {"restarts": 3, "max_iterations": 6}
    with joblib.parallel_config(backend="threading"):
        one, two = (cobic.solve(cobic.Problem(X, y, 0.05), "bilevel-vns", None, n_jobs=n, **options) for n in (1, 2))
    assert_same_result(one, two)


@pytest.mark.processes
def test_restarts_side_by_side_stop_in_time(expression):
    with time_by(time.monotonic):  # the processes have no other clock in common
        result = cobic.solve(expression.problem(60.0), "bilevel-vns", 1.0, restarts=400, n_jobs=2)
    assert result.stopped_by == "time limit"
    assert len(result.runs) < 400


def test_all_that_needs_no_draw_is_one_run_also_side_by_side():
    data = cobic.datasets.make_expression(n_features=40, informative=0.9, noisy=0.0, seed=1)
    with joblib.parallel_config(backend="threading"):
        results = [cobic.solve(data.problem(), "bilevel-vns", restarts=5, n_jobs=jobs) for jobs in (1, 2)]
    assert [len(result.runs) for result in results] == [1, 1]


# --- how the work is handed out


class Counted:
    """Data that count how often they are sent."""

    sent = 0

    def __init__(self):
        self.values = np.ones(10)

    def __reduce__(self):
        Counted.sent += 1
        return (np.ones, (10,))


def total(values, number):
    return float(np.sum(values)) * number


@pytest.mark.processes
def test_data_are_sent_once_not_with_each_task(on_dask):
    Counted.sent = 0
    answers = dict(side_by_side(total, Counted(), {number: (number,) for number in range(20)}, None))
    assert answers == {number: 10.0 * number for number in range(20)}
    assert Counted.sent == 1


@pytest.mark.processes
def test_memory_maps_of_large_data_serve_as_well():
    data = cobic.datasets.make_expression(n_features=6000, class_sizes=(12, 10), seed=1)
    assert data.X.nbytes > 1 << 20  # from there joblib hands an array over as a file
    given = {"n_repeats": 3, "method": "fixed-point", "time_limit": None}
    one, two = (cobic.stability(data.X, data.y, n_jobs=jobs, **given) for jobs in (1, 2))
    np.testing.assert_array_equal(one.frequency, two.frequency)


def blas_threads(_shared):
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


def test_a_worker_has_one_thread():
    with threadpool_limits(2, user_api="blas"), joblib.parallel_config(backend="multiprocessing"):
        [(_, threads)] = side_by_side(blas_threads, None, {0: ()}, 2)  # in a fork, which begins with two
        assert set(threads) == {1}
        assert set(blas_threads(None)) == {2}


def complain(_shared, number):
    message = f"sample {number} is wrong"
    raise InputError(message)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_of_a_worker_is_the_error_it_is(jobs):
    with pytest.raises(InputError, match="sample 7 is wrong"):
        list(side_by_side(complain, None, {"a": (7,)}, jobs))


@pytest.mark.processes
def test_an_error_of_a_cluster_is_the_error_it_is(data, on_dask):
    with pytest.raises(InputError, match="sample 7 is wrong"):
        list(side_by_side(complain, None, {"a": (7,)}, None))
    with pytest.raises(InputError, match=r"X or alpha has values of size 5\.\d+e.204"):
        cobic.stability(data.X * 1e200, data.y, n_repeats=2)


@pytest.mark.processes
def test_who_needs_no_more_is_not_warned():
    for _ in side_by_side(slowly, 1.0, {number: (number,) for number in range(4)}, 2):
        break


def die_once(marker, number):
    if number == 1 and not os.path.exists(marker):  # noqa: PTH110
        open(marker, "w").close()  # noqa: PTH123
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def die(_shared):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.processes
def test_a_process_that_dies_is_made_up_for(tmp_path):
    tasks = {number: (number,) for number in range(4)}
    answers = list(side_by_side(die_once, str(tmp_path / "died"), tasks, 2))
    assert (tmp_path / "died").exists()
    assert sorted(answers) == [(number, number) for number in range(4)]


@pytest.mark.processes
def test_processes_that_die_again_and_again_are_one_line(monkeypatch):
    monkeypatch.setattr(parallel, "_ATTEMPTS", 1)
    with pytest.raises(UnfinishedError, match=r"3 of 3 parts are not done, because worker processes died 1 times"):
        list(side_by_side(die, None, {0: (), 1: (), 2: ()}, 2))


# --- the command line

PATH = ["--labels", "class", "--alphas", "0,15,30", "--cv", "4", "--time-limit", "0", "--json"]


def told(capsys, *arguments):
    code = main([str(each) for each in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def rows(text):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in json.loads(text)["rows"]]


@pytest.mark.processes
def test_a_local_cluster_on_the_command_line(table, capsys):
    code, plain, _ = told(capsys, "path", table, *PATH)
    assert code == 0
    code, out, err = told(capsys, "path", table, *PATH, "--cluster", "local:2")
    assert (code, err) == (0, "")
    assert rows(out) == rows(plain)


@pytest.mark.real_data
def test_rows_of_the_paper_side_by_side(real_data, capsys):
    given = ["reproduce", "--rows", "golub:alpha=0", "golub:alpha=50", "golub:beta=1.1", "--json"]
    _, plain, _ = told(capsys, *given)
    code, out, err = told(capsys, *given, "--jobs", "2")
    assert (code, err) == (0, "")
    assert rows(out) == rows(plain)
    assert [row["n_selected"] for row in rows(out)] == [7080, 7062, 7067]


@pytest.mark.processes
def test_a_scheduler_that_runs_elsewhere(table, capsys, client):
    address = client.scheduler.address
    given = ["--labels", "class", "--method", "bilevel-vns", "-O", "restarts=3", "-O", "max_iterations=3", "--json"]
    code, plain, _ = told(capsys, "select", table, *given)
    assert code == 0
    code, out, err = told(capsys, "select", table, *given, "--cluster", address)
    assert (code, err) == (0, "")
    assert [json.loads(text)["n_selected"] for text in (out, plain)] == [json.loads(plain)["n_selected"]] * 2
    code, out, _ = told(capsys, "stability", table, *given[:-5], "--repeats", "3", "--method", "fixed-point", "--json",
                        "--cluster", address)  # fmt: skip
    assert code == 0
    assert json.loads(out)["n_repeats"] == 3


@pytest.mark.processes
@pytest.mark.parametrize(("there", "words"), [("0.0.1", "cobic 0.0.1"), (ImportError("cobic"), "no cobic")])
def test_another_version_there_is_named(client, monkeypatch, there, words):
    monkeypatch.setattr(distributed.Client, "run", lambda *_given, **_options: {"tcp://10.0.0.7:1": there})
    expected = rf"worker tcp://10.0.0.7:1 has {words}: install cobic {cobic.__version__} there"
    with pytest.raises(InputError, match=expected), cluster(client.scheduler.address):
        pass


@pytest.mark.processes
def test_workers_that_die_again_and_again_are_one_line(client):
    worker = type("Worker", (), {"address": "tcp://10.0.0.7:1"})
    killed = distributed.KilledWorker("fold", worker, 3)
    with pytest.raises(UnfinishedError, match="died again and again"), cluster(client.scheduler.address):
        raise killed


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("local:0", "--cluster local:0: say how many processes, as local:4"),
        ("local", "say how many processes"),
        ("somewhere", "write local:4 for four processes here, or an address as tcp://host:8786"),
        ("tcp://", "write local:4"),
        ("smoke://host:1", "no scheduler with workers answers there"),
    ],
)
def test_a_cluster_that_is_none_is_one_line(table, capsys, where, words):
    code, out, err = told(capsys, "path", table, *PATH, "--cluster", where)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err


def test_a_scheduler_that_cannot_be_reached_is_one_line_soon(table, capsys):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code, _, err = told(capsys, "path", table, *PATH, "--cluster", f"tcp://127.0.0.1:{port}")
    assert (code, err.count("\n")) == (2, 1)
    assert "no scheduler with workers answers there within 3 seconds" in err


def test_without_distributed_the_cure_is_named(table, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, _, err = told(capsys, "path", table, *PATH, "--cluster", "local:2")
    assert (code, err) == (2, "cobic: --cluster needs the library distributed: pip install 'cobic[cluster]'\n")


def test_one_search_has_nothing_to_hand_out(table, capsys):
    code, _, err = told(capsys, "select", table, "--labels", "class", "--jobs", "2")
    assert code == 2
    assert "--jobs and --cluster are for the restarts of bilevel-vns: method 'certified' is one search" in err
    code, _, err = told(capsys, "select", table, "--labels", "class", "--method", "bilevel-vns", "--jobs", "0")
    assert code == 2
    assert "n_jobs is 0" in err


@pytest.mark.processes
@pytest.mark.parametrize("where", [["--jobs", "2"], ["--cluster", "local:2"]])
def test_ctrl_c_ends_everything(data, table, tmp_path, where):
    """As in a terminal, which tells all processes of a command; none of them is left."""
    out = tmp_path / "out"
    arguments = ["path", str(table), *PATH[:-1], "--cv", "10", "--out", str(out), *where]
    process = subprocess.Popen(
        [sys.executable, "-m", "cobic", *arguments],
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not list(out.glob("steps/fold-*.json")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (130, "")
    assert (out / "path.csv").exists()
    assert list(out.glob("steps/fold-*.json"))
    while living(process.pid):  # some take their time to go
        assert time.monotonic() < deadline + 30
        time.sleep(0.1)


@pytest.mark.processes
def test_ctrl_c_among_restarts_keeps_those_that_are_done(expression, monkeypatch):
    main_thread = threading.get_ident()

    def interrupt(event):
        if event.n_selected is not None:
            threading.Timer(0.2, signal.pthread_kill, (main_thread, signal.SIGINT)).start()

    result = cobic.solve(expression.problem(40.0), "bilevel-vns", None, 0, interrupt, restarts=300, n_jobs=2)
    assert result.stopped_by == "interrupt"
    assert 1 <= len(result.runs) < 300
    assert result.status == "feasible"


def living(group):
    """The processes of a group that still run; others wait for somebody to ask how they ended."""
    listed = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    lines = [line.split(None, 2) for line in listed.splitlines()]
    return [line for line in lines if int(line[0]) == group and not line[1].startswith("Z")]
