"""Features that must, must not, or only together be selected: against brute force, and what is said about mistakes."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cobic
from oracle import Oracle
from strategies import ROUGH, TAME, examples, instances, margins


@st.composite
def constrained(draw, values=TAME, max_features=7):
    """An instance with constraints that do not contradict each other by themselves."""
    X, y = draw(instances(values=values, max_features=max_features))
    m = X.shape[1]
    role = draw(st.lists(st.sampled_from(["", "", "", "in", "out"]), min_size=m, max_size=m))
    groups = None
    if draw(st.booleans()):
        groups = draw(st.lists(st.sampled_from([None, None, "a", "b"]), min_size=m, max_size=m))
    fixed = {kind: [i for i in range(m) if role[i] == kind] for kind in ("in", "out")}
    return X, y, fixed["in"], fixed["out"], groups


@settings(max_examples=examples(500), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    data=st.data(),
    case=st.one_of(constrained(), constrained(values=ROUGH, max_features=6)),
    ties=st.sampled_from(["first", "exclude"]),
)
def test_bound_and_selection_against_brute_force(data, case, ties):
    X, y, fixed_in, fixed_out, groups = case
    alpha, beta = data.draw(margins(len(y)))
    try:
        problem = cobic.Problem(X, y, alpha, beta, ties=ties, fixed_in=fixed_in, fixed_out=fixed_out, groups=groups)
    except cobic.InputError:
        # A contradiction, through a group or a tie: then no selection is admitted at all.
        oracle = Oracle(X, y, ties=ties, fixed_in=fixed_in, fixed_out=fixed_out, groups=groups)
        assert oracle.optimum() == 0
        return
    best = Oracle(X, y, alpha, beta, ties, fixed_in=fixed_in, fixed_out=fixed_out, groups=groups).optimum()
    result = cobic.solve(problem)
    if not problem.constraints.groups:
        assert (result.n_selected, result.upper_bound) == (best, best)
    assert result.n_selected <= best <= result.upper_bound
    if result.consistent:
        assert result.support[fixed_in].all()
        assert not result.support[fixed_out].any()
    checked = cobic.verify(problem, json.loads(json.dumps(result.certificate)))
    assert checked.ok, checked.reason
    assert checked.upper_bound == result.upper_bound


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=constrained(), method=st.sampled_from(["bilevel-vns", "fixed-point"]))
def test_other_methods_keep_the_rules(case, method):
    X, y, fixed_in, fixed_out, groups = case
    try:
        problem = cobic.Problem(X, y, fixed_in=fixed_in, fixed_out=fixed_out, groups=groups)
    except cobic.InputError:
        return
    oracle = Oracle(X, y, fixed_in=fixed_in, fixed_out=fixed_out, groups=groups)
    result = cobic.solve(problem, method=method)
    assert not result.consistent or oracle.is_consistent(result.support.tolist())


@pytest.fixture(scope="module")
def data():
    return cobic.datasets.make_expression(n_features=80, class_sizes=(9, 8), test_sizes=None, contaminated=0.08, seed=5)


def test_names_indices_and_masks_say_the_same(data):
    names = [data.feature_names[7], data.feature_names[3]]
    mask = np.zeros(80, dtype=bool)
    mask[[3, 7]] = True
    problems = [data.problem(fixed_in=given) for given in (names, [7, 3], mask)]
    for problem in problems:
        np.testing.assert_array_equal(np.flatnonzero(problem.required), [3, 7])


def test_a_name_stands_for_all_features_called_so(data):
    problem = cobic.Problem(data.X, data.y, feature_names=["x"] * 2 + ["y"] * 78, fixed_out=["x"])
    np.testing.assert_array_equal(np.flatnonzero(~problem.selectable), [0, 1])


def test_a_required_feature_costs_others(data):
    free = cobic.solve(data.problem())
    results = [cobic.solve(data.problem(fixed_in=[feature])) for feature in np.flatnonzero(~free.support)[:4]]
    assert {"optimal"} <= {result.status for result in results} <= {"optimal", "infeasible"}
    for feature, result in zip(np.flatnonzero(~free.support), results):
        assert result.n_selected <= free.n_selected
        assert result.status == "infeasible" or result.support[feature]


def test_forbidden_features_still_have_a_class(data):
    problem = data.problem(fixed_out=[0, 1])
    np.testing.assert_array_equal(problem.feature_classes, data.problem().feature_classes)
    assert problem.n_selectable == 78
    assert not problem.is_consistent(np.ones(80, dtype=bool))


def test_groups_that_are_drawn_in_or_out(data):
    groups = [None] * 80
    groups[0] = groups[1] = "a"
    groups[2] = groups[3] = "b"
    problem = data.problem(groups=groups, fixed_in=[0], fixed_out=[3])
    assert problem.required[[0, 1]].all()
    assert not problem.selectable[[2, 3]].any()
    assert problem.constraints.groups == ()


@pytest.mark.long
def test_probes_of_a_gene_go_together_at_scale():
    data = cobic.datasets.make_expression(n_features=900, contaminated=0.03, test_sizes=None, seed=4)
    genes = np.arange(900) // 3
    problem = data.problem(groups=genes.tolist())
    result = cobic.solve(problem)
    assert result.consistent
    by_gene = result.support.reshape(-1, 3)
    assert (by_gene.all(axis=1) | ~by_gene.any(axis=1)).all()
    assert result.upper_bound <= cobic.solve(data.problem()).upper_bound
    assert cobic.verify(problem, result.certificate).ok


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"fixed_in": ["nobody"]}, "fixed_in names 'nobody', but no feature is called so"),
        ({"fixed_in": [80]}, "fixed_in names feature 80, but there are features 0 to 79"),
        ({"fixed_out": [True, False]}, r"mask of shape \(2,\) for 80 features"),
        ({"fixed_in": [1], "fixed_out": [1]}, "fixed_out too"),
        ({"fixed_in": 3.5}, "give a mask, names, or indices"),
        ({"groups": ["a"]}, "groups has 1 labels for 80 features"),
        ({"fixed_in": [0], "fixed_out": [1], "groups": ["a", "a"] + [None] * 78}, "are in one group"),
    ],
)
def test_mistakes_are_named(data, choices, words):
    with pytest.raises(cobic.InputError, match=words):
        data.problem(**choices)


def test_names_need_names(data):
    with pytest.raises(cobic.InputError, match="the features have none"):
        cobic.Problem(data.X, data.y, fixed_in=["gene"])
