"""The relaxation with soft margins at fixed counts where samples are many: cuts that add up the rows of many samples.

With many samples most that violate their margin do so in every solution, each with a row of its own in the linear
program. The cost Σ_j C·violation_j of a group of samples is convex in x. At a point x, where sample j misses its
hardest comparison q(j), it has the tangent

    cost_g(x')  ≥  Σ_{j∈g violating} C·(−margin_{j,q(j)}(x'))  =  o_g − Σ_r (1/n_r) Σ_{i∈F_r} e_i x'_i,

one row whatever the size of the group (the one-slack form of structural support vector machines, but with a slack per
group). The program over the rows found so far bounds the cost from below and proposes the next point; it is taken half
way to the best point so far, which keeps the sequence from swinging. The e_i do not depend on counts: rows found at
some counts serve at all others. A round takes two passes over the data; which features are in play takes none.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobic.budget import Budget
from cobic.certified.bounds import Cut
from cobic.certified.soft_lp import SoftRelaxation, SoftSolution, within_price
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem
from cobic.program import LinearProgram

Choice = NDArray[np.int16]
_GROUPS = 16
_ROUNDS = 100
_BUNDLE_BYTES = 1 << 27
_FEWEST_CUTS, _MOST_CUTS = 32, 600
_IDLE = 12


@dataclass
class _Tangent:
    """A row of the program.

    `choice` holds, for each sample of the group, its comparison in the row, -1 if it has none.
    """

    group: int
    scores: Floats
    offset: float
    choice: Choice
    last_used: int


_Active = list[tuple[_Tangent, float]]


class AggregatedRelaxation(SoftRelaxation):
    """Solves the relaxation with soft margins at one count vector after another, by rows that add up many samples.

    Parameters
    ----------
    problem : Problem
        A problem with a finite `slack_penalty`.
    budget : Budget
        When to stop.

    Attributes
    ----------
    tolerance : float
        How far from the optimum a solution may be, in features.
    """

    def __init__(self, problem: Problem, budget: Budget) -> None:
        super().__init__(problem, budget)
        self._capacity = int(np.clip(_BUNDLE_BYTES // (8 * problem.n_features), _FEWEST_CUTS, _MOST_CUTS))
        size = int(np.clip(self._capacity // 8, 1, min(_GROUPS, problem.n_samples)))
        self._groups: Integers = np.arange(problem.n_samples) * size // problem.n_samples
        self._starts = np.searchsorted(self._groups, np.arange(size + 1))
        self._tangents: list[_Tangent] = []
        self._round = 0

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
        best, at_best = np.inf, None
        last: tuple[Floats, float, _Active] | None = None
        for _ in range(_ROUNDS):
            solution = self._solve_master(counts, inside, fixed, decided_in | decided_out)
            if solution is None:
                break
            last = solution
            x, least, _ = solution
            point = x if at_best is None else 0.5 * (x + at_best)
            cost, news = self._look(point, counts, x, least)
            if not news and at_best is not None:
                point = x
                cost, news = self._look(x, counts, x, least)
            if cost < best:
                best, at_best = cost, point
            if best - least <= self.tolerance or not news or self._budget.exhausted():
                break
        if last is None:
            return None
        cut = Cut(self._problem, self._multipliers(last[2]), counts)
        self._scores = cut.scores
        return SoftSolution(counts, last[0], cut)

    def _look(self, point: Floats, counts: Integers, x: Floats, least: float) -> tuple[float, bool]:
        """The cost of a point; its tangents are kept. Tells whether they lift the cost of the program's solution."""
        problem = self._problem
        margins = problem.comparisons.margins(problem.sums(problem.constraints.pooled(point)) / counts)
        hardest = margins.argmin(axis=1)
        worst = np.take_along_axis(margins, hardest[:, None], axis=1)[:, 0]
        violating = worst < 0
        choice = np.where(violating, hardest, -1).astype(np.int16)
        weights = np.zeros(margins.shape)
        weights[np.flatnonzero(violating), hardest[violating]] = problem.slack_penalty
        offsets = np.add.reduceat(weights.sum(axis=1) * problem.alpha, self._starts[:-1])
        pull = problem.comparisons.pull(weights)
        scores = problem.matrix.grouped_scores(pull, problem.feature_classes, self._groups)
        lifted = 0.0
        for group, (start, stop) in enumerate(zip(self._starts[:-1], self._starts[1:], strict=True)):
            of_group = np.where(problem.selectable, problem.constraints.pooled(scores[group]), 0.0)
            tangent = _Tangent(group, of_group, float(offsets[group]), choice[start:stop].copy(), self._round)
            lifted += max(0.0, self._value(tangent, x, counts))
            if (tangent.choice >= 0).any():
                self._tangents.append(tangent)
        self._round += 1
        self._forget()
        return -problem.slack_penalty * float(worst[violating].sum()), lifted > least + 1e-9 * (1.0 + least)

    def _value(self, tangent: _Tangent, x: Floats, counts: Integers) -> float:
        """What a tangent says about the cost of a selection."""
        return tangent.offset - float(tangent.scores @ (x / self._per_feature(counts)))

    def _per_feature(self, counts: Integers) -> Floats:
        """The count of the class of each feature; 1 for a feature in none."""
        of = self._problem.feature_classes
        return np.where(of >= 0, counts[of], 1).astype(np.float64)

    def _forget(self) -> None:
        """Leave out rows that have not been needed for long, and more of them where memory is short."""
        kept = [tangent for tangent in self._tangents if tangent.last_used >= self._round - _IDLE]
        self._tangents = sorted(kept, key=lambda tangent: tangent.last_used)[-self._capacity :]

    def _solve_master(
        self, counts: Integers, inside: Bools, fixed: Bools, decided: Bools
    ) -> tuple[Floats, float, _Active] | None:
        """Solve over the rows at hand; a selection, its cost there, and the weights of the rows."""
        if not self._tangents:
            x = fixed.astype(np.float64)
            for members, n in zip(self._problem.features_of_class, counts, strict=True):
                free = members[inside[members]]
                x[free] = (n - x[members].sum()) / max(1, free.size)
            return x, 0.0, []
        scores = np.stack([tangent.scores for tangent in self._tangents])
        while True:
            features = np.concatenate([members[inside[members]] for members in self._problem.features_of_class])
            solution = self._solver.solve(self._master(scores, features, fixed, counts))
            if solution is None:
                return None
            weights = np.maximum(solution.duals[: len(self._tangents)], 0.0)
            thresholds = -solution.duals[len(self._tangents) :] * counts
            self._scores = weights @ scores
            incoming = self._wrongly_fixed(self._scores, thresholds, inside | decided, fixed)
            if incoming.size == 0:
                break
            inside[incoming], fixed[incoming] = True, False
        active = [(self._tangents[place], float(weights[place])) for place in np.flatnonzero(weights)]
        for tangent, _ in active:
            tangent.last_used = self._round
        x = fixed.astype(np.float64)
        x[features] = solution.x[: features.size]
        return x, float(solution.x[features.size :].sum()), active

    def _master(self, scores: Floats, features: Integers, fixed: Bools, counts: Integers) -> LinearProgram:
        """The program over some features, and a column for the cost of each group of samples."""
        problem, n_rows = self._problem, len(self._tangents)
        classes = problem.feature_classes[features]
        block = np.empty((features.size, n_rows + 1))
        block[:, :n_rows] = scores[:, features].T / counts[classes][:, None]
        block[:, n_rows] = 1.0
        places = np.empty(block.shape, dtype=np.int32)
        places[:, :n_rows] = np.arange(n_rows)
        places[:, n_rows] = n_rows + classes
        offsets = np.array([tangent.offset for tangent in self._tangents])
        standing = scores[:, fixed] @ (1.0 / self._per_feature(counts)[fixed])
        left = counts - problem.counts(fixed)
        group = np.array([tangent.group for tangent in self._tangents])
        order, n_groups = np.argsort(group, kind="stable"), self._starts.size - 1
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

    def _multipliers(self, active: "_Active") -> Integers:
        """The multipliers of all comparisons that weighted rows amount to."""
        shares = np.zeros(self._problem.comparisons.other.shape)
        for tangent, weight in active:
            chosen = np.flatnonzero(tangent.choice >= 0)
            shares[self._starts[tangent.group] + chosen, tangent.choice[chosen]] += weight
        return within_price(np.minimum(shares, 1.0))
