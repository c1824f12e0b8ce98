"""The small program with soft margins: the nearest multipliers at which the model is down to a level.

The model is a sum over the classes, each the largest of some pieces (:mod:`cobic.certified.class_pieces`). Give the
pieces weights y_i ≥ 0 that add up to the same total μ in every class. Then the multipliers that are best for them are
the projection of λ̄ − Σ y_i g_i onto what is admissible, sample by sample in closed form, and the right weights maximise
a concave function with as many variables as there are pieces. It is piecewise quadratic: Newton's method takes a few
steps, and a step some sums over the samples, few of which have multipliers that are neither zero nor at the cap.

Every y / μ is a mixture of the pieces, a fractional selection, and no multipliers prove less than its value. Where that
is above the level, nothing is down to it: the level is raised, and the method goes on.
"""

import numpy as np

from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem

_STEPS = 30  # of Newton's method, which takes about five; rounding may keep it from an end
_NEAR = 0.1  # of the distance between level and best value: the model need not come closer to the level
_RIDGE = 1e-7  # of the curvature: without any the step would have no end, and with less it is lost in rounding
_TINY = 1e-12  # relative: less is rounding
_FASTEST = 10.0  # times the total is how much it may grow in a step: where the level is out of reach it has no limit
_SHORTER, _TRIES = 0.25, 4  # steps that lead down are cut
_GROWTH = 1e-4  # of what a step promises is what it must bring
_SMALLER = 0.1  # totals to begin with, where larger ones are worse than none
_ROUNDS, _PATIENCE = 100, 3  # of changes of the pieces with weights; those without progress that may change several


class LevelProjection:
    """Pieces, the point that was found, and the mixture that came with it."""

    def __init__(self, problem: Problem, cls: Integers, counts: Floats, means: Floats) -> None:
        self._comparisons, self._alpha, self._price = problem.comparisons, problem.alpha, problem.slack_penalty
        self._cls, self._counts, self._means = cls, counts, means
        self._of_class = [np.flatnonzero(cls == each) for each in range(problem.n_classes)]
        self._sample = np.arange(problem.n_samples)
        self._caps = np.ones(problem.n_samples)
        self.point = self._near = np.zeros(problem.comparisons.other.shape)
        self.weights, self.total = np.zeros(cls.size), 0.0
        self.best = (-np.inf, self.weights)
        self._level = self._value = self._height = 0.0

    def normal(self, weights: Floats) -> Floats:
        """Weights that add up to 1 in every class; where there are none, the last piece has it all."""
        weights = weights.copy()
        for mine in self._of_class:
            if not weights[mine].any():
                weights[mine[-1]] = 1.0
            weights[mine] /= weights[mine].sum()
        return weights

    def margins(self, weights: Floats) -> Floats:
        """Margins (n, c) of a mixture."""
        means = np.empty((self._sample.size, len(self._of_class)))
        for cls, mine in enumerate(self._of_class):
            used = mine[weights[mine] > 0]
            means[:, cls] = weights[used] @ self._means[used]
        return self._comparisons.margins(means)

    def value(self, margins: Floats, weights: Floats) -> float:
        """What a mixture with some margins is worth."""
        return float(self._counts @ weights) + self._price * float(np.minimum(margins.min(axis=1), 0.0).sum())

    def run(self, near: Floats, best: float, least: float, aim: float, weights: Floats, total: float) -> None:
        """Find the point."""
        self._near, self._level = near, least + aim * (best - least)
        self._begin(weights, total)
        for _ in range(_STEPS):
            if self._value > self.best[0]:
                self.best = (self._value, self.weights)
                self._level = max(self._level, self._value + aim * (best - self._value))
            heights, off = self._heights(self.point)
            tops = np.array([heights[mine].max() for mine in self._of_class])
            above = float(tops.sum()) - off - self._level
            if above <= _NEAR * (best - self._level) or best - self._value <= _TINY * abs(best):
                break
            try:
                self._step(heights, above, off)
            except np.linalg.LinAlgError:
                break  # what it has is as good as it gets

    def _heights(self, multipliers: Floats) -> tuple[Floats, float]:
        """Value of each piece at some multipliers, and what is taken off their sum."""
        asked, n_classes = self._comparisons, len(self._of_class)
        places = self._sample[:, None] * n_classes + asked.other
        pull = -np.bincount(places.ravel(), (asked.factor * multipliers).ravel(), self._sample.size * n_classes)
        pull = pull.reshape(-1, n_classes)
        by_sample = multipliers.sum(axis=1)
        pull[self._sample, asked.own] += by_sample
        heights = np.empty(self._cls.size)
        for cls, mine in enumerate(self._of_class):
            heights[mine] = self._means[mine] @ pull[:, cls]
        return self._counts + self._price * heights, self._price * float(by_sample @ self._alpha)

    def _begin(self, weights: Floats, total: float) -> None:
        """Begin with the weights of the last time, unless none at all are better: then with what is largest nearby."""
        if total > 0 and self._try(weights, total, 2):
            return
        heights, _ = self._heights(self._near)
        weights = np.zeros(heights.size)
        weights[[mine[heights[mine].argmax()] for mine in self._of_class]] = 1.0
        self._try(weights, 1.0 / (self._price * max(float(np.abs(self.margins(weights)).max()), _TINY)), _TRIES)

    def _try(self, weights: Floats, total: float, tries: int) -> bool:
        """Find a total at which some weights are better than none."""
        for _ in range(tries):
            self._move_to(weights, total)
            if self._dual > 0:
                return True
            total *= _SMALLER
        return False

    def _move_to(self, weights: Floats, total: float) -> None:
        """The point that belongs to some weights, their value as a mixture, and that of the concave function."""
        self.weights, self.total, margins = weights, total, self.margins(weights)
        self._value = self.value(margins, weights)
        margins *= total * self._price
        self.point = self._admissible(self._near - margins)
        away = self.point - self._near
        self._height = float(
            np.vdot(margins, self.point) + 0.5 * np.vdot(away, away) + total * (self._counts @ weights)
        )

    @property
    def _dual(self) -> float:
        return self._height - self.total * self._level

    def _step(self, heights: Floats, above: float, off: float) -> None:
        """One step of Newton's method over the total and the weights of those pieces that have some or should have."""
        mixed = np.array([heights[mine] @ self.weights[mine] for mine in self._of_class])
        taken = np.flatnonzero((self.weights > 0) | (heights >= mixed[self._cls]))
        before, cls = self._dual, self._cls[taken]
        slope = np.append(heights[taken], -off - self._level)
        start = self.total * np.append(self.weights[taken], 1.0)
        basis = self._basis(taken)
        matrix = basis @ basis.T
        wrong = float(np.abs(heights[taken] - mixed[cls]).max()) + abs(above)
        matrix[np.diag_indices_from(matrix)] += _RIDGE * (float(np.trace(matrix)) + wrong / self.total)
        move = best_weights(matrix, slope + matrix @ start, cls) - start
        length = min(1.0, _FASTEST * self.total / max(float(move[-1]), _TINY * self.total))
        for _ in range(_TRIES):
            there, weights = start + length * move, np.zeros(self._cls.size)
            weights[taken] = np.maximum(there[:-1], 0.0)
            self._move_to(self.normal(weights), max(float(there[-1]), _TINY * self.total))
            if self._dual >= before + _GROWTH * length * float(slope @ move):
                break
            length *= _SHORTER

    def _basis(self, taken: Integers) -> Floats:
        """Slopes of some pieces, and of the total, along the directions in which the point can move: a row for each."""
        asked, free = self._comparisons, self.point > 0
        capped = self.point.sum(axis=1) >= self._caps - _TINY
        free[capped & (free.sum(axis=1) == 1)] = False
        sample, place = np.nonzero(free)
        own, other, factor = asked.own[sample], asked.other[sample, place], asked.factor[sample, place]
        basis, cls = np.empty((taken.size + 1, sample.size)), self._cls[taken]
        for each in np.unique(cls):
            mine = np.flatnonzero(cls == each)
            basis[mine] = self._means[np.ix_(taken[mine], sample)] * (
                (own == each) - np.where(other == each, factor, 0.0)
            )
        basis[-1] = -self._alpha[sample]
        together = np.flatnonzero(capped[sample])
        if together.size:  # what one multiplier of a sample gains the others lose
            starts = np.flatnonzero(np.diff(sample[together], prepend=-1))
            sizes = np.diff(starts, append=together.size)
            means = np.add.reduceat(basis[:, together], starts, axis=1) / sizes
            basis[:, together] -= np.repeat(means, sizes, axis=1)
        self._balance(basis, ~capped[sample])
        return self._price * basis

    def _admissible(self, points: Floats) -> Floats:
        """The nearest admissible multipliers."""
        return projected(points, self._caps)

    def _balance(self, basis: Floats, loose: Bools) -> None:
        """Take out of the slopes what moves nothing admissible; `loose` is where a sample is not at its cap."""


def projected(points: Floats, limits: Floats | float = 1.0) -> Floats:
    """The nearest to points (n, c) that are not below zero and add up to at most their limit in each row."""
    found, caps = np.maximum(points, 0.0), np.broadcast_to(limits, points.shape[:1])
    if points.shape[1] == 1:
        return np.asarray(np.minimum(found, caps[:, None]))
    over = np.flatnonzero(found.sum(axis=1) > caps)
    shifted = points[over] - points[over].max(
        axis=1, keepdims=True
    )  # where they reach the cap, a shift changes nothing
    ordered = -np.sort(-shifted, axis=1)
    excess = (np.cumsum(ordered, axis=1) - caps[over, None]) / np.arange(1, points.shape[1] + 1)
    size = np.maximum((ordered > excess).sum(axis=1), 1)  # where the limit is 0 none is above
    found[over] = np.maximum(shifted - excess[np.arange(over.size), size - 1][:, None], 0.0)
    return found


def best_weights(matrix: Floats, linear: Floats, cls: Integers) -> Floats:
    """The z = (y, μ) that maximises linear·z − ½ z·matrix·z, where y ≥ 0 adds up to μ in every class.

    By guessing which y are zero, and changing the guess where y or what it would gain has the wrong sign: all of these
    at once, unless that leads nowhere.
    """
    n_classes, size = int(cls.max()) + 1, cls.size
    border = np.zeros((n_classes, size + 1))
    border[cls, np.arange(size)], border[:, -1] = 1.0, -1.0
    used: Bools = np.ones(size + 1, dtype=np.bool_)
    fewest, patience, z = size + 1, _PATIENCE, np.zeros(size + 1)
    for _ in range(_ROUNDS):
        rows = np.flatnonzero(used)
        system = np.block(
            [[matrix[np.ix_(rows, rows)], border[:, rows].T], [border[:, rows], np.zeros((n_classes,) * 2)]]
        )
        found = np.linalg.solve(system, np.append(linear[rows], np.zeros(n_classes)))
        z = np.zeros(size + 1)
        z[rows] = found[: rows.size]
        gain = linear - matrix @ z - border.T @ found[rows.size :]
        too_much = gain > _RIDGE * (1.0 + float(np.abs(linear).max()))
        wrong = np.flatnonzero(np.where(used, z < -_TINY * abs(z[-1]), too_much)[:-1])
        if wrong.size == 0:
            break
        if wrong.size < fewest:
            fewest, patience = wrong.size, _PATIENCE
        elif patience:
            patience -= 1
        else:
            wrong = wrong[-1:]
        used[wrong] ^= True
        for each in range(n_classes):  # a class is never without a piece
            mine = np.flatnonzero(cls == each)
            used[mine[np.argmax(gain[mine])]] |= not used[mine].any()
    return z
