"""Run measurements: each compares cobic with something else in the same run.

Results go to ``benchmarks/results``: ``NAME.json`` with all figures and the facts without which they mean nothing,
``NAME.md`` with a table, ``NAME.svg`` with a plot where there is one.
"""

import argparse
import json
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks import (
    accuracy,
    alternatives,
    attack,
    exact_check,
    exactness,
    few_features,
    label_errors,
    markers,
    memory,
    panel_exactness,
    panels,
    path,
    quality,
    reading,
    real_columns,
    same_answers,
    scale,
    speed,
    start,
)

Rows = list[dict[str, Any]]
RESULTS = Path(__file__).parent / "results"
PACKAGES = ("cobic", "numpy", "scipy", "highspy", "scikit-learn", "pyscipopt", "boruta", "mrmr-selection", "scanpy")
SEED = 0
BY_NAME_ONLY = (
    "accuracy",
    "scale",
    "panel-exactness",
    "real-columns",
    "same-answers",
    "on-disk",
    "panels",
    "large-panels",
    "attack",
    "marker-choices",
)  # each takes as long as several of the others


@dataclass(frozen=True)
class Suite:
    """One set of measurements.

    Attributes
    ----------
    run : callable
        Measures; one dictionary per line.
    table : callable, optional
        Turns the lines into those of a table for a person.
    plot : callable, optional
        Draws them into a figure.
    compares : bool, default=False
        Whether it can measure another version of cobic on the same data.
    keeps : bool, default=False
        Whether it keeps its answers in a folder, and goes on from those that are there.
    timed : bool, default=False
        Whether it goes on for as many minutes as it is given.
    """

    run: Callable[..., Rows]
    table: Callable[[Rows], Rows] | None = None
    plot: Callable[[Rows, Any], None] | None = None
    compares: bool = False
    keeps: bool = False
    timed: bool = False


SUITES = {
    "quality": Suite(quality.run, quality.table, quality.plot),
    "exactness": Suite(exactness.run, exactness.table, exactness.plot),
    "panel-exactness": Suite(panel_exactness.run),
    "speed": Suite(speed.run, None, speed.plot),
    "alternatives": Suite(alternatives.run, None, alternatives.plot),
    "path": Suite(path.run),
    "exact-check": Suite(exact_check.run),
    "few-features": Suite(few_features.run),
    "label-errors": Suite(label_errors.run),
    "memory": Suite(memory.run),
    "reading": Suite(reading.run),
    "start": Suite(start.run),
    "scale": Suite(scale.run, scale.table),
    "real-columns": Suite(real_columns.run, real_columns.table, compares=True),
    "same-answers": Suite(same_answers.run, compares=True),
    "on-disk": Suite(scale.run_on_disk, scale.table),
    "accuracy": Suite(accuracy.run, accuracy.table, keeps=True),
    "panels": Suite(panels.run, panels.table),
    "large-panels": Suite(panels.run_large),
    "attack": Suite(attack.run, timed=True),
    "markers": Suite(markers.run),
    "marker-choices": Suite(markers.run_choices),
}


def facts() -> dict[str, Any]:
    """The machine and the versions, without which a figure means nothing."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "seed": SEED,
        "versions": {name: _version(name) for name in PACKAGES},
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def main() -> int:
    """Run the suites that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only",
        choices=SUITES,
        action="append",
        help=f"run one suite (repeatable); {', '.join(BY_NAME_ONLY)} run only if named",
    )
    parser.add_argument("--redraw", action="store_true", help="measure nothing: tables and plots of stored figures")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions and rows: a few minutes in all")
    comparing = [name for name in SUITES if SUITES[name].compares]
    parser.add_argument(
        "--against",
        type=Path,
        metavar="FOLDER",
        help=f"another checkout of cobic, measured on the same data ({', '.join(comparing)})",
    )
    keeping = [name for name in SUITES if SUITES[name].keeps]
    parser.add_argument(
        "--cache",
        type=Path,
        metavar="FOLDER",
        help=f"where answers are kept, outside of the repository; a run goes on from them ({', '.join(keeping)})",
    )
    timed = [name for name in SUITES if SUITES[name].timed]
    parser.add_argument("--minutes", type=float, metavar="N", help=f"how long to go on ({', '.join(timed)})")
    arguments = parser.parse_args()
    names = arguments.only or [name for name in SUITES if name not in BY_NAME_ONLY]
    if arguments.against is not None and not set(names) <= set(comparing):
        parser.error(f"--against is for --only {' --only '.join(comparing)}")
    if arguments.cache is not None and not set(names) <= set(keeping):
        parser.error(f"--cache is for --only {' --only '.join(keeping)}")
    if arguments.minutes is not None and not set(names) <= set(timed):
        parser.error(f"--minutes is for --only {' --only '.join(timed)}")
    given = {"quick": arguments.quick, "against": arguments.against, "cache": arguments.cache}
    given["minutes"] = arguments.minutes
    RESULTS.mkdir(exist_ok=True)
    failed = 0
    for name in names:
        try:
            _measure(name, redraw=arguments.redraw, **given)
        except Exception:  # what one suite runs into is no reason to lose the others
            traceback.print_exc()
            failed += 1
    return 1 if failed else 0


def _measure(
    name: str, *, quick: bool, redraw: bool, against: Path | None, cache: Path | None, minutes: float | None
) -> None:
    """Run one suite and keep what it finds; or only show what was found before."""
    stored = RESULTS / f"{name}.json"
    if not redraw:
        print(f"== {name}", flush=True)
        begin = time.perf_counter()
        suite = SUITES[name]
        more = ({"against": against} if suite.compares else {}) | ({"cache": cache} if suite.keeps else {})
        more |= {"minutes": minutes} if suite.timed else {}
        rows = suite.run(quick=quick, **more)
        seconds = time.perf_counter() - begin
        document = {"suite": name, "quick": quick, "seconds": seconds, **facts(), "rows": rows}
        stored.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        print(f"== {name}: {seconds:.0f} s", flush=True)
    _present(name, json.loads(stored.read_text()))


def _present(name: str, document: dict[str, Any]) -> None:
    """Write the table and the plot of a suite, and print the table."""
    suite, rows = SUITES[name], document["rows"]
    skipped = len(rows[0]) == 1  # no data to measure on
    table = _markdown(rows if skipped or suite.table is None else suite.table(rows))
    known = {key: value for key, value in document.items() if key != "rows"}
    (RESULTS / f"{name}.md").write_text(f"{table}\n{json.dumps(known, ensure_ascii=False)}\n")
    print(table)
    if suite.plot is not None and not skipped:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 5.5), layout="constrained")
        suite.plot(rows, figure)
        figure.savefig(RESULTS / f"{name}.svg")


def _markdown(rows: Rows) -> str:
    headings = list(dict.fromkeys(heading for row in rows for heading in row))
    lines = [headings, ["---"] * len(headings), *([_cell(row.get(heading)) for heading in headings] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else " ".join(str(value).split()).replace("|", "/")


if __name__ == "__main__":
    sys.exit(main())
