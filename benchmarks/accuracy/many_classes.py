"""Panels read by class means, or by an SVM on their features: ``python -m benchmarks.accuracy.many_classes [REPEATS]``.

With one or two features of each of many classes a sample is read back by comparing different features: their scales and
levels matter then. Standardised values and an offset per class take care of both; so does a classifier of another kind.
"""

import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from benchmarks.accuracy.data import FEW_FEATURES, Data, Fold, available, load
from benchmarks.accuracy.panels import fitted
from benchmarks.accuracy.protocol import FOLDS, split
from benchmarks.accuracy.rivals import svm

SIZES = (10, 20, 50, 200)
AS_IT_IS: dict[str, dict[str, Any]] = {"as it is": {}}
CHOICES: dict[str, dict[str, Any]] = {  # of more than two classes
    **AS_IT_IS,
    "offset": {"offset": True},
    "standardised": {"values": "standardised"},
    "standardised, offset": {"values": "standardised", "offset": True},
    "standardised, offset, tail 0.6": {"values": "standardised", "offset": True, "tail": 0.6},
}


def percent_right(data: Data, size: int, repeats: int, choices: dict[str, Any]) -> tuple[float, float]:
    """Of held-out samples, by class means and by an SVM: the mean over folds and repeats; no panel is all wrong."""
    right = []
    for repeat in range(repeats):
        parts = StratifiedKFold(FOLDS, shuffle=True, random_state=repeat)
        for train, test in split(parts, data.X, data.y):
            fold, truth = Fold.of(data, train, test), data.y[test]
            found = fitted(fold, size, split="even", **choices)
            if found is None:
                right.append((0.0, 0.0))
                continue
            by_means, kept = found[0]
            by_svm = svm(fold.X[:, kept], fold.y, fold.new[:, kept])
            right.append(((by_means == truth).mean(), (by_svm == truth).mean()))
    by_means, by_svm = 100.0 * np.mean(right, axis=0)
    return float(by_means), float(by_svm)


def main(repeats: int) -> None:
    """Print a line for each set, choice and way to read."""
    warnings.simplefilter("ignore")  # as in the other tables: features constant in a fold, SVMs not quite at the end
    rows = []
    for data in [load(name) for name in available() if name not in FEW_FEATURES]:
        for name, choices in (AS_IT_IS if data.two else CHOICES).items():
            shares = {size: percent_right(data, size, repeats, choices) for size in SIZES}
            for place, reader in enumerate(("means", "SVM")):
                right = {size: round(both[place], 1) for size, both in shares.items()}
                rows.append({"data": data.name, "panel, even": name, "read by": reader, **right})
                print(rows[-1], flush=True)
    print(pd.DataFrame(rows).to_string(index=False))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2] or ["2"]))
