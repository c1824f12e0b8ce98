"""Reading Golub's table against `pandas.read_csv` of the same file, which finds out nothing about it."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

import cobic


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Seconds of the processor for both, taken in turns, the best of several; and their ratio."""
    if not os.environ.get("COBIC_DATA"):
        return [{"skipped": "COBIC_DATA is not set: it names the folder with Golub's table"}]
    folder = Path(os.environ["COBIC_DATA"]) / "golub"
    table, classes = folder / "data_set_ALL_AML_train.csv", folder / "actual.csv"
    ours, theirs = [], []
    for _ in range(8 if quick else 40):
        theirs.append(_seconds(lambda: pd.read_csv(table)))
        ours.append(_seconds(lambda: cobic.read(table, labels_file=classes)))
    return [
        {
            "file": table.name,
            "cobic.read ms": 1e3 * min(ours),
            "pandas.read_csv ms": 1e3 * min(theirs),
            "ratio": min(ours) / min(theirs),
        }
    ]


def _seconds(action: Callable[[], Any]) -> float:
    started = time.process_time()
    action()
    return time.process_time() - started
