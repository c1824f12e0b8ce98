"""The proven optimum: certified against general solvers on the linearised model, over growing parts of Golub.

Each solver gets the model twice: *as published*, with nothing known about the numbers of features, and *helped*, with a
selection of the LP fixed point to start from and the bounds that follow from its size. HiGHS is helped further by
bounds from linear programs (method ``milp``). A proof that is not done within the cap is a time-out; a method that ends
earlier without one, for its own limit of effort, gave up.
"""

import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import cobic
from benchmarks.apart import Ended, alone
from cobic.io.programs import mps_text
from cobic.methods.export import linearised_model

SEED = 0
SIZES = (50, 100, 200, 500, 1000, 2000, 4000, 7129)
MARGINS: dict[str, dict[str, float]] = {"α 0": {}, "β 1.5": {"beta": 1.5}}
GRACE = 30.0
GAVE_UP = 2  # time-outs in a row after which only the whole data set is tried again

Item = tuple[str, int, str, float]


def run(*, quick: bool) -> list[dict[str, Any]]:
    """One line per margin, number of features and solver: seconds to the proven optimum, or how it ended."""
    if not os.environ.get("COBIC_DATA"):
        return [{"margin": "skipped: COBIC_DATA is not set"}]
    cap = 4.0 if quick else 60.0
    rows = []
    for margin in list(MARGINS)[: 1 if quick else None]:
        for solver in SOLVERS:
            failures = 0
            for size in (50, 7129) if quick else SIZES:
                given_up = failures >= GAVE_UP and size < SIZES[-1]
                item = (solver, size, margin, cap)
                ended = Ended("not tried", None, 0.0) if given_up else alone(_proven, item, cap + GRACE)
                rows.append(_row(item, ended))
                failures = 0 if rows[-1]["ended"] == "proven" else failures + 1
                print(rows[-1], flush=True)
    return rows


@cache
def _problem(size: int, margin: str) -> cobic.Problem:
    golub = cobic.datasets.load_golub()
    part = np.sort(np.random.default_rng(SEED).permutation(golub.X.shape[1])[:size])
    return cobic.Problem(golub.X[:, part], golub.y, **MARGINS[margin])


def _proven(item: Item) -> dict[str, Any]:
    solver, size, margin, cap = item
    return SOLVERS[solver](_problem(size, margin), cap)


def _by_cobic(method: str, **options: Any) -> Any:
    def solved(problem: cobic.Problem, cap: float) -> dict[str, Any]:
        result = cobic.solve(problem, method=method, time_limit=cap, seed=SEED, **options)
        found = result.n_selected if result.consistent else None
        proven = result.status in ("optimal", "infeasible")
        return {"features": found, "bound": result.upper_bound, "proven": proven, "seconds": result.seconds}

    return solved


def _by_scip(*, helped: bool) -> Any:
    def solved(problem: cobic.Problem, cap: float) -> dict[str, Any]:
        import pyscipopt

        start = cobic.solve(problem, method="fixed-point") if helped else None
        least = start.n_selected if start is not None and start.consistent else 0
        linearisation, names, comments = linearised_model(problem, least)
        model = pyscipopt.Model()
        model.hideOutput()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.mps"
            path.write_text(mps_text(linearisation.program, names, comments))
            model.readProblem(str(path))
        model.setParam("limits/time", cap)
        if least and start is not None:
            solution = model.createSol()
            values = dict(zip(names.columns, linearisation.solution(start.support), strict=True))
            for variable in model.getVars():
                model.setSolVal(solution, variable, values[variable.name])
            model.addSol(solution)
        model.optimize()
        support = None
        if model.getNSols():
            value_of = {variable.name: model.getVal(variable) for variable in model.getVars()}
            support = linearisation.selection(np.array([value_of[name] for name in names.columns]))
        kept = int(support.sum()) if support is not None and problem.is_consistent(support) else None
        status = model.getStatus()
        bound = 0 if status == "infeasible" else int(np.floor(min(model.getDualbound(), problem.n_features) + 1e-6))
        return {
            "features": kept,
            "bound": bound,
            "proven": status == "infeasible" or (status == "optimal" and kept == bound),
            "seconds": model.getSolvingTime() + (start.seconds if start is not None else 0.0),
        }

    return solved


SOLVERS = {
    "certified": _by_cobic("certified"),
    "HiGHS, helped": _by_cobic("milp"),
    "HiGHS, as published": _by_cobic("milp", warm_start=False),
    "SCIP, helped": _by_scip(helped=True),
    "SCIP, as published": _by_scip(helped=False),
}


def _row(item: Item, ended: Ended) -> dict[str, Any]:
    solver, size, margin, cap = item
    answer = ended.value or {"features": None, "bound": None, "proven": False, "seconds": ended.seconds}
    how = ended.how
    if how == "done":
        how = "proven" if answer["proven"] else "time-out" if answer["seconds"] >= cap else "gave up"
    return {
        "margin": margin,
        "features in all": size,
        "solver": solver,
        "ended": how,
        "kept": answer["features"],
        "bound": answer["bound"],
        "seconds": answer["seconds"],
        "cap": cap,
        "megabytes": ended.megabytes,
    }


def table(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line per margin and size: seconds to the proven optimum by solver, or what was reached."""
    lines: dict[tuple[str, int], dict[str, Any]] = {}
    for row in rows:
        key = (row["margin"], row["features in all"])
        line = lines.setdefault(key, {"margin": key[0], "features": key[1]})
        if row["solver"] == "certified":
            line["optimum"] = row["kept"] if row["ended"] == "proven" else f"{row['kept']} to {row['bound']}"
        line[row["solver"]] = _entry(row)
    return list(lines.values())


def _entry(row: dict[str, Any]) -> str:
    if row["ended"] == "proven":
        return f"{row['seconds']:.2f} s"
    if row["bound"] is None:
        return str(row["ended"])
    return f"{row['ended']} after {row['seconds']:.0f} s: {row['kept'] or 'nothing'} to {row['bound']}"


def plot(rows: list[dict[str, Any]], figure: Any) -> None:
    """Seconds to the proven optimum over the number of features; open marks are time-outs."""
    margins = list(dict.fromkeys(row["margin"] for row in rows))
    for panel, margin in zip(figure.subplots(1, len(margins), squeeze=False, sharey=True)[0], margins, strict=True):
        for colour, solver in enumerate(SOLVERS):
            mine = [row for row in rows if row["margin"] == margin and row["solver"] == solver]
            done = [row for row in mine if row["ended"] == "proven"]
            late = [row for row in mine if row["ended"] not in ("proven", "not tried")]
            style = {"color": f"C{colour}"}
            panel.plot([r["features in all"] for r in done], [r["seconds"] for r in done], "o-", label=solver, **style)
            panel.plot([r["features in all"] for r in late], [r["seconds"] for r in late], "x", **style)
        panel.set(xscale="log", yscale="log", xlabel="features", title=f"Golub, {margin}")
        panel.axhline(mine[0]["cap"], color="grey", linewidth=0.5)
    panel.legend(fontsize="small")
    figure.axes[0].set_ylabel("seconds to the proven optimum (×: not within the cap)")
