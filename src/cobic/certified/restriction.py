"""The problem at one count vector, with all but a few features decided: what dives and trees work on.

Features are known by their place among those left free.
"""

from dataclasses import dataclass

import numpy as np

from cobic.certified.bounds import rounding_error
from cobic.certified.bundle import Relaxed
from cobic.certified.fixing import FREE, IN, NodeBound, Values, node_bound
from cobic.certified.looks import Window
from cobic.certified.programs import FeaturePrograms
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem
from cobic.search.budget import Incumbent


class Found(Exception):
    """A consistent selection has been met."""


class GivenUp(Exception):
    """The effort or the budget is spent."""


@dataclass(frozen=True, eq=False)
class FreeFeatures:
    """Features that are left free at some counts, and what the others are."""

    features: Integers
    standing: Values  # the values that they have as long as nothing is decided
    losses: Floats  # what their other values cost
    fixed_in: Bools  # (n_features,), of the others

    def by_class(self, classes: Integers) -> "FreeFeatures":
        """The same, class by class."""
        order = np.argsort(classes[self.features], kind="stable")
        return FreeFeatures(self.features[order], self.standing[order], self.losses[order], self.fixed_in)


def in_question(problem: Problem, point: Relaxed) -> tuple[FreeFeatures, bool]:
    """Features that the multipliers of a point do not decide; whether they leave none a selection."""
    selectable, cut = np.flatnonzero(problem.selectable), point.cut
    values = np.where(problem.required[selectable], IN, FREE).astype(np.int8)
    classes = problem.feature_classes[selectable]
    missing = point.counts - np.bincount(classes[values == IN], minlength=point.counts.size)
    bound = node_bound(
        cut.scores[selectable], classes, values, point.counts, missing=missing, start=-cut.offset, error=cut.error
    )
    cut.release()
    forced, fixed_in = bound.forced, np.zeros(problem.n_features, dtype=np.bool_)
    fixed_in[selectable[forced & (bound.preferred == IN)]] = True
    free = FreeFeatures(selectable[~forced], bound.preferred[~forced], bound.losses[~forced], fixed_in)
    return free, bound.closes


def near_thresholds(window: Window, point: Relaxed, base: Bools, size: int) -> FreeFeatures:
    """The features next to the thresholds of their classes; the others are as in a selection."""
    features, losses = window.nearest(point.cut.multipliers, point.counts, size)
    fixed_in = base.copy()
    fixed_in[features] = False
    return FreeFeatures(features, base[features].astype(np.int8), losses, fixed_in)


class Restriction:
    """The few rows and columns of the data that matter, and what can be said about a node: some values decided."""

    def __init__(self, programs: FeaturePrograms, counts: Integers, free: FreeFeatures, incumbent: Incumbent) -> None:
        self._problem, self._incumbent, self.counts = programs.problem, incumbent, counts
        problem = self._problem
        self.free = free.by_class(problem.feature_classes)
        self.features = self.free.features
        self.classes = problem.feature_classes[self.features]
        self.shape = problem.comparisons.other.shape
        sample = np.repeat(np.arange(problem.n_samples), self.shape[1])
        coefficients = np.stack([problem.comparisons.coefficients(cls).ravel() for cls in range(problem.n_classes)])
        self.row_scale: Floats = problem.row_scale()[sample]
        self.effects: Floats = problem.columns(self.features).T[:, sample] * coefficients[self.classes]
        self._base = problem.comparisons.margins(programs.sums.of(free.fixed_in) / counts).ravel()
        self._already = problem.counts(free.fixed_in)
        self.safe: Floats = np.repeat(problem.margin_errors, self.shape[1])

    def undecided(self) -> Values:
        """The root: nothing is decided."""
        return np.full(self.features.size, FREE, dtype=np.int8)

    def margins(self, x: Floats | Bools) -> Floats:
        """Margins of a solution, fractional or not."""
        margins: Floats = self._base + self.effects.T @ (x / self.counts[self.classes])
        return margins

    def sizes(self) -> Floats:
        """The most that each feature does to a margin."""
        sizes: Floats = np.abs(self.effects).max(axis=1) / self.counts[self.classes]
        return sizes

    def missing(self, values: Values) -> Integers:
        """How many features of each class have yet to come in."""
        chosen = np.bincount(self.classes[values == IN], minlength=self.counts.size)
        return np.asarray(self.counts - self._already - chosen)

    def free_of_class(self, values: Values, cls: int) -> Integers:
        """The features of a class that are not decided."""
        return np.flatnonzero((values == FREE) & (self.classes == cls))

    def is_reachable(self, values: Values) -> bool:
        """Whether the counts can still be reached."""
        missing = self.missing(values)
        free = np.bincount(self.classes[values == FREE], minlength=missing.size)
        return bool(((missing >= 0) & (missing <= free)).all())

    def bound(self, whole: Integers, values: Values) -> NodeBound:
        """What multipliers say about a node."""
        weights = whole.astype(np.float64)
        flat, error = weights.ravel(), rounding_error(self._problem, weights)
        start, missing = float(flat @ self._base), self.missing(values)
        return node_bound(
            self.effects @ flat, self.classes, values, self.counts, missing=missing, start=start, error=error
        )

    def rounded(self, x: Floats, values: Values) -> Bools:
        """A solution rounded to the counts by size."""
        rounded: Bools = values == IN
        for cls, wanted in enumerate(self.missing(values)):
            free = self.free_of_class(values, cls)
            rounded[free[np.argsort(-x[free], kind="stable")[: int(wanted)]]] = True
        return rounded

    def submit(self, chosen: Bools) -> None:
        """Offer a selection; raises `Found` if it is consistent."""
        support = self.free.fixed_in.copy()
        support[self.features[chosen]] = True
        if self._incumbent.offer(support):
            raise Found

    def submit_if_good(self, chosen: Bools) -> None:
        """Offer a selection whose margins are positive whatever the rounding; others need no exact arithmetic."""
        if (self.margins(chosen) > self.safe).all():
            self.submit(chosen)
