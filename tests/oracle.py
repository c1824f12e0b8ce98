"""The problem once more, in plain Python and rationals, straight from the definitions; shares no code with cobic."""

from fractions import Fraction
from itertools import product


def mean(values):
    values = list(values)
    return sum(map(Fraction, values), Fraction(0)) / len(values)


class Oracle:
    def __init__(
        self, X, y, alpha=0, beta=1, ties="first", beta_rule="published", fixed_in=(), fixed_out=(), groups=None
    ):
        self.X = [[Fraction(float(value)) for value in row] for row in X]
        self.n, self.m = len(self.X), len(self.X[0])
        self.y = list(y)
        self.classes = sorted(set(self.y))
        self.alpha = self._vector(alpha)
        self.beta = self._vector(beta)
        self.beta_rule = beta_rule
        self.fixed_in, self.fixed_out, self.groups = set(fixed_in), set(fixed_out), groups
        self.leads = []
        self.feature_classes = [self._class_of(i, ties) for i in range(self.m)]

    def _vector(self, value):
        values = [value] * self.n if isinstance(value, (int, float)) else list(value)
        return [Fraction(float(each)) for each in values]

    def _class_of(self, i, ties):
        means = [mean(row[i] for row, cls in zip(self.X, self.y) if cls == r) for r in self.classes]
        best = max(means)
        rest = sorted(means, reverse=True)
        self.leads.append(rest[0] - rest[1])
        winners = [r for r, value in enumerate(means) if value == best]
        return -1 if ties == "exclude" and len(winners) > 1 else winners[0]

    def margins(self, support):
        """Worst margin of each sample as a rational; None if a class has no selected feature."""
        groups = [
            [i for i in range(self.m) if support[i] and self.feature_classes[i] == r] for r in range(len(self.classes))
        ]
        if not all(groups):
            return None
        worst = []
        for j, row in enumerate(self.X):
            means = [mean(row[i] for i in group) for group in groups]
            own = self.classes.index(self.y[j])
            factors = [self.beta[j]] + ([1 / self.beta[j]] if self.beta_rule == "sign-aware" else [])
            worst.append(
                min(
                    means[own] - factor * means[q] - self.alpha[j]
                    for q in range(len(means))
                    if q != own
                    for factor in factors
                )
            )
        return worst

    def admits(self, support):
        chosen = {i for i in range(self.m) if support[i]}
        if any(self.feature_classes[i] < 0 for i in chosen) or chosen & self.fixed_out or self.fixed_in - chosen:
            return False
        for i in range(self.m):
            for other in range(self.m):
                same = self.groups is not None and self.groups[i] is not None and self.groups[i] == self.groups[other]
                if same and support[i] != support[other]:
                    return False
        return True

    def is_consistent(self, support):
        margins = self.margins(support) if self.admits(support) else None
        return margins is not None and all(margin > 0 for margin in margins)

    def objective(self, support, price):
        """Number of features minus price × violations, as a rational; None for a selection that is not allowed."""
        margins = self.margins(support) if self.admits(support) else None
        if margins is None:
            return None
        return sum(support) - Fraction(float(price)) * sum(max(-margin, Fraction(0)) for margin in margins)

    def consistent_sizes(self):
        """Sizes of all consistent selections."""
        return {sum(s) for s in product((0, 1), repeat=self.m) if self.is_consistent(s)}

    def optimum(self):
        """Largest number of features of a consistent selection; 0 if there is none."""
        return max(self.consistent_sizes(), default=0)

    def soft_optimum(self, price):
        """Largest objective with soft margins; None if no selection is allowed."""
        values = [self.objective(s, price) for s in product((0, 1), repeat=self.m)]
        return max((value for value in values if value is not None), default=None)
