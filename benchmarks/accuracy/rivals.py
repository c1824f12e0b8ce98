"""What is compared with panels: the usual classifiers, tuned inside the training part, and at equal sizes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC, l1_min_c

from benchmarks.accuracy import abess, ktsp, scgenefit
from benchmarks.accuracy.data import Data, Floats, Fold, Labels, f_statistics
from benchmarks.accuracy.protocol import ALL, CHOSEN, INNER_FOLDS, SIZES, Answer, Method, Size

STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0)  # of the SVM
SHRINKAGE = (None, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
STEPS = 12  # on the path of the L1 penalty, from the first feature to 300 times its strength

Ranking = Callable[[Floats, Labels], NDArray[Any]]  # features, the best first
Classifier = Callable[[Floats, Labels, Floats], Labels]


def tuned(model: Any, grid: dict[str, Sequence[Any]], X: Floats, y: Labels) -> Any:
    """A model with the best of some parameters by cross-validation inside the training part."""
    inner = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=0)
    return GridSearchCV(model, {name: list(values) for name, values in grid.items()}, cv=inner, n_jobs=1).fit(X, y)


def _svm() -> LinearSVC:
    return LinearSVC(random_state=0, max_iter=2000)


def svm(X: Floats, y: Labels, new: Floats) -> Labels:
    """A linear SVM on standardised features, its strength tuned."""
    predicted: Labels = tuned(make_pipeline(StandardScaler(), _svm()), {"linearsvc__C": STRENGTHS}, X, y).predict(new)
    return predicted


def centroid(X: Floats, y: Labels, new: Floats) -> Labels:
    """The nearest centroid of standardised features."""
    predicted: Labels = make_pipeline(StandardScaler(), NearestCentroid()).fit(X, y).predict(new)
    return predicted


def by_f_test(X: Floats, y: Labels) -> NDArray[Any]:
    """Features by the F test of the class means."""
    return np.argsort(-f_statistics(X, y), kind="stable")


def by_mrmr(X: Floats, y: Labels) -> NDArray[Any]:
    """Features one by one: F statistic over mean absolute correlation with those before (mRMR, quotient of F and r)."""
    relevance = f_statistics(X, y)
    centred = X - X.mean(axis=0)
    scale = np.sqrt((centred**2).sum(axis=0))
    centred /= np.where(scale > 0, scale, 1.0)
    chosen = [int(relevance.argmax())]
    redundancy = np.zeros(X.shape[1])
    for number in range(1, min(max(SIZES), X.shape[1])):
        redundancy += np.abs(centred.T @ centred[:, chosen[-1]])
        score = relevance / np.maximum(redundancy / number, 1 / np.sqrt(y.size))  # less is chance, and no merit
        score[chosen] = -1.0
        chosen.append(int(score.argmax()))
    return np.array(chosen)


def ranked(name: str, ranking: Ranking, classify: Classifier) -> Method:
    """The best features of a ranking, and a classifier on them."""

    def answers(fold: Fold, sizes: Sequence[Size]) -> dict[Size, Answer]:
        order = ranking(fold.X, fold.y)
        possible = [size for size in sizes if isinstance(size, int) and size <= order.size]
        return {n: (classify(fold.X[:, order[:n]], fold.y, fold.new[:, order[:n]]), order[:n]) for n in possible}

    return Method(name, answers, SIZES)


def _best_and_svm(fold: Fold, sizes: Sequence[Size]) -> dict[Size, Answer]:  # noqa: ARG001
    """The F test's best features with an SVM, their number and its strength tuned together."""
    numbers = [size for size in SIZES if size <= fold.X.shape[1]]
    model = make_pipeline(SelectKBest(f_statistics), StandardScaler(), _svm())
    found = tuned(model, {"selectkbest__k": numbers, "linearsvc__C": STRENGTHS[:3]}, fold.X, fold.y)
    return {CHOSEN: (found.predict(fold.new), found.best_estimator_[0].get_support(indices=True))}


def _markers(fold: Fold, sizes: Sequence[Size]) -> dict[Size, Answer]:
    """The features that scGeneFit chooses, and an SVM on them."""
    found = scgenefit.markers(fold, sizes)
    return {n: (svm(fold.X[:, kept], fold.y, fold.new[:, kept]), kept) for n, kept in found.items()}


def _shrunken(fold: Fold, sizes: Sequence[Size]) -> dict[Size, Answer]:
    """Shrunken centroids: so far that at most so many features are left, or as far as is best inside."""
    scaler = StandardScaler().fit(fold.X)
    X, new = scaler.transform(fold.X), scaler.transform(fold.new)
    strengths = np.abs(NearestCentroid().fit(X, fold.y).deviations_).max(axis=0)
    falling = np.sort(strengths)[::-1]
    found: dict[Size, Answer] = {}
    for size in sizes:
        if size == CHOSEN:
            best = tuned(NearestCentroid(), {"shrink_threshold": SHRINKAGE}, X, fold.y).best_params_
            threshold = best["shrink_threshold"]
        elif int(size) < falling.size:
            threshold = float(falling[int(size)])
        else:
            continue
        model = NearestCentroid(shrink_threshold=threshold).fit(X, fold.y)
        found[size] = model.predict(new), np.flatnonzero(strengths > (threshold or 0.0))
    return found


def _logistic(strength: float = 1.0) -> Any:
    one = LogisticRegression(C=strength, l1_ratio=1.0, solver="liblinear", random_state=0, max_iter=300)
    return OneVsRestClassifier(one)


def _l1(fold: Fold, sizes: Sequence[Size]) -> dict[Size, Answer]:
    """L1 logistic regression: the weakest penalty on a path that keeps at most so many features, or the best inside."""
    scaler = StandardScaler().fit(fold.X)
    X, new = scaler.transform(fold.X), scaler.transform(fold.new)
    found: dict[Size, Answer] = {}
    if CHOSEN in sizes:
        model = tuned(_logistic(), {"estimator__C": (0.1, 0.3, 1.0, 10.0)}, X, fold.y).best_estimator_
        found[CHOSEN] = model.predict(new), _nonzero(model)
    wanted = [size for size in sizes if isinstance(size, int)]
    least = min(l1_min_c(X, fold.y == cls, loss="log") for cls in np.unique(fold.y))
    for strength in least * np.geomspace(1.1, 300.0, STEPS) if wanted else ():
        model = clone(_logistic(strength)).fit(X, fold.y)
        kept = _nonzero(model)
        for size in wanted:
            if kept.size <= size:
                found[size] = model.predict(new), kept
        if kept.size > max(wanted):
            break
    return found


def _nonzero(model: OneVsRestClassifier) -> NDArray[Any]:
    return np.flatnonzero(np.any([each.coef_[0] != 0 for each in model.estimators_], axis=0))


def _whole(classify: Classifier) -> Callable[[Fold, Sequence[Size]], dict[Size, Answer]]:
    """A classifier that uses all features."""
    return lambda fold, _sizes: {ALL: (classify(fold.X, fold.y, fold.new), None)}


def _forest(X: Floats, y: Labels, new: Floats) -> Labels:
    predicted: Labels = RandomForestClassifier(300, random_state=0).fit(X, y).predict(new)
    return predicted


def _two_classes(data: Data) -> bool:
    return data.two


def all_rivals() -> list[Method]:
    """All that can be compared here; abess and scGeneFit where they are installed."""
    found = [
        Method("shrunken centroids", _shrunken),
        ranked("F test + centroid", by_f_test, centroid),
        ranked("F test + SVM", by_f_test, svm),
        Method("F test + SVM", _best_and_svm, (CHOSEN,)),
        ranked("mRMR + SVM", by_mrmr, svm),
        Method("k-TSP", ktsp.answers, suits=_two_classes),
        Method("L1 logistic", _l1),
        Method("linear SVM", _whole(svm), (ALL,)),
        Method("random forest", _whole(_forest), (ALL,)),
    ]
    if abess.ABESS.at_hand():
        found.append(Method("abess", abess.answers, (4, 10, 20, CHOSEN)))
    if scgenefit.SCGENEFIT.at_hand():
        found.append(Method("scGeneFit + SVM", _markers, SIZES))
    return found
