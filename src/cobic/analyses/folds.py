"""Cross-validation: which samples are held out, and what the errors of the folds say."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from cobic.checks import is_whole, require
from cobic.matrix import Floats, Integers
from cobic.problem import Problem

Split = tuple[Integers, Integers]  # rows to learn from, rows held out


def splits_of(problem: Problem, cv: Any, seed: int) -> list[Split]:
    """The folds; none without cross-validation."""
    if cv is None:
        return []
    if is_whole(cv):
        smallest, name = int(problem.class_sizes.min()), problem.classes[int(problem.class_sizes.argmin())]
        require(cv >= 2, f"cv is {cv}: give cv of at least 2, or do without (cv=None, --cv 0)")
        alone = f"class {name} has one sample, which cannot be held out and learned from: do without cross-validation"
        require(smallest >= 2, f"{alone} (cv=None, --cv 0)")
        folds = min(int(cv), smallest)
        cv = StratifiedKFold(folds, shuffle=True, random_state=seed % 2**32)  # it knows no larger seeds
    message = f"cv is {cv!r}: give a number of folds, a splitter of scikit-learn, or None"
    require(hasattr(cv, "get_n_splits"), message)
    return list(cv.split(np.zeros((problem.n_samples, 1)), problem.labels))


def add_errors(table: pd.DataFrame, folds: list[list[float]]) -> None:
    """Put the mean error over the folds, and its standard error, beside each row; nothing without folds."""
    if folds:
        errors = np.array(folds)
        table["cv_error"] = errors.mean(axis=0)
        table["cv_se"] = errors.std(axis=0, ddof=1) / np.sqrt(len(folds))


def margins_of(means: Floats, own: Integers) -> Floats:
    """How far the mean of each sample's own class is above the largest of another class: negative where it is wrong."""
    samples, others = np.arange(own.size), means.copy()
    others[samples, own] = -np.inf
    return np.asarray(means[samples, own] - others.max(axis=1))


def add_shortfalls(table: pd.DataFrame, margins: Floats) -> None:
    """Put beside each row how far held-out margins (row, sample) stay below the typical one of the row.

    A sample falls short by the share of the typical margin that it lacks: 0 from there on, more than 1 where it is
    misclassified. The standard error is that of the difference from the row with the least: all see the same samples.
    """
    typical = np.median(np.abs(margins), axis=1, keepdims=True)
    short = np.maximum(0.0, 1.0 - np.divide(margins, typical, out=np.zeros_like(margins), where=typical != 0))
    table["cv_shortfall"] = mean = short.mean(axis=1)
    beyond = short - short[int(np.argmin(np.nan_to_num(mean, nan=np.inf)))]
    table["cv_shortfall_se"] = beyond.std(axis=1, ddof=1) / np.sqrt(margins.shape[1])
