"""What a certificate states, read for the exact checker: numbers as whole numbers, rules R1 to R7, R11 and R13.

It knows nothing of the rest of cobic, and takes the two tables of R4 as they were read: raw, and transformed. The rules
are those of docs/certificate.md.
"""

import hashlib
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np

KEYS = {"format", "version", "data", "problem", "selected", "upper_bound", "objective_bound"}
KEYS |= {"multipliers", "slopes", "tree", "checksum"}
OFFSET_KEYS = {"offsets", "tail_margin"}
ASKED = {"alpha", "beta", "ties", "beta_rule", "slack_penalty", "required", "excluded", "groups"}
PANEL = {"total", "counts", "tail", "weights", "offset", "groups"}


class Fault(Exception):
    """A rule does not hold."""


def need(holds: Any, rule: str) -> None:
    """Go on only with what holds."""
    if not holds:
        raise Fault(rule)


def number(given: Any, least: float = -math.inf) -> Fraction:
    """A finite number as a rational (R1)."""
    need(type(given) in (int, float) and math.isfinite(given) and given >= least, f"R1: {given!r:.40} as a number")
    return Fraction(given)


def vector(given: Any, size: int, least: float) -> list[Fraction]:
    """One number for all, or one for each."""
    need(type(given) is not list or len(given) == size, "R5: not one number per sample")
    return [number(each, least) for each in given] if type(given) is list else [number(given, least)] * size


def indices(given: Any, size: int) -> list[int]:
    """Different whole numbers from 0 on (R1)."""
    fine = type(given) is list and all(type(at) is int and 0 <= at < size for at in given)
    need(fine and len(set(given)) == len(given), "R1: a list of different indices is none")
    return list(given)


def disjoint(groups: Any, size: int, outside: set[int]) -> list[list[int]]:
    """Lists of two or more, in no two of them, and not among others (R5)."""
    need(type(groups) is list, "R5: groups")
    found = [indices(group, size) for group in groups]
    flat = [at for group in found for at in group]
    need(
        all(len(group) > 1 for group in found) and len(set(flat)) == len(flat) and not outside & set(flat), "R5: groups"
    )
    return found


class Stated:
    """What a certificate states, and the numbers it is about."""

    def __init__(self, raw: Any, values: Any, labels: Any, certificate: Any) -> None:
        c = self.c = certificate
        need(type(c) is dict and (c.get("format"), c.get("version")) == ("cobic-certificate", 2), "R1: format")
        need(type(c.get("problem")) is dict and type(c.get("data")) is dict, "R1: problem and data")
        asked, self.panel = c["problem"], c["problem"].get("panel")
        self.offset = self.panel is not None and self.panel["offset"]
        need(set(c) == KEYS | (OFFSET_KEYS if self.offset and c["selected"] else set()), "R1: keys")
        need(set(asked) - {"transform", "panel"} == ASKED, "R1: keys of the problem")
        self.labels = [int(each) for each in labels]
        self._check_data(np.asarray(raw, dtype=np.float64), c["data"])
        self._read_values(np.asarray(values, dtype=np.float64))
        self.price = None if asked["slack_penalty"] is None else number(asked["slack_penalty"])
        need(self.price is None or self.price > 0, "R5: slack_penalty")
        self._read_rows(asked)
        self._read_features(asked)
        self._read_panel()
        self._read_multipliers(c["multipliers"], c["slopes"])

    def _check_data(self, raw: Any, data: dict[str, Any]) -> None:
        body = json.dumps(
            {key: self.c[key] for key in self.c if key != "checksum"}, sort_keys=True, separators=(",", ":")
        )
        need(self.c["checksum"] == hashlib.sha256(body.encode()).hexdigest(), "R2: the checksum")
        digest = hashlib.sha256()
        for row in raw:
            digest.update((row + 0.0).astype("<f8").tobytes())
        digest.update(np.array(self.labels, dtype="<i8").tobytes())
        self.n, self.m = raw.shape
        names = data["classes"]
        self.k = len(names)
        stated = {"n_samples": self.n, "n_features": self.m, "classes": names, "sha256": digest.hexdigest()}
        need(data == stated and type(names) is list and all(type(name) is str for name in names), "R3: the data")
        self.of_class = [[j for j in range(self.n) if self.labels[j] == r] for r in range(self.k)]
        need(self.k == len(set(names)) > 1 and all(self.of_class), "R3: the classes")

    def _read_values(self, values: Any) -> None:
        """Values as whole numbers times powers of two: a_ij = (whole << shift) · unit."""
        need(values.shape == (self.n, self.m) and np.isfinite(values).all(), "R4: the values")
        mantissa, exponent = np.frexp(values)
        self.whole = np.ldexp(mantissa, 53).astype(np.int64)
        zeros = np.frexp((self.whole & -self.whole).astype(np.float64))[1] - 1
        self.whole >>= np.maximum(zeros, 0)
        exponent = exponent - 53 + zeros
        least = int(exponent[self.whole != 0].min(initial=2000))  # above all exponents of a float64
        self.shift = np.where(self.whole != 0, exponent - least, 0).astype(np.int16)
        self.unit = Fraction(2) ** least

    def row(self, j: int, features: Any) -> Any:
        """Values of a sample, in units."""
        return self.whole[j, features].astype(object) << self.shift[j, features].astype(object)

    def _read_rows(self, asked: dict[str, Any]) -> None:
        """R5, R7: of each sample the classes it is compared with, and the factors."""
        self.alpha, beta = vector(asked["alpha"], self.n, 0), vector(asked["beta"], self.n, 1)
        need(asked["beta_rule"] in ("published", "sign-aware"), "R5: beta_rule")
        twice = asked["beta_rule"] == "sign-aware" and max(beta) > 1
        self.rows = []
        for j, own in enumerate(self.labels):
            others = [q for q in range(self.k) if q != own]
            self.rows.append([(q, beta[j]) for q in others] + [(q, 1 / beta[j]) for q in others] * twice)
        need(not self.offset or max(beta) == 1, "R5: offsets with beta above 1")

    def _read_features(self, asked: dict[str, Any]) -> None:
        """R5, R6: the class of each feature, and what may be selected."""
        need(asked["ties"] in ("first", "exclude"), "R5: ties")
        everything, common = np.arange(self.m), math.lcm(*map(len, self.of_class))
        sums = [sum(self.row(j, everything) for j in mine) * (common // len(mine)) for mine in self.of_class]
        columns = list(zip(*(each.tolist() for each in sums), strict=True))
        self.cls = [means.index(max(means)) for means in columns]
        tied = {i for i, means in enumerate(columns) if means.count(max(means)) > 1 and asked["ties"] == "exclude"}
        self.required, excluded = indices(asked["required"], self.m), set(indices(asked["excluded"], self.m))
        need(tied <= excluded and not excluded & set(self.required), "R5, R6: required and excluded")
        self.selectable = [i for i in range(self.m) if i not in excluded]
        self.members = [[i for i in self.selectable if self.cls[i] == r] for r in range(self.k)]
        self.groups = disjoint(asked["groups"], self.m, excluded | set(self.required))
        parts = [[i for i in group if self.cls[i] == r] for group in self.groups for r in range(self.k)]
        self.parts, self.excluded = [part for part in parts if len(part) > 1], excluded

    def _read_panel(self) -> None:
        """R5, R9, R11: what is asked of a panel, and the root's box."""
        self.group: dict[int, int] = {}  # only panels: the number of a feature's group
        in_class = [[self.cls[i] for i in self.required].count(r) for r in range(self.k)]
        self.low, self.high = [max(1, n) for n in in_class], [len(mine) for mine in self.members]
        self.caps: list[Fraction] | None = None
        self.widest = Fraction(0)
        if self.panel is None:
            return
        p, counts = self.panel, self.panel["counts"]
        need(set(p) - {"split"} == PANEL and p.get("split", "even") == "even", "R1: keys of the panel")
        need(type(p["total"]) is int and type(p["offset"]) is bool, "R5: total and offset")
        need(not any(self.alpha) and self.price is None and not self.groups, "R5: alpha, price or groups of a panel")
        sets = disjoint(p["groups"], self.m, self.excluded | set(self.required))
        self.mates = {i: members for members in sets for i in members}
        self.group = {i: number for number, members in enumerate(sets) for i in members}
        self.high = [len({self.group.get(i, -1 - i) for i in mine}) for mine in self.members]
        if counts is not None:
            fine = type(counts) is list and len(counts) == self.k and all(type(n) is int and n > 0 for n in counts)
            need(fine and sum(counts) == p["total"] and "split" not in p, "R5: counts")
            self.low, self.high = counts, counts
        elif "split" in p:
            box = list(zip(self.low, self.high, strict=True))
            clipped = [[min(max(d, low), high) for low, high in box] for d in range(max(self.high) + 2)]
            least = max([d for d, counts in enumerate(clipped[:-1]) if sum(counts) <= p["total"]], default=0)
            self.low, self.high = clipped[least], clipped[least + 1]
        sizes = [Fraction(1, len(self.of_class[r])) for r in self.labels]
        named = {"equal": [Fraction(1)] * self.n, "balanced": sizes}
        weights = named[p["weights"]] if type(p["weights"]) is str else vector(p["weights"], self.n, 0)
        tail = number(p["tail"], 0)
        need(tail <= 1 and any(weights), "R5: tail and weights")
        self.caps = [w / (tail * sum(weights)) for w in weights] if tail else None
        peaks = [max(map(abs, self.row(j, self.selectable)), default=0) for j in range(self.n)]
        spreads = [1 + max(factor for _, factor in rows) for rows in self.rows]
        self.largest = max(spread * peak for spread, peak in zip(spreads, peaks, strict=True)) * self.unit
        self.widest = 2 * self.k * self.largest if self.offset else Fraction(0)

    def _read_multipliers(self, vectors: Any, slopes: Any) -> None:
        """R13."""
        self.vectors = vectors
        fine = type(vectors) is list and type(slopes) is list and len(vectors) == len(slopes)
        need(fine and all(abs(number(slope)) < 10**300 for slope in slopes), "R13: slopes")
        per, soft = len(self.rows[0]), self.price is not None
        for pairs in vectors:
            before, spent, balance = -1, [0] * (self.n if soft else 0), [0] * self.k
            for at, value in pairs:
                need(type(at) is int and before < at < self.n * per, "R13: rows")
                need(type(value) is int and 0 < value <= 1 << 53, "R13: values")
                before, j = at, at // per
                balance[self.labels[j]] += value
                balance[self.rows[j][at % per][0]] -= value
                if soft:
                    spent[j] += value
                    need(spent[j] <= 1 << 30, "R13: multipliers above the price")
            need(pairs or soft, "R13: no multipliers")
            need(not (self.offset and any(balance)), "R13: multipliers that are not balanced")
