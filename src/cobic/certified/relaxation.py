"""The relaxation at fixed counts with hard margins: the multipliers that leave the smallest margin, and a mixture.

For multipliers λ with Σλ = 1 let v(λ) be the most that Σ λ·margin can be over all selections with given counts n:

    v(λ)  =  Σ_r P_r(n_r)  −  Σ λα,        P_r(n) = mean of the n largest e_i in F_r.

Its least value is that of the best fractional selection's worst margin: a linear program with a variable for each
feature. Nearly all features are clearly in or clearly out; only near the thresholds, where n_r cuts the scores e_i off,
does it matter which. So the program holds a *sample* of the features: all that are near, and of others the fewer the
further away they are, each for several. A feature is near if its score is, measured by how large the feature is: the
same change of λ moves the score of a large one further. The program is solved by an interior point method
(:mod:`cobic.certified.interior`), a look at everything tells the true value of its multipliers, and the next sample is
drawn around the thresholds of that look. Some five looks lead from nothing to the relaxation's value, to many digits,
whatever the number of features: each sample stands closer to where it matters.

As soon as no feature that stands for others has left its side, the shares of the near ones are a fractional selection,
and its worst margin bounds the relaxation from below. Multipliers are whole numbers whenever they meet the data: what a
look finds is what a reader of the proof will find.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cobic.certified.bounds import Cut
from cobic.certified.bundle import Bundle
from cobic.certified.effort import DEFAULT, Effort
from cobic.certified.interior import MixingProgram, solve
from cobic.certified.looks import Everything, Look, Window
from cobic.certified.relaxed import Mixture, Relaxed, whole_numbers
from cobic.certified.tails import TailPieces
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem
from cobic.search.budget import Budget

_SNAP = 1e-3  # a share nearer to 0 or 1 is that: the interior point method stands short of the edge
_CLOSE = 0.05  # of what is close enough: so closely a program is solved
_FEWEST = 30  # features of a class that are drawn, if it has as many: fewer may all be on one side of its threshold
_SMALLEST = 1e-9  # of the largest feature: below, a feature moves nothing
_NEAREST = 1e-30  # of the largest distance: what is at the threshold is drawn for certain
_HALVINGS = 50  # of a factor, to find how many features are drawn, within one


class _Best(NamedTuple):
    """The mixture with the largest worst margin so far."""

    margins: Floats
    mixture: Mixture

    @property
    def worst(self) -> float:
        return float(self.margins.min())


class Relaxation:
    """Solves relaxations at one count vector after another; the multipliers of the last serve the next."""

    def __init__(self, problem: Problem, budget: Budget, effort: Effort = DEFAULT) -> None:
        self.problem, self.budget, self.effort = problem, budget, effort
        self.closeness, self.is_close = effort.close, False
        self._everything = Everything(problem, None, effort)
        peaks = problem.matrix.peaks()[1]
        largest = float(peaks.max())
        self._sizes: Floats = np.maximum(peaks / largest, _SMALLEST) if largest else np.ones(peaks.size)
        self._window = Window(problem, None, problem.n_features, effort) if self.is_small else None
        self._seen: Look | None = None
        self._multipliers: Integers | None = None
        many = problem.comparisons.other.size > effort.sampled_rows
        self._bundle = Bundle(problem, budget, effort, TailPieces(problem, effort)) if many else None

    @property
    def is_small(self) -> bool:
        """Whether a window holds all features."""
        return self.problem.n_samples * self.problem.n_features <= self.effort.complete_window_cells

    @property
    def window(self) -> Window:
        """The features around the thresholds of the last counts."""
        if self._window is None:
            if self._seen is None:
                message = "there is no window before the first look"
                raise AssertionError(message)
            size = Window.size_for_dives(self.problem, self.effort)
            self._window = Window(self.problem, self._seen, size, self.effort)
        return self._window

    @property
    def whole_multipliers(self) -> Integers:
        """The best multipliers of the last counts."""
        return self._first_multipliers() if self._multipliers is None else self._multipliers

    def start_from(self, multipliers: Integers) -> None:
        """Begin the next counts with some multipliers."""
        self._multipliers = multipliers

    def _first_multipliers(self) -> Integers:
        """Multipliers that weigh the samples that are worst off when everything is selected: e⁻⁴ of it for the best."""
        margins = self.problem.comparisons.margins(self.problem.means(self.problem.selectable))
        spread = max(float(np.ptp(margins)), float(np.finfo(np.float64).tiny)) / 4.0
        return whole_numbers(np.exp(-(margins - margins.min()) / spread))[0]

    def at(self, counts: Integers, *, closely: bool = False) -> Relaxed | None:
        """Find the sign of the largest worst margin at some counts, or its value; None if the budget ran out."""
        if self.budget.exhausted():
            return None
        if self._bundle is not None:
            return self._by_bundle(self._bundle, counts, closely=closely)
        whole = self.whole_multipliers
        size, usual, largest = self._sizes_of_samples()
        best, found = self._look(whole, counts), None
        after, effort = 0, self.effort
        for _ in range(effort.samples):
            sample = _Sample(self, best, counts, size)
            accuracy = _CLOSE * max(
                self._close_enough(best.value, best.effect), 0.0 if found is None else best.value - found.worst
            )
            part = 0.0 if closely else effort.sample_part
            whole, mixture = sample.solve(accuracy, part, None if found is None else found.margins)
            if mixture is not None and (found is None or mixture.worst > found.worst):
                found = mixture
            model = -np.inf if found is None else found.worst
            if self._is_enough(best.value, best.effect, model, after, closely=closely) or self.budget.exhausted():
                break
            look = self._look(whole, counts)
            after += look.value < 0
            slow = look.value > best.value - effort.sample_progress * (best.value - model)
            size = min(2 * size, largest) if slow else max(size, min(2 * size, usual))
            best = look if look.value < best.value else best
            if self._is_enough(best.value, best.effect, model, after, closely=closely):
                break
        self._multipliers = best.whole
        if not self.is_small and (self._window is None or not self._window.holds(counts)):
            self._window, self._seen = None, best
        return self._relaxed(best, found, counts)

    def _by_bundle(self, bundle: Bundle, counts: Integers, *, closely: bool) -> Relaxed | None:
        """The same where comparisons are too many for a program."""
        after = 0

        def enough(value: float, model: float, effect: float) -> bool:
            nonlocal after
            after += value < 0
            return self._is_enough(value, effect, model, after, closely=closely)

        if self._multipliers is not None:
            bundle.start_from(self._multipliers)
        relaxed = bundle.minimise(counts, counts, enough)
        if relaxed is not None:
            self._multipliers = relaxed.cut.multipliers
            if not self.is_small:
                self._window, self._seen = None, self._look(self._multipliers, counts)
        return relaxed

    def _look(self, whole: Integers, counts: Integers) -> Look:
        self.budget.lps += 1
        return self._everything.look(whole, counts, counts)

    def _sizes_of_samples(self) -> tuple[int, int, int]:
        """Features in a program at first, usually (it may take about as long as a look at everything), and at most."""
        problem, effort = self.problem, self.effort
        rows = min(problem.comparisons.other.size, effort.sample_rows)
        most = max(effort.gathered_cells // problem.n_samples, effort.sampled // 10)
        usual = int(effort.sampling * problem.n_features * problem.n_samples / rows**2)
        return min(effort.sampled, most), min(max(effort.sampled, usual), most), most

    def _close_enough(self, value: float, effect: float) -> float:
        """How closely a relaxation's value need be known, where a feature does so much to it."""
        features = max(self.effort.part_of_a_feature, self.closeness * self.problem.n_features)
        return max(self.effort.close_value * abs(value), features * effect)

    def _is_enough(self, value: float, effect: float, model: float, after: int, *, closely: bool) -> bool:
        """Whether what is known is close enough: after so many looks since the counts were excluded."""
        effort = self.effort
        self.is_close = value - model <= self._close_enough(value, effect)
        if self.is_close:
            return True
        if value < 0:  # multipliers far from the best ones exclude little more than these counts
            return value - model <= -effort.sharp * model or after > effort.sharpening
        return not closely and model > max(float(self.problem.margin_errors.max()), effort.firm * value)

    def _relaxed(self, best: Look, found: _Best | None, counts: Integers) -> Relaxed:
        """What the best look and the best mixture say."""
        cut = Cut(self.problem, best.whole, counts, best.scores)
        excluded = bool(cut.excludes(cut.values(counts[None, :]))[0])
        if found is None:
            margins = self.problem.comparisons.margins(best.sums / counts).ravel()
            found = _Best(margins, Mixture(self.problem.n_features, [(1.0, np.packbits(best.support))]))
        mean, spread = counts.astype(np.float64), np.zeros(counts.size)
        return Relaxed(cut, best.value, found.worst, found.margins, mean, spread, counts, excluded, found.mixture)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Features of a class, in the order of their scores, and for how many each stands."""

    features: Integers
    stands_for: Floats
    selected: Bools


class _Sample:
    """The features near the thresholds of a look, some of the others, and the program over them."""

    def __init__(self, relaxation: Relaxation, look: Look, counts: Integers, size: int) -> None:
        self._problem, self._effort, self._look, self._counts = (
            relaxation.problem,
            relaxation.effort,
            look,
            counts,
        )
        self._drawn = [self._draw(members, relaxation._sizes, size) for members in self._free_members()]
        self._columns = [np.ascontiguousarray(self._problem.columns(drawn.features).T) for drawn in self._drawn]

    def _free_members(self) -> list[Integers]:
        """By class the features that may be in or out, none where the counts leave no choice."""
        problem, found = self._problem, []
        for cls, members in enumerate(problem.features_of_class):
            free = members[~problem.required[members]]
            left = int(self._counts[cls]) - int(problem.required[members].sum())
            found.append(free if 0 < left < free.size else free[:0])
        return found

    def _draw(self, members: Integers, sizes: Floats, size: int) -> _Drawn:
        """Features are drawn by how near they are, at equal distances in the order of their scores."""
        assert self._look.scores is not None
        share = max(size * members.size / max(self._problem.n_selectable, 1), _FEWEST)
        scores, selected = self._look.scores[members], self._look.support[members]
        if members.size <= share or not members.size:
            picked, chance = np.arange(members.size), np.ones(members.size)
        else:
            distance = np.abs(scores - scores[selected].min())
            distance /= max(float(distance.max()), float(np.finfo(np.float64).tiny))
            nearness = sizes[members] / np.maximum(distance, _NEAREST)
            chance = _chances(nearness, share)
            order = np.argsort(_levels(scores), kind="stable")
            up_to = np.cumsum(chance[order])
            picked = order[np.floor(up_to + 0.5) > np.floor(up_to - chance[order] + 0.5)]
        if selected[picked].all() or not selected[picked].any():
            picked = picked[:0]  # none can come for another
        picked = picked[np.argsort(scores[picked], kind="stable")]
        return _Drawn(members[picked], 1.0 / chance[picked], selected[picked])

    def solve(self, accuracy: float, part: float, margins: Floats | None) -> tuple[Integers, _Best | None]:
        """The best multipliers of the program, and its mixture if that is one of all features."""
        problem, look, counts = self._problem, self._look, self._counts
        shape, scale = problem.comparisons.other.shape, float(np.median(problem.row_scale()))
        unit = float(counts.mean()) / scale  # a feature then does about as much as its value
        sums = look.sums.copy()
        for cls, (drawn, columns) in enumerate(zip(self._drawn, self._columns, strict=True)):
            sums[:, cls] -= (drawn.stands_for * drawn.selected) @ columns
        near = look.whole.ravel() / max(float(look.whole.sum()), 1.0)
        rows = self._rows_that_matter(near, margins)
        program = self._program(rows, problem.comparisons.margins(sums / counts).ravel()[rows] * unit, unit)
        solved = solve(program, near[rows], accuracy * unit, part)
        multipliers = np.zeros(near.size)
        multipliers[rows] = solved.multipliers
        return whole_numbers(multipliers.reshape(shape))[0], self._mixture(solved.shares)

    def _rows_that_matter(self, near: Floats, margins: Floats | None) -> Integers:
        """Comparisons with multipliers, and those with the smallest margins."""
        few = self._effort.sample_rows
        if near.size <= few:
            return np.arange(near.size)
        if margins is None:
            margins = self._problem.comparisons.margins(self._look.sums / self._counts).ravel()
        weighted = np.argsort(-near, kind="stable")[: few // 2]
        return np.union1d(weighted[near[weighted] > 0], np.argsort(margins, kind="stable")[: few // 2])

    def _program(self, rows: Integers, base: Floats, unit: float) -> MixingProgram:
        """The program over some rows."""
        problem, effects, of_class = self._problem, [], []
        samples = rows // problem.comparisons.other.shape[1]
        for cls, columns in enumerate(self._columns):
            weights = problem.comparisons.coefficients(cls).ravel()[rows] * (unit / self._counts[cls])
            involved = np.flatnonzero(weights)
            effects.append(columns[:, samples[involved]] * weights[involved])
            of_class.append(involved)
        wanted = np.array([float((drawn.stands_for * drawn.selected).sum()) for drawn in self._drawn])
        return MixingProgram(effects, of_class, base, wanted, np.concatenate([d.stands_for for d in self._drawn]))

    def _mixture(self, shares: Floats) -> _Best | None:
        """The shares of features that stand for themselves, with the others on their side; None if these are needed."""
        problem, look = self._problem, self._look
        base, sums = look.support.copy(), look.sums.copy()
        features, mixed, start = [], [], 0
        for cls, (drawn, columns) in enumerate(zip(self._drawn, self._columns, strict=True)):
            alone = drawn.stands_for == 1.0
            x = shares[start : start + alone.size][alone]
            start += alone.size
            x = np.where(x < _SNAP, 0.0, np.where(x > 1.0 - _SNAP, 1.0, x))
            if not _brought_to(x, float(drawn.selected[alone].sum())):
                return None
            sums[:, cls] += (x - drawn.selected[alone]) @ columns[alone]
            base[drawn.features[alone]] = False
            features.append(drawn.features[alone])
            mixed.append(x)
        margins = problem.comparisons.margins(sums / self._counts).ravel()
        parts = [(1.0, np.packbits(base))]
        return _Best(margins, Mixture(problem.n_features, parts, np.concatenate(features), np.concatenate(mixed)))


def _chances(nearness: Floats, wanted: float) -> Floats:
    """Chances in proportion, 1 at most, that add up to a number."""
    low, high = 0.0, 1.0 / float(nearness.min())
    factor = wanted / nearness.size * high
    for _ in range(_HALVINGS):
        over = float(np.minimum(1.0, factor * nearness).sum()) - wanted
        if abs(over) <= 1.0:
            break
        low, high = (low, factor) if over > 0 else (factor, high)
        factor = (low * high) ** 0.5 if low > 0 else factor / 16.0  # it may be many powers of ten away
    chances: Floats = np.minimum(1.0, factor * nearness)
    return chances


def _levels(scores: Floats) -> NDArray[np.uint16]:
    """Scores as small whole numbers, which are quickly sorted."""
    lowest = float(scores.min())
    width = float(scores.max()) - lowest
    height = np.divide(scores - lowest, width, out=np.zeros_like(scores), where=width > 0)
    levels: NDArray[np.uint16] = (height * np.iinfo(np.uint16).max).astype(np.uint16)
    return levels


def _brought_to(shares: Floats, total: float) -> bool:
    """Change shares, which come in the order of their scores, until they add up to a total; tell whether they do."""
    missing = total - float(shares.sum())
    places = np.arange(shares.size)[:: -1 if missing > 0 else 1]
    room = (1.0 - shares[places]) if missing > 0 else shares[places]
    before = np.cumsum(room) - room
    change = np.clip(abs(missing) - before, 0.0, room)
    shares[places] += np.sign(missing) * change
    return bool(abs(total - float(shares.sum())) <= _SNAP)
