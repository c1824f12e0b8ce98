"""Panels against a complete search in rationals, and what their certificates prove."""

import json
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

import cobic
from cobic.certified.effort import Effort
from cobic.certified.panel_relaxation import root_at
from cobic.certified.panel_root import Tails
from cobic.certified.panel_search import PanelSearch
from cobic.cli import main
from cobic.problem import PanelProblem
from cobic.problem.identity import checksum
from cobic.search.budget import Budget
from oracle import Oracle
from strategies import examples


def exact_tail(margins, weights, tail):
    """Mean of the worst share of the samples' margins."""
    if tail == 0:
        return min(margins)
    total, left, value = sum(weights), Fraction(1), Fraction(0)
    for margin, weight in sorted(zip(margins, weights)):
        share = min(left, weight / (total * tail))
        value, left = value + share * margin, left - share
    return value


def best_panel(oracle, low, high, total, weights, tail):
    """The largest tail margin of all panels, by looking at every one."""
    allowed = [i for i in range(oracle.m) if oracle.feature_classes[i] >= 0]
    best = None
    for chosen in combinations(allowed, total):
        counts = [sum(oracle.feature_classes[i] == r for i in chosen) for r in range(len(oracle.classes))]
        support = [i in chosen for i in range(oracle.m)]
        if not all(a <= n <= b for a, n, b in zip(low, counts, high)) or not oracle.admits(support):
            continue
        value = exact_tail(oracle.margins(support), weights, tail)
        best = value if best is None else max(best, value)
    return best


def solved(panel, **choices):
    search = PanelSearch(panel, Budget(None, None, panel.total), **choices)
    search.run()
    return search


@st.composite
def panels(draw):
    n_classes = draw(st.integers(2, 4))
    n_samples, n_features = draw(st.integers(n_classes, 8)), draw(st.integers(n_classes, 9))
    y = [draw(st.integers(0, n_classes - 1)) for _ in range(n_samples)]
    y[:n_classes] = range(n_classes)
    cells = st.one_of(st.integers(-4, 9).map(float), st.floats(-5, 5, allow_subnormal=False))
    X = np.array([[draw(cells) for _ in range(n_features)] for _ in range(n_samples)])
    chosen = {"beta": draw(st.sampled_from([1.0, 1.5])), "ties": draw(st.sampled_from(["first", "exclude"]))}
    for place, name in enumerate(draw(st.sampled_from([(), ("fixed_out",), ("fixed_in",), ("fixed_in", "fixed_out")]))):
        chosen[name] = [draw(st.integers(place * n_features // 2, n_features - 1 - (1 - place) * n_features // 2))]
    tail = draw(st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0]))
    weights = draw(st.sampled_from(["equal", "balanced", "given"]))
    if weights == "given":
        weights = [draw(st.integers(0, 3)) for _ in range(n_samples)]
        weights[0] += 1
    return X, y, chosen, tail, weights, draw(st.booleans()), draw(st.integers(0, 1000))


@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(panels())
def test_the_best_of_all_panels(case):
    X, y, chosen, tail, weights, by_class, seed = case
    try:
        problem = cobic.Problem(X, y, **chosen)
    except cobic.InputError:
        return  # a feature is fixed in that ties leave out
    sizes = problem.feature_class_sizes
    if not sizes.all():
        return
    rng = np.random.default_rng(seed)
    counts = rng.integers(np.maximum(problem.required_sizes, 1), sizes + 1)
    size = dict(zip(problem.classes.tolist(), counts.tolist())) if by_class else int(counts.sum())
    panel = PanelProblem(problem, size, tail=tail, weights=weights)
    exact = [Fraction(float(weight)) for weight in panel.weights]
    oracle = Oracle(X, y, **chosen)
    best = best_panel(oracle, panel.low, panel.high, panel.total, exact, Fraction(tail))
    search = solved(panel)
    scale = 1e-6 * max(panel.largest_margin, 1e-9)
    assert search.incumbent.tail_margin == pytest.approx(float(best), abs=scale)
    assert float(best) <= search.bound <= float(best) + scale
    certificate = json.loads(json.dumps(search.certificate()))
    checked = cobic.verify(panel, certificate)
    assert checked.ok, checked.reason
    assert checked.objective == pytest.approx(float(best), abs=scale)
    forged = {**certificate, "objective_bound": float(best) - 2 * scale, "selected": []}
    assert not cobic.verify(panel, {**forged, "checksum": checksum(forged)}).ok


DATA = cobic.datasets.make_expression(n_features=60, seed=0)


@pytest.fixture(scope="module")
def found():
    return cobic.panel(DATA.X, DATA.y, size=4, tail=0.2)


def test_the_answer_says_what_was_found(found):
    assert found.status == "optimal"
    assert found.gap < 1e-6
    assert sum(found.counts) == found.support.sum() == len(found.features) == 4
    assert found.worst_margin == found.problem.problem.worst_margin(found.support)
    assert [event.objective for event in found.history][-1] == found.tail_margin
    assert found.model.predict(DATA.X).tolist() == found.problem.problem.classes[_read_back(found)].tolist()
    assert "4 of 60 features" in repr(found)


def _read_back(found):
    return found.problem.problem.means(found.support).argmax(axis=1)


@pytest.mark.parametrize("kind", [np.float32, sparse.csr_array, np.asfortranarray])
def test_the_same_panel_for_the_same_numbers(found, kind):
    plain = np.asarray(DATA.X, dtype=np.float32)
    expected = cobic.panel(plain.astype(np.float64), DATA.y, size=4, tail=0.2)
    given = kind(plain) if kind is not np.float32 else plain
    other = cobic.panel(given, DATA.y, size=4, tail=0.2)
    assert other.support.tolist() == expected.support.tolist()
    assert other.status == "optimal"


def test_a_problem_in_place_of_data(found):
    problem = cobic.Problem(DATA.X, DATA.y)
    assert cobic.panel(problem, size=4, tail=0.2).support.tolist() == found.support.tolist()
    with pytest.raises(ValueError, match="a Problem is given, and y beside it"):
        cobic.panel(problem, DATA.y)
    with pytest.raises(ValueError, match="alpha is above 0"):
        cobic.panel(cobic.Problem(DATA.X, DATA.y, alpha=1.0), size=4)
    with pytest.raises(ValueError, match="slack_penalty is given"):
        cobic.panel(cobic.Problem(DATA.X, DATA.y, slack_penalty=1.0), size=4)
    with pytest.raises(ValueError, match="groups are given"):
        cobic.panel(cobic.Problem(DATA.X, DATA.y, groups=[0, 0, *[None] * 58]), size=4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"size": 1}, "size is 1: give a whole number from 2"),
        ({"size": 61}, "to 60, or the number of each class"),
        ({"size": {"A": 2}}, "give a number for each of A, B"),
        ({"size": {"A": 0, "B": 2}}, "size of A is 0: give a whole number from 1"),
        ({"size": 2.0}, "size is 2.0"),
        ({"tail": -0.1}, "tail is -0.1: give a share"),
        ({"tail": "all"}, "tail is 'all'"),
        ({"weights": "heavy"}, "neither 'equal' nor 'balanced'"),
        ({"weights": [0.0] * DATA.X.shape[0]}, "some above 0"),
        ({"weights": [1.0]}, "one number of at least 0 per sample"),
        ({"target_gap": -1}, "target_gap is -1"),
        ({"time_limit": 0}, "time_limit is 0"),
        ({"y": None}, "y is missing"),
    ],
)
def test_bad_input_is_one_line(arguments, words):
    with pytest.raises(ValueError, match=words) as raised:
        cobic.panel(DATA.X, **{"y": DATA.y, "size": 4, **arguments})
    assert "\n" not in str(raised.value)


def test_a_certificate_of_another_question_is_refused(found):
    for other in ({"tail": 0.3}, {"weights": "balanced"}, {"size": 5}, {"size": {"A": 2, "B": 2}}):
        asked = PanelProblem(found.problem.problem, **{"size": 4, "tail": 0.2, **other})
        checked = cobic.verify(asked, found.certificate)
        assert not checked.ok
        assert "rules are not the certificate's" in checked.reason
    assert not cobic.verify(found.problem.problem, found.certificate).ok


def test_forged_proofs_are_refused(found):
    """Without a split or an end, or with a better bound, the proof does not hold; what only decides features may go."""
    proof = found.certificate
    assert cobic.verify(found.problem, proof).ok
    needed = [at for at, step in enumerate(proof["tree"]) if step[0] != "fix"]
    assert len(needed) > 2
    some = needed[:: 1 + len(needed) // 20]
    forgeries = [{**proof, "tree": [*proof["tree"][:at], *proof["tree"][at + 1 :]]} for at in some]
    forgeries += [{**proof, "selected": proof["selected"][1:]}, {**proof, "upper_bound": 5}]
    forgeries += [{**proof, "objective_bound": found.tail_margin - 1e-3 * abs(found.tail_margin)}]
    for forged in forgeries:
        assert not cobic.verify(found.problem, {**forged, "checksum": checksum(forged)}).ok


def test_multipliers_beyond_the_caps_prove_nothing():
    """All weight on one sample would bound the worst margin, not the tail."""
    asked = PanelProblem(cobic.Problem(DATA.X, DATA.y), 4, tail=0.5)
    search = solved(asked)
    proof = search.certificate()
    one = {**proof, "multipliers": [[[0, 1 << 40]]], "slopes": [0.0], "tree": [["cut", 0]], "selected": []}
    assert not cobic.verify(asked, {**one, "checksum": checksum(one)}).ok


TWO = cobic.datasets.make_expression(n_features=24, seed=0)
THREE = cobic.datasets.make_large_expression(30, n_samples=12, n_classes=3, seed=3)


@pytest.mark.parametrize(("data", "size", "tail"), [(TWO, 4, 0.0), (TWO, 4, 0.3), (THREE, {"A": 2, "B": 1, "C": 1}, 0.3), (THREE, 4, 1.0)])
def test_looks_at_the_data_lead_to_the_same_panel_as_programs(data, size, tail):
    """The road of large data: the bundle method in place of linear programs over all comparisons."""
    asked = PanelProblem(cobic.Problem(data.X, data.y), size, tail=tail, weights="balanced")
    by_looks = solved(asked, effort=Effort(program_rows=0))
    by_programs = solved(asked)
    assert by_looks.incumbent.tail_margin == pytest.approx(by_programs.incumbent.tail_margin, rel=1e-6)
    assert by_looks.bound == pytest.approx(by_looks.incumbent.tail_margin, rel=1e-5)
    assert cobic.verify(asked, by_looks.certificate()).ok


def test_looks_alone_prove_a_bound_where_trees_are_out_of_reach():
    """With many samples there is no tree: the relaxation's bound stands, and it is that of the linear program."""
    asked = PanelProblem(cobic.Problem(THREE.X, THREE.y), {"A": 3, "B": 3, "C": 3}, tail=0.4)
    search = solved(asked, effort=Effort(program_rows=0, panel_tree_rows=0))
    root = root_at(asked, asked.low, np.ones((12, 2), dtype=np.int64), Budget(None, None, 9))
    assert root.value <= search.bound <= root.value + 2e-4 * abs(root.value)
    assert search.incumbent.tail_margin < search.bound
    checked = cobic.verify(asked, search.certificate())
    assert checked.ok
    assert checked.objective_bound == search.bound


@pytest.mark.parametrize("n_comparisons", [1, 3])
def test_the_nearest_multipliers_of_a_tail(n_comparisons):
    """They are admissible, and no admissible direction leads nearer, which scipy finds by another road."""
    rng = np.random.default_rng(n_comparisons)
    panel = PanelProblem(cobic.Problem(rng.random((6, 8)), [0, 1] * 3), 2, tail=0.5, weights=[1, 2, 3, 1, 0, 1])
    tails = Tails(panel)
    tails._shape = (6, n_comparisons)
    for scale in (0.01, 1.0, 100.0):
        points = scale * rng.standard_normal((6, n_comparisons))
        found = tails.project(points)
        total = 1.0 / tails.unit
        assert found.min() >= 0
        assert found.sum() == pytest.approx(total)
        assert (found.sum(axis=1) <= tails.caps + 1e-9).all()
        rows = np.kron(np.eye(6), np.ones(n_comparisons))
        vertex = linprog((found - points).ravel(), rows, tails.caps, np.ones((1, rows.shape[1])), [total])
        assert vertex.fun >= ((found - points) * found).sum() - 1e-7 * scale * total


def test_no_time_leaves_a_panel_or_says_so():
    short = cobic.panel(DATA.X, DATA.y, size=10, tail=0.0, time_limit=1e-9)
    assert short.stopped_by == "time limit"
    assert short.status in ("unknown", "feasible")
    assert cobic.verify(short.problem, short.certificate).ok


def table(folder):
    frame = pd.DataFrame(np.asarray(DATA.X)[:, :40], columns=[f"g{i}" for i in range(40)])
    frame.insert(0, "class", DATA.y)
    frame.to_csv(folder / "data.csv", index=False)
    return str(folder / "data.csv")


def test_the_command_line(tmp_path, capsys):
    data = [table(tmp_path), "--labels", "class"]
    assert main(["panel", *data, "--size", "A=1,B=2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    keys = "features counts tail_margin worst_margin bound gap status seconds n_features n_samples classes"
    assert list(document) == keys.split()
    assert document["counts"] == [1, 2]
    assert document["status"] == "optimal"
    out = tmp_path / "answer"
    assert main(["panel", *data, "--size", "A=1,B=2", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "Proven optimal" in told
    assert pd.read_csv(out / "panel.csv")["feature"].tolist() == document["features"]
    assert main(["verify", str(out / "certificate.json"), *data]) == 0
    assert "no panel of 1 + 2 features has a tail margin above" in capsys.readouterr().out
    assert main(["classify", str(out / "model.json"), *data, "--json"]) == 0
    other = json.loads((out / "certificate.json").read_text())
    other["objective_bound"] *= 0.9
    (out / "certificate.json").write_text(json.dumps({**other, "checksum": checksum(other)}))
    assert main(["verify", str(out / "certificate.json"), *data]) == 4


@pytest.mark.parametrize("size", ["x", "A=1", "A=,B=1", "1", "A=1,B=200"])
def test_a_bad_size_on_the_command_line_is_one_line(tmp_path, capsys, size):
    assert main(["panel", table(tmp_path), "--labels", "class", "--size", size]) == 2
    assert capsys.readouterr().err.count("\n") == 1
