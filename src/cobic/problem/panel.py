"""The problem of a panel: a given number of features that separate the classes by the widest margin."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from cobic.checks import is_number, is_whole
from cobic.errors import InputError
from cobic.matrix import Floats, Integers
from cobic.problem.exact import EPS
from cobic.problem.identity import problem_parameters
from cobic.problem.problem import Problem

Weights = Literal["equal", "balanced"] | ArrayLike
Size = int | Mapping[Any, int]


class PanelProblem:
    """Choose so many features that the classes are separated by the widest margin.

    The *tail margin* of a panel is the mean of the worst share `tail` of the samples' margins: the worst margin of all
    if it is 0, the mean margin if it is 1. Each sample counts with its weight.

    Parameters
    ----------
    problem : Problem
        Samples, classes and features, with ``alpha=0`` and hard margins; what is fixed in or out holds for the panel.
    size : int or mapping of classes to int
        Number of features in all, of which each class has at least one, or the number of each class.
    tail : float, default=0.3
        Share of the samples, from 0 to 1.
    weights : {"equal", "balanced"} or array-like of shape (n_samples,), default="equal"
        What each sample counts; balanced: all classes count the same.

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
    >>> from cobic.problem import PanelProblem
    >>> X = [[5, 1, 1, 4], [4, 2, 2, 9], [1, 6, 1, 2], [2, 5, 3, 3]]
    >>> panel = PanelProblem(cobic.Problem(X, ["a", "a", "b", "b"]), size=2, tail=0)
    >>> panel.tail_margin([True, True, False, False])
    2.0
    """

    def __init__(self, problem: Problem, size: Size, *, tail: float = 0.3, weights: Weights = "equal") -> None:
        _require_plain(problem)
        self.problem = problem
        least = np.maximum(problem.required_sizes, 1)
        if not isinstance(size, Mapping):
            self.low, self.high, self.total = least, problem.feature_class_sizes, _total(problem, size, least)
            others = self.total - (self.low.sum() - self.low)
            self.high = np.minimum(self.high, others)
        else:
            self.low = self.high = _sizes(problem, size, least)
            self.total = int(self.low.sum())
        if not (is_number(tail) and 0 <= tail <= 1):
            message = f"tail is {tail!r}: give a share of the samples from 0 (the worst one) to 1 (the mean of all)"
            raise InputError(message)
        self.tail = float(tail)
        self.weights_name = weights if isinstance(weights, str) else None
        self.weights = _weights(problem, weights)

    @cached_property
    def caps(self) -> Floats | None:
        """The largest share of each sample in a tail margin; None if there is no limit."""
        return None if self.tail == 0 else self.weights / (self.weights.sum() * self.tail)

    def tail_of(self, margins: Floats) -> Floats:
        """Tail margins (…) for the worst margins of the samples (…, n)."""
        if self.caps is None:
            return np.asarray(margins.min(axis=-1))
        shares, order = self._shares(margins)
        return np.asarray((shares * np.take_along_axis(margins, order, axis=-1)).sum(axis=-1) / shares.sum(axis=-1))

    def shares_in_tail(self, margins: Floats) -> Floats:
        """How much each sample counts in the tail margin, (n,), for the worst margins of the samples (n,)."""
        found = np.zeros(margins.size)
        if self.caps is None:
            found[margins.argmin()] = 1.0
        else:
            shares, order = self._shares(margins)
            found[order] = shares
        return found

    def _shares(self, margins: Floats) -> tuple[Floats, Integers]:
        """Shares of the samples in the tail, the worst first, and their order."""
        order = np.argsort(margins, axis=-1)
        caps = self.caps[order] if self.caps is not None else np.ones(order.shape)
        return np.clip(1.0 - (np.cumsum(caps, axis=-1) - caps), 0.0, caps), order

    def admits(self, support: ArrayLike) -> bool:
        """Whether a selection is a panel: the right numbers of features, and those that must be in or out."""
        chosen, counts = self.problem.check_support(support), self.problem.counts(support)
        inside = (counts >= self.low).all() and (counts <= self.high).all() and counts.sum() == self.total
        return bool(inside and chosen.sum() == self.total and self.problem.constraints.admit(chosen))

    def tail_margin(self, support: ArrayLike) -> float:
        """Tail margin of a panel; ``-inf`` for a selection that is none."""
        if not self.admits(support):
            return -np.inf
        means = self.problem.means(support)
        return float(self.tail_of(self.problem.comparisons.margins(means).min(axis=1)))

    def ceiling(self, support: ArrayLike) -> float:
        """A number that the tail margin of a panel does not exceed, whatever the rounding."""
        problem, value = self.problem, self.tail_margin(support)
        error = float(problem.margin_errors.max()) + 4 * (problem.n_samples + 4) * EPS * self.largest_margin
        return value + error if np.isfinite(value) else value

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
        """The number of features for a sentence: of each class if they are given, as 5 + 5, else the total."""
        given = (self.low == self.high).all()
        return " + ".join(str(n) for n in self.low.tolist()) if given else str(self.total)

    @property
    def parameters(self) -> dict[str, Any]:
        """What is asked, as plain values; numbers of each class if they are given."""
        given = self.low.tolist() if (self.low == self.high).all() else None
        weights = self.weights_name or self.weights.tolist()
        panel = {"total": self.total, "counts": given, "tail": self.tail, "weights": weights}
        return {**problem_parameters(self.problem), "panel": panel}

    @classmethod
    def stated(cls, problem: Problem, parameters: Mapping[str, Any]) -> "PanelProblem":
        """The problem that the parameters of a certificate state."""
        panel = parameters["panel"]
        given = panel["counts"]
        size = panel["total"] if given is None else dict(zip(problem.classes.tolist(), given, strict=True))
        return cls(problem, size, tail=panel["tail"], weights=panel["weights"])

    def __repr__(self) -> str:
        """What is asked in one line."""
        return f"<PanelProblem {self.total} of {self.problem.n_features} features, tail {self.tail:g}>"


def _require_plain(problem: Problem) -> None:
    """A panel has no other margins than its own, and counts features one by one."""
    faults = {
        "alpha is above 0: the margin of a panel is what is sought": problem.alpha.any(),
        "slack_penalty is given: choose a tail instead": problem.soft,
        "groups are given: a panel counts features one by one": bool(problem.constraints.groups),
    }
    for fault, is_so in faults.items():
        if is_so:
            raise InputError(fault)


def _names(problem: Problem) -> str:
    return ", ".join(f"{cls}: {n}" for cls, n in zip(problem.classes, problem.feature_class_sizes, strict=True))


def _total(problem: Problem, size: Any, least: Integers) -> int:
    if not is_whole(size) or not least.sum() <= size <= problem.n_selectable:
        message = (
            f"size is {size!r}: give a whole number from {least.sum()} (one feature of each class, and what is fixed "
            f"in) to {problem.n_selectable}, or the number of each class"
        )
        raise InputError(message)
    if not problem.feature_class_sizes.all():
        message = f"a class has no features that are highest in it ({_names(problem)}): a panel needs one of each"
        raise InputError(message)
    return int(size)


def _sizes(problem: Problem, size: Mapping[Any, int], least: Integers) -> Integers:
    names = {str(cls): place for place, cls in enumerate(problem.classes)}
    given = {str(cls): count for cls, count in size.items()}
    if given.keys() != names.keys():
        message = f"size names the classes {', '.join(given)}: give a number for each of {', '.join(names)}"
        raise InputError(message)
    counts = np.zeros(problem.n_classes, dtype=np.int64)
    for name, place in names.items():
        count, most = given[name], int(problem.feature_class_sizes[place])
        if not is_whole(count) or not least[place] <= count <= most:
            message = f"size of {name} is {count!r}: give a whole number from {least[place]} to {most}"
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
