"""How fast: against one cold `linprog`, and how the time grows with the numbers of features and of samples."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

import cobic
from benchmarks.apart import alone
from benchmarks.timing import best_of, data_sets
from cobic.methods.relaxation import Relaxation

SEED = 0
FEATURES = (1_000, 3_000, 10_000, 30_000, 100_000)
SAMPLES = (20, 60, 200, 600, 2_000)
DRAWS = 3  # of synthetic data per size: how hard an instance is varies more than its size tells
CAP = 60.0
GRACE = 60.0


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Lines of three kinds: against `linprog`, growth with features, growth with samples; and the fitted exponents."""
    rows = [_against_linprog(name, data, 2 if quick else 5) for name, data in data_sets().items()]
    for kind, sizes in (("features", FEATURES), ("samples", SAMPLES)):
        draws = range(1 if quick else DRAWS)
        grown = [_grown(kind, size, seed) for size in sizes[: 3 if quick else None] for seed in draws]
        rows += grown
        rows += [_fitted(kind, grown, column) for column in ("first bound s", "whole s")]
    return rows


def _against_linprog(name: str, data: cobic.Dataset, repetitions: int) -> dict[str, Any]:
    problem = data.problem()
    result = cobic.solve(problem, seed=SEED)
    program = _tied_program(problem, np.array(result.counts) / result.n_selected)
    theirs, _ = best_of(repetitions, lambda: linprog(**program))
    ours = min(_time_to_bound(cobic.solve(problem, seed=SEED)) for _ in range(repetitions))
    whole, result = best_of(repetitions, lambda: cobic.solve(problem, seed=SEED))
    checking, checked = best_of(1, lambda: cobic.verify(problem, result.certificate))
    return {
        "what": f"{name}, against linprog",
        "samples": problem.n_samples,
        "features": problem.n_features,
        "kept": result.n_selected,
        "bound": result.upper_bound,
        "ended": str(result.status),
        "first bound": _first_bound(result)[1],
        "first bound s": _first_bound(result)[0],
        "bound s": ours,
        "whole s": whole,
        "linprog s": theirs,
        "bound/linprog": ours / theirs,
        "whole/linprog": whole / theirs,
        "verify s": checking,
        "verified": checked.ok,
        "exponent": None,
    }


def _first_bound(result: cobic.Result) -> tuple[float, int]:
    """When multipliers had first proven a bound, before any branching on features, and which."""
    trivial = result.support.size
    events = [(event.elapsed, event.upper_bound) for event in result.history if event.upper_bound < trivial]
    return events[0] if events else (result.seconds, result.upper_bound)


def _time_to_bound(result: cobic.Result) -> float:
    return next((event.elapsed for event in result.history if event.upper_bound == result.upper_bound), result.seconds)


def _tied_program(problem: cobic.Problem, shares: Any) -> dict[str, Any]:
    """The linear program for fixed shares, whose solution must have these shares."""
    program = Relaxation(problem).at_shares(shares)
    matrix = sp.csc_matrix((program.values, program.rows, program.starts), shape=(program.n_rows, program.n_columns))
    of = np.repeat(np.arange(problem.n_classes), problem.feature_class_sizes)
    ties = np.stack([(of == cls) / shares[cls] - 1.0 for cls in range(problem.n_classes - 1)])
    return {
        "c": -np.ones(program.n_columns),
        "A_ub": -matrix,
        "b_ub": np.zeros(program.n_rows),
        "A_eq": sp.csc_matrix(ties),
        "b_eq": np.zeros(len(ties)),
        "bounds": (0, 1),
    }


def _grown(kind: str, size: int, seed: int) -> dict[str, Any]:
    """One instance, in a process apart."""
    features, samples = (size, 40) if kind == "features" else (2_000, size)
    ended = alone(_solved, (features, samples, seed), CAP + GRACE)
    nothing = {"kept": None, "bound": None, "ended": ended.how, "first bound": None, "first bound s": None}
    nothing |= {"bound s": None, "whole s": ended.seconds}
    answer = nothing if ended.value is None else ended.value
    empty = dict.fromkeys(("linprog s", "bound/linprog", "whole/linprog"))
    row = {"what": f"growth with {kind}", "samples": samples, "features": features, **answer, **empty}
    row = {**row, "verify s": answer.get("verify s"), "verified": answer.get("verified"), "exponent": None}
    print(row, flush=True)
    return row


def _solved(item: tuple[int, int, int]) -> dict[str, Any]:
    features, samples, seed = item
    sizes = (samples - samples // 3, samples // 3)
    data = cobic.datasets.make_expression(features, class_sizes=sizes, test_sizes=None, seed=seed)
    problem = data.problem()
    result = cobic.solve(problem, time_limit=CAP, seed=SEED)
    checking, checked = best_of(1, lambda: result.certificate and cobic.verify(problem, result.certificate))
    return {
        "kept": result.n_selected,
        "bound": result.upper_bound,
        "ended": str(result.status) + (f", {result.stopped_by}" if result.stopped_by else ""),
        "first bound": _first_bound(result)[1],
        "first bound s": _first_bound(result)[0],
        "bound s": _time_to_bound(result),
        "whole s": result.seconds,
        "verify s": checking,
        "verified": bool(checked and checked.ok),
    }


def _fitted(kind: str, rows: list[dict[str, Any]], column: str) -> dict[str, Any]:
    """Exponent of the time in the size, by least squares of logarithms, where features must be dropped."""
    done = [row for row in rows if row["bound s"] and "limit" not in row["ended"] and row["bound"] < row["features"]]
    line = {**dict.fromkeys(rows[0]), "what": f"exponent in {kind}, {column}"}
    if len({row[kind] for row in done}) < 2:
        return line
    sizes, seconds = [row[kind] for row in done], [row[column] for row in done]
    return {**line, "exponent": float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])}


def plot(rows: list[dict[str, Any]], figure: Any) -> None:
    """Time to the bound, to the end and to verify, over the numbers of features and of samples."""
    for panel, kind in zip(figure.subplots(1, 2, sharey=True), ("features", "samples"), strict=True):
        mine = [row for row in rows if row["what"] == f"growth with {kind}" and row["bound s"]]
        mine = [row for row in mine if row["bound"] < row["features"]]
        for column, label in (("first bound s", "first bound"), ("whole s", "whole"), ("verify s", "verify")):
            sizes = sorted({row[kind] for row in mine})
            middle = [np.median([row[column] for row in mine if row[kind] == size]) for size in sizes]
            lines = panel.plot(sizes, middle, "-", label=label)
            panel.plot([row[kind] for row in mine], [row[column] for row in mine], ".", color=lines[0].get_color())
        fitted = [row["exponent"] for row in rows if row["what"].startswith(f"exponent in {kind}")]
        slopes = " and ".join(f"{slope:.2f}" for slope in fitted if slope is not None)
        title = f"growth with {kind}\nexponents {slopes} (first bound, whole)"
        panel.set(xscale="log", yscale="log", xlabel=kind)
        panel.set_title(title, fontsize="medium")
    figure.axes[0].set_ylabel("seconds")
    figure.axes[0].legend()
