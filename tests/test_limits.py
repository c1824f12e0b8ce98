"""Numbers and names that are too much: refused by name, or shown so that they do no harm."""

import os
import pty
import re
import subprocess
import sys

import dask
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

import cobic
from cobic.cli import main
from cobic.cli.main import printable
from cobic.errors import InputError
from cobic.io import table_text
from cobic.matrix.pool import one_blas_thread
from lab_files import FORMATS
from matrix_kinds import as_dask


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("limits") / "d.csv"
    path.write_text(table_text(cobic.datasets.make_expression(40, seed=1)))
    return path


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["select", "--header-row", "99999999999999999999"], "header_row is 99999999999999999999: .* at most 2097152"),
        (["inspect", "--header-row", "-1"], "header_row is -1: give a whole number of at least 0"),
        (["stability", "--repeats", "1000000000000"], "n_repeats is 1000000000000: .* at most 100000"),
        (["path", "--n-margins", "1000000000000", "--cv", "0"], "n_margins is 1000000000000: .* at most 10000"),
        (["path", "--cluster", "local:99999"], "local:99999: this machine bears .* processes at most"),
        (["stability", "--jobs", "99999"], "n_jobs is 99999: this machine bears .* processes at most"),
    ],
)
def test_numbers_without_measure_are_refused(table, capsys, command, words):
    assert main([command[0], str(table), "--labels", "class", *command[1:]]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert re.search(words, told), told


EXACT, ROUNDED = 1 << 60, (1 << 53) + 1
y = ["a", "b"]


@pytest.fixture
def on_this_machine():
    """No cluster computes the chunks of dask, whatever other tests left open in this process."""
    with dask.config.set(scheduler="sync"):
        yield


def kinds(X):
    yield X
    yield np.asfortranarray(X)
    yield sp.csr_array(X)
    yield sp.csc_matrix(X)
    yield as_dask(X, 1, 2)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
@pytest.mark.usefixtures("on_this_machine")
def test_whole_numbers_are_not_rounded_in_silence(dtype):
    for X in kinds(np.array([[EXACT, 1, 5], [2, 3, 4]], dtype)):
        assert cobic.Problem(X, y).margins([True] * 3).shape == (2,)
    for X in kinds(np.array([[ROUNDED, 1, 5], [2, 3, 4]], dtype)):
        with pytest.raises(InputError, match="X has 9007199254740993, which would be rounded"):
            cobic.Problem(X, y).margins([True] * 3)


def test_long_doubles_are_not_rounded_in_silence():
    if np.finfo(np.longdouble).eps == np.finfo(np.float64).eps:
        pytest.skip("this machine has none")
    X = np.array([[0.1, np.inf], [1.0, 2.0]], np.longdouble)
    with pytest.raises(InputError, match="inf"):
        cobic.Problem(X, y)
    X[0, 1] = 3
    assert cobic.Problem(X, y).margins([True, True]).shape == (2,)
    X[0, 0] += np.finfo(np.longdouble).eps
    with pytest.raises(InputError, match="which would be rounded"):
        cobic.Problem(X, y)


def npz(folder, X):
    np.savez(folder / "a.npz", X=X, names=np.array(["s", "t"]))
    return folder / "a.npz"


def sparse_npz(folder, X):
    sp.save_npz(folder / "a.npz", sp.csr_matrix(X))
    return folder / "a.npz"


def parquet(folder, X):
    pd.DataFrame(X, columns=["g", "h", "i"]).to_parquet(folder / "a.parquet")
    return folder / "a.parquet"


def h5ad(folder, X):
    import h5py

    path, _ = FORMATS["h5ad"](folder)
    with h5py.File(path, "a") as file:
        kept = file["X"][:]
        del file["X"]
        file["X"] = np.where(np.arange(kept.size).reshape(kept.shape) == 0, X[0, 0], 1).astype(X.dtype)
    return path


@pytest.mark.parametrize("make", [npz, sparse_npz, parquet, h5ad])
def test_files_are_not_rounded_in_silence(tmp_path, make):
    with pytest.raises(InputError, match="9007199254740993, which would be rounded") as caught:
        cobic.read(make(tmp_path, np.array([[ROUNDED, 1, 5], [2, 3, 4]])))
    assert str(tmp_path) in str(caught.value)


# --- threads


def test_blas_gets_its_threads_back():
    def threads():
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        assert threads() == {1}
        first.__exit__(None, None, None)  # in another order than a thread of its own would
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == {2}


# --- names on a terminal

NASTY = "\x1b]0;owned\x07\x1b[2J\u202egene\x9b31m"


def on_a_terminal(*arguments):
    """What a command sends to a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-m", "cobic", *arguments], stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        told = b""
        try:
            while part := os.read(ours, 1 << 16):
                told += part
        except OSError:  # the other end is closed
            pass
        process.wait()
    os.close(ours)
    return told.decode()


def test_names_do_not_steer_a_terminal(tmp_path, table):
    text = table.read_text()
    (tmp_path / "d.csv").write_text(text.replace("A", NASTY).replace("feature_1,", f"{NASTY},"))
    (tmp_path / "bad.csv").write_text(f"sample,class,{NASTY}\ns,a,x\nt,b,1\nu,b,1\n")
    for arguments in (
        ["inspect", str(tmp_path / "d.csv"), "--labels", "class"],
        ["panel", str(tmp_path / "d.csv"), "--labels", "class", "--size", "2", "--tail", "1"],
        ["inspect", str(tmp_path / NASTY), "--labels", "class"],
        ["select", str(tmp_path / "bad.csv"), "--labels", "class"],
        ["select", str(tmp_path / "d.csv"), "--labels", NASTY],
    ):
        told = on_a_terminal(*arguments)
        for character in ("\x1b]", "\x07", "\x1b[2J", "\u202e", "\x9b"):
            assert character not in told, arguments
    plain = subprocess.run(
        [sys.executable, "-m", "cobic", "inspect", str(tmp_path / "d.csv"), "--labels", "class"],
        capture_output=True,
        check=True,
    )
    assert NASTY in plain.stdout.decode()  # a file gets what there is


def test_what_is_printable_stays():
    assert printable("α ≥ 0.5: Müller, 基因\t\n", kept="\n\t") == "α ≥ 0.5: Müller, 基因\t\n"
    assert printable("a\nb\x1b") == "a\\nb\\x1b"
    assert printable("\u202e") == "\\u202e"
    assert printable(NASTY).isprintable()
