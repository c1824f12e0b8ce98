"""The class that each feature belongs to: the one in whose samples it has the largest mean, decided exactly."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from cobic.matrix import Bools, Floats, Integers, Matrix
from cobic.problem.exact import EPS, TINY, exact_sum, signed_float

_EXACT_BLOCK = 1024  # features that are read at once where rationals must decide: as many as fit into a cache


def assign_features(
    matrix: Matrix, labels: Integers, class_sizes: Integers, *, leave_out_ties: bool
) -> tuple[Integers, Floats, Floats, int]:
    """Put every feature into the class where its mean is largest.

    Returned are the class of each feature (-1 for a tied one that is left out), the class means (k, m), by how much the
    largest mean of each feature exceeds the second, and the number of ties.
    """
    peaks = matrix.peaks()[1]
    member = np.zeros((labels.size, class_sizes.size))
    member[np.arange(labels.size), labels] = 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        means = matrix.transposed_products(member) / class_sizes
        ordered = np.sort(means, axis=1)
        leads: Floats = ordered[:, -1] - ordered[:, -2]
    feature_classes = means.argmax(axis=1)
    tied = peaks == 0
    unsure = _unsure(leads, peaks, labels.size)
    for feature, exact, best, second in _exact_class_means(matrix, labels, class_sizes, unsure):
        feature_classes[feature] = exact.index(best)
        tied[feature] = best == second
        leads[feature] = signed_float(best - second)
    if leave_out_ties:
        feature_classes[tied] = -1
    return feature_classes, means.T, leads, int(tied.sum())


def small_leads(matrix: Matrix, labels: Integers, class_sizes: Integers, leads: Floats, eps: float) -> Bools:
    """Which features lead by at most `eps`, exactly."""
    small: Bools = leads <= eps
    unsure = _unsure(leads - eps, matrix.peaks()[1], labels.size)
    for feature, _, best, second in _exact_class_means(matrix, labels, class_sizes, unsure):
        small[feature] = best - second <= Fraction(eps)
    return small


def _unsure(leads: Floats, peaks: Floats, n_samples: int) -> Integers:
    """Features whose lead has a sign that floating point cannot tell; a feature of zeros has none to tell."""
    with np.errstate(over="ignore"):
        errors = 2 * EPS * ((n_samples + 8) * peaks) + TINY
        return np.flatnonzero(~(np.abs(leads) > errors) & (peaks > 0))


def _exact_class_means(
    matrix: Matrix, labels: Integers, class_sizes: Integers, features: Integers
) -> Iterator[tuple[int, list[Fraction], Fraction, Fraction]]:
    """Class means of a few features, as rationals, and the largest two."""
    members = [labels == cls for cls in range(class_sizes.size)]
    for start in range(0, features.size, _EXACT_BLOCK):
        part = features[start : start + _EXACT_BLOCK]
        for feature, column in zip(part, matrix.columns(part).T, strict=True):
            means = [exact_sum(column[own]) / int(size) for own, size in zip(members, class_sizes, strict=True)]
            second, best = sorted(means)[-2:]
            yield int(feature), means, best, second


def order_by_value(matrix: Matrix) -> Integers:
    """Features sorted by their values in the first few samples, then by a fingerprint of all of them."""
    keys = matrix.rows(np.arange(min(4, matrix.shape[0])))
    order: Integers = np.argsort(keys[-1], kind="stable")
    same = np.diff(keys[-1][order]) == 0
    tied = np.append(same, False) | np.append(False, same)
    if tied.any():  # the other keys are for these only
        among = order[tied]
        order[tied] = among[np.lexsort((matrix.fingerprints()[among], *keys[:, among]))]
    return order
