"""Where to begin with many features: the bound of a part of them.

The multipliers that are best for a part of the features, taken evenly from all, are nearly the best for all of them:
what matters is how the scores are distributed. The bound of that part begins with a part of it in turn, down to some
thousands of features, and costs little beside that of the whole.
"""

from dataclasses import dataclass

import numpy as np

from cobic.matrix import Floats, Integers
from cobic.problem import Problem
from cobic.search.budget import Budget, Incumbent

_SHARE = (
    8  # one feature of so many: a part's bound costs little beside that of the whole, and its multipliers are close
)
_LEAST_FEATURES = 1 << 13  # the best multipliers of fewer features say little about the others
_PER_SAMPLE = 8  # features: with fewer nothing is consistent
_MANY_SAMPLES = 2000


@dataclass(frozen=True)
class Beginning:
    """Where a search begins."""

    amounts: Floats  # features of each class in a selection of about the largest size
    multipliers: Integers | None = None  # multipliers that are good there


def part_of_features(problem: Problem) -> Problem | None:
    """The problem of some features, taken evenly from each class; None where that is not worth it."""
    bound = problem.required.any() or problem.constraints.groups
    few = problem.n_selectable < _SHARE * max(_LEAST_FEATURES, _PER_SAMPLE * problem.n_samples)
    if bound or few or problem.n_samples > _MANY_SAMPLES:  # of few features nothing is consistent
        return None
    evenly = [members[::_SHARE] for members in problem.features_of_class]
    if sum(members.size for members in evenly) == problem.n_selectable:
        return None
    columns = problem.matrix.selected(np.sort(np.concatenate(evenly)))
    part = Problem(columns, problem.classes[problem.labels], problem.alpha, problem.beta, beta_rule=problem.beta_rule)
    return part if part.feature_class_sizes.all() else None


def quiet(problem: Problem, budget: Budget) -> tuple[Budget, Incumbent]:
    """A budget and an incumbent for a search on the side."""
    silent = budget.silent()
    return silent, Incumbent(problem, silent)
