"""Small random questions of every kind, with their answers by going through everything in rationals.

The question is stated once more here, straight from its definition; nothing is shared with cobic. Families of numbers
lie at the borders of floating point: subnormal ones, around 2⁶³, next to the largest, differences that cancel.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np

import cobic
from benchmarks.panel_exactness import Case, random_case
from cobic.problem import PanelProblem

Certificate = dict[str, Any]
CLOSE = 1e-6  # of the largest margin: what is called the same where an answer is not a rational

# How large the numbers are that small whole numbers are multiplied with: the last is next to the largest of all.
UNITS = (1.0, 1.0, 1.0, 0.25, 0.1, 5e-324, 3e-310, 1e-200, 2.0**62, 1e15, 1e90, 1e300)


@dataclass(frozen=True, eq=False)
class Selection:
    """A question for the largest selection: data, classes, and what is given to :class:`cobic.Problem`."""

    X: np.ndarray[Any, Any]
    y: list[int]
    options: dict[str, Any]

    def problem(self) -> cobic.Problem:
        """The question as cobic knows it."""
        return cobic.Problem(self.X, self.y, **self.options)

    @property
    def kind(self) -> str:
        """Which bound is sought."""
        return "soft" if np.isfinite(self.options["slack_penalty"]) else "hard"

    @cached_property
    def table(self) -> list[list[Fraction]]:
        """The data as rationals, transformed."""
        name, floor = self.options.get("transform"), self.options.get("floor")
        return [[_transformed(float(value), name, floor) for value in row] for row in self.X]

    @cached_property
    def feature_classes(self) -> list[int]:
        """The class with the largest mean of each feature; −1 for a tie that is left out."""
        found = []
        for column in zip(*self.table, strict=True):
            by_class = [[value for value, cls in zip(column, self.y, strict=True) if cls == r] for r in self.classes]
            means = [sum(values) / len(values) for values in by_class]
            tied = means.count(max(means)) > 1 and self.options["ties"] == "exclude"
            found.append(-1 if tied else means.index(max(means)))
        return found

    @cached_property
    def classes(self) -> list[int]:
        """The classes."""
        return sorted(set(self.y))

    def _each(self, name: str) -> list[Fraction]:
        given = self.options[name]
        return [Fraction(float(value)) for value in (given if isinstance(given, list) else [given] * len(self.y))]

    def worth(self, chosen: tuple[int, ...]) -> Fraction | None:
        """Number of features, or objective, of a selection; None of one that is not allowed, or not consistent."""
        held, options, groups = set(chosen), self.options, self.options["groups"]
        counts = [[i for i in chosen if self.feature_classes[i] == r] for r in range(len(self.classes))]
        if not all(counts) or any(self.feature_classes[i] < 0 for i in chosen):
            return None
        if held & set(options["fixed_out"]) or set(options["fixed_in"]) - held:
            return None
        if groups and any((i in held) != (o in held) for i, o in combinations(range(len(groups)), 2) if groups[i] == groups[o] is not None):  # fmt: skip # noqa: E501
            return None
        violations = Fraction(0)
        for row, cls, alpha, beta in zip(self.table, self.y, self._each("alpha"), self._each("beta"), strict=True):
            means, own = [sum(row[i] for i in mine) / len(mine) for mine in counts], self.classes.index(cls)
            factors = [beta, 1 / beta] if options["beta_rule"] == "sign-aware" else [beta]
            others = [means[q] for q in range(len(means)) if q != own]
            margin = min(means[own] - factor * other - alpha for other, factor in product(others, factors))
            if margin <= 0 and self.kind == "hard":
                return None
            violations += max(-margin, Fraction(0))
        price = Fraction(0) if self.kind == "hard" else Fraction(float(options["slack_penalty"]))
        return len(chosen) - price * violations

    @cached_property
    def best(self) -> Fraction | None:
        """The largest worth of all selections; None if there is none."""
        features = range(self.X.shape[1])
        selections = (chosen for size in range(1, len(features) + 1) for chosen in combinations(features, size))
        return max((worth for chosen in selections if (worth := self.worth(chosen)) is not None), default=None)

    def believes(self, certificate: Certificate) -> bool:
        """Whether what a certificate claims is true."""
        selected, bound = certificate["selected"], Fraction(certificate["objective_bound"])
        own = self.worth(tuple(sorted(selected))) if selected else None
        return (not selected or own is not None) and (self.best is None or self.best <= bound)

    def variants(self, rng: np.random.Generator) -> Iterator[tuple[str, "Selection"]]:
        """The same question put in other ways, with the same answer."""
        m = self.X.shape[1]
        order = rng.permutation(m)
        back = np.argsort(order)
        moved = {name: [int(back[i]) for i in self.options[name]] for name in ("fixed_in", "fixed_out")}
        groups = self.options["groups"] and [self.options["groups"][i] for i in order]
        yield "permuted", replace(self, X=self.X[:, order], options={**self.options, **moved, "groups": groups})
        if self.kind == "hard":
            twice = {
                name: self.options[name] * 2 if isinstance(self.options[name], list) else self.options[name]
                for name in ("alpha", "beta")
            }
            yield "samples twice", Selection(np.vstack([self.X] * 2), self.y * 2, {**self.options, **twice})
        if self.options["transform"]:
            return
        scale = 2.0 ** int(rng.integers(-30, 30))
        alpha = self.options["alpha"]
        scaled = [value * scale for value in alpha] if isinstance(alpha, list) else alpha * scale
        X, price = self.X * scale, self.options["slack_penalty"] / scale
        if np.isfinite(X).all() and (X / scale == self.X).all() and np.all(np.array(scaled) / scale == np.array(alpha)):
            yield "scaled", Selection(X, self.y, {**self.options, "alpha": scaled, "slack_penalty": price})


@dataclass(frozen=True, eq=False)
class Panel:
    """A question for a panel."""

    case: Case

    kind = "panel"

    @property
    def X(self) -> np.ndarray[Any, Any]:
        """The data."""
        return self.case.X

    def problem(self) -> PanelProblem:
        """The question as cobic knows it."""
        return self.case.problem()

    @cached_property
    def weights(self) -> list[Fraction]:
        """What each sample counts."""
        given, y = self.case.asked["weights"], self.case.y
        if isinstance(given, str):
            return [Fraction(1) if given == "equal" else Fraction(1, y.count(cls)) for cls in y]
        return [Fraction(float(weight)) for weight in given]

    @cached_property
    def best(self) -> Fraction | None:
        """The largest tail margin; None if there is no panel."""
        # Linear programs want numbers of usual size; a power of two leaves ties as they are.
        unit = 1.0 if self.exact or not self.X.any() else 2.0 ** (int(np.frexp(np.abs(self.X).max())[1]) - 1)
        case = replace(self.case, X=self.X / unit)
        rated = (Fraction(case._tail_margin(case._margins(chosen), self.weights)) for chosen in case.panels())
        best = max(rated, default=None)
        return None if best is None else best * Fraction(unit)

    @property
    def exact(self) -> bool:
        """Whether that is a rational; with offsets of many classes it is that of a linear program."""
        return not self.case.asked["offset"] or len(self.case.classes) == 2

    def believes(self, certificate: Certificate) -> bool:
        """Whether what a certificate claims is true."""
        selected, bound = tuple(sorted(certificate["selected"])), Fraction(certificate["objective_bound"])
        slack = 0 if self.exact else Fraction(CLOSE * float(np.abs(self.X).max()))
        return (not selected or selected in self.case.panels()) and (self.best is None or self.best <= bound + slack)

    def variants(self, rng: np.random.Generator) -> Iterator[tuple[str, "Panel"]]:
        """The same question with its features in another order."""
        case, order = self.case, rng.permutation(self.X.shape[1])
        back, groups = np.argsort(order), self.case.asked["groups"]
        fixed = {name: [int(back[i]) for i in case.choices[name]] for name in case.choices if name.startswith("fixed")}
        asked = {**case.asked, "groups": groups and [groups[i] for i in order]}
        yield "permuted", Panel(replace(case, X=case.X[:, order], choices={**case.choices, **fixed}, asked=asked))


def random_question(rng: np.random.Generator) -> Selection | Panel:
    """A question of any kind."""
    if rng.random() < 1 / 3:
        case = random_case(rng)
        unit = float(rng.choice(UNITS))
        return Panel(
            replace(case, X=case.X * unit) if rng.random() < 0.4 and np.isfinite(case.X * unit).all() else case
        )
    return _random_selection(rng)


def _random_selection(rng: np.random.Generator) -> Selection:
    k = int(rng.choice([2, 2, 2, 3, 3, 4, 7, 8]))
    n, m = int(rng.integers(k, max(9, k + 3))), int(rng.integers(k, max(9, k + 2)))
    y = [*range(k), *rng.integers(0, k, n - k).tolist()]
    unit = float(rng.choice(UNITS))
    whole = rng.random() < 0.6
    X = rng.integers(-4, 9, (n, m)).astype(float) if whole else 3 * rng.normal(size=(n, m))
    if rng.random() < 0.7 or k > 4:  # so that most classes have features
        X[:, rng.permutation(m)[:k]] += 4.0 * (np.array(y)[:, None] == np.arange(k))
    X = X * unit if np.isfinite(X * unit).all() else X
    if rng.random() < 0.15:  # what cancels, and what is lost beside it
        X[rng.integers(0, n), rng.integers(0, m)] = float(rng.choice([1e16, -1e16, 1e-17, 5e-324, 2.0**63, -(2.0**63)]))
    typical = float(np.median(np.abs(X)))
    alphas = [0.0, 0.0, 0.0, 0.25 * typical, 0.5 * typical, 1.5 * typical, 5e-324]
    betas = [*[1.0, 1.0, 1.25, 1.5, 2.0, 1.1] * 3, 1e8, 3e16, 1e300]
    each = rng.random(2) < 0.25
    options: dict[str, Any] = {
        "alpha": rng.choice(alphas, n).tolist() if each[0] else float(rng.choice(alphas)),
        "beta": rng.choice(betas, n).tolist() if each[1] else float(rng.choice(betas)),
        "ties": str(rng.choice(["first", "exclude"])),
        "beta_rule": str(rng.choice(["published", "published", "sign-aware"])),
        "slack_penalty": _price(rng, typical) if rng.random() < 0.35 else float("inf"),
        "fixed_in": [int(rng.integers(0, m // 2))] if rng.random() < 0.15 else [],
        "fixed_out": [int(rng.integers(m // 2, m))] if rng.random() < 0.15 else [],
        "groups": [label or None for label in rng.integers(0, 2 * m, m).tolist()] if rng.random() < 0.25 else None,
        "transform": None,
    }
    if rng.random() < 0.1:
        X = np.abs(X) if np.abs(X).max() < 1e15 else rng.integers(1, 99, (n, m)).astype(float)
        options |= {"transform": str(rng.choice(["log2", "log1p"])), "floor": float(rng.choice([0.25, 1, 3]))}
    return Selection(X, y, options)


def _transformed(value: float, name: str | None, floor: float | None) -> Fraction:
    """A value, or its logarithm with many digits, rounded to a multiple of 2⁻²⁴ and to float32."""
    if name is None or floor is None:
        return Fraction(value)
    with localcontext(prec=60):
        above = Decimal(max(value, floor))
        logarithm = above.ln() / Decimal(2).ln() if name == "log2" else (above + 1).ln()
        steps = (logarithm * 2**24).to_integral_value()
    return Fraction(float(np.float32(float(steps) / 2**24)))


def _price(rng: np.random.Generator, typical: float) -> float:
    price = float(rng.choice([0.1, 0.5, 1.0, 3.0, 1e3, 1e7])) / (typical if typical > 1e-90 else 1.0)
    return price if 1e-90 < price < 1e200 else 1.0


def forgeries(rng: np.random.Generator, certificate: Certificate, n_features: int) -> Iterator[tuple[str, Certificate]]:
    """The certificate with something changed; what it says then may be true all the same."""
    c, tree, vectors = certificate, certificate["tree"], certificate["multipliers"]
    lower = _lowered(c, rng)
    yield "bound", lower
    shapes = [[], [["empty"]], [["selection"]], [["all"]], [["or more"], ["empty"]]]
    shapes += [[["or more"], ["cut", 0]], [["cut", 0]], [["fix", 0], ["selection"]], [["or more"], *tree]]
    yield "bound and tree", {**lower, "tree": shapes[int(rng.integers(len(shapes)))]}
    if tree:
        at, other = (int(place) for place in rng.integers(len(tree), size=2))
        yield "token lost", {**c, "tree": tree[:at] + tree[at + 1 :]}
        yield "token twice", {**lower, "tree": tree[: at + 1] + tree[at:]}
        swapped = list(tree)
        swapped[at], swapped[other] = swapped[other], swapped[at]
        yield "tokens swapped", {**c, "tree": swapped}
        kinds = [["empty"], ["selection"], ["all"], ["cut", 0], ["fix", 0], ["feature", int(rng.integers(n_features))]]
        changed = list(tree)
        changed[at] = kinds[int(rng.integers(len(kinds)))]
        yield "token changed", {**c, "tree": changed}
        moved = [list(token) for token in tree]
        if len(moved[at]) > 1:
            moved[at][-1] += int(rng.choice([-1, 1]))
            yield "token moved", {**c, "tree": moved}
    if vectors and any(vectors):
        t = int(rng.choice([t for t, pairs in enumerate(vectors) if pairs]))
        place = int(rng.integers(len(vectors[t])))
        row, value = vectors[t][place]
        for name, pairs in (
            ("value", [[row, value + int(rng.choice([-1, 1, value]))]]),
            ("row", [[row + 1, value]]),
            ("pair lost", []),
        ):
            yield name, {**c, "multipliers": [*vectors[:t], vectors[t][:place] + pairs + vectors[t][place + 1 :], *vectors[t + 1 :]]}  # fmt: skip # noqa: E501
        slopes = list(c["slopes"])
        slopes[t] = slopes[t] * float(rng.choice([-1, 0, 2])) - float(rng.choice([0, 1, -1]))
        yield "slope", {**lower, "slopes": slopes}
    chosen = c["selected"]
    if chosen:
        yield "feature lost", {**c, "selected": [i for i in chosen if i != chosen[int(rng.integers(len(chosen)))]]}
    rest = [i for i in range(n_features) if i not in chosen]
    if rest:
        larger = sorted([*chosen, int(rng.choice(rest))])
        yield "feature more", {**c, "selected": larger}


def _lowered(c: Certificate, rng: np.random.Generator) -> Certificate:
    """A lower bound, without a selection that would contradict it."""
    plain = {key: value for key, value in c.items() if key not in ("offsets", "tail_margin")} | {"selected": []}
    if "panel" in c["problem"] or c["problem"]["slack_penalty"] is not None:
        bound = float(c["objective_bound"])
        return {**plain, "objective_bound": bound - float(rng.choice([1e-9, 1e-3, 0.3])) * max(abs(bound), 1e-6)}
    least = max(c["upper_bound"] - 1, 0)
    return {**plain, "upper_bound": least, "objective_bound": least}
