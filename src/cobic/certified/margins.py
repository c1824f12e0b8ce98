"""The largest margin for which a consistent selection exists: one that was found, and a bound on all.

With fewer features the largest worst margin of the relaxation at fixed counts can only grow. At one feature per class
(or the required ones) it therefore bounds the margin of every selection. Rounding the relaxation at small counts, and
exchanging features while that raises the worst margin, gives selections. For β the same is asked of own − β·other, and
β is raised to what the best selection bears until it no longer moves (Dinkelbach's method).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cobic.certified.bundle import Bundle
from cobic.certified.effort import DEFAULT, Effort
from cobic.certified.programs import FeaturePrograms, round_to_counts
from cobic.matrix import Bools
from cobic.problem import Problem
from cobic.search.budget import Budget
from cobic.search.repair import raise_margin

Kind = Literal["alpha", "beta"]
LARGEST_BETA = 100.0  # a class mean that is a hundred times the others: nobody asks for more
_SAME_BETA = 1e-6  # of β: less is not a step of Dinkelbach's method, but rounding
_CLOSE_BETA = 1e-2  # of β: the bound is for the eye


@dataclass(frozen=True)
class LargestMargin:
    """How far a margin can be raised."""

    found: float  # some selection is consistent with every smaller margin; negative (for β: below 1) if none was found
    bound: float  # no selection is consistent with a larger one, as far as floating point can tell
    support: Bools  # the selection


def largest_margin(problem: Problem, kind: Kind, budget: Budget, known: Sequence[Bools] = ()) -> LargestMargin:
    """Raise α or β as far as it goes."""
    if kind == "alpha":
        return _largest_alpha(problem.with_margins(0.0, problem.beta), budget, known)
    return _largest_beta(problem, budget, known)


def _largest_alpha(problem: Problem, budget: Budget, known: Sequence[Bools]) -> LargestMargin:
    tried = list(selections_with_large_margins(problem, budget))
    bound = tried[0][0] if tried else np.inf
    candidates = [support for _, support in tried if support is not None]
    candidates += [raise_margin(problem, support, budget) for support in known]
    scored = [(problem.worst_margin(support), place) for place, support in enumerate(candidates)]
    found, place = max(scored, default=(-np.inf, 0))
    return LargestMargin(found, max(bound, found), candidates[place] if candidates else problem.selectable)


def _largest_beta(problem: Problem, budget: Budget, known: Sequence[Bools]) -> LargestMargin:
    best = LargestMargin(0.0, LARGEST_BETA, problem.selectable)
    for support in known:
        found = _bearable_beta(problem, support)
        best = LargestMargin(found, LARGEST_BETA, support) if found > best.found else best
    beta = 1.0
    for _ in range(DEFAULT.beta_steps):
        found_ones = selections_with_large_margins(problem.with_margins(problem.alpha, beta), budget)
        candidates = [support for _, support in found_ones if support is not None]
        scored = [(_bearable_beta(problem, support), place) for place, support in enumerate(candidates)]
        found, place = max(scored, default=(0.0, 0))
        if not found > best.found * (1 + _SAME_BETA):
            break
        best = LargestMargin(found, LARGEST_BETA, candidates[place])
        beta = min(max(found, 1.0), LARGEST_BETA)
    return LargestMargin(best.found, _beta_bound(problem, max(best.found, 1.0), budget), best.support)


def _bearable_beta(problem: Problem, support: Bools) -> float:
    """The largest β with which a selection is consistent; 0 if there is none."""
    means, own = problem.means(support), problem.labels
    sample = np.arange(problem.n_samples)
    reach = means[sample, own] - problem.alpha
    others = means.copy()
    others[sample, own] = -np.inf
    largest = others.max(axis=1)
    if not problem.with_margins(problem.alpha, 1.0).is_consistent(support):
        return 0.0
    ratios = np.divide(reach, largest, out=np.full(reach.shape, LARGEST_BETA), where=largest > 0)
    return float(min(ratios.min(), LARGEST_BETA))


def _beta_bound(problem: Problem, low: float, budget: Budget) -> float:
    """The β at which the relaxation at the smallest counts has no positive margin left, by halving."""
    least = np.maximum(problem.required_sizes, 1)

    def margin(beta: float) -> float:
        other = problem.with_margins(problem.alpha, beta)
        solution = FeaturePrograms(Bundle(other, budget)).solve(least, closely=True)
        return np.inf if solution is None else solution.value

    high = low
    while high < LARGEST_BETA and margin(high) > 0:
        high *= 2.0
    if high >= LARGEST_BETA:
        return LARGEST_BETA
    for _ in range(DEFAULT.beta_halvings):
        if high - low <= _CLOSE_BETA * high:
            break
        middle = 0.5 * (low + high)
        low, high = (middle, high) if margin(middle) > 0 else (low, middle)
    return high


def some_selection(problem: Problem, budget: Budget, effort: Effort = DEFAULT) -> Bools | None:
    """A selection that bears the margins asked for, of as many features as halving them finds; None if none does.

    The fewer the features, the larger the margins they can have: so a hard margin is come to over easier ones.
    """
    programs = FeaturePrograms(Bundle(problem, budget, effort))
    least, counts = np.maximum(problem.required_sizes, 1), problem.feature_class_sizes
    while (counts > least).any():
        counts = np.maximum(counts // 2, least)
        solution = programs.solve(counts, closely=True)
        if solution is None:
            return None
        support = problem.constraints.complete(round_to_counts(problem, solution.mixture.x, counts))
        if solution.excluded or not problem.counts(support).all():
            continue
        for candidate in (support, raise_margin(problem, support, budget)):
            if problem.is_consistent(candidate):
                return candidate
    return None


def selections_with_large_margins(
    problem: Problem, budget: Budget, effort: Effort = DEFAULT
) -> Iterator[tuple[float, Bools | None]]:
    """Selections with a large margin: small ones first, then larger and larger ones; with a bound on all margins.

    A size at which constraints leave a class without features gives no selection.
    """
    programs = FeaturePrograms(Bundle(problem, budget, effort))
    least, sizes = np.maximum(problem.required_sizes, 1), problem.feature_class_sizes
    bound, factor = np.inf, 1
    while not budget.exhausted():
        counts = np.minimum(least * factor, sizes)
        solution = programs.solve(counts, closely=True)
        if solution is None:
            return
        bound = solution.value if factor == 1 else bound
        support = problem.constraints.complete(round_to_counts(problem, solution.mixture.x, counts))
        yield bound, raise_margin(problem, support, budget) if problem.counts(support).all() else None
        if (counts == sizes).all():
            return
        factor *= 2
