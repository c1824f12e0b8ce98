"""Cheap repair: from a selection that is nearly consistent to one that is, a few features at a time.

Dropping or adding feature i of class c moves the mean of c for every sample, and with it the margins; what each such
move would do is a few vector operations. :func:`repair` takes the move that lowers the total violation most until no
sample is violated, then adds features for as long as nothing breaks; :func:`grow` enlarges a consistent selection;
:func:`climb` does the same for the objective with soft margins.
"""

from collections.abc import Callable
from copy import copy

import numpy as np

from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem
from cobic.search.budget import Budget

_CANDIDATES = 256  # features whose moves are judged by all margins, after a ranking of all by the worst ones
_PAIRED = 48  # features of each side: all pairs of them are judged
_EXCHANGES = 60  # by then the worst margin hardly rises any more
_LEAST_STEP = 1e-12  # of an objective: less is rounding
_GROWTHS = 4  # each brings less than the one before
_BATCH, _TURNS = 16, 50  # features at a time, halved where that does not help; turns, of which most need a few
_LARGEST_BLOCK = 1 << 21  # cells that are computed at once: 16 MB
_LARGE = 1 << 24  # cells: beyond them a pass for every single move takes too long
_MANY_COMPARISONS = 10_000  # and so do the margins after each move that is looked at


class _Selection:
    """A selection under change, with its sums by class kept up to date."""

    def __init__(self, problem: Problem, support: Bools) -> None:
        self.problem = problem
        self.support: Bools = problem.constraints.complete(support)
        self._group_of = np.full(problem.n_features, -1, dtype=np.intp)
        self.sizes = np.ones(problem.n_features, dtype=np.intp)  # how many features go in or out with a feature
        self.movable: Bools = problem.selectable & ~problem.required
        for number, members in enumerate(problem.constraints.groups):
            self._group_of[members], self.sizes[members] = number, members.size
            self.movable[members[1:]] = False  # its first feature stands for a group
        self.counts = problem.counts(self.support)
        self.sums = problem.sums(self.support.astype(np.float64))
        # A margin above this is positive whatever the rounding; the factor covers the updates of the sums.
        self.safe = 4 * problem.margin_errors[:, None]

    @property
    def means(self) -> Floats:
        return self.sums / self.counts

    @property
    def signs(self) -> Floats:
        """1 for features that would come in, −1 for those that would go."""
        return np.where(self.support, -1.0, 1.0)

    def margins(self) -> Floats:
        return self.problem.comparisons.margins(self.means)

    def members(self, feature: int) -> Integers:
        """The features that go in and out with a feature."""
        group = int(self._group_of[feature])
        return np.array([feature]) if group < 0 else self.problem.constraints.groups[group]

    def toggle(self, feature: int) -> None:
        sign, members = (-1 if self.support[feature] else 1), self.members(feature)
        classes, columns = self.problem.feature_classes[members], self.problem.matrix.columns(members)
        for cls in np.unique(classes):
            self.sums[:, cls] += sign * columns[:, classes == cls].sum(axis=1)
            self.counts[cls] += sign * int((classes == cls).sum())
        self.support[members] = sign > 0

    def copied(self) -> "_Selection":
        """The same, to be changed without this one."""
        other = copy(self)
        other.sums, other.counts, other.support = self.sums.copy(), self.counts.copy(), self.support.copy()
        return other

    def toggled(self, features: Integers) -> "_Selection":
        """With features that are out in, and those that are in out, and their groups, in one pass over the data."""
        grouped = features[self._group_of[features] >= 0]
        moved = np.zeros(self.support.size, dtype=np.bool_)
        moved[np.concatenate([features, *(self.members(int(feature)) for feature in grouped)])] = True
        other = copy(self)
        other.sums = self.sums + self.problem.sums(self.signs * moved)
        other.support = self.support ^ moved
        other.counts = self.problem.counts(other.support)
        return other

    def margins_after(self, features: Integers) -> Floats:
        """Margins (n, c, len(features)) after toggling each of the features alone."""
        after = margins_after(self.problem, self.means, self.counts, features, self.signs[features])
        for place in np.flatnonzero(self._group_of[features] >= 0):
            moved = self.copied()
            moved.toggle(int(features[place]))
            after[:, :, place] = moved.margins() if moved.counts.all() else -np.inf
        return after

    def gains(self, weights: Floats) -> Floats:
        """First-order change of Σ weights·margins (weights are (n, c)) by toggling each feature; -inf if forbidden."""
        problem, means = self.problem, self.means
        pull = problem.comparisons.pull(weights)
        level = np.einsum("jr,jr->r", pull, means)
        member = np.flatnonzero(problem.selectable)
        cls = problem.feature_classes[member]
        change = problem.matrix.class_scores(pull, problem.feature_classes)[member] - level[cls]
        sign = self.signs[member]
        left = self.counts[cls] + sign
        gains = np.full(problem.n_features, -np.inf)
        gains[member] = np.divide(sign * change, left, out=np.full(member.size, -np.inf), where=left > 0)
        for members in problem.constraints.groups:
            gains[members[0]] = gains[members].sum()
        return np.where(self.movable, gains, -np.inf)


def margins_after(problem: Problem, means: Floats, counts: Integers, features: Integers, signs: Floats) -> Floats:
    """Margins (n, c, len(features)) after each feature alone comes in (sign 1) or goes (−1), whatever its group."""
    after = np.repeat(problem.comparisons.margins(means)[:, :, None], features.size, axis=2)
    classes, values = problem.feature_classes[features], problem.matrix.columns(features)
    for cls in np.unique(classes):
        of_class = classes == cls
        shift = signs[of_class] * (values[:, of_class] - means[:, [cls]]) / (counts[cls] + signs[of_class])
        after[:, :, of_class] += problem.comparisons.coefficients(cls)[:, :, None] * shift[:, None, :]
    return after


def repair(problem: Problem, support: Bools, budget: Budget, max_moves: int | None = None) -> Bools | None:
    """Make a nearly consistent selection consistent by dropping and adding single features."""
    selection = _Selection(problem, support)
    if not selection.counts.all() or not _remove_violations(selection, budget, max_moves):
        return None
    _extend(selection, budget)
    return selection.support


def _remove_violations(selection: _Selection, budget: Budget, max_moves: int | None) -> bool:
    violation, moves = _violation(selection.margins()[:, :, None], selection.safe)[0], 0
    while violation > 0:
        moves += 1
        if budget.exhausted() or (max_moves is not None and moves > max_moves):
            return False
        violated = selection.margins() <= selection.safe
        candidates = _best(selection.gains(violated.astype(np.float64)), _n_candidates(selection.problem))
        if candidates.size == 0:
            return False
        after = _violation(selection.margins_after(candidates), selection.safe)
        # Of equally good moves an added feature is better than a dropped one.
        best = np.lexsort((candidates, selection.support[candidates], after))[0]
        if not after[best] < violation:
            return False
        violation = after[best]
        selection.toggle(int(candidates[best]))
    return True


def _extend(selection: _Selection, budget: Budget) -> None:
    """Add, one at a time, the feature that leaves the largest worst margin, while all margins stay positive."""
    candidates = np.flatnonzero(~selection.support & selection.movable)
    while candidates.size and not budget.exhausted():
        gains = selection.gains(_by_slack(selection.margins() - selection.safe))
        nearest = candidates[_best(gains[candidates], _n_candidates(selection.problem))]
        worst = (selection.margins_after(nearest) - selection.safe[:, :, None]).min(axis=(0, 1))
        if not (worst > 0).any():
            return
        chosen = nearest[np.lexsort((nearest, -worst))[0]]
        selection.toggle(int(chosen))
        candidates = candidates[candidates != chosen]


def _by_slack(slack: Floats, least: float = -np.inf) -> Floats:
    """Weights of comparisons: the less they hold by, down to some least slack, the more."""
    weights: Floats = np.exp(-np.maximum(slack, least) / max(float(np.median(slack)), np.finfo(np.float64).tiny))
    return weights


def grow(problem: Problem, support: Bools, budget: Budget) -> Bools:
    """Enlarge a consistent selection: add features in batches, exchange some to raise the worst margin, and so on."""
    selection = _Selection(problem, support)
    for _ in range(_GROWTHS):
        size = int(selection.counts.sum())
        selection = _with_batches(selection, budget)
        if int(selection.counts.sum()) == size or budget.exhausted():
            break
        selection = _Selection(problem, raise_margin(problem, selection.support, budget))
    _extend(selection, budget)
    return selection.support


def _with_batches(selection: _Selection, budget: Budget) -> _Selection:
    """Add the most promising features, many at a time, for as long as all margins stay positive."""
    batch = 64
    while batch and not budget.exhausted():
        gains = selection.gains(_by_slack(selection.margins() - selection.safe, least=0.0))
        best = np.flatnonzero(np.isfinite(gains) & ~selection.support)
        if best.size == 0:
            break
        larger = selection.toggled(best[np.argsort(-gains[best], kind="stable")[:batch]])
        fits = (larger.margins() > selection.safe).all()
        selection, batch = (larger, 2 * batch) if fits else (selection, batch // 2)
    return selection


def climb(problem: Problem, support: Bools, budget: Budget, max_moves: int | None = None) -> Bools:
    """Add and drop single features (or groups) for as long as that raises the objective with soft margins."""
    selection, moves = _Selection(problem, support), 0
    if not selection.counts.all():
        return selection.support
    objective = _objective(selection)
    while not budget.exhausted() and (max_moves is None or moves < max_moves):
        moves += 1
        candidates = _best(_soft_gains(selection), _n_candidates(problem))
        if candidates.size == 0:
            break
        after = _objectives_after(selection, candidates)
        best = int(np.lexsort((candidates, -after))[0])
        least = _least_better(objective)
        if after[best] > least:
            objective = float(after[best])
            selection.toggle(int(candidates[best]))
            continue
        exchange = _best_exchange(
            selection, _soft_gains(selection), lambda margins: np.minimum(margins, 0.0).sum(axis=0)
        )
        if exchange is None:
            break
        objective = float(selection.counts.sum() + problem.slack_penalty * exchange[0])
        if not objective > least:
            break
        for feature in exchange[1:]:
            selection.toggle(feature)
    return selection.support


def climb_in_batches(problem: Problem, support: Bools, budget: Budget) -> Bools:
    """Add and drop many features at a time for as long as that raises the objective with soft margins.

    Where data are large, a pass over them for each single feature takes too long.
    """
    selection = _Selection(problem, support)
    if not selection.counts.all():
        return selection.support
    objective, gains, batch = _objective(selection), _soft_gains(selection), problem.n_features
    while batch and not budget.exhausted():
        promising = np.flatnonzero(gains > 0)
        batch = min(batch, promising.size)
        moved = selection.toggled(promising[np.argsort(-gains[promising], kind="stable")[:batch]])
        after = _objective(moved)
        if after > _least_better(objective):
            selection, objective, batch, gains = moved, after, 2 * batch, _soft_gains(moved)
        else:
            batch //= 4
    return selection.support


def climb_by_several(problem: Problem, support: Bools, budget: Budget) -> Bools:
    """Add and drop, several at a time, features that are known to raise the objective each for itself."""
    selection, most = _Selection(problem, support), _n_candidates(problem)
    if not selection.counts.all() or most < 2 * _BATCH:  # too few can be looked at to be worth it
        return selection.support
    batch, objective, looked_at = _BATCH, _objective(selection), -(-most // 4)
    for _ in range(_TURNS):
        candidates = _best(_soft_gains(selection), looked_at)
        if candidates.size == 0 or budget.exhausted():
            break
        each = _objectives_after(selection, candidates)
        rising = np.flatnonzero(each > _least_better(objective))
        if rising.size == 0:
            if looked_at == most:
                break
            looked_at = most
            continue
        order = rising[np.lexsort((candidates[rising], -each[rising]))]
        moved, alone = selection.toggled(candidates[order[:batch]]), float(each[order[0]])
        after = _objective(moved)
        if after >= alone:
            selection, objective, batch = moved, after, 2 * batch
        else:
            selection.toggle(int(candidates[order[0]]))
            objective, batch = alone, max(1, batch // 4)
    return selection.support


def _least_better(objective: float) -> float:
    """What an objective must exceed to be better by more than rounding."""
    return objective + _LEAST_STEP * max(1.0, abs(objective))


def is_large(problem: Problem) -> bool:
    """Whether features had better be moved many at a time."""
    many_cells = problem.n_samples * problem.n_features > _LARGE
    return many_cells or problem.comparisons.other.size > _MANY_COMPARISONS


def _objective(selection: _Selection) -> float:
    """The objective with soft margins; −∞ if a class has no feature."""
    if not selection.counts.all():
        return -np.inf
    return float(_objectives(selection, selection.margins()[:, :, None], np.zeros(1))[0])


def _objectives_after(selection: _Selection, features: Integers) -> Floats:
    """The objective with soft margins after toggling each of the features alone."""
    change = (selection.signs * selection.sizes)[features]
    return _objectives(selection, selection.margins_after(features), change)


def _objectives(selection: _Selection, margins: Floats, change: Floats) -> Floats:
    """Objective (K,) for margins (n, c, K) and changes (K,) of the number of features."""
    violation = np.maximum(-margins.min(axis=1), 0.0).sum(axis=0)
    objective: Floats = float(selection.counts.sum()) + change - selection.problem.slack_penalty * violation
    return objective


def _soft_gains(selection: _Selection) -> Floats:
    """First-order change of the objective by toggling each feature; -inf if forbidden."""
    margins = selection.margins()
    weights = np.zeros_like(margins)
    violated = np.flatnonzero(margins.min(axis=1) < 0)
    weights[violated, margins[violated].argmin(axis=1)] = selection.problem.slack_penalty
    return selection.gains(weights) + selection.signs * selection.sizes


def _violation(margins: Floats, safe: Floats) -> Floats:
    """Total shortfall of margins (n, c, K) below the safe level, (K,); exactly zero if there is none."""
    short = safe[:, :, None] - margins
    total: Floats = np.where(short >= 0, short + np.finfo(np.float64).tiny, 0.0).sum(axis=(0, 1))
    return total


def _n_candidates(problem: Problem) -> int:
    """How many features are looked at closely: fewer where the margins of many samples would take much memory."""
    return min(_CANDIDATES, 4 * _LARGEST_BLOCK // problem.comparisons.other.size + 1)


def _best(scores: Floats, count: int) -> Integers:
    """Indices of the largest finite scores."""
    index = np.flatnonzero(np.isfinite(scores))
    if index.size > count:
        index = index[np.argpartition(-scores[index], count)[:count]]
    return np.sort(index)


def raise_margin(problem: Problem, support: Bools, budget: Budget) -> Bools:
    """Exchange features of the same class for as long as that raises the worst margin."""
    selection = _Selection(problem, support)
    for _ in range(_EXCHANGES):
        if budget.exhausted():
            break
        margins = selection.margins()
        worst = float(margins.min())
        spread = max(worst, 1e-9 * float(np.abs(margins).max()), float(np.finfo(np.float64).tiny))
        gains = selection.gains(np.exp(-(margins - worst) / spread))
        exchange = _best_exchange(selection, gains, lambda margins: margins.min(axis=0))
        if exchange is None or not exchange[0] > worst:
            break
        for feature in exchange[1:]:
            selection.toggle(feature)
    return selection.support


def _best_exchange(
    selection: _Selection, gains: Floats, score: Callable[[Floats], Floats]
) -> tuple[float, int, int] | None:
    """The exchange of two features of one class with the largest score of the margins, among promising ones."""
    problem, margins = selection.problem, selection.margins()
    paired = min(_PAIRED, int(np.sqrt(_LARGEST_BLOCK / margins.size)) + 1)
    best: tuple[float, int, int] | None = None
    for cls, members in enumerate(problem.features_of_class):
        single = members[selection.movable[members] & (selection.sizes[members] == 1)]
        inside, outside = single[selection.support[single]], single[~selection.support[single]]
        out, into = (part[_best(gains[part], paired)] for part in (inside, outside))
        if out.size == 0 or into.size == 0:
            continue
        columns = problem.matrix.columns(np.concatenate([out, into])) / selection.counts[cls]
        shift = columns[:, None, out.size :] - columns[:, : out.size, None]
        coefficients = problem.comparisons.coefficients(cls)
        worst = np.full(shift.shape, np.inf)
        for comparison in range(margins.shape[1]):
            moved = margins[:, comparison, None, None] + coefficients[:, comparison, None, None] * shift
            np.minimum(worst, moved, out=worst)
        scores = score(worst)
        row, column = np.unravel_index(int(scores.argmax()), scores.shape)
        if best is None or scores[row, column] > best[0]:
            best = (float(scores[row, column]), int(out[row]), int(into[column]))
    return best
