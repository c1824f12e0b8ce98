"""What a user would run instead: selectors of other packages on Golub, with the time they take.

5-fold stratified cross-validation over all 72 samples, three times, every method on the same folds. A method runs in a
process of its own, with a cap on its memory and on the time of one fit; after a failure it is not asked again, and one
that takes longer than ten seconds per fit is not repeated. Selectors that do not classify are followed by the same
linear SVM on standardised features. Nothing is tuned: 50 features, C = 0.01, shrinkage 3, and α = 50, which is known to
be good on these data from the founding paper.
"""

import os
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import RFE, SelectKBest, SequentialFeatureSelector, f_classif
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import cobic
from benchmarks.accuracy import everything
from benchmarks.apart import Ended, one_by_one

SEED = 0
FOLDS = 5
KEPT = 50
SHRINKAGE = 3.0
TOO_SLOW_TO_REPEAT = 10.0  # seconds per fit

Floats = NDArray[np.float64]
Answer = tuple[NDArray[Any], int]  # predicted labels, number of selected features
Method = Callable[[Floats, NDArray[Any], Floats], Answer]


def run(*, quick: bool) -> list[dict[str, Any]]:
    """One line per method: accuracy, features, seconds of one fit."""
    if not os.environ.get("COBIC_DATA"):
        return [{"method": "skipped: COBIC_DATA is not set"}]
    repeats, cap = (1, 3.0) if quick else (3, 60.0)
    rows = []
    for label in METHODS:
        rows.append(_row(label, _fits(label, repeats, cap), cap))
        print(rows[-1], flush=True)
    return rows


def _fits(label: str, repeats: int, cap: float) -> list[Ended]:
    """The fits of one method, fold by fold, until one fails or is too slow to be repeated."""
    ends: list[Ended] = []
    items = [(label, repeat, fold) for repeat in range(repeats) for fold in range(FOLDS)]
    for _, ended in one_by_one(_fitted, items, cap):
        ends.append(ended)
        slow = len(ends) == FOLDS and np.median([each.seconds for each in ends]) > TOO_SLOW_TO_REPEAT
        if ended.how != "done" or slow:
            break
    return ends


def _fitted(item: tuple[str, int, int]) -> dict[str, Any]:
    """Fit one method on one fold: right labels of the samples held out, features, seconds."""
    label, repeat, fold = item
    X, y = everything("golub")
    train, test = list(StratifiedKFold(FOLDS, shuffle=True, random_state=repeat).split(X, y))[fold]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.perf_counter()
        predicted, count = METHODS[label](X[train], y[train], X[test])
    seconds = time.perf_counter() - begin
    return {"right": int((predicted == y[test]).sum()), "samples": test.size, "kept": count, "seconds": seconds}


def _row(label: str, ends: list[Ended], cap: float) -> dict[str, Any]:
    done = [ended.value for ended in ends if ended.how == "done"]
    row: dict[str, Any] = {"method": label, "ended": ends[-1].how, "accuracy %": None, "± se": None, "features": None}
    row |= {"seconds per fit": None, "megabytes": ends[-1].megabytes, "fits": len(done), "cap": cap}
    if done:
        row["features"] = float(np.median([value["kept"] for value in done]))
        row["seconds per fit"] = float(np.median([value["seconds"] for value in done]))
    whole = [done[start : start + FOLDS] for start in range(0, len(done) - FOLDS + 1, FOLDS)]  # repeats
    if whole:
        shares = [sum(fit["right"] for fit in fits) / sum(fit["samples"] for fit in fits) for fits in whole]
        right = 100 * np.array(shares)
        row["accuracy %"] = float(right.mean())
        row["± se"] = float(right.std(ddof=1) / np.sqrt(right.size)) if right.size > 1 else None
    return row


def _svm() -> LinearSVC:
    return LinearSVC(C=1e-2, random_state=SEED, max_iter=10_000)


def _classified(X: Floats, y: NDArray[Any], new: Floats, support: NDArray[Any]) -> Answer:
    """A linear SVM on the selected features."""
    scaler = StandardScaler().fit(X[:, support])
    model = _svm().fit(scaler.transform(X[:, support]), y)
    predicted: NDArray[Any] = model.predict(scaler.transform(new[:, support]))
    return predicted, int(np.unique(support).size if support.dtype != np.bool_ else support.sum())


def _cobic(alpha: float) -> Method:
    def method(X: Floats, y: NDArray[Any], new: Floats) -> Answer:
        model = cobic.ConsistentBiclustering(alpha=alpha, random_state=SEED).fit(X, y)
        return model.predict(new), model.n_selected_

    return method


def _cobic_ranking(X: Floats, y: NDArray[Any], new: Floats) -> Answer:
    """The features that survive the largest margins."""
    options = {"max_programs": 200}
    path = cobic.path(X, y, n_margins=6, cv=None, time_limit=2.0, random_state=SEED, method_options=options)
    return _classified(X, y, new, np.argsort(path.survival.ranking, kind="stable")[:KEPT])


def _all_features(X: Floats, y: NDArray[Any], new: Floats) -> Answer:
    return _classified(X, y, new, np.ones(X.shape[1], dtype=np.bool_))


def _selector(selector: Any) -> Method:
    """A selector of scikit-learn, on standardised features."""

    def method(X: Floats, y: NDArray[Any], new: Floats) -> Answer:
        fitted = clone(selector).fit(StandardScaler().fit_transform(X), y)
        return _classified(X, y, new, fitted.get_support())

    return method


def _mrmr(X: Floats, y: NDArray[Any], new: Floats) -> Answer:
    import mrmr
    import pandas as pd

    labels = pd.Series((y == np.unique(y)[1]).astype(int))
    chosen = mrmr.mrmr_classif(X=pd.DataFrame(X), y=labels, K=KEPT, show_progress=False, n_jobs=1)
    return _classified(X, y, new, np.array(chosen))


def _boruta(X: Floats, y: NDArray[Any], new: Floats) -> Answer:
    from boruta import BorutaPy

    forest = RandomForestClassifier(n_estimators=100, max_depth=5, n_jobs=1, random_state=SEED)
    selector = BorutaPy(forest, n_estimators="auto", max_iter=50, random_state=SEED)
    selector.fit(X, (y == np.unique(y)[1]).astype(int))
    support = selector.support_ | selector.support_weak_
    return _classified(X, y, new, support if support.any() else np.ones(X.shape[1], dtype=np.bool_))


def _shrunken(X: Floats, y: NDArray[Any], new: Floats) -> Answer:
    """Shrunken centroids classify by themselves; a feature is kept where a centroid differs from the mean of all."""
    scaler = StandardScaler().fit(X)
    model = NearestCentroid(shrink_threshold=SHRINKAGE).fit(scaler.transform(X), y)
    moved = np.abs(model.centroids_ - scaler.transform(X).mean(axis=0)).max(axis=0) > 1e-9
    predicted: NDArray[Any] = model.predict(scaler.transform(new))
    return predicted, int(moved.sum())


METHODS: dict[str, Method] = {
    "cobic, α = 0": _cobic(0.0),
    "cobic, α = 50": _cobic(50.0),
    f"cobic, best {KEPT} of a path + SVM": _cobic_ranking,
    "all features + SVM": _all_features,
    f"SelectKBest, {KEPT} + SVM": _selector(SelectKBest(f_classif, k=KEPT)),
    f"RFE, {KEPT} + SVM": _selector(RFE(_svm(), n_features_to_select=KEPT, step=0.1)),
    "SequentialFeatureSelector, 5 + SVM": _selector(
        SequentialFeatureSelector(_svm(), n_features_to_select=5, cv=3, n_jobs=1)
    ),
    f"mRMR, {KEPT} + SVM": _mrmr,
    "Boruta + SVM": _boruta,
    "shrunken centroids": _shrunken,
}


def plot(rows: list[dict[str, Any]], figure: Any) -> None:
    """Accuracy over the seconds of one fit."""
    axes = figure.subplots()
    for row in rows:
        if row["accuracy %"] is not None:
            axes.errorbar(row["seconds per fit"], row["accuracy %"], yerr=row["± se"], fmt="o")
            label = f"  {row['method']} ({row['features']:.0f})"
            axes.annotate(label, (row["seconds per fit"], row["accuracy %"]), fontsize="small")
    late = [row["method"] for row in rows if row["accuracy %"] is None]
    note = f"not within the cap: {', '.join(late)}" if late else ""
    axes.set(xscale="log", xlabel=f"seconds per fit   {note}", ylabel="cross-validated accuracy, %")
    axes.margins(x=0.45)
    axes.set_title("Golub, 72 samples; in brackets the features kept")
