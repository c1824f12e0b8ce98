"""Linear programs over the few features in question at some counts, for dives and trees.

With n_r features of each class, the largest worst margin over fractional selections is

    max s   subject to   margin_jq(x) ≥ s,   Σ_{F_r} x_i = n_r,   0 ≤ x ≤ 1.

Nearly every feature is clearly in or clearly out: by its score under good multipliers it stands far above or far below
the n_r-th of its class. So the program holds the features near that threshold, the others are fixed; its multipliers
price the others, and those on the wrong side come in. Where features are few, that is all it takes. Where they are many
it would creep, unless it begins with multipliers that are nearly right: the bundle method finds these
(:mod:`cobic.certified.bundle`), and the simplex method ends what that has begun, with few fractional features.
"""

from dataclasses import replace

import numpy as np

from cobic.certified.bounds import Cut
from cobic.certified.bundle import Bundle, Relaxed, whole_numbers
from cobic.certified.looks import RunningSums, Window, class_sums, largest
from cobic.certified.pieces import Mixture
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem
from cobic.search.lp import LpSolver
from cobic.search.program import LinearProgram

_TOLERANCE = 1e-9  # of the largest distance to a threshold: less is the rounding of the solver
_WIDEST_UNIT = 1e3  # of s in a row, and its inverse: with more between them the solver would lose digits


class FeaturePrograms:
    """Builds and solves the programs of one problem with hard margins."""

    def __init__(self, bundle: Bundle) -> None:
        problem = bundle.problem
        self.problem, self.budget, self.effort = problem, bundle.budget, bundle.effort
        self._bundle, self._solver = bundle, LpSolver(bundle.budget)
        self._scale = problem.row_scale()
        # In a row divided by its scale, s counts in units of the typical scale, within what the solver can bear.
        self._unit = np.clip(float(np.median(self._scale)) / self._scale, 1.0 / _WIDEST_UNIT, _WIDEST_UNIT)
        self._last: Integers | None = None
        self._least = float(problem.margin_errors.max())
        self._sample = np.repeat(np.arange(problem.n_samples), problem.comparisons.other.shape[1])
        self.sums = RunningSums(problem, bundle.effort)

    @property
    def window(self) -> Window:
        """The features in question."""
        return self._bundle.window

    def solve(self, counts: Integers, *, closely: bool = False) -> Relaxed | None:
        """The relaxation at some counts: at least the sign of its worst margin; None if out of budget.

        Where features are few, or good multipliers are known, a few programs do; else the bundle method comes first.
        """
        effort, few = self.effort, self._sample.size <= self.effort.program_rows
        moved, self._last = self.moved(counts), counts
        window = self._bundle.window_for(counts) if few else None
        small = self._sample.size * self.problem.n_features <= effort.program_cells
        near = moved <= (effort.near if window is None or not window.is_complete else effort.not_far)
        known = window is not None and (window.is_complete or self._bundle.is_close)
        if window is not None and (small or (near and known)):
            relaxed = self._by_programs(None, window, counts, self._bundle.whole_multipliers, closely=closely)
            if relaxed is not None and (relaxed.excluded or relaxed.model > self._least):
                return relaxed
        relaxed = self._bundle.at(counts)
        if relaxed is None or not few or not closely:
            return relaxed
        window = self._bundle.window_for(counts)
        if window is None or not (window.is_complete or self._bundle.is_close):
            return relaxed
        return self._by_programs(relaxed, window, counts, relaxed.cut.multipliers, closely=True) or relaxed

    def moved(self, counts: Integers) -> float:
        """How far some counts are from the last ones, as a share of the features."""
        return np.inf if self._last is None else float(np.abs(self._last - counts).sum()) / self.problem.n_features

    def start_from(self, multipliers: Integers) -> None:
        """Begin the next relaxation with some multipliers."""
        self._bundle.start_from(multipliers)

    def _by_programs(
        self, relaxed: Relaxed | None, window: Window, counts: Integers, whole: Integers, *, closely: bool
    ) -> Relaxed | None:
        """Solve over the features of a window near the threshold; those that turn out to be wrongly fixed come in."""
        in_program, fixed = self._around_thresholds(window, whole, counts)
        solved, rows, settled = None, np.arange(self._sample.size), False
        at_first = relaxed is None and not window.is_complete
        for _ in range(self.effort.programs_at_first if at_first else self.effort.programs_at_counts):
            features = window.features[in_program[window.features]]
            solution = self._solver.solve(self.program(features, fixed, counts, rows))
            if solution is None:
                break
            multipliers = np.maximum(solution.duals[: rows.size], 0.0) / self._scale[self._sample]
            whole, factor = whole_numbers(multipliers.reshape(self.problem.n_samples, -1))
            solved = (whole, fixed.copy(), features, solution.x[:-1])
            thresholds = -solution.duals[rows.size :] * (counts / size_of(counts)) * factor
            incoming = self._wrongly_fixed(window, whole, thresholds, in_program, fixed)
            settled = incoming.size == 0 or (not closely and solution.x[-1] > 0)
            if settled:
                break
            in_program[incoming], fixed[incoming] = True, False
        if solved is None or (relaxed is None and not settled):
            return relaxed  # multipliers far from the best would spoil what the bundle method begins with
        relaxed = self._better(relaxed, counts, *solved)
        self._bundle.start_from(relaxed.cut.multipliers)
        return relaxed

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

    def _better(
        self, known: Relaxed | None, counts: Integers, whole: Integers, fixed: Bools, features: Integers, shares: Floats
    ) -> Relaxed:
        """What is known about the relaxation, with what a program has found where that is better."""
        problem = self.problem
        cut = Cut(problem, whole, counts)
        value = float(cut.values(counts[None, :])[0])
        excluded = bool(cut.excludes(np.array([value]))[0])
        value = value / cut.size if cut.size else np.inf
        sums = self.sums.of(fixed) + class_sums(problem, features, shares)
        margins = problem.comparisons.margins(sums / counts).ravel()
        mixture = Mixture(problem.n_features, [(1.0, np.packbits(fixed))], features, shares)
        model, no_spread = float(margins.min()), np.zeros(counts.size)
        found = Relaxed(cut, value, model, margins, counts.astype(np.float64), no_spread, counts, excluded, mixture)
        if known is not None and known.value <= value:
            found = replace(found, cut=known.cut, value=known.value, excluded=known.excluded)
        if known is not None and known.model >= model:
            found = replace(found, model=known.model, margins=known.margins, mixture=known.mixture)
        return found

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
