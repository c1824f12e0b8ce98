"""Tangents to the cost of violations, each adding up the rows of many samples.

With many samples most that violate their margin do so in every solution, each with a row of its own in a linear
program. The cost Σ_j C·violation_j of a group of samples is convex in u, the weights of the features in the means of
their classes (u_i = x_i / n_r). At a point u, where sample j misses its hardest comparison q(j), it has the tangent

    cost_g(u')  ≥  Σ_{j∈g violating} C·(−margin_{j,q(j)}(u'))  =  o_g − Σ_i e_i u'_i,

one row whatever the size of the group (the one-slack form of structural support vector machines, but with a slack per
group). Neither o_g nor the e_i depend on counts: rows found at some counts serve at all others.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobic.certified.soft_lp import within_price
from cobic.matrix import Floats, Integers
from cobic.problem import Problem

_GROUPS = 16
_BUNDLE_BYTES = 1 << 27
_FEWEST, _MOST = 32, 600
_IDLE = 12


@dataclass(eq=False)
class Tangent:
    """A row of the program.

    Attributes
    ----------
    group : int
        The group of samples whose cost it bounds.
    scores : ndarray of shape (n_features,)
        The e_i.
    offset : float
        The o_g.
    choice : ndarray of int16
        For each sample of the group its comparison in the row, -1 if it has none.
    last_used : int
        The round in which it was last of use.
    """

    group: int
    scores: Floats
    offset: float
    choice: NDArray[np.int16]
    last_used: int

    def value(self, weights: Floats) -> float:
        """What it says about the cost of features with some weights in the means of their classes."""
        return self.offset - float(self.scores @ weights)


class Tangents:
    """The tangents found so far; those that have not been of use for long are forgotten.

    Parameters
    ----------
    problem : Problem
        A problem with a finite `slack_penalty`.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._capacity = int(np.clip(_BUNDLE_BYTES // (8 * problem.n_features), _FEWEST, _MOST))
        self.n_groups = int(np.clip(self._capacity // 8, 1, min(_GROUPS, problem.n_samples)))
        self._groups: Integers = np.arange(problem.n_samples) * self.n_groups // problem.n_samples
        self._starts = np.searchsorted(self._groups, np.arange(self.n_groups + 1))
        self._round = 0
        self.rows: list[Tangent] = []

    def look(self, weights: Floats, solution: Floats, least: float) -> tuple[float, bool]:
        """The cost at some weights; the tangents there are kept. Takes two passes over the data.

        Parameters
        ----------
        weights : ndarray of shape (n_features,)
            Where to look.
        solution : ndarray of shape (n_features,)
            The weights that the program over the present tangents proposed.
        least : float
            What it said about their cost.

        Returns
        -------
        cost : float
            The cost at `weights`.
        news : bool
            Whether the new tangents say that `solution` costs more than that.
        """
        problem = self._problem
        margins = problem.comparisons.margins(problem.sums(problem.constraints.pooled(weights)))
        hardest = margins.argmin(axis=1)
        worst = np.take_along_axis(margins, hardest[:, None], axis=1)[:, 0]
        violating = worst < 0
        choice = np.where(violating, hardest, -1).astype(np.int16)
        prices = np.zeros(margins.shape)
        prices[np.flatnonzero(violating), hardest[violating]] = problem.slack_penalty
        offsets = np.add.reduceat(prices.sum(axis=1) * problem.alpha, self._starts[:-1])
        pull = problem.comparisons.pull(prices)
        scores = problem.matrix.grouped_scores(pull, problem.feature_classes, self._groups)
        lifted = 0.0
        for group, (start, stop) in enumerate(zip(self._starts[:-1], self._starts[1:], strict=True)):
            of_group = np.where(problem.selectable, problem.constraints.pooled(scores[group]), 0.0)
            tangent = Tangent(group, of_group, float(offsets[group]), choice[start:stop].copy(), self._round)
            lifted += max(0.0, tangent.value(solution))
            if (tangent.choice >= 0).any():
                self.rows.append(tangent)
        self._round += 1
        self._forget()
        return -problem.slack_penalty * float(worst[violating].sum()), lifted > least + 1e-9 * (1.0 + least)

    def _forget(self) -> None:
        """Leave out rows that have not been needed for long, and more of them where memory is short."""
        kept = [tangent for tangent in self.rows if tangent.last_used >= self._round - _IDLE]
        self.rows = sorted(kept, key=lambda tangent: tangent.last_used)[-self._capacity :]

    def use(self, weights: Floats) -> Sequence[tuple[Tangent, float]]:
        """Those with a weight in a solution, which were of use then."""
        active = [(self.rows[place], float(weights[place])) for place in np.flatnonzero(weights)]
        for tangent, _ in active:
            tangent.last_used = self._round
        return active

    def multipliers(self, active: Sequence[tuple[Tangent, float]]) -> Integers:
        """The multipliers of all comparisons that weighted tangents amount to."""
        shares = np.zeros(self._problem.comparisons.other.shape)
        for tangent, weight in active:
            chosen = np.flatnonzero(tangent.choice >= 0)
            shares[self._starts[tangent.group] + chosen, tangent.choice[chosen]] += weight
        return within_price(np.minimum(shares, 1.0))


def largest_cost(problem: Problem) -> float:
    """What no number in a tangent exceeds: all samples violating their margins as much as can be."""
    factor = 1.0 + float(np.abs(problem.comparisons.factor).max(initial=0.0))
    return float(problem.slack_penalty * (factor * problem.row_scale() + problem.alpha).sum())
