"""Panels: what is found and proven, against general solvers on the same mixed-integer program in the same time.

Golub's training samples on log2, equal sizes per class. The rivals maximise t − Σ cap_j s_j where margin_j ≥ t − s_j,
with the numbers of each class, over all features at once. `run_large` has data for which that program is no option.
Each line is measured in a process of its own; all seconds are of the processor, so that other work on the machine
changes little.
"""

import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import cobic
from benchmarks.apart import Ended, alone
from benchmarks.timing import processor_time

Row = dict[str, Any]
SIZES = (1, 2, 3, 5, 10, 25, 100)
TAILS = (0.3, 0.0)
LATE = 1.5  # times the limit: a solver that has not ended by then is ended
WAITING = 60.0  # seconds on the clock for each second of the processor, on a busy machine
LIMIT = 12.0  # seconds for each solver
NEAR = 0.01  # of the last tail margin: a panel that is as good as that
_CAP = 16 << 30
_FLOOR = 20  # intensities below are noise
_BEYOND = 900.0  # seconds to make large data, and to verify

Item = tuple[str, int, float, float]


def run(*, quick: bool) -> list[Row]:
    """One line per tail, size and solver."""
    if not os.environ.get("COBIC_DATA"):
        return [{"tail": "skipped: COBIC_DATA is not set"}]
    cap, sizes = (4.0, (1, 5, 25)) if quick else (LIMIT, SIZES)
    rows = []
    for tail in TAILS:
        for size in sizes:
            for solver in SOLVERS:
                item = (solver, size, tail, cap)
                rows.append(_row(item, alone(_solved, item, cap * WAITING)))
                print(rows[-1], flush=True)
    return rows


def _golub() -> tuple[np.ndarray, np.ndarray]:
    data = cobic.datasets.load_golub()
    return np.log2(np.maximum(np.asarray(data.X, dtype=np.float64), _FLOOR)), np.asarray(data.y)


def _solved(item: Item) -> Row:
    solver, size, tail, cap = item
    return SOLVERS[solver](*_golub(), size, tail, cap)


def _by_cobic(X: Any, y: Any, size: int, tail: float, cap: float) -> Row:
    started = time.process_time()
    with processor_time():
        panel = cobic.panel(X, y, dict.fromkeys(np.unique(y).tolist(), size), tail, time_limit=cap)
    found = _found(panel, time.process_time() - started)
    begun = time.process_time()
    verified = cobic.verify(panel.problem, panel.certificate).ok
    return {**found, "verified": verified, "verify s": time.process_time() - begun}


def _ends_late(cap: float) -> None:
    """Have this process ended if a solver does not heed its limit."""
    latest = int(time.process_time() + LATE * cap) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (latest, resource.RLIM_INFINITY))


def _found(panel: cobic.Panel, seconds: float) -> Row:
    least = panel.tail_margin - NEAR * abs(panel.tail_margin)
    building = seconds - panel.seconds
    near = next((event.elapsed for event in panel.history if (event.objective or -np.inf) >= least), None)
    return {
        "found": panel.tail_margin,
        "bound": panel.bound,
        "seconds": seconds,
        "s to 1 %": None if near is None else building + near,
        "proven": panel.status == "optimal",
    }


def mixed_program(X: Any, y: Any, size: int, tail: float) -> tuple[Any, ...]:
    """The program in the form min c·z, rows between low and high: (c, rows, low, high, upper bounds of z).

    Columns are the features, t, and with a tail what each sample lacks. Two classes only.
    """
    labels = np.unique(y, return_inverse=True)[1]
    in_second = X[labels == 1].mean(axis=0) > X[labels == 0].mean(axis=0)
    signs = np.where(in_second[None, :] == (labels == 1)[:, None], 1.0, -1.0)
    n_samples, n_features = X.shape
    n_lacking = n_samples if tail else 0
    margins = np.hstack([signs * X / size, np.full((n_samples, 1), -1.0), np.eye(n_samples)[:, :n_lacking]])
    counts = np.zeros((2, margins.shape[1]))
    counts[0, :n_features], counts[1, :n_features] = ~in_second, in_second
    cost = np.concatenate([np.zeros(n_features), [-1.0], np.full(n_lacking, 1.0 / (n_samples * tail) if tail else 0)])
    low, high = np.append(np.zeros(n_samples), [size] * 2), np.append(np.full(n_samples, np.inf), [size] * 2)
    upper = np.concatenate([np.ones(n_features), np.full(1 + n_lacking, np.inf)])
    return cost, sp.csc_array(np.vstack([margins, counts])), low, high, upper


def _highs(program: tuple[Any, ...], n_features: int) -> Any:
    """The program in HiGHS."""
    import highspy

    cost, rows, low, high, upper = program
    lower, whole = np.zeros(cost.size), np.zeros(cost.size, dtype=np.int32)
    lower[n_features], whole[:n_features] = -np.inf, 1
    highs = highspy.Highs()
    highs.silent()
    form = (int(highspy.MatrixFormat.kColwise), int(highspy.ObjSense.kMinimize))
    entries = (rows.indptr.astype(np.int32), rows.indices.astype(np.int32), rows.data)
    highs.passModel(cost.size, low.size, rows.nnz, *form, 0.0, cost, lower, upper, low, high, *entries, whole)
    return highs


def _by_highs(X: Any, y: Any, size: int, tail: float, cap: float) -> Row:
    highs = _highs(mixed_program(X, y, size, tail), X.shape[1])
    for name, value in {"threads": 1, "mip_rel_gap": 1e-6}.items():
        highs.setOptionValue(name, value)
    _ends_late(cap)
    started = time.process_time()

    def end(event: Any) -> None:  # its own limit is on the clock
        event.interrupt(time.process_time() - started >= cap)

    highs.cbMipInterrupt += end
    highs.cbSimplexInterrupt += end
    highs.run()
    seconds, info = time.process_time() - started, highs.getInfo()
    found = -info.objective_function_value if info.primal_solution_status == 2 else None  # 2: feasible
    return _rival(found, -info.mip_dual_bound, seconds, cap)


def _by_scip(X: Any, y: Any, size: int, tail: float, cap: float) -> Row:
    import pyscipopt

    model = pyscipopt.Model()
    model.hideOutput()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "panel.mps")
        _highs(mixed_program(X, y, size, tail), X.shape[1]).writeModel(path)
        model.readProblem(path)
    model.setParam("timing/clocktype", 1)  # of the processor
    model.setParam("limits/time", cap)
    _ends_late(cap)
    started = time.process_time()
    model.optimize()
    seconds = time.process_time() - started
    found = -model.getObjVal() if model.getNSols() else None
    return _rival(found, -model.getDualbound(), seconds, cap)


def _rival(found: float | None, bound: float, seconds: float, cap: float) -> Row:
    proven = found is not None and seconds < cap and bound - found <= 1e-5 * abs(found)
    return {"found": found, "bound": bound if abs(bound) < 1e19 else None, "seconds": seconds, "proven": proven}


SOLVERS: dict[str, Callable[..., Row]] = {"cobic": _by_cobic, "HiGHS": _by_highs, "SCIP": _by_scip}


def _row(item: Item, ended: Ended) -> Row:
    solver, size, tail, cap = item
    how = f"not back after {LATE:g} times the limit" if "died" in ended.how else ended.how
    answer = {"found": None, "bound": None, "seconds": ended.seconds, "proven": False, **(ended.value or {})}
    return {
        "tail": tail,
        "size": f"{size} + {size}",
        "solver": solver,
        "ended": how if how != "done" else "proven" if answer["proven"] else "time-out",
        "found": answer["found"],
        "bound": answer["bound"],
        "gap %": gap_of(answer["found"], answer["bound"]),
        "s to 1 %": answer.get("s to 1 %"),
        "seconds": answer["seconds"],
        "verified": answer.get("verified"),
        "verify s": answer.get("verify s"),
        "cap": cap,
        "megabytes": ended.megabytes,
    }


def gap_of(found: float | None, bound: float | None) -> float | None:
    """How much better a panel could be, in percent of what was found."""
    return None if not found or bound is None else 100.0 * (bound - found) / abs(found)


def table(rows: list[Row]) -> list[Row]:
    """One line per tail and size: what each solver found and proved."""
    lines: dict[tuple[Any, Any], Row] = {}
    for row in rows:
        line = lines.setdefault((row["tail"], row["size"]), {"tail": row["tail"], "features": row["size"]})
        line[row["solver"]] = _entry(row)
        if row["solver"] == "cobic":
            line["s to 1 %"] = row["s to 1 %"]
    return list(lines.values())


def _entry(row: Row) -> str:
    if row["found"] is None or row["bound"] is None:
        return f"{row['found'] or 'nothing'} to {row['bound'] or 'any'}"
    if row["ended"] == "proven":
        return f"{row['found']:.4f} proven, {row['seconds']:.1f} s"
    gap = "" if row["gap %"] is None else f" ({row['gap %']:.2f} %)"
    return f"{row['found']:.4f} to {row['bound']:.4f}{gap}"


LARGE = {
    "1,000,000 × 200, 20 + 20": ("wide", 20, 60.0),
    "50,000 cells × 2,000, 8 classes of 5": ("cells", 5, 180.0),
    "Singh, 12,600 × 102, 10 + 10": ("singh", 10, 20.0),
}


def run_large(*, quick: bool) -> list[Row]:
    """One line per data set; tail 0.3."""
    if not os.environ.get("COBIC_DATA"):
        return [{"data": "skipped: COBIC_DATA is not set"}]
    rows = []
    for name, (data, size, seconds) in list(LARGE.items())[2 if quick else 0 :]:
        ended = alone(_large, (data, size, seconds), seconds + _BEYOND, _CAP)
        found = ended.value or {}
        gap = gap_of(found.get("found"), found.get("bound"))
        rows.append({"data": name, "ended": ended.how, **found, "gap %": gap, "limit": seconds})
        print(rows[-1], flush=True)
    return rows


def large_data(name: str) -> tuple[Any, Any]:
    """Samples and classes of a large case."""
    if name == "cells":
        return cells(50_000)
    if name == "singh":
        data = cobic.datasets.load_singh()
    else:
        data = cobic.datasets.resample_expression(cobic.datasets.load_golub(), n_features=1_000_000, n_samples=200)
    X = np.asarray(data.X, dtype=np.float32)
    np.log2(np.maximum(X, _FLOOR, out=X), out=X)
    return X, np.asarray(data.y)


def cells(n_cells: int, n_genes: int = 2000, n_kinds: int = 8) -> tuple[Any, Any]:
    """Sparse counts of cells that five genes of each kind can tell apart, as logarithms of parts of 10,000.

    A gene is read as often as it is expressed (Poisson); levels of genes and sizes of libraries are log-normal. Each
    kind has twenty markers of its own, which other kinds leak a fiftieth of. Of a cell about 1,000 molecules are read;
    one in a hundred has a wrong label.
    """
    rng = np.random.default_rng(0)
    kinds = rng.integers(n_kinds, size=n_cells)
    level = np.tile(0.3 * np.exp(rng.normal(size=n_genes)), (n_kinds, 1))
    for kind, markers in enumerate(rng.permutation(n_genes)[: 20 * n_kinds].reshape(n_kinds, 20)):
        strength = 3.0 * np.exp(rng.normal(size=20))
        level[:, markers], level[kind, markers] = strength / 50, strength
    blocks = []
    for rows in np.array_split(np.arange(n_cells), max(n_cells // 1000, 1)):
        counts = rng.poisson(level[kinds[rows]] * np.exp(0.4 * rng.normal(size=(rows.size, 1)))).astype(np.float32)
        blocks.append(sp.csr_array(np.log1p(1e4 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0))))
    wrong = rng.random(n_cells) < 0.01
    labels = np.where(wrong, rng.integers(n_kinds, size=n_cells), kinds)
    return sp.csr_array(sp.vstack(blocks)), np.array(list("ABCDEFGH"))[labels]


def _large(item: tuple[str, int, float]) -> Row:
    name, size, limit = item
    X, y = large_data(name)
    nbytes = X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    started = time.process_time()
    with processor_time():
        panel = cobic.panel(X, y, dict.fromkeys(np.unique(y).tolist(), size), 0.3, time_limit=limit)
    found = _found(panel, time.process_time() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    begun = time.process_time()
    verified = cobic.verify(panel.problem, panel.certificate).ok
    more = {"matrix MB": nbytes / 2**20, "peak MB": peak, "peak before MB": before}
    return {**found, **more, "verified": verified, "verify s": time.process_time() - begun}
