"""Panels against a complete search in rationals, and what their certificates prove."""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

import cobic
from benchmarks.panel_exactness import examined, random_case
from cobic.certified.effort import Effort
from cobic.certified.panel_offsets import fitted_offsets, refitted_tail
from cobic.certified.panel_relaxation import root_at
from cobic.certified.panel_root import Tails
from cobic.certified.panel_search import PanelSearch
from cobic.cli import main
from cobic.problem import PanelProblem
from cobic.problem.identity import checksum
from cobic.search.budget import Budget
from strategies import examples


def solved(panel, **choices):
    search = PanelSearch(panel, Budget(None, None, panel.total), **choices)
    search.run()
    return search


@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 1 << 32))
def test_the_best_of_all_panels(seed):
    """Any kind of panel against a complete search; its certificate holds, forgeries of it do not."""
    _, faults = examined(random_case(np.random.default_rng(seed)))
    assert faults == []


def test_trees_that_are_not_at_work_give_their_memory_back():
    rng, y = np.random.default_rng(1), np.arange(12) % 3
    panel = PanelProblem(cobic.Problem(rng.normal(8.0, 1.0, (12, 18)), y), 5, tail=0.3)
    kept = solved(panel)
    search = solved(panel, effort=Effort(panel_arena_bytes=0))
    arenas, cases = set(), [search._root]
    while cases:
        case = cases.pop()
        cases += case.children
        arenas |= {case.arena} - {None}
    assert len(arenas) > 2
    assert sum(arena.held > 0 for arena in arenas) == 1
    sizes = [cut.means(cls, 1)[1].size for cut in search._cuts.values() for cls in range(3)]
    assert max(sizes) == panel.high.max() < 5  # of 18 features: there is no panel with more of one class
    assert search.incumbent.tail_margin == kept.incumbent.tail_margin
    assert search.bound == pytest.approx(kept.bound, rel=1e-9)
    assert cobic.verify(panel, search.certificate(), exact=True).ok


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


def test_of_a_long_proof_only_steps_are_told_and_it_is_read_in_few_looks(monkeypatch):
    data = cobic.datasets.make_expression(n_features=120, seed=0)
    found = cobic.panel(data.X, data.y, size=6, tail=0.1, max_programs=600)
    tree = found.certificate["tree"]
    used = [token[1] for token in tree if token[0] in ("cut", "fix")]
    assert len(used) > 300
    distances = np.array([event.objective_bound - event.objective for event in found.history if event.objective_bound])
    assert 5 < distances.size < 200
    assert (distances[1:-1] < distances[:-2]).all()
    np.testing.assert_array_equal(list(dict.fromkeys(used)), np.arange(len(found.certificate["multipliers"])))
    looks = []
    products = type(found.problem.problem.matrix).transposed_products
    monkeypatch.setattr(
        type(found.problem.problem.matrix),
        "transposed_products",
        lambda matrix, weights: looks.append(weights.shape[1]) or products(matrix, weights),
    )
    assert cobic.verify(found.problem, found.certificate).ok
    assert sum(looks) >= 2 * len(found.certificate["multipliers"])
    assert len(looks) < 10


def _read_back(found):
    return found.problem.problem.means(found.support).argmax(axis=1)


@pytest.mark.parametrize(("size", "seed"), [(3, 0), (4, 1), (5, 2), (7, 3), (8, 4)])
def test_a_total_that_is_shared_evenly(size, seed):
    """Even are the counts with the least sum of squares: the best of all panels that have them."""
    rng = np.random.default_rng(seed)
    problem = cobic.Problem(
        rng.integers(0, 9, (8, 10)) + 4 * np.eye(3)[[0, 0, 0, 0, 1, 1, 2, 2]].repeat([2, 4, 4], 1), list("aaaabbcc")
    )
    found = cobic.panel(problem, size=size, split="even", tail=0.4)
    asked, free = PanelProblem(problem, size, tail=0.4), np.flatnonzero(problem.selectable)
    supports = [np.isin(np.arange(10), chosen) for chosen in combinations(free, size)]
    allowed = [each for each in supports if problem.counts(each).all()]
    squares = [int((problem.counts(each) ** 2).sum()) for each in allowed]
    even = [each for each, square in zip(allowed, squares, strict=True) if square == min(squares)]
    assert found.status == "optimal"
    assert found.tail_margin == pytest.approx(max(asked.tail_margin(each) for each in even))
    assert cobic.verify(found.problem, found.certificate).ok
    if len(set(map(tuple, map(problem.counts, even)))) > 1:  # else the counts are stated
        assert found.certificate["problem"]["panel"]["split"] == "even"
        proven = f"no panel of {size} evenly shared features has a tail margin above"  # of others nothing is known
        assert proven in cobic.verify(found.problem, found.certificate).reason
        assert not cobic.verify(asked, found.certificate).ok


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
    with pytest.raises(ValueError, match="give groups to the panel"):
        cobic.panel(cobic.Problem(DATA.X, DATA.y, groups=[0, 0, *[None] * 58]), size=4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"size": 1}, "size is 1: give a whole number from 2"),
        ({"size": 61}, "to 60, or the number of each class"),
        ({"size": {"A": 2}}, "give a number for each of A, B"),
        ({"size": {"A": 0, "B": 2}}, "size of A is 0: give a whole number from 1"),
        ({"size": 2.0}, "size is 2.0"),
        ({"split": "odd"}, "split"),
        ({"tail": -0.1}, "tail is -0.1: give a share"),
        ({"tail": "all"}, "tail is 'all'"),
        ({"weights": [-1.0] + [1.0] * (DATA.X.shape[0] - 1)}, "one number of at least 0 per sample"),
        ({"offset": True, "beta": 1.5}, "offset=True with beta above 1: with a factor"),
        ({"offset": True, "tail": 1.0}, "give a tail of at most 0.57, or weights='balanced'"),
        ({"groups": ["a"]}, "groups has 1 labels for 60 features"),
        ({"groups": ["a", "b", "c"] * 20}, "to 3 .one of each group., or the number of each class"),
        ({"groups": ["a", "b", "c"] * 20, "size": {"A": 4, "B": 1}}, "size of A is 4: .* to 3 .one of each group."),
        (
            {"groups": ["a", "b", "c"] * 20, "size": {"A": 2, "B": 2}},
            "features of different classes share their groups",
        ),
        ({"groups": ["a", "b"] * 30, "fixed_in": [0, 2]}, "fixed_in holds features 0 and 2, which are in one group"),
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


@pytest.mark.parametrize("n_classes", [2, 3])
def test_offsets_make_up_for_the_scale_of_features(n_classes):
    """A constant added to all features of a class changes nothing but its offset."""
    data = cobic.datasets.make_expression(20, class_sizes=(12, 9, 8)[:n_classes], test_sizes=None, seed=1)
    X = np.asarray(data.X)
    plain = cobic.panel(X, data.y, size=n_classes, offset=True)
    added = np.linspace(0.0, 30.0, n_classes)
    shifted = cobic.panel(X + added[plain.problem.problem.feature_classes], data.y, size=n_classes, offset=True)
    assert plain.status == shifted.status == "optimal"
    assert shifted.tail_margin == pytest.approx(plain.tail_margin, rel=1e-6)
    assert plain.tail_margin >= cobic.panel(X, data.y, size=n_classes).tail_margin
    assert shifted.problem.tail_margin(shifted.support, shifted.offsets) == shifted.tail_margin
    assert plain.offsets[0] == shifted.offsets[0] == 0
    read_back = shifted.model.predict(X + added[plain.problem.problem.feature_classes]) == data.y
    assert read_back.tolist() == (shifted.margins > 0).tolist()
    assert shifted.worst_margin == shifted.margins.min()


@pytest.mark.parametrize("tail", [0.0, 0.3])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_offsets_are_fitted_as_by_another_solver(n_classes, tail):
    rng = np.random.default_rng(n_classes)
    labels = np.arange(40) % n_classes
    X = rng.normal(size=(40, 4 * n_classes)) + 2.0 * (labels[:, None] == np.arange(4 * n_classes) % n_classes)
    panel = PanelProblem(cobic.Problem(X, labels), n_classes, tail=tail, offset=True)
    asked = panel.problem.comparisons
    margins = 3 * rng.normal(size=asked.other.shape)
    rows = np.zeros((margins.size, 41 + n_classes))
    rows[:, 0] = 1.0
    for row, (sample, at) in zip(rows, np.ndindex(margins.shape)):
        row[1 + sample] = -1.0 if tail else 0.0
        row[41 + labels[sample]], row[41 + asked.other[sample, at]] = -1.0, 1.0
    caps = np.full(40, 1 / (40 * tail) if tail else 1.0)
    bounds = [(None, None)] + [(0, None)] * 40 + [(None, None)] * n_classes
    best = -linprog([-1.0, *caps, *[0.0] * n_classes], A_ub=rows, b_ub=margins.ravel(), bounds=bounds).fun
    offsets = fitted_offsets(panel, margins)
    assert panel.tail_of((margins + panel.shift(offsets)).min(axis=1)) == pytest.approx(best, abs=1e-8)
    if n_classes == 2:
        assert refitted_tail(panel, margins.min(axis=1)) == pytest.approx(best, abs=1e-8)


def test_with_offsets_no_panel_is_settled_without_multipliers():
    """What a panel comes to without offsets says nothing about the best ones: only for pairs of two classes it does."""
    data = cobic.datasets.make_expression(20, class_sizes=(12, 9, 8), test_sizes=None, seed=1)
    problem = cobic.Problem(data.X, data.y)
    sizes = problem.feature_class_sizes.tolist()
    asked = PanelProblem(problem, dict(zip(problem.classes.tolist(), sizes)), tail=0.0, offset=True)
    proof = solved(asked).certificate()
    assert cobic.verify(asked, proof).ok
    for step in (["selection"], ["all"]):
        forged = {**proof, "tree": [step], "multipliers": [], "slopes": []}
        checked = cobic.verify(asked, {**forged, "checksum": checksum(forged)})
        assert not checked.ok
        assert "offsets" in checked.reason


def test_a_model_with_offsets_is_not_for_older_readers(tmp_path):
    found = cobic.panel(DATA.X, DATA.y, size=2, offset=True)
    path = tmp_path / "model.json"
    found.model.save(path)
    document = json.loads(path.read_text())
    assert document["version"] == 2
    again = cobic.Model.load(path)
    assert again.offsets == found.offsets
    np.testing.assert_array_equal(again.means(DATA.test.X), found.model.means(DATA.test.X))
    assert json.loads(cobic.panel(DATA.X, DATA.y, size=2).model.to_json())["version"] == 1
    for damage in ({"offsets": [0.0]}, {"offsets": "none"}, {"offsets": [0.0, float("nan")]}, {"version": 1}):
        path.write_text(json.dumps({**document, **damage}))
        with pytest.raises(cobic.ModelError, match="offsets"):
            cobic.Model.load(path)


def test_a_panel_holds_one_feature_of_each_group():
    """Copies of a feature under one label are worth no more than one."""
    copies, genes = np.repeat(np.asarray(DATA.X)[:, :8], 3, axis=1), np.repeat(np.arange(8), 3)
    size = {"A": 2, "B": 2}
    found = cobic.panel(copies, DATA.y, size=size, groups=genes)
    assert sorted(set(genes[found.support])) == sorted(genes[found.support])
    assert found.status == "optimal"
    assert found.tail_margin == pytest.approx(cobic.panel(copies[:, ::3], DATA.y, size=size).tail_margin)
    twice = np.zeros(24, dtype=bool)
    twice[[place for cls in (0, 1) for place in np.flatnonzero(found.problem.problem.feature_classes == cls)[:2]]] = (
        True
    )
    assert np.isfinite(PanelProblem(found.problem.problem, size).tail_margin(twice))
    assert found.problem.tail_margin(twice) == -np.inf
    first = int(np.flatnonzero(found.support)[0]) // 3 * 3
    held = cobic.panel(copies, DATA.y, size=size, groups=genes, fixed_in=[first])
    assert held.support[first]
    assert held.tail_margin == pytest.approx(found.tail_margin)
    own = [None, "", float("nan")] * 8
    assert PanelProblem(cobic.Problem(copies, DATA.y), size, groups=own).groups is None


TWO = cobic.datasets.make_expression(n_features=24, seed=0)
THREE = cobic.datasets.make_large_expression(30, n_samples=12, n_classes=3, seed=3)


@pytest.mark.parametrize(
    ("data", "size", "tail"), [(TWO, 4, 0.0), (TWO, 4, 0.3), (THREE, {"A": 2, "B": 1, "C": 1}, 0.3), (THREE, 4, 1.0)]
)
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


def test_the_bound_of_a_relaxation_stands_where_it_took_all_the_programs():
    asked = PanelProblem(cobic.Problem(THREE.X, THREE.y), {"A": 3, "B": 3, "C": 3}, tail=0.4)
    search = solved(asked, max_programs=1)
    root = root_at(asked, asked.low, np.ones((12, 2), dtype=np.int64), Budget(None, None, 9))
    assert search.bound == pytest.approx(root.value, rel=1e-6)
    assert cobic.verify(asked, search.certificate()).ok


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


def test_too_many_comparisons_are_refused_before_memory_is_gone():
    n_samples, n_classes = 40_000, 10
    X = sparse.random_array((n_samples, 40), density=0.01, format="csr", rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="360000 comparisons of samples with classes are too many"):
        cobic.panel(X + 0.0, np.arange(n_samples) % n_classes, size=10, offset=True)


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


def test_offsets_and_groups_on_the_command_line(tmp_path, capsys):
    data, genes = [table(tmp_path), "--labels", "class"], tmp_path / "genes.csv"
    genes.write_text("feature,group\n" + "".join(f"g{i},gene {i // 2}\n" for i in range(40)))
    out = tmp_path / "answer"
    asked = ["--size", "3", "--offset", "--groups", str(genes), "--out", str(out)]
    assert main(["panel", *data, *asked]) == 0
    assert "Added to the means" in capsys.readouterr().out
    document = json.loads((out / "panel.json").read_text())
    assert document["offsets"][0] == 0
    assert len({int(name[1:]) // 2 for name in document["features"]}) == 3
    assert main(["verify", str(out / "certificate.json"), *data]) == 0
    assert "offsets, one feature of each of 20 groups" in capsys.readouterr().out
    assert main(["classify", str(out / "model.json"), *data, "--json"]) == 0
    capsys.readouterr()
    assert main(["panel", *data, "--offset", "--beta", "1.5"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("size", ["x", "A=1", "A=,B=1", "1", "A=1,B=200"])
def test_a_bad_size_on_the_command_line_is_one_line(tmp_path, capsys, size):
    assert main(["panel", table(tmp_path), "--labels", "class", "--size", size]) == 2
    assert capsys.readouterr().err.count("\n") == 1
