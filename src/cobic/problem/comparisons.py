"""What is asked of each sample: comparisons of its own class mean with those of the other classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cobic.matrix import Bools, Floats, Integers


@dataclass(frozen=True)
class Comparisons:
    """What is asked of each sample: its own class mean must exceed ``alpha + factor × (other class mean)``.

    Sample j has the comparisons ``[j, :]``: one with each other class, and under ``beta_rule="sign-aware"`` a second
    one with the factor 1/β.
    """

    own: Integers  # class of the sample
    other: Integers  # class it is compared with
    factor: Floats  # β of the sample, or 1/β
    inverse: Bools  # true where the factor is 1/β
    alpha: Floats  # additive margin of the sample

    def margins(self, means: Floats) -> Floats:
        """Margins (n, c) of every comparison, for class means (n, k)."""
        sample = np.arange(self.own.size)
        own = means[sample, self.own]
        return own[:, None] - self.factor * means[sample[:, None], self.other] - self.alpha[:, None]

    def exact_margin(self, sample: int, means: Sequence[Fraction], beta: float) -> Fraction:
        """Worst margin of one sample as a rational, for its class means (k,) and its β, of which 1/β is no float."""
        factors = [1 / Fraction(beta) if inverse else Fraction(beta) for inverse in self.inverse]
        pairs = zip(self.other[sample], factors, strict=True)
        worst: Fraction = min(means[self.own[sample]] - factor * means[other] for other, factor in pairs)
        return worst - Fraction(self.alpha[sample])

    def pull(self, multipliers: Floats) -> Floats:
        """Weight (n, k) of each sample's class means in Σ multipliers·margins, for multipliers (n, c)."""
        by_class = [(self.coefficients(cls) * multipliers).sum(axis=1) for cls in range(int(self.own.max()) + 1)]
        return np.stack(by_class, axis=1)

    def coefficients(self, cls: int) -> Floats:
        """By how much each margin (n, c) moves per unit of the mean of class `cls`."""
        return np.where(self.own == cls, 1.0, 0.0)[:, None] - np.where(self.other == cls, self.factor, 0.0)

    def names(self, samples: Sequence[str], classes: Sequence[str]) -> list[str]:
        """A name for every comparison, in the order of the rows of a linear program."""
        words = ["above_inverse" if inverse else "above" for inverse in self.inverse]
        return [
            f"sample_{sample}_{classes[own]}_{word}_{classes[other]}"
            for sample, own, others in zip(samples, self.own, self.other, strict=True)
            for other, word in zip(others, words, strict=True)
        ]


def all_comparisons(labels: Integers, n_classes: int, alpha: Floats, beta: Floats, *, sign_aware: bool) -> Comparisons:
    """Compare each sample with every other class; twice, with β and 1/β, where the rule is aware of signs."""
    others = np.array([[q for q in range(n_classes) if q != r] for r in range(n_classes)])
    other = others[labels]
    factor = np.repeat(beta[:, None], other.shape[1], axis=1)
    inverse = np.zeros(other.shape[1], dtype=np.bool_)
    if sign_aware and (beta > 1).any():
        other, inverse = np.hstack([other, other]), np.concatenate([inverse, ~inverse])
        factor = np.hstack([factor, 1.0 / factor])
    return Comparisons(labels, other, factor, inverse, alpha)
