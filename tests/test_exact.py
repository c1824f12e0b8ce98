import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cobic.problem.exact import exact_sum, signed_float

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(finite, max_size=30))
def test_exact_sum_is_the_sum_of_the_rationals(values):
    assert exact_sum(np.array(values, dtype=np.float64)) == sum(map(Fraction, values), Fraction(0))


def test_exact_sum_of_many_large_mantissas_does_not_overflow():
    values = np.full(200_000, math.nextafter(2.0, 0.0))
    assert exact_sum(values) == 200_000 * Fraction(math.nextafter(2.0, 0.0))


@given(st.fractions())
def test_signed_float_keeps_the_sign_and_rounds_to_nearest(value):
    rounded = signed_float(value)
    assert (rounded > 0) == (value > 0)
    assert (rounded < 0) == (value < 0)
    assert rounded == float(value)


def test_signed_float_of_extremes():
    assert signed_float(Fraction(1, 10**400)) == 5e-324
    assert signed_float(Fraction(-1, 10**400)) == -5e-324
    assert signed_float(Fraction(10**400)) == float(np.finfo(np.float64).max)
    assert signed_float(Fraction(-(10**400))) == -float(np.finfo(np.float64).max)
