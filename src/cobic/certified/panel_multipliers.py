"""Multipliers of a panel as whole numbers, which a certificate holds; exactly balanced where there are offsets.

Offsets drop out of Σ λ·margin if every class wins with as much weight as it loses with: then λ bounds the tail margin
for all of them at once.
"""

import numpy as np

from cobic.certified.bounds import rounding_error
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import PanelProblem

# Multipliers are whole numbers that add up to about this: what they lose by rounding is then far below what a caller
# can see, whatever the number of samples, and their sum is still exact in floating point.
_PRECISION = 1 << 48


def whole_multipliers(panel: PanelProblem, multipliers: Floats) -> Integers:
    """Multipliers (n, c) as whole numbers of about the same shares."""
    total = float(multipliers.sum())
    shares = multipliers / total if total > 0 else first_shares(panel)
    whole = np.round(shares * _PRECISION).astype(np.int64)
    return _balanced(panel, whole) if panel.offset else whole


def first_shares(panel: PanelProblem) -> Floats:
    """Multipliers to begin with: each sample has the share of its weight, evenly over its comparisons.

    With offsets: classes lie along a circle, each as long as its weight, but at most half of it; each is compared with
    what lies opposite.
    """
    comparisons, weights = panel.problem.comparisons, panel.weights / panel.weights.sum()
    if not panel.offset:
        return np.repeat(weights[:, None] / comparisons.other.shape[1], comparisons.other.shape[1], axis=1)
    by_class = np.bincount(comparisons.own, weights)
    lengths = by_class.copy()
    top = int(by_class.argmax())
    if by_class[top] > 0.5:
        lengths *= 0.5 / (1.0 - by_class[top])
        lengths[top] = 0.5
    ends = np.cumsum(lengths)
    borders = np.unique(np.concatenate([[0.0, 1.0], ends, ends + 0.5, ends - 0.5]).clip(0.0, 1.0))
    middles, flow = (borders[1:] + borders[:-1]) / 2, np.zeros((lengths.size, lengths.size))
    winner, loser = (np.minimum(np.searchsorted(ends, at % 1.0), lengths.size - 1) for at in (middles, middles + 0.5))
    np.add.at(flow, (winner, loser), np.diff(borders))
    own = comparisons.own[:, None]
    shares: Floats = weights[:, None] * flow[own, comparisons.other] / np.where(by_class > 0, by_class, 1.0)[own]
    return shares


def tail_shares_of(panel: PanelProblem, support: Bools) -> Floats:
    """Multipliers to begin with where there is a panel: how much each comparison counts in its tail margin."""
    margins = panel.problem.comparisons.margins(panel.problem.means(support))
    sample, worst = np.arange(margins.shape[0]), margins.argmin(axis=1)
    shares = np.zeros(margins.shape)
    shares[sample, worst] = panel.shares_in_tail(margins[sample, worst])
    return shares


def _balanced(panel: PanelProblem, whole: Integers) -> Integers:
    """Mend what rounding has done to the balance: comparisons with one class, or of it, take what is missing."""
    comparisons, whole = panel.problem.comparisons, whole.copy()
    by_sample = whole.sum(axis=1)
    balance = np.zeros(panel.problem.n_classes, dtype=np.int64)
    np.add.at(balance, comparisons.own, by_sample)
    np.subtract.at(balance, comparisons.other, whole)
    caps = np.ones(by_sample.size) if panel.caps is None else panel.caps
    room, hub = caps * float(by_sample.sum()) - by_sample, int(np.bincount(comparisons.own, caps).argmax())
    for cls in np.flatnonzero(balance):
        if cls != hub:
            winner, loser = (cls, hub) if balance[cls] < 0 else (hub, cls)
            sample = int(np.where(comparisons.own == winner, room, -np.inf).argmax())
            whole[sample, comparisons.other[sample] == loser] += abs(balance[cls])
            room[sample] -= abs(balance[cls])
    return whole


def error_of(panel: PanelProblem, weights: Floats) -> float:
    """How far off a bound may be: by rounding, and by what multipliers exceed the caps."""
    size, largest = float(weights.sum()), panel.largest_margin + panel.widest_offsets
    return rounding_error(panel.problem, weights) + 2.0 * panel.excess(weights) * largest * size
