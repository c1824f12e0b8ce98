"""Large data: what is proven, how soon, with how much memory, and how that grows.

Each line is measured in a process of its own that reads its data from a file, so that its memory is that of the work
alone. The data are those of `cobic.datasets.make_large_expression`; `real_columns.py` measures on real columns.
"""

import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import cobic
from benchmarks.apart import alone
from benchmarks.timing import exponent
from cobic.matrix import Matrix

_CAP = 16 << 30
_WRITING = 1800.0
_BEYOND = 300.0
_CSR = ("data", "indices", "indptr")
_PASSES = ("products", "transposed_products", "class_sums", "class_scores")


@dataclass(frozen=True)
class Case:
    """Data and what is asked of them.

    `price` is the price of a violation in multiples of ``"auto"``; 0 for hard margins. `goal` is the gap, per feature,
    at which the clock is read. `cap` limits the memory of the process, and then the matrix stays on disk.
    """

    what: str
    n_samples: int
    n_features: int
    n_classes: int = 2
    density: float = 1.0
    price: float = 0.0
    goal: float = 1e-4
    seconds: float = 120.0
    cap: int = 0


SHOWN = (
    Case("wide", 200, 1_000_000),
    Case("tall, soft", 50_000, 2000, price=1.0, goal=5e-3, seconds=60.0),
    Case("sparse, soft", 100_000, 20_000, n_classes=8, density=0.05, price=10.0, goal=5e-3, seconds=200.0),
)
ON_DISK = Case("on disk", 2000, 1_000_000, seconds=600.0, cap=3 << 30)
WIDE = tuple(Case("features", 200, m, seconds=30.0) for m in (125_000, 250_000, 500_000, 1_000_000))
TALL = tuple(Case("samples, soft", n, 2000, price=1.0, goal=5e-3, seconds=40.0) for n in (6250, 12_500, 25_000, 50_000))
MANY = tuple(Case("classes", 1000, 4000, n_classes=k, density=0.1, goal=2e-2, seconds=20.0) for k in (2, 8, 20))
THIN = tuple(
    Case("density, soft", 20_000, 4000, n_classes=4, density=d, price=10.0, goal=5e-3, seconds=40.0)
    for d in (0.02, 0.1)
)


def run(*, quick: bool) -> list[dict[str, Any]]:
    """One line per case, and the fitted exponents of the growth with features and with samples."""
    if quick:
        return [_measured(replace(case, seconds=20.0)) for case in (*WIDE[:2], *TALL[:2])]
    rows = [_measured(case) for case in SHOWN]
    for cases in (WIDE, TALL):
        grown = [_measured(case) for case in cases]
        rows += [*grown, _exponent(cases[0].what, grown)]
    return [*rows, *(_measured(case) for case in (*MANY, *THIN))]


def run_on_disk(*, quick: bool) -> list[dict[str, Any]]:
    """One line: a matrix of 8 GB on disk, and a process that may have 3 GB of address space."""
    return [_measured(replace(ON_DISK, n_samples=200, seconds=60.0) if quick else ON_DISK)]


def table(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The columns that a person wants."""
    hidden = ("bandwidth GB/s", "density")
    return [{name: value for name, value in row.items() if name not in hidden} for row in rows]


def _measured(case: Case) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.zarr"
        alone(_write, (case, path), _WRITING, _CAP)
        ended = alone(_solve, (case, path), case.seconds + _BEYOND, case.cap or _CAP)
    found = ended.value if ended.how == "done" else {"status": ended.how}
    row = {
        "what": case.what,
        "samples": case.n_samples,
        "features": case.n_features,
        "classes": case.n_classes,
        "density": case.density,
        **dict.fromkeys(_COLUMNS),
        **found,
        "exponent": None,
    }
    print(row, flush=True)
    return row


_COLUMNS = (
    "status",
    "selected",
    "bound",
    "gap",
    "s to goal",
    "s in all",
    "passes",
    "s in passes",
    "bandwidth GB/s",
    "verify s",
    "matrix MB",
    "peak MB",
    "peak / matrix",
)


def _exponent(what: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Slope of log time to the goal against log size."""
    size = "features" if what == "features" else "samples"
    known = [(row[size], row["s to goal"]) for row in rows if row["s to goal"]]
    return {**dict.fromkeys(rows[0]), "what": f"exponent in {what}", "exponent": exponent(known)}


def _write(item: tuple[Case, Path]) -> None:
    """The data as a Zarr store if they are to stay on disk, else as arrays beside it."""
    case, path = item
    choices = {
        "n_samples": case.n_samples,
        "n_classes": case.n_classes,
        "density": case.density,
        "mislabelled": 0.03 if case.price else 0.0,
    }
    if case.cap:
        cobic.datasets.write_expression(path, case.n_features, **choices)
        return
    data = cobic.datasets.make_large_expression(case.n_features, **choices)
    parts = {name: getattr(data.X, name) for name in _CSR} if case.density < 1 else {"X": data.X}
    for name, part in {**parts, "y": np.asarray(data.y)}.items():
        np.save(path.with_name(f"{name}.npy"), part)


def _read(item: tuple[Case, Path]) -> tuple[Any, Any]:
    case, path = item
    if case.cap:
        data = cobic.read(path, "class", backed=True)
        return data.X, data.y
    parts = [np.load(path.with_name(f"{name}.npy")) for name in (*(_CSR if case.density < 1 else ("X",)), "y")]
    if case.density < 1:
        return sp.csr_array(tuple(parts[:-1]), shape=(case.n_samples, case.n_features)), parts[-1]
    return parts[0], parts[1]


def _solve(item: tuple[Case, Path]) -> dict[str, Any]:
    case, _ = item
    X, y = _read(item)
    started = time.perf_counter()
    problem = cobic.Problem(X, y, **({"slack_penalty": "auto"} if case.price else {}))
    problem = problem.softened(case.price * problem.slack_penalty) if case.price else problem
    counter = _Counter(problem.matrix)
    building = time.perf_counter() - started
    result = cobic.solve(problem, time_limit=case.seconds)
    in_all = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    counter.stop()
    begun = time.perf_counter()
    ok = cobic.verify(problem, result.certificate).ok if result.certificate else False
    return {
        "status": result.status.value,
        "selected": result.n_selected,
        "bound": result.objective_bound,
        "gap": result.objective_bound - result.objective,
        "s to goal": _time_to_goal(result, case.goal * case.n_features, building),
        "s in all": in_all,
        "passes": counter.passes,
        "s in passes": counter.seconds,
        "bandwidth GB/s": problem.matrix.nbytes * counter.passes / counter.seconds / 1e9,
        "verify s": time.perf_counter() - begun if ok else None,
        "matrix MB": problem.matrix.nbytes / 2**20,
        "peak MB": peak,
        "peak / matrix": peak / (problem.matrix.nbytes / 2**20),
    }


def _time_to_goal(result: cobic.Result, goal: float, building: float) -> float | None:
    """Seconds from the start of the problem to the first event at which the gap is small enough."""
    for event in result.history:
        best = event.objective if result.soft else event.n_selected
        bound = event.objective_bound if result.soft else event.upper_bound
        if best is not None and bound is not None and bound - best <= goal:
            return building + event.elapsed
    return None


class _Counter:
    """Counts the passes over a matrix, and their time."""

    def __init__(self, matrix: Matrix) -> None:
        self._matrix, self.passes, self.seconds, self._inside = matrix, 0, 0.0, False
        for name in _PASSES:
            setattr(matrix, name, self._counted(getattr(matrix, name)))

    def _counted(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any) -> Any:
            if self._inside:  # one operation may do its work by another
                return operation(*given)
            started, self._inside = time.perf_counter(), True
            try:
                return operation(*given)
            finally:
                self.passes, self._inside = self.passes + 1, False
                self.seconds += time.perf_counter() - started

        return counted

    def stop(self) -> None:
        """Count no more."""
        for name in _PASSES:
            delattr(self._matrix, name)
