"""Where to begin with many features: the bound of a part of them.

The multipliers that are best for some thousands of features, taken evenly from all, are nearly the best for all of
them: what matters is how the scores are distributed. They cost nothing beside a single pass over a million features.
"""

from dataclasses import dataclass

import numpy as np

from cobic.budget import Budget, Incumbent
from cobic.matrix import Floats, Integers
from cobic.problem import Problem

_CELLS = 1 << 22
_FEATURES = 1 << 14
_WORTH_IT = 8
_MANY_SAMPLES = 2000


@dataclass(frozen=True)
class Beginning:
    """Where a search begins.

    Attributes
    ----------
    amounts : ndarray of shape (k,)
        Features of each class in a selection of about the largest size.
    multipliers : ndarray of int64, shape (n_samples, n_comparisons), or None
        Multipliers that are good there.
    """

    amounts: Floats
    multipliers: Integers | None = None


def part_of_features(problem: Problem) -> Problem | None:
    """The problem of some features, taken evenly from each class; None where that is not worth it.

    Parameters
    ----------
    problem : Problem
        The whole; it must not bind features to each other or to the selection.
    """
    size = min(_CELLS // problem.n_samples, _FEATURES)
    bound = problem.required.any() or problem.constraints.groups
    few = size < problem.n_classes or problem.n_samples > _MANY_SAMPLES  # of few features nothing is consistent
    if bound or few or problem.n_selectable < _WORTH_IT * size:
        return None
    share = size / problem.n_selectable
    evenly = [
        members[np.linspace(0, members.size - 1, max(1, round(share * members.size))).astype(np.intp)]
        for members in problem.features_of_class
    ]
    columns = problem.matrix.columns(np.sort(np.concatenate(evenly)))
    part = Problem(columns, problem.classes[problem.labels], problem.alpha, problem.beta, beta_rule=problem.beta_rule)
    return part if part.feature_class_sizes.all() else None


def quiet(problem: Problem, budget: Budget) -> tuple[Budget, Incumbent]:
    """A budget and an incumbent for a search on the side."""
    silent = budget.silent()
    return silent, Incumbent(problem, silent)
