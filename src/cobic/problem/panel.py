"""The problem of a panel: a given number of features that separate the classes by the widest margin."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from cobic.checks import is_number, is_whole, require_choice
from cobic.errors import InputError
from cobic.matrix import Floats, Integers
from cobic.problem.exact import EPS
from cobic.problem.grouping import OnePerGroup, class_sizes, leave_room, read_groups
from cobic.problem.identity import problem_parameters
from cobic.problem.problem import Problem

Weights = Literal["equal", "balanced"] | ArrayLike
Size = int | Mapping[Any, int]
ClassSplit = Literal["any", "even"]

# Offsets that differ by more than so many times the largest margin and the number of classes are not considered: better
# ones lie within it, and what multipliers beyond the caps overstate is bounded by it.
_WIDEST_OFFSETS = 2
_EVEN = 1e-9  # of the weight: a class that has no more than half of it, but for rounding
_FEW = 3  # numbers that are said one by one


class PanelProblem:
    """Choose so many features that the classes are separated by the widest margin.

    The *tail margin* of a panel is the mean of the worst share `tail` of the samples' margins: the worst margin of all
    if it is 0, the mean margin if it is 1. Each sample counts with its weight. With offsets it is the largest over all
    constants, one added to the mean of each class.

    Parameters
    ----------
    problem : Problem
        Samples, classes and features, with ``alpha=0`` and hard margins; what is fixed in or out holds for the panel.
        Its own `groups` (features that are selected together or not at all) have no place here.
    size : int or mapping of classes to int
        Number of features in all, of which each class has at least one, or the number of each class.
    split : {"any", "even"}, default="any"
        How a total is shared among the classes: as serves the margin best, or as evenly as their features allow.
    tail : float, default=0.3
        Share of the samples, from 0 to 1.
    weights : {"equal", "balanced"} or array-like of shape (n_samples,), default="equal"
        What each sample counts; balanced: all classes count the same.
    offset : bool, default=False
        Whether a constant is added to the mean of each class, fitted with the panel; only with ``beta=1``.
    groups : sequence of shape (n_features,), optional
        A label per feature, such as the gene that a probe measures: a panel holds at most one feature of each group.
        None, NaN or ``""`` for a feature on its own. (Groups of :class:`cobic.Problem` mean all or none.)

    Attributes
    ----------
    total : int
        Number of features.
    low, high : ndarray of shape (k,)
        Least and largest number of features of each class.
    caps : ndarray of shape (n_samples,) or None
        The largest share of each sample in a tail margin; None if there is no limit.

    Examples
    --------
    >>> import cobic
    >>> X = [[5, 1, 1, 4], [4, 2, 2, 9], [1, 6, 1, 2], [2, 5, 3, 3]]
    >>> panel = cobic.PanelProblem(cobic.Problem(X, ["a", "a", "b", "b"]), size=2, tail=0)
    >>> panel.tail_margin([True, True, False, False])
    2.0
    """

    def __init__(
        self,
        problem: Problem,
        size: Size,
        *,
        split: ClassSplit = "any",
        tail: float = 0.3,
        weights: Weights = "equal",
        offset: bool = False,
        groups: Sequence[Any] | None = None,
    ) -> None:
        _require_plain(problem)
        require_choice("split", split, ("any", "even"))
        self.split = split
        self.groups = read_groups(problem, groups)
        self.problem = problem = problem if self.groups is None else _without_mates(problem, self.groups)
        self.groups = read_groups(problem, groups)  # of what is left
        least, most = np.maximum(problem.required_sizes, 1), class_sizes(problem, self.groups)
        if not isinstance(size, Mapping):
            self.low, self.high, self.total = least, most, _total(self, size, least, most)
            if split == "even":
                self.low, self.high = _even(self.total, least, most)
            others = self.total - (self.low.sum() - self.low)
            self.high = np.minimum(self.high, others)
        else:
            self.low = self.high = _sizes(problem, size, least, most)
            self.total = int(self.low.sum())
        if self.groups is not None and not leave_room(problem, self.groups, self.low):
            message = "there is no panel of that size: features of different classes share their groups; choose fewer"
            raise InputError(message + (", or split='any'" if split == "even" else ""))
        if not (is_number(tail) and 0 <= tail <= 1):
            message = f"tail is {tail!r}: give a share of the samples from 0 (the worst one) to 1 (the mean of all)"
            raise InputError(message)
        self.tail = float(tail)
        self.weights_name = weights if isinstance(weights, str) else None
        self.weights = _weights(problem, weights)
        self.offset = bool(offset)
        if offset:
            _require_bounded(self)

    @cached_property
    def caps(self) -> Floats | None:
        """The largest share of each sample in a tail margin; None if there is no limit."""
        return None if self.tail == 0 else self.weights / (self.weights.sum() * self.tail)

    def tail_of(self, margins: Floats) -> Floats:
        """Tail margins (…) for the worst margins of the samples (…, n)."""
        return tail_mean(margins, self.caps)

    def shares_in_tail(self, margins: Floats) -> Floats:
        """How much each sample counts in the tail margin, (n,), for the worst margins of the samples (n,)."""
        return tail_shares(margins, self.caps)

    def admits(self, support: ArrayLike) -> bool:
        """Whether a selection is a panel: the right numbers of features, and those that must be in or out."""
        chosen, counts = self.problem.check_support(support), self.problem.counts(support)
        inside = (counts >= self.low).all() and (counts <= self.high).all() and counts.sum() == self.total
        allowed = self.problem.constraints.admit(chosen) and (self.groups is None or self.groups.admit(chosen))
        return bool(inside and chosen.sum() == self.total and allowed)

    def shift(self, offsets: ArrayLike) -> Floats:
        """What offsets (k,) add to the margin of each comparison, (n, c)."""
        given, comparisons = np.asarray(offsets, dtype=np.float64), self.problem.comparisons
        shift: Floats = given[comparisons.own][:, None] - given[comparisons.other]
        return shift

    def margins(self, support: ArrayLike, offsets: ArrayLike | None = None) -> Floats:
        """Worst margin of each sample, (n,), with offsets (k,) if there are any."""
        margins = self.problem.comparisons.margins(self.problem.means(support))
        return np.asarray((margins if offsets is None else margins + self.shift(offsets)).min(axis=1))

    def tail_margin(self, support: ArrayLike, offsets: ArrayLike | None = None) -> float:
        """Tail margin of a panel with offsets (k,), or without any; ``-inf`` for a selection that is no panel."""
        return float(self.tail_of(self.margins(support, offsets))) if self.admits(support) else -np.inf

    def ceiling(self, support: ArrayLike, offsets: ArrayLike | None = None) -> float:
        """A number that the tail margin of a panel, with these offsets, does not exceed, whatever the rounding."""
        value = self.tail_margin(support, offsets)
        return value + self.tail_error if np.isfinite(value) else value

    @cached_property
    def tail_error(self) -> float:
        """How far off a tail margin may be by rounding."""
        problem, size = self.problem, self.largest_margin + self.widest_offsets
        return float(problem.margin_errors.max()) + 4 * (problem.n_samples + 4) * EPS * size

    @cached_property
    def widest_offsets(self) -> float:
        """By how much offsets may differ; 0 without them."""
        return _WIDEST_OFFSETS * self.problem.n_classes * self.largest_margin if self.offset else 0.0

    @cached_property
    def largest_margin(self) -> float:
        """What no margin of any panel exceeds in size."""
        return float(((1.0 + self.problem.comparisons.factor.max(axis=1)) * self.problem.row_scale()).max())

    def excess(self, multipliers: Floats) -> float:
        """By how much multipliers (n, c) exceed the caps, as a share of all; a little more than it is."""
        if self.caps is None:
            return 0.0
        by_sample = multipliers.sum(axis=1)
        share = by_sample / by_sample.sum()
        rounding = 4 * (self.problem.n_samples + 4) * EPS
        return float(np.maximum(share - self.caps, 0.0).sum()) + rounding

    @property
    def sizes(self) -> str:
        """The number of features for a sentence: of each class if they are given, as 5 + 5 or 8 × 5, else the total."""
        counts = self.low.tolist()
        if not (self.low == self.high).all():
            return f"{self.total} evenly shared" if self.split == "even" else str(self.total)
        many = len(counts) > _FEW and len(set(counts)) == 1
        return f"{len(counts)} × {counts[0]}" if many else " + ".join(str(n) for n in counts)

    @property
    def parameters(self) -> dict[str, Any]:
        """What is asked, as plain values; numbers of each class if they are given."""
        given = self.low.tolist() if (self.low == self.high).all() else None
        weights = self.weights_name or self.weights.tolist()
        groups = [] if self.groups is None else [members.tolist() for members in self.groups.members]
        panel = {"total": self.total, "counts": given, "tail": self.tail, "weights": weights}
        panel |= {"offset": self.offset, "groups": groups}
        if self.split == "even" and given is None:  # with counts it says nothing more
            panel["split"] = self.split
        return {**problem_parameters(self.problem), "panel": panel}

    @classmethod
    def stated(cls, problem: Problem, parameters: Mapping[str, Any]) -> PanelProblem:
        """The problem that the parameters of a certificate state."""
        panel = parameters["panel"]
        given = panel["counts"]
        size = panel["total"] if given is None else dict(zip(problem.classes.tolist(), given, strict=True))
        groups: list[int | None] = [None] * problem.n_features
        for number, members in enumerate(panel["groups"]):
            for feature in members:
                groups[feature] = number
        rules = {name: panel[name] for name in ("tail", "weights", "offset")}
        return cls(problem, size, split=panel.get("split", "any"), **rules, groups=groups)

    def __repr__(self) -> str:
        """What is asked in one line."""
        return f"<PanelProblem {self.total} of {self.problem.n_features} features, tail {self.tail:g}>"


def tail_mean(margins: Floats, caps: Floats | None) -> Floats:
    """Means (…) of the worst margins (…, n), in which each sample counts up to its cap; of the worst alone without."""
    if caps is None:
        return np.asarray(margins.min(axis=-1))
    shares, order = _in_order(margins, caps)
    return np.asarray((shares * np.take_along_axis(margins, order, axis=-1)).sum(axis=-1) / shares.sum(axis=-1))


def tail_shares(margins: Floats, caps: Floats | None) -> Floats:
    """How much each sample counts in such a mean, (n,)."""
    found = np.zeros(margins.size)
    if caps is None:
        found[margins.argmin()] = 1.0
    else:
        shares, order = _in_order(margins, caps)
        found[order] = shares
    return found


def _in_order(margins: Floats, caps: Floats) -> tuple[Floats, Integers]:
    """Shares of the samples in the tail, the worst first, and their order."""
    order = np.argsort(margins, axis=-1)
    caps = caps[order]
    return np.clip(1.0 - (np.cumsum(caps, axis=-1) - caps), 0.0, caps), order


def most_features(problem: Problem, groups: Sequence[Any] | None = None) -> tuple[Integers, int]:
    """How many features of each class, (k,), and in all a panel can have at most."""
    known = read_groups(problem, groups)
    if known is not None:
        problem = _without_mates(problem, known)
        known = read_groups(problem, groups)
    return class_sizes(problem, known), _in_all(problem, known)


def _in_all(problem: Problem, groups: OnePerGroup | None) -> int:
    return problem.n_selectable if groups is None else int(np.unique(groups.of[problem.selectable]).size)


def _without_mates(problem: Problem, groups: OnePerGroup) -> Problem:
    """The problem in which a feature that is fixed in leaves the others of its group out."""
    required = np.flatnonzero(problem.required)
    _, places, sizes = np.unique(groups.of[required], return_index=True, return_counts=True)
    if (sizes > 1).any():
        twice = required[groups.of[required] == groups.of[required[places[sizes > 1][0]]]]
        names = [str(at) if problem.feature_names is None else repr(problem.feature_names[at]) for at in twice[:2]]
        message = f"fixed_in holds features {names[0]} and {names[1]}, which are in one group: keep one of them"
        raise InputError(message)
    for mate in np.flatnonzero(groups.mates(required) & problem.selectable):
        problem = problem.deciding(int(mate), inside=False)
    return problem


def _require_bounded(panel: PanelProblem) -> None:
    """Offsets need margins that a constant does not scale, and a tail to which no class contributes more than half."""
    problem = panel.problem
    if (problem.beta != 1).any():
        message = (
            "offset=True with beta above 1: with a factor, margins would change when the same constant is added to all "
            "means; leave out one of them"
        )
        raise InputError(message)
    by_class = np.bincount(problem.labels, panel.weights) / panel.weights.sum()
    top = int(by_class.argmax())
    if panel.tail > 2 * (1 - by_class[top]) + _EVEN:
        message = (
            f"offset=True with tail {panel.tail:g}: {problem.classes[top]} has {by_class[top]:.0%} of the weight, and a"
            " constant in its favour would raise the tail margin without end; give a tail of at most "
            f"{np.floor(200 * (1 - by_class[top])) / 100:g}, or weights='balanced'"
        )
        raise InputError(message)


def _require_plain(problem: Problem) -> None:
    """A panel has no other margins than its own, and counts features one by one."""
    faults = {
        "alpha is above 0: the margin of a panel is what is sought": problem.alpha.any(),
        "slack_penalty is given: choose a tail instead": problem.soft,
        "the problem has groups, of which all features are selected or none: give groups to the panel, which then "
        "holds one feature of each": bool(problem.constraints.groups),
    }
    for fault, is_so in faults.items():
        if is_so:
            raise InputError(fault)


def _names(problem: Problem, most: Integers) -> str:
    return ", ".join(f"{cls}: {n}" for cls, n in zip(problem.classes, most, strict=True))


def _total(panel: PanelProblem, size: Any, least: Integers, most: Integers) -> int:
    problem, groups = panel.problem, panel.groups
    at_most = _in_all(problem, groups)
    if not is_whole(size) or not least.sum() <= size <= at_most:
        message = (
            f"size is {size!r}: give a whole number from {least.sum()} (one feature of each class, and what is fixed "
            f"in) to {at_most}{'' if groups is None else ' (one of each group)'}, or the number of each class"
        )
        raise InputError(message)
    if not most.all():
        message = f"a class has no features that are highest in it ({_names(problem, most)}): a panel needs one of each"
        raise InputError(message)
    return int(size)


def _even(total: int, least: Integers, most: Integers) -> tuple[Integers, Integers]:
    """Least and largest numbers of each class when a total is shared evenly: they differ by one where they can."""
    levels = range(int(most.max()) + 1)
    level = bisect_right(levels, total, key=lambda level: int(np.clip(level, least, most).sum())) - 1
    return np.clip(level, least, most), np.clip(level + 1, least, most)


def _sizes(problem: Problem, size: Mapping[Any, int], least: Integers, most: Integers) -> Integers:
    names = {str(cls): place for place, cls in enumerate(problem.classes)}
    given = {str(cls): count for cls, count in size.items()}
    if given.keys() != names.keys():
        message = f"size names the classes {', '.join(given)}: give a number for each of {', '.join(names)}"
        raise InputError(message)
    counts = np.zeros(problem.n_classes, dtype=np.int64)
    for name, place in names.items():
        count = given[name]
        if not is_whole(count) or not least[place] <= count <= most[place]:
            grouped = " (one of each group)" if most[place] < problem.feature_class_sizes[place] else ""
            message = f"size of {name} is {count!r}: give a whole number from {least[place]} to {most[place]}{grouped}"
            raise InputError(message)
        counts[place] = count
    return counts


def _weights(problem: Problem, weights: Weights) -> Floats:
    if isinstance(weights, str) and weights in ("equal", "balanced"):
        size = np.ones(problem.n_samples) if weights == "equal" else problem.class_sizes[problem.labels]
        return 1.0 / size
    try:
        given = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.full(1, np.nan)
    good = given.shape == (problem.n_samples,) and np.isfinite(given).all() and (given >= 0).all() and given.any()
    if not good:
        message = "weights are neither 'equal' nor 'balanced' nor one number of at least 0 per sample, some above 0"
        raise InputError(message)
    return given
