"""Small random instances for hypothesis: few samples, few features, ties and zero margins on purpose."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

FULL = 100  # examples that hypothesis takes where nothing is said: the strength at which the tests give theirs


def examples(n):
    """How many examples a property gets: n at full strength, an eighth of them in the profile `quick`."""
    return max(1, n * settings().max_examples // FULL)


# Quarters and small integers make ties and margins of exactly zero common; the rest makes rounding matter.
VALUES = st.one_of(
    st.integers(-3, 3).map(float),
    st.integers(-12, 12).map(lambda v: v / 4),
    st.sampled_from([0.1, 0.2, 0.3, -0.1, 1 / 3, 1e16, -1e16, 1e-17, 5e-324, 1e300]),
)
# What a solver is asked to bear: cancellation, but no powers of ten beyond what it can scale.
ROUGH = st.one_of(
    st.integers(-3, 3).map(float),
    st.integers(-12, 12).map(lambda v: v / 4),
    st.sampled_from([0.1, 0.2, 0.3, -0.1, 1 / 3, 1e6, -1e6, 1e-5, 1e16, -1e16, 1e-17]),
)
TAME = st.integers(-8, 8).map(float)


@st.composite
def instances(draw, values=VALUES, max_features=6):
    k = draw(st.integers(2, 4))
    extra = draw(st.lists(st.integers(0, k - 1), max_size=4))
    y = draw(st.permutations([*range(k), *extra]))
    m = draw(st.integers(k, max_features))
    X = np.array(draw(st.lists(st.lists(values, min_size=m, max_size=m), min_size=len(y), max_size=len(y))))
    return X, list(y)


@st.composite
def margins(draw, n):
    alpha = st.sampled_from([0.0, 0.25, 0.5, 1.0, 0.1])
    beta = st.sampled_from([1.0, 1.25, 1.5, 2.0, 1.1])
    many = draw(st.booleans())
    if many:
        return draw(st.lists(alpha, min_size=n, max_size=n)), draw(st.lists(beta, min_size=n, max_size=n))
    return draw(alpha), draw(beta)
