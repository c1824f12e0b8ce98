"""The relaxation with soft margins at fixed counts where samples are many, by tangents to the cost of violations.

The program over the tangents found so far (:mod:`cobic.certified.tangents`) bounds the cost from below and proposes the
next point; it is taken half way to the best point so far, which keeps the sequence from swinging. A round takes two
passes over the data; which features are in play takes none.
"""

from collections.abc import Sequence

import numpy as np

from cobic.budget import Budget
from cobic.certified.bounds import Cut
from cobic.certified.soft_lp import SoftRelaxation, SoftSolution
from cobic.certified.tangents import Tangent, Tangents
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem
from cobic.program import LinearProgram

_ROUNDS = 100


class AggregatedRelaxation(SoftRelaxation):
    """Solves the relaxation with soft margins at one count vector after another, by rows that add up many samples.

    Parameters
    ----------
    problem : Problem
        A problem with a finite `slack_penalty`.
    budget : Budget
        When to stop.
    tangents : Tangents
        What is known about the cost of violations; it is added to.

    Attributes
    ----------
    tolerance : float
        How far from the optimum a solution may be, in features.
    """

    def __init__(self, problem: Problem, budget: Budget, tangents: Tangents) -> None:
        super().__init__(problem, budget)
        self._tangents = tangents

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
        per_feature = self._per_feature(counts)
        best, at_best = np.inf, None
        last: tuple[Floats, float, Sequence[tuple[Tangent, float]]] | None = None
        for _ in range(_ROUNDS):
            solution = self._solve_master(counts, inside, fixed, decided_in | decided_out)
            if solution is None:
                break
            last = solution
            x, least, _ = solution
            point = x if at_best is None else 0.5 * (x + at_best)
            cost, news = self._tangents.look(point / per_feature, x / per_feature, least)
            if not news and at_best is not None:
                point = x
                cost, news = self._tangents.look(x / per_feature, x / per_feature, least)
            if cost < best:
                best, at_best = cost, point
            if best - least <= self.tolerance or not news or self._budget.exhausted():
                break
        if last is None:
            return None
        cut = Cut(self._problem, self._tangents.multipliers(last[2]), counts)
        self._scores = cut.scores
        return SoftSolution(counts, last[0], cut)

    def _per_feature(self, counts: Integers) -> Floats:
        """The count of the class of each feature; 1 for a feature in none."""
        of = self._problem.feature_classes
        return np.where(of >= 0, counts[of], 1).astype(np.float64)

    def _solve_master(
        self, counts: Integers, inside: Bools, fixed: Bools, decided: Bools
    ) -> tuple[Floats, float, Sequence[tuple[Tangent, float]]] | None:
        """Solve over the rows at hand; a selection, its cost there, and the weights of the rows."""
        rows = self._tangents.rows
        if not rows:
            x = fixed.astype(np.float64)
            for members, n in zip(self._problem.features_of_class, counts, strict=True):
                free = members[inside[members]]
                x[free] = (n - x[members].sum()) / max(1, free.size)
            return x, 0.0, []
        scores = np.stack([tangent.scores for tangent in rows])
        while True:
            features = np.concatenate([members[inside[members]] for members in self._problem.features_of_class])
            solution = self._solver.solve(self._master(scores, features, fixed, counts))
            if solution is None:
                return None
            weights = np.maximum(solution.duals[: len(rows)], 0.0)
            thresholds = -solution.duals[len(rows) :] * counts
            self._scores = weights @ scores
            incoming = self._wrongly_fixed(self._scores, thresholds, inside | decided, fixed)
            if incoming.size == 0:
                break
            inside[incoming], fixed[incoming] = True, False
        x = fixed.astype(np.float64)
        x[features] = solution.x[: features.size]
        return x, float(solution.x[features.size :].sum()), self._tangents.use(weights)

    def _master(self, scores: Floats, features: Integers, fixed: Bools, counts: Integers) -> LinearProgram:
        """The program over some features, and a column for the cost of each group of samples."""
        problem, rows = self._problem, self._tangents.rows
        n_rows, n_groups = len(rows), self._tangents.n_groups
        classes = problem.feature_classes[features]
        block = np.empty((features.size, n_rows + 1))
        block[:, :n_rows] = scores[:, features].T / counts[classes][:, None]
        block[:, n_rows] = 1.0
        places = np.empty(block.shape, dtype=np.int32)
        places[:, :n_rows] = np.arange(n_rows)
        places[:, n_rows] = n_rows + classes
        offsets = np.array([tangent.offset for tangent in rows])
        standing = scores[:, fixed] @ (1.0 / self._per_feature(counts)[fixed])
        left = counts - problem.counts(fixed)
        group = np.array([tangent.group for tangent in rows])
        order = np.argsort(group, kind="stable")
        lengths = np.concatenate([np.full(features.size, n_rows + 1), np.bincount(group, minlength=n_groups)])
        return LinearProgram(
            starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
            rows=np.concatenate([places.ravel(), order]).astype(np.int32),
            values=np.concatenate([block.ravel(), np.ones(n_rows)]),
            gain=np.concatenate([np.zeros(features.size), -np.ones(n_groups)]),
            lower=np.zeros(features.size + n_groups),
            upper=np.concatenate([np.ones(features.size), np.full(n_groups, np.inf)]),
            row_lower=np.concatenate([offsets - standing, left]),
            row_upper=np.concatenate([np.full(n_rows, np.inf), left]),
        )
