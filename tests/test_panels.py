"""Panels against a complete search in rationals, and what their certificates prove."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import cobic
from benchmarks.panel_exactness import faults, random_case
from cobic.certified.panel_search import PanelSearch
from cobic.cli import main
from cobic.problem import PanelProblem
from cobic.problem.identity import checksum
from cobic.search.budget import Budget
from strategies import examples


def solved(panel):
    search = PanelSearch(panel, Budget(None, None, panel.total))
    search.run()
    return search


@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 1 << 32))
def test_the_best_of_all_panels(seed):
    """Any kind of panel against a complete search; its certificate holds, forgeries of it do not."""
    case = random_case(np.random.default_rng(seed))
    try:
        panel = case.problem()
    except cobic.InputError as error:
        assert next(case.panels(), None) is None, error
    else:
        assert faults(case, panel) == []


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


def test_too_many_comparisons_are_refused_before_memory_is_gone():
    n_samples, n_classes = 40_000, 10
    X = sparse.random_array((n_samples, 40), density=0.01, format="csr", rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="360000 comparisons of samples with classes are too many"):
        cobic.panel(X + 0.0, np.arange(n_samples) % n_classes, size=10)


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
