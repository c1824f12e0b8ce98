"""The standing attack: random questions of every kind against a complete search, and three checkers against forgeries.

An answer is *false* if it is better than the best, if its bound is below the best, or if a certificate is accepted that
says something untrue, or refused though it is genuine. What the fast checker accepts the exact one must accept, and the
one in JavaScript must say the same as the exact one. The same question put in another way must have the same answer.
"""

import json
import shutil
import subprocess
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import cobic
from benchmarks.attack_cases import Certificate, Panel, Selection, forgeries, random_question
from cobic.certified.certificate import make_certificate
from cobic.certified.panel_search import PanelSearch
from cobic.methods import require_bearable
from cobic.problem import PanelProblem, Problem
from cobic.problem.identity import checksum
from cobic.search.budget import Budget
from cobic.search.lp import SolverError

SCRIPT = Path(__file__).parent.parent / "checker" / "cobic-check.js"
BATCH = 400  # certificates that node reads in one go
PROGRAMS = 3000  # small questions need far fewer linear programs
Answer = tuple[float, float, bool, Certificate | None]  # found (−inf for nothing), bound, whether it is proven, proof


def run(*, quick: bool, minutes: float | None = None) -> list[dict[str, Any]]:
    """One line per kind of question, and one for all."""
    end = time.monotonic() + 60 * (minutes or (0.5 if quick else 30))
    attack = Attack()
    with warnings.catch_warnings():  # the numbers are at the borders on purpose
        warnings.simplefilter("ignore", RuntimeWarning)
        for seed in count():
            if time.monotonic() > end:
                break
            attack.on(seed)
    attack.flush()
    print(attack.line(), flush=True)
    return [{"questions": kind, **counts} for kind, counts in attack.counts.items()]


class Attack:
    """What was tried, and what was wrong with it."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = {"all": Counter()}
        self._node = shutil.which("node")
        self._waiting: list[tuple[str, bool, Certificate, Any, Any]] = []

    def on(self, seed: int) -> None:
        """One question."""
        rng = np.random.default_rng(seed)
        question = random_question(rng)
        try:
            problem = question.problem()
        except cobic.InputError:
            self._count(question, "refused")
            return
        self._count(question, "questions")
        try:
            for what, fault in self._faults(rng, question, problem):
                self._count(question, "false")
                print(f"{question.kind} {seed}, {what}: {fault}", flush=True)
        except Exception as error:  # whatever it is, it must be seen, and the others go on
            self._count(question, "false")
            print(f"{question.kind} {seed}: {type(error).__name__}: {error}", flush=True)
        if len(self._waiting) >= BATCH:
            self.flush()

    def _faults(
        self, rng: np.random.Generator, question: Selection | Panel, problem: Problem | PanelProblem
    ) -> Iterator[tuple[str, str]]:
        if isinstance(question, Selection) and isinstance(problem, Problem):
            yield from self._decisions(rng, question, problem)
        try:
            answer = answered(problem)
        except (cobic.InputError, SolverError):  # numbers that no solver bears: the checkers must all the same
            self._count(question, "not solved")
            return
        yield from wrong(question, answer)
        if not answer[2] and question.kind == "hard":
            self._count(question, "left open")
        if answer[-1] is not None:
            yield from self._proofs(rng, question, problem, json.loads(json.dumps(answer[-1])))
        for name, variant in question.variants(rng):
            self._count(question, "put in another way")
            with suppress(cobic.InputError, SolverError):
                again = answered(variant.problem())
                yield from ((name, fault) for _, fault in wrong(variant if name == "scaled" else question, again))

    def _proofs(
        self,
        rng: np.random.Generator,
        question: Selection | Panel,
        problem: Problem | PanelProblem,
        genuine: Certificate,
    ) -> Iterator[tuple[str, str]]:
        """The proof that was given, which must hold, and what is made of it."""
        self._count(question, "certificates")
        for exact in (False, True):
            checked = cobic.verify(problem, genuine, exact=exact)
            if not checked.ok:
                yield "genuine", f"refused (exact: {exact}): {checked.reason}"
        self._ask_node(f"{question.kind} genuine", problem, genuine, accepted=True)
        for name, bare in forgeries(rng, genuine, question.X.shape[1]):
            yield from self._forged(name, question, problem, bare)

    def _decisions(self, rng: np.random.Generator, question: Selection, problem: Problem) -> Iterator[tuple[str, str]]:
        """Whether single selections are consistent; a certificate that claims no more needs no proof."""
        for _ in range(4):
            support = rng.random(question.X.shape[1]) < 0.7
            worth = question.worth(tuple(np.flatnonzero(support).tolist()))
            self._count(question, "decisions")
            if question.kind == "hard" and problem.is_consistent(support) != (worth is not None):
                yield "is_consistent", f"{np.flatnonzero(support).tolist()}"
            if problem.feature_class_sizes.all():
                claim = make_certificate(problem, support, problem.n_selectable, [], [])
                yield from self._forged("selection", question, problem, json.loads(json.dumps(claim)))

    def _forged(
        self, name: str, question: Selection | Panel, problem: Problem | PanelProblem, bare: Certificate
    ) -> Iterator[tuple[str, str]]:
        """A certificate that may be accepted only if what it says is true."""
        forged = {**bare, "checksum": checksum(bare)}
        self._count(question, "forged")
        fast, exact = (cobic.verify(problem, forged, exact=each).ok for each in (False, True))
        if fast and not exact:
            yield f"forged {name}", "the fast checker accepts what the exact one refuses"
        if fast or exact:
            self._count(question, "forged and true")
            if not question.believes(forged):
                yield f"forged {name}", f"accepted (fast: {fast}, exact: {exact})"
        self._ask_node(f"{question.kind} forged {name}", problem, forged, accepted=exact)

    def _ask_node(
        self, what: str, problem: Problem | PanelProblem, certificate: Certificate, *, accepted: bool
    ) -> None:
        plain = problem.problem if isinstance(problem, PanelProblem) else problem
        if self._node is not None:
            self._waiting.append(
                (what, accepted, certificate, plain.raw.rows(np.arange(plain.n_samples)), plain.labels)
            )

    def flush(self) -> None:
        """Have the checker in JavaScript say what it says of those that wait."""
        if not self._waiting or self._node is None:
            return
        with tempfile.TemporaryDirectory() as folder:
            names = []
            for number, (_, _, certificate, X, labels) in enumerate(self._waiting):
                paper, table = Path(folder) / f"{number}.json", Path(folder) / f"{number}.csv"
                paper.write_text(json.dumps(certificate))
                write_plain(table, X, labels)
                names.append(f"{paper}\t{table}")
            asked = [self._node, str(SCRIPT), "--many"]
            said = subprocess.run(asked, input="\n".join(names), capture_output=True, text=True, check=True).stdout
        for (what, accepted, *_), line in zip(self._waiting, said.splitlines(), strict=True):
            self.counts["all"]["by JavaScript"] += 1
            if json.loads(line)["ok"] != accepted:
                self.counts["all"]["false"] += 1
                print(f"{what}: the exact checker says {accepted}, JavaScript {line}", flush=True)
        self._waiting.clear()

    def _count(self, question: Selection | Panel, what: str) -> None:
        for kind in ("all", question.kind):
            self.counts.setdefault(kind, Counter())[what] += 1

    def line(self) -> str:
        """What was tried, in a line."""
        c = self.counts["all"]
        kinds = ", ".join(f"{c['questions']} {kind}" for kind, c in self.counts.items() if kind != "all")
        node = f"{c['by JavaScript']} also by JavaScript" if self._node else "JavaScript left out: there is no node"
        return (
            f"attack: {c['questions']} questions ({kinds}; {c['not solved']} too large to solve), "
            f"{c['decisions']} decisions, {c['certificates']} certificates,"
            f" {c['forged']} forged ({c['forged and true']} of them accepted, and true), {node}, "
            f"{c['put in another way']} put in another way, {c['left open']} hard ones left open: "
            f"{c['false']} false answers"
        )


def write_plain(path: Path, X: Any, labels: Any) -> None:
    """The plain numbers for the checker in JavaScript: a line for each sample, the index of its class, its values."""
    rows = zip(labels.tolist(), np.asarray(X, dtype=np.float64).tolist(), strict=True)
    path.write_text("".join(f"{label},{','.join(map(repr, row))}\n" for label, row in rows))


def answered(problem: Problem | PanelProblem) -> Answer:
    """What cobic says."""
    if isinstance(problem, PanelProblem):
        require_bearable(problem.problem)
        search = PanelSearch(problem, Budget(None, None, problem.total), 0.0, PROGRAMS)
        search.run()
        best = search.incumbent
        found = best.tail_margin if best.support is not None else -np.inf
        return found, search.bound, False, search.certificate()
    result = cobic.solve(problem, time_limit=None, max_programs=PROGRAMS, target_gap=0)
    found = result.objective if result.support.any() else -np.inf
    return found, result.objective_bound, result.status in ("optimal", "infeasible"), result.certificate


def wrong(question: Selection | Panel, answer: Answer) -> Iterator[tuple[str, str]]:
    """What is false about an answer: rounding of an objective is not, a bound below the best is."""
    found, bound, proven, _ = answer
    best = question.best
    if best is None:
        if found > -np.inf:
            yield "answer", f"{found} where there is nothing"
        return
    size = max(abs(float(best)), abs(found) if np.isfinite(found) else 0.0, float(np.abs(question.X).max()))
    close = 0.0 if question.kind == "hard" else 1e-9 * size + 1e-321  # subnormal numbers are rounded to few digits
    exact = question.kind != "panel" or question.exact
    if not np.isfinite(found) and proven:
        yield "answer", f"nothing where {float(best)} is there"
    if found > float(best) + close * (1 if exact else 1e3):
        yield "answer", f"{found} where {float(best)} is best"
    if np.isfinite(bound) and Fraction(bound) < best - (0 if exact else Fraction(1e3 * close)):
        yield "answer", f"the bound is {bound} where {float(best)} is best"
    if proven and question.kind == "hard" and found != float(best):
        yield "answer", f"{found} is called optimal where {float(best)} is best"
