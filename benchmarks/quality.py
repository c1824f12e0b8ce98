"""Every method on every row of the founding paper's tables, and on the sets with more classes."""

import math
import os
from collections import defaultdict
from functools import cache
from typing import Any

import cobic
from benchmarks.apart import Ended, one_by_one
from cobic.analyses.published import PUBLISHED
from cobic.datasets import LOADERS

SEED = 0
SECONDS = {"milp": 20.0, "sequential-binary": 30.0}  # for the solve itself; the others have 60
GRACE = 30.0  # reading the data, and a solver that looks up late
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "certified": ("certified", {}),
    "fixed-point": ("fixed-point", {}),
    "bilevel-vns": ("bilevel-vns", {}),
    "bilevel-vns as printed": ("bilevel-vns", {"criterion": "published"}),
    "sequential-lp": ("sequential-lp", {}),
    "sequential-binary": ("sequential-binary", {"program_seconds": 5.0}),
    "milp": ("milp", {}),
}

Case = tuple[str, str, dict[str, float]]


def run(*, quick: bool) -> list[dict[str, Any]]:
    """One line per row and method: features, bound, gap, true worst margin, test errors, seconds, programs."""
    if not os.environ.get("COBIC_DATA"):
        return [{"data": "skipped: COBIC_DATA is not set"}]
    cases = [(row.dataset, {row.kind: row.value}) for row in PUBLISHED] + [("khan", {}), ("sorlie", {})]
    if quick:
        cases = [cases[0], cases[-1]]
    rows = []
    for label, (method, _) in METHODS.items():
        limit = 4.0 if quick else SECONDS.get(method, 60.0)
        items = [(label, limit, dataset, margin) for dataset, margin in cases]
        for item, ended in one_by_one(_solved, items, limit + GRACE):
            rows.append(_row(item, ended))
            print(rows[-1], flush=True)
    return rows


@cache
def _data(name: str) -> cobic.Dataset:
    return LOADERS[name]()


def _solved(item: tuple[str, float, str, dict[str, float]]) -> dict[str, Any]:
    label, limit, dataset, margin = item
    method, options = METHODS[label]
    data = _data(dataset)
    problem = data.problem(**margin)
    result = cobic.solve(problem, method=method, time_limit=limit, seed=SEED, **options)
    errors = None
    if data.test is not None and all(result.counts):
        predicted = cobic.Model.of(problem, result).predict(data.test.X) if result.consistent else None
        errors = None if predicted is None else int((predicted != data.test.y).sum())
    bounded = method in ("certified", "milp")
    return {
        "features": result.n_selected,
        "bound": result.upper_bound if bounded else None,
        "gap": result.gap if bounded else None,
        "status": str(result.status),
        "worst margin": result.worst_margin if math.isfinite(result.worst_margin) else None,
        "test errors": errors,
        "seconds": result.seconds,
        "programs": result.lps,
        "cut short": result.stopped_by,
    }


def _row(item: tuple[str, float, str, dict[str, float]], ended: Ended) -> dict[str, Any]:
    label, limit, dataset, margin = item
    nothing = dict.fromkeys(
        ("features", "bound", "gap", "status", "worst margin", "test errors", "seconds", "programs", "cut short")
    )
    kind, value = next(iter(margin.items()), ("alpha", 0.0))
    answer = ended.value if ended.how == "done" else {**nothing, "status": ended.how, "seconds": ended.seconds}
    return {"data": dataset, "margin": f"{kind} {value:g}", "method": label, "cap": limit, **answer}


def table(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line per row of the paper: features by method; in brackets what is not consistent."""
    lines: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    for row in rows:
        line = lines[row["data"], row["margin"]]
        line |= {"data": row["data"], "margin": row["margin"]}
        if row["method"] == "certified":
            line["at most"] = row["bound"]
        line[row["method"]] = _entry(row)
    return list(lines.values())


def _entry(row: dict[str, Any]) -> str:
    if row["features"] is None:
        return str(row["status"])
    size = f"{row['features']}" if row["status"] in ("optimal", "feasible") else f"({row['features']})"
    return f"{size}, {row['seconds']:.1f} s"


def plot(rows: list[dict[str, Any]], figure: Any) -> None:
    """Features short of the proven bound, over seconds, one point per row and method."""
    bounds = {(row["data"], row["margin"]): row["bound"] for row in rows if row["method"] == "certified"}
    axes = figure.subplots()
    for label in METHODS:
        mine = [row for row in rows if row["method"] == label and row["status"] in ("optimal", "feasible")]
        mine = [row for row in mine if bounds.get((row["data"], row["margin"])) is not None]
        short = [bounds[row["data"], row["margin"]] - row["features"] for row in mine]
        axes.plot([row["seconds"] for row in mine], short, "o", alpha=0.7, label=f"{label} ({len(mine)} rows)")
    axes.set(xscale="log", xlabel="seconds", ylabel="features below the proven bound")
    axes.set_yscale("symlog", linthresh=1)
    axes.legend(fontsize="small")
    axes.set_title("Consistent selections on the rows of both tables, Khan and Sørlie")
