"""The exact checker, that in JavaScript, and the fast one: what one says the others say, and what was found in them."""

import json
import os
import shutil
import subprocess
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import cobic
from benchmarks.attack import SCRIPT, Attack, write_plain
from benchmarks.attack_rules import corpus, unseen
from cobic.certified.certificate import make_certificate
from cobic.checker import Proof
from cobic.cli import main
from cobic.problem.identity import checksum
from strategies import examples

NODE = shutil.which("node")
NO_NODE = "the checker in JavaScript needs node, which is not here"
needs_node = pytest.mark.skipif(NODE is None and os.environ.get("COBIC_NODE") != "required", reason=NO_NODE)


def signed(certificate):
    return {**certificate, "checksum": checksum(certificate)}


def both(problem, certificate):
    """What the fast checker says, and the exact one."""
    return [cobic.verify(problem, certificate, exact=exact).ok for exact in (False, True)]


def by_node(folder, problem, certificate):
    assert NODE is not None, NO_NODE
    paper, table = folder / "certificate.json", folder / "table.csv"
    paper.write_text(certificate if isinstance(certificate, str) else json.dumps(certificate))
    write_plain(table, problem.raw.rows(np.arange(problem.n_samples)), problem.labels)
    return subprocess.run([NODE, str(SCRIPT), str(paper), str(table)], capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def small():
    problem = cobic.datasets.make_expression(n_features=60, seed=1).problem()
    return problem, cobic.solve(problem).certificate


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_random_questions_of_every_kind():
    attack = Attack()
    for seed in [*range(examples(160)), 1170, 2028]:
        attack.on(seed)
    attack.flush()
    counts = attack.counts["all"]
    assert counts["false"] == 0, attack.line()
    assert min(counts["certificates"], counts["forged and true"], counts["put in another way"]) > 5


def subnormal():
    """Means of subnormal numbers are rounded, and β multiplies what is lost."""
    u, beta = 5e-324, 1e20
    X = [[0, -u, -u, 0], [0, -u, -u, 0], [-1e-300, 1e-280, 1e-280, 1e-280]]
    return cobic.Problem(X, [0, 0, 1], alpha=[0.8 * beta * u] * 2 + [0.0], beta=[beta, beta, 1.0])


def test_rounded_subnormal_numbers_do_not_make_a_selection_consistent(tmp_path):
    problem = subnormal()
    assert not problem.is_consistent(np.ones(4, dtype=bool))
    claim = make_certificate(problem, np.ones(4, dtype=bool), 4, [], [])
    assert both(problem, claim) == [False, False]
    if NODE is not None:
        assert by_node(tmp_path, problem, claim).returncode == 4


@pytest.mark.parametrize("price", [1e6, 1e7, 1e9])
def test_objectives_below_what_int64_holds(price):
    X = [[3e12, 1, 2], [0, 2, 1], [1e12, 1, 5.0]]
    problem = cobic.Problem(X, [0, 1, 1], alpha=1e12, slack_penalty=price)
    result = cobic.solve(problem)
    assert result.objective_bound < -(2.0**59)
    assert both(problem, result.certificate) == [True, True]


def claim_of_many(vectors):
    rng = np.random.default_rng(0)
    problem = cobic.Problem(rng.normal(size=(400, 30)).round(2), np.arange(400) % 10)
    bare = make_certificate(problem, None, 20, [], [])
    many = {"multipliers": [[[0, 1]]] * vectors, "slopes": [0] * vectors, "tree": [["or more"], ["cut", 0]]}
    return problem, signed({**bare, **many})


@pytest.mark.parametrize("exact", [False, True])
def test_checking_takes_the_memory_that_the_file_does(exact):
    problem, claim = claim_of_many(4000)
    tracemalloc.start()
    checked = cobic.verify(problem, claim, exact=exact)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert not checked.ok
    assert peak < 50e6  # held as dense vectors, they take 115 MB


def test_multipliers_that_are_looked_at_together_take_little_memory_where_samples_are_many():
    problem = cobic.Problem(np.random.default_rng(0).normal(size=(4000, 20)), np.arange(4000) % 2)
    proof = Proof(problem, {"multipliers": [[[row, 1]] for row in range(3000)], "slopes": [0] * 3000, "tree": []})
    tracemalloc.start()
    for index in range(3):
        proof._evaluated(index)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6  # the weights of all at once would take 190 MB, three times


@pytest.mark.parametrize("exact", [False, True])
def test_a_full_memory_refuses(monkeypatch, small, exact):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr(Proof, "__init__", full)
    monkeypatch.setattr("cobic.checker.exact.Proof.check", full)
    assert "memory" in cobic.verify(*small, exact=exact).reason


@pytest.mark.parametrize("exact", [False, True])
def test_a_tree_as_deep_as_there_are_features(exact):
    problem = cobic.datasets.make_expression(n_features=3000, seed=1).problem()
    bare = make_certificate(problem, None, 100, [], [])
    deep = [["feature", i] for i in range(3000)]
    assert not cobic.verify(problem, signed({**bare, "tree": deep}), exact=exact).ok


def test_few_features_are_settled():
    problem = cobic.datasets.make_expression(n_features=14, seed=3).problem(alpha=1.0)
    result = cobic.solve(problem, time_limit=None)
    assert result.status in ("optimal", "infeasible")
    from cobic.certified.effort import Effort
    from cobic.certified.standing import Standing
    from cobic.search.budget import Budget, Incumbent

    budget = Budget(None, None, 14)
    standing = Standing(problem, budget, Incumbent(problem, budget), 10**6, 1e-4, Effort(patience=0))
    standing.charge(10**5)
    assert not standing.is_stuck()


def test_where_every_feature_is_required_there_is_nothing_to_search():
    X = [[5.0, -2.0], [7.0, 1.0], [-2.0, 5.0], [-2.0, 2.0], [2.0, -1.0], [9.0, -4.0]]
    problem = cobic.Problem(X, [0, 1, 1, 1, 0, 0], beta=1.1, beta_rule="sign-aware", fixed_in=[0, 1])
    result = cobic.solve(problem)
    assert result.status == "infeasible"
    assert both(problem, result.certificate) == [True, True]


# Forms


FORMS = {
    "unknown key": lambda c: {**c, "note": 1},
    "unknown key of the problem": lambda c: {**c, "problem": {**c["problem"], "note": 1}},
    "unknown key of the data": lambda c: {**c, "data": {**c["data"], "note": 1}},
    "offsets of no panel": lambda c: {**c, "offsets": [0, 1], "tail_margin": 1.0},
    "missing key": lambda c: {key: value for key, value in c.items() if key != "slopes"},
    "rows that fall": lambda c: {**c, "multipliers": [pairs[::-1] + pairs[:1] for pairs in c["multipliers"]]},
    "truth values": lambda c: {**c, "multipliers": [[[row, True] for row, _ in p] for p in c["multipliers"]]},
    "a tree where nothing is to be proven": lambda c: {
        **c, "upper_bound": 60, "objective_bound": 60, "tree": [["or more"], ["cut", 0]]
    },
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_key_is_known_and_there_once(small, tmp_path, form):
    problem, certificate = small
    forged = signed(FORMS[form](certificate))
    assert both(problem, certificate) == [True, True]
    assert both(problem, forged) == [False, False]
    if NODE is not None:
        assert by_node(tmp_path, problem, forged).returncode == 4


@needs_node
def test_javascript_reads_what_python_writes(tmp_path):
    values = [0.1, 1e-5, 1e16, 123456789012345680.0, 5e-324, 1.7976931348623157e308, -0.0, 1e22, 0.0001, 9.5e-7]
    X = np.array([[*values, 3.0], [1.0, *values], [2.0, *values[::-1]], [*values[::-1], 0.25]])
    problem = cobic.Problem(X, ['ä"\\\n', 'ä"\\\n', "b€😀", "b€😀"], alpha=[0.1, 1e-5, 1e16, 5e-324])
    claim = make_certificate(problem, None, 11, [], [])
    found = by_node(tmp_path, problem, claim)
    assert found.returncode == 0, found.stdout + found.stderr
    assert both(problem, claim) == [True, True]


@needs_node
@pytest.mark.parametrize("transform", ["log2", "log1p", "standardise"])
def test_javascript_transforms_as_cobic_does(tmp_path, transform):
    rng = np.random.default_rng(5)
    X = np.exp(rng.normal(4, 3, size=(12, 40))).round(3) + (transform == "log2") * 2.0**-30
    X[0, :6] = [1.0, 2.0**40, 2.0**-27, 3e-8, 1e300 if transform != "standardise" else 7, 1e-20]
    problem = cobic.Problem(X, np.arange(12) % 2, transform=transform)
    result = cobic.solve(problem)
    found = by_node(tmp_path, problem, result.certificate)
    assert found.returncode == 0, found.stdout + found.stderr
    assert both(problem, result.certificate) == [True, True]


# Each check switched off

# Conditions that can be left out without any forged certificate of 30 questions being accepted, and why.
NOT_MISSED = {
    "what follows fails on it anyway": {
        "math.isfinite(given)",
        "type(c) is dict",
        "type(c.get('problem')) is dict",
        "type(c.get('data')) is dict",
        "any(weights)",
        "type(value) is int",
        "type(token) is list",
        "token",
        "self.void or kind != 'empty'",
    },
    "the tables are those of a problem, which has looked at them": {
        "all(self.of_class)",
        "values.shape == (self.n, self.m)",
        "np.isfinite(values).all()",
    },
    "the proof, or another rule, implies it": {
        "most >= 0",
        "value is None or value <= bound",
        "not selected",
        "sum(counts) == p['total']",
    },
    "only what is made for it would tell": {
        "not self.offset or max(beta) == 1",
        "not any(self.alpha)",
        "self.price is None",
        "self.box[0] == self.box[1]",
        "low == high",
        "len(wanted) <= 2",
        "not left",
        "shape",
        "not larger or token[0] in ('count', 'cut', 'empty')",
        "self.void or low == high",
    },
}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_check_that_is_switched_off_is_missed():
    how_many, missed = unseen(corpus(30))
    assert how_many >= 80
    assert {check.words for check in missed} <= set().union(*NOT_MISSED.values())


def node_that(tree, bound, **options):
    """A certificate for 2 + 2 features, with nothing in its favour but a tree."""
    X = [[5, 4, 0, 1], [6, 3, 1, 0], [0, 1, 5, 4], [1, 0, 6, 3]]
    problem = cobic.Problem(X, ["a", "a", "b", "b"], alpha=100.0, **options)
    good = make_certificate(problem, None, 0, [], [])
    claim = {"multipliers": [[[0, 1], [2, 1]]], "slopes": [0], "tree": tree, "upper_bound": bound}
    return problem, signed({**good, **claim, "objective_bound": bound})


@pytest.mark.parametrize(
    ("tree", "holds"),
    [
        ([["or more"], ["cut", 0]], True),
        ([["or more"], ["empty"]], False),  # a node that is not void
        ([["or more"], ["feature", 0], ["cut", 0], ["cut", 0]], False),  # features say nothing about other totals
        ([["fix", 0], ["cut", 0], ["or more"], ["cut", 0]], False),  # the counts of three features are not settled
        ([["selection"], ["or more"], ["cut", 0]], False),
        ([["all"], ["or more"], ["cut", 0]], False),  # only panels
        ([["count", 0, 1], ["cut", 0], ["fix", 0], ["cut", 0], ["or more"], ["cut", 0]], True),
    ],
)
def test_what_a_token_asks_for(tree, holds, tmp_path):
    problem, claim = node_that(tree, 2)
    assert both(problem, claim) == [holds, holds]
    if NODE is not None:
        assert by_node(tmp_path, problem, claim).returncode == (0 if holds else 4)


# The statement on the command line


@pytest.fixture(scope="session")
def answers(tmp_path_factory):
    """A table, and certificates of three questions about it."""
    folder = tmp_path_factory.mktemp("statement")
    data = cobic.datasets.make_expression(n_features=40, seed=1)
    table = folder / "data.csv"
    rows = (",".join([str(cls), *map(repr, row.tolist())]) for cls, row in zip(data.y, np.asarray(data.X)))
    table.write_text("class," + ",".join(f"g{i}" for i in range(40)) + "\n" + "\n".join(rows) + "\n")
    asked = [str(table), "--labels", "class"]
    few = [part for i in range(5, 38) for part in ("--fixed-out", f"g{i}")]
    assert main(["select", *asked, "--out", str(folder / "few"), *few]) in (0, 3)
    assert main(["select", *asked, "--out", str(folder / "far"), "--alpha", "1e6"]) == 3
    assert main(["panel", *asked, "--out", str(folder / "panel"), "--size", "3", "--tail", "0"]) == 0
    return folder, asked, few


def verified(capsys, folder, asked, name, *more):
    code = main(["verify", str(folder / name / "certificate.json"), *asked, *more])
    return code, capsys.readouterr().out


def test_a_certificate_says_what_it_is_about(answers, capsys):
    folder, asked, few = answers
    code, told = verified(capsys, folder, asked, "few")
    assert code == 0
    assert "of the problem stated in the certificate: alpha 0, beta 1, 33 features excluded (g5, g6, g7" in told
    assert "7 of 40 features selectable" in told
    code, told = verified(capsys, folder, asked, "few", "--json", *few)
    document = json.loads(told)
    assert (code, document["ok"], document["differences"]) == (0, True, [])
    assert document["problem"]["excluded"] == [f"g{i}" for i in range(5, 38)]
    assert document["problem"]["n_selectable"] == 7


@pytest.mark.parametrize(
    ("name", "expected", "said"),
    [
        ("few", ["--alpha", "0"], "33 features excluded (g5, g6, g7, g8, g9 and 28 more), which was not expected"),
        ("few", ["--fixed-out", "g0"], "1 feature not excluded (g0), which was expected"),
        ("few", ["--fixed-in", "g1"], "1 feature not required (g1), which was expected"),
        ("far", ["--beta", "1.5"], "alpha is 1e+06, not 0; beta is 1, not 1.5"),
        ("far", ["--alpha", "1e6", "--transform", "standardise"], "transform is not given, not standardise"),
        ("far", ["--alpha", "1e6", "--slack-penalty", "2"], "slack_penalty is not given, not 2"),
        ("far", ["--size", "3"], "it is about the largest selection, not about a panel of 3 features"),
        ("panel", ["--alpha", "0"], "it is about a panel of 3 features, not about the largest selection"),
        ("panel", ["--size", "4", "--tail", "0"], "total is 3, not 4"),
        ("panel", ["--size", "3"], "tail is 0, not 0.3"),
        ("panel", ["--size", "3", "--tail", "0", "--offset"], "offset is False, not True"),
    ],
)
@pytest.mark.parametrize("exact", [[], ["--exact"]])
def test_a_certificate_of_another_problem_fails(answers, capsys, name, expected, said, exact):
    folder, asked, _ = answers
    code, told = verified(capsys, folder, asked, name, *expected, *exact)
    assert code == 4
    assert said in told


@pytest.mark.parametrize(("name", "expected"), [("far", ["--alpha", "1e6"]), ("panel", ["--size", "3", "--tail", "0"])])
@pytest.mark.parametrize("exact", [[], ["--exact"]])
def test_a_certificate_of_the_problem_that_was_expected_holds(answers, capsys, name, expected, exact):
    folder, asked, _ = answers
    code, told = verified(capsys, folder, asked, name, *expected, *exact)
    assert code == 0
    assert "of the problem that was expected" in told


def test_expectations_of_selections_are_not_for_panels(answers, capsys):
    folder, asked, _ = answers
    place = str(folder / "panel" / "certificate.json")
    for more in (["--size", "3", "--alpha", "1"], ["--tail", "0"]):
        assert main(["verify", place, *asked, *more]) == 2
        assert "leave out one of them" in capsys.readouterr().err


@pytest.mark.parametrize("text", ['{"format": "x", %s', "[" * 100_000, '{"objective_bound": NaN, %s'])
def test_keys_that_are_there_twice_and_what_is_no_json(answers, tmp_path, capsys, text):
    folder, asked, _ = answers
    genuine = (folder / "far" / "certificate.json").read_text().lstrip().removeprefix("{")
    (tmp_path / "twice.json").write_text(text.replace("%s", genuine))
    assert main(["verify", str(tmp_path / "twice.json"), *asked]) == 4
    assert "is not a certificate" in capsys.readouterr().out


def test_what_is_no_file_is_one_line(answers, tmp_path, capsys, monkeypatch):
    _, asked, _ = answers
    for place in (tmp_path, Path("/dev/zero")):
        assert main(["verify", str(place), *asked]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setattr("cobic.cli.verify._MOST_BYTES", 10)
    (tmp_path / "large.json").write_text("{}" + " " * 20)
    assert main(["verify", str(tmp_path / "large.json"), *asked]) == 2
    assert "more than a certificate takes" in capsys.readouterr().err
