"""A linear program over some features at fixed counts, by an interior point method.

The features of a class r, each of which may be taken up to w_i times, are to be mixed so that the worst margin is
largest:

    max s   subject to   base + Σ_i effect_i x_i ≥ s  (a row for each comparison),   Σ_{F_r} x_i = n_r,   0 ≤ x_i ≤ w_i.

Its duals are multipliers λ ≥ 0 of the rows, Σλ = 1, and a threshold t_r for each class. There are few rows and perhaps
thousands of features, so a step comes down to a linear system with a line for each row and class.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.linalg import lapack

from cobic.matrix import Floats, Integers
from cobic.matrix.pool import one_blas_thread

_STEPS = 100  # it takes twenty to fifty; rounding may keep it from an end
_SHORT_OF_THE_EDGE = 0.995  # of the way to where a variable would be zero
_AWAY = 0.1  # of the gap is how far from their edges rows, and multipliers, begin
_STARTS = 3  # times that multipliers and margins are brought in line with each other before the first step
_FINEST = 1e-13  # of the margins: two values come no closer in floating point
_HALVINGS = 60  # to find a threshold, which takes about ten steps
_EXACT = 1e-12  # of a count: the sum over the shares is no more exact


@dataclass(frozen=True, eq=False)
class MixingProgram:
    """The program: by class the effects of features on the rows that they are in, (features, rows of the class)."""

    effects: Sequence[Floats]
    rows: Sequence[Integers]
    base: Floats  # (rows,)
    wanted: Floats  # (classes,)
    most: Floats  # (features,): w, class by class

    @property
    def of_class(self) -> list[slice]:
        """Where the features of each class are."""
        ends = np.cumsum([0, *(len(effects) for effects in self.effects)]).tolist()
        return [slice(begin, end) for begin, end in pairwise(ends)]

    def scores(self, multipliers: Floats) -> Floats:
        """What each feature adds to Σ λ·margin."""
        found = [effects @ multipliers[rows] for effects, rows in zip(self.effects, self.rows, strict=True)]
        return np.concatenate(found)

    def sums(self, shares: Floats) -> Floats:
        """What some shares of the features add to each row."""
        total = np.zeros(self.base.size)
        for effects, rows, part in zip(self.effects, self.rows, self.of_class, strict=True):
            total[rows] += shares[part] @ effects
        return total

    def by_class(self, values: Floats) -> Floats:
        """Sums of values over the features of each class."""
        return np.array([values[part].sum() for part in self.of_class])

    def spread(self, of_classes: Floats) -> Floats:
        """For each feature the value of its class."""
        return np.repeat(of_classes, [len(effects) for effects in self.effects])


@dataclass(frozen=True, eq=False)
class Mixed:
    """A solution: multipliers that add up to 1, shares of the features, and by how much their values may differ."""

    multipliers: Floats
    shares: Floats
    gap: float


def solve(program: MixingProgram, near: Floats, accuracy: float, part: float = 0.0) -> Mixed:
    """Solve a program, from multipliers that are about right, until its two values differ by so much at most.

    A part of its value may be enough: multipliers that are not at the end say more about other counts.
    """
    finest = _FINEST * max(1.0, float(np.abs(program.base).max()))
    # The matrices are small: threads would wait for each other. What is lost next to the edges is seen in the gap.
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        point = _first_point(program, near, finest)
        gap = point.gap
        for _ in range(_STEPS):
            if gap <= max(accuracy, finest, part * abs(point.worst)):
                break
            try:
                following = _advanced(program, point, gap)
            except np.linalg.LinAlgError:
                break  # what it has is as good as it gets
            if not np.isfinite(following.gap):
                break
            point, gap = following, following.gap
    return Mixed(point.multipliers, point.shares, gap)


@dataclass(eq=False)
class _Point:
    """Everything that changes from step to step, or a step."""

    multipliers: Floats
    slacks: Floats  # of the rows
    shares: Floats
    below: Floats  # what the shares are short of w
    prices: Floats  # partners of the shares, and of what they are short of
    prices_below: Floats
    thresholds: Floats
    worst: float  # s

    @property
    def pairs(self) -> tuple[tuple[Floats, Floats], ...]:
        """Variables that must not be negative, and their partners: one of the two is to be zero."""
        return (self.slacks, self.multipliers), (self.shares, self.prices), (self.below, self.prices_below)

    @property
    def gap(self) -> float:
        """By how much the values of the program and its dual differ."""
        return sum(float(one @ other) for one, other in self.pairs)

    def moved(self, step: "_Point", primal: float, dual: float) -> "_Point":
        """Some way along a step."""
        return _Point(
            self.multipliers + dual * step.multipliers,
            self.slacks + primal * step.slacks,
            self.shares + primal * step.shares,
            self.below + primal * step.below,
            self.prices + dual * step.prices,
            self.prices_below + dual * step.prices_below,
            self.thresholds + dual * step.thresholds,
            self.worst + primal * step.worst,
        )

    def room(self, step: "_Point") -> tuple[float, float]:
        """How far one can go until a variable, or a partner, is next to zero; all the way at most."""
        fastest = [0.0, 0.0]
        for pair, moves in zip(self.pairs, step.pairs, strict=True):
            for side in (0, 1):
                fastest[side] = max(fastest[side], -float((moves[side] / pair[side]).min(initial=0.0)))
        primal, dual = (min(1.0, _SHORT_OF_THE_EDGE / speed) if speed > 0 else 1.0 for speed in fastest)
        return primal, dual


def _first_point(program: MixingProgram, near: Floats, finest: float) -> _Point:
    """Shares that add up to the counts, and partners, all about as far from zero as the multipliers are from right."""
    multipliers = np.maximum(near, 0.0)
    multipliers = multipliers / multipliers.sum() if multipliers.any() else np.full(near.size, 1.0 / near.size)
    thresholds, mean = _cut_offs(program, program.scores(multipliers))
    mean = max(mean, finest)
    for start in range(_STARTS):
        shares, below, thresholds = _central(program, program.scores(multipliers), thresholds, mean)
        margins = program.base + program.sums(shares)
        gap = max(float(multipliers @ margins - margins.min()), mean * margins.size)
        worst, mean = float(margins.min()) - _AWAY * gap, (1.0 + _AWAY) * gap / margins.size
        slacks = margins - worst
        if start < _STARTS - 1:
            multipliers = np.maximum(multipliers, _AWAY * mean / slacks)
            multipliers /= multipliers.sum()
    return _Point(multipliers, slacks, shares, below, mean / shares, mean / below, thresholds, worst)


def _cut_offs(program: MixingProgram, scores: Floats) -> tuple[Floats, float]:
    """Where the counts cut the scores off, and a part of the mean distance of the scores from there."""
    thresholds, distance = np.zeros(program.wanted.size), 0.0
    for cls, part in enumerate(program.of_class):
        if scores[part].size:
            order = np.argsort(-scores[part])
            taken = int(np.searchsorted(np.cumsum(program.most[part][order]), program.wanted[cls]))
            thresholds[cls] = scores[part][order[min(taken, order.size - 1)]]
            distance += float(np.abs(scores[part] - thresholds[cls]).sum())
    return thresholds, _AWAY * distance / max(scores.size, 1)


def _central(program: MixingProgram, scores: Floats, near: Floats, mean: float) -> tuple[Floats, Floats, Floats]:
    """The shares, and what they are short of, whose products with their partners are all the same; the thresholds."""
    thresholds, shares, below = near.copy(), np.zeros(scores.size), np.zeros(scores.size)
    for cls, part in enumerate(program.of_class):
        low, high = -np.inf, np.inf
        for _ in range(_HALVINGS if scores[part].size else 0):
            at = float(thresholds[cls])
            x, short = _divided(program.most[part], scores[part] - at, mean)
            shares[part], below[part] = x, short
            over = float(x.sum() - program.wanted[cls])
            if abs(over) <= _EXACT * float(program.wanted[cls]):
                break
            low, high = (at, high) if over > 0 else (low, at)
            following = at + over * mean / float((1.0 / (1.0 / x**2 + 1.0 / short**2)).sum())  # Newton's method
            reach = float(np.abs(scores[part] - at).max()) + mean
            thresholds[cls] = following if low < following < high else _between(low, high, at, reach)
    return shares, below, thresholds


def _divided(most: Floats, over: Floats, mean: float) -> tuple[Floats, Floats]:
    """Two parts x + y of w with mean / y − mean / x = over."""
    ratio = over * most / mean
    root = np.sqrt(ratio**2 + 4.0)
    rest = np.where(ratio > 0, 4.0 / (root + np.abs(ratio)), root - ratio)
    return most * (2.0 / (2.0 + rest)), most * (rest / (2.0 + rest))


def _between(low: float, high: float, at: float, reach: float) -> float:
    """The middle, or far away where one end is not known yet."""
    if np.isfinite(low) and np.isfinite(high):
        return 0.5 * (low + high)
    return at + reach if np.isfinite(low) else at - reach


class _System:
    """The linear system of a step, factorised once: a line for each row and each class, and one for s."""

    def __init__(self, program: MixingProgram, point: _Point) -> None:
        self._program, self._at = program, point
        n_rows, n_classes = program.base.size, program.wanted.size
        self._stiff = 1.0 / (point.prices / point.shares + point.prices_below / point.below)
        matrix = np.zeros((n_rows + n_classes + 1,) * 2)
        for cls, (effects, rows, part) in enumerate(
            zip(program.effects, program.rows, program.of_class, strict=True), start=n_rows
        ):
            stiff = self._stiff[part]
            weighted = effects * np.sqrt(stiff)[:, None]
            matrix[np.ix_(rows, rows)] += weighted.T @ weighted  # of one array: half the work
            matrix[cls, rows] = matrix[rows, cls] = -(stiff @ effects)
            matrix[cls, cls] = stiff.sum() if stiff.size else 1.0
        diagonal = np.arange(n_rows)
        matrix[diagonal, diagonal] += point.slacks / point.multipliers
        matrix[-1, :n_rows] = matrix[:n_rows, -1] = -1.0
        self._factors, self._pivots, singular = lapack.dgetrf(matrix, overwrite_a=True)
        if singular:
            raise np.linalg.LinAlgError
        self._rows = point.slacks - program.base - program.sums(point.shares) + point.worst
        self._features = program.scores(point.multipliers) - program.spread(point.thresholds)
        self._features += point.prices - point.prices_below
        self._classes = program.wanted - program.by_class(point.shares)

    def solve(self, products: tuple[Floats, ...]) -> _Point:
        """The step that removes what is missing, and changes the products of the pairs by given amounts."""
        program, at = self._program, self._at
        n_rows = program.base.size
        of_rows, of_shares, of_below = products
        pull = self._features - of_below / at.below + of_shares / at.shares
        weighted = self._stiff * pull
        right = np.concatenate(
            [
                self._rows + of_rows / at.multipliers - program.sums(weighted),
                program.by_class(weighted) - self._classes,
                [at.multipliers.sum() - 1.0],
            ]
        )
        found, _ = lapack.dgetrs(self._factors, self._pivots, right)
        multipliers, thresholds = found[:n_rows], found[n_rows:-1]
        shares = self._stiff * (program.scores(multipliers) - program.spread(thresholds) + pull)
        return _Point(
            multipliers,
            (of_rows - at.slacks * multipliers) / at.multipliers,
            shares,
            -shares,
            (of_shares - at.prices * shares) / at.shares,
            (of_below + at.prices_below * shares) / at.below,
            thresholds,
            float(found[-1]),
        )


def _advanced(program: MixingProgram, at: _Point, gap: float) -> _Point:
    """One step of Mehrotra's method: a predictor, and a corrector."""
    system = _System(program, at)
    products = tuple(-one * other for one, other in at.pairs)
    step = system.solve(products)
    after = at.moved(step, *at.room(step)).gap
    aim = gap / sum(one.size for one in products) * min(1.0, max(after / gap, 0.0)) ** 3  # Mehrotra's rule
    aimed = zip(products, step.pairs, strict=True)
    step = system.solve(tuple(product + aim - one * other for product, (one, other) in aimed))
    return at.moved(step, *at.room(step))
