"""The whole problem as one mixed-integer linear program: Wu's linearisation, in Busygin, Prokopyev & Pardalos (2005).

With ``z_r = 1/n_r`` for the number n_r of selected features of class r, and ``w_i = x_i z_r`` for a feature of class r,
a class mean is ``Σ a_ij w_i``: every comparison is linear in w. The products are made linear by McCormick's rows, which
are exact where x_i is 0 or 1:

    l_r x_i ≤ w_i ≤ u_r x_i,      z_r − u_r (1 − x_i) ≤ w_i ≤ z_r − l_r (1 − x_i),      l_r ≤ z_r ≤ u_r,
    Σ_{F_r} w_i = 1.

They are the tighter the less is left to z_r, that is, the closer the smallest and the largest n_r in question are. If
only selections of at least T features matter, class r must hold at least T less the features of all other classes. As
1/n is convex, z_r lies above its tangents and below the chord between the ends of its range: three more rows per class.

**Scaled.** z_r and w_i are of the size of 1/n_r, down to what a solver takes for zero. The columns here are
``|F_r| z_r`` and ``|F_r| w_i``, close to 1; comparisons are divided by the largest value of the sample. With soft
margins the column of sample j is its violation in the same unit.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cobic.matrix import Bools, Floats, Integers
from cobic.methods.relaxation import group_ties
from cobic.problem import Problem
from cobic.search.program import Entries, LinearProgram

_Rows = tuple[Entries, Floats, Floats]  # some rows of the program, counted from 0, and their bounds


@dataclass(frozen=True)
class CountRange:
    """Which numbers of features per class are in question."""

    low: Integers  # smallest and largest number of selected features of each class, at least 1
    high: Integers
    total: int  # smallest number of selected features in all

    @classmethod
    def of(cls, problem: Problem, at_least: int) -> "CountRange":
        """The range that follows from the sizes of the classes alone, for selections of `at_least` features."""
        high = problem.feature_class_sizes
        low = np.maximum.reduce([at_least - (high.sum() - high), problem.required_sizes, np.ones_like(high)])
        return cls(low, high, at_least)

    @property
    def empty(self) -> bool:
        """Whether no numbers are left."""
        return bool((self.low > self.high).any() or self.high.sum() < self.total)


class Linearisation:
    """The mixed-integer program of a problem; its columns are x, w (both class by class), z, and slacks if soft."""

    def __init__(self, problem: Problem, counts: CountRange, least: float = -np.inf, leeway: float = 0.0) -> None:
        self.problem, self.counts, self._least, self._leeway = problem, counts, least, leeway
        self.features: Integers = np.concatenate(problem.features_of_class)
        self.classes: Integers = problem.feature_classes[self.features]
        self._size = problem.feature_class_sizes.astype(np.float64)
        self._unit = problem.row_scale() / self._size.max()  # of a comparison; of a slack, too
        self.n_slacks = problem.n_samples if problem.soft else 0  # columns for violations

    def selection(self, x: Floats) -> Bools:
        """The features that a solution selects."""
        support = np.zeros(self.problem.n_features, dtype=np.bool_)
        support[self.features] = x[: self.features.size] > 0.5
        return support

    def solution(self, support: Bools) -> Floats:
        """The solution that a selection is: values of all columns."""
        problem = self.problem
        x = support[self.features].astype(np.float64)
        z = self._size / np.maximum(problem.counts(support), 1)
        slacks = problem.violations(support)[: self.n_slacks] / self._unit[: self.n_slacks]
        return np.concatenate([x, x * z[self.classes], z, slacks])

    @cached_property
    def program(self) -> LinearProgram:
        """The program."""
        m, k, n = self.features.size, self.problem.n_classes, self.n_slacks
        blocks = [
            self._comparisons(),
            (
                Entries(self.classes, m + np.arange(m), np.ones(m)),
                self._size,
                self._size,
            ),  # weights of a mean add up to 1
            self._count_rows(),
            *self._curve_rows(),
            *self._product_rows(),
            group_ties(self.problem, self.features),
        ]
        starts = np.cumsum([0, *(lower.size for _, lower, _ in blocks)])
        entries = [block.moved(int(start)) for (block, _, _), start in zip(blocks, starts, strict=False)]
        price = self.problem.slack_penalty * self._unit[:n]
        z_low, z_high = self._size / self.counts.high, self._size / self.counts.low
        required = self.problem.required[self.features].astype(np.float64)
        return LinearProgram.of_entries(
            Entries.joined(entries),
            np.concatenate([np.ones(m), np.zeros(m + k), -price]),
            lower=np.concatenate([required, np.zeros(m), z_low, np.zeros(n)]),
            upper=np.concatenate([np.ones(m), z_high[self.classes], z_high, (m - self._least) / price]),
            row_lower=np.concatenate([lower for _, lower, _ in blocks]),
            row_upper=np.concatenate([upper for _, _, upper in blocks]),
            integer=np.arange(2 * m + k + n) < m,
        )

    def row_names(self, samples: list[str], features: list[str], classes: list[str]) -> list[str]:
        """Names of the rows, from names of samples, of features in the order of the columns, and of classes."""
        names = self.problem.comparisons.names(samples, classes)
        names += [f"mean_{name}" for name in classes]
        names += [f"count_{name}" for name in classes] + ["total"]
        names += [f"{part}_{name}" for part in ("tangent_low", "tangent_high", "chord") for name in classes]
        names += [f"{part}_{name}" for part in ("low_x", "high_x", "high_z", "low_z") for name in features]
        names += [f"group_{row}" for row in range(group_ties(self.problem, self.features)[1].size)]
        return names

    def column_names(self, samples: list[str], features: list[str], classes: list[str]) -> list[str]:
        """Names of the columns."""
        names = [f"x_{name}" for name in features] + [f"w_{name}" for name in features]
        return names + [f"z_{name}" for name in classes] + [f"slack_{name}" for name in samples[: self.n_slacks]]

    def _comparisons(self) -> _Rows:
        """Own class mean − factor × other class mean + violation ≥ α, in the unit of the sample."""
        problem, m = self.problem, self.features.size
        comparisons = problem.comparisons
        n_samples, per_sample = comparisons.other.shape
        sample = np.repeat(np.arange(n_samples), per_sample)
        parts = []
        for cls in range(problem.n_classes):
            weights = comparisons.coefficients(cls).ravel() / (self._size[cls] * self._unit[sample])
            rows, columns = np.flatnonzero(weights), np.flatnonzero(self.classes == cls)
            values = problem.columns(self.features[columns])[sample[rows]] * weights[rows, None]
            parts.append(Entries(np.repeat(rows, columns.size), np.tile(m + columns, rows.size), values.ravel()))
        if self.n_slacks:
            parts.append(Entries(np.arange(sample.size), 2 * m + problem.n_classes + sample, np.ones(sample.size)))
        leeway = self._leeway * self._size.max() * (1.0 + comparisons.factor.ravel())
        needed = comparisons.alpha[sample] / self._unit[sample] - leeway
        return Entries.joined(parts), needed, np.full(sample.size, np.inf)

    def _count_rows(self) -> _Rows:
        """How many features there may be, of each class and in all."""
        m, k = self.features.size, self.problem.n_classes
        every = Entries(np.full(m, k), np.arange(m), np.ones(m))
        entries = Entries.joined([Entries(self.classes, np.arange(m), np.ones(m)), every])
        low = np.append(self.counts.low, self.counts.total).astype(np.float64)
        return entries, low, np.append(self.counts.high, self.counts.high.sum()).astype(np.float64)

    def _curve_rows(self) -> list[_Rows]:
        """Reciprocals are convex: z_r is above the tangents at the ends of its range, and below the chord between."""
        low, high = self.counts.low.astype(np.float64), self.counts.high.astype(np.float64)
        return [
            self._line(self._size / low**2, 2 * self._size / low, above=True),
            self._line(self._size / high**2, 2 * self._size / high, above=True),
            self._line(self._size / (low * high), self._size / low + self._size / high, above=False),
        ]

    def _line(self, slope: Floats, level: Floats, *, above: bool) -> _Rows:
        """Rows z_r + slope_r n_r ≥ level_r (or ≤), one per class."""
        m, k = self.features.size, self.problem.n_classes
        z = Entries(np.arange(k), 2 * m + np.arange(k), np.ones(k))
        entries = Entries.joined([Entries(self.classes, np.arange(m), slope[self.classes]), z])
        infinite = np.full(k, np.inf)
        return (entries, level, infinite) if above else (entries, -infinite, level)

    def _product_rows(self) -> list[_Rows]:
        """McCormick's four rows for w_i = x_i z_r."""
        m = self.features.size
        low = (self._size / self.counts.high)[self.classes]
        high = (self._size / self.counts.low)[self.classes]
        x, w, z, infinite = np.arange(m), m + np.arange(m), 2 * m + self.classes, np.full(m, np.inf)

        def rows(slope: Floats, *, with_z: bool) -> Entries:
            parts = [Entries(x, w, np.ones(m)), Entries(x, x, -slope)]
            return Entries.joined([*parts, Entries(x, z, -np.ones(m))] if with_z else parts)

        zero = np.zeros(m)
        return [
            (rows(low, with_z=False), zero, infinite),
            (rows(high, with_z=False), -infinite, zero),
            (rows(high, with_z=True), -high, infinite),
            (rows(low, with_z=True), -infinite, -low),
        ]
