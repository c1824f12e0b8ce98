"""A path over α with cross-validation, in one process, against the same fits one by one."""

from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

import cobic
from benchmarks.timing import best_of, data_sets

LARGEST = 70.0
FOLDS = 5


def run(*, quick: bool) -> list[dict[str, Any]]:
    """One line: seconds of both, their ratio, and whether they come to the same figures."""
    name, data = next((item for item in data_sets().items() if item[0] == "golub"), ("synthetic", _synthetic()))
    alphas = np.linspace(0.0, LARGEST, 3 if quick else 10).tolist()
    traced, path = best_of(1, lambda: cobic.path(data.X, data.y, alphas=alphas, cv=FOLDS, n_jobs=1))
    singly, fits = best_of(1, lambda: [_single(data, alpha) for alpha in alphas])
    sizes, bounds, errors = zip(*fits, strict=True)
    return [
        {
            "data": name,
            "alphas": len(alphas),
            "folds": FOLDS,
            "path s": traced,
            "single fits s": singly,
            "single/path": singly / traced,
            "same sizes": list(path.table["n_selected"]) == list(sizes),
            "same bounds": list(path.table["upper_bound"]) == list(bounds),
            "same errors": bool(np.allclose(path.table["cv_error"], errors)),
        }
    ]


def _synthetic() -> cobic.Dataset:
    return cobic.datasets.make_expression(n_features=1000, seed=0)


def _single(data: cobic.Dataset, alpha: float) -> tuple[int, int, float]:
    """Features, bound and cross-validated error of one margin, without help from its neighbours."""
    whole = cobic.solve(data.problem(alpha))
    errors = []
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(data.X, data.y):
        part = data.problem(alpha).subset(train)
        predicted = cobic.Model.of(part, cobic.solve(part)).predict(data.X[test])
        errors.append(float((predicted != data.y[test]).mean()))
    return whole.n_selected, whole.upper_bound, float(np.mean(errors))
