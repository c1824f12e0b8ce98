"""The objective with soft margins at fixed counts, as a linear program over the few features that are in question.

With n_r features of each class the number of features is settled, and what remains is to violate as little as possible:

    max −C Σ_j s_j   subject to   margin_jq(x) + s_j ≥ 0,   s ≥ 0,   Σ_{F_r} x_i = n_r,   0 ≤ x ≤ 1.

Features come in as in :mod:`cobic.certified.count_lp`. Comparisons come in, too, where they are many: those that a
solution violates.
"""

from dataclasses import dataclass

import numpy as np

from cobic.budget import Budget
from cobic.certified.bounds import PRECISION, Cut
from cobic.certified.count_lp import CountRelaxation, Extra
from cobic.certified.programs import size_of
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem

_ROUNDS = 60


@dataclass(frozen=True)
class SoftSolution:
    """The relaxation at some counts.

    Attributes
    ----------
    counts : ndarray of shape (k,)
        The counts.
    x : ndarray of shape (n_features,)
        A fractional selection with these counts.
    cut : Cut
        Multipliers that bound the objective, best at these counts.
    """

    counts: Integers
    x: Floats
    cut: Cut


class SoftRelaxation(CountRelaxation):
    """Solves the relaxation with soft margins at one count vector after another.

    Parameters
    ----------
    problem : Problem
        A problem with a finite `slack_penalty`.
    budget : Budget
        When to stop.

    Attributes
    ----------
    tolerance : float
        How far from the optimum a solution may be, in features; here it is always the optimum.
    """

    def __init__(self, problem: Problem, budget: Budget) -> None:
        super().__init__(problem, budget)
        self.tolerance = 0.0
        self._typical = float(np.median(self._scale))
        self._price = self._scale / self._typical

    def minimise_violation(self, counts: Integers, decided_in: Bools, decided_out: Bools) -> SoftSolution | None:
        """Violate as little as possible at some counts; None if the budget ran out.

        Parameters
        ----------
        counts : ndarray of shape (k,)
            How many features of each class are selected.
        decided_in, decided_out : ndarray of bool, shape (n_features,)
            Features that must, or must not, be among them.
        """
        inside, fixed = self._partition(counts, decided_in, decided_out)
        decided = decided_in | decided_out
        rows: Integers | None = None if self._rows is None else self._first_rows(fixed, counts)
        for _ in range(_ROUNDS):
            features = np.concatenate([members[inside[members]] for members in self._problem.features_of_class])
            solved = self._violate_least(features, fixed, counts, rows)
            if solved is None:
                return None
            x, cut, thresholds = solved
            self._scores = cut.scores
            incoming = self._wrongly_fixed(cut.scores, thresholds, inside | decided, fixed)
            missing = self._missing_rows(x, counts, rows)
            if incoming.size == 0 and missing.size == 0:
                break
            inside[incoming], fixed[incoming] = True, False
            rows = rows if rows is None else np.union1d(rows, missing)
        return SoftSolution(counts, x, cut)

    def _first_rows(self, fixed: Bools, counts: Integers) -> Integers:
        """The hardest comparison of each sample when the features above the threshold are selected."""
        margins = self._problem.comparisons.margins(self._problem.sums(fixed.astype(np.float64)) / counts)
        per_sample = margins.shape[1]
        rows: Integers = np.arange(margins.shape[0]) * per_sample + margins.argmin(axis=1)
        return rows

    def _missing_rows(self, x: Floats, counts: Integers, rows: Integers | None) -> Integers:
        """Comparisons outside the program that are violated by more than the slack of their sample."""
        if rows is None:
            return np.zeros(0, dtype=np.intp)
        margins = self._problem.comparisons.margins(self._problem.sums(x) / counts)
        known = np.full(margins.size, np.inf)
        known[rows] = margins.ravel()[rows]
        slack = np.maximum(-known.reshape(margins.shape).min(axis=1), 0.0)
        return np.flatnonzero((margins + slack[:, None]).ravel() < -1e-9 * self._scale[self._sample])

    def _violate_least(
        self, features: Integers, fixed: Bools, counts: Integers, rows: Integers | None
    ) -> tuple[Floats, Cut, Floats] | None:
        """Solve with all but some features fixed; the selection, its multipliers, and the thresholds of the scores."""
        problem = self._problem
        kept = np.arange(self._sample.size) if rows is None else rows
        extra = Extra.slacks(self._sample[kept], self._price)
        solution = self._solver.solve(self._assembled(features, fixed, counts, kept, extra))
        if solution is None:
            return None
        x = fixed.astype(np.float64)
        x[features] = solution.x[: features.size]
        # The duals are those of the scaled rows and of a price of one per typical scale.
        price = problem.slack_penalty * self._typical
        multipliers = np.zeros(self._sample.size)
        multipliers[kept] = (
            np.maximum(solution.duals[: kept.size], 0.0) * self._typical / self._scale[self._sample[kept]]
        )
        whole = within_price(multipliers.reshape(problem.n_samples, -1))
        thresholds = -solution.duals[kept.size :] * (counts / size_of(counts)) * price
        return problem.constraints.pooled(x), Cut(problem, whole, counts), thresholds


def within_price(shares: Floats) -> Integers:
    """Multipliers in units of the price as whole numbers that add up to at most 2³⁰ for each sample."""
    whole = np.floor(shares * PRECISION).astype(np.int64)
    total = whole.sum(axis=1, keepdims=True)
    return np.where(total > PRECISION, np.floor(whole * (PRECISION / np.maximum(total, 1))).astype(np.int64), whole)
