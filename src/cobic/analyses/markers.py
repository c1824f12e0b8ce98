"""Markers: for each class the features that separate it from all other samples by the widest mean margin.

Each feature is divided by its scale. A sample's score is the mean of the panel's features, the threshold lies halfway
between the mean score of the class and that of the rest, and a margin is the distance to it on the right side. With
both sides of equal weight the mean margin of a panel is half the mean of its features' effects: so the features with
the largest effects are the best panel of every size, and that is the proof.

The scale is the feature's standard deviation plus the median of all features': as in shrunken centroids, so that
features that vary by a few samples alone do not win in small classes.
"""

from dataclasses import dataclass

import numpy as np

from cobic.answer.effects import ClassEffects
from cobic.matrix import Bools, Floats, Integers, Matrix


@dataclass(frozen=True, eq=False)
class Markers:
    """The markers of each class, the best first; all (k, n)."""

    features: Integers
    effects: Floats  # mean in the class minus mean in the rest, in units of the scale
    margins: Floats  # mean margin of the panel up to here; no panel of that size has a larger one
    read_back: Floats  # share of the samples that it reads back, class and rest of equal weight
    comparison: ClassEffects

    def of(self, values: Floats) -> Floats:
        """What is known of all features (k, m), of the markers."""
        return np.take_along_axis(values, self.features, axis=1)


def find_markers(matrix: Matrix, labels: Integers, n_classes: int, n: int) -> Markers:
    """The n best features of each class."""
    comparison = ClassEffects.of(matrix, labels, n_classes)
    scale = scale_of(comparison.spread)
    effects = comparison.differences / scale
    features = np.argsort(-effects, axis=1, kind="stable")[:, :n]
    best = np.take_along_axis(effects, features, axis=1)
    margins = np.cumsum(best, axis=1) / (2 * np.arange(1, n + 1))
    sides = [_read_back(matrix.columns(chosen) / scale[chosen], labels == cls) for cls, chosen in enumerate(features)]
    return Markers(features, best, margins, np.stack(sides), comparison)


def scale_of(spread: Floats) -> Floats:
    """What the values of each feature are divided by, (m,)."""
    varying = spread[spread > 0]
    return spread + (np.median(varying) if varying.size else 1.0)


def _read_back(values: Floats, inside: Bools) -> Floats:
    """Share of the samples on the right side of the threshold, with one feature, two, and so on, (n,)."""
    sums = np.cumsum(values, axis=1)  # of which the signs of margins are those of means
    halfway = (sums[inside].mean(axis=0) + sums[~inside].mean(axis=0)) / 2
    right = (sums[inside] > halfway).mean(axis=0), (sums[~inside] <= halfway).mean(axis=0)
    return np.asarray((right[0] + right[1]) / 2)
