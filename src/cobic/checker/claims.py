"""What selections are worth, that of a certificate and those at the leaves of its trees: rules R8, R9, R17 and R18."""

import math
from fractions import Fraction
from typing import Any

from cobic.checker.stated import Stated, indices, need, number, vector

FREE, IN, OUT = range(3)
Box = tuple[list[int], list[int]]  # least and largest counts


class Claims(Stated):
    """The selection of a certificate, how its bounds belong together, and the selections that a node leaves."""

    # The node that is looked at: what each feature is, how many of each class are in, and the counts
    status: bytearray
    n_in: list[int]
    box: Box
    bound: Fraction

    def margins(self, selected: list[int]) -> list[list[Fraction]]:
        """R7: all margins of a selection, by sample."""
        held = [[i for i in selected if self.cls[i] == r] for r in range(self.k)]
        found = []
        for j, own in enumerate(self.labels):
            means = [Fraction(sum(self.row(j, mine)), len(mine)) * self.unit for mine in held]
            found.append([means[own] - factor * means[q] - self.alpha[j] for q, factor in self.rows[j]])
        return found

    def allowed(self, selected: list[int]) -> bool:
        """R8; of a panel, too."""
        chosen = set(selected)
        whole = all(len(chosen & set(group)) in (0, len(group)) for group in self.groups)
        counts = [sum(self.cls[i] == r for i in selected) for r in range(self.k)]
        if not (chosen >= set(self.required) and not chosen & self.excluded and all(counts) and whole):
            return False
        taken = [self.group[i] for i in selected if i in self.group]
        inside = all(low <= n <= high for low, n, high in zip(self.low, counts, self.high, strict=True))
        return self.panel is None or (inside and len(selected) == self.panel["total"] and len(set(taken)) == len(taken))

    def worth(self, selected: list[int], offsets: list[Fraction] | None = None) -> Fraction | None:
        """R8: number of features, objective or tail margin of a selection; None of one that is not sought."""
        if not self.allowed(selected):
            return None
        margins = self.margins(selected)
        if offsets:
            for j, own in enumerate(self.labels):
                pairs = zip(margins[j], self.rows[j], strict=True)
                margins[j] = [margin + offsets[own] - offsets[q] for margin, (q, _) in pairs]
        worst = [min(each) for each in margins]
        if self.panel is None:
            if self.price is None:
                return Fraction(len(selected)) if min(worst) > 0 else None
            return len(selected) - self.price * sum(max(Fraction(0), -margin) for margin in worst)
        if self.caps is None:
            return min(worst)
        left, tail = Fraction(1), Fraction(0)
        for margin, cap in sorted(zip(worst, self.caps, strict=True)):
            tail += margin * min(cap, left)
            left -= min(cap, left)
        return tail

    def claimed(self) -> tuple[int, Fraction, Fraction | None]:
        """R9: both bounds, and what the selection is worth, if there is one."""
        c, selected, k = self.c, indices(self.c["selected"], self.m), self.k
        most, bound, value = c["upper_bound"], number(c["objective_bound"]), None
        need(type(most) is int and most >= 0, "R9: upper_bound")
        offsets = None
        if self.offset and selected:
            offsets = vector(c["offsets"], k, -math.inf)
            fine = type(c["offsets"]) is list and offsets[0] == 0 and max(offsets) - min(offsets) <= self.widest
            need(fine, "R9: offsets")
        if selected:
            value = self.worth(selected, offsets)
            need(value is not None, "R9: the selection is not what is sought")
        if offsets and value is not None:
            near = (self.m + self.n + 8) * (self.largest + self.widest) / 2**50 + Fraction(1, 2**1000)
            need(abs(number(c["tail_margin"]) - value) <= near, "R9: tail_margin")
        need(value is None or value <= bound, "R9: the selection exceeds the bound")
        if self.panel is not None:
            need(most == self.panel["total"], "R9: upper_bound")
        elif not all(self.members):
            need(bound == most and not selected, "R9: a class has no features")
        elif self.price is not None:
            need(most == len(self.selectable), "R9: upper_bound")
        else:
            need(bound == most, "R9: objective_bound")
        self.bound = bound
        return most, bound, value

    def free_of(self, r: int) -> list[int]:
        """Free features of a class."""
        return [i for i in self.members[r] if self.status[i] == FREE]

    def check_one(self) -> None:
        """R17."""
        need(self.box[0] == self.box[1], "R17: the counts are not settled")
        selected = [i for i in self.selectable if self.status[i] == IN]
        for r, n in enumerate(self.box[0]):
            free, missing = self.free_of(r), n - self.n_in[r]
            need(missing in (0, len(free)), "R17: more than one selection is left")
            selected += free if missing else []
        value = self.worth(selected)
        hard = self.panel is None and self.price is None
        below = value is None or (not hard and not self.offset and value <= self.bound)
        need(below, "R17: the selection is one that is sought")

    def check_all(self) -> None:
        """R18: of a panel above B, Σ coefficient · value > level for each margin, with offsets each pair of them."""
        plain = self.panel is not None and self.caps is None and (not self.offset or self.k == 2)
        low, high = self.box
        wanted = [r for r in range(self.k) for _ in range(low[r] - self.n_in[r])]
        need(plain and low == high and len(wanted) <= 2, "R18: not for this node")
        rows = [
            (own, {(j, own): Fraction(1, low[own]), (j, q): -factor / low[q]})
            for j, own in enumerate(self.labels)
            for q, factor in self.rows[j]
        ]
        cases = [row for _, row in rows]
        if self.offset:
            cases = [a | b for first, a in rows for second, b in rows if (first, second) == (0, 1)]
        level = self.bound * (2 if self.offset else 1)
        inside = [[i for i in self.members[r] if self.status[i] == IN] for r in range(self.k)]
        held = {(j, r): sum(self.row(j, inside[r])) for j in range(self.n) for r in range(self.k)}
        sides = [self.free_of(r) for r in wanted] + [[-1]] * (2 - len(wanted))
        made: dict[int, Any] = {}

        def parts(case: int) -> tuple[dict[int, int], dict[int, int], int]:
            """What the features of both sides add to a row, and what they must exceed, as whole numbers."""
            if case not in made:
                row, common = cases[case], math.lcm(*(each.denominator for each in cases[case].values()))
                rest = level / self.unit - sum(each * held[at] for at, each in row.items())
                added = [dict.fromkeys(side, 0) for side in sides]
                for (j, r), each in row.items():
                    for side, of in zip(added, wanted, strict=False):
                        if of == r:
                            values = self.row(j, list(side)) * int(each * common)
                            side.update((i, side[i] + value) for i, value in zip(side, values.tolist(), strict=True))
                made[case] = (*added, math.floor(rest * common))
            return made[case]  # type: ignore[no-any-return]

        order, same = list(range(len(cases))), wanted[:1] == wanted[1:]
        for place, i in enumerate(sides[0]):
            left = [
                o
                for o in sides[1][place + 1 if same else 0 :]
                if i not in self.group or self.group[i] != self.group.get(o)
            ]
            for at, case in enumerate(order):
                one, two, least = parts(case)
                left = [other for other in left if one[i] + two[other] > least]
                if not left:
                    order.insert(0, order.pop(at))  # it will rule out the next ones as well
                    break
            need(not left, "R18: a panel that is left has more than B")
