"""Reduced-cost fixing: what it costs a bound if a feature has not the value that the multipliers prefer.

With n features of a class, v has the mean of the n largest scores (:mod:`cobic.certified.bounds`). If one of them is
left out, the next one takes its place, and if another comes in, the last one goes: v falls by their distance over n.
Where that brings v to zero, the feature is decided.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobic.matrix import Bools, Floats, Integers

Values = NDArray[np.int8]  # of features: undecided, out or in
FREE, OUT, IN = -1, 0, 1  # what is decided about a feature; the last two are also its values


def best_of_class(scores: Floats, wanted: int, n: int) -> tuple[Integers, Floats]:
    """Where the largest scores of a class are, best first, and what the other value of each of its features costs.

    Where the counts take all that is there, or nothing, they leave no choice: it costs infinitely much.
    """
    order = np.argsort(-scores, kind="stable")
    first_out = scores[order[wanted]] if wanted < scores.size else -np.inf
    last_in = scores[order[wanted - 1]] if wanted > 0 else np.inf
    losses = (last_in - scores) / n
    losses[order[:wanted]] = (scores[order[:wanted]] - first_out) / n
    return order[:wanted], losses


@dataclass(frozen=True, eq=False)
class NodeBound:
    """A bound on Σ λ·margin with some features decided, and what it says about the others."""

    value: float
    losses: Floats  # by how much it falls with the other value of each feature; infinite for those that are decided
    preferred: Values  # the value with which it does not fall
    error: float  # by how much it may be off in floating point

    @property
    def closes(self) -> bool:
        """Whether it proves that there is no selection."""
        return self.value <= -self.error

    @property
    def forced(self) -> Bools:
        """Features that have their preferred value in every selection, whether or not that was decided before."""
        return np.asarray(self.value - self.losses <= -self.error)


def node_bound(
    scores: Floats,
    classes: Integers,
    values: Values,
    counts: Integers,
    missing: Integers,
    start: float,
    error: float,
) -> NodeBound:
    """The bound with some features decided and some missing in each class, which are those with the best scores."""
    losses, preferred, value = np.full(values.size, np.inf), values.copy(), start
    for cls, n in enumerate(counts):
        mine = classes == cls
        free = np.flatnonzero(mine & (values == FREE))
        if not 0 <= missing[cls] <= free.size:
            return NodeBound(-np.inf, losses, preferred, error)
        value += float(scores[mine & (values == IN)].sum()) / n
        best, losses[free] = best_of_class(scores[free], int(missing[cls]), n)
        value += float(scores[free[best]].sum()) / n
        preferred[free] = OUT
        preferred[free[best]] = IN
    return NodeBound(value, losses, preferred, error)
