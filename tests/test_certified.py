"""The certified method against brute force; certificates that verify, and damaged ones that do not."""

import copy
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cobic
from clocks import Ticking, time_by
from cobic.certified.effort import Effort
from cobic.checker import FORMAT, VERSION
from cobic.problem.identity import checksum, problem_parameters
from oracle import Oracle
from strategies import ROUGH, TAME, examples, instances, margins


def solve(problem, **options):
    return cobic.solve(problem, method="certified", **options)


@settings(max_examples=examples(2200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    data=st.data(),
    instance=st.one_of(instances(values=TAME, max_features=8), instances(values=ROUGH, max_features=7)),
    ties=st.sampled_from(["first", "exclude"]),
    beta_rule=st.sampled_from(["published", "sign-aware"]),
)
def test_the_optimum_is_that_of_brute_force_and_its_certificate_verifies(data, instance, ties, beta_rule):
    X, y = instance
    alpha, beta = data.draw(margins(len(y)))
    problem = cobic.Problem(X, y, alpha, beta, ties=ties, beta_rule=beta_rule)
    best = Oracle(X, y, alpha, beta, ties, beta_rule).optimum()
    result = solve(problem)
    assert result.upper_bound == best
    assert result.n_selected == best
    assert result.status == ("optimal" if best else "infeasible")
    checked = cobic.verify(problem, json.loads(json.dumps(result.certificate)))
    assert checked.ok, checked.reason
    assert checked.upper_bound == best
    assert checked.n_selected == (best or None)


@pytest.fixture(scope="module")
def solved():
    """A problem whose proof has splits of counts and of features, fixed features and several multipliers."""
    data = cobic.datasets.make_expression(
        n_features=60, class_sizes=(9, 8, 7), test_sizes=None, contaminated=0.15, seed=3
    )
    problem = data.problem(alpha=5.0)
    result = solve(problem)
    assert result.status == "optimal"
    assert result.n_selected < problem.n_features
    return problem, result


def tokens_of(certificate):
    return {token[0] for token in certificate["tree"]}


def test_the_example_proof_uses_every_kind_of_step(solved):
    assert {"count", "cut", "feature", "fix"} <= tokens_of(solved[1].certificate)


def resealed(certificate):
    return {**certificate, "checksum": checksum(certificate)}


def test_what_is_proven_is_told(solved):
    problem, result = solved
    checked = cobic.verify(problem, result.certificate)
    assert checked.ok
    assert (checked.n_selected, checked.upper_bound) == (result.n_selected, result.upper_bound)
    assert f"a selection of {result.n_selected} features is consistent" in checked.reason
    assert checked.reason.endswith("it is optimal")


def leaves(value, path=()):
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, (*path, key))
    elif isinstance(value, list) and value:
        for index, each in enumerate(value):
            yield from leaves(each, (*path, index))
    else:
        yield path


def changed(certificate, path):
    damaged = copy.deepcopy(certificate)
    target = damaged
    for step in path[:-1]:
        target = target[step]
    value = target[path[-1]]
    target[path[-1]] = f"{value}x" if isinstance(value, str) else value + 1 if isinstance(value, (int, float)) else 1
    return damaged


@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_value_anywhere_is_refused(solved, data):
    problem, result = solved
    path = data.draw(st.sampled_from(list(leaves(result.certificate))))
    assert not cobic.verify(problem, changed(result.certificate, path)).ok


def selection_with_other_bit(certificate):
    missing = next(i for i in range(60) if i not in certificate["selected"])
    return {"selected": sorted([*certificate["selected"], missing]), "upper_bound": certificate["upper_bound"] + 1}


def without_a_leaf(certificate):
    place = next(i for i, token in enumerate(certificate["tree"]) if token[0] == "cut")
    return {"tree": certificate["tree"][:place] + certificate["tree"][place + 1 :]}


def with_a_moved_edge(certificate):
    tree = copy.deepcopy(certificate["tree"])
    token = next(token for token in tree if token[0] == "count")
    token[2] -= 4
    return {"tree": tree}


def with_weak_multipliers(certificate):
    return {"multipliers": [[[0, 1]] for _ in certificate["multipliers"]]}


FORGERIES = {
    "a larger selection": selection_with_other_bit,
    "a lower bound": lambda c: {"selected": [], "upper_bound": c["upper_bound"] - 1},
    "a bound below the selection": lambda c: {"upper_bound": c["upper_bound"] - 1},
    "a missing leaf": without_a_leaf,
    "an additional leaf": lambda c: {"tree": [*c["tree"], ["cut", 0]]},
    "no tree": lambda c: {"tree": []},
    "a moved edge": with_a_moved_edge,
    "weak multipliers": with_weak_multipliers,
    "zero multipliers": lambda c: {"multipliers": [[] for _ in c["multipliers"]]},
    "zero multipliers and slopes": lambda c: {
        "multipliers": [[]],
        "slopes": [0.0],
        "tree": [["cut", 0]],
        "upper_bound": len(c["selected"]),
    },
    "negative multipliers": lambda c: {"multipliers": [[[i, -v] for i, v in each] for each in c["multipliers"]]},
    "multipliers out of range": lambda c: {"multipliers": [[[10**6, 1]] for _ in c["multipliers"]]},
    "an unknown step": lambda c: {"tree": [["trust", "me"], *c["tree"]]},
    "an empty box that is not": lambda c: {"tree": [["empty"]]},
    "features fixed too early": lambda c: {"tree": [["fix", 0], *c["tree"]]},
    "a selection leaf that is not one": lambda c: {"tree": [["selection"]]},
    "no such multipliers": lambda c: {"tree": [["cut", 10**6]]},
    "no such class": lambda c: {"tree": [["count", 99, 3], *c["tree"]]},
    "no such feature": lambda c: {"tree": [["feature", 10**6], *c["tree"]]},
    "slopes that are not numbers": lambda c: {"slopes": ["steep"] * len(c["slopes"])},
    "a slope beyond all numbers": lambda c: {"slopes": [10**400] * len(c["slopes"])},
    "a count beyond all numbers": lambda c: {"tree": [["count", 0, 10**30], *c["tree"]]},
    "a feature beyond all numbers": lambda c: {"tree": [["feature", 10**30], *c["tree"]]},
    "infinite slopes": lambda c: {"slopes": [float("inf")] * len(c["slopes"])},
    "repeated features": lambda c: {"selected": [*c["selected"], c["selected"][0]]},
    "features that do not exist": lambda c: {"selected": [*c["selected"][:-1], 10**6]},
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forgery_with_a_right_checksum_is_refused(solved, forgery):
    problem, result = solved
    checked = cobic.verify(problem, resealed({**result.certificate, **FORGERIES[forgery](result.certificate)}))
    assert not checked.ok
    assert checked.upper_bound is None


def forged(problem, bound, tree, multipliers=(), slopes=None, objective_bound=None, selected=()):
    """A certificate made up from nothing, with a right checksum."""
    certificate = {
        "format": FORMAT,
        "version": VERSION,
        "data": problem.digest,
        "problem": problem_parameters(problem),
        "selected": list(selected),
        "upper_bound": bound,
        "objective_bound": bound if objective_bound is None else objective_bound,
        "multipliers": [list(each) for each in multipliers],
        "slopes": [0.0] * len(multipliers) if slopes is None else slopes,
        "tree": list(tree),
    }
    return resealed(certificate)


# Consistent selections of 2 and of 4 features, none of 3.
WITH_A_HOLE = np.array(
    [[-2.0, 4.0, 1.0, 0.0], [-3.0, -4.0, -4.0, 3.0], [3.0, -1.0, 2.0, 1.0], [-1.0, -3.0, -4.0, -1.0]]
)


def exhaustive_tree(problem, total):
    """A right proof that no selection has exactly so many features: every selection one by one."""
    sizes = problem.feature_class_sizes
    free = [int(feature) for feature in np.flatnonzero(problem.selectable)]
    tokens = []
    for first in range(max(1, total - sizes[1]), min(sizes[0], total - 1) + 1):
        tokens.append(["count", 0, first])
        tokens += decisions(problem, free, (), np.array([first, total - first]))
    return [*tokens, ["empty"]]


def decisions(problem, free, chosen, counts):
    left = counts - np.bincount(problem.feature_classes[list(chosen)], minlength=2)
    rest = np.bincount(problem.feature_classes[free], minlength=2)
    if (left < 0).any() or (left > rest).any():
        return [["cut", 0]]
    if ((left == 0) | (left == rest)).all():
        return [["selection"]]
    rest_of = [*free[1:]]
    out, into = (decisions(problem, rest_of, each, counts) for each in (chosen, (*chosen, free[0])))
    return [["feature", free[0]], *out, *into]


def test_a_proof_about_one_total_says_nothing_about_larger_ones():
    problem = cobic.Problem(WITH_A_HOLE, [0, 1, 0, 1])
    assert Oracle(WITH_A_HOLE, [0, 1, 0, 1]).consistent_sizes() == {2, 4}
    tree = exhaustive_tree(problem, 3)
    for attempt in (
        tree,
        [["or more"], *tree],
        [*tree, *exhaustive_tree(problem, 4)],
        [*tree, ["or more"], ["cut", 0]],
    ):
        assert not cobic.verify(problem, forged(problem, 2, attempt, [[[0, 1]]])).ok
    assert cobic.solve(problem).n_selected == 4


def many_classes():
    """One sample per class, each feature high in its own class: everything is consistent."""
    of = np.r_[np.arange(23), np.full(1029, 23)]
    X = np.zeros((24, of.size))
    X[of, np.arange(of.size)] = 1.0
    return cobic.Problem(X, np.arange(24))


def test_a_huge_slope_proves_nothing():
    problem = many_classes()
    assert problem.is_consistent(np.ones(1052, dtype=bool))
    slope = -1.6836386527807324e271
    for tree in ([["cut", 0]], [["or more"], ["cut", 0]]):
        assert not cobic.verify(problem, forged(problem, 1051, tree, [[[0, 1]]], [slope])).ok


def test_numbers_that_overflow_prove_nothing():
    a = 0.6e308
    problem = cobic.Problem([[a, -a], [-a, a]], [0, 1], alpha=1e308)
    assert problem.is_consistent([True, True])
    certificate = forged(problem, 0, [["or more"], ["cut", 0]], [[[0, 1], [1, 1]]])
    assert not cobic.verify(problem, certificate).ok


def test_rounding_in_a_soft_objective_proves_nothing():
    X, beta = [[2.213577062652147, 1.4813171457840233], [-5.0, 50.0]], [1.4943302782609589, 1.0]
    problem = cobic.Problem(X, [0, 1], beta=beta, slack_penalty=1e15)
    exact = Oracle(X, [0, 1], beta=beta).soft_optimum(1e15)
    rounded = problem.objective([True, True])
    assert rounded < exact <= problem.objective_ceiling([True, True])
    certificate = forged(problem, 2, [["selection"]], objective_bound=rounded, selected=[0, 1])
    assert not cobic.verify(problem, certificate).ok


def test_large_margins_of_soft_problems_prove_nothing():
    alpha = np.zeros(44)
    alpha[0] = 2.0**53 + 6
    problem = cobic.Problem(np.eye(44), np.arange(44), alpha=alpha, slack_penalty=1.0)
    certificate = forged(problem, 44, [["cut", 0]], [[[0, 2**30]]], objective_bound=-9007199254740964.0)
    assert not cobic.verify(problem, certificate).ok


@pytest.mark.parametrize(
    "token",
    [["feature", True], ["count", True, 1], ["count", False, 1], ["cut", False], ["fix", True], ["count", 0, None]],
)
def test_tokens_that_are_not_numbers_are_refused(token):
    problem = cobic.Problem([[5, 1, 1], [4, 2, 2], [1, 6, 1], [2, 5, 3]], list("aabb"), alpha=3.5)
    assert not cobic.verify(problem, forged(problem, 2, [token, ["cut", 0]], [[[0, 1]]])).ok


def test_other_data_labels_or_margins_are_refused(solved):
    problem, result = solved
    X = problem.matrix.rows(np.arange(problem.n_samples))
    y = problem.classes[problem.labels]
    X_other = X.copy()
    X_other[3, 7] = np.nextafter(X_other[3, 7], np.inf)
    swapped = y.copy()
    swapped[[0, -1]] = swapped[[-1, 0]]
    others = [
        cobic.Problem(X_other, y, alpha=5.0),
        cobic.Problem(X, swapped, alpha=5.0),
        cobic.Problem(X, y, alpha=5.000001),
        cobic.Problem(X, y, alpha=5.0, beta=1.01),
        cobic.Problem(X, y, alpha=5.0, beta_rule="sign-aware"),
        cobic.Problem(X, y, alpha=5.0, ties="exclude"),
        cobic.Problem(X[:, :-1], y, alpha=5.0),
    ]
    assert cobic.verify(cobic.Problem(X, y, alpha=5.0), result.certificate).ok
    assert not any(cobic.verify(other, result.certificate).ok for other in others)


@pytest.mark.parametrize("document", [None, [], {}, {"format": "cobic-certificate", "version": 2}, "text"])
def test_what_is_no_certificate_is_refused(solved, document):
    assert not cobic.verify(solved[0], document).ok


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.long)])
def test_the_answer_does_not_depend_on_the_order_of_the_columns(expression, expression_answer, seed):
    reference, _ = expression_answer
    order = np.random.default_rng(seed).permutation(expression.X.shape[1])
    result = solve(cobic.Problem(expression.X[:, order], expression.y))
    np.testing.assert_array_equal(result.support, reference.support[order])
    assert result.upper_bound == reference.upper_bound


def test_the_answer_is_the_same_in_other_kinds_of_table_and_verifies(solved, as_kind):
    problem, reference = solved
    X = problem.matrix.rows(np.arange(problem.n_samples))
    problem = cobic.Problem(as_kind(X), problem.classes[problem.labels], alpha=5.0)
    result = solve(problem)
    np.testing.assert_array_equal(result.support, reference.support)
    assert result.status == "optimal"
    assert cobic.verify(problem, reference.certificate).ok


@pytest.mark.parametrize("time_limit", [5, 50, 1000])
def test_a_time_limit_leaves_a_valid_bound_and_certificate(time_limit):
    rng = np.random.default_rng(0)
    problem = cobic.Problem(rng.standard_normal((200, 6000)), np.arange(200) % 3, alpha=0.1)
    with time_by(Ticking()) as clock:
        result = solve(problem, time_limit=time_limit)
    assert result.stopped_by == "time limit"
    assert clock.looks <= time_limit + 5  # the last ones tell how long it took
    assert result.status in ("unknown", "feasible", "optimal")
    assert result.upper_bound >= result.n_selected
    checked = cobic.verify(problem, result.certificate)
    assert checked.ok, checked.reason
    assert checked.upper_bound == result.upper_bound


def test_progress_tells_incumbent_and_bound(expression_answer):
    result, events = expression_answer
    bounds, sizes = [event.upper_bound for event in events], [event.n_selected or 0 for event in events]
    assert bounds == sorted(bounds, reverse=True)
    assert sizes == sorted(sizes)
    assert events[-1].gap == 0
    assert result.history == tuple(events)


def test_data_that_no_selection_fits_are_proven_infeasible():
    rng = np.random.default_rng(1)
    problem = cobic.Problem(rng.standard_normal((60, 8)), np.arange(60) % 2)
    result = solve(problem)
    assert result.status == "infeasible"
    checked = cobic.verify(problem, result.certificate)
    assert (checked.ok, checked.upper_bound, checked.reason) == (True, 0, "no selection is consistent")


def test_many_classes_do_not_hang():
    data = cobic.datasets.make_expression(400, class_sizes=(4,) * 9, test_sizes=None, contaminated=0.03, seed=2)
    result = solve(data.problem(), max_programs=100)
    assert result.lps < 200  # what is begun is ended
    assert result.upper_bound < 400
    assert cobic.verify(data.problem(), result.certificate).ok


@pytest.mark.parametrize("value", [0, -1, 2.5, "many"])
def test_max_programs_must_be_a_positive_whole_number(value):
    with pytest.raises(cobic.InputError, match="max_programs"):
        solve(cobic.Problem([[3, 1, 2], [1, 4, 2], [0, 1, 1]], ["a", "b", "a"]), max_programs=value)


def test_numbers_that_the_linear_programs_cannot_cope_with_are_still_decided():
    X = np.zeros((6, 7))
    X[0] = [1, 2, 0, 2, -1e6, 1, -1e6]
    X[1] = [1e6, 1, 0, 1.5, 0, 0, 1]
    X[2] = [0, 0, 0, 3, 1e16, 0, -1]
    X[3] = [1e6, 1, 0, 1.5, 1, 0, 0]
    X[4, 3], X[5, 2] = 1, 1
    y = [1, 2, 2, 0, 2, 1]
    problem = cobic.Problem(X, y)
    result = solve(problem)
    assert result.upper_bound == result.n_selected == Oracle(X, y).optimum()
    assert cobic.verify(problem, result.certificate).ok


def test_limits_of_the_search_can_be_given():
    data = cobic.datasets.make_expression(n_features=300, class_sizes=(30, 30), contaminated=0.15, seed=4)
    few, more = (cobic.solve(data.problem(), time_limit=None, effort=Effort(programs=limit)) for limit in (40, 400))
    assert few.lps < 100 < more.lps
    with pytest.raises(cobic.InputError, match="effort is 3: give"):
        cobic.solve(data.problem(), effort=3)
