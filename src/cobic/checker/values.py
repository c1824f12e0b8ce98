"""The transformed values, computed once more from the raw ones, in the plainest way, and compared."""

from collections.abc import Callable

import numpy as np

from cobic.checker.state import require
from cobic.matrix import Floats
from cobic.problem import Problem

_STEP = 2.0**-24  # transformed values are multiples of it, and have 24 bits: each rounding moves them by half of it
_EPS = float(np.finfo(np.float64).eps)


def require_transformed(problem: Problem) -> None:
    """Go on only with values that are the transform of the raw ones, but for the rounding that is part of it."""
    if problem.transformation is None:
        require(problem.matrix is problem.raw, "the values are not the raw ones")
        return
    name, floor = problem.transformation.name, problem.transformation.floor
    error = np.zeros(problem.n_features)
    if name == "standardise":
        computed, error = _standard_scores(problem)
    else:
        computed = _log2 if name == "log2" else np.log1p
    lowest = -np.inf if floor is None else floor
    for (_, raw), (_, values) in zip(problem.raw.row_blocks(), problem.matrix.row_blocks(), strict=True):
        expected = computed(np.maximum(raw, lowest))
        close = np.abs(values - expected) <= _STEP * (1.0 + np.abs(expected)) + error
        require(bool(close.all()), f"the values are not those that {name} makes of the data")


def _log2(values: Floats) -> Floats:
    return np.log2(values)


def _standard_scores(problem: Problem) -> tuple[Callable[[Floats], Floats], Floats]:
    """The transform to mean 0 and variance 1, and how far rounding errors may take the scores of each feature."""
    raw, n_samples = problem.raw, problem.n_samples
    low, high, total, squares = (np.full(problem.n_features, start) for start in (np.inf, -np.inf, 0.0, 0.0))
    for _, rows in raw.row_blocks():
        low, high, total = (
            np.minimum(low, rows.min(axis=0)),
            np.maximum(high, rows.max(axis=0)),
            total + rows.sum(axis=0),
        )
    mean = total / n_samples
    for _, rows in raw.row_blocks():
        squares = squares + np.square(rows - mean).sum(axis=0)
    varies, deviation = high > low, np.sqrt(squares / n_samples)
    deviation = np.where(varies & (deviation > 0), deviation, 1.0)
    # A mean of n numbers is wrong by at most n ε times the largest; scores are at most √n.
    error = 4 * n_samples**1.5 * _EPS * (1.0 + np.maximum(np.abs(low), np.abs(high)) / deviation)
    return lambda values: np.where(varies, (values - mean) / deviation, 0.0), error
