"""The exact checker: whole numbers and rationals, nothing is rounded. R10 to R16 are the rules of docs/certificate.md.

It knows nothing of the rest of cobic: `stated.py` reads the numbers and what is stated about them (R1 to R7, R13),
`claims.py` looks at selections (R8, R9, R17, R18); this is the walk through the trees.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate, chain
from typing import Any

import numpy as np

from cobic.checker.claims import FREE, IN, OUT, Box, Claims
from cobic.checker.stated import Fault, need, number

KEPT = 1 << 22  # scores that are kept for later nodes: about 400 MB
MANY = 4  # times fewer features than there are: their scores alone are computed
Leaves = dict[str, Callable[..., None]]
Scores = tuple[dict[int, int], list[list[int]], Fraction, Fraction]
Decided = list[tuple[int, int]]  # features, and whether they are IN or OUT
Node = tuple[int, bool, Box, Decided]  # how much was decided above, and whether it is void


def checked(raw: Any, values: Any, labels: Any, certificate: Any) -> tuple[str, Fraction | None]:
    """The rule by which a certificate fails ("" if it holds), and what its selection is worth.

    Given are the two tables of R4 (n, m), the values as they are, and transformed, the same without a transform; and
    the class index of each sample (n,).
    """
    try:
        return "", Proof(raw, values, labels, certificate).check()
    except Fault as fault:
        return str(fault), None
    except MemoryError:
        return "it takes more memory than there is", None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return "R1: a value in it is of the wrong kind or out of range", None


class Proof(Claims):
    """The walk through the trees of a certificate."""

    def check(self) -> Fraction | None:
        """R10: the claims and all trees; what the selection is worth, if there is one."""
        most, bound, value = self.claimed()
        if self.panel is None and not all(self.members):
            return value
        need(type(self.c["tree"]) is list, "R1: tree")
        self.tokens, self.kept = iter(self.c["tree"]), dict[int, Scores]()
        total = self.panel["total"] if self.panel else max(most + 1, sum(self.low))
        if self.panel:
            self._walk(total)
        elif self.price is not None and bound < most:
            self._walk(max(math.floor(bound) + 1, 0), above=True)
        elif self.price is None:
            settled = False
            while not settled and total <= len(self.selectable):
                token = self._token()
                settled = token == ["or more"]
                if not settled:
                    self.tokens = chain([token], self.tokens)
                self._walk(total, above=settled and bool(self.required), larger=settled)
                total += 1
        need(next(self.tokens, None) is None, "R10: the tree goes on after its end")
        return value

    def _token(self) -> list[Any]:
        token = next(self.tokens, None)
        need(type(token) is list and token, "R11: the tree ends too early")
        return list(token)  # type: ignore[arg-type]

    def _walk(self, total: int, *, above: bool = False, larger: bool = False) -> None:
        """R11: one tree; features are decided in place, and what is decided is taken back."""
        self.status, self.trail, self.total = bytearray([OUT]) * self.m, list[int](), total
        for i in self.selectable:
            self.status[i] = FREE
        self.n_in, self.n_free = [0] * self.k, [len(mine) for mine in self.members]
        waiting: list[Node] = [(0, False, (self.low, self.high), [(i, IN) for i in self.required])]
        while waiting:
            mark, self.void, (low, high), decided = waiting.pop()
            for i in [self.trail.pop() for _ in range(len(self.trail) - mark)]:
                self.n_free[self.cls[i]] += 1
                self.n_in[self.cls[i]] -= self.status[i] == IN
                self.status[i] = FREE
            for i, value in decided:
                self._decide(i, value)
            least = [max(a, total - sum(high) + b) for a, b in zip(low, high, strict=True)]
            most = high if above else [min(b, total - sum(low) + a) for a, b in zip(low, high, strict=True)]
            self.box = least, most
            self.reach = [
                range(max(a, n), min(b, n + free) + 1)
                for a, b, n, free in zip(least, most, self.n_in, self._available(), strict=True)
            ]
            self.void = self.void or not all(self.reach)
            token = self._token()
            need(not larger or token[0] in ("count", "cut", "empty"), "R10: a tree for more totals has other tokens")
            children = self._children(token)
            waiting += [(len(self.trail), *child) for child in reversed(children)]

    def _decide(self, i: int, value: int) -> None:
        if self.status[i] != FREE:
            self.void = self.void or self.status[i] != value
            return
        self.status[i] = value
        self.trail.append(i)
        self.n_free[self.cls[i]] -= 1
        self.n_in[self.cls[i]] += value == IN
        if value == IN and i in self.group:
            for mate in self.mates[i]:
                if mate != i:
                    self._decide(mate, OUT)

    def _available(self) -> list[int]:
        if not self.group:
            return self.n_free
        return [len({self.group.get(i, -1 - i) for i in self.free_of(r)}) for r in range(self.k)]

    def _children(self, token: list[Any]) -> list[tuple[bool, Box, Decided]]:
        """R12."""
        (kind, *given), (low, high) = token, self.box
        sizes = {
            "cut": [len(self.vectors)],
            "fix": [len(self.vectors)],
            "feature": [self.m],
            "count": [self.k, math.inf],
        }
        limits = sizes.get(kind, [])
        known = kind in sizes or kind in ("empty", "selection", "all")
        shape = known and len(given) == len(limits) and all(type(each) is int for each in given)
        need(shape and all(0 <= each < limit for each, limit in zip(given, limits, strict=True)), "R12: a token")
        if kind == "count":
            r, c = given
            first, second = high.copy(), low.copy()
            first[r], second[r] = min(first[r], c), max(second[r], c + 1)
            return [(self.void, (low, first), []), (self.void, (second, high), [])]
        if kind == "feature":
            return [(self.void, self.box, [(given[0], value)]) for value in (OUT, IN)]
        if kind == "fix":
            need(self.price is None and (self.void or low == high), "R12: fix")
            decided = [] if self.void else self._forced(given[0])
            return [(self.void or decided is None, self.box, decided or [])]
        need(self.void or kind != "empty", "R12: a node that is called empty is not")
        if not self.void:
            leaves: Leaves = {"cut": self._excluded, "selection": self.check_one, "all": self.check_all}
            leaves[kind](*given)
        return []

    def _scores(self, t: int) -> Scores:
        """R14: scores in a unit, features of each class from the best on, the unit, the charge.

        Where most features are out, only of the others; else of all, and kept.
        """
        live = [[i for i in mine if self.status[i] != OUT] for mine in self.members]
        some = MANY * sum(map(len, live)) < len(self.selectable) and not self.parts
        if not some and t in self.kept:
            return self.kept[t]
        pull, spent, per = dict[int, list[Fraction]](), dict[int, int](), len(self.rows[0])
        for at, value in self.vectors[t]:
            j, (q, factor) = at // per, self.rows[at // per][at % per]
            weights = pull.setdefault(j, [Fraction(0)] * self.k)
            weights[self.labels[j]] += value
            weights[q] -= value * factor
            spent[j] = spent.get(j, 0) + value
        common = math.lcm(*(weight.denominator for weights in pull.values() for weight in weights))
        parts, scores = math.lcm(*map(len, self.parts)), dict[int, int]()
        for r, mine in enumerate(live if some else self.members):
            total = np.zeros(len(mine), dtype=object)
            for j, weights in pull.items():
                if weights[r]:
                    total += int(weights[r] * common) * parts * self.row(j, mine)
            scores.update(zip(mine, total.tolist(), strict=True))
        for part in self.parts:
            scores.update(dict.fromkeys(part, sum(scores[i] for i in part) // len(part)))
        orders = [sorted(mine, key=scores.__getitem__, reverse=True) for mine in (live if some else self.members)]
        price = Fraction(1) if self.price is None else self.price / 2**30
        found = scores, orders, self.unit * price / (common * parts), self._charge(spent) * price
        if not some:
            if len(self.kept) * self.m > KEPT:
                self.kept.clear()
            self.kept[t] = found
        return found

    def _charge(self, spent: dict[int, int]) -> Fraction:
        """R14: for the multipliers of each sample."""
        charge, total = sum((value * self.alpha[j] for j, value in spent.items()), Fraction(0)), sum(spent.values())
        if self.panel is None:
            return charge
        above = [max(Fraction(0), value - total * self.caps[j]) for j, value in spent.items()] if self.caps else []
        return self.bound * total + 2 * (self.largest + self.widest) * sum(above, Fraction(0))

    def _leading(self, free: list[int]) -> list[int]:
        """Of free features, the best first, those that count: the best of each group."""
        first: dict[int, int] = {}
        for i in free if self.group else []:
            first.setdefault(self.group.get(i, -1 - i), i)
        return list(first.values()) if self.group else free

    def _best(self, t: int, slope: Fraction) -> Fraction:
        """R15: Σ_r max (S + T) / n − σ n, less the charge."""
        scores, orders, unit, charge = self._scores(t)
        found = -charge
        a, b, scale = unit.numerator * slope.denominator, slope.numerator * unit.denominator, unit.denominator
        for r, order in enumerate(orders):
            inside = sum(scores[i] for i in order if self.status[i] == IN)
            free = self._leading([i for i in order if self.status[i] == FREE])
            sums, shift = list(accumulate((scores[i] for i in free), initial=inside)), self.n_in[r]
            top, of = 0, 0
            for n in self.reach[r]:
                value = a * sums[n - shift] - b * n * n
                if not of or value * of > top * n:
                    top, of = value, n
            found += Fraction(top, of * scale * slope.denominator)
        return found

    def _excluded(self, t: int) -> None:
        """R15."""
        if self.price is not None:
            need(self._best(t, Fraction(-1)) <= self.bound, f"R15: multipliers {t} do not exclude a node")
            return
        slope = number(self.c["slopes"][t])
        need(self.panel or slope <= 0, "R15: a slope above 0")
        value = slope * max(self.total, sum(self.box[0])) + self._best(t, slope)
        need(value <= 0, f"R15: multipliers {t} do not exclude a node")

    def _forced(self, t: int) -> Decided | None:
        """R16: what multipliers decide; None if they exclude the node."""
        value, decided = self._best(t, Fraction(0)), Decided()
        if value <= 0:
            return None
        scores, orders, unit, _ = self._scores(t)
        for r, n in enumerate(self.box[0]):
            free = [i for i in orders[r] if self.status[i] == FREE]
            leading, wanted, least = self._leading(free), n - self.n_in[r], math.ceil(value * n / unit)
            chosen, groups = set(leading[:wanted]), dict[int, list[int]]()
            for i in free:
                groups.setdefault(self.group.get(i, -1 - i), []).append(i)
            for i in free:
                first, *others = groups[self.group.get(i, -1 - i)]
                if i in chosen:
                    instead = leading[wanted : wanted + 1] + others[:1]
                    if not instead or scores[i] - max(scores[other] for other in instead) >= least:
                        decided.append((i, IN))
                else:
                    goes = [first] if first in chosen else leading[:wanted][-1:]
                    if not goes or scores[goes[0]] - scores[i] >= least:
                        decided.append((i, OUT))
        return decided
