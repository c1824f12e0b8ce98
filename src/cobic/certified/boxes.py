"""Boxes of counts: how many features of each class there may be, from `low` to `high`, both included."""

import numpy as np

from cobic.matrix import Integers


def cut_to_total(low: Integers, high: Integers, total: int, *, or_more: bool) -> tuple[Integers, Integers]:
    """Boxes (…, k) cut down to what a total, or all from it on, allows; where nothing is left, low is above high."""
    others_high = high.sum(axis=-1, keepdims=True) - high
    others_low = low.sum(axis=-1, keepdims=True) - low
    least = np.maximum(low, total - others_high)
    return least, high if or_more else np.minimum(high, total - others_low)
