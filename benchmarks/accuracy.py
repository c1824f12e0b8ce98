"""Cross-validated accuracy on the expression data, beside the classifiers of scikit-learn.

Six times 5-fold stratified cross-validation; every method sees the same folds, and everything that is tuned is tuned
inside the training part. The margin α of cobic comes from ``cobic.path`` over a few fractions of the largest feasible
margin, once by its own one-standard-error rule and once at the least inner error. Each repeat is stored when it is
done, so that an interrupted run goes on where it stopped; a finished run removes what it stored.
"""

import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import cobic
from cobic.certified.margins import largest_margin
from cobic.datasets import LOADERS
from cobic.search.budget import Budget

REPEATS = 6
FOLDS = 5
INNER_FOLDS = 3
FRACTIONS = (0.0, 0.03, 0.1, 0.25)  # of the largest feasible margin of the training part
FIT_SECONDS = 2.0
MAX_PROGRAMS = 200
PARTS = Path(__file__).parent / "results" / "accuracy-parts"

Floats = NDArray[np.float64]
Predictions = dict[str, tuple[NDArray[Any], int | None]]  # per column of the table: labels, number of features
Method = Callable[[Floats, NDArray[Any], Floats], Predictions]


def run(*, quick: bool) -> list[dict[str, Any]]:
    """One line per data set: percent right ± standard error over the repeats, median number of selected features."""
    if not os.environ.get("COBIC_DATA"):
        return [{"data": "skipped: COBIC_DATA is not set"}]
    names = ("sorlie",) if quick else ("golub", "notterman", "khan", "sorlie")
    methods = {name: METHODS[name] for name in (QUICK if quick else METHODS)}
    repeats = 1 if quick else REPEATS
    data = {name: everything(name) for name in names}
    found: dict[str, dict[str, list[Any]]] = {name: {} for name in names}
    for repeat in range(repeats):  # outermost: what is stored early covers all methods and data
        for label, method in methods.items():
            for name in names:
                for column, score in _repeat(name, label, method, *data[name], repeat, keep=not quick).items():
                    found[name].setdefault(column, []).append(score)
    rows = [_row(name, *data[name], found[name], repeats) for name in names]
    if not quick:
        for part in PARTS.glob("*.json"):
            part.unlink()
    return rows


def everything(name: str) -> tuple[Floats, NDArray[Any]]:
    """All samples of a data set, those of the test part as well."""
    data = LOADERS[name]()
    if data.test is None:
        return data.X, data.y
    return np.vstack([data.X, data.test.X]), np.concatenate([data.y, data.test.y])


def _row(name: str, X: Floats, y: NDArray[Any], scores: dict[str, list[Any]], repeats: int) -> dict[str, Any]:
    row: dict[str, Any] = {"data": name, "samples": y.size, "features": X.shape[1], "classes": np.unique(y).size}
    for column, of_repeats in scores.items():
        right = 100 * np.array([score["accuracy"] for score in of_repeats])
        error = f" ± {right.std(ddof=1) / np.sqrt(repeats):.1f}" if repeats > 1 else ""
        row[column] = f"{right.mean():.1f}{error}"
    for column, of_repeats in scores.items():
        counts = [count for score in of_repeats for count in score["features"]]
        if None not in counts:
            row[f"features, {column}"] = float(np.median(counts))
    row["seconds"] = round(sum(score["seconds"] for of_repeats in scores.values() for score in of_repeats))
    return row


def _repeat(
    name: str, label: str, method: Method, X: Floats, y: NDArray[Any], repeat: int, *, keep: bool
) -> dict[str, Any]:
    """The scores of one repeat: each sample is predicted once."""
    part = PARTS / f"{name}-{label}-{repeat}.json".replace(" ", "-")
    if keep and part.exists():
        stored: dict[str, Any] = json.loads(part.read_text())
        return stored
    begin = time.perf_counter()
    right: dict[str, int] = {}
    features: dict[str, list[int | None]] = {}
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=repeat)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # features that are constant in a fold, data without consistent selection
        for train, test in folds.split(X, y):
            for column, (predicted, count) in method(X[train], y[train], X[test]).items():
                right[column] = right.get(column, 0) + int((predicted == y[test]).sum())
                features.setdefault(column, []).append(count)
    seconds = (time.perf_counter() - begin) / len(right)
    scores = {
        column: {"accuracy": right[column] / y.size, "features": features[column], "seconds": seconds}
        for column in right
    }
    accuracies = {column: round(score["accuracy"], 3) for column, score in scores.items()}
    print(f"repeat {repeat}, {name}, {label}: {accuracies}, {time.perf_counter() - begin:.0f} s", flush=True)
    if keep:
        PARTS.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(scores))
    return scores


def _scaled_cobic(X: Floats, y: NDArray[Any], new: Floats) -> Predictions:
    """Method cobic without margin on standardised features, as they are and with the mirror image of each."""
    scaler = StandardScaler().fit(X)
    X, new = scaler.transform(X), scaler.transform(new)
    answer: Predictions = {}
    for column, signs in (("scaled α=0", (1.0,)), ("mirrored α=0", (1.0, -1.0))):
        model = cobic.ConsistentBiclustering(time_limit=FIT_SECONDS, method_options={"max_programs": MAX_PROGRAMS})
        model.fit(np.hstack([sign * X for sign in signs]), y)
        answer[column] = (model.predict(np.hstack([sign * new for sign in signs])), model.n_selected_)
    return answer


def _cobic(X: Floats, y: NDArray[Any], new: Floats) -> Predictions:
    """Method cobic without margin, and with the one that cross-validation inside the training part suggests."""
    problem = cobic.Problem(X, y)
    largest = max(largest_margin(problem, "alpha", Budget(10.0, None, problem.n_selectable)).found, 0.0)
    path = cobic.path(
        X,
        y,
        alphas=[fraction * largest for fraction in FRACTIONS],
        cv=INNER_FOLDS,
        time_limit=FIT_SECONDS,
        n_jobs=1,
        method_options={"max_programs": MAX_PROGRAMS},
    )
    table = path.table
    usable = table["cv_error"].where(table["n_selected"] > 0)
    least = 0 if usable.isna().all() else int(usable.idxmin())
    chosen = 0 if path.chosen is None else int((table["alpha"] - path.chosen).abs().idxmin())
    answer: Predictions = {}
    for column, place in (("cobic α=0", 0), ("cobic α by 1 se", chosen), ("cobic α by least error", least)):
        result = path.results[place]
        answer[column] = (cobic.Model.of(problem, result).predict(new), result.n_selected)
    return answer


def _rival(column: str, estimator: BaseEstimator, grid: dict[str, list[Any]] | None = None) -> Method:
    """A classifier of scikit-learn, tuned by a grid search inside the training part."""

    def method(X: Floats, y: NDArray[Any], new: Floats) -> Predictions:
        inner = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=0)
        model = estimator if grid is None else GridSearchCV(estimator, grid, cv=inner, n_jobs=1)
        return {column: (model.fit(X, y).predict(new), None)}

    return method


def _svm() -> LinearSVC:
    return LinearSVC(random_state=0, max_iter=10_000)


METHODS: dict[str, Method] = {
    "cobic": _cobic,
    "scaled cobic": _scaled_cobic,
    "nearest centroid": _rival(
        "nearest centroid",
        make_pipeline(StandardScaler(), NearestCentroid()),
        {"nearestcentroid__shrink_threshold": [None, 0.5, 1.0, 2.0, 3.0, 4.0]},
    ),
    "linear SVM": _rival(
        "linear SVM",
        make_pipeline(StandardScaler(), _svm()),
        {"linearsvc__C": [1e-4, 1e-3, 1e-2, 1e-1, 1.0]},
    ),
    "L1 logistic": _rival(
        "L1 logistic",
        make_pipeline(
            StandardScaler(),
            OneVsRestClassifier(LogisticRegression(l1_ratio=1.0, solver="liblinear", random_state=0, max_iter=1000)),
        ),
        {"onevsrestclassifier__estimator__C": [0.1, 0.3, 1.0, 10.0]},
    ),
    "random forest": _rival("random forest", RandomForestClassifier(300, random_state=0)),
    "k best + SVM": _rival(
        "k best + SVM",
        make_pipeline(SelectKBest(f_classif), StandardScaler(), _svm()),
        {"selectkbest__k": [20, 50, 100, 200], "linearsvc__C": [1e-3, 1e-2, 1e-1]},
    ),
}
QUICK = ("cobic", "nearest centroid", "linear SVM")
