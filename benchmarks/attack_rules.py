"""Each check of the exact checker switched off in turn: some forged certificate must then be accepted.

A check that nothing depends on would be one that nobody would miss. Forged certificates are those of the attack, and
some made by hand for what chance does not meet.
"""

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import cobic
from benchmarks.attack_cases import Certificate, Panel, forgeries, random_question
from cobic.checker import exact
from cobic.problem import PanelProblem, Problem
from cobic.problem.identity import checksum

MODULES = ("stated", "claims", "exact")
Checked = Callable[..., tuple[str, Any]]
Tables = tuple[Any, Any, Any]  # raw, transformed, class indices


@dataclass(frozen=True)
class Check:
    """A statement `need(…)`, or one of the conditions in it."""

    module: str
    line: int
    part: int | None  # of several conditions, which
    words: str

    def __str__(self) -> str:
        """Where it is, and what it says."""
        return f"{self.module}:{self.line}{'' if self.part is None else f'.{self.part}'} {self.words}"


def checks() -> list[Check]:
    """All checks of the exact checker."""
    found = []
    for name in MODULES:
        for node in ast.walk(ast.parse(_source(name))):
            if _is_need(node):
                call = node.value  # type: ignore[attr-defined]
                conditions = call.args[0].values if _is_and(call.args[0]) else [call.args[0]]
                for part, condition in enumerate(conditions):
                    found.append(Check(name, node.lineno, part, ast.unparse(condition)[:90]))  # type: ignore[attr-defined]
    return found


def _source(name: str) -> str:
    file = import_module(f"cobic.checker.{name}").__file__
    assert file is not None
    return Path(file).read_text(encoding="utf-8")


def _is_need(node: ast.AST) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "need"


def _is_and(node: ast.AST) -> bool:
    return isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And)


def without(check: Check) -> Checked:
    """The exact checker without a check."""
    made: dict[str, ModuleType] = {}
    try:
        for name in MODULES:
            tree = ast.parse(_source(name))
            if name == check.module:
                tree = ast.fix_missing_locations(_Off(check).visit(tree))
            code = ast.unparse(tree).replace("cobic.checker.", "cobic_off_")
            made[name] = sys.modules[f"cobic_off_{name}"] = ModuleType(f"cobic_off_{name}")
            exec(compile(code, name, "exec"), made[name].__dict__)
    finally:
        for name in made:
            del sys.modules[f"cobic_off_{name}"]
    checked: Checked = made["exact"].checked
    return checked


class _Off(ast.NodeTransformer):
    def __init__(self, check: Check) -> None:
        self._check = check

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if _is_need(node) and node.lineno == self._check.line:
            call = node.value
            assert isinstance(call, ast.Call)
            if isinstance(call.args[0], ast.BoolOp) and _is_and(call.args[0]):
                call.args[0].values[self._check.part or 0] = ast.Constant(value=True)
            else:
                call.args[0] = ast.Constant(value=True)
        return node


def corpus(questions: int = 60) -> list[tuple[Tables, Certificate]]:
    """Forged certificates that the exact checker refuses."""
    from benchmarks.attack import answered

    found = []
    for seed in range(questions):
        rng = np.random.default_rng(seed)
        question = random_question(rng)
        try:
            problem = question.problem()
            genuine = answered(problem)[-1]
        except cobic.InputError:
            continue
        if genuine is not None:
            forged = [bare for _, bare in forgeries(rng, genuine, question.X.shape[1])]
            found += [(tables(problem), each) for each in [*forged, *by_hand(genuine, isinstance(question, Panel))]]
    return [
        (each, bare) for each, bare in ((each, _signed(bare)) for each, bare in found) if exact.checked(*each, bare)[0]
    ]


def _signed(bare: Certificate) -> Certificate:
    return bare if bare.get("checksum") == "" else {**bare, "checksum": checksum(bare)}


def tables(problem: Problem | PanelProblem) -> Tables:
    """What the exact checker is given."""
    plain = problem.problem if isinstance(problem, PanelProblem) else problem
    every = np.arange(plain.n_samples)
    return plain.raw.rows(every), plain.matrix.rows(every), plain.labels


def by_hand(c: Certificate, is_panel: bool) -> Iterator[Certificate]:  # noqa: FBT001
    """What chance would not do to a certificate."""
    yield {**c, "checksum": ""}
    changes: dict[str, list[Any]] = {
        "format": ["cobic"],
        "version": [3],
        "note": [1],
        "upper_bound": [-1, c["upper_bound"] + 1, float(c["upper_bound"])],
        "objective_bound": [c["objective_bound"] + 1],
        "slopes": [
            [*c["slopes"], 0],
            [1e301 for _ in c["slopes"]],
            [-(10**400) for _ in c["slopes"]],
            [True for _ in c["slopes"]],
        ],
        "tree": [[*c["tree"], ["empty"]], c["tree"][:-1], [*c["tree"][:-1], []], {}, tuple(c["tree"])],
        "selected": [[-1], [True], [0, 0], [10**6], tuple(c["selected"]), c["selected"] + c["selected"][:1]],
        "multipliers": [[[] for _ in c["multipliers"]], [p + p for p in c["multipliers"]], tuple(c["multipliers"])],
    }
    firsts = [pairs[0] for pairs in c["multipliers"] if pairs]
    if firsts:
        more = [[[row, value + (1 << 54)] for row, value in pairs] for pairs in c["multipliers"]]
        less = [[[row, -value] for row, value in pairs] for pairs in c["multipliers"]]
        parts = [[[row, value / 2 + value / 2] for row, value in pairs] for pairs in c["multipliers"]]
        bools = [[[bool(row), value] for row, value in pairs] for pairs in c["multipliers"]]
        changes["multipliers"] += [more, less, parts, bools]
    data: dict[str, list[Any]] = {
        "n_samples": [0],
        "n_features": [0],
        "sha256": [""],
        "classes": [["a"], None, [1, 2]],
        "more": [1],
    }
    data["classes"] += [["a"] * len(c["data"]["classes"]), [*c["data"]["classes"], "z"], tuple(c["data"]["classes"])]
    data["classes"].append(list(range(len(c["data"]["classes"]))))
    asked, k = c["problem"], len(c["data"]["classes"])
    some, m = [i for i in range(c["data"]["n_features"]) if i not in asked["excluded"]], c["data"]["n_features"]
    problem: dict[str, list[Any]] = {
        "alpha": [-1.0, 1e-3, float("nan"), [0.0], True, float("inf"), "0"],
        "beta": [0.5, 1.5, 1e400, [1.0], [1.0] * c["data"]["n_samples"] + [1.0]],
        "ties": ["last", "exclude", "first"],
        "beta_rule": ["other"],
        "slack_penalty": [0.0, -1.0, float("inf"), 1.0],
        "required": [some[:1] * 2, [m], some[:1], asked["excluded"][:1], [True]],
        "excluded": [[m], [0, 0], asked["required"], asked["excluded"][1:]],
        "groups": [
            [some[:1]],
            [some[:2], some[:2]],
            [[*some[:1], *asked["excluded"][:1]]],
            [[*asked["required"][:1], *some[:2]]],
            [some[:2]],
            [tuple(some[:2])],
            {},
        ],
        "more": [1],
    }
    panel: dict[str, list[Any]] = {}
    if is_panel:
        p = asked["panel"]
        panel = {
            "total": [p["total"] + 1, float(p["total"]), True],
            "counts": [[1], [0] * k, [p["total"]] * k, [1.0] * k, None, tuple(p["counts"] or ())],
            "tail": [-0.5, 1.5, float("nan"), p["tail"] + 0.25],
            "weights": [[0.0] * c["data"]["n_samples"], [-1.0] * c["data"]["n_samples"], [1.0], "even"],
            "offset": [1, 0, not p["offset"]],
            "groups": [
                [some[:1]],
                [some[:2]],
                [some[:2], some[1:3]],
                p["groups"][1:],
                [[*some[:1], *asked["excluded"][:1]]],
            ],
            "split": ["even", "any"],
            "more": [1],
        }
    for where, values in (("", changes), ("data", data), ("problem", problem)):
        for key, given in values.items():
            for value in given:
                yield {**c, **({key: value} if not where else {where: {**c[where], key: value}})}
    for key, given in panel.items():
        for value in given:
            yield {**c, "problem": {**asked, "panel": {**asked["panel"], key: value}}}
    for key in [*asked, *c]:
        yield (
            {**c, "problem": {each: asked[each] for each in asked if each != key}}
            if key in asked
            else {each: c[each] for each in c if each != key}
        )
    if "offsets" in c:
        offsets = c["offsets"]
        for changed in ([1.0 + each for each in offsets], [0.0, *[1e9] * (k - 1)], offsets[:-1], 0.0, [0.0] * k):
            yield {**c, "offsets": changed}
        yield {**c, "tail_margin": c["tail_margin"] + 1}
    yield from _trees(c)


def _trees(c: Certificate) -> Iterator[Certificate]:
    tree = c["tree"]
    for at, token in enumerate(tree[:12]):
        for other in (
            ["other"],
            [token[0], *token[1:], 0],
            [token[0]],
            [token[0], -1],
            [token[0], 10**9],
            [True],
            "cut",
        ):
            yield {**c, "tree": [*tree[:at], other, *tree[at + 1 :]]}
        for other in (["empty"], ["selection"], ["all"], ["fix", 0], ["cut", 0]):
            yield {**c, "tree": [*tree[:at], other]}
            yield {**c, "tree": [["or more"], *tree[:at], other, *tree[at + 1 :]]}


def unseen(forged: list[tuple[Tables, Certificate]]) -> tuple[int, list[Check]]:
    """How many checks there are, and those that can be switched off without one of these being accepted."""
    every, missed = checks(), []
    for check in every:
        checked = without(check)
        if not any(_accepted(checked, each, certificate) for each, certificate in forged):
            missed.append(check)
    return len(every), missed


def _accepted(checked: Checked, each: Tables, certificate: Certificate) -> bool:
    try:
        return not checked(*each, certificate)[0]
    except Exception:  # what a check kept from happening is no acceptance
        return False
