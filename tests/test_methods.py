import gc
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cobic
from clocks import CtrlC, Ticking, time_by
from cobic.errors import InputError
from cobic.methods import METHODS
from cobic.methods.bilevel_vns import _moved, violation
from cobic.search.lp import LpSolver
from oracle import Oracle
from strategies import TAME, examples, instances, margins


@pytest.fixture(scope="module", params=METHODS)
def method(request):
    return request.param


@settings(max_examples=examples(150), deadline=None)
@given(data=st.data(), instance=instances(values=TAME, max_features=7), name=st.sampled_from(sorted(METHODS)))
def test_answers_on_small_instances_are_true(data, instance, name):
    X, y = instance
    alpha, beta = data.draw(margins(len(y)))
    oracle = Oracle(X, y, alpha, beta)
    result = cobic.solve(cobic.Problem(X, y, alpha, beta), method=name)
    best = oracle.optimum()
    assert result.upper_bound >= best
    assert result.n_selected == result.support.sum()
    assert (result.status in ("optimal", "feasible")) == oracle.is_consistent(result.support)
    if result.consistent:
        assert result.n_selected <= best
    if result.status == "optimal":
        assert result.n_selected == best == result.upper_bound
    if result.status == "infeasible":
        assert best == 0
        assert result.upper_bound == 0


@pytest.fixture(scope="module")
def sized(method, expression):
    """Data of a size that the method can bear."""
    size = {"milp": 80, "sequential-binary": 200}.get(method, 600)
    names = expression.feature_names[:size]
    return replace(expression, X=expression.X[:, :size], feature_names=names, feature_kinds=None)


def test_a_method_selects_nearly_all_and_says_how(method, sized):
    problem = sized.problem()
    events = []
    result = cobic.solve(problem, method=method, on_progress=events.append)
    proves = method in ("certified", "milp")
    assert result.status == ("optimal" if proves else "feasible")
    assert problem.is_consistent(result.support)
    assert result.n_selected > 0.9 * problem.n_features
    assert result.worst_margin == problem.worst_margin(result.support)
    assert sum(result.counts) == result.n_selected == result.objective
    assert result.upper_bound == result.objective_bound
    assert result.upper_bound == (result.n_selected if proves else problem.n_features)
    assert result.gap == result.upper_bound - result.n_selected
    assert result.method == method
    assert (result.certificate is not None) == (method == "certified")
    assert result.stopped_by is None
    assert list(result.history) == events
    sizes = [event.n_selected for event in events if event.n_selected is not None]
    assert sizes == sorted(sizes)
    assert sizes[-1] == result.n_selected
    assert f"{result.n_selected} of {problem.n_features}" in repr(result)


def with_seed(method, X, y):
    return cobic.solve(cobic.Problem(X, y), method, seed=5, **({"restarts": 2} if method == "bilevel-vns" else {}))


@pytest.fixture(scope="module")
def reference(method, sized):
    return with_seed(method, sized.X, sized.y)


def test_the_same_seed_gives_the_same_answer_in_other_kinds_of_table(method, sized, reference, as_kind):
    again = with_seed(method, as_kind(sized.X), sized.y)
    np.testing.assert_array_equal(again.support, reference.support)


def test_all_features_consistent_is_optimal_at_once(method):
    result = cobic.solve(cobic.Problem([[3, 1], [1, 4]], ["a", "b"]), method=method)
    assert result.status == "optimal"
    assert result.n_selected == result.upper_bound == 2
    assert result.gap == 0


def test_a_class_without_features_is_proven_infeasible(method):
    result = cobic.solve(cobic.Problem([[3, 3], [1, 1]], ["a", "b"]), method=method)
    assert result.status == "infeasible"
    assert (result.n_selected, result.upper_bound, result.gap) == (0, 0, 0)
    assert "class b" in result.reason


def test_nothing_found_is_infeasible_only_if_proven(method):
    # Both samples of a are needed, but the second reads as b in every selection.
    X = [[9, 0, 0], [0, 5, 1], [1, 6, 2], [1, 6, 2]]
    problem = cobic.Problem(X, ["a", "a", "b", "b"])
    assert Oracle(X, ["a", "a", "b", "b"]).optimum() == 0
    result = cobic.solve(problem, method=method)
    assert result.status == ("infeasible" if method in ("certified", "milp") else "unknown")
    assert not result.consistent


def test_excluded_ties_are_never_selected(method, sized):
    X = np.hstack([sized.X, np.full((sized.X.shape[0], 3), 7.0)])
    problem = cobic.Problem(X, sized.y, ties="exclude")
    result = cobic.solve(problem, method=method)
    assert result.consistent
    assert not result.support[-3:].any()
    assert result.upper_bound <= problem.n_selectable == problem.n_features - problem.n_ties


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"method": "magic"}, "no method 'magic': choose one of certified, bilevel-vns, sequential-binary, "),
        ({"method": "fixed-point", "restarts": 3}, "has no option 'restarts': its options are max_iterations"),
        ({"method": "fixed-point", "max_iterations": 0}, "max_iterations is 0"),
        ({"method": "sequential-binary", "max_iterations": 0}, "max_iterations is 0"),
        ({"method": "sequential-binary", "program_seconds": 0}, "program_seconds is 0"),
        ({"method": "sequential-binary", "program_seconds": "long"}, "program_seconds is 'long'"),
        ({"method": "sequential-lp", "max_iterations": 1.5}, "max_iterations is 1.5"),
        ({"method": "milp", "rounds": -1}, "rounds is -1"),
        ({"method": "milp", "warm_start": "no"}, "warm_start is 'no'"),
        ({"method": "bilevel-vns", "criterion": "loose"}, "choose one of consistent, published"),
        ({"method": "bilevel-vns", "restarts": 0}, "restarts is 0"),
        ({"method": "bilevel-vns", "restarts": 1.5}, "restarts is 1.5"),
        ({"method": "bilevel-vns", "max_iterations": -1}, "max_iterations is -1"),
        ({"method": "bilevel-vns", "starting_range": 0.5}, "starting_range is 0.5 and max_range 0.2"),
        ({"method": "bilevel-vns", "range_growth": 1.0}, "range_growth is 1.0"),
        ({"time_limit": 0}, "time_limit is 0"),
        ({"time_limit": float("nan")}, "time_limit is nan"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 0.5}, "seed is 0.5"),
        ({"seed": True}, "seed is True"),
        ({"max_programs": True}, "max_programs is True: give a whole number of at least 1"),
        ({"method": "fixed-point", "max_iterations": 2.5}, "max_iterations is 2.5"),
    ],
)
def test_bad_arguments_are_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        cobic.solve(cobic.Problem([[3, 1], [1, 4]], ["a", "b"]), **arguments)


def test_runs_are_reported(expression):
    problem = expression.problem()
    result = cobic.solve(problem, method="bilevel-vns", restarts=3)
    assert 1 <= len(result.runs) <= 3
    for run in result.runs:
        assert run.inner_lps >= run.iterations >= 1
        assert run.g >= 0
    assert max(run.n_selected for run in result.runs) == result.n_selected


def test_published_stops_at_g_zero_and_is_judged_by_the_true_means(expression):
    problem = expression.problem()
    result = cobic.solve(problem, method="bilevel-vns", criterion="published", restarts=4)
    best = min(result.runs, key=lambda run: (run.g, -run.f))
    assert result.n_selected == best.f
    assert result.worst_margin == best.worst_margin
    assert result.consistent == (best.worst_margin > 0)


def test_g_is_the_printed_sum():
    rng = np.random.default_rng(0)
    X, y = rng.integers(-9, 20, (6, 12)).astype(float), [0, 0, 1, 1, 2, 2]
    problem = cobic.Problem(X, y, alpha=0.5, beta=1.5)
    shares, x = np.array([0.2, 0.3, 0.5]), rng.random(12) < 0.7
    total = 0.0
    for j, r in enumerate(y):
        part = [
            sum(X[j, i] for i in range(12) if x[i] and problem.feature_classes[i] == c) / shares[c] for c in range(3)
        ]
        total += sum(max(0.0, 1.5 * part[q] - part[r] + 0.5 * x.sum()) for q in range(3) if q != r)
    assert violation(problem, x, shares) == pytest.approx(total)


@given(seed=st.integers(0, 10_000), k=st.integers(2, 5), reach=st.floats(1e-4, 0.9))
def test_moved_shares_stay_inside_and_add_up(seed, k, reach):
    rng = np.random.default_rng(seed)
    least = 1e-3
    shares = rng.dirichlet(np.ones(k)) * (1 - k * least) + least
    for _ in range(20):
        new = _moved(shares, reach, least, rng)
        assert new.sum() == pytest.approx(1)
        assert (new >= least * (1 - 1e-9)).all()
        changed = np.flatnonzero(new != shares)
        assert changed.size <= 2
        assert np.abs(new - shares).max() <= reach * (1 + 1e-9)
        shares = new


@pytest.fixture(scope="module")
def noise():
    rng = np.random.default_rng(0)
    return cobic.Problem(rng.standard_normal((240, 6000)), np.arange(240) % 2, alpha=0.2)


@pytest.fixture(scope="module")
def slow_problem(method, noise):
    """A single program of it takes long; that noise has no 0-1 solution is seen before anything is solved."""
    if method == "sequential-binary":
        return cobic.datasets.make_expression(80, contaminated=0.1, test_sizes=None, seed=2).problem(20.0)
    return noise


@pytest.fixture(scope="module")
def without_seconds(method):
    """No limit that the solver itself would keep by its own clock: it binds sooner on a busy machine."""
    return {"program_seconds": 1e6} if method == "sequential-binary" else {}


@pytest.mark.parametrize("limit", [20, 200])
def test_the_time_limit_is_kept_also_in_the_middle_of_a_program(method, slow_problem, without_seconds, limit):
    with time_by(Ticking()) as clock:
        result = cobic.solve(slow_problem, method=method, time_limit=limit, **without_seconds)
    assert result.stopped_by == "time limit"
    assert clock.looks <= limit + 5  # the last ones tell how long it took
    # Half of the time without a selection ends the certified search, and another begins: one program more.
    assert result.lps <= 3 + (method == "certified")
    assert result.status in ("unknown", "feasible")


@pytest.mark.parametrize("at", [20, 200])
def test_ctrl_c_returns_the_best_so_far(method, slow_problem, without_seconds, at):
    before = signal.getsignal(signal.SIGINT)
    with time_by(CtrlC(at)) as clock:
        result = cobic.solve(slow_problem, method=method, time_limit=None, **without_seconds)
    assert result.stopped_by == "interrupt"
    assert clock.looks <= at + 5
    assert signal.getsignal(signal.SIGINT) is before


def test_solve_works_outside_the_main_thread(expression):
    results = []
    thread = threading.Thread(target=lambda: results.append(cobic.solve(expression.problem(), method="fixed-point")))
    thread.start()
    thread.join()
    assert results[0].consistent


def test_solvers_are_freed(expression):
    def alive():
        gc.collect()
        return sum(isinstance(each, LpSolver) for each in gc.get_objects())

    before = alive()
    for _ in range(3):
        cobic.solve(expression.problem(alpha=10.0), max_programs=30)
    assert alive() <= before
