"""The relaxation: the multipliers that prove most about a box of counts, by a level bundle method.

For multipliers λ let B(λ) be the most that Σ λ·margin (with soft margins: plus the number of features) can be over all
selections with counts in a box l ≤ n ≤ h:

    B(λ)  =  Σ_r  max over l_r ≤ n ≤ h_r of ( P_r(n) [+ n] )  −  Σ λα,        P_r(n) = mean of the n largest e_i in F_r.

B is convex, and one look at the data at some λ gives its value, the selection that attains it, and the margins of that
selection, which are a subgradient. The largest of the linear functions met so far, the *pieces*, is a model of B from
below. Its least value over the admissible λ (:mod:`cobic.certified.quadratic`) is attained by a mixture of the
selections: a fractional selection, whose worst margin it is. The next look is at the point next to the best λ so far at
which the model is well below what is known to be attained. So B and its model close in on the relaxation's value from
both sides, and only the admissible λ tell hard margins (Σλ = 1) from soft ones (at most the price for each sample).

Where data are large most looks are through a window (:mod:`cobic.certified.looks`); what they come to is checked by a
look at everything. Multipliers are whole numbers whenever they meet the data: what a look finds is what a reader of the
proof will find.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cobic.budget import Budget
from cobic.certified.bounds import PRECISION, Cut
from cobic.certified.looks import Everything, Look, Window, class_sums, largest
from cobic.certified.quadratic import Admissible, least_of_model, nearest_below
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem

_LEVEL = 0.5  # where between the model's least value and the best one the next look aims; 0.3 to 0.7 do about as well
_LOOKS = 300
_MOST_PIECES = 100
_IDLE = 12  # pieces without a weight for so many looks are forgotten
_ACCURACY = 0.02  # of the distance between model and best value: the small programs need not be solved any closer
_FINEST = 1e-9
_NO_WEIGHT = 1e-6  # in a mixture: less is the interior point method standing short of the edge
_CLOSE = 1e-3  # of the value
CLOSENESS = 2e-5  # a fifth of the gap of 10⁻⁴ at which a search may end
_PART_OF_A_FEATURE = 0.25
_FIRM = 0.3  # of the value: a mixture with a smaller margin is hard to round
_SHARP, _PATIENCE = 0.5, 40  # of the value that excludes some counts, and looks spent on it once they are excluded
_LEAST_PROGRESS = 0.1  # of the distance that is left: what a window must bring
_LOOKS_AT_EVERYTHING = 4  # where it does not


@dataclass(eq=False)
class _Piece:
    """What a look has found: a selection, its counts, sums by class and margins."""

    counts: Integers
    sums: Floats
    margins: Floats
    packed: NDArray[np.uint8]
    last_used: int


@dataclass(frozen=True, eq=False)
class Mixture:
    """A fractional selection, kept in little room: a mixture of whole ones, but for the shares of a few features."""

    n_features: int
    parts: list[tuple[float, NDArray[np.uint8]]]
    features: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    shares: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def x(self) -> Floats:
        """The share of each feature, (n_features,)."""
        x = np.zeros(self.n_features)
        for weight, packed in self.parts:
            x += weight * np.unpackbits(packed, count=self.n_features)
        x[self.features] = self.shares
        return x


@dataclass(frozen=True, eq=False)
class Relaxed:
    """What is known about the relaxation over a box of counts.

    Attributes
    ----------
    cut : Cut
        The multipliers with the least bound.
    value : float
        Their bound: on the worst margin (hard), or on the objective (soft).
    model : float
        No multipliers have a bound below this, as far as the model tells: the value of the mixture.
    margins : ndarray of shape (n_samples * n_comparisons,)
        Margins of the mixture.
    mean_counts, spread : ndarray of shape (k,)
        Mean counts of the mixture, and how far from them, on the average, the mixed counts are.
    counts : ndarray of shape (k,)
        The mean counts, rounded; the counts themselves where the box is a point.
    excluded : bool
        With hard margins: whether the multipliers prove that no selection has counts in the box.
    mixture : Mixture
        The fractional selection.
    """

    cut: Cut
    value: float
    model: float
    margins: Floats
    mean_counts: Floats
    spread: Floats
    counts: Integers
    excluded: bool
    mixture: "Mixture"


Enough = Callable[[float, float, float], bool]


class Bundle:
    """Minimises the bound over one box of counts after another; what was met before serves again.

    Parameters
    ----------
    problem : Problem
        The problem.
    budget : Budget
        When to stop.

    Attributes
    ----------
    closeness : float
        The share of the features up to which totals need not be told apart; less than one feature never matters.
    is_close : bool
        Whether the last value at some counts is known so closely.
    """

    def __init__(self, problem: Problem, budget: Budget) -> None:
        self._problem, self._budget, self.closeness = problem, budget, CLOSENESS
        shape = problem.comparisons.other.shape
        self._admissible = Admissible(shape, cap=1.0) if problem.soft else Admissible(shape, total=1.0)
        # What an admissible λ of the small programs stands for: with soft margins they are in units of the price.
        self._price = problem.slack_penalty if problem.soft else 1.0
        self._everything = Everything(problem)
        self._window_size = Window.size_for(problem)
        complete = self._window_size == problem.n_features
        self._window = Window(problem, None, self._window_size) if complete else None
        self._seen: Look | None = None
        self._pieces: list[_Piece] = []
        self._multipliers: Floats | None = None
        self._turn, self.is_close = 0, False

    @property
    def window(self) -> Window:
        """The features around the thresholds of the last box that was a point."""
        if self._window is None:
            if self._seen is None:
                message = "there is no window before the first look"
                raise AssertionError(message)
            self._window = Window(self._problem, self._seen, Window.size_for_dives(self._problem))
        return self._window

    @property
    def is_small(self) -> bool:
        """Whether a window holds all features."""
        return self._window_size == self._problem.n_features

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
        self._multipliers = self._admissible.nearest(multipliers.astype(np.float64))

    def at(self, counts: Integers) -> Relaxed | None:
        """Decide the sign of the largest worst margin at some counts (hard margins); None if the budget ran out.

        Parameters
        ----------
        counts : ndarray of shape (k,)
            How many features of each class are selected.
        """
        least, looks = float(self._problem.margin_errors.max()), 0
        tolerance = max(_PART_OF_A_FEATURE, self.closeness * self._problem.n_features)

        def enough(value: float, model: float, effect: float) -> bool:
            nonlocal looks
            self.is_close = value - model <= max(_CLOSE * abs(value), tolerance * effect)
            if self.is_close:
                return True
            # Multipliers far from the best ones exclude little more than these counts.
            looks += value < 0
            return model > max(least, _FIRM * value) or (
                value < 0 and (value - model <= -_SHARP * model or looks > _PATIENCE)
            )

        return self.minimise(counts, counts, enough)

    def minimise(
        self, low: Integers, high: Integers, enough: Enough, decided: tuple[Bools, Bools] | None = None
    ) -> Relaxed | None:
        """Find the multipliers with the least bound over a box; None if the budget ran out before the first look.

        Parameters
        ----------
        low, high : ndarray of shape (k,)
            The box.
        enough : callable
            Told the best value, that of the model, and what one feature does, tells whether that is close enough.
        decided : tuple of ndarray of bool, optional
            Features that every selection holds, and those that none holds; those of the problem by default.
        """
        if self._budget.exhausted():
            return None
        run = _Run(self, self._budget, low, high, enough)
        everything = self._everything if decided is None else Everything(self._problem, decided)
        point = self._start() if self._multipliers is None else self._multipliers
        if decided is not None:
            self._pieces = []
        if decided is None and self._window is not None and self._window.is_complete:
            run.descend(self._window, point)
        elif decided is None and self._window_size and (low == high).all():
            self._through_windows(run, everything, point)
        else:
            run.descend(everything, point)
            self._window, self._seen = None, run.best
        self._multipliers = run.at
        return self.relaxed(run.best, run.model, low, high)

    def _through_windows(self, run: "_Run", everything: Everything, point: Floats) -> None:
        """Descend through a window around the thresholds until a look at everything confirms what it shows.

        While multipliers are far from the best, features far from the threshold cross it, too: then it takes some looks
        at everything.
        """
        seen = run.look_at_everything(everything, point)
        for _ in range(_LOOKS):
            if run.is_enough() or self._budget.exhausted():
                if self._window is None or not self._window.holds(seen.counts):
                    self._window, self._seen = None, run.best
                return
            self._window = None  # its memory serves the next one
            self._window = Window(self._problem, seen, self._window_size)
            before = run.best.value
            seen = run.look_at_everything(everything, run.descend_through(self._window))
            if run.best.value > before - _LEAST_PROGRESS * (before - run.model.least):
                seen = run.descend(everything, None, _LOOKS_AT_EVERYTHING)

    def _start(self) -> Floats:
        """Multipliers that weigh the samples that are worst off when everything is selected."""
        problem = self._problem
        margins = problem.comparisons.margins(problem.means(problem.selectable))
        if problem.soft:
            return self._admissible.nearest(np.where(margins < 0, 1.0, 0.0))
        spread = max(float(np.ptp(margins)), float(np.finfo(np.float64).tiny)) / 4.0
        return self._admissible.nearest(np.exp(-(margins - margins.min()) / spread))

    def whole(self, multipliers: Floats) -> Integers:
        """Admissible multipliers as whole numbers, those of a sample within the price."""
        if not self._problem.soft:
            return whole_numbers(multipliers)[0]
        whole = np.floor(multipliers * PRECISION).astype(np.int64)
        excess = np.maximum(whole.sum(axis=1) - PRECISION, 0)
        whole[np.arange(whole.shape[0]), whole.argmax(axis=1)] -= excess
        return whole

    def add(self, look: Look) -> None:
        """Keep what a look has found, and forget pieces that are idle."""
        self._turn += 1
        kept = [piece for piece in self._pieces if piece.last_used > self._turn - _IDLE]
        self._pieces = [*kept[-_MOST_PIECES + 1 :], self._piece(look.support, look.counts, look.sums, self._turn)]

    def refit(self, low: Integers, high: Integers, look: Look) -> None:
        """Make the pieces of another box pieces of this one, if a window holds both; forget those out of use."""
        inside = (np.clip(piece.counts, low, high) == piece.counts for piece in self._pieces)
        window = self._window if (low == high).all() and self._window is not None else None
        if window is None or not window.holds(low):
            self._pieces = [piece for piece, fits in zip(self._pieces, inside, strict=True) if fits.all()]
            return
        scores = window.scores(look.whole)
        recent = [piece for piece in self._pieces if piece.last_used >= self._turn - 1]
        self._pieces = [fit for piece in recent for fit in self._refitted(piece, low, window, scores)]

    def _refitted(self, piece: _Piece, counts: Integers, window: Window, scores: list[Floats]) -> list[_Piece]:
        """A piece with the features of a window that it lacks, or without some; none if it takes too many."""
        if (counts == piece.counts).all():
            return [piece]
        problem = self._problem
        support = np.unpackbits(piece.packed, count=problem.n_features).astype(np.bool_)
        moved = []
        for cls in np.flatnonzero(counts != piece.counts):
            more, of_class = int(counts[cls] - piece.counts[cls]), window.by_class[cls]
            places = np.flatnonzero(support[of_class] != (more > 0))
            if abs(more) > places.size:
                return []
            moved.append(of_class[places[largest(np.sign(more) * scores[cls][places], abs(more))]])
        features = np.concatenate(moved)
        sums = piece.sums + class_sums(problem, features, np.where(support[features], -1.0, 1.0))
        support[features] ^= True
        return [self._piece(support, counts, sums, piece.last_used)]

    def _piece(self, support: Bools, counts: Integers, sums: Floats, last_used: int) -> _Piece:
        margins = self._problem.comparisons.margins(sums / counts).ravel()
        return _Piece(counts, sums, margins, np.packbits(support), last_used)

    def model(self, distance: float) -> "_Model":
        """The model made of the pieces at hand; `distance` is how far off the best value was from the last one."""
        slopes = np.array([piece.margins for piece in self._pieces]) * self._price
        offsets = np.array([float(piece.counts.sum()) * self._problem.soft for piece in self._pieces])
        scale = max(float(np.abs(slopes).max()), np.finfo(np.float64).tiny)
        centre = float(offsets.mean())  # numbers of features are large, their differences are not
        accuracy = max(_ACCURACY * min(distance / scale, _ACCURACY), _FINEST)
        weights = least_of_model(slopes / scale, (offsets - centre) / scale, self._admissible, accuracy)
        weights = np.where(weights > _NO_WEIGHT, weights, 0.0)
        weights /= weights.sum()
        for piece, weight in zip(self._pieces, weights, strict=True):
            if weight > 0:
                piece.last_used = self._turn
        least = self._admissible.least((weights @ slopes).reshape(self._admissible.shape)) + float(weights @ offsets)
        return _Model(least, list(self._pieces), weights, slopes, offsets, scale)

    def next_point(self, model: "_Model", best: float, at: Floats) -> Floats:
        """Where to look next: near the best multipliers so far, where the model is well below them."""
        distance, scale = best - model.least, model.scale
        level = model.least + _LEVEL * distance
        accuracy = max(_ACCURACY * distance / scale, _FINEST)
        return nearest_below(model.slopes / scale, model.offsets / scale, level / scale, at, self._admissible, accuracy)

    def relaxed(self, best: Look, model: "_Model", low: Integers, high: Integers) -> Relaxed:
        """What the best look and the model say."""
        problem, weights = self._problem, model.weights
        counts = np.array([piece.counts for piece in model.pieces], dtype=np.float64)
        mean: Floats = weights @ counts
        spread: Floats = weights @ np.abs(counts - mean)
        rounded = np.clip(np.round(mean), low, high).astype(np.int64)
        cut = Cut(problem, best.whole, rounded, best.scores)
        excluded = not problem.soft and bool(cut.excludes(cut.values(rounded[None, :]))[0])
        mixed = [(float(w), piece.packed) for w, piece in zip(weights, model.pieces, strict=True) if w > 0]
        margins = weights @ np.array([piece.margins for piece in model.pieces])
        mixture = Mixture(problem.n_features, mixed)
        return Relaxed(cut, best.value, model.least, margins, mean, spread, rounded, excluded, mixture)


@dataclass(frozen=True, eq=False)
class _Model:
    """The largest of some pieces: its least value, the mixture that attains it, and the pieces as numbers."""

    least: float
    pieces: list[_Piece]
    weights: Floats
    slopes: Floats
    offsets: Floats
    scale: float


class _Run:
    """The descent over one box: the best look at everything, where that was, and the model."""

    def __init__(self, bundle: Bundle, budget: Budget, low: Integers, high: Integers, enough: Enough) -> None:
        self._bundle, self._budget, self._box, self._enough = bundle, budget, (low, high), enough
        self._best: Look | None = None
        self._model: _Model | None = None
        self.at: Floats = np.zeros(0)

    @property
    def best(self) -> Look:
        assert self._best is not None
        return self._best

    @property
    def model(self) -> _Model:
        assert self._model is not None
        return self._model

    def look(self, through: Everything | Window, point: Floats) -> Look:
        """Look at the data and learn from it."""
        look = through.look(self._bundle.whole(point), *self._box)
        self._budget.lps += 1
        if self._model is None:
            self._bundle.refit(*self._box, look)
        self._bundle.add(look)
        distance = np.inf if self._model is None or self._best is None else self._best.value - self._model.least
        self._model = self._bundle.model(distance)
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
        return self._enough(best.value, self.model.least, best.effect) or distance <= _FINEST * self.model.scale

    def descend(self, everything: Everything | Window, point: Floats | None, looks: int = _LOOKS) -> Look:
        """Go down by looks at all features, from some multipliers or the best so far; the last look."""
        look = self.best if point is None else self.look_at_everything(everything, point)
        for _ in range(looks):
            if self.is_enough() or self._budget.exhausted():
                break
            look = self.look_at_everything(everything, self._bundle.next_point(self.model, self.best.value, self.at))
        return look

    def descend_through(self, window: Window) -> Floats:
        """Go down by looks through a window, from the best multipliers so far; where that leads."""
        at, best = self.at, self.look(window, self.at)
        for _ in range(_LOOKS):
            if self.is_enough(best) or self._budget.exhausted():
                break
            point = self._bundle.next_point(self.model, best.value, at)
            look = self.look(window, point)
            if look.value < best.value:
                at, best = point, look
        return at


def whole_numbers(multipliers: Floats) -> tuple[Integers, float]:
    """Multipliers as whole numbers, and the factor between."""
    top = float(multipliers.max())
    factor = PRECISION / top if top > 1e-200 else 0.0
    return np.round(multipliers * factor).astype(np.int64), factor
