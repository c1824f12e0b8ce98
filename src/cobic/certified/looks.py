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
from cobic.certified.effort import DEFAULT, Effort
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem

Box = tuple[Integers, Integers]  # the least and the largest counts, both included
Decided = tuple[Bools, Bools]  # features that every selection holds, and those that none holds


class RunningSums:
    """Sums of each sample by class over a selection: those of the last time, less and more what has changed.

    A pass over the data is dear where they are large, and few features change from one selection to the next.
    """

    def __init__(self, problem: Problem, effort: Effort = DEFAULT) -> None:
        self._problem, self._effort = problem, effort
        self._last: tuple[Bools, Floats] | None = None

    def of(self, support: Bools) -> Floats:
        """Sums (n, k) over a selection; where it holds a part of a group, the mean of that stands for its features."""
        problem = self._problem
        sums = None
        if self._last is not None:
            before, known = self._last
            changed = np.flatnonzero(before != support)
            if changed.size <= self._effort.few_changes * support.size:
                sums = known + class_sums(problem, changed, np.where(support[changed], 1.0, -1.0))
            elif changed.size <= self._effort.some_changes * support.size:
                sums = known + problem.sums(problem.constraints.pooled(support.astype(np.float64) - before))
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
    """What a look has found."""

    whole: Integers  # the multipliers
    value: float  # the bound: on the worst margin (hard), or on the objective (soft)
    counts: Integers  # the counts at which it is attained
    support: Bools  # the selection that attains it
    sums: Floats  # its sums by class
    effect: float  # what one feature does to the value, on the average
    scores: Floats | None  # the score of each feature; None after a look through a window


class Everything:
    """Looks at all features."""

    def __init__(self, problem: Problem, decided: Decided | None = None, effort: Effort = DEFAULT) -> None:
        self._problem, self._sums = problem, RunningSums(problem, effort)
        decided_in, decided_out = decided if decided is not None else (problem.required, ~problem.selectable)
        free = ~(decided_in | decided_out)
        self._members = [
            (members[decided_in[members]], members[free[members]] if decided_in.any() or decided else members)
            for members in problem.features_of_class
        ]

    def look(self, whole: Integers, low: Integers, high: Integers) -> Look:
        """The selection with counts in a box that is best by some multipliers."""
        problem = self._problem
        weights = real(problem, whole)
        scores = class_scores(problem, problem.comparisons.pull(weights))
        chosen = _Choice(problem, weights)
        for cls, (decided_in, free) in enumerate(self._members):
            base = (float(scores[decided_in].sum()), decided_in.size)
            picked = chosen.add(scores[free], base, int(low[cls]), int(high[cls]))
            chosen.support[decided_in] = chosen.support[free[picked]] = True
        return chosen.look(whole, self._sums.of(chosen.support), scores)


class Window:
    """Looks at the features near the thresholds, with the others as they stood at the last look at everything."""

    def __init__(self, problem: Problem, seen: Look | None, size: int, effort: Effort = DEFAULT) -> None:
        self._problem, self._edge = problem, effort.window_edge
        self.by_class = self._near_thresholds(seen, size)
        self.features = np.concatenate(self.by_class)
        self._columns = [np.ascontiguousarray(problem.columns(features).T) for features in self.by_class]
        self._few_changes = effort.few_changes_of_window
        self.base = problem.required.copy() if seen is None else seen.support.copy()
        self._chosen = [self.base[features] for features in self.by_class]
        self._sums = np.stack(
            [chosen.astype(np.float64) @ columns for columns, chosen in zip(self._columns, self._chosen, strict=True)],
            axis=1,
        )
        sums = problem.sums(problem.constraints.pooled(self.base.astype(np.float64))) if seen is None else seen.sums
        self._base_sums = sums - self._sums
        self.base[self.features] = False
        self.base_counts = problem.counts(self.base)

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
            threshold = scores[chosen].min() if chosen.any() else scores.max(initial=0.0)
            found.append(members[largest(-np.abs(scores - threshold), wanted)])
        return found

    @staticmethod
    def size_for_dives(problem: Problem, effort: Effort) -> int:
        """How many features to gather where samples are many; of sparse data no more than half of their room."""
        cells, nbytes = effort.gathered_cells, problem.matrix.nbytes
        if nbytes < 2 * problem.n_samples * problem.n_features:  # no numbers of any width that are stored one by one
            cells = min(cells, max(nbytes // 16, effort.complete_window_cells))  # a gathered cell takes 8 bytes
        return max(min(cells // problem.n_samples, problem.n_features * 3 // 4), 1)  # not all: it is a window

    @property
    def is_complete(self) -> bool:
        """Whether it holds all features in question."""
        return self.features.size + int(self._problem.required.sum()) == self._problem.n_selectable

    def holds(self, counts: Integers) -> bool:
        """Whether the thresholds at some counts are well inside."""
        wanted = counts - self.base_counts
        held = np.array([features.size for features in self.by_class])
        left_out = self._problem.feature_class_sizes - self.base_counts - held
        # At an end of the class there is nothing beyond the edge.
        low = np.where(self.base_counts > 0, self._edge * held, 0)
        high = np.where(left_out > 0, (1 - self._edge) * held, held)
        return bool((low <= wanted).all() and (wanted <= high).all())

    def _choose(self, cls: int, picked: Integers) -> None:
        """Bring the sums of a class up to date with those features that are chosen now."""
        columns, chosen = self._columns[cls], np.zeros(self.by_class[cls].size, dtype=np.bool_)
        chosen[picked] = True
        changed = np.flatnonzero(chosen != self._chosen[cls])
        if changed.size <= self._few_changes * chosen.size:
            self._sums[:, cls] += np.where(chosen[changed], 1.0, -1.0) @ columns[changed]
        else:
            self._sums[:, cls] = chosen.astype(np.float64) @ columns
        self._chosen[cls] = chosen

    def sums_of(self, cls: int, places: Integers) -> Floats:
        """Sums (n,) of each sample over some of its features of a class."""
        sums: Floats = self._columns[cls][places].sum(axis=0)
        return sums

    def scores(self, whole: Integers) -> list[Floats]:
        """Scores of its features, class by class."""
        pull = self._problem.comparisons.pull(real(self._problem, whole))
        return [columns @ pull[:, cls] for cls, columns in enumerate(self._columns)]

    def nearest(self, whole: Integers, counts: Integers, size: int) -> tuple[Integers, Floats]:
        """Features with scores next to where their class is cut off, and what it costs to move them across."""
        distances = []
        for scores, n, base in zip(self.scores(whole), counts.tolist(), self.base_counts.tolist(), strict=True):
            if 0 < n - base < scores.size:
                threshold = np.partition(scores, scores.size - n + base)[scores.size - n + base]
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
        for cls, (features, columns) in enumerate(zip(self.by_class, self._columns, strict=True)):
            base = (float(self._base_sums[:, cls] @ pull[:, cls]), int(self.base_counts[cls]))
            picked = chosen.add(columns @ pull[:, cls], base, int(low[cls]), int(high[cls]))
            chosen.support[features[picked]] = True
            self._choose(cls, picked)
        return chosen.look(whole, self._base_sums + self._sums, None)


class _Choice:
    """A selection that is put together class by class."""

    def __init__(self, problem: Problem, weights: Floats, base: Bools | None = None) -> None:
        self._bonus = 1.0 if problem.soft else 0.0
        self._value = -float(weights.sum(axis=1) @ problem.alpha)
        self._effect = np.inf
        self._counts: list[int] = []
        self.support: Bools = np.zeros(problem.n_features, dtype=np.bool_) if base is None else base.copy()

    def add(self, scores: Floats, base: tuple[float, int], low: int, high: int) -> Integers:
        """The features of a class to be chosen beside a sum and number that are in: which of those with some scores."""
        total, already = base
        count = self._best_count(scores, total, already, low, high)
        chosen = largest(scores, count - already)
        self._counts.append(count)
        self._value += self._bonus * count + (total + float(scores[chosen].sum())) / count
        if chosen.size:
            self._effect = min(self._effect, float(np.abs(scores - scores[chosen].min()).mean()) / count)
        return chosen

    def _best_count(self, scores: Floats, total: float, already: int, low: int, high: int) -> int:
        """The count in a range at which a class adds most."""
        low, high = max(low, already, 1), min(high, already + scores.size)
        if low >= high:
            return low
        counts = np.arange(low, high + 1)
        sums = np.concatenate([[total], total + np.cumsum(np.sort(scores)[::-1])])
        return int(counts[np.argmax(sums[counts - already] / counts + self._bonus * counts)])

    def look(self, whole: Integers, sums: Floats, scores: Floats | None) -> Look:
        unit = 1.0 if self._bonus else max(float(whole.sum()), 1.0)
        counts = np.array(self._counts, dtype=np.int64)
        return Look(whole, self._value / unit, counts, self.support, sums, self._effect / unit, scores)


def window_size(n_samples: int, n_features: int, nbytes: int, effort: Effort = DEFAULT) -> int:
    """How many features a window of a matrix with so many bytes had better hold; 0 if there had better be none.

    Unless a window is small, it takes no more than the matrix.
    """
    small = effort.complete_window_cells
    if n_samples * n_features <= small:
        return n_features
    size = max(effort.window_cells // n_samples, n_features // effort.window_part)
    room = min(max(nbytes // 8, small), effort.most_window_cells)  # in numbers of 8 bytes
    return size if size >= effort.least_window and n_samples * size <= room else 0


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
