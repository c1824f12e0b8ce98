"""What a vector of multipliers proves about numbers of selected features.

Fix how many features of each class are selected, n = (n_1 … n_k). Then all class means have known denominators, and for
any multipliers λ ≥ 0, one per comparison, the weighted sum of all margins of a selection x is

    Σ λ·margin(x)  =  Σ_r (1/n_r) Σ_{i∈F_r} e_i x_i  −  Σ λα,      e_i = Σ_j (weight of sample j in λ) a_ij.

Exactly n_r features of F_r are selected, so this is at most

    v(n)  =  Σ_r P_r(n_r)  −  Σ λα,      P_r(n) = mean of the n largest e_i in F_r.

In a consistent selection every margin is positive, hence v(n) > 0. So **λ excludes every n with v(n) ≤ 0**: a proof
that takes one pass over the data and a sort, valid for any λ, found by whatever means. By linear programming duality
some λ excludes n whenever the continuous relaxation at n is infeasible: nothing is lost to the linear program.

P_r decreases with n, so with n every larger count vector is excluded as well: to prove that no selection has T or more
features it is enough that multipliers exclude all n with Σ n_r = T exactly. Features that must be selected break this:
then P_r(n) is the mean of these and the n − (their number) largest others, and all n with Σ n_r ≥ T are to be excluded.

**Soft margins.** With a price C on a unit of violation, Σ_q λ_jq ≤ C gives Σ λ·margin ≥ −C Σ violations, hence

    N − C Σ violations  ≤  Σ_r (n_r + P_r(n_r)) − Σ λα      for every selection with counts n:

the same curves bound the objective, class by class, and over a box of counts each class for itself.

**Groups.** A selection holds all or nothing of the part of a group that lies in one class, so that the scores of its
features may be replaced by their mean. Where it is to hold one feature of a group at most, as a panel is, only the best
of those that lie in one class counts.
"""

from dataclasses import replace

import numpy as np

from cobic.certified.proof import Multipliers
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem
from cobic.problem.exact import TINY
from cobic.problem.grouping import OnePerGroup

PRECISION = 1 << 30  # of the largest multiplier: what is lost by rounding them is less than what one feature does
# How a table of maxima is laid out, which no answer depends on: counts up to which it holds all of them (4 MB), and how
# many are taken together where there are more.
_FEW_COUNTS, _BLOCK = 1 << 15, 256
_NEARBY = 2  # counts on each side at which a slope is measured: it is that of a step function
_OPERATIONS = 24  # additions and multiplications that a bound is put together with, apart from its sums
_CAUTION = 8  # times what can be proven
_EPS = float(np.finfo(np.float64).eps)


class Cut:
    """A vector of multipliers with all that is needed to see which counts it excludes."""

    def __init__(
        self,
        problem: Problem,
        multipliers: Integers,
        at: Integers,
        scores: Floats | None = None,
        groups: OnePerGroup | None = None,
    ) -> None:
        self._problem, self._groups = problem, groups
        self.size = float(multipliers.sum())
        self.proof = Multipliers.of(multipliers, 0.0)
        weights = self._weights()
        self._scores = scores
        self.offset = float((weights.sum(axis=1) * problem.alpha).sum())
        self._first: Integers = np.ones(problem.n_classes, dtype=np.int64)
        self._means = self._all_means()
        self._tables: dict[int, RangeMaxima] = {}
        self.error = rounding_error(problem, weights)
        self.slope = self._slope(at)
        self.effect = self._effect(at)
        self.proof = replace(self.proof, slope=self.slope)

    @property
    def multipliers(self) -> Integers:
        """The λ, (n_samples, n_comparisons)."""
        return self.proof.dense(self._problem.comparisons.other.shape)

    @property
    def scores(self) -> Floats:
        """Score e_i of each feature; computed anew if it was released."""
        if self._scores is None:
            self._scores = class_scores(self._problem, self._problem.comparisons.pull(self._weights()))
        return self._scores

    def release(self, least: Integers | None = None, most: Integers | None = None) -> None:
        """Give memory back; what is asked for again later is computed again, at the price of a pass over the data.

        Beyond `most` nothing must be asked for again: a panel of 20 needs no means of 10,000 features.
        """
        self._scores = None
        if most is not None:
            self._means = [self._means[cls][:size].copy() for cls, size in enumerate(most - self._first + 1)]
            self._tables = {}
        if least is not None:
            least = np.maximum(least, self._first)
            self._means = [self._means[cls][skip:].copy() for cls, skip in enumerate(least - self._first)]
            self._first, self._tables = least, {}

    def reaches(self, counts: Integers) -> bool:
        """Whether v at some counts takes no pass over the data."""
        return bool((counts >= self._first).all())

    def means(self, cls: int, least: int) -> tuple[int, Floats]:
        """P_r for a class from some count on, which is at most `least`: that count, and P_r there and beyond."""
        if least < self._first[cls]:
            self._first, self._tables, self._means = np.ones_like(self._first), {}, self._all_means()
        return int(self._first[cls]), self._means[cls]

    def _all_means(self) -> list[Floats]:
        scores, required, found = self.scores, self._problem.required, []
        for members in self._problem.features_of_class:
            free, inside = members[~required[members]], members[required[members]]
            free = free if self._groups is None else self._groups.best(free, scores)
            found.append(_prefix_means(scores[free], scores[inside]))
        return found

    def _weights(self) -> Floats:
        weights: Floats = self.multipliers.astype(np.float64) * multiplier_unit(self._problem)
        return weights

    def values(self, counts: Integers) -> Floats:
        """v(n) for count vectors (B, k)."""
        total = np.full(counts.shape[0], -self.offset)
        for cls, of_class in enumerate(counts.T):
            first, means = self.means(cls, int(of_class.min()))
            total += means[of_class - first]
        return total

    def excludes(self, values: Floats) -> Bools:
        """Which values of v prove that there is no selection, whatever the rounding."""
        return values <= -self.error

    def box_values(self, low: Integers, high: Integers, total: int) -> Floats:
        """Upper bounds (B,) on v over the count vectors in the boxes (B, k) that add up to `total`, or more.

        For any σ ≤ 0, Σ P_r(n_r) ≤ σ·total + Σ (P_r(n_r) − σ n_r), and each term is largest somewhere in its interval.
        """
        bound: Floats = self.slope * np.maximum(total, low.sum(axis=1)) - self.offset
        for cls in range(low.shape[1]):
            bound += self._maxima(cls, low[:, cls], high[:, cls])
        return bound

    def objective_bounds(self, low: Integers, high: Integers) -> Floats:
        """Upper bounds (B,) on the objective with soft margins over boxes of counts (B, k)."""
        bound = np.full(low.shape[0], -self.offset + self.error)
        for cls in range(low.shape[1]):
            bound += self._maxima(cls, low[:, cls], high[:, cls])
        return bound

    def _maxima(self, cls: int, low: Integers, high: Integers) -> Floats:
        """Maxima of P_r(n) − σ n over intervals of counts."""
        first = int(low.min())
        if cls not in self._tables or self._tables[cls].first > first:
            start, means = self.means(cls, first)
            self._tables[cls] = RangeMaxima(means[first - start :], self.slope, first)
        return self._tables[cls].over(low, high)

    def _slope(self, at: Integers) -> float:
        """Common slope of the P_r near the counts at which the multipliers are best; not above zero."""
        if self._problem.soft:
            return -1.0  # then P_r(n) − σ n is what a class adds to the objective
        slopes = []
        for means, n in zip(self._means, at, strict=True):
            low, high = max(1, int(n) - _NEARBY), min(means.size, int(n) + _NEARBY)
            slopes.append((means[high - 1] - means[low - 1]) / max(1, high - low))
        slope = float(np.mean(slopes))
        return min(slope, 0.0) if np.isfinite(slope) else 0.0

    def _effect(self, at: Integers) -> float:
        """What one feature does to v / Σλ near some counts: the mean distance of scores from where they are cut off."""
        effects = []
        for means, n in zip(self._means, at.tolist(), strict=True):
            if not np.isfinite(means[max(n - 2, 0)]):
                return 0.0  # the required features leave no choice
            cut_off = n * means[n - 1] - (n - 1) * means[n - 2] if n > 1 else means[0]
            distances = 2 * n * means[n - 1] - means.size * means[-1] + (means.size - 2 * n) * cut_off
            effects.append(distances / (means.size * n))
        effect = min(effects) / max(self.size, 1.0)
        return effect if np.isfinite(effect) else 0.0


def rounding_error(problem: Problem, multipliers: Floats) -> float:
    """How far below zero v must come out in floating point to be certainly below zero.

    A sum of t terms has an error of at most t·ε/2 times the sum of their sizes; here that holds for the scores, for
    their sums over the features, and for what is put together from these. More is asked for than can be proven, so that
    who checks with another order of summation comes to the same verdict.
    """
    if not multipliers.any() and not problem.soft:
        return np.inf  # λ = 0 proves nothing, whatever v says
    terms = problem.n_samples + 2 * problem.n_features + problem.comparisons.other.shape[1]
    terms += 2 * problem.n_classes + _OPERATIONS
    size = float((multipliers * (1.0 + problem.comparisons.factor)).sum(axis=1) @ problem.row_scale())
    offset = float(multipliers.sum(axis=1) @ problem.alpha)
    counted = problem.n_features if problem.soft else 0
    return float(_CAUTION * (_EPS * (terms * (size + offset + counted)) + TINY))


def multiplier_unit(problem: Problem) -> float:
    """What a multiplier of 1 stands for: any scale will do with hard margins, a part of the price with soft ones."""
    return problem.slack_penalty / PRECISION if problem.soft else 1.0


def class_scores(problem: Problem, pull: Floats) -> Floats:
    """Score e_i of each feature: what selecting it adds to n_r·Σ λ·margin; 0 for features in no class."""
    scores = problem.matrix.class_scores(pull, problem.feature_classes)
    return np.where(problem.selectable, problem.constraints.pooled(scores), 0.0)


def _prefix_means(free: Floats, required: Floats) -> Floats:
    """P_r(1), P_r(2), …: −∞ for counts that the required features alone exceed."""
    ordered = np.sort(free)[::-1]
    sums = np.cumsum(np.concatenate([[required.sum()], ordered]))[max(0, 1 - required.size) :]
    counts = np.arange(max(1, required.size), required.size + free.size + 1)
    return np.concatenate([np.full(max(0, required.size - 1), -np.inf), sums / counts])


class RangeMaxima:
    """Maxima of P(n) − σ n over ranges of counts n, at once for many ranges.

    The maxima of blocks of counts are kept, and those of all runs of 1, 2, 4, … blocks; the ends of a range are looked
    up.
    """

    def __init__(self, means: Floats, slope: float, first: int) -> None:
        self._means, self._slope, self.first = means, slope, first
        self._block = 1 if means.size < _FEW_COUNTS else _BLOCK
        starts = np.arange(0, means.size, self._block)
        self._levels = [np.maximum.reduceat(means - slope * np.arange(first, first + means.size), starts)]
        while (1 << len(self._levels)) <= starts.size:
            half = 1 << (len(self._levels) - 1)
            self._levels.append(np.maximum(self._levels[-1][:-half], self._levels[-1][half:]))

    def over(self, low: Integers, high: Integers) -> Floats:
        """Maxima over the ranges from `low` to `high`, both included, (B,)."""
        begin, end = low - self.first, high - self.first
        if self._block == 1:
            return self._over_blocks(begin, end)
        first, last = -(-begin // self._block), (end + 1) // self._block - 1
        result = np.full(low.size, -np.inf)
        whole = first <= last
        result[whole] = self._over_blocks(first[whole], last[whole])
        for edge in (begin, np.maximum(end - self._block + 1, begin)):
            places = np.minimum(edge[:, None] + np.arange(self._block), end[:, None])
            values = self._means[places] - self._slope * (places + self.first)
            np.maximum(result, values.max(axis=1), out=result)
        return result

    def _over_blocks(self, first: Integers, last: Integers) -> Floats:
        """Maxima over ranges of blocks, by two overlapping runs of a power of two."""
        level = np.floor(np.log2(last - first + 1)).astype(int)
        result = np.empty(first.size)
        for depth in np.unique(level):
            part, run = level == depth, self._levels[depth]
            result[part] = np.maximum(run[first[part]], run[last[part] - (1 << depth) + 1])
        return result
