import numpy as np
import pytest
from hypothesis import given, settings

import cobic
from cobic.search.budget import Budget
from cobic.search.repair import _Selection, repair
from oracle import Oracle
from strategies import TAME, examples, instances


def unlimited(problem):
    return Budget(None, None, problem.n_features)


@settings(max_examples=examples(300), deadline=None)
@given(instance=instances(values=TAME, max_features=8))
def test_what_repair_returns_is_consistent_and_cannot_be_extended(instance):
    X, y = instance
    problem, oracle = cobic.Problem(X, y), Oracle(X, y)
    mended = repair(problem, np.ones(problem.n_features, dtype=bool), unlimited(problem))
    if mended is None:
        return
    assert oracle.is_consistent(mended)
    for feature in np.flatnonzero(~mended):
        larger = mended.copy()
        larger[feature] = True
        assert not oracle.is_consistent(larger)


def test_repair_drops_few_features_of_real_looking_data(expression):
    problem = expression.problem()
    everything = np.ones(problem.n_features, dtype=bool)
    assert not problem.is_consistent(everything)
    mended = repair(problem, everything, unlimited(problem))
    assert problem.is_consistent(mended)
    assert mended.sum() > 0.95 * problem.n_features


@pytest.mark.parametrize("case", [{}, {"alpha": 2.0}, {"beta": 1.3}, {"beta": 1.3, "beta_rule": "sign-aware"}])
def test_predicted_margins_are_those_after_the_move(case):
    rng = np.random.default_rng(0)
    problem = cobic.Problem(rng.integers(-9, 30, (9, 20)), np.arange(9) % 3, **case)
    selection = _Selection(problem, rng.random(20) < 0.8)
    features = np.arange(20)
    predicted = selection.margins_after(features)
    for feature in features:
        moved = _Selection(problem, selection.support)
        moved.toggle(int(feature))
        direct = problem.comparisons.margins(problem.means(moved.support))
        np.testing.assert_allclose(moved.margins(), direct, atol=1e-9)
        np.testing.assert_allclose(predicted[:, :, feature], direct, atol=1e-9)
    # The first-order gain is exact: margins are linear in the mean that moves.
    weights = rng.random(predicted.shape[:2])
    change = ((predicted - selection.margins()[:, :, None]) * weights[:, :, None]).sum(axis=(0, 1))
    np.testing.assert_allclose(selection.gains(weights), change, atol=1e-9)


def test_repair_of_a_selection_without_a_class_gives_up():
    problem = cobic.Problem([[3, 1], [1, 4]], ["a", "b"])
    assert repair(problem, np.array([True, False]), unlimited(problem)) is None
