"""The relaxation: the multipliers that prove most about a box of counts, by a level bundle method.

For multipliers λ let B(λ) be the most that Σ λ·margin (with soft margins: plus the number of features) can be over all
selections with counts in a box l ≤ n ≤ h:

    B(λ)  =  Σ_r  max over l_r ≤ n ≤ h_r of ( P_r(n) [+ n] )  −  Σ λα,        P_r(n) = mean of the n largest e_i in F_r.

B is convex, and one look at the data at some λ gives its value, the selection that attains it, and the margins of that
selection, which are a subgradient. The largest of the linear functions met so far, the *pieces*, is a model of B from
below (:mod:`cobic.certified.pieces`, :mod:`cobic.certified.class_pieces`). Its least value is attained by a mixture of
selections: a fractional selection, whose worst margin it is. The next look is at the point next to the best λ so far at
which the model is well below what is known to be attained. So B and its model close in on the relaxation's value from
both sides, and only the admissible λ tell hard margins (Σλ = 1) from soft ones (at most the price for each sample).

Where data are large most looks are through a window (:mod:`cobic.certified.looks`); what they come to is checked by a
look at everything. Multipliers are whole numbers whenever they meet the data: what a look finds is what a reader of the
proof will find.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cobic.certified.bounds import PRECISION, Cut
from cobic.certified.class_pieces import ClassPieces
from cobic.certified.effort import DEFAULT, Effort
from cobic.certified.looks import Box, Decided, Everything, Look, Window, window_size
from cobic.certified.pieces import FINEST, Mixture, Model, Pieces
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem
from cobic.search.budget import Budget


@dataclass(frozen=True, eq=False)
class Relaxed:
    """What is known about the relaxation over a box of counts."""

    cut: Cut  # the multipliers with the least bound
    value: float  # their bound: on the worst margin (hard), or on the objective (soft)
    model: float  # no multipliers have a bound below this, as far as the model tells: the value of the mixture
    margins: Floats  # margins of the mixture
    mean_counts: Floats  # mean counts of the mixture, and how far from them, on the average, the mixed counts are
    spread: Floats
    counts: Integers  # the mean counts, rounded; the counts themselves where the box is a point
    excluded: bool  # with hard margins: whether the multipliers prove that no selection has counts in the box
    mixture: "Mixture"  # the fractional selection


_NOTHING = 1e-200  # multipliers that are all below stand for none: their factor would overflow
Enough = Callable[[float, float, float], bool]


class Bundle:
    """Minimises the bound over one box of counts after another; what was met before serves again."""

    def __init__(
        self, problem: Problem, budget: Budget, effort: Effort = DEFAULT, pieces: ClassPieces | None = None
    ) -> None:
        self.problem, self.budget, self.effort = problem, budget, effort
        self.closeness = effort.close
        self._everything = Everything(problem, None, effort)
        self._window_size = window_size(problem.n_samples, problem.n_features, problem.matrix.nbytes, effort)
        self._window = Window(problem, None, self._window_size, effort) if self.is_small else None
        self._seen: Look | None = None
        by_kind = ClassPieces(problem, effort) if problem.soft else Pieces(problem, effort)
        self.pieces: ClassPieces | Pieces = by_kind if pieces is None else pieces
        self._multipliers: Floats | None = None
        self.is_close, self.floor = False, -np.inf

    @property
    def window(self) -> Window:
        """The features around the thresholds of the last box that was a point."""
        if self._window is None:
            if self._seen is None:
                message = "there is no window before the first look"
                raise AssertionError(message)
            size = Window.size_for_dives(self.problem, self.effort)
            self._window = Window(self.problem, self._seen, size, self.effort)
        return self._window

    @property
    def is_small(self) -> bool:
        """Whether a window holds all features."""
        return self._window_size == self.problem.n_features

    def window_for(self, counts: Integers) -> Window | None:
        """A window that holds the thresholds of some counts, if there is one."""
        if self._window is None and self._seen is None:
            return None
        return self.window if self.window.holds(counts) else None

    @property
    def whole_multipliers(self) -> Integers:
        """The best multipliers of the last box."""
        return self.whole(self._start() if self._multipliers is None else self._multipliers)

    def start_from(self, multipliers: Integers) -> None:
        """Begin the next box with some multipliers."""
        self._multipliers = self.pieces.nearest_admissible(multipliers / PRECISION)

    def start_near(self, support: Bools) -> None:
        """Begin the next box with the full price on what a selection violates most (soft margins)."""
        margins = self.problem.comparisons.margins(self.problem.means(support))
        hardest = margins == margins.min(axis=1, keepdims=True)
        self._multipliers = self.pieces.nearest_admissible(np.where(hardest & (margins < 0), 1.0, 0.0))

    def at(self, counts: Integers) -> Relaxed | None:
        """Decide the sign of the largest worst margin at some counts (hard margins); None if the budget ran out."""
        least, looks, effort = float(self.problem.margin_errors.max()), 0, self.effort
        tolerance = max(effort.part_of_a_feature, self.closeness * self.problem.n_features)

        def enough(value: float, model: float, effect: float) -> bool:
            nonlocal looks
            self.is_close = value - model <= max(effort.close_value * abs(value), tolerance * effect)
            if self.is_close:
                return True
            # Multipliers far from the best ones exclude little more than these counts.
            looks += value < 0
            return model > max(least, effort.firm * value) or (
                value < 0 and (value - model <= -effort.sharp * model or looks > effort.sharpening)
            )

        return self.minimise(counts, counts, enough)

    def minimise(self, low: Integers, high: Integers, enough: Enough, decided: Decided | None = None) -> Relaxed | None:
        """Find the multipliers with the least bound over a box; None if the budget ran out before the first look."""
        if self.budget.exhausted():
            return None
        run = _Descent(self, (low, high), enough, decided)
        everything = self._everything if decided is None else Everything(self.problem, decided, self.effort)
        point = self._start() if self._multipliers is None else self._multipliers
        if decided is None and self._window is not None and self._window.is_complete:
            run.descend(self._window, point, self.effort.looks)
        elif decided is None and self._window_size and (low == high).all():
            self._through_windows(run, everything, point)
        else:
            run.descend(everything, point, self.effort.looks)
            if decided is None:
                self._window, self._seen = None, run.best
        self._multipliers = run.at
        return self.relaxed(run.best, run.model, low, high)

    def _through_windows(self, run: "_Descent", everything: Everything, point: Floats) -> None:
        """Descend through a window around the thresholds until a look at everything confirms what it shows.

        While multipliers are far from the best, features far from the threshold cross it, too: then it takes some looks
        at everything.
        """
        seen = run.look_at_everything(everything, point)
        for _ in range(self.effort.looks):
            if run.is_enough() or self.budget.exhausted():
                if self._window is None or not self._window.holds(seen.counts):
                    self._window, self._seen = None, run.best
                return
            self._window = None  # its memory serves the next one
            self._window = Window(self.problem, seen, self._window_size, self.effort)
            before = run.best.value
            seen = run.look_at_everything(everything, run.descend_through(self._window))
            if run.best.value > before - self.effort.window_progress * (before - run.model.least):
                seen = run.descend(everything, None, self.effort.looks_at_everything)

    def _start(self) -> Floats:
        """Multipliers that weigh the samples that are worst off when everything is selected: e⁻⁴ of it for the best."""
        problem = self.problem
        margins = problem.comparisons.margins(problem.means(problem.selectable))
        if problem.soft:
            return self.pieces.nearest_admissible(np.where(margins < 0, 1.0, 0.0))
        spread = max(float(np.ptp(margins)), float(np.finfo(np.float64).tiny)) / 4.0
        return self.pieces.nearest_admissible(np.exp(-(margins - margins.min()) / spread))

    def whole(self, multipliers: Floats) -> Integers:
        """Admissible multipliers as whole numbers, those of a sample within the price."""
        if not self.problem.soft:
            return whole_numbers(multipliers)[0]
        whole = np.floor(multipliers * PRECISION).astype(np.int64)
        excess = np.maximum(whole.sum(axis=1) - PRECISION, 0)
        whole[np.arange(whole.shape[0]), whole.argmax(axis=1)] -= excess
        return whole

    def refit(self, box: Box, look: Look, decided: Decided | None) -> None:
        """Make the pieces of another box pieces of this one, before its first look is added."""
        self.pieces.refit(box, look, self._window, decided)

    def relaxed(self, best: Look, model: Model, low: Integers, high: Integers) -> Relaxed:
        """What the best look and the model say."""
        mixed = self.pieces.mixed()
        rounded = np.clip(np.round(mixed.mean_counts), low, high).astype(np.int64)
        cut = Cut(self.problem, best.whole, rounded, best.scores)
        excluded = not self.problem.soft and bool(cut.excludes(cut.values(rounded[None, :]))[0])
        of_mixture = (mixed.margins, mixed.mean_counts, mixed.spread)
        return Relaxed(cut, best.value, model.least, *of_mixture, rounded, excluded, mixed.mixture)


class _Descent:
    """The descent over one box: the best look at everything, where that was, and the model."""

    def __init__(self, bundle: Bundle, box: Box, enough: Enough, decided: Decided | None) -> None:
        self._bundle, self._budget, self._box = bundle, bundle.budget, box
        self._enough, self._decided = enough, decided
        self._best: Look | None = None
        self._model: Model | None = None
        self.at: Floats = np.zeros(0)

    @property
    def best(self) -> Look:
        assert self._best is not None
        return self._best

    @property
    def model(self) -> Model:
        assert self._model is not None
        return self._model

    def look(self, through: Everything | Window, point: Floats) -> Look:
        """Look at the data and learn from it."""
        look = through.look(self._bundle.whole(point), *self._box)
        self._budget.lps += 1
        if self._model is None:
            self._bundle.refit(self._box, look, self._decided)
        self._bundle.pieces.add(look)
        distance = np.inf if self._model is None or self._best is None else self._best.value - self._model.least
        self._model = self._bundle.pieces.model(distance)
        return look

    def look_at_everything(self, everything: Everything | Window, point: Floats) -> Look:
        """Look at all features, which is what counts."""
        look = self.look(everything, point)
        if self._best is None or look.value < self._best.value:
            self._best, self.at = look, point
        return look

    def is_enough(self, best: Look | None = None) -> bool:
        """Whether what is known is close enough."""
        best = best or self.best
        distance = best.value - self.model.least
        return self._enough(best.value, self.model.least, best.effect) or distance <= FINEST * self.model.scale

    def _next_point(self, best: Look, at: Floats) -> Floats:
        return self._bundle.pieces.next_point(self.model, best.value, at, self._bundle.floor)

    def descend(self, everything: Everything | Window, point: Floats | None, looks: int) -> Look:
        """Go down by looks at all features, from some multipliers or the best so far; the last look."""
        look = self.best if point is None else self.look_at_everything(everything, point)
        for _ in range(looks):
            if self.is_enough() or self._budget.exhausted():
                break
            look = self.look_at_everything(everything, self._next_point(self.best, self.at))
        return look

    def descend_through(self, window: Window) -> Floats:
        """Go down by looks through a window, from the best multipliers so far; where that leads."""
        at, best = self.at, self.look(window, self.at)
        for _ in range(self._bundle.effort.looks):
            if self.is_enough(best) or self._budget.exhausted():
                break
            point = self._next_point(best, at)
            look = self.look(window, point)
            if look.value < best.value:
                at, best = point, look
        return at


def whole_numbers(multipliers: Floats) -> tuple[Integers, float]:
    """Multipliers as whole numbers, and the factor between."""
    top = float(multipliers.max())
    factor = PRECISION / top if top > _NOTHING else 0.0
    return np.round(multipliers * factor).astype(np.int64), factor
