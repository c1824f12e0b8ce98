"""Columns of real data, many more than there were: how soon there is a selection, how soon it is nearly proven.

The data are those of `cobic.datasets.resample_expression`. Each run is a process of its own that loads them from a
file; a second version of cobic, if one is given, gets the same file right after the first.
"""

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import cobic
from benchmarks.apart import Ended, alone, of_version
from benchmarks.timing import exponent

Row = dict[str, Any]

_GOALS = {"s to 0.5 %": 5e-3, "s to 0.1 %": 1e-3, "s to 0.01 %": 1e-4}
_TIMES = ("s to first", "s to 0.01 %")  # of which the growth is fitted
_SCRIPT = Path(__file__).with_name("one_run.py")
_CAP = 16 << 30
_WRITING = 600.0
_BEYOND = 120.0  # seconds to load, and to end


@dataclass(frozen=True)
class Case:
    """Data, and how long they are worked on: to the limit, or to the smallest of the goals."""

    data: str
    n_features: int
    n_samples: int | None = None
    seconds: float = 60.0
    until_goal: bool = False


_SETS = ("golub", "singh", "gravier")
_BESIDE = (10_000, 31_623, 316_228)  # numbers of features for the growth, beside the shown ones
_MORE_SAMPLES = (250, 500, 1000, 2000)
SHOWN = tuple(Case(name, m) for name in _SETS for m in (100_000, 1_000_000))
WIDER = tuple(Case(name, m, seconds=20.0, until_goal=True) for name in _SETS for m in _BESIDE)
TALLER = tuple(
    Case(name, 100_000, n, seconds=20.0, until_goal=True) for name in ("golub", "singh") for n in _MORE_SAMPLES
)
QUICK = (
    *(Case("golub", m, seconds=4.0, until_goal=True) for m in (10_000, 20_000, 40_000)),
    *(Case("golub", 10_000, n, seconds=4.0, until_goal=True) for n in (100, 200, 400)),
)


def run(*, quick: bool, against: Path | None = None) -> list[Row]:
    """One line per case and version, and the fitted exponents of the growth with features and with samples."""
    if not os.environ.get("COBIC_DATA"):
        return [{"data": "skipped: COBIC_DATA is not set"}]
    trees = [Path(cobic.__file__).parents[1], *([source_tree(against)] if against is not None else [])]
    versions = {_version(tree, place): tree for place, tree in enumerate(trees)}
    rows = [row for case in (QUICK if quick else (*SHOWN, *WIDER, *TALLER)) for row in _measured(case, versions)]
    return [*rows, *_exponents(rows)]


def table(rows: list[Row]) -> list[Row]:
    """The columns that a person wants."""
    hidden = ("drawn samples", "matrix MB")
    return [{name: value for name, value in row.items() if name not in hidden} for row in rows]


def source_tree(folder: Path) -> Path:
    """The folder that cobic is imported from, in a checkout or by itself."""
    for tree in (folder / "src", folder):
        if (tree / "cobic" / "__init__.py").is_file():
            return tree.resolve()
    message = f"{folder} has no cobic, neither in it nor in src"
    raise FileNotFoundError(message)


def _version(tree: Path, place: int) -> str:
    """A name for a version: which one it is, and its commit where that is known."""
    command = ["git", "-C", str(tree), "describe", "--always", "--dirty"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    which = "against" if place else "this"
    return f"{which} {told.stdout.strip()}" if told.returncode == 0 else which


def _measured(case: Case, versions: dict[str, Path]) -> list[Row]:
    """The same data for each version."""
    with tempfile.TemporaryDirectory() as folder:
        written = alone(_write, (case, folder), _WRITING, _CAP)
        rows = []
        for version, tree in versions.items():
            ended = _solved(case, folder, tree) if written.how == "done" else written
            rows.append(_row(case, version, ended, written.value))
            print(rows[-1], flush=True)
    return rows


def _write(item: tuple[Case, str]) -> int:
    """Store the data, and tell how many samples they have."""
    case, folder = item
    real = cobic.datasets.LOADERS[case.data]()
    data = cobic.datasets.resample_expression(real, n_features=case.n_features, n_samples=case.n_samples)
    for name, part in (("X", data.X), ("y", np.asarray(data.y))):
        np.save(Path(folder) / f"{name}.npy", part)
    return len(data.sample_names)


def _solved(case: Case, folder: str, tree: Path) -> Ended:
    asked = {
        "folder": folder,
        "seconds": case.seconds,
        "goals": list(_GOALS.values()),
        "memory": _CAP,
        "until_goal": case.until_goal,
    }
    ended = of_version(tree, _SCRIPT, asked, case.seconds + _BEYOND)
    if ended.how == "done" and not Path(ended.value["cobic"]).is_relative_to(tree):
        return Ended("failed: another cobic was imported", None, ended.seconds)
    return ended


def _row(case: Case, version: str, ended: Ended, n_samples: int | None) -> Row:
    found = {} if ended.value is None else dict(ended.value)
    found.pop("cobic", None)
    reached = found.pop("s to goals", [None] * len(_GOALS))
    known = found.get("selected") is not None
    gap = 100.0 * (found["bound"] - found["selected"]) / case.n_features if known else None
    return {
        "what": f"{case.seconds:.0f} s" + (", to goal" if case.until_goal else ""),
        "data": case.data,
        "samples": n_samples,
        "drawn samples": case.n_samples is not None,
        "features": case.n_features,
        "version": version,
        "status": found.pop("status", ended.how),
        "selected": found.pop("selected", None),
        "bound": found.pop("bound", None),
        "gap %": gap,
        "s to first": found.pop("s to first", None),
        **dict(zip(_GOALS, reached, strict=True)),
        "s in all": found.pop("s in all", None),
        "matrix MB": found.pop("matrix MB", None),
        "peak MB": found.pop("peak MB", None),
        "peak / matrix": found.pop("peak / matrix", None),
        "exponent": None,
        "points": None,
    }


def _exponents(rows: list[Row]) -> list[Row]:
    """For each set, version and direction of growth the slopes of log time against log size, where times are known."""
    fitted = []
    for drawn, size in ((False, "features"), (True, "samples")):
        grown = [row for row in rows if row["drawn samples"] == drawn]
        for data, version in dict.fromkeys((row["data"], row["version"]) for row in grown):
            own = [row for row in grown if (row["data"], row["version"]) == (data, version)]
            for time in _TIMES:
                known = [(row[size], row[time]) for row in own if row[time] is not None]
                facts = {"what": f"exponent of {time} in {size}", "data": data, "version": version}
                slope = exponent(known)
                fitted.append(
                    {**dict.fromkeys(rows[0]), **facts, "exponent": slope, "points": f"{len(known)} of {len(own)}"}
                )
    return fitted
