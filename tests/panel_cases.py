"""Random small panels and their optimum by brute force: in rationals, with offsets of three classes and more by scipy.

The problem is stated once more here, straight from the definitions; nothing but the data is shared with cobic.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.optimize import linprog

from oracle import Oracle


def exact_tail(margins, weights, tail):
    """Mean of the worst share of the samples' margins."""
    if tail == 0:
        return min(margins)
    total, left, value = sum(weights), Fraction(1), Fraction(0)
    for margin, weight in sorted(zip(margins, weights)):
        share = min(left, weight / (total * tail))
        value, left = value + share * margin, left - share
    return value


def best_with_offsets(comparisons, labels, weights, tail):
    """The largest tail margin over all offsets, for margins {(sample, own, other): margin}."""
    if set(labels) == {0, 1}:
        first, second = ([m for (_, own, _), m in comparisons.items() if own == cls] for cls in (0, 1))
        steps = {(b - a) / 2 for a in first for b in second}  # where the order of the samples changes
        signs = [1 if own == 0 else -1 for _, own, _ in comparisons]
        shifted = ([m + sign * step for sign, m in zip(signs, comparisons.values())] for step in steps)
        return max(exact_tail(margins, weights, tail) for margins in shifted)
    n, k = len(labels), max(labels) + 1
    rows, level = [], []
    for (sample, own, other), margin in comparisons.items():
        row = np.zeros(1 + n + k)
        row[0], row[1 + n + own], row[1 + n + other] = 1.0, -1.0, 1.0
        row[1 + sample] = -1.0 if tail else 0.0
        rows.append(row)
        level.append(float(margin))
    caps = [float(weight / (sum(weights) * tail)) for weight in weights] if tail else [1.0] * n
    cost = np.concatenate([[-1.0], caps, np.zeros(k)])
    bounds = [(None, None)] + [(0, None)] * n + [(0, 0)] + [(None, None)] * (k - 1)
    return -linprog(cost, A_ub=np.array(rows), b_ub=level, bounds=bounds).fun


class PanelOracle:
    """All panels of a problem."""

    def __init__(self, X, y, chosen, groups=None):
        self.oracle, self.groups = Oracle(X, y, **chosen), groups
        self.classes = self.oracle.feature_classes

    def one_of_each(self, chosen):
        taken = [self.groups[i] for i in chosen if self.groups and self.groups[i] is not None]
        return len(set(taken)) == len(taken)

    def panels(self, low, high, total):
        allowed = [i for i in range(self.oracle.m) if self.classes[i] >= 0]
        for chosen in combinations(allowed, total):
            counts = [sum(self.classes[i] == r for i in chosen) for r in range(len(low))]
            support = [i in chosen for i in range(self.oracle.m)]
            inside = all(a <= n <= b for a, n, b in zip(low, counts, high))
            if inside and self.oracle.admits(support) and self.one_of_each(chosen):
                yield support

    def value(self, support, weights, tail, *, offset):
        if not offset:
            return exact_tail(self.oracle.margins(support), weights, tail)
        k, comparisons = len(self.oracle.classes), {}
        labels = [self.oracle.classes.index(cls) for cls in self.oracle.y]
        for j, row in enumerate(self.oracle.X):
            held = [[row[i] for i in range(self.oracle.m) if support[i] and self.classes[i] == r] for r in range(k)]
            means = [sum(values) / len(values) for values in held]
            comparisons |= {(j, labels[j], q): means[labels[j]] - means[q] for q in range(k) if q != labels[j]}
        return best_with_offsets(comparisons, labels, weights, tail)

    def best(self, low, high, total, weights, tail, *, offset=False):
        """The largest tail margin of all panels; None if there is none."""
        values = [self.value(support, weights, tail, offset=offset) for support in self.panels(low, high, total)]
        return max(values, default=None)


def random_case(rng):
    """Data, choices, and what is asked: by a seed."""
    k = int(rng.integers(2, 5))
    n, m = int(rng.integers(k, 9)), int(rng.integers(k, 10))
    y = rng.integers(0, k, n)
    y[:k] = range(k)
    whole, real = rng.integers(-4, 10, (n, m)).astype(float), rng.normal(size=(n, m)) * 3
    X = whole if rng.random() < 0.4 else real
    offset = bool(rng.random() < 0.5)
    chosen = {"ties": str(rng.choice(["first", "exclude"])), "beta": 1.0 if offset else float(rng.choice([1.0, 1.5]))}
    for name, part in (("fixed_in", range(m // 2)), ("fixed_out", range(m // 2, m))):
        if rng.random() < 0.2 and len(part):
            chosen[name] = [int(rng.choice(part))]
    weights = str(rng.choice(["equal", "balanced", "given"]))
    if weights == "given":
        weights = rng.integers(0, 4, n)
        weights[0] += 1
        weights = weights.tolist()
    groups = None
    if rng.random() < 0.5:
        groups = [None if label == 0 else int(label) for label in rng.integers(0, m, m)]
    asked = {"tail": float(rng.choice([0.0, 0.1, 0.3, 0.5, 1.0])), "weights": weights, "offset": offset}
    return X, y.tolist(), chosen, {**asked, "groups": groups}
