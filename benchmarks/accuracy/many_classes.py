"""Panels where classes are many and features few: ``python -m benchmarks.accuracy.many_classes [REPEATS]``.

With one or two features of each class a sample is read back by comparing different features: their scales and levels
matter then. Standardised values and an offset per class take care of both.
"""

import sys
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from benchmarks.accuracy.data import Data, Fold, available, load
from benchmarks.accuracy.panels import fitted
from benchmarks.accuracy.protocol import FOLDS, split

SETS = ("khan", "sorlie", "pbmc68k")
SIZES = (10, 20, 50, 200)
CHOICES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "offset": {"offset": True},
    "standardised": {"values": "standardised"},
    "standardised, offset": {"values": "standardised", "offset": True},
    "standardised, offset, tail 0.6": {"values": "standardised", "offset": True, "tail": 0.6},
}


def percent_right(data: Data, size: int, repeats: int, choices: dict[str, Any]) -> float:
    """Of held-out samples, the mean over folds and repeats; a fold without a panel of that size is all wrong."""
    right = []
    for repeat in range(repeats):
        parts = StratifiedKFold(FOLDS, shuffle=True, random_state=repeat)
        for train, test in split(parts, data.X, data.y):
            found = fitted(Fold.of(data, train, test), size, split="even", **choices)
            right.append(0.0 if found is None else (found[0][0] == data.y[test]).mean())
    return 100.0 * float(np.mean(right))


def main(repeats: int) -> None:
    """Print a line for each set and choice."""
    rows = []
    for data in map(load, [name for name in SETS if name in available()]):
        for name, choices in CHOICES.items():
            shares = {size: round(percent_right(data, size, repeats, choices), 1) for size in SIZES}
            rows.append({"data": data.name, "panel, even": name, **shares})
            print(rows[-1], flush=True)
    print(pd.DataFrame(rows).to_string(index=False))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2] or ["2"]))
