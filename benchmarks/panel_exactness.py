"""Small panels against a complete search, and certificates against forgeries.

Random data of two to four classes, every panel of which is looked at: in rationals, but for offsets of three classes
and more, which are fitted by scipy. The problem is stated once more here, straight from its definition. A certificate
must hold, and no longer once it is changed.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, count
from typing import Any

import numpy as np
from scipy.optimize import linprog

import cobic
from cobic.certified.panel_search import PanelSearch
from cobic.problem import PanelProblem
from cobic.problem.identity import checksum
from cobic.search.budget import Budget

SEED, INSTANCES = 0, 2000
CLOSE = 1e-6  # of the largest margin: what is called the same

Certificate = dict[str, Any]
Margins = dict[tuple[int, int, int], Fraction]  # by sample, its class, and the class it is compared with


def run(*, quick: bool) -> list[dict[str, Any]]:
    """One line per kind of panel: how many, and what was wrong with them."""
    lines: dict[str, Counter[str]] = {"all": Counter()}
    for seed in count(SEED):
        if lines["all"]["instances"] == (INSTANCES // 20 if quick else INSTANCES):
            break
        case = random_case(np.random.default_rng(seed))
        answered, wrong = examined(case)
        kinds = ["all", case.kind, f"{len(case.classes)} classes"] if answered else ["refused, as there is none"]
        for kind in kinds:
            lines.setdefault(kind, Counter()).update(instances=1, wrong=bool(wrong))
        for each in wrong:
            print(f"instance {seed}: {each}", flush=True)
    return [{"panels": kind, **line} for kind, line in lines.items()]


@dataclass(frozen=True, eq=False)
class Case:
    """Data, and the panel that is asked for."""

    X: np.ndarray[Any, Any]
    y: list[int]
    choices: dict[str, Any]  # of the problem
    asked: dict[str, Any]  # of the panel
    size: int | dict[int, int]

    def problem(self) -> PanelProblem:
        """The question as cobic knows it; an `InputError` if there is no such panel."""
        return PanelProblem(cobic.Problem(self.X, self.y, **self.choices), self.size, **self.asked)

    @property
    def kind(self) -> str:
        """What is special about it."""
        words = [word for word in ("offset", "groups") if self.asked[word]]
        words += ["even shares"] if self.asked.get("split") == "even" else []
        return " and ".join(words) or "plain"

    @cached_property
    def classes(self) -> list[int]:
        """The classes."""
        return sorted(set(self.y))

    @cached_property
    def table(self) -> list[list[Fraction]]:
        """The data as rationals."""
        return [[Fraction(float(value)) for value in row] for row in self.X]

    @cached_property
    def feature_classes(self) -> list[int]:
        """The class with the largest mean of each feature; −1 for a tie that is left out."""
        found = []
        for i in range(self.X.shape[1]):
            column = [(row[i], cls) for row, cls in zip(self.table, self.y, strict=True)]
            means = [_mean([value for value, cls in column if cls == r]) for r in self.classes]
            winners = [r for r, value in enumerate(means) if value == max(means)]
            found.append(-1 if self.choices["ties"] == "exclude" and len(winners) > 1 else winners[0])
        return found

    def panels(self) -> Iterator[tuple[int, ...]]:
        """All panels of the size that is asked for."""
        total = self.size if isinstance(self.size, int) else sum(self.size.values())
        out = self.choices.get("fixed_out", [])
        features = [i for i, cls in enumerate(self.feature_classes) if cls >= 0 and i not in out]
        labels = self.asked["groups"] or [None] * len(self.feature_classes)
        even = self._even_counts(features, labels) if self.asked.get("split") == "even" else None
        for chosen in combinations(features, total):
            counts = [sum(self.feature_classes[i] == r for i in chosen) for r in range(len(self.classes))]
            right = all(counts) if isinstance(self.size, int) else counts == list(self.size.values())
            right = right and (even is None or even(counts))
            taken = [labels[i] for i in chosen if labels[i] is not None]
            once = len(set(taken)) == len(taken)
            if right and once and set(self.choices.get("fixed_in", [])) <= set(chosen):
                yield chosen

    def _even_counts(self, features: list[int], labels: list[Any]) -> Callable[[list[int]], bool]:
        """Whether no class could give a feature to another one that has two less, as far as there are features."""
        fixed = self.choices.get("fixed_in", [])
        taken = [labels[i] for i in fixed if labels[i] is not None]
        free = [i for i in features if i in fixed or labels[i] is None or labels[i] not in taken]
        of_class = [[i for i in free if self.feature_classes[i] == r] for r in range(len(self.classes))]
        most = [len({(labels[i] is None, labels[i] or i) for i in mine}) for mine in of_class]
        least = [max(1, sum(i in fixed for i in mine)) for mine in of_class]

        def even(counts: list[int]) -> bool:
            gives = [n for n, few in zip(counts, least, strict=True) if n > few]
            takes = [n for n, many in zip(counts, most, strict=True) if n < many]
            return max(gives, default=0) <= min(takes, default=len(labels)) + 1

        return even

    def best(self, weights: list[Fraction]) -> float:
        """The largest tail margin of all panels."""
        return max(float(self._tail_margin(self._margins(chosen), weights)) for chosen in self.panels())

    def _margins(self, chosen: tuple[int, ...]) -> Margins:
        found, beta = {}, Fraction(self.choices["beta"])
        for j, row in enumerate(self.table):
            held = [[row[i] for i in chosen if self.feature_classes[i] == r] for r in range(len(self.classes))]
            means, own = [_mean(values) for values in held], self.classes.index(self.y[j])
            found |= {(j, own, q): means[own] - beta * means[q] for q in range(len(means)) if q != own}
        return found

    def _tail_margin(self, margins: Margins, weights: list[Fraction]) -> Fraction | float:
        tail = Fraction(self.asked["tail"])
        if self.asked["offset"] and len(self.classes) > 2:
            return _by_program(margins, weights, tail, len(self.classes))
        steps = {Fraction(0)}
        if self.asked["offset"]:  # the best offset is among those at which the order of two samples changes
            first, second = ([value for (_, own, _), value in margins.items() if own == cls] for cls in (0, 1))
            steps = {(b - a) / 2 for a in first for b in second}
        return max(_tail(_worst(margins, len(weights), step), weights, tail) for step in steps)


def _mean(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _worst(margins: Margins, n_samples: int, step: Fraction) -> list[Fraction]:
    """The worst margin of each sample, with a step in favour of the first class."""
    signs = [step if own == 0 else -step for _, own, _ in margins]
    shifted = [(j, value + sign) for ((j, _, _), value), sign in zip(margins.items(), signs, strict=True)]
    return [min(value for j, value in shifted if j == sample) for sample in range(n_samples)]


def _tail(margins: list[Fraction], weights: list[Fraction], tail: Fraction) -> Fraction:
    """Mean of the worst share of margins."""
    if tail == 0:
        return min(margins)
    total, left, value = sum(weights), Fraction(1), Fraction(0)
    for margin, weight in sorted(zip(margins, weights, strict=True)):
        share = min(left, weight / (total * tail))
        value, left = value + share * margin, left - share
    return value


def _by_program(margins: Margins, weights: list[Fraction], tail: Fraction, k: int) -> float:
    """The tail margin with the best offsets, by linear programming: t, what each sample lacks, offsets."""
    n = len(weights)
    rows = np.zeros((len(margins), 1 + n + k))
    for row, (sample, own, other) in zip(rows, margins, strict=True):
        row[0], row[1 + n + own], row[1 + n + other] = 1.0, -1.0, 1.0
        row[1 + sample] = -1.0 if tail else 0.0
    caps = [float(weight / (sum(weights) * tail)) if tail else 1.0 for weight in weights]
    bounds = [(None, None), *[(0, None)] * n, (0, 0), *[(None, None)] * (k - 1)]
    level = [float(value) for value in margins.values()]
    return -float(linprog([-1.0, *caps, *[0.0] * k], A_ub=rows, b_ub=level, bounds=bounds).fun)


def examined(case: Case) -> tuple[bool, list[str]]:
    """Whether a question has an answer, and what is wrong with it, its certificate, or forgeries of this one."""
    try:
        panel = case.problem()
    except cobic.InputError as error:
        return False, [f"refused: {error}"] if next(case.panels(), None) is not None else []
    return True, _faults(case, panel)


def _faults(case: Case, panel: PanelProblem) -> list[str]:
    search = PanelSearch(panel, Budget(None, None, panel.total))
    search.run()
    best = case.best([Fraction(float(weight)) for weight in panel.weights])
    close = CLOSE * max(panel.largest_margin, 1e-9)
    found = []
    if abs(search.incumbent.tail_margin - best) > close:
        found.append(f"found {search.incumbent.tail_margin} where {best} is best")
    if not best - CLOSE * close <= search.bound <= best + close:
        found.append(f"the bound is {search.bound} where {best} is best")
    certificate = json.loads(json.dumps(search.certificate()))
    checked = cobic.verify(panel, certificate)
    if not checked.ok:
        found.append(f"the certificate does not hold: {checked.reason}")
    for name, forged in forgeries(panel, certificate, best - 2 * close):
        if cobic.verify(panel, {**forged, "checksum": checksum(forged)}).ok:
            found.append(f"a forged certificate holds: {name}")
    return found


def forgeries(panel: PanelProblem, certificate: Certificate, too_low: float) -> Iterator[tuple[str, Certificate]]:
    """The certificate with one thing changed, in ways that nothing true is left of it."""
    yield "bound", {**certificate, "objective_bound": too_low, "selected": []}
    yield "size", {**certificate, "upper_bound": panel.total + 1}
    yield "selected", {**certificate, "selected": certificate["selected"][1:]}
    yield "tree", {**certificate, "tree": [*certificate["tree"], ["empty"]]}
    asked = certificate["problem"]["panel"]
    changed = {"offset": not panel.offset, "tail": asked["tail"] / 2 + 0.1, "total": panel.total + 1}
    if panel.groups is not None:
        changed["groups"] = asked["groups"][1:]
    for name, value in changed.items():
        yield name, {**certificate, "problem": {**certificate["problem"], "panel": {**asked, name: value}}}
    if panel.offset:
        yield from _with_offsets(panel, certificate)


def _with_offsets(panel: PanelProblem, certificate: Certificate) -> Iterator[tuple[str, Certificate]]:
    for at, pairs in enumerate(certificate["multipliers"]):
        (row, value), *rest = pairs
        others = [*certificate["multipliers"]]
        others[at] = [[row, value + 1], *rest]
        yield "balance", {**certificate, "multipliers": others}
    first, *rest = certificate["offsets"]
    yield "first offset", {**certificate, "offsets": [1.0 + abs(first), *rest]}
    yield "offsets", {**certificate, "offsets": [first, *rest[:-1], 2 * panel.widest_offsets + 1.0]}
    yield "no offsets", {key: value for key, value in certificate.items() if key != "offsets"}
    more = certificate["tail_margin"] + 1e-3 * panel.largest_margin + 1e-9
    yield "tail margin", {**certificate, "tail_margin": more}


def random_case(rng: np.random.Generator) -> Case:
    """Small data of any kind: ties, fixed features, weights, a factor or offsets, groups."""
    k = int(rng.integers(2, 5))
    n, m = int(rng.integers(k, 9)), int(rng.integers(k + 1, 10))
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    X = rng.integers(-4, 10, (n, m)).astype(float) if rng.random() < 0.4 else 3 * rng.normal(size=(n, m))
    places = rng.permutation(m)[:k]
    X[:, places] += 4.0 * (y[:, None] == np.arange(k))  # so that most classes have features
    offset = bool(rng.random() < 0.5)
    choices: dict[str, Any] = {
        "ties": str(rng.choice(["first", "exclude"])),
        "beta": 1.0 if offset else float(rng.choice([1.0, 1.5])),
    }
    for name, features in (("fixed_in", np.arange(m // 2)), ("fixed_out", np.arange(m // 2, m))):
        if rng.random() < 0.2:
            choices[name] = [int(rng.choice(features))]
    weights: Any = str(rng.choice(["equal", "balanced", "given"]))
    if weights == "given":
        weights = (rng.integers(0, 4, n) + (np.arange(n) < k)).tolist()
    tail = float(rng.choice([0.0, 0.1, 0.3, 0.5, 1.0]))
    if offset:
        tail = min(tail, _largest_tail(y, weights))
    labels = rng.integers(0, 2 * m, m).tolist()
    groups = [label or None for label in labels] if rng.random() < 0.5 else None
    asked = {"tail": tail, "weights": weights, "offset": offset, "groups": groups}
    case = Case(X, y.tolist(), choices, asked, k)
    sizes = np.bincount(np.array(case.feature_classes)[np.array(case.feature_classes) >= 0], minlength=k)
    counts = rng.integers(1, np.maximum(sizes, 1) + 1).tolist()
    size = dict(zip(range(k), counts, strict=True)) if rng.random() < 0.5 else sum(counts)
    if isinstance(size, int) and rng.random() < 0.5:
        asked["split"] = "even"
    return Case(X, y.tolist(), choices, asked, size)


def _largest_tail(y: Any, weights: Any) -> float:
    """The largest tail with which offsets have a best value."""
    sizes = np.bincount(y)
    each = np.ones(y.size) if weights == "equal" else 1.0 / sizes[y] if weights == "balanced" else np.array(weights)
    by_class = np.bincount(y, each) / each.sum()
    return min(1.0, 2 * (1 - float(by_class.max())))
