"""Run measurements: each compares cobic with something else in the same run and prints ratios.

``python -m benchmarks [--only NAME] [--quick]``; results go to ``benchmarks/results/NAME.json`` as well.
"""

import argparse
import json
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import (
    accuracy,
    bound,
    certified_rows,
    exactness,
    few_features,
    label_errors,
    linear_programs,
    methods,
    path,
)

SUITES = {
    "bound": bound.run,
    "certified": certified_rows.run,
    "linear-programs": linear_programs.run,
    "exact-check": exactness.run,
    "methods": methods.run,
    "path": path.run,
    "accuracy": accuracy.run,
    "few-features": few_features.run,
    "label-errors": label_errors.run,
}
RESULTS = Path(__file__).parent / "results"


def facts() -> dict[str, Any]:
    """The machine and the versions, without which a figure means nothing."""
    packages = ("cobic", "numpy", "scipy", "highspy")
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in packages},
    }


def main() -> int:
    """Run the suites that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", choices=SUITES, help="run one suite")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions and rows")
    arguments = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    for name, suite in SUITES.items():
        if arguments.only in (None, name):
            print(f"== {name}")
            rows = suite(quick=arguments.quick)
            _print_rows(rows)
            document = {"suite": name, "quick": arguments.quick, **facts(), "rows": rows}
            (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=2) + "\n")
    return 0


def _print_rows(rows: list[dict[str, Any]]) -> None:
    headings = list(rows[0])
    cells = [[_cell(row[heading]) for heading in headings] for row in rows]
    widths = [max(len(line[column]) for line in [headings, *cells]) for column in range(len(headings))]
    for line in [headings, *cells]:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
