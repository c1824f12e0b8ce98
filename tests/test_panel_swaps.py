"""Exchanges of features in panels: what is predicted of them, by hand, and where they lead."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cobic
from cobic.certified.effort import Effort
from cobic.certified.panel_relaxation import Arena
from cobic.certified.panel_swaps import PanelSwaps, _smooth_shares
from cobic.problem import PanelProblem
from cobic.search.budget import Budget
from strategies import examples

SIZE = {0: 3, 1: 2, 2: 2}


def asked(seed, *, tail=0.3, offset=False, groups=None):
    """Thirty features of three classes in twelve samples; with an offset two classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(12) % (2 if offset else 3)
    X = rng.normal(size=(12, 30)) + 2.0 * (np.arange(30) % (y.max() + 1) == y[:, None])
    size = {cls: SIZE[cls] for cls in range(y.max() + 1)}
    return PanelProblem(cobic.Problem(X, y), size, tail=tail, offset=offset, groups=groups)


def swaps_and_panel(panel, seed):
    """Exchanges among all features, and some panel."""
    rng, problem = np.random.default_rng(seed), panel.problem
    features = np.arange(problem.n_features)
    arena = Arena(panel, panel.low, features, problem.required, Budget(None, None, panel.total))
    chosen = np.zeros(features.size, dtype=np.bool_)
    taken = set()
    for cls, n in enumerate(panel.low):
        for feature in rng.permutation(np.flatnonzero(problem.feature_classes == cls)):
            group = None if panel.groups is None else int(panel.groups.of[feature])
            if chosen[problem.feature_classes == cls].sum() < n and group not in taken:
                chosen[feature] = True
                taken |= set() if group is None else {group}
    return PanelSwaps(arena, features, Effort()), chosen


@settings(max_examples=examples(40))
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.2, 0.5, 1.0]), st.floats(0.01, 3.0), st.booleans())
def test_smooth_shares_are_the_best_ones(seed, tail, tau, offset):
    panel = asked(seed, tail=tail, offset=offset)
    rng = np.random.default_rng(seed)
    margins = rng.normal(size=panel.problem.comparisons.other.shape)
    shares, _ = _smooth_shares(panel, margins, tau)
    caps = np.ones(12) if panel.caps is None else panel.caps
    assert shares.sum() == pytest.approx(1.0)
    assert (shares.sum(axis=1) <= caps + 1e-9).all()

    def smooth(of):
        positive = of[of > 0]
        return float((of * margins).sum() + tau * (positive * np.log(positive)).sum())

    for _ in range(20):  # what is moved from one comparison to another never lowers it
        (j, q), (i, p) = (tuple(rng.integers(margins.shape)) for _ in range(2))
        step = min(shares[j, q], caps[i] - shares.sum(axis=1)[i] if i != j else 1.0) * rng.random()
        if step <= 0 or (offset and panel.problem.labels[i] != panel.problem.labels[j]):
            continue
        moved = shares.copy()
        moved[j, q] -= step
        moved[i, p] += step
        assert smooth(moved) >= smooth(shares) - 1e-9


@settings(max_examples=examples(20))
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3, 1.0]))
def test_what_pairs_leave_is_what_it_says(seed, tail):
    panel = asked(seed, tail=tail)
    swaps, chosen = swaps_and_panel(panel, seed)
    tau = 0.5
    margins = panel.problem.comparisons.margins(panel.problem.means(chosen))
    shares, cut = _smooth_shares(panel, margins, tau)
    tangent = swaps._tangent(chosen, tau)
    (out, into), left = swaps._singles(chosen, tangent)

    def energy(*exchanges):
        changed = chosen.copy()
        for at in exchanges:
            changed[out[at]], changed[into[at]] = False, True
        change = (panel.problem.comparisons.margins(panel.problem.means(changed)) - margins) / tau
        loose = (shares * np.exp(-change))[~cut].sum()
        return loose - (shares * change)[cut].sum()

    both = tangent.of_pairs(out, into)
    for a, b in np.random.default_rng(seed).integers(out.size, size=(10, 2)):
        assert left[a] == pytest.approx(energy(a), rel=1e-4, abs=1e-4)
        if out[a] != out[b] and into[a] != into[b]:
            assert both[a, b] == pytest.approx(energy(a, b), rel=1e-4, abs=1e-4)


@settings(max_examples=examples(20))
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3]), st.booleans(), st.booleans())
def test_climbs_lead_to_better_panels(seed, tail, offset, grouped):
    groups = (np.random.default_rng(seed).integers(0, 20, 30)).tolist() if grouped else None
    try:
        panel = asked(seed, tail=tail, offset=offset, groups=groups)
    except cobic.InputError:  # groups leave none
        return
    swaps, chosen = swaps_and_panel(panel, seed)
    if not panel.admits(chosen):  # groups got in the way
        return
    rng, value = np.random.default_rng(seed), swaps.tail_margin(chosen)
    for _ in range(3):
        better, found = swaps.climb(chosen)
        assert panel.admits(better)
        assert found >= value
        assert found == pytest.approx(swaps.tail_margin(better))
        chosen = swaps.elsewhere(better, rng)
        value = swaps.tail_margin(chosen)
        assert panel.admits(chosen)


def test_two_at_once_where_one_exchange_does_not_help():
    X = np.array([[9.0, 0, 6, 6, 0], [0, 9, 6, 6, 0], [0, 0, 0, 0, 5]])  # 0 and 1, or 2 and 3
    panel = PanelProblem(cobic.Problem(X, ["a", "a", "b"]), {"a": 2, "b": 1}, tail=0)
    features = np.arange(5)
    arena = Arena(panel, panel.low, features, panel.problem.required, Budget(None, None, 3))
    start = np.array([True, True, False, False, True])
    better, value = PanelSwaps(arena, features, Effort(panel_heats=(0.1,))).climb(start)
    assert better.tolist() == [False, False, True, True, True]
    assert value == pytest.approx(5.0)
