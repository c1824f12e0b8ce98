"""Exact sums of floating-point numbers, as rationals.

Every finite float is an integer times a power of two, so a sum of floats is a rational that can be computed without
any rounding. cobic calls these functions only where ordinary arithmetic cannot tell the sign of a number.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

_MANTISSA_BITS = 53  # of a float64
_LOW_BITS = 26  # half of them: sums of halves stay within int64
_LOW_MASK = (1 << _LOW_BITS) - 1

EPS = float(np.finfo(np.float64).eps)  # twice the largest relative error of one operation
TINY = float(np.finfo(np.float64).tiny)  # below this, errors are absolute


def exact_sum(values: NDArray[np.float64]) -> Fraction:
    """Sum finite floats without rounding."""
    fractions, exponents = np.frexp(values)
    mantissas = np.ldexp(fractions, _MANTISSA_BITS).astype(np.int64)
    total = Fraction(0)
    for exponent in np.unique(exponents):
        part = mantissas[exponents == exponent]
        # Two halves, because a sum of 53-bit integers can leave the range of int64.
        high, low = int((part >> _LOW_BITS).sum()), int((part & _LOW_MASK).sum())
        total += ((high << _LOW_BITS) + low) * Fraction(2) ** (int(exponent) - _MANTISSA_BITS)
    return total


def signed_float(value: Fraction) -> float:
    """Round a rational to the nearest float, never losing its sign."""
    try:
        nearest = float(value)
    except OverflowError:
        nearest = math.nextafter(math.inf, 0.0)
        return nearest if value > 0 else -nearest
    if nearest == 0.0 and value != 0:
        return math.copysign(math.ulp(0.0), 1.0 if value > 0 else -1.0)
    return nearest
