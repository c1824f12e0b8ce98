"""The worst margin at fixed counts, as a linear program over the few features that are in question.

With n_r features of each class, the largest worst margin over fractional selections is

    max s   subject to   margin_jq(x) ≥ s,   Σ_{F_r} x_i = n_r,   0 ≤ x ≤ 1.

Nearly every feature is clearly in or clearly out: by its score under the present multipliers it stands far above or far
below the n_r-th of its class. So the program is solved over the features near that threshold, the others fixed; its
multipliers price all features in one pass; those on the wrong side of the threshold come in, and so on (sifting). Often
it can end early, because only the sign matters: the program over some features proves s > 0 as soon as its own value is
positive, and its multipliers prove s ≤ 0 as soon as the bound of :mod:`cobic.certified.bounds` is not.
"""

from dataclasses import dataclass

import numpy as np

from cobic.budget import Budget
from cobic.certified.bounds import PRECISION, Cut
from cobic.lp import LpSolver
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem
from cobic.program import LinearProgram

_AROUND = 60
_INCOMING = 120
_MANY_FEATURES = 50_000
_MOST = 4.0
_FEW_CHANGES = 1000
_SHARP = 0.2
_PATIENCE = 6
_FEW_ROWS = 1500
_INCOMING_ROWS = 400


@dataclass(frozen=True)
class CountSolution:
    """What is known about the relaxation at some counts.

    Attributes
    ----------
    counts : ndarray of shape (k,)
        The counts.
    margin : float
        Worst margin of `x`.
    margins : ndarray of shape (n_samples * n_comparisons,)
        All its margins.
    fixed, features, shares : ndarray
        A fractional selection with these counts: the features that are in, and the shares of a few others.
    cut : Cut
        Multipliers from which the last bound came.
    excluded : bool
        Whether `cut` proves that no selection has these counts.
    """

    counts: Integers
    margin: float
    margins: Floats
    fixed: Bools
    features: Integers
    shares: Floats
    cut: Cut
    excluded: bool

    @property
    def x(self) -> Floats:
        """The fractional selection, (n_features,)."""
        x = self.fixed.astype(np.float64)
        x[self.features] = self.shares
        return x


@dataclass(frozen=True)
class Extra:
    """Columns of a program besides the features, in compressed form."""

    lengths: Integers
    places: Integers
    values: Floats
    gain: Floats
    lower: Floats

    @classmethod
    def shared(cls, entries: Floats) -> "Extra":
        """The worst margin s: one column in all rows, to be maximised."""
        one = np.ones(1)
        return cls(np.array([entries.size]), np.arange(entries.size), entries, one, -np.inf * one)

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
        # In a row divided by its scale, s counts in units of the typical scale, within what the solver can bear.
        self._unit = np.clip(float(np.median(self._scale)) / self._scale, 1e-3, 1e3)
        per_sample = problem.comparisons.other.shape[1]
        self._sample = np.repeat(np.arange(problem.n_samples), per_sample)
        self._scores: Floats | None = None
        self._standing: tuple[Bools, Floats] | None = None
        self._around, self._incoming = _in_play(problem.n_features)
        self._rows: Integers | None = None if self._sample.size <= _FEW_ROWS else self._hardest_rows()

    def _hardest_rows(self) -> Integers:
        """The comparisons that are worst off when everything is selected; where there are many, only some matter."""
        margins = self._problem.comparisons.margins(self._problem.means(self._problem.selectable)).ravel()
        return np.sort(np.argsort(margins / self._scale[self._sample], kind="stable")[:_INCOMING_ROWS])

    def price(self, multipliers: Integers, counts: Integers) -> Cut:
        """Begin with the scores that given multipliers, good near some counts, amount to."""
        cut = Cut(self._problem, multipliers, counts)
        self._scores = cut.scores
        return cut

    def solve(self, counts: Integers, *, to_optimality: bool = False) -> CountSolution | None:
        """Decide the sign of the largest worst margin at some counts; None if the budget ran out.

        Parameters
        ----------
        counts : ndarray of shape (k,)
            How many features of each class are selected.
        to_optimality : bool, default=False
            Go on until the margin is the largest possible, even when its sign is known.
        """
        nothing = np.zeros(self._problem.n_features, dtype=np.bool_)
        inside, fixed = self._partition(counts, self._problem.required, nothing)
        least = float(self._problem.margin_errors.max())
        rounds = 0
        while True:
            features = np.concatenate([members[inside[members]] for members in self._problem.features_of_class])
            solved = self._solve_over(features, fixed, counts)
            if solved is None:
                return None
            x, cut, thresholds = solved
            self._scores = cut.scores
            margins = self._problem.comparisons.margins(self._sums(fixed, x) / counts).ravel()
            margin = float(margins.min())
            value = float(cut.values(counts[None, :])[0])
            excluded = bool(cut.excludes(np.array([value]))[0])
            # Multipliers far from the best ones exclude little more than these counts.
            sharp = excluded and (rounds >= _PATIENCE or value / cut.size - margin <= -_SHARP * margin)
            known = sharp if excluded else margin > least
            incoming = self._wrongly_fixed(cut.scores, thresholds, inside, fixed)
            missing = self._lower_rows(margins)
            if (known and not to_optimality) or (incoming.size == 0 and missing.size == 0):
                moved = np.flatnonzero(x != fixed)
                return CountSolution(counts, margin, margins, fixed, moved, x[moved], cut, excluded)
            inside[incoming] = True
            fixed[incoming] = False
            self._rows = None if self._rows is None else np.union1d(self._rows, missing)
            rounds += 1

    def standing_sums(self, fixed: Bools) -> Floats:
        """Sums (n, k) over the features that are fixed: those of the last time, less and more what has changed.

        A pass over the data is dear where they are large, and few features change from one program to the next.

        Parameters
        ----------
        fixed : ndarray of bool, shape (n_features,)
            The features.
        """
        problem = self._problem
        if self._standing is not None:
            before, sums = self._standing
            changed = np.flatnonzero(before != fixed)
            if changed.size <= _FEW_CHANGES:
                sums = sums + self._class_sums(changed, np.where(fixed[changed], 1.0, -1.0))
                self._standing = (fixed.copy(), sums)
                return sums
        sums = problem.sums(problem.constraints.pooled(fixed.astype(np.float64)))
        self._standing = (fixed.copy(), sums)
        return sums

    def _class_sums(self, features: Integers, weights: Floats) -> Floats:
        """Weighted sums (n, k) over a few features."""
        problem = self._problem
        by_class = np.zeros((features.size, problem.n_classes))
        by_class[np.arange(features.size), problem.feature_classes[features]] = weights
        return problem.columns(features) @ by_class

    def _sums(self, fixed: Bools, x: Floats) -> Floats:
        """Sums (n, k) of a selection that differs from the fixed features in a few only."""
        moved = np.flatnonzero(x != fixed)
        return self.standing_sums(fixed) + self._class_sums(moved, x[moved] - fixed[moved])

    def _lower_rows(self, margins: Floats) -> Integers:
        """Comparisons outside the program that are below the worst one in it, the lowest first."""
        if self._rows is None:
            return np.zeros(0, dtype=np.intp)
        level = margins / (self._unit * self._scale)[self._sample]
        inside = float(level[self._rows].min())
        level[self._rows] = np.inf
        lower = np.flatnonzero(level < inside - 1e-9 * (1.0 + abs(inside)))
        return lower[np.argsort(level[lower], kind="stable")[:_INCOMING_ROWS]]

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

    def _solve_over(self, features: Integers, fixed: Bools, counts: Integers) -> tuple[Floats, Cut, Floats] | None:
        """Solve with all but some features fixed; the selection, its multipliers, and the thresholds of the scores."""
        problem = self._problem
        rows = np.arange(self._sample.size) if self._rows is None else self._rows
        solution = self._solver.solve(self.program(features, fixed, counts, rows))
        if solution is None:
            return None
        x = fixed.astype(np.float64)
        x[features] = solution.x[:-1]
        x = problem.constraints.pooled(x)
        multipliers = np.zeros(self._sample.size)
        multipliers[rows] = np.maximum(solution.duals[: rows.size], 0.0) / self._scale[self._sample[rows]]
        whole, factor = whole_numbers(multipliers.reshape(problem.n_samples, -1))
        return x, Cut(problem, whole, counts), -solution.duals[rows.size :] * (counts / size_of(counts)) * factor

    def program(
        self, features: Integers, fixed: Bools, counts: Integers, rows: Integers | None = None
    ) -> LinearProgram:
        """The program over some features, which come class by class, with s as its last column.

        Parameters
        ----------
        features : ndarray
            The features in play.
        fixed : ndarray of bool, shape (n_features,)
            Features that are selected besides.
        counts : ndarray of shape (k,)
            How many features of each class are selected.
        rows : ndarray, optional
            The comparisons to be kept, as running indices; all by default.
        """
        rows = np.arange(self._sample.size) if rows is None else rows
        return self._assembled(features, fixed, counts, rows, Extra.shared(-self._unit[self._sample[rows]]))

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
        already = problem.comparisons.margins(self.standing_sums(fixed) / counts).ravel()[rows]
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


def round_to_counts(problem: Problem, x: Floats, counts: Integers) -> Bools:
    """The selection with given counts that holds the largest entries of a fractional one."""
    support = np.zeros(problem.n_features, dtype=np.bool_)
    for members, n in zip(problem.features_of_class, counts, strict=True):
        support[members[np.argsort(-x[members], kind="stable")[: int(n)]]] = True
    return support


def size_of(counts: Integers) -> float:
    """By what the rows of a program are multiplied: then a feature counts about as much as its value, not 1/n_r of it.

    Otherwise what a single feature does among hundreds of thousands would be less than the solver's tolerance.
    """
    return float(counts.mean())


def whole_numbers(multipliers: Floats) -> tuple[Integers, float]:
    """Multipliers as whole numbers, and the factor between."""
    largest = float(multipliers.max())
    factor = PRECISION / largest if largest > 1e-200 else 0.0
    return np.round(multipliers * factor).astype(np.int64), factor
