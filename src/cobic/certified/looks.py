"""One look at the data: the selection with counts in a box that is best by some multipliers.

All that multipliers prove, and all that the bundle method learns, comes from such looks. A look at all features is a
pass over the data for their scores and another for the sums of the selection. Where features are many, nearly all of
them are far above or far below the threshold of their class and stay there: a *window* holds the others, the sums of
those far above are computed once, and a look through the window costs a small part of a pass. What is found through a
window is checked by a look at everything.
"""

from dataclasses import dataclass

import numpy as np

from cobic.certified.bounds import class_scores, multiplier_unit
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem

FEW_CELLS = 1 << 22  # 32 MB: a window may hold all features
_WINDOW_CELLS = 1 << 20  # 8 MB: it stays in the cache from one look to the next
_PART = 12  # of the features: with fewer in a window, where data are large, most looks would still be at everything
_EDGE = 0.05  # of a window: a threshold nearer to its edge is not well inside
_DIVE_CELLS = 1 << 22  # 32 MB
_LEAST_WINDOW = 1 << 11  # features: with fewer in it most would not stay outside
_FEW_CHANGES = 0.02  # of the features: up to here sums are brought up to date rather than computed anew


class RunningSums:
    """Sums of each sample by class over a selection: those of the last time, less and more what has changed.

    A pass over the data is dear where they are large, and few features change from one selection to the next.

    Parameters
    ----------
    problem : Problem
        The problem.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._last: tuple[Bools, Floats] | None = None

    def of(self, support: Bools) -> Floats:
        """Sums (n, k) over a selection; where it holds a part of a group, the mean of that stands for its features."""
        problem = self._problem
        sums = None
        if self._last is not None:
            before, known = self._last
            changed = np.flatnonzero(before != support)
            if changed.size <= _FEW_CHANGES * support.size:
                sums = known + class_sums(problem, changed, np.where(support[changed], 1.0, -1.0))
        if sums is None:
            sums = problem.sums(problem.constraints.pooled(support.astype(np.float64)))
        self._last = (support.copy(), sums)
        return sums


def class_sums(problem: Problem, features: Integers, weights: Floats) -> Floats:
    """Weighted sums (n, k) over a few features."""
    by_class = np.zeros((features.size, problem.n_classes))
    by_class[np.arange(features.size), problem.feature_classes[features]] = weights
    return problem.columns(features) @ by_class


@dataclass(frozen=True, eq=False)
class Look:
    """What a look has found.

    Attributes
    ----------
    whole : ndarray of int64, shape (n_samples, n_comparisons)
        The multipliers.
    value : float
        The bound: on the worst margin (hard), or on the objective (soft).
    counts : ndarray of shape (k,)
        The counts at which it is attained.
    support : ndarray of bool, shape (n_features,)
        The selection that attains it.
    sums : ndarray of shape (n_samples, k)
        Its sums by class.
    effect : float
        What one feature does to the value, on the average.
    scores : ndarray of shape (n_features,) or None
        The score of each feature; None after a look through a window.
    """

    whole: Integers
    value: float
    counts: Integers
    support: Bools
    sums: Floats
    effect: float
    scores: Floats | None


class Everything:
    """Looks at all features.

    Parameters
    ----------
    problem : Problem
        The problem.
    decided : tuple of ndarray of bool, optional
        Features that every selection holds, and those that none holds; those of the problem by default.
    """

    def __init__(self, problem: Problem, decided: tuple[Bools, Bools] | None = None) -> None:
        self._problem, self._sums = problem, RunningSums(problem)
        inside, out = decided if decided is not None else (problem.required, ~problem.selectable)
        free = ~(inside | out)
        self._members = [
            (members[inside[members]], members[free[members]] if inside.any() or decided else members)
            for members in problem.features_of_class
        ]

    def look(self, whole: Integers, low: Integers, high: Integers) -> Look:
        """The selection with counts in a box that is best by some multipliers."""
        problem = self._problem
        weights = real(problem, whole)
        scores = class_scores(problem, problem.comparisons.pull(weights))
        chosen = _Choice(problem, weights)
        for cls, (inside, free) in enumerate(self._members):
            base = (float(scores[inside].sum()), inside.size)
            picked = chosen.add(scores[free], base, int(low[cls]), int(high[cls]))
            chosen.support[inside] = chosen.support[free[picked]] = True
        return chosen.look(whole, self._sums.of(chosen.support), scores)


class Window:
    """Looks at the features near the thresholds, with the others as they stood at the last look at everything.

    Parameters
    ----------
    problem : Problem
        The problem.
    seen : Look or None
        The last look at everything, with scores; not needed if the window holds all features.
    size : int
        How many features it may hold.

    Attributes
    ----------
    features : ndarray
        The features, class by class.
    by_class : list of ndarray
        Those of each class.
    base : ndarray of bool, shape (n_features,)
        Features outside the window that are selected.
    base_counts : ndarray of shape (k,)
        How many those are.
    """

    def __init__(self, problem: Problem, seen: Look | None, size: int) -> None:
        self._problem = problem
        self.by_class = self._near_thresholds(seen, size)
        self.features = np.concatenate(self.by_class)
        self._columns = [np.ascontiguousarray(problem.columns(features).T) for features in self.by_class]
        self.base = problem.required.copy() if seen is None else seen.support.copy()
        kept = self.base.copy()
        self.base[self.features] = False
        self.base_counts = problem.counts(self.base)
        if seen is None:
            self._base_sums = problem.sums(problem.constraints.pooled(self.base.astype(np.float64)))
        else:
            inside = [kept[features].astype(np.float64) for features in self.by_class]
            self._base_sums = seen.sums - self._sums_of(inside)

    def _near_thresholds(self, seen: Look | None, size: int) -> list[Integers]:
        problem = self._problem
        free = [members[~problem.required[members]] for members in problem.features_of_class]
        if seen is None or seen.scores is None:
            return free
        share = size / max(sum(members.size for members in free), 1)
        found = []
        for members in free:
            scores, chosen = seen.scores[members], seen.support[members]
            wanted = min(members.size, max(1, int(share * members.size)))
            threshold = scores[chosen].min() if chosen.any() else scores.max()
            found.append(members[largest(-np.abs(scores - threshold), wanted)])
        return found

    @staticmethod
    def size_for(problem: Problem) -> int:
        """How many features a window had better hold; 0 if samples are too many for one."""
        if problem.n_samples * problem.n_features <= FEW_CELLS:
            return problem.n_features
        size = _WINDOW_CELLS // problem.n_samples
        return max(size, problem.n_features // _PART) if size >= _LEAST_WINDOW else 0

    @staticmethod
    def size_for_dives(problem: Problem) -> int:
        """How many features to gather where samples are many."""
        return max(_DIVE_CELLS // problem.n_samples, 1)

    @property
    def is_complete(self) -> bool:
        """Whether it holds all features in question."""
        return self.features.size + int(self._problem.required.sum()) == self._problem.n_selectable

    def holds(self, counts: Integers) -> bool:
        """Whether the thresholds at some counts are well inside."""
        wanted = counts - self.base_counts
        held = np.array([features.size for features in self.by_class])
        left_out = self._problem.feature_class_sizes - self.base_counts - held
        low = np.where(self.base_counts > 0, _EDGE * held, 0)  # at an end of the class there is nothing beyond the edge
        high = np.where(left_out > 0, (1 - _EDGE) * held, held)
        return bool((low <= wanted).all() and (wanted <= high).all())

    def _sums_of(self, inside: list[Floats]) -> Floats:
        """Sums (n, k) over shares of its features, class by class."""
        return np.stack([columns.T @ shares for columns, shares in zip(self._columns, inside, strict=True)], axis=1)

    def scores(self, whole: Integers) -> list[Floats]:
        """Scores of its features, class by class."""
        pull = self._problem.comparisons.pull(real(self._problem, whole))
        return [columns @ pull[:, cls] for cls, columns in enumerate(self._columns)]

    def nearest(self, whole: Integers, counts: Integers, size: int) -> tuple[Integers, Floats]:
        """Features with scores next to where their class is cut off, and what it costs to move them across.

        Parameters
        ----------
        whole : ndarray of int64, shape (n_samples, n_comparisons)
            The multipliers.
        counts : ndarray of shape (k,)
            Where the classes are cut off.
        size : int
            How many features at most.
        """
        distances = []
        for scores, n, outside in zip(self.scores(whole), counts.tolist(), self.base_counts.tolist(), strict=True):
            if 0 < n - outside < scores.size:
                threshold = np.partition(scores, scores.size - n + outside)[scores.size - n + outside]
                distances.append(np.abs(scores - threshold) / n)
            else:  # there is no choice, or the window is of other counts
                distances.append(np.full(scores.size, np.inf))
        distance = np.concatenate(distances)
        places = np.flatnonzero(np.isfinite(distance))
        if places.size > size:
            places = places[np.sort(np.argpartition(distance[places], size)[:size])]
        return self.features[places], distance[places]

    def look(self, whole: Integers, low: Integers, high: Integers) -> Look:
        """The selection with counts in a box that is best by some multipliers, as far as the window shows."""
        problem = self._problem
        weights = real(problem, whole)
        pull = problem.comparisons.pull(weights)
        chosen = _Choice(problem, weights, self.base)
        inside = []
        for cls, (features, columns) in enumerate(zip(self.by_class, self._columns, strict=True)):
            base = (float(self._base_sums[:, cls] @ pull[:, cls]), int(self.base_counts[cls]))
            picked = chosen.add(columns @ pull[:, cls], base, int(low[cls]), int(high[cls]))
            chosen.support[features[picked]] = True
            shares = np.zeros(features.size)
            shares[picked] = 1.0
            inside.append(shares)
        return chosen.look(whole, self._base_sums + self._sums_of(inside), None)


class _Choice:
    """A selection that is put together class by class."""

    def __init__(self, problem: Problem, weights: Floats, base: Bools | None = None) -> None:
        self._bonus = 1.0 if problem.soft else 0.0
        self._value = -float(weights.sum(axis=1) @ problem.alpha)
        self._effect = np.inf
        self._counts: list[int] = []
        self.support: Bools = np.zeros(problem.n_features, dtype=np.bool_) if base is None else base.copy()

    def add(self, scores: Floats, base: tuple[float, int], low: int, high: int) -> Integers:
        """The features of a class to be chosen beside those that are in: which of those with given scores."""
        total, inside = base
        count = self._best_count(scores, total, inside, low, high)
        chosen = largest(scores, count - inside)
        self._counts.append(count)
        self._value += self._bonus * count + (total + float(scores[chosen].sum())) / count
        if chosen.size:
            self._effect = min(self._effect, float(np.abs(scores - scores[chosen].min()).mean()) / count)
        return chosen

    def _best_count(self, scores: Floats, total: float, inside: int, low: int, high: int) -> int:
        """The count in a range at which a class adds most."""
        low, high = max(low, inside, 1), min(high, inside + scores.size)
        if low >= high:
            return low
        counts = np.arange(low, high + 1)
        sums = np.concatenate([[total], total + np.cumsum(np.sort(scores)[::-1])])
        return int(counts[np.argmax(sums[counts - inside] / counts + self._bonus * counts)])

    def look(self, whole: Integers, sums: Floats, scores: Floats | None) -> Look:
        unit = 1.0 if self._bonus else max(float(whole.sum()), 1.0)
        counts = np.array(self._counts, dtype=np.int64)
        return Look(whole, self._value / unit, counts, self.support, sums, self._effect / unit, scores)


def real(problem: Problem, whole: Integers) -> Floats:
    """What whole multipliers stand for."""
    multipliers: Floats = whole.astype(np.float64) * multiplier_unit(problem)
    return multipliers


def largest(values: Floats, count: int) -> Integers:
    """Where the largest values are; of equal ones the first."""
    if count >= values.size:
        return np.arange(values.size)
    if count <= 0:
        return np.zeros(0, dtype=np.intp)
    threshold = np.partition(values, values.size - count)[values.size - count]
    chosen = values > threshold
    chosen[np.flatnonzero(values == threshold)[: count - int(chosen.sum())]] = True
    return np.flatnonzero(chosen)
