"""What the relaxations with soft margins have in common: programs at fixed counts over the few features in question.

Nearly every feature is clearly in or clearly out: by its score under the present multipliers it stands far above or far
below the n_r-th of its class. So a program is solved over the features near that threshold, the others fixed; its
multipliers price all features in one pass; those on the wrong side of the threshold come in, and so on (sifting).
"""

from dataclasses import dataclass

import numpy as np

from cobic.budget import Budget
from cobic.certified.bounds import Cut
from cobic.certified.bundle import whole_numbers
from cobic.certified.looks import RunningSums
from cobic.certified.programs import size_of
from cobic.lp import LpSolver
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem
from cobic.program import LinearProgram

_AROUND = 60
_INCOMING = 120
_MANY_FEATURES = 50_000
_MOST = 4.0
_FEW_ROWS = 1500
_INCOMING_ROWS = 400


@dataclass(frozen=True)
class Extra:
    """Columns of a program besides the features, in compressed form."""

    lengths: Integers
    places: Integers
    values: Floats
    gain: Floats
    lower: Floats

    @classmethod
    def slacks(cls, sample: Integers, price: Floats) -> "Extra":
        """A slack per sample, in the rows of its comparisons, at a price."""
        order = np.argsort(sample, kind="stable")
        lengths = np.bincount(sample, minlength=price.size)
        return cls(lengths, order, np.ones(sample.size), -price, np.zeros(price.size))


class CountRelaxation:
    """Solves the relaxation at one count vector after another.

    Parameters
    ----------
    problem : Problem
        The problem.
    budget : Budget
        When to stop.
    """

    def __init__(self, problem: Problem, budget: Budget) -> None:
        self._problem, self._budget, self._solver = problem, budget, LpSolver(budget)
        self._scale = problem.row_scale()
        per_sample = problem.comparisons.other.shape[1]
        self._sample = np.repeat(np.arange(problem.n_samples), per_sample)
        self._scores: Floats | None = None
        self._standing = RunningSums(problem)
        self._around, self._incoming = _in_play(problem.n_features)
        self._rows: Integers | None = None if self._sample.size <= _FEW_ROWS else self._hardest_rows()

    def _hardest_rows(self) -> Integers:
        """The comparisons that are worst off when everything is selected; where there are many, only some matter."""
        margins = self._problem.comparisons.margins(self._problem.means(self._problem.selectable)).ravel()
        return np.sort(np.argsort(margins / self._scale[self._sample], kind="stable")[:_INCOMING_ROWS])

    def _partition(self, counts: Integers, decided_in: Bools, decided_out: Bools) -> tuple[Bools, Bools]:
        """Features near the threshold, by the last scores, and those well above it; decided ones apart."""
        scores = self._scores if self._scores is not None else self._starting_scores(counts)
        inside = np.zeros(self._problem.n_features, dtype=np.bool_)
        fixed = np.zeros(self._problem.n_features, dtype=np.bool_)
        for members, n_class in zip(self._problem.features_of_class, counts, strict=True):
            fixed[members[decided_in[members]]] = True
            free, n = members[~(decided_in | decided_out)[members]], int(n_class - decided_in[members].sum())
            order = free[np.argsort(-scores[free], kind="stable")]
            fixed[order[: max(0, n - self._around)]] = True
            inside[order[max(0, n - self._around) : n + self._around]] = True
        return inside, fixed

    def _starting_scores(self, counts: Integers) -> Floats:
        """Scores under multipliers that weigh the samples that are worst off when everything is selected."""
        problem = self._problem
        everything = problem.selectable.astype(np.float64)
        margins = problem.comparisons.margins(problem.sums(everything) / problem.feature_class_sizes)
        spread = max(float(np.ptp(margins)), float(np.finfo(np.float64).tiny))
        spread /= 4.0
        weights = np.exp(-(margins - margins.min()) / spread)
        return Cut(problem, whole_numbers(weights)[0], counts).scores

    def _assembled(
        self, features: Integers, fixed: Bools, counts: Integers, rows: Integers, extra: "Extra"
    ) -> LinearProgram:
        """The program over some features and a few further columns, which stand in the rows of the comparisons."""
        problem = self._problem
        sample, scale = self._sample[rows], self._scale[self._sample[rows]]
        classes, gathered = problem.feature_classes[features], problem.columns(features).T
        lengths, places, values = [], [], []
        for cls in range(problem.n_classes):
            coefficients = problem.comparisons.coefficients(cls).ravel()
            involved, mine = np.flatnonzero(coefficients[rows]), classes == cls
            size = int(mine.sum())
            weights = coefficients[rows[involved]] * (size_of(counts) / counts[cls]) / scale[involved]
            block = gathered[mine][:, sample[involved]] * weights
            values.append(np.hstack([block, np.ones((size, 1))]).ravel())
            places.append(np.tile(np.append(involved, rows.size + cls), size))
            lengths.append(np.full(size, involved.size + 1))
        already = problem.comparisons.margins(self._standing.of(fixed) / counts).ravel()[rows]
        left = counts - problem.counts(fixed)
        return LinearProgram(
            starts=np.concatenate([[0], np.cumsum(np.concatenate([*lengths, extra.lengths]))]).astype(np.int32),
            rows=np.concatenate([*places, extra.places]).astype(np.int32),
            values=np.concatenate([*values, extra.values]),
            gain=np.append(np.zeros(features.size), extra.gain),
            lower=np.append(np.zeros(features.size), extra.lower),
            upper=np.append(np.ones(features.size), np.full(extra.gain.size, np.inf)),
            row_lower=np.concatenate([-already * (size_of(counts) / scale), left]),
            row_upper=np.concatenate([np.full(rows.size, np.inf), left]),
        )

    def _wrongly_fixed(self, scores: Floats, thresholds: Floats, inside: Bools, fixed: Bools) -> Integers:
        """Features outside the program that belong on the other side of the threshold, worst first."""
        problem = self._problem
        of = problem.feature_classes
        excess = scores - np.where(problem.selectable, thresholds[of], np.inf)
        wrong = np.where(fixed, -excess, excess)
        wrong[inside | ~problem.selectable | problem.required] = -np.inf
        tolerance = 1e-9 * float(np.abs(scores).max())
        candidates = np.flatnonzero(wrong > tolerance)
        return candidates[np.argsort(-wrong[candidates], kind="stable")[: self._incoming]]


def _in_play(n_features: int) -> tuple[int, int]:
    """How many features on each side of a threshold are in a program at first, and how many may come in at a time.

    A pass over many features costs more than a larger program.
    """
    factor = min(max(n_features / _MANY_FEATURES, 1.0), _MOST)
    return int(_AROUND * factor), int(_INCOMING * factor)
