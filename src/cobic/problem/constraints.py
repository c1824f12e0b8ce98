"""Which features must be selected, must not be, or stand and fall together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from cobic.errors import InputError
from cobic.matrix import Bools, Floats, Integers
from cobic.problem.arguments import Names


@dataclass(frozen=True, eq=False)
class Constraints:
    """What is asked of a selection besides consistency."""

    required: Bools  # features that every selection holds
    selectable: Bools  # features that a selection may hold; the required ones are among them
    # Groups of two or more features, neither required nor excluded, that are selected together or not at all
    groups: tuple[Integers, ...]
    part_of: Integers  # the groups cut up by feature class: number of a feature's part, -1 for one alone in it

    @property
    def n_parts(self) -> int:
        """Number of parts with two or more features."""
        return int(self.part_of.max()) + 1

    def admit(self, support: Bools) -> bool:
        """Tell whether a selection holds what it must, nothing that it must not, and only whole groups."""
        within = not (support & ~self.selectable).any() and not (self.required & ~support).any()
        return within and all(support[members].all() or not support[members].any() for members in self.groups)

    def complete(self, support: Bools) -> Bools:
        """The nearest selection that is admitted: a group is in if more than half of it is."""
        nearest: Bools = (support & self.selectable) | self.required
        for members in self.groups:
            nearest[members] = 2 * int(support[members].sum()) > members.size
        return nearest

    def pooled(self, values: Floats) -> Floats:
        """Values of the features, each replaced by the mean over its part.

        A selection holds all of a part or nothing, so sums over it do not change; bounds get tighter.
        """
        if not self.groups:
            return values
        inside = self.part_of >= 0
        part = self.part_of[inside]
        means = np.bincount(part, values[inside], minlength=self.n_parts) / np.bincount(part, minlength=self.n_parts)
        pooled = values.copy()
        pooled[inside] = means[part]
        return pooled


def read_constraints(
    fixed_in: Any, fixed_out: Any, groups: Sequence[Any] | None, feature_classes: Integers, names: Names
) -> Constraints:
    """Make sense of what a user says about features."""
    required = _mask("fixed_in", fixed_in, feature_classes.size, names)
    excluded = _mask("fixed_out", fixed_out, feature_classes.size, names) | (feature_classes < 0)

    def called(feature: Any) -> str:
        return str(feature) if names is None else repr(names[feature])

    both = np.flatnonzero(required & excluded)
    if both.size:
        why = "fixed_out too" if feature_classes[both[0]] >= 0 else 'excluded by ties="exclude"'
        message = f"fixed_in holds feature {called(both[0])}, which is {why}: take it out of one of them"
        raise InputError(message)
    free: list[Integers] = []
    for members in group_members(groups, feature_classes.size):
        if required[members].any() and excluded[members].any():
            inside, out = members[required[members]][0], members[excluded[members]][0]
            message = (
                f"features {called(inside)} and {called(out)} are in one group, but the first must be selected and "
                "the second must not be"
            )
            raise InputError(message)
        if required[members].any():
            required[members] = True
        elif excluded[members].any():
            excluded[members] = True
        else:
            free.append(members)
    return Constraints(required, ~excluded, tuple(free), _parts(free, feature_classes))


def _parts(groups: list[Integers], feature_classes: Integers) -> Integers:
    part_of, number = np.full(feature_classes.size, -1, dtype=np.intp), 0
    for members in groups:
        classes, sizes = np.unique(feature_classes[members], return_counts=True)
        for cls in classes[sizes > 1]:
            part_of[members[feature_classes[members] == cls]] = number
            number += 1
    return part_of


def _mask(what: str, given: Any, size: int, names: Names) -> Bools:
    mask = np.zeros(size, dtype=np.bool_)
    if given is None:
        return mask
    listed = np.asarray([given] if isinstance(given, str) else given)
    if listed.dtype == np.bool_:
        if listed.shape != (size,):
            message = f"{what} is a mask of shape {listed.shape} for {size} features: give one entry per feature"
            raise InputError(message)
        return listed.copy()
    if listed.size == 0:
        return mask
    if listed.ndim == 1 and listed.dtype.kind in "iu":
        wrong = listed[(listed < 0) | (listed >= size)]
        if wrong.size:
            message = f"{what} names feature {wrong[0]}, but there are features 0 to {size - 1}"
            raise InputError(message)
        mask[listed] = True
        return mask
    if listed.ndim != 1 or listed.dtype.kind not in "UO":
        message = f"{what} is {given!r}: give a mask, names, or indices of features"
        raise InputError(message)
    if names is None:
        message = f"{what} holds names, but the features have none: give a data frame, feature_names, or indices"
        raise InputError(message)
    wanted = {str(name) for name in listed}
    missing = sorted(wanted.difference(names))
    if missing:
        message = f"{what} names {missing[0]!r}, but no feature is called so"
        raise InputError(message)
    return np.fromiter((name in wanted for name in names), dtype=np.bool_, count=size)


def group_members(groups: Sequence[Any] | None, size: int) -> list[Integers]:
    """Members of each group of two or more, in the order of their first members."""
    if groups is None:
        return []
    labels = pd.Series(list(groups), dtype=object)
    if labels.size != size:
        message = f"groups has {labels.size} labels for {size} features: give one per feature, None for one on its own"
        raise InputError(message)
    codes, _ = pd.factorize(labels.where(labels.map(lambda label: label != ""), None))
    order = np.argsort(codes, kind="stable")
    order = order[codes[order] >= 0]
    starts = np.flatnonzero(np.diff(codes[order])) + 1
    return [members for members in np.split(order, starts) if members.size > 1]
