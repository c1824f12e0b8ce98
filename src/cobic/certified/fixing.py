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


def _best_of_groups(scores: Floats, wanted: int, n: int, groups: Integers) -> tuple[Integers, Floats]:
    """The same where one feature of each group can be chosen.

    In the place of one that is left out comes the next of its group or the best other group; one that comes in takes
    the place of its group's best one, or of the last group.
    """
    order = np.argsort(-scores, kind="stable")
    _, first, number = np.unique(groups[order], return_index=True, return_inverse=True)
    ranks = np.argsort(np.argsort(first))  # of the groups, by their best features
    best = order[np.sort(first)]
    first_out = scores[best[wanted]] if wanted < best.size else -np.inf
    last_in = scores[best[wanted - 1]] if wanted > 0 else np.inf
    others, next_ones = np.ones(scores.size, dtype=np.bool_), np.full(first.size, first_out)
    others[first] = False
    np.maximum.at(next_ones, number[others], scores[order[others]])
    losses = np.empty(scores.size)
    held = ranks[number] < wanted
    losses[order] = np.where(held, scores[order[first]][number], last_in) - scores[order]
    chosen = order[first[ranks < wanted]]
    losses[chosen] = scores[chosen] - next_ones[ranks < wanted]
    return best[:wanted], losses / n


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
    *,
    missing: Integers,
    start: float,
    error: float,
    groups: Integers | None = None,
) -> NodeBound:
    """The bound with some features decided and some missing in each class, which are those with the best scores.

    With groups of the features, one of each at most; of those that are in, the others are out.
    """
    losses, preferred, value = np.full(values.size, np.inf), values.copy(), start
    for cls, n in enumerate(counts):
        mine = classes == cls
        free = np.flatnonzero(mine & (values == FREE))
        of = None if groups is None else groups[free]
        if not 0 <= missing[cls] <= (free.size if of is None else np.unique(of).size):
            return NodeBound(-np.inf, losses, preferred, error)
        value += float(scores[mine & (values == IN)].sum()) / n
        wanted = int(missing[cls])
        best, losses[free] = (
            best_of_class(scores[free], wanted, n) if of is None else _best_of_groups(scores[free], wanted, n, of)
        )
        value += float(scores[free[best]].sum()) / n
        preferred[free] = OUT
        preferred[free[best]] = IN
    return NodeBound(value, losses, preferred, error)
