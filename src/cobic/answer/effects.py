"""How each feature differs between one class and all other samples: numbers that describe, whatever was selected."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from cobic.matrix import Bools, Floats, Integers, Matrix
from cobic.problem import Problem

_SORTED_AT_ONCE = 1 << 20  # numbers: 8 MB
_MOST_SORTED = 1 << 26  # numbers: more take tens of seconds, and their areas under the curve are left out
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
    def of(cls, matrix: Matrix, labels: Integers, n_classes: int, means: Floats | None = None) -> "ClassEffects":
        """Those of a matrix, by one look at its numbers, and another where class means (k, m) are not known."""
        with np.errstate(over="ignore", invalid="ignore"):  # of numbers near the largest ones little can be told
            return cls._of(matrix, labels, n_classes, means)

    @classmethod
    def _of(cls, matrix: Matrix, labels: Integers, n_classes: int, means: Floats | None) -> "ClassEffects":
        n_samples = labels.size
        member = np.zeros((n_samples, n_classes))
        member[np.arange(n_samples), labels] = 1.0
        sizes = np.bincount(labels, minlength=n_classes)
        of, others = sizes[:, None], n_samples - sizes[:, None]
        means = matrix.transposed_products(member).T / of if means is None else means
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

    def t_tests(self) -> tuple[Floats, Floats]:
        """Welch's t and its two-sided p.

        NaN where there is no spread to compare with: a class of one sample, or a constant feature.
        """
        of = self.sizes[:, None]
        others = self.sizes.sum() - of
        with np.errstate(all="ignore"):
            stds = np.sqrt(self.squares / (of - 1)), np.sqrt(self.rest_squares / (others - 1))
            t, p = stats.ttest_ind_from_stats(
                self.means, stds[0], of, self.rest_means, stds[1], others, equal_var=False
            )
        known = (self.spread > 0) & np.isfinite(p)
        t, p = (np.where(known, each, np.nan) for each in (t, p))
        return t, p


def effect_table(problem: Problem) -> pd.DataFrame:
    """Each feature's class against all other samples: what describes a feature, and took no part in a selection.

    The difference of means (under log2 it is the logarithm of the fold change), the area under the ROC curve, Welch's
    t, its p, and p adjusted over all features by Benjamini and Hochberg; NaN for features in no class.
    """
    effects = ClassEffects.of(problem.matrix, problem.labels, problem.n_classes, problem.class_means)
    t, p = effects.t_tests()
    of, every = problem.feature_classes, np.arange(problem.n_features)
    own = {"difference": effects.differences, "AUC": np.full_like(t, np.nan), "t": t, "p": p}
    if t.shape[1] * problem.n_samples <= _MOST_SORTED:
        _fill_areas(problem, own["AUC"])
    table = pd.DataFrame({name: np.where(of >= 0, each[of, every], np.nan) for name, each in own.items()})
    table["adjusted p"] = adjusted(table["p"].to_numpy())
    log2 = problem.transformation is not None and problem.transformation.name == "log2"
    return table.rename(columns={"difference": "log2 fold change"}) if log2 else table


def adjusted(p: Floats) -> Floats:
    """P values (m,) adjusted by Benjamini and Hochberg over those that are known."""
    known, result = np.isfinite(p), np.full(p.size, np.nan)
    if known.any():
        result[known] = stats.false_discovery_control(p[known])
    return result


def _fill_areas(problem: Problem, found: Floats) -> None:
    """Areas of each feature in the row of its class."""
    step = max(1, _SORTED_AT_ONCE // problem.n_samples)
    for cls in range(problem.n_classes):
        members = np.flatnonzero(problem.feature_classes == cls)
        for start in range(0, members.size, step):
            part = members[start : start + step]
            found[cls, part] = areas(problem.matrix.columns(part), problem.labels == cls)


def areas(columns: Floats, inside: Bools) -> Floats:
    """Area under the ROC curve of each feature (n, m): how often a sample inside is higher than one outside."""
    ranks, n_inside = stats.rankdata(columns, axis=0), int(inside.sum())
    wins = ranks[inside].sum(axis=0) - n_inside * (n_inside + 1) / 2
    return np.asarray(wins / (n_inside * (inside.size - n_inside)))
