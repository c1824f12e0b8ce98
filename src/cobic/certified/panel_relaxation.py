"""The relaxation of a panel: the largest tail margin over fractional panels with given counts, and its multipliers.

With t the margin that is exceeded by all but the tail, and s_j what sample j lacks, the tail margin of a panel is

    max  t − Σ_j cap_j s_j      subject to    margin_jq ≥ t − s_j,   s ≥ 0

(with no caps there is no s); offsets are free variables beside these. Over features with values between 0 and 1 that is
a linear program. It is solved over few features at a time: those come in that its multipliers prefer
(:mod:`cobic.certified.bounds`), until there are none.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cobic.certified.bounds import Cut
from cobic.certified.fixing import FREE, IN, OUT, NodeBound, Values, node_bound
from cobic.certified.looks import largest
from cobic.certified.panel_multipliers import error_of, whole_multipliers
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import PanelProblem
from cobic.search.budget import Budget
from cobic.search.lp import BranchingLp
from cobic.search.program import BYTES_PER_ENTRY, Entries, LinearProgram

FEATURES_AROUND = 100  # features of each class in the first program besides those that are wanted
_MORE = 30  # the same in later ones: a pass over the data costs more than a program with some more features
_INCOMING = 200  # features that come in at a time
_ROUNDS = 100  # of features coming in, which takes about five
_CLOSE = 1e-9  # of the largest margin: program and multipliers agree


@dataclass(frozen=True, eq=False)
class PanelRelaxed:
    """The relaxation at a node: its multipliers, what they prove, and the fractional panel."""

    whole: Integers  # the multipliers, (n, c)
    bound: NodeBound  # by these, with the level taken off
    x: Floats  # of the features at hand


class Arena:
    """The panels with given counts, of which all but some features are decided: those are at hand."""

    def __init__(
        self, panel: PanelProblem, counts: Integers, features: Integers, fixed_in: Bools, budget: Budget
    ) -> None:
        problem = panel.problem
        self.panel, self.counts, self.features, self.fixed_in, self.budget = panel, counts, features, fixed_in, budget
        self.classes = problem.feature_classes[features]
        self.groups = None if panel.groups is None else panel.groups.of[features]
        self._base = problem.sums(fixed_in.astype(np.float64))
        self._missing = counts - problem.counts(fixed_in)
        self._sample = np.repeat(np.arange(problem.n_samples), problem.comparisons.other.shape[1])
        self._scale = float(counts.mean()) / panel.largest_margin  # then a feature does about 1 to a row
        self._active = np.zeros(features.size, dtype=np.bool_)
        self._lp: BranchingLp | None = None

    @cached_property
    def columns(self) -> Floats:
        """The values of the features at hand, a line for each."""
        return np.ascontiguousarray(self.panel.problem.columns(self.features).T)

    @property
    def held(self) -> int:
        """Bytes that can be given back, roughly: values, once more by class, and the program."""
        parts = sum(part in self.__dict__ for part in ("columns", "_by_class"))
        entries = 0 if self._lp is None else int(self._active.sum()) * self._sample.size
        return parts * self.features.size * self.panel.problem.n_samples * 8 + entries * BYTES_PER_ENTRY

    def release(self) -> None:
        """Give memory back; what is needed again is made again."""
        for part in ("columns", "_by_class"):
            self.__dict__.pop(part, None)
        self._lp = None

    @cached_property
    def _by_class(self) -> list[tuple[Integers, Floats]]:
        """Places and columns of each class."""
        places = [np.flatnonzero(self.classes == cls) for cls in range(self.counts.size)]
        return [(mine, self.columns[mine]) for mine in places]

    def undecided(self) -> Values:
        """The root: nothing is decided."""
        return np.full(self.features.size, FREE, dtype=np.int8)

    def scores(self, whole: Integers) -> Floats:
        """Scores of the features at hand under multipliers."""
        pull = self.panel.problem.comparisons.pull(whole.astype(np.float64))
        found = np.empty(self.features.size)
        for cls, (mine, columns) in enumerate(self._by_class):
            found[mine] = columns @ pull[:, cls]
        return found

    def bound(self, whole: Integers, values: Values, level: float) -> NodeBound:
        """What multipliers say about the panels of a node with a tail margin above a level."""
        comparisons = self.panel.problem.comparisons
        weights = whole.astype(np.float64)
        start = float((comparisons.pull(weights) * (self._base / self.counts)).sum()) - level * float(whole.sum())
        error = error_of(self.panel, weights)
        missing = self.missing(values)
        return node_bound(
            self.scores(whole),
            self.classes,
            values,
            self.counts,
            missing=missing,
            start=start,
            error=error,
            groups=self.groups,
        )

    def take(self, values: Values, places: Integers) -> bool:
        """Decide that features are in, and others of their groups out; False if two of them exclude each other."""
        values[places] = IN
        if self.groups is None:
            return True
        inside = self.groups[values == IN]
        values[np.isin(self.groups, inside) & (values != IN)] = OUT
        return bool(np.unique(inside).size == inside.size)

    def missing(self, values: Values) -> Integers:
        """How many features of each class have yet to come in."""
        return np.asarray(self._missing - np.bincount(self.classes[values == IN], minlength=self.counts.size))

    def effects(self, places: Integers) -> Floats:
        """What features at hand add to the margins (…, n, c) of a panel."""
        comparisons = self.panel.problem.comparisons
        effects = np.empty((places.size, *comparisons.other.shape))
        for cls in range(self.counts.size):
            mine = np.flatnonzero(self.classes[places] == cls)
            effects[mine] = self.columns[places[mine]][:, :, None] * (comparisons.coefficients(cls) / self.counts[cls])
        return effects

    @property
    def base_means(self) -> Floats:
        """Means (n, k) that the features which are decided make."""
        means: Floats = self._base / self.counts
        return means

    @property
    def base_margins(self) -> Floats:
        """Margins (n, c) that they make."""
        return self.panel.problem.comparisons.margins(self.base_means)

    def best_pair(self, values: Values, first: Integers, second: Integers) -> tuple[int, int] | None:
        """The two features, one of each of two lists of places, with which the worst margin of a node is largest."""
        margins = self.base_margins + self.effects(np.flatnonzero(values == IN)).sum(axis=0)
        others = self.effects(second).reshape(second.size, -1)
        best, pair = -np.inf, None
        for at, effect in zip(first.tolist(), self.effects(first), strict=True):
            worst = self._worst(others + (margins + effect).ravel())
            worst[second == at if self.groups is None else self.groups[second] == self.groups[at]] = -np.inf
            if worst.size and worst.max() > best:
                best, pair = float(worst.max()), (at, int(second[worst.argmax()]))
        return pair

    def _worst(self, margins: Floats) -> Floats:
        """The worst of margins (…, n·c); with two classes and offsets, at the best of these."""
        if not self.panel.offset:
            return np.asarray(margins.min(axis=1))
        first = self.panel.problem.labels == 0
        return np.asarray((margins[:, first].min(axis=1) + margins[:, ~first].min(axis=1)) / 2)

    def relax(self, values: Values, near: Floats, level: float) -> PanelRelaxed | None:
        """Solve a node; `near` are losses, of which small ones make a feature part of the program. None: no solution.

        It ends as soon as multipliers show that nothing in the node has a tail margin above a level.
        """
        wanted = np.zeros_like(self._active)
        if self._lp is None:
            for cls, n in enumerate(self._missing):
                mine = np.flatnonzero(self.classes == cls)
                wanted[mine[largest(-near[mine], int(n) + FEATURES_AROUND)]] = True
        self._activate(wanted | (values == IN))
        found: PanelRelaxed | None = None
        for _ in range(_ROUNDS):
            assert self._lp is not None
            active = values[self._places]
            lower, upper = (active == IN).astype(np.float64), (active != OUT).astype(np.float64)
            self._lp.bound(np.arange(active.size), lower, upper)
            best = self._lp.maximum()
            if best is None:
                return found
            if best == -np.inf:
                incoming = self._needed(values)
                if not incoming.any():
                    return found
                self._activate(incoming)
                continue
            solution = self._lp.solution()
            whole = self._whole(solution.duals)
            bound = self.bound(whole, values, level)
            x = np.where(values == IN, 1.0, 0.0)
            x[self._places] = np.clip(solution.x[: self._places.size], 0.0, 1.0)
            if found is None or bound.value / whole.sum() <= found.bound.value / found.whole.sum():
                found = PanelRelaxed(whole, bound, x)
            above = bound.value / float(whole.sum()) + level - best / self._scale
            incoming = (bound.preferred == IN) & (values == FREE) & ~self._active
            if bound.closes or above <= _CLOSE * self.panel.largest_margin or not incoming.any():
                return PanelRelaxed(found.whole, found.bound, x)
            self._activate(_first(incoming, bound.losses))
        return found

    def _parts(self, places: Integers) -> Integers:
        """The groups cut up by class: a number for each feature."""
        groups = self.features[places] if self.groups is None else self.groups[places]
        return np.asarray(groups * self.counts.size + self.classes[places])

    def _needed(self, values: Values) -> Bools:
        """Features without which the counts cannot be reached, if there are any."""
        needed = (values == FREE) & ~self._active
        missing = self.missing(values)
        reachable = ((missing >= 0) & (missing <= self.available(values))).all()
        return needed if reachable else np.zeros_like(needed)

    def available(self, values: Values) -> Integers:
        """How many features of each class may still come in."""
        places = np.flatnonzero(values == FREE)
        if self.groups is not None:
            places = places[np.unique(self._parts(places), return_index=True)[1]]
        return np.bincount(self.classes[places], minlength=self.counts.size)

    def _activate(self, wanted: Bools) -> None:
        """Take more features into the program."""
        if self._lp is not None and not (wanted & ~self._active).any():
            return
        self._active |= wanted
        self._places = np.flatnonzero(self._active)
        self._lp = BranchingLp(self._program(self._places), self.budget)

    def _program(self, places: Integers) -> LinearProgram:
        """The program over some features: their values, t, what each sample lacks, and offsets but the first."""
        panel, n_rows, n_samples = self.panel, self._sample.size, self.panel.problem.n_samples
        parts, size = [], places.size
        for cls in range(self.counts.size):
            coefficients = panel.problem.comparisons.coefficients(cls).ravel()
            involved, mine = np.flatnonzero(coefficients), np.flatnonzero(self.classes[places] == cls)
            weights = coefficients[involved] * (self._scale / self.counts[cls])
            block = self.columns[places[mine]][:, self._sample[involved]] * weights
            parts += [
                Entries(np.tile(involved, mine.size), np.repeat(mine, involved.size), block.ravel()),
                Entries(np.full(mine.size, n_rows + cls), mine, np.ones(mine.size)),
            ]
        parts.append(Entries(np.arange(n_rows), np.full(n_rows, size), np.full(n_rows, -1.0)))
        gain, caps = np.append(np.zeros(size), 1.0), panel.caps
        if caps is not None:
            parts.append(Entries(np.arange(n_rows), size + 1 + self._sample, np.ones(n_rows)))
            gain = np.concatenate([gain, -caps])
        missing = self._missing.astype(np.float64)
        n_lacking = 0 if caps is None else n_samples
        n_offsets = self.counts.size - 1 if panel.offset else 0
        for cls in range(1, 1 + n_offsets):
            coefficients = panel.problem.comparisons.coefficients(cls).ravel()
            involved = np.flatnonzero(coefficients)
            column = np.full(involved.size, size + n_lacking + cls)
            parts.append(Entries(involved, column, coefficients[involved]))
        gain = np.append(gain, np.zeros(n_offsets))
        shared = self._shared(places, n_rows + self.counts.size)
        n_shared = 0 if shared.rows.size == 0 else int(shared.rows.max()) + 1 - n_rows - self.counts.size
        parts.append(shared)
        return LinearProgram.of_entries(
            Entries.joined(parts),
            gain,
            lower=np.concatenate([np.zeros(size), [-np.inf], np.zeros(n_lacking), np.full(n_offsets, -np.inf)]),
            upper=np.concatenate([np.ones(size), np.full(1 + n_lacking + n_offsets, np.inf)]),
            row_lower=np.concatenate([-self.base_margins.ravel() * self._scale, missing, np.full(n_shared, -np.inf)]),
            row_upper=np.concatenate([np.full(n_rows, np.inf), missing, np.ones(n_shared)]),
        )

    def _shared(self, places: Integers, first_row: int) -> Entries:
        """Rows for features of a group in one class, of which one at most is in; classes are not tied in the bound."""
        if self.groups is None:
            return Entries(places[:0], places[:0], np.zeros(0))
        _, number, sizes = np.unique(self._parts(places), return_inverse=True, return_counts=True)
        columns = np.flatnonzero(sizes[number] > 1)
        row = (np.cumsum(sizes > 1) - 1)[number[columns]]
        return Entries(first_row + row, columns, np.ones(columns.size))

    def _whole(self, duals: Floats) -> Integers:
        multipliers = np.maximum(duals[: self._sample.size], 0.0).reshape(self.panel.problem.comparisons.other.shape)
        return whole_multipliers(self.panel, multipliers)


def places_of(missing: Integers) -> Integers:
    """The classes of the features that are missing, one for each."""
    return np.repeat(np.arange(missing.size), missing)


def _first(which: Bools, losses: Floats) -> Bools:
    """Those with the largest losses among some."""
    places = np.flatnonzero(which)
    found = np.zeros_like(which)
    found[places[np.argsort(-losses[places], kind="stable")[:_INCOMING]]] = True
    return found


@dataclass(frozen=True, eq=False)
class PanelRoot:
    """The relaxation at some counts over all features."""

    cut: Cut  # the multipliers with the least bound
    value: float  # their bound on the tail margin, whatever the rounding
    features: Integers  # those that came in, and the fractional panel of them
    x: Floats


def root_at(panel: PanelProblem, counts: Integers, start: Integers, budget: Budget) -> PanelRoot | None:
    """Solve the relaxation at some counts, from multipliers to begin with; None if out of budget.

    Features come in from all of them, by a look at the data with the multipliers of each program.
    """
    problem, whole, best, least = panel.problem, start, None, -np.inf
    solved = features = np.zeros(0, dtype=np.intp)
    x = np.zeros(0)
    for _ in range(_ROUNDS):
        if budget.exhausted():
            break
        cut = Cut(problem, whole, counts, groups=panel.groups)
        budget.lps += 1
        value = bound_at(panel, cut, counts)
        best = (value, cut) if best is None or value < best[0] else best
        known = features.size
        features = np.union1d(features, best_features(panel, cut, counts, FEATURES_AROUND if known == 0 else _MORE))
        if features.size == known or best[0] - least <= _CLOSE * panel.largest_margin:
            break
        arena = Arena(panel, counts, features, problem.required, budget)
        relaxed = arena.relax(arena.undecided(), -cut.scores[features], -2.0 * panel.largest_margin)
        if relaxed is None:
            break
        solved, whole, x = features, relaxed.whole, relaxed.x
        least = relaxed.bound.value / float(whole.sum()) - 2.0 * panel.largest_margin
    return None if best is None or x.size == 0 else PanelRoot(best[1], best[0], solved, x)


def best_features(panel: PanelProblem, cut: Cut, counts: Integers, more: int = 0) -> Integers:
    """The features with the best scores that are not required, so many as are wanted and some more."""
    problem, found = panel.problem, []
    for members, n in zip(problem.features_of_class, (counts - problem.required_sizes).tolist(), strict=True):
        free = members[~problem.required[members]]
        free = free if panel.groups is None else panel.groups.best(free, cut.scores)
        found.append(free[largest(cut.scores[free], n + more)])
    return np.concatenate(found)


def bound_at(panel: PanelProblem, cut: Cut, counts: Integers) -> float:
    """What multipliers prove about the tail margin at some counts."""
    error = error_of(panel, cut.multipliers.astype(np.float64))
    return float((cut.values(counts[None, :])[0] + error) / cut.size)


def losses_at(panel: PanelProblem, counts: Integers, cut: Cut, level: float) -> tuple[NodeBound, Integers]:
    """What multipliers say about panels above a level and each feature that may be selected; these features."""
    problem, weights = panel.problem, cut.multipliers.astype(np.float64)
    features = np.flatnonzero(problem.selectable)
    values = np.where(problem.required[features], IN, FREE).astype(np.int8)
    classes, missing = problem.feature_classes[features], counts - problem.required_sizes
    groups, start = None if panel.groups is None else panel.groups.of[features], -level * cut.size
    error = error_of(panel, weights)
    bound = node_bound(
        cut.scores[features], classes, values, counts, missing=missing, start=start, error=error, groups=groups
    )
    return bound, features
