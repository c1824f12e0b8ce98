"""Boxes of counts: how many features of each class there may be, from `low` to `high`, both included."""

from itertools import permutations

import numpy as np

from cobic.matrix import Floats, Integers


def cut_to_total(low: Integers, high: Integers, total: int, *, or_more: bool) -> tuple[Integers, Integers]:
    """Boxes (…, k) cut down to what a total, or all from it on, allows; where nothing is left, low is above high."""
    others_high = high.sum(axis=-1, keepdims=True) - high
    others_low = low.sum(axis=-1, keepdims=True) - low
    least = np.maximum(low, total - others_high)
    return least, high if or_more else np.minimum(high, total - others_low)


def nearest_counts(total: int, shares: Floats, low: Integers, high: Integers) -> Integers:
    """The counts with a total, inside a box, that are nearest to some shares."""
    wanted = np.clip(np.round(shares * total).astype(np.int64), low, high)
    while (excess := int(wanted.sum()) - total) != 0:
        movable = wanted > low if excess > 0 else wanted < high
        room = high if excess < 0 else wanted
        cls = int(np.flatnonzero(movable)[np.argmax(room[movable])])
        left = wanted[cls] - low[cls] if excess > 0 else high[cls] - wanted[cls]
        step = min(max(1, abs(excess) // movable.sum()), int(left))
        wanted[cls] -= np.sign(excess) * step
    counts: Integers = wanted
    return counts


def moved_counts(counts: Integers, step: int, low: Integers, high: Integers) -> list[Integers]:
    """Counts of the same total inside a box, with more of one class and as much less of another."""
    found = []
    for into, out in permutations(range(counts.size), 2):
        moved = counts.copy()
        moved[into] += step
        moved[out] -= step
        if moved[into] <= high[into] and moved[out] >= low[out]:
            found.append(moved)
    return found
