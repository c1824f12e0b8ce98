"""Where to begin with many features: the bound of a part of them.

The multipliers that are best for a part of the features, taken evenly from all, are nearly the best for all of them:
what matters is how the scores are distributed. The bound of that part begins with a part of it in turn, down to some
thousands of features, and costs little beside that of the whole.
"""

from dataclasses import dataclass

import numpy as np

from cobic.certified.effort import DEFAULT, Effort
from cobic.matrix import Floats, Integers
from cobic.problem import Problem


@dataclass(frozen=True)
class Beginning:
    """Where a search begins."""

    amounts: Floats  # features of each class in a selection of about the largest size
    multipliers: Integers | None = None  # multipliers that are good there


def everything(problem: Problem) -> Beginning:
    """The beginning of a search that knows nothing."""
    return Beginning(problem.feature_class_sizes.astype(np.float64))


def part_of_features(problem: Problem, effort: Effort = DEFAULT) -> Problem | None:
    """The problem of some features, taken evenly from each class; None where that is not worth it."""
    bound = problem.required.any() or problem.constraints.groups
    fewest = max(effort.least_features_of_part, effort.features_per_sample_of_part * problem.n_samples)
    few = problem.n_selectable < effort.one_of * fewest
    if bound or few or problem.n_samples > effort.most_samples_of_part:
        return None
    evenly = [members[:: effort.one_of] for members in problem.features_of_class]
    if sum(members.size for members in evenly) == problem.n_selectable:
        return None
    kept = problem.matrix.selected(np.sort(np.concatenate(evenly)))
    part = Problem(kept, problem.classes[problem.labels], problem.alpha, problem.beta, beta_rule=problem.beta_rule)
    return part if part.feature_class_sizes.all() else None
