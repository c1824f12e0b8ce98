"""Linear programs over the few features in question at some counts, for dives and trees.

With n_r features of each class, the largest worst margin over fractional selections is

    max s   subject to   margin_jq(x) ≥ s,   Σ_{F_r} x_i = n_r,   0 ≤ x ≤ 1.

Nearly every feature is clearly in or clearly out: by its score under good multipliers it stands far above or far below
the n_r-th of its class. So the program holds the features near that threshold, the others are fixed; its multipliers
price the others, and those on the wrong side come in. Where data are small, that is all it takes. Where they are large
it would creep: samples of the features come nearer (:mod:`cobic.certified.relaxation`).
"""

import numpy as np

from cobic.certified.bounds import Cut
from cobic.certified.looks import RunningSums, Window, class_sums, largest
from cobic.certified.relaxation import Relaxation
from cobic.certified.relaxed import Mixture, Relaxed, whole_numbers
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem
from cobic.search.lp import LpSolver
from cobic.search.program import LinearProgram

_TOLERANCE = 1e-9  # of the largest distance to a threshold: less is the rounding of the solver
_WIDEST_UNIT = 1e3  # of s in a row, and its inverse: with more between them the solver would lose digits


class FeaturePrograms:
    """Builds and solves the programs of one problem with hard margins."""

    def __init__(self, relaxation: Relaxation) -> None:
        problem = relaxation.problem
        self.problem, self.budget, self.effort = problem, relaxation.budget, relaxation.effort
        self._relaxation, self._solver = relaxation, LpSolver(relaxation.budget)
        self._scale = problem.row_scale()
        # In a row divided by its scale, s counts in units of the typical scale, within what the solver can bear.
        self._unit = np.clip(float(np.median(self._scale)) / self._scale, 1.0 / _WIDEST_UNIT, _WIDEST_UNIT)
        self._last: Integers | None = None
        self._least = float(problem.margin_errors.max())
        self._sample = np.repeat(np.arange(problem.n_samples), problem.comparisons.other.shape[1])
        self.sums = RunningSums(problem, relaxation.effort)

    @property
    def window(self) -> Window:
        """The features in question."""
        return self._relaxation.window

    def solve(self, counts: Integers, *, closely: bool = False) -> Relaxed | None:
        """The relaxation at some counts: at least the sign of its worst margin; None if out of budget.

        Where data are small, a few programs of the simplex method over a hundred features do; else samples of them.
        """
        self._last = counts
        few, cells = self._sample.size <= self.effort.program_rows, self._sample.size * self.problem.n_features
        if not (self._relaxation.is_small and few and cells <= self.effort.program_cells):
            return self._relaxation.at(counts, closely=closely)
        relaxed = self._by_programs(counts, closely=closely)
        if relaxed is not None and (relaxed.excluded or relaxed.model > self._least):
            return relaxed
        return self._relaxation.at(counts, closely=closely)

    def moved(self, counts: Integers) -> float:
        """How far some counts are from the last ones, as a share of the features."""
        return np.inf if self._last is None else float(np.abs(self._last - counts).sum()) / self.problem.n_features

    def start_from(self, multipliers: Integers) -> None:
        """Begin the next relaxation with some multipliers."""
        self._relaxation.start_from(multipliers)

    def _by_programs(self, counts: Integers, *, closely: bool) -> Relaxed | None:
        """Solve over the features near the threshold; those that turn out to be wrongly fixed come in."""
        window, whole = self.window, self._relaxation.whole_multipliers
        in_program, fixed = self._around_thresholds(window, whole, counts)
        for _ in range(self.effort.programs_at_counts):
            features = window.features[in_program[window.features]]
            solution = self._solver.solve(self.program(features, fixed, counts, np.arange(self._sample.size)))
            if solution is None:
                return None
            multipliers = np.maximum(solution.duals[: self._sample.size], 0.0) / self._scale[self._sample]
            whole, factor = whole_numbers(multipliers.reshape(self.problem.n_samples, -1))
            thresholds = -solution.duals[self._sample.size :] * (counts / size_of(counts)) * factor
            incoming = self._wrongly_fixed(window, whole, thresholds, in_program, fixed)
            if incoming.size == 0 or (not closely and solution.x[-1] > 0):
                self._relaxation.start_from(whole)
                return self._relaxed(counts, whole, fixed, features, solution.x[:-1])
            in_program[incoming], fixed[incoming] = True, False
        return None

    def _around_thresholds(self, window: Window, whole: Integers, counts: Integers) -> tuple[Bools, Bools]:
        """Features of a window near the threshold, and those that are well above it, or in outside the window."""
        near, fixed = np.zeros_like(window.base), window.base.copy()
        around = self.effort.around
        for cls, scores in enumerate(window.scores(whole)):
            features, n = window.by_class[cls], int(counts[cls] - window.base_counts[cls])
            near[features[largest(scores, n + around)]] = True
            fixed[features[largest(scores, n - around)]] = True
        return near & ~fixed, fixed

    def _wrongly_fixed(
        self, window: Window, whole: Integers, thresholds: Floats, in_program: Bools, fixed: Bools
    ) -> Integers:
        """Features of a window outside the program on the wrong side of the threshold, worst first."""
        excess = np.concatenate([scores - thresholds[cls] for cls, scores in enumerate(window.scores(whole))])
        wrong = np.where(fixed[window.features], -excess, excess)
        wrong[in_program[window.features]] = -np.inf
        places = np.flatnonzero(wrong > _TOLERANCE * float(np.abs(excess).max(initial=0.0)))
        return window.features[places[np.argsort(-wrong[places], kind="stable")[: self.effort.incoming]]]

    def _relaxed(self, counts: Integers, whole: Integers, fixed: Bools, features: Integers, shares: Floats) -> Relaxed:
        """What a program has found."""
        problem = self.problem
        cut = Cut(problem, whole, counts)
        value = float(cut.values(counts[None, :])[0])
        excluded = bool(cut.excludes(np.array([value]))[0])
        sums = self.sums.of(fixed) + class_sums(problem, features, shares)
        margins = problem.comparisons.margins(sums / counts).ravel()
        mixture = Mixture(problem.n_features, [(1.0, np.packbits(fixed))], features, shares)
        mean, spread = counts.astype(np.float64), np.zeros(counts.size)
        value, model = value / cut.size if cut.size else np.inf, float(margins.min())
        return Relaxed(cut, value, model, margins, mean, spread, counts, excluded, mixture)

    def program(self, features: Integers, fixed: Bools, counts: Integers, rows: Integers) -> LinearProgram:
        """The program over some features, which come class by class, with s as its last column."""
        problem = self.problem
        sample, scale = self._sample[rows], self._scale[self._sample[rows]]
        classes, gathered = problem.feature_classes[features], problem.columns(features).T
        size = size_of(counts)
        lengths, places, values = [np.array([rows.size])], [np.arange(rows.size)], [-self._unit[sample]]
        for cls in reversed(range(problem.n_classes)):
            coefficients = problem.comparisons.coefficients(cls).ravel()
            involved, mine = np.flatnonzero(coefficients[rows]), classes == cls
            n_mine = int(mine.sum())
            weights = coefficients[rows[involved]] * (size / counts[cls]) / scale[involved]
            block = gathered[mine][:, sample[involved]] * weights
            values.insert(0, np.hstack([block, np.ones((n_mine, 1))]).ravel())
            places.insert(0, np.tile(np.append(involved, rows.size + cls), n_mine))
            lengths.insert(0, np.full(n_mine, involved.size + 1))
        already = problem.comparisons.margins(self.sums.of(fixed) / counts).ravel()[rows]
        left = counts - problem.counts(fixed)
        return LinearProgram(
            starts=np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int32),
            rows=np.concatenate(places).astype(np.int32),
            values=np.concatenate(values),
            gain=np.append(np.zeros(features.size), 1.0),
            lower=np.append(np.zeros(features.size), -np.inf),
            upper=np.append(np.ones(features.size), np.inf),
            row_lower=np.concatenate([-already * (size / scale), left]),
            row_upper=np.concatenate([np.full(rows.size, np.inf), left]),
        )


def round_to_counts(problem: Problem, x: Floats, counts: Integers, rng: np.random.Generator | None = None) -> Bools:
    """The selection with given counts that holds the largest entries of a fractional one."""
    if rng is not None:
        x = x + np.where((x > 0) & (x < 1), rng.random(x.size) - 0.5, np.sign(x - 0.5))
    support = np.zeros(problem.n_features, dtype=np.bool_)
    for members, n in zip(problem.features_of_class, counts, strict=True):
        support[members[largest(x[members], int(n))]] = True
    return support


def size_of(counts: Integers) -> float:
    """By what the rows of a program are multiplied: then a feature counts about as much as its value, not 1/n_r of it.

    Otherwise what a single feature does among hundreds of thousands would be less than the solver's tolerance.
    """
    return float(counts.mean())
