"""The linear programs that remain once the denominators of the class means are fixed.

With shares ``y_r`` in place of the true ones, the comparison of sample j (class r) with class q becomes, multiplied by
the number of selected features,

    (1/y_r) Σ_{i∈F_r} a_ij x_i  −  factor_jq (1/y_q) Σ_{i∈F_q} a_ij x_i  −  α_j Σ_i x_i  ≥  0,

which is linear in x. This is the inner problem of Mucherino & Cafieri (2010), and the step of the LP fixed point.

With the counts of an earlier selection in place of the true ones, 1/n_r each, it is the step of Busygin, Prokopyev &
Pardalos (2005). And the class means of a fractional x' can be replaced by their tangent there,

    c_r(x')  +  (1/n_r) Σ_{i∈F_r} (a_ij − c_r(x')) (x_i − x'_i),      n_r = Σ_{F_r} x'_i,

which is right to first order in the counts as well.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cobic.matrix import Floats, Integers
from cobic.problem import Problem
from cobic.search.program import Entries, LinearProgram


class Relaxation:
    """Builds the linear programs of one problem; everything that does not depend on denominators is computed once."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._scale = problem.row_scale()
        self._blocks = [_ClassBlock(problem, cls, self._scale) for cls in range(problem.n_classes)]
        self.features: Integers = np.concatenate([block.features for block in self._blocks])
        self._lower = problem.required[self.features].astype(np.float64)
        lengths = np.concatenate([np.full(block.features.size, block.rows.size) for block in self._blocks])
        self._starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        self._rows = np.concatenate([np.tile(block.rows, block.features.size) for block in self._blocks])

    def at_shares(self, shares: Floats) -> LinearProgram:
        """The program for positive shares (k,) that add up to 1."""
        alpha = self._problem.comparisons.alpha / self._scale
        parts = [block.values(share, alpha) for block, share in zip(self._blocks, shares, strict=True)]
        return self._program(parts, np.zeros_like(alpha))

    def at_counts(self, counts: Integers, surplus: float) -> LinearProgram:
        """The program for given denominators (k,) of the class means; its columns are whole, as are groups."""
        size = float(self._problem.n_features)  # rows are multiplied by it: it brings the entries to O(1)
        parts = [block.values(count / size) for block, count in zip(self._blocks, counts, strict=True)]
        needed = size * (self._problem.comparisons.alpha / self._scale + surplus)
        program = replace(self._program(parts, needed), integer=np.ones(self.features.size, dtype=np.bool_))
        return self.with_groups(program)

    def tangent(self, x: Floats, surplus: Floats) -> LinearProgram:
        """The program with the class means replaced by their tangents at a fractional selection."""
        problem, size = self._problem, float(self._problem.n_features)
        member = problem.selectable
        counts = np.bincount(problem.feature_classes[member], x[member], minlength=problem.n_classes)
        means = problem.sums(problem.constraints.pooled(x)) / counts
        parts = [
            block.values(counts[cls] / size, centre=means[:, cls] * size / (counts[cls] * self._scale))
            for cls, block in enumerate(self._blocks)
        ]
        margins = problem.comparisons.margins(means) / self._scale[:, None]
        return self._program(parts, size * (surplus[:, None] - margins))

    def _program(self, parts: list[Floats], needed: Floats) -> LinearProgram:
        """The program of one part per class; `needed`, per sample or per comparison, is what the rows must reach."""
        shape = self._problem.comparisons.other.shape
        size = self.features.size
        return LinearProgram(
            starts=self._starts,
            rows=self._rows,
            values=np.concatenate(parts),
            gain=np.ones(size),
            lower=self._lower,
            upper=np.ones(size),
            row_lower=np.broadcast_to(needed.reshape(shape[0], -1), shape).ravel(),
            row_upper=np.full(shape[0] * shape[1], np.inf),
        )

    def with_groups(self, program: LinearProgram) -> LinearProgram:
        """A program with rows that make the features of a group equal, below those it has."""
        if not self._problem.constraints.groups:
            return program
        return program.with_rows(*group_ties(self._problem, self.features))

    def by_feature(self, x: Floats) -> Floats:
        """Bring a solution of a program into the order of the features; excluded ones get 0."""
        weights = np.zeros(self._problem.n_features)
        weights[self.features] = x
        return weights


class _ClassBlock:
    """The columns of one class: nonzero only in the comparisons that involve the class, or that have an α."""

    def __init__(self, problem: Problem, cls: int, scale: Floats) -> None:
        comparisons = problem.comparisons
        coefficients = comparisons.coefficients(cls)
        n_samples, per_sample = coefficients.shape
        flat = coefficients.ravel()
        involved = np.flatnonzero((flat != 0) | (np.repeat(comparisons.alpha, per_sample) != 0))
        self._sample = np.repeat(np.arange(n_samples), per_sample)[involved]
        self._coefficients = flat[involved]
        self.features: Integers = problem.features_of_class[cls]
        self.rows: NDArray[np.int32] = involved.astype(np.int32)
        # One feature after the other, its rows side by side: flattened, this is compressed column form.
        weights = self._coefficients / scale[self._sample]
        self._data = problem.columns(self.features).T[:, self._sample] * weights

    def values(self, divisor: float, shift: Floats | None = None, centre: Floats | None = None) -> Floats:
        """Entries a_ij / `divisor`, less a `shift` per sample, and measured from a `centre` per sample."""
        values = self._data / divisor
        if shift is not None:
            values -= shift[self._sample]
        if centre is not None:
            values -= self._coefficients * centre[self._sample]
        return values.ravel()


def group_ties(problem: Problem, features: Integers) -> tuple[Entries, Floats, Floats]:
    """Rows ``x_first − x_other = 0`` for the features of each group, and their bounds."""
    place = np.full(problem.n_features, -1)
    place[features] = np.arange(features.size)
    pairs = [(group[0], other) for group in problem.constraints.groups for other in group[1:]]
    first, other = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    row, ones, zeros = np.arange(first.size), np.ones(first.size), np.zeros(first.size)
    return Entries.joined([Entries(row, place[first], ones), Entries(row, place[other], -ones)]), zeros, zeros


def shares_of(problem: Problem, weights: Floats) -> Floats:
    """Share of each class in the selected features, kept at or above 1/m so that it can be divided by."""
    member = problem.selectable
    amount = np.bincount(problem.feature_classes[member], weights[member], minlength=problem.n_classes)
    total = float(amount.sum()) or 1.0
    shares: Floats = np.maximum(amount / total, 1.0 / problem.n_features)
    shares /= shares.sum()
    return shares
