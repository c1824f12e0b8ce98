from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import cobic
from cobic.errors import InputError
from oracle import Oracle
from strategies import examples, instances, margins


@settings(max_examples=examples(2000), deadline=None)
@given(
    data=st.data(),
    instance=instances(),
    ties=st.sampled_from(["first", "exclude"]),
    beta_rule=st.sampled_from(["published", "sign-aware"]),
    sparse=st.booleans(),
)
def test_problem_agrees_with_rational_brute_force(data, instance, ties, beta_rule, sparse):
    X, y = instance
    alpha, beta = data.draw(margins(len(y)))
    support = np.array(data.draw(st.lists(st.booleans(), min_size=X.shape[1], max_size=X.shape[1])))
    problem = cobic.Problem(sp.csc_array(X) if sparse else X, y, alpha, beta, ties=ties, beta_rule=beta_rule)
    oracle = Oracle(X, y, alpha, beta, ties, beta_rule)

    assert problem.feature_classes.tolist() == oracle.feature_classes
    assert problem.n_ties == sum(lead == 0 for lead in oracle.leads)
    for eps in (0.0, 0.1, 0.25, 1.0):
        expected = [lead <= Fraction(eps) for lead in oracle.leads]
        assert problem.ambiguous_features(eps).tolist() == expected
    assert problem.is_consistent(support) == oracle.is_consistent(support)
    exact = oracle.margins(support)
    found = problem.margins(support)
    if exact is None:
        assert (found == -np.inf).all()
    else:
        assert [np.sign(margin) for margin in found] == [(margin > 0) - (margin < 0) for margin in exact]
        scale = np.abs(X).max(axis=1) * 4 + 2
        np.testing.assert_allclose(found, [float(margin) for margin in exact], rtol=1e-9, atol=1e-12 * scale.max())


@pytest.mark.parametrize(("own", "other"), [((0.1, 0.7), (0.8, 0.0)), ((0.8, 0.0), (0.1, 0.7))])
def test_a_margin_below_1e_minus_16_has_the_right_sign(own, other):
    exact = (sum(map(Fraction, own)) - sum(map(Fraction, other))) / 2
    assert 0 < abs(exact) < Fraction(1, 10**16)
    problem = cobic.Problem([[*own, *other], [-1.0, -1.0, 1.0, 1.0]], ["a", "b"])
    assert problem.feature_classes.tolist() == [0, 0, 1, 1]
    everything = np.ones(4, dtype=bool)
    assert problem.margins(everything)[0] == float(exact)
    assert problem.is_consistent(everything) == (exact > 0)


def test_cancellation_that_floating_point_gets_wrong():
    # Sample 0 sums to 1e16 + 1 - 1e16 = 1 exactly; in floating point the 1 is lost.
    X = np.array([[1e16, 1.0, -1e16, 0.0], [-2e16, -1.0, -2e16, 5.0]])
    problem = cobic.Problem(X, [0, 1])
    everything = np.ones(4, dtype=bool)
    assert problem.margins(everything)[0] == pytest.approx(1 / 3)
    X[0, 1] = -1.0
    problem = cobic.Problem(X, [0, 1], ties="first")
    assert problem.margins(everything)[0] == float(Oracle(X, [0, 1]).margins(everything)[0])


def test_values_near_the_largest_float_do_not_overflow():
    X = np.array([[1.7e308, 1.7e308, -1.7e308], [-1.7e308, -1.7e308, 1.7e308]])
    problem = cobic.Problem(X, [0, 1])
    assert problem.feature_classes.tolist() == [0, 0, 1]
    assert problem.is_consistent([True, True, True])
    assert np.isfinite(problem.margins([True, True, True])).all()


def test_the_same_problem_in_every_kind_of_table(as_any_kind):
    rng = np.random.default_rng(3)
    X = rng.integers(-40, 40, size=(12, 30)).astype(float)
    X[rng.random(X.shape) < 0.3] = 0
    y = np.repeat([0, 1, 2], 4)
    reference, problem = cobic.Problem(X, y, 0.5, 1.25), cobic.Problem(as_any_kind(X), y, 0.5, 1.25)
    support = rng.random(30) < 0.8
    np.testing.assert_array_equal(problem.feature_classes, reference.feature_classes)
    np.testing.assert_allclose(problem.margins(support), reference.margins(support), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(problem.class_means, reference.class_means, rtol=1e-12)


def test_the_constructor_does_not_change_its_input():
    X = np.array([[3.0, 1.0], [1.0, 4.0]])
    kept = X.copy()
    cobic.Problem(X, [0, 1]).margins([True, True])
    np.testing.assert_array_equal(X, kept)


def test_a_class_with_one_sample_and_constant_features_are_fine():
    problem = cobic.Problem([[3, 1, 7], [1, 4, 7]], ["a", "b"])
    assert problem.n_ties == 1
    assert problem.feature_classes.tolist() == [0, 1, 0]
    assert cobic.Problem([[3, 1, 7], [1, 4, 7]], ["a", "b"], ties="exclude").feature_classes.tolist() == [0, 1, -1]


def test_an_excluded_feature_cannot_be_part_of_a_consistent_selection():
    problem = cobic.Problem([[3, 1, 7], [1, 4, 7]], ["a", "b"], ties="exclude")
    assert problem.is_consistent([True, True, False])
    assert not problem.is_consistent([True, True, True])
    assert problem.n_selectable == 2


def test_names_come_from_a_frame_and_may_repeat():
    frame = pd.DataFrame([[3.0, 1.0], [1.0, 4.0]], columns=["g", "g"], index=["s1", "s2"])
    problem = cobic.Problem(frame, ["a", "b"])
    assert problem.feature_names == ("g", "g")
    assert problem.sample_names == ("s1", "s2")
    assert cobic.Problem(frame.to_numpy(), ["a", "b"]).feature_names is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"alpha": -1}, "alpha is -1: .*at least 0"),
        ({"alpha": float("nan")}, "alpha is nan"),
        ({"alpha": "much"}, "alpha is 'much'"),
        ({"alpha": [0, 1]}, r"alpha has shape \(2,\) for 3 samples"),
        ({"beta": 0.5}, "beta is 0.5: .*at least 1"),
        ({"beta": [1, 2, 0]}, "beta is 0 for sample 2"),
        ({"beta": float("inf")}, "beta is inf"),
        ({"beta": [[1, 1, 1]]}, "beta has shape"),
        ({"ties": "last"}, "ties is 'last': choose one of first, exclude"),
        ({"beta_rule": "other"}, "choose one of published, sign-aware"),
        ({"feature_names": ["a"]}, "feature_names has 1 names for 2"),
    ],
)
def test_parameters_out_of_range_are_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        cobic.Problem([[1, 2], [2, 1], [3, 0]], ["a", "b", "a"], **arguments)


@pytest.mark.parametrize(("bad", "words"), [(np.nan, "missing value .NaN."), (-np.inf, "infinite value")])
def test_the_first_value_that_is_not_finite_is_named(bad, words):
    frame = pd.DataFrame([[1.0, 2.0], [2.0, bad]], columns=["u", "v"], index=["p", "q"])
    with pytest.raises(InputError, match=rf"{words} at sample 1 \('q'\), feature 1 \('v'\): impute"):
        cobic.Problem(frame, ["a", "b"])


@pytest.mark.parametrize("support", [[True], [[True, True]], [2, 0], ["a", "b"]])
def test_a_selection_that_is_not_a_mask_is_refused(support):
    with pytest.raises(InputError, match="selection"):
        cobic.Problem([[3, 1], [1, 4]], ["a", "b"]).is_consistent(support)


@pytest.mark.parametrize("eps", [-1, float("nan"), float("inf")])
def test_an_eps_out_of_range_is_refused(eps):
    with pytest.raises(InputError, match="eps"):
        cobic.Problem([[3, 1], [1, 4]], ["a", "b"]).ambiguous_features(eps)
