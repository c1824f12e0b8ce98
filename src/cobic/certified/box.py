"""Multipliers that bound the objective with soft margins over a whole box of counts as well as any can.

The multipliers at one point of a box may say little about others: where few features of a class are left, the best of
them alone decide. Over the box [l, h] multipliers λ prove the bound

    B(λ)  =  Σ_r max_{l_r ≤ n ≤ h_r} (n + P_r(n))  −  Σ λα,

which is convex in λ. Its minimum is a linear program over mixtures: for each class r weights p_s ≥ 0, adding up to 1,
of sets S_s of n_s features; such a mixture has Σ p_s n_s features and costs what the mean of the means over its sets
violates. Sets come in as their class attains its maximum under the present multipliers (a sort, no data), rows as
tangents to the cost (:mod:`cobic.certified.tangents`; two passes over the data, or four). The counts that are mixed
tell where to split the box.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cobic.budget import Budget
from cobic.certified.bounds import Cut
from cobic.certified.tangents import Tangent, Tangents
from cobic.lp import LpSolver, Names
from cobic.matrix import Floats, Integers
from cobic.problem import Problem
from cobic.program import LinearProgram

_ROUNDS = 6
_PRICING = 200
_SHARE_OF_GAP = 0.05
_ROUGHLY, _CLOSELY = 0.2, 0.02
_SLOW, _PATIENCE = 0.02, 4
_MOST_SETS, _MOST_MEMBERS = 600, 1 << 25
_TINY, _TINY_GAIN = 1e-9, 1e-6
_IDLE = 6


@dataclass(eq=False)
class _Set:
    """Features of one class, and their mean in each tangent."""

    cls: int
    features: NDArray[np.int32]
    last_used: int
    means: dict[Tangent, float] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return int(self.features.size)

    def value(self, scores: Floats) -> float:
        """What it adds to the bound under some scores."""
        return self.size + float(scores[self.features].mean())

    def mean(self, tangent: Tangent) -> float:
        if tangent not in self.means:
            self.means[tangent] = float(np.add.reduce(tangent.scores[self.features])) / self.size
        return self.means[tangent]


@dataclass(frozen=True)
class BoxSolution:
    """What is best known about a box.

    Attributes
    ----------
    counts : ndarray of shape (k,)
        Mean counts of the mixture, rounded.
    spread : ndarray of shape (k,)
        How far, on the average, the mixed counts are from their mean.
    x : ndarray of shape (n_features,)
        How much of each feature the mixture has, about.
    cut : Cut
        The multipliers.
    done : bool
        Whether these are about the best; otherwise it is worth the while to go on.
    """

    counts: Integers
    spread: Floats
    x: Floats
    cut: Cut
    done: bool


@dataclass
class _State:
    """How far a box has got: its bound, the best point that was looked at, how closely to bring in sets."""

    low: Integers
    high: Integers
    bound: float = np.inf
    best: float = -np.inf
    at: tuple[Floats, float] | None = None
    slow: int = 0
    closely: float = _ROUGHLY

    def stands_still(self, bound: float, enough: float) -> bool:
        """Take note of a bound; tells whether it has hardly been lowered for some time."""
        faster = self.bound - bound > _SLOW * (bound - enough)
        self.slow = 0 if faster else self.slow + 1
        self.bound = min(self.bound, bound)
        return self.slow >= _PATIENCE


class BoxRelaxation:
    """Solves the relaxation with soft margins over one box of counts after another.

    Parameters
    ----------
    problem : Problem
        A problem with a finite `slack_penalty`.
    budget : Budget
        When to stop.
    tangents : Tangents
        What is known about the cost of violations; it is added to.

    Attributes
    ----------
    programs_for_sets : int
        Linear programs that were solved only to find the next sets.
    """

    def __init__(self, problem: Problem, budget: Budget, tangents: Tangents) -> None:
        self._problem, self._budget, self._tangents = problem, budget, tangents
        self._solver = LpSolver(budget, primal=True)
        self._sets: list[_Set] = []
        self._state = _State(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
        self._classes = range(problem.n_classes)
        self._round = self.programs_for_sets = 0

    def tighten(self, low: Integers, high: Integers, enough: float) -> BoxSolution | None:
        """Lower the bound over a box by some rounds; None if the budget ran out.

        Parameters
        ----------
        low, high : ndarray of shape (k,)
            The box. Called again with the same one, it goes on where it was.
        enough : float
            A bound as low as this need not be lowered any more.
        """
        if not (np.array_equal(self._state.low, low) and np.array_equal(self._state.high, high)):
            self._state = _State(low, high)
        found, done = None, False
        for _ in range(_ROUNDS):
            mixture = self._mixture(low, high, enough)
            if mixture is None:
                break
            found = mixture if found is None or mixture.bound < found.bound else found
            done = self._state.stands_still(found.bound, enough) or found.bound <= enough or self._look(mixture, enough)
            if done or self._budget.exhausted():
                break
        return None if found is None else self._solution(found, done=done)

    def _look(self, mixture: "_Mixture", enough: float) -> bool:
        """Ask the data half way between a mixture and the best so far; tells whether there is nothing to be gained."""
        state = self._state
        here = (mixture.weights(self._problem.n_features), mixture.total)
        point = here if state.at is None else (0.5 * (here[0] + state.at[0]), 0.5 * (here[1] + state.at[1]))
        cost, news = self._tangents.look(point[0], here[0], mixture.cost)
        if not news and state.at is not None:
            point = here
            cost, news = self._tangents.look(point[0], here[0], mixture.cost)
        if point[1] - cost > state.best:
            state.best, state.at = point[1] - cost, point
        if news and state.bound - state.best > _SHARE_OF_GAP * (state.bound - enough):
            return False
        done, state.closely = state.closely == _CLOSELY, _CLOSELY
        return done

    def _solution(self, found: "_Mixture", *, done: bool) -> BoxSolution:
        mean, spread = found.spread(self._problem.n_classes)
        counts = np.round(mean).astype(np.int64)
        x = np.minimum(found.weights(self._problem.n_features) * mean[self._problem.feature_classes], 1.0)
        cut = Cut(self._problem, self._tangents.multipliers(found.active), counts)
        return BoxSolution(counts, spread, x, cut, done)

    def _mixture(self, low: Integers, high: Integers, enough: float) -> "_Mixture | None":
        """The best mixture as far as the tangents at hand know, and the multipliers with the least bound.

        Sets come in by multipliers half way between those of the program and the best so far: the first swing.
        """
        sets = self._first_sets(low, high)
        rows = self._tangents.rows
        offsets = np.array([tangent.offset for tangent in rows])
        means = self._means(sets, rows)
        centre, bound, last = np.zeros(len(rows)), np.inf, None
        for _ in range(_PRICING):
            scale = np.maximum(np.abs(means).max(axis=0, initial=0.0), np.abs(offsets)) + _TINY
            program = self._program(sets, means, rows, scale)
            solution = self._solver.solve(program, self._names(sets, rows))
            if solution is None:
                break
            costs = -program.gain[len(sets) :] * solution.x[len(sets) :]
            last = (solution.x[: len(sets)], float(costs.sum()))
            duals = np.maximum(solution.duals[: len(rows)], 0.0) / scale
            values = -solution.duals[len(rows) :]
            scores, tolerance = self._scores(duals, rows), _TINY_GAIN * (1.0 + float(np.abs(values).sum()))
            for trial in (0.5 * (duals + centre), duals) if np.isfinite(bound) else (duals,):
                best, reached = self._best_sets(self._scores(trial, rows), low, high)
                if reached - float(trial @ offsets) < bound:
                    centre, bound = trial, reached - float(trial @ offsets)
                incoming = [each for each in best if each.value(scores) > values[each.cls] + tolerance]
                if incoming:
                    break
            below = float(values.sum() - duals @ offsets)
            sets += incoming
            near = bound <= enough or bound - below <= self._state.closely * (bound - enough)
            if not incoming or near or sum(each.size for each in sets) > 2 * _MOST_MEMBERS:
                break
            self.programs_for_sets += 1
            means = np.concatenate([means, self._means(incoming, rows)])
        if last is None:
            return None
        x, cost = last
        self._round += 1
        used = [(each, float(share)) for each, share in zip(sets, x, strict=False) if share > _TINY]
        for each, _ in used:
            each.last_used = self._round
        self._keep(sets)
        return _Mixture(used, cost, bound, self._tangents.use(centre))

    def _first_sets(self, low: Integers, high: Integers) -> list[_Set]:
        """Those at hand that are in the box, at least one for each class."""
        sets = [each for each in self._sets if low[each.cls] <= each.size <= high[each.cls]]
        missing = set(self._classes) - {each.cls for each in sets}
        largest, _ = self._best_sets(np.zeros(self._problem.n_features), low, high) if missing else ([], 0.0)
        return sets + [each for each in largest if each.cls in missing]

    def _scores(self, duals: Floats, rows: Sequence[Tangent]) -> Floats:
        scores = np.zeros(self._problem.n_features)
        for place in np.flatnonzero(duals).tolist():
            scores += duals[place] * rows[place].scores
        return scores

    def _best_sets(self, scores: Floats, low: Integers, high: Integers) -> tuple[list[_Set], float]:
        """For each class the set in the box that adds most to the bound; what they add in all."""
        found, total = [], 0.0
        for cls, members in enumerate(self._problem.features_of_class):
            order = np.lexsort((-scores[members], ~self._problem.required[members]))
            counts = np.arange(low[cls], high[cls] + 1)
            values = counts + np.cumsum(scores[members[order]])[counts - 1] / counts
            best = int(values.argmax())
            found.append(_Set(cls, members[order[: counts[best]]].astype(np.int32), self._round))
            total += float(values[best])
        return found, total

    @staticmethod
    def _means(sets: Sequence[_Set], rows: Sequence[Tangent]) -> Floats:
        """Mean score of each set in each row."""
        return np.array([[each.mean(tangent) for tangent in rows] for each in sets]).reshape(len(sets), len(rows))

    def _program(self, sets: Sequence[_Set], means: Floats, rows: Sequence[Tangent], scale: Floats) -> LinearProgram:
        """The program over some sets and rows, each row in its scale, with a column for the cost of each group."""
        n_rows, n_groups, n_classes = len(rows), self._tangents.n_groups, self._problem.n_classes
        block = np.concatenate([means / scale, np.ones((len(sets), 1))], axis=1)
        places = np.empty(block.shape, dtype=np.int32)
        places[:, :n_rows] = np.arange(n_rows)
        places[:, n_rows] = n_rows + np.array([each.cls for each in sets])
        group = np.array([tangent.group for tangent in rows], dtype=np.int64)
        order = np.argsort(group, kind="stable")
        lengths = np.concatenate([np.full(len(sets), n_rows + 1), np.bincount(group, minlength=n_groups)])
        unit = float(np.median(scale)) if n_rows else 1.0
        return LinearProgram(
            starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
            rows=np.concatenate([places.ravel(), order]).astype(np.int32),
            values=np.concatenate([block.ravel(), unit / scale[order]]),
            gain=np.concatenate([[float(each.size) for each in sets], np.full(n_groups, -unit)]),
            lower=np.zeros(len(sets) + n_groups),
            upper=np.full(len(sets) + n_groups, np.inf),
            row_lower=np.concatenate([[tangent.offset for tangent in rows] / scale, np.ones(n_classes)]),
            row_upper=np.concatenate([np.full(n_rows, np.inf), np.ones(n_classes)]),
        )

    def _names(self, sets: Sequence[_Set], rows: Sequence[Tangent]) -> Names:
        """What stays the same from one program to the next."""
        return [*sets, *range(self._tangents.n_groups)], [*rows, *(("class", cls) for cls in self._classes)]

    def _keep(self, sets: list[_Set]) -> None:
        """Keep sets for the next box, those first that were of use last; forget tangents that are gone."""
        recent = [each for each in dict.fromkeys((*self._sets, *sets)) if each.last_used >= self._round - _IDLE]
        newest = sorted(recent, key=lambda each: each.last_used)[: -_MOST_SETS - 1 : -1]
        room = np.cumsum([each.size for each in newest]) <= _MOST_MEMBERS
        self._sets = [each for each, fits in zip(newest, room, strict=True) if fits][::-1]
        rows = set(self._tangents.rows)
        for each in self._sets:
            each.means = {tangent: mean for tangent, mean in each.means.items() if tangent in rows}


@dataclass(frozen=True)
class _Mixture:
    """A solution of the program.

    The sets that it mixes with their shares, what the program says about their cost, and the best bound with the
    weights of its tangents.
    """

    shares: list[tuple[_Set, float]]
    cost: float
    bound: float
    active: Sequence[tuple[Tangent, float]]

    def weights(self, n_features: int) -> Floats:
        """Weight of each feature in the mean of its class."""
        weights = np.zeros(n_features)
        for each, share in self.shares:
            weights[each.features] += share / each.size
        return weights

    @property
    def total(self) -> float:
        """How many features it has."""
        return sum(share * each.size for each, share in self.shares)

    def spread(self, n_classes: int) -> tuple[Floats, Floats]:
        """Mean count of each class, and how far the mixed counts are from it on the average."""
        mean, spread = np.zeros(n_classes), np.zeros(n_classes)
        for each, share in self.shares:
            mean[each.cls] += share * each.size
        for each, share in self.shares:
            spread[each.cls] += share * abs(each.size - mean[each.cls])
        return mean, spread
