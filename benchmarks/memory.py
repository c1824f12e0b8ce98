"""The peak of memory of reading and solving against what `cobic.estimate_memory` says: the constants rest on this.

Each line is measured in a process of its own, from /proc, and so on Linux only.
"""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import cobic
from benchmarks.apart import alone

_CAP = 16 << 30
_ENDING = 300.0


@dataclass(frozen=True)
class Case:
    """One measurement: a file to read, or data to solve."""

    n_samples: int
    n_features: int
    n_classes: int = 2
    density: float = 1.0
    soft: bool = False
    file: str = ""
    seconds: float = 40.0


SOLVING = (
    Case(200, 200_000),
    Case(200, 200_000, n_classes=10),
    Case(50, 200_000),
    Case(200, 50_000),
    Case(5000, 2000),
    Case(20_000, 2000),
    Case(20_000, 2000, n_classes=5, density=0.05),
    Case(5000, 20_000, n_classes=5, density=0.05),
    Case(1000, 2000, n_classes=8, density=0.05, soft=True),
    Case(100, 200_000, soft=True),
    Case(20_000, 4000, n_classes=4, density=0.05, soft=True),
)
READING = (
    Case(200, 50_000, file="npy"),
    Case(200, 50_000, file="h5ad"),
    Case(200, 50_000, file="csv"),
    Case(200, 50_000, file="parquet"),
    Case(2000, 50_000, density=0.05, file="h5ad"),
)


def run(*, quick: bool) -> list[dict[str, Any]]:
    """One line per case: megabytes measured and estimated, and their ratio."""
    cases = (*READING[:2], replace(SOLVING[3], seconds=10.0)) if quick else READING + SOLVING
    rows = []
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"data.{case.file}"
            if case.file:  # by another process, whose memory this one cannot use again
                alone(_write, (case, path), _ENDING, _CAP)
            ended = alone(_read if case.file else _solve, (case, path), case.seconds + _ENDING, _CAP)
        what = {
            "work": f"read {case.file}" if case.file else "solve softly" if case.soft else "solve",
            "samples": case.n_samples,
            "features": case.n_features,
            "classes": case.n_classes,
            "density": case.density,
        }
        measured, estimated = ended.value if ended.how == "done" else (float("nan"), float("nan"))
        rows.append(
            {**what, "measured MB": measured / 1e6, "estimated MB": estimated / 1e6, "ratio": measured / estimated}
        )
        print(rows[-1], flush=True)
    return rows


def _solve(item: tuple[Case, Path]) -> tuple[int, int]:
    case, _ = item
    _load_libraries()
    data = _data(case)
    problem = data.problem(**({"slack_penalty": "auto"} if case.soft else {}))
    problem = problem.softened(10 * problem.slack_penalty) if case.soft else problem
    estimated = cobic.estimate_memory(problem).needed
    before = _fresh_peak()
    cobic.solve(problem, time_limit=case.seconds)
    return _status("VmHWM") - before, estimated


def _read(item: tuple[Case, Path]) -> tuple[int, int]:
    case, path = item
    _load_libraries()
    estimated = cobic.estimate_memory(path).reading
    before = _fresh_peak()
    cobic.read(path, None if case.file == "npy" else "class")
    return _status("VmHWM") - before, estimated


def _data(case: Case) -> cobic.Dataset:
    mislabelled = 0.02 if case.soft else 0.0
    return cobic.datasets.make_large_expression(
        case.n_features,
        n_samples=case.n_samples,
        n_classes=case.n_classes,
        density=case.density,
        mislabelled=mislabelled,
    )


def _write(item: tuple[Case, Path]) -> None:
    case, path = item
    if case.file == "h5ad":
        cobic.datasets.write_expression(path, case.n_features, n_samples=case.n_samples, density=case.density)
        return
    data = _data(case)
    if case.file == "npy":
        np.save(path, data.X)
        return
    frame = pd.DataFrame(data.X, columns=list(data.feature_names)).assign(**{"class": data.y})
    if case.file == "csv":
        frame.to_csv(path)
    else:
        frame.to_parquet(path)


def _load_libraries() -> None:
    cobic.solve(cobic.datasets.make_expression(200, seed=1).problem(), time_limit=5.0)


def _fresh_peak() -> int:
    """Forget the peak so far; what the process has now."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _status(word: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(word)) * 1024
