"""How each feature differs between one class and all other samples: numbers that describe, whatever was selected."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from cobic.matrix import Bools, Floats, Integers, Matrix

_ROUNDING = 1e-12  # of a feature's mean square: a spread below it is rounding, the feature constant


@dataclass(frozen=True, eq=False)
class ClassEffects:
    """Means and spreads of the features in each class and in all other samples; each (k, m).

    A row compares a class with the rest, which are all samples of the other classes.
    """

    sizes: Integers  # samples of each class, (k,)
    means: Floats
    rest_means: Floats
    squares: Floats  # sums of squared distances to the mean of the class
    rest_squares: Floats  # and those of the rest to theirs
    spread: Floats  # standard deviation of each feature over all samples, (m,); 0 where it is constant

    @classmethod
    def of(cls, matrix: Matrix, labels: Integers, n_classes: int) -> "ClassEffects":
        """Those of a matrix, by two looks at its numbers."""
        n_samples = labels.size
        member = np.zeros((n_samples, n_classes))
        member[np.arange(n_samples), labels] = 1.0
        sizes = np.bincount(labels, minlength=n_classes)
        of, others = sizes[:, None], n_samples - sizes[:, None]
        means = matrix.transposed_products(member).T / of
        squares = np.zeros_like(means)
        for block, rows in matrix.row_blocks():
            squares += member[block].T @ np.square(rows - means[labels[block]])
        centre = sizes @ means / n_samples
        away = of * np.square(means - centre)
        total = (squares + away).sum(axis=0)
        rest_means = (n_samples * centre - of * means) / others
        rest_squares = np.maximum(total - squares - away - others * np.square(rest_means - centre), 0.0)
        varies = total > _ROUNDING * n_samples * np.square(centre)
        spread = np.where(varies, np.sqrt(total / n_samples), 0.0)
        return cls(sizes, means, rest_means, squares, rest_squares, spread)

    @property
    def differences(self) -> Floats:
        """Mean of the class minus mean of the rest."""
        return self.means - self.rest_means

    def t_tests(self) -> tuple[Floats, Floats, Floats]:
        """Welch's t, its two-sided p, and p adjusted over the features of a row by Benjamini and Hochberg.

        NaN where there is no spread to compare with: a class of one sample, or a constant feature; these count as 1.
        """
        of = self.sizes[:, None]
        others = self.sizes.sum() - of
        with np.errstate(invalid="ignore", divide="ignore"):
            stds = np.sqrt(self.squares / (of - 1)), np.sqrt(self.rest_squares / (others - 1))
            t, p = stats.ttest_ind_from_stats(
                self.means, stds[0], of, self.rest_means, stds[1], others, equal_var=False
            )
        known = (self.spread > 0) & np.isfinite(p)
        p_adjusted = stats.false_discovery_control(np.where(known, p, 1.0), axis=1)
        t, p, p_adjusted = (np.where(known, each, np.nan) for each in (t, p, p_adjusted))
        return t, p, p_adjusted


def areas(columns: Floats, inside: Bools) -> Floats:
    """Area under the ROC curve of each feature (n, m): how often a sample inside is higher than one outside."""
    ranks, n_inside = stats.rankdata(columns, axis=0), int(inside.sum())
    wins = ranks[inside].sum(axis=0) - n_inside * (n_inside + 1) / 2
    return np.asarray(wins / (n_inside * (inside.size - n_inside)))
