"""Groups of which a panel holds one feature at most: the probes of a gene, which count once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from cobic.matrix import Bools, Floats, Integers
from cobic.problem.constraints import group_members
from cobic.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class OnePerGroup:
    """Groups of which one feature may be chosen.

    Features of a group in the same class compete for one place: only the best of them counts. Those in different
    classes exclude each other, too.
    """

    members: tuple[Integers, ...]  # groups of two or more features that may be chosen
    of: Integers  # number of the group of each feature; a feature on its own has a number of its own

    def admit(self, support: Bools) -> bool:
        """Whether no group is chosen from twice."""
        return bool(np.unique(self.of[support]).size == support.sum())

    def best(self, features: Integers, scores: Floats) -> Integers:
        """Those of some features that have the best score of their group, the best first; of equal ones the first."""
        ordered = features[np.argsort(-scores[features], kind="stable")]
        _, first = np.unique(self.of[ordered], return_index=True)
        return ordered[np.sort(first)]

    def mates(self, features: Integers) -> Bools:
        """Features (n_features,) that others of their group leave out."""
        found = np.isin(self.of, self.of[features])
        found[features] = False
        return np.asarray(found)


def read_groups(problem: Problem, labels: Sequence[Any] | None) -> OnePerGroup | None:
    """Groups by the label of each feature; only what may be chosen and is not chosen anyway; None without any."""
    of: Integers = np.arange(problem.n_features)
    listed = []
    for members in group_members(labels, problem.n_features):
        of[members] = members[0]
        free = members[problem.selectable[members]]
        if free.size > 1:
            listed.append(free)
    return OnePerGroup(tuple(listed), of) if listed else None


def class_sizes(problem: Problem, groups: OnePerGroup | None) -> Integers:
    """How many features of each class a panel may hold, (k,)."""
    if groups is None:
        return problem.feature_class_sizes
    members = [problem.selectable & (problem.feature_classes == cls) for cls in range(problem.n_classes)]
    return np.array([np.unique(groups.of[mine]).size for mine in members])


def leave_room(problem: Problem, groups: OnePerGroup, counts: Integers) -> bool:
    """Whether so many features of each class can be chosen: a flow from groups to the classes of their features."""
    selectable = np.flatnonzero(problem.selectable)
    kinds: Counter[tuple[int, ...]] = Counter()  # groups by the classes of their features
    pairs = np.unique(np.stack([groups.of[selectable], problem.feature_classes[selectable]], axis=1), axis=0)
    for classes in np.split(pairs[:, 1], np.flatnonzero(np.diff(pairs[:, 0])) + 1):
        kinds[tuple(classes.tolist())] += 1
    first, sink = 1 + len(kinds), 1 + len(kinds) + counts.size
    ways = [(0, 1 + at, n) for at, n in enumerate(kinds.values())]
    ways += [(1 + at, first + cls, n) for at, (classes, n) in enumerate(kinds.items()) for cls in classes]
    ways += [(first + cls, sink, int(n)) for cls, n in enumerate(counts)]
    begin, end, width = np.array(ways, dtype=np.int32).T
    network = csr_array((width, (begin, end)), shape=(sink + 1, sink + 1))
    return bool(maximum_flow(network, 0, sink).flow_value == counts.sum())
