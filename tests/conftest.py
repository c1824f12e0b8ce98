import os

if "PYTEST_XDIST_WORKER" in os.environ:  # side by side, the threads of one process take the cores of the other
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")  # read when numpy is imported

import signal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import settings

import cobic
from clocks import let_time_stand

# The same examples on every run, so that a red test means a changed program; HYPOTHESIS_PROFILE=explore draws new ones.
settings.register_profile("steady", derandomize=True, database=None)
settings.register_profile("quick", settings.get_profile("steady"), max_examples=13)  # of 100: an eighth
settings.register_profile("explore")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# A shell that starts the tests in the background makes them, and what they start, deaf to Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A limit of seconds binds sooner on a busy machine, and another answer comes out.
let_time_stand()

REAL_DATA = {"real_data", "golub", "notterman"}
PUBLIC_DATA = "cobic.datasets.public."  # examples of its docstrings fetch them
LONG_EXAMPLES = {"cobic.analyses.path.path", "cobic.plot.path"}  # of docstrings: they trace whole paths


@pytest.hookimpl(tryfirst=True)  # before what is not asked for is left out
def pytest_collection_modifyitems(items):
    for item in items:
        if REAL_DATA.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("real_data")
        if item.name in LONG_EXAMPLES:
            item.add_marker("long")
        if item.name.startswith(PUBLIC_DATA) and not item.name.endswith("RemoteFile"):
            item.add_marker("real_data")
            item.add_marker(pytest.mark.skipif("COBIC_DATA" not in os.environ, reason="COBIC_DATA names no folder"))


KINDS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": sp.csr_matrix,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "list": lambda X: X.tolist(),
}


@pytest.fixture(params=KINDS)
def as_any_kind(request):
    """A function that turns a dense float64 array (of values that float32 holds exactly) into one kind of table."""
    return KINDS[request.param]


@pytest.fixture(params=["float32", "csr"])
def as_kind(request):
    """The same for the two that differ behind the matrix: what any kind becomes is tested there and for problems."""
    return KINDS[request.param]


@pytest.fixture(scope="session")
def real_data():
    folder = os.environ.get("COBIC_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("COBIC_DATA does not name a folder with the public data sets")
    return Path(folder)


@pytest.fixture(scope="session")
def golub(real_data):
    return cobic.datasets.load_golub()


@pytest.fixture(scope="session")
def notterman(real_data):
    return cobic.datasets.load_notterman()


@pytest.fixture(scope="session")
def expression():
    return cobic.datasets.make_expression(n_features=600, contaminated=0.03, seed=6)


@pytest.fixture(scope="session")
def expression_answer(expression):
    """The proven optimum of it, and what was told on the way."""
    events = []
    return cobic.solve(expression.problem(), on_progress=events.append), events


@pytest.fixture(scope="session")
def intensities():
    """Raw intensities with some below zero, and new samples: features are higher, by chance, in one of two classes."""
    rng, y = np.random.default_rng(1), np.arange(28) % 2
    raw = rng.lognormal(5, 1, (28, 24)) * np.where(y[:, None] == np.arange(24) % 2, 3.0, 1.0) - 30
    return raw[:16], y[:16], raw[16:]
