"""The linear program that remains once the share of each feature class is fixed.

With shares ``y_r`` in place of the true ones, the comparison of sample j (class r) with class q becomes, multiplied by
the number of selected features,

    (1/y_r) Σ_{i∈F_r} a_ij x_i  −  factor_jq (1/y_q) Σ_{i∈F_q} a_ij x_i  −  α_j Σ_i x_i  ≥  0,

which is linear in x. This is the inner problem of Mucherino & Cafieri (2010), and the step of the LP fixed point.
"""

import numpy as np
from numpy.typing import NDArray

from cobic.lp import LinearProgram
from cobic.matrix import Floats, Integers
from cobic.problem import Problem


class ShareRelaxation:
    """Builds the linear program for given shares; everything that does not depend on them is computed once.

    Parameters
    ----------
    problem : Problem
        A problem in which every class has features.
    """

    def __init__(self, problem: Problem) -> None:
        comparisons = problem.comparisons
        self._n_features = problem.n_features
        self._n_rows = comparisons.other.size
        self._scale = problem.row_scale()
        self._blocks = [_ClassBlock(problem, cls, self._scale) for cls in range(problem.n_classes)]
        self._columns = np.concatenate([block.features for block in self._blocks])
        self._lower = problem.required[self._columns].astype(np.float64)
        lengths = np.concatenate([np.full(block.features.size, block.rows.size) for block in self._blocks])
        self._starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        self._rows = np.concatenate([np.tile(block.rows, block.features.size) for block in self._blocks])

    def program(self, shares: Floats) -> LinearProgram:
        """The program for positive shares (k,) that add up to 1."""
        values = np.concatenate([block.values(share) for block, share in zip(self._blocks, shares, strict=True)])
        m = self._columns.size
        return LinearProgram(
            starts=self._starts,
            rows=self._rows,
            values=values,
            gain=np.ones(m),
            lower=self._lower,
            upper=np.ones(m),
            row_lower=np.zeros(self._n_rows),
            row_upper=np.full(self._n_rows, np.inf),
        )

    def by_feature(self, x: Floats) -> Floats:
        """Bring a solution of :meth:`program` into the order of the features; excluded ones get 0."""
        weights = np.zeros(self._n_features)
        weights[self._columns] = x
        return weights


class _ClassBlock:
    """The columns of one class: nonzero only in the comparisons that involve the class, or that have an α."""

    def __init__(self, problem: Problem, cls: int, scale: Floats) -> None:
        comparisons = problem.comparisons
        coefficients = comparisons.coefficients(cls)
        n_samples, per_sample = coefficients.shape
        alpha = np.repeat(comparisons.alpha, per_sample)
        flat = coefficients.ravel()
        involved = np.flatnonzero((flat != 0) | (alpha != 0))
        sample = np.repeat(np.arange(n_samples), per_sample)[involved]
        self.features: Integers = problem.features_of_class[cls]
        self.rows: NDArray[np.int32] = involved.astype(np.int32)
        # One feature after the other, its rows side by side: flattened, this is compressed column form.
        self._data = problem.columns(self.features).T[:, sample] * (flat[involved] / scale[sample])
        self._alpha = alpha[involved] / scale[sample]

    def values(self, share: float) -> Floats:
        return (self._data / share - self._alpha).ravel()


def shares_of(problem: Problem, weights: Floats) -> Floats:
    """Share of each class in the selected features, kept at or above 1/m so that it can be divided by.

    Parameters
    ----------
    problem : Problem
        The problem.
    weights : ndarray of shape (n_features,)
        A selection, whole or fractional.

    Returns
    -------
    ndarray of shape (k,)
        Positive shares that add up to 1.
    """
    member = problem.selectable
    amount = np.bincount(problem.feature_classes[member], weights[member], minlength=problem.n_classes)
    total = float(amount.sum()) or 1.0
    shares: Floats = np.maximum(amount / total, 1.0 / problem.n_features)
    shares /= shares.sum()
    return shares
