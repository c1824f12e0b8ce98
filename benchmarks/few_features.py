"""Data with few features: is a consistent selection impossible, and what does the soft fit make of it?"""

import time
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import cobic

LOADERS = {"wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
FIT_SECONDS = 10.0


def run(*, quick: bool) -> list[dict[str, Any]]:
    """One line per data set, as it is and with mirrored features: proof, soft fit, cross-validated accuracy."""
    cases = [(name, mirrored) for name in LOADERS for mirrored in (False, True)]
    return [_row(name, mirrored=mirrored) for name, mirrored in cases[: 2 if quick else None]]


def _row(name: str, *, mirrored: bool) -> dict[str, Any]:
    X, y = LOADERS[name](return_X_y=True)
    steps = [StandardScaler(), *([FunctionTransformer(_with_mirror)] if mirrored else [])]
    seen = make_pipeline(*steps).fit_transform(X)
    problem = cobic.Problem(seen, y)
    begin = time.perf_counter()
    hard = cobic.solve(problem, time_limit=60)
    seconds = time.perf_counter() - begin
    row: dict[str, Any] = {
        "data": name + (" and mirror" if mirrored else ""),
        "samples": y.size,
        "features": seen.shape[1],
        "classes": problem.n_classes,
        "of classes": "/".join(str(size) for size in problem.feature_class_sizes),
        "hard": str(hard.status),
        "seconds": round(seconds, 3),
        "verified": "-" if hard.certificate is None else cobic.verify(problem, hard.certificate).ok,
    }
    row |= _soft(problem)
    right = _accuracy(make_pipeline(*steps, cobic.ConsistentBiclustering(time_limit=FIT_SECONDS)), X, y)
    rival = _accuracy(make_pipeline(*steps, NearestCentroid()), X, y)
    row |= {"cobic %": right, "nearest centroid %": rival}
    print(row, flush=True)
    return row


def _soft(problem: cobic.Problem) -> dict[str, Any]:
    """The fit with soft margins, where every class has features."""
    empty = dict.fromkeys(("kept", "objective", "bound", "gap %", "violated", "soft s", "soft verified"), "-")
    if not problem.feature_class_sizes.all():
        return empty
    soft = problem.softened("auto")
    result = cobic.solve(soft, time_limit=FIT_SECONDS)
    gap = result.objective_bound - result.objective
    return {
        "kept": result.n_selected,
        "objective": round(result.objective, 3),
        "bound": round(result.objective_bound, 3),
        "gap %": round(100 * gap / max(abs(result.objective), 1e-9), 2),
        "violated": len(cobic.violation_table(soft, result.support)),
        "soft s": round(result.seconds, 2),
        "soft verified": "-" if result.certificate is None else cobic.verify(soft, result.certificate).ok,
    }


def _accuracy(model: Any, X: Any, y: Any) -> str:
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no consistent selection; pixels that are constant within a class
        scores = 100 * cross_val_score(model, X, y, cv=folds)
    return f"{scores.mean():.1f} ± {scores.std(ddof=1) / np.sqrt(scores.size):.1f}"


def _with_mirror(X: Any) -> Any:
    return np.hstack([X, -X])
