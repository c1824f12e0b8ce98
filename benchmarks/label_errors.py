"""Wrong labels: does the soft fit name them, and what do they do to new samples?

Labels of training samples are flipped in seeded draws. A fit with hard margins must make every sample fit its label; a
soft one may leave samples out and names them. For comparison: the margins of all features, without any selection, and
the samples that a linear SVM misreads in 5-fold cross-validation.
"""

import os
import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import cobic

DRAWS = 10
FLIPS = (0, 1, 2, 3)
PENALTIES: tuple[Any, ...] = (0.1, 0.3, 1.0, "auto")
ALPHAS = {"golub": (0.0, 50.0, 100.0), "notterman": (0.0, 10.0, 20.0)}
FIT_SECONDS = 5.0
MAX_PROGRAMS = 30


def run(*, quick: bool) -> list[dict[str, Any]]:
    """One line per data set, number of wrong labels and way to fit: averages over the draws."""
    if not os.environ.get("COBIC_DATA"):
        return [{"data": "skipped: COBIC_DATA is not set"}]
    rows = []
    for name in ("golub",) if quick else ("golub", "notterman"):
        data = cobic.datasets.LOADERS[name]()
        for flips in FLIPS[: 2 if quick else None]:
            n_draws = 1 if flips == 0 else 2 if quick else DRAWS
            draws = [_flipped(data.y, flips, seed) for seed in range(n_draws)]
            for label, model in _models(name).items():
                each = [_measured(model, data, y, wrong) for y, wrong in draws]
                average = {key: _mean([one[key] for one in each]) for key in each[0]}
                rows.append({"data": name, "flipped": flips, "fit": label, **average})
                print(rows[-1], flush=True)
    return rows


def _flipped(y: NDArray[Any], flips: int, seed: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Labels with some turned to the other class, and which."""
    wrong = np.random.default_rng(seed).choice(y.size, flips, replace=False)
    first, second = np.unique(y)
    turned = y.copy()
    turned[wrong] = np.where(y[wrong] == first, second, first)
    return turned, wrong


def _models(name: str) -> dict[str, Any]:
    common: dict[str, Any] = {"time_limit": FIT_SECONDS, "method_options": {"max_programs": MAX_PROGRAMS}}
    models: dict[str, Any] = {"SVM, held out": _HeldOut(), "all features": _AllFeatures()}
    for alpha in ALPHAS[name]:
        if alpha < ALPHAS[name][-1]:
            models[f"hard, α={alpha:g}"] = cobic.ConsistentBiclustering(alpha=alpha, **common)
        for penalty in PENALTIES[2 if alpha == ALPHAS[name][-1] else 0 :]:  # a small price and a large margin name all
            model = cobic.ConsistentBiclustering(alpha=alpha, slack_penalty=penalty, **common)
            models[f"soft {penalty}, α={alpha:g}"] = model
    return models


def _measured(model: Any, data: cobic.Dataset, y: NDArray[Any], wrong: NDArray[np.intp]) -> dict[str, Any]:
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cobic.InconsistentDataWarning)
        model.fit(data.X, y)
    seconds = time.perf_counter() - begin
    hard = isinstance(model, cobic.ConsistentBiclustering) and model.slack_penalty == float("inf")
    named = set(model.violations_["sample"])
    doubtful = np.argsort(model.margins_, kind="stable")[: wrong.size]
    errors = None if data.test is None else int((model.predict(data.test.X) != data.test.y).sum())
    return {
        "features": model.n_selected_,
        "named, wrong": len(named & set(wrong)),
        "named, right": len(named - set(wrong)),
        "wrong on top": len(set(doubtful) & set(wrong)),
        "all on top": float(set(doubtful) == set(wrong)),
        "test errors": errors,
        "went soft": float(hard and np.isfinite(model.slack_penalty_)),
        "seconds": seconds,
    }


class _AllFeatures:
    """Every feature kept: what can be had without an optimiser."""

    def fit(self, X: NDArray[np.float64], y: NDArray[Any]) -> None:
        self._problem = cobic.Problem(X, y)
        support = np.ones(X.shape[1], dtype=bool)
        self.n_selected_ = X.shape[1]
        self.margins_ = self._problem.margins(support)
        self.violations_ = cobic.violation_table(self._problem.softened(1.0), support)

    def predict(self, X: NDArray[np.float64]) -> NDArray[Any]:
        of = self._problem.feature_classes
        means = np.column_stack([X[:, of == index].mean(axis=1) for index in range(self._problem.n_classes)])
        predicted: NDArray[Any] = self._problem.classes[means.argmax(axis=1)]
        return predicted


class _HeldOut:
    """A linear SVM: suspects are the samples that it reads as the other class when they are held out."""

    def fit(self, X: NDArray[np.float64], y: NDArray[Any]) -> None:
        self._model = make_pipeline(StandardScaler(), LinearSVC(C=1e-3, random_state=0))
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        decisions = cross_val_predict(self._model, X, y, cv=folds, method="decision_function")
        self.margins_ = np.where(y == np.unique(y)[1], decisions, -decisions)
        self.violations_ = {"sample": np.flatnonzero(self.margins_ <= 0)}
        self.n_selected_ = X.shape[1]
        self._model.fit(X, y)

    def predict(self, X: NDArray[np.float64]) -> NDArray[Any]:
        predicted: NDArray[Any] = self._model.predict(X)
        return predicted


def _mean(values: list[Any]) -> float | str:
    return "-" if None in values else round(float(np.mean(values)), 2)
