"""Soft margins: the objective and its bound against brute force, certificates, label errors."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cobic
from clocks import Ticking, time_by
from cobic.problem.identity import checksum
from oracle import Oracle
from strategies import TAME, examples, instances, margins
from test_constraints import constrained

PRICES = st.sampled_from([0.05, 0.3, 1.0, 2.5])


@settings(max_examples=examples(500), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), instance=instances(values=TAME, max_features=7), price=PRICES)
def test_the_optimum_is_that_of_brute_force(data, instance, price):
    X, y = instance
    alpha, beta = data.draw(margins(len(y)))
    check_against_brute_force(X, y, price, alpha=alpha, beta=beta)


@settings(max_examples=examples(250), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=constrained(), price=PRICES)
def test_constraints_and_soft_margins_go_together(case, price):
    X, y, fixed_in, fixed_out, groups = case
    check_against_brute_force(X, y, price, fixed_in=fixed_in, fixed_out=fixed_out, groups=groups)


def check_against_brute_force(X, y, price, effort=None, **choices):
    try:
        problem = cobic.Problem(X, y, slack_penalty=price, **choices)
    except cobic.InputError:
        return
    best = Oracle(X, y, **choices).soft_optimum(price)
    result = cobic.solve(problem, target_gap=0.0, max_programs=20_000, effort=effort)
    checked = cobic.verify(problem, json.loads(json.dumps(result.certificate)))
    assert checked.ok, checked.reason
    if best is None:
        assert result.status == "infeasible"
        return
    assert result.objective == pytest.approx(float(best), rel=1e-9, abs=1e-9)
    assert result.objective_bound >= float(best) - 1e-9
    assert result.status == "optimal"
    assert (checked.objective, checked.objective_bound) == (result.objective, result.objective_bound)


@pytest.fixture(scope="module")
def solved():
    data = cobic.datasets.make_expression(18, class_sizes=(6, 5), test_sizes=None, contaminated=0.15, seed=3)
    problem = data.problem(alpha=20.0, slack_penalty=0.02)
    return problem, cobic.solve(problem, max_programs=5000)


def test_the_example_has_violations_and_a_bound(solved):
    problem, result = solved
    assert result.objective < result.n_selected
    assert result.gap == pytest.approx(result.objective_bound - result.objective)
    assert 0 <= result.gap <= 1e-4 * problem.n_selectable
    assert cobic.verify(problem, result.certificate).ok


FORGERIES = {
    "a lower bound": lambda c: {"objective_bound": c["objective_bound"] - 0.5, "selected": []},
    "a bound below the selection": lambda c: {"objective_bound": c["objective_bound"] - 0.5},
    "multipliers above the price": lambda c: {"multipliers": [[[0, 1 << 31]] for _ in c["multipliers"]]},
    "weak multipliers": lambda c: {"multipliers": [[[0, 1]] for _ in c["multipliers"]]},
    "no tree": lambda c: {"tree": []},
    "an empty box that is not": lambda c: {"tree": [["empty"]]},
    "a bound that is no number": lambda c: {"objective_bound": float("nan")},
    "a bound on the number of features": lambda c: {"upper_bound": c["upper_bound"] - 1},
    "another price": lambda c: {"problem": {**c["problem"], "slack_penalty": 0.03}},
    "features fixed by multipliers": lambda c: {"tree": [["fix", 0], *c["tree"]]},
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forgery_with_a_right_checksum_is_refused(solved, forgery):
    problem, result = solved
    forged = {**result.certificate, **FORGERIES[forgery](result.certificate)}
    forged["checksum"] = checksum(forged)
    assert not cobic.verify(problem, forged).ok


def test_the_answer_is_the_same_in_other_kinds_of_table(solved, as_kind):
    problem, reference = solved
    X = problem.matrix.rows(np.arange(problem.n_samples))
    other = cobic.Problem(as_kind(X), problem.classes[problem.labels], alpha=20.0, slack_penalty=0.02)
    result = cobic.solve(other, max_programs=5000)
    np.testing.assert_array_equal(result.support, reference.support)


def test_a_high_price_gives_the_hard_answer(expression):
    hard = cobic.solve(expression.problem(alpha=10.0))
    soft = cobic.solve(expression.problem(alpha=10.0, slack_penalty=1e6), max_programs=200)
    assert hard.status == "optimal"
    assert soft.objective_bound >= hard.n_selected
    assert soft.objective == pytest.approx(hard.n_selected, abs=1.0)


def test_no_price_keeps_everything(expression):
    result = cobic.solve(expression.problem(slack_penalty=1e-9))
    assert result.n_selected == expression.X.shape[1]
    assert result.status == "optimal"


def test_the_automatic_price_does_not_depend_on_the_unit(expression):
    one = expression.problem(slack_penalty="auto")
    other = cobic.Problem(expression.X * 8.0, expression.y, slack_penalty="auto")
    assert one.slack_penalty == pytest.approx(8.0 * other.slack_penalty)
    answers = [cobic.solve(problem, max_programs=100) for problem in (one, other)]
    assert answers[0].objective == pytest.approx(answers[1].objective, abs=0.5)


@pytest.mark.parametrize("price", [0.0, -1.0, "cheap", None, float("nan")])
def test_prices_that_are_none_are_refused(expression, price):
    with pytest.raises(cobic.InputError, match="slack_penalty is"):
        expression.problem(slack_penalty=price)


@pytest.mark.parametrize("method", ["bilevel-vns", "fixed-point"])
def test_methods_that_know_no_soft_margins_say_so(expression, method):
    with pytest.raises(cobic.InputError, match="knows no soft margins"):
        cobic.solve(expression.problem(slack_penalty=1.0), method=method)


def test_progress_tells_the_objective_and_its_bound(expression):
    problem = expression.problem(alpha=30.0, slack_penalty="auto")
    events = []
    result = cobic.solve(problem, on_progress=events.append, max_programs=60)
    assert result.history == tuple(events)
    known = [event for event in events if event.gap is not None and event.soft]
    assert known
    for event in known:
        assert event.gap == event.objective_bound - event.objective >= -1e-6
        assert event.upper_bound == problem.n_selectable >= event.n_selected
    objectives = [event.objective for event in events if event.objective is not None]
    bounds = [event.objective_bound for event in events if event.objective_bound is not None]
    assert objectives == sorted(objectives)
    assert bounds == sorted(bounds, reverse=True)
    assert objectives[-1] == result.objective
    assert bounds[-1] >= result.objective_bound


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (cobic.Progress(0.5, None, 90, 3, 2), "nothing yet, at most 90; 2 cases left to look at; 0.5 s"),
        (cobic.Progress(0.5, 80, 7129, 3), "80 features, at most 7129, gap 7049; 0.5 s"),
        (cobic.Progress(1, 80, 90, 3, objective=70.25), "80 features, objective 70.25; 1.0 s"),
        (
            cobic.Progress(1, 80, 90, 3, 4, objective=70.25, objective_bound=71.5),
            "80 features, objective 70.25, at most 71.5, gap 1.25; 4 cases left to look at; 1.0 s",
        ),
        (
            cobic.Progress(1, None, 90, 3, 4, objective_bound=71.5),
            "nothing yet, at most 71.5; 4 cases left to look at; 1.0 s",
        ),
    ],
)
def test_progress_is_one_line(event, line):
    assert str(event) == line


def test_violations_are_listed_worst_first(solved):
    problem, result = solved
    table = cobic.violation_table(problem, result.support)
    assert len(table) == (problem.margins(result.support) < 0).sum() > 0
    assert table["amount"].is_monotonic_decreasing
    sample = int(table["sample"][0])
    assert table["amount"][0] == pytest.approx(-problem.margins(result.support)[sample])
    assert table["name"][0] == problem.sample_names[sample]
    assert table["class"][0] == problem.classes[problem.labels[sample]]


def test_a_time_limit_leaves_a_valid_bound():
    rng = np.random.default_rng(0)
    problem = cobic.Problem(rng.standard_normal((150, 3000)), np.arange(150) % 3, alpha=0.3, slack_penalty=50.0)
    with time_by(Ticking()) as clock:
        result = cobic.solve(problem, time_limit=400)
    assert result.stopped_by == "time limit"
    assert clock.looks <= 405  # the last ones tell how long it took
    assert result.objective <= result.objective_bound
    assert cobic.verify(problem, result.certificate).ok


@pytest.mark.real_data
def test_flipped_labels_in_real_data_are_among_the_suspects(golub):
    found = flipped = 0
    for seed in range(5):
        wrong = np.random.default_rng(seed).choice(38, 2, replace=False)
        y = golub.y.copy()
        y[wrong] = np.where(y[wrong] == "ALL", "AML", "ALL")
        problem = cobic.Problem(golub.X, y, alpha=50.0, slack_penalty="auto")
        result = cobic.solve(problem)
        suspects = set(cobic.violation_table(problem, result.support)["sample"])
        assert len(suspects) <= 8
        found, flipped = found + len(suspects & set(wrong)), flipped + 2
    assert found >= 0.6 * flipped
    honest = golub.problem(alpha=50.0, slack_penalty="auto")
    assert len(cobic.violation_table(honest, cobic.solve(honest).support)) <= 2
