"""Integer selections at fixed counts: found, or proven not to exist, by branching on features.

At an open point the relaxation has a fractional selection with positive margins. Only few features are in question:
those whose other value would not already push the bound v to zero. Branching on the fractional ones, most effective
first (strong branching: both children of a candidate are solved before one is chosen), either meets an integral
selection with positive margins or closes every leaf by multipliers that a reader can check.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobic.certified.bounds import rounding_error
from cobic.certified.bundle import Relaxed, whole_numbers
from cobic.certified.certificate import Multipliers, Token
from cobic.certified.programs import FeaturePrograms
from cobic.certified.swaps import Swaps
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem
from cobic.search.budget import Budget, Incumbent
from cobic.search.lp import BranchingLp

Values = NDArray[np.int8]
_FREE, _OUT, _IN = -1, 0, 1
_FRACTIONAL = 1e-6
_PATIENCE = 4
_THOROUGH_DEPTH = 2
_ACTIVE = 250
_INCOMING = 100
GIANT = 4.0  # typical effects: what a larger feature does cannot be mended by exchanges of others
_EXCHANGED = 400  # features
_LARGEST = 1 << 23  # entries of the dense part that a tree gathers: 64 MB


class _Found(Exception):
    """A consistent selection has been met."""


class _GivenUp(Exception):
    """The effort or the budget is spent."""


class ColumnSearch:
    """Branches on features at one count vector after another."""

    def __init__(
        self,
        problem: Problem,
        programs: FeaturePrograms,
        budget: Budget,
        incumbent: Incumbent,
        proof: list[Multipliers],
    ) -> None:
        self._problem, self._programs, self._budget = problem, programs, budget
        self._incumbent, self._proof = incumbent, proof

    def close(self, point: Relaxed, programs: int) -> list[Token] | None:
        """Prove that no selection has the counts of an open point, or find one."""
        try:
            return _Tree(self, point, programs).tokens()
        except (_Found, _GivenUp):
            return None

    def dive(
        self, point: Relaxed, base: Bools, features: int, programs: int, effort: int, rng: np.random.Generator
    ) -> bool:
        """Look for a selection with the counts of an open point: one path down, by chance a little different."""
        try:
            _Tree(self, point, programs, (base, features)).dive(rng, effort)
        except _Found:
            return True
        except _GivenUp:
            pass
        return False


class _Tree:
    """The tree at one count vector; features are known by their place among those left free at the root."""

    def __init__(
        self, search: ColumnSearch, point: Relaxed, programs: int, part: tuple[Bools, int] | None = None
    ) -> None:
        problem = search._problem
        self._search, self._counts = search, point.counts
        self._last_program = search._budget.lps + programs
        self._root_cut = point.cut
        if part is None:
            free, losses = self._in_question(problem, point)
        else:
            free, losses = search._programs.window.nearest(point.cut.multipliers, point.counts, part[1])
            self._fixed_in, self._assumed = part[0].copy(), part[0][free].astype(np.int8)
            self._fixed_in[free] = False
        order = np.argsort(problem.feature_classes[free], kind="stable")
        self._features, self._assumed, self._losses = free[order], self._assumed[order], losses[order]
        if free.size * point.margins.size > _LARGEST:
            raise _GivenUp
        self._of = problem.feature_classes[self._features]
        self._gather(problem.comparisons.other.shape[1])
        self._rows = self._tight_rows(point)
        self._effect = _Effects(free.size)
        self._active = np.zeros(free.size, dtype=np.bool_)
        self._activate(np.argsort(self._losses, kind="stable")[: _ACTIVE if part is None else None])

    def _in_question(self, problem: Problem, point: Relaxed) -> tuple[Integers, Floats]:
        """Features that the multipliers of the root do not decide, and what their other values cost; fixes the rest."""
        selectable = np.flatnonzero(problem.selectable)
        values = np.where(problem.required[selectable], _IN, _FREE).astype(np.int8)
        self._of = problem.feature_classes[selectable]
        left = self._counts - np.bincount(self._of[values == _IN], minlength=self._counts.size)
        value, losses, preferred = self._top(point.cut.scores[selectable], values, -point.cut.offset, left)
        point.cut.release()
        self._hopeless = value <= -point.cut.error
        forced = value - losses <= -point.cut.error
        self._fixed_in = np.zeros(problem.n_features, dtype=np.bool_)
        self._fixed_in[selectable[forced & (preferred == _IN)]] = True
        self._assumed = preferred[~forced]
        return selectable[~forced], losses[~forced]

    def _gather(self, per_sample: int) -> None:
        """The few rows and columns of the data that the tree needs."""
        problem = self._search._problem
        sample = np.repeat(np.arange(problem.n_samples), per_sample)
        coefficients = np.stack([problem.comparisons.coefficients(cls).ravel() for cls in range(problem.n_classes)])
        self._shape = (problem.n_samples, per_sample)
        self._row_scale = problem.row_scale()[sample]
        self._effects = problem.columns(self._features).T[:, sample] * coefficients[self._of]
        sums = self._search._programs.sums.of(self._fixed_in)
        self._base = problem.comparisons.margins(sums / self._counts).ravel()
        self._already = problem.counts(self._fixed_in)
        self._safe = np.repeat(problem.margin_errors, per_sample)

    @staticmethod
    def _tight_rows(point: Relaxed) -> Integers:
        """The comparisons that matter: those with a multiplier, and as many again that come next."""
        weighted = np.flatnonzero(point.cut.multipliers.ravel())
        return np.union1d(weighted, np.argsort(point.margins, kind="stable")[: 2 * weighted.size + 4])

    def _add_missing_rows(self, x: Floats) -> bool:
        """Take comparisons into the program that a solution violates; tell whether there were any."""
        margins = self._base + self._effects.T @ (x / self._counts[self._of])
        margins[self._rows] = np.inf
        missing = np.flatnonzero(margins < -1e-9 * self._row_scale)
        if missing.size:
            self._rows = np.union1d(self._rows, missing)
            self._activate(missing[:0])
        return missing.size > 0

    def _activate(self, places: Integers) -> None:
        """Take more features into the linear program; the others stand at the value they had at the root."""
        self._active[places] = True
        self._in_lp = np.flatnonzero(self._active)
        standing = self._fixed_in.copy()
        standing[self._features[~self._active & (self._assumed == _IN)]] = True
        search = self._search
        program = search._programs.program(self._features[self._in_lp], standing, self._counts, self._rows)
        self._lp = BranchingLp(program, search._budget)

    def tokens(self) -> list[Token]:
        """The whole proof, from the root on."""
        root = self._record(self._root_cut.multipliers)
        if self._hopeless:
            return [["cut", root]]
        values = np.full(self._features.size, _FREE, dtype=np.int8)
        return [["fix", root], *self._explore(values, 0)]

    def dive(self, rng: np.random.Generator, effort: int) -> None:
        """Decide features one by one, those with the largest effect first, each the way that keeps more margin.

        When those that do far more than others are decided, exchanges of the others come first: they can mend the rest.
        """
        values: Values = np.full(self._features.size, _FREE, dtype=np.int8)
        size = np.abs(self._effects).max(axis=1) / self._counts[self._of]
        giant, exchanged = GIANT * float(np.median(size)) if size.size else 0.0, False
        while self._solve(values) > 0:
            solution = self._lp.solution()
            x = self._whole_solution(solution.x[:-1], values)
            if self._add_missing_rows(x):
                continue
            self._price(solution.duals, values)
            self._try_rounding(x, values)
            away = np.minimum(x, 1.0 - x)
            places = np.flatnonzero((away > _FRACTIONAL) & (values == _FREE))
            if places.size == 0:
                return
            chance = 1.0 + 0.5 * rng.random(places.size)
            place = places[np.argmax(size[places] * away[places] * chance)]
            if size[place] <= giant and not exchanged:
                exchanged = True
                self._exchange(x, values, rng, effort)
            margins = []
            for value in (_OUT, _IN):
                values[place] = value
                margins.append(self._solve(values))
            values[place] = _IN if margins[_IN] >= margins[_OUT] else _OUT

    def _exchange(self, x: Floats, values: Values, rng: np.random.Generator, effort: int) -> None:
        """Round a solution and look for a selection by exchanges of features that are free."""
        rounded, free = self._rounded(x, values), np.flatnonzero(values == _FREE)
        if free.size > _EXCHANGED:
            away = np.minimum(x[free], 1.0 - x[free])
            free = np.sort(free[np.lexsort((self._losses[free], away <= _FRACTIONAL))[:_EXCHANGED]])
        margins = self._base + self._effects.T @ (rounded / self._counts[self._of]) - self._safe
        effects = self._effects[free] / self._counts[self._of[free]][:, None]
        swaps = Swaps(effects, self._of[free], rounded[free], margins)
        found = swaps.cool(rng, effort)
        if found is not None:
            rounded[free] = found
            self._offer_if_good(rounded)

    def _explore(self, values: Values, depth: int) -> list[Token]:
        """Close a node; raises when a selection is found or the effort is spent."""
        before: list[Token] = []
        after: list[Token] = []
        while True:
            best = self._solve(values)
            if best == -np.inf:
                return [*before, *self._by_hand(values, depth), *after]
            solution = self._lp.solution()
            closed, fixing = self._price(solution.duals, values)
            if closed is not None:
                return [*before, ["cut", closed], *after]
            if fixing is not None:
                before.append(["fix", fixing])
            x = self._whole_solution(solution.x[:-1], values)
            if best > 0 and self._add_missing_rows(x):
                continue
            self._try_rounding(x, values)
            candidates = self._fractional(x, values)
            if candidates.size == 0:
                return [*before, *self._by_hand(values, depth), *after]
            choice = self._strong_branch(candidates, x, values, best, depth)
            feature = int(self._features[choice.place])
            if choice.closed[_OUT] is not None and choice.closed[_IN] is not None:
                pair = [["cut", choice.closed[_OUT]], ["cut", choice.closed[_IN]]]
                return [*before, ["feature", feature], *pair, *after]
            if choice.closed[_OUT] is not None:
                before += [["feature", feature], ["cut", choice.closed[_OUT]]]
                values[choice.place] = _IN
            elif choice.closed[_IN] is not None:
                before.append(["feature", feature])
                after.insert(0, ["cut", choice.closed[_IN]])
                values[choice.place] = _OUT
            else:
                return [*before, ["feature", feature], *self._both(choice, values, depth), *after]

    def _both(self, choice: "_Choice", values: Values, depth: int) -> list[Token]:
        """Close both children, the more promising one first."""
        parts: dict[int, list[Token]] = {}
        for value in (_IN, _OUT) if choice.margins[_IN] >= choice.margins[_OUT] else (_OUT, _IN):
            child = values.copy()
            child[choice.place] = value
            parts[value] = self._explore(child, depth + 1)
        return [*parts[_OUT], *parts[_IN]]

    def _by_hand(self, values: Values, depth: int) -> list[Token]:
        """Go on where the linear program has nothing fractional to branch on: one feature after the other."""
        missing = self._missing(values)
        free = [np.flatnonzero((values == _FREE) & (self._of == cls)) for cls in range(missing.size)]
        impossible = [cls for cls in range(missing.size) if not 0 <= missing[cls] <= free[cls].size]
        undecided = [cls for cls in range(missing.size) if 0 < missing[cls] < free[cls].size]
        if impossible or not undecided:
            if not impossible:
                self._offer(values, free, missing)
            return [["cut", 0]] if impossible else [["selection"]]
        place = int(free[undecided[0]][0])
        tokens: list[Token] = [["feature", int(self._features[place])]]
        for value in (_OUT, _IN):
            child = values.copy()
            child[place] = value
            tokens += self._explore(child, depth + 1)
        return tokens

    def _missing(self, values: Values) -> Integers:
        """How many features of each class have yet to come in."""
        chosen = np.bincount(self._of[values == _IN], minlength=self._counts.size)
        return np.asarray(self._counts - self._already - chosen)

    def _solve(self, values: Values) -> float:
        """Largest worst margin of a node over the active features; enough of them that its sign is right.

        Where the value is not positive but the multipliers do not prove that, features outside the program are on the
        wrong side of the threshold: they become active.
        """
        against = np.flatnonzero(~self._active & (values != _FREE) & (values != self._assumed))
        if against.size:
            self._activate(against)
        while True:
            inside = values[self._in_lp]
            lower, upper = (inside == _IN).astype(np.float64), (inside != _OUT).astype(np.float64)
            self._lp.bound(np.arange(inside.size), lower, upper)
            best = self._lp.maximum() if self._search._budget.lps < self._last_program else None
            if best is None:
                raise _GivenUp
            incoming = self._incoming(values, best)
            if incoming.size == 0:
                return best
            self._activate(incoming)

    def _incoming(self, values: Values, best: float) -> Integers:
        """Features that could raise a margin that is not positive, most promising first."""
        if best > 0 or self._active.all():
            return np.zeros(0, dtype=np.intp)
        idle = ~self._active & (values == _FREE)
        if best == -np.inf:
            return np.flatnonzero(idle)[: 10 * _INCOMING] if self._reachable(values) else np.zeros(0, dtype=np.intp)
        value, losses, preferred, error = self._bound(self._whole(self._lp.solution().duals), values)
        if value <= -error:
            return np.zeros(0, dtype=np.intp)
        wrong = np.flatnonzero(idle & (preferred != self._assumed))
        return wrong[np.argsort(-losses[wrong], kind="stable")[:_INCOMING]]

    def _reachable(self, values: Values) -> bool:
        """Whether the counts can still be reached."""
        missing = self._missing(values)
        free = np.bincount(self._of[values == _FREE], minlength=missing.size)
        return bool(((missing >= 0) & (missing <= free)).all())

    def _whole_solution(self, x: Floats, values: Values) -> Floats:
        """A solution over the active features, completed by the others."""
        full = np.where(values == _FREE, self._assumed, values).astype(np.float64)
        full[self._in_lp] = x
        return full

    def _price(self, duals: Floats, values: Values) -> tuple[int | None, int | None]:
        """Multipliers that close the node, or that decide more features; both are recorded in the proof."""
        whole = self._whole(duals)
        value, losses, preferred, error = self._bound(whole, values)
        if value <= -error:
            return self._record(whole), None
        forced = (values == _FREE) & (value - losses <= -error)
        if not forced.any():
            return None, None
        values[forced] = preferred[forced]
        return None, self._record(whole)

    def _whole(self, duals: Floats) -> Integers:
        multipliers = np.zeros(self._base.size)
        multipliers[self._rows] = np.maximum(duals[: self._rows.size], 0.0) / self._row_scale[self._rows]
        return whole_numbers(multipliers.reshape(self._shape))[0]

    def _bound(self, whole: Integers, values: Values) -> tuple[float, Floats, Values, float]:
        """Bound v on a node, what the other value of each free feature costs, its preferred value, and the error."""
        weights = whole.astype(np.float64)
        flat = weights.ravel()
        start = float(flat @ self._base)
        value, losses, preferred = self._top(self._effects @ flat, values, start, self._missing(values))
        return value, losses, preferred, rounding_error(self._search._problem, weights)

    def _top(self, scores: Floats, values: Values, start: float, missing: Integers) -> tuple[float, Floats, Values]:
        """Sum of the best scores that the counts allow, class by class; `missing` features of each have yet to come."""
        losses, preferred = np.full(values.size, np.inf), values.copy()
        for cls, n in enumerate(self._counts):
            mine = self._of == cls
            free = np.flatnonzero(mine & (values == _FREE))
            left = int(missing[cls])
            if not 0 <= left <= free.size:
                return -np.inf, losses, preferred
            start += float(scores[mine & (values == _IN)].sum()) / n
            order = free[np.argsort(-scores[free], kind="stable")]
            start += float(scores[order[:left]].sum()) / n
            first_out = scores[order[left]] if left < free.size else -np.inf
            last_in = scores[order[left - 1]] if left > 0 else np.inf
            losses[order[:left]] = (scores[order[:left]] - first_out) / n
            losses[order[left:]] = (last_in - scores[order[left:]]) / n
            preferred[order[:left]], preferred[order[left:]] = _IN, _OUT
        return start, losses, preferred

    def _fractional(self, x: Floats, values: Values) -> Integers:
        """Free features with a fractional value, those first that proved most effective in the tree so far."""
        away = np.minimum(x, 1.0 - x)
        places = np.flatnonzero((away > _FRACTIONAL) & (values == _FREE))
        effect = self._effect.estimate(places, x[places])
        return places[np.lexsort((places, -effect))]

    def _strong_branch(self, candidates: Integers, x: Floats, values: Values, best: float, depth: int) -> "_Choice":
        """Try both values of the candidates; the first that closes a child, else the one that costs most."""
        chosen: _Choice | None = None
        score, fruitless = -np.inf, 0
        lp, basis = self._lp, self._lp.basis()
        for place in candidates:
            if lp is not self._lp:  # features became active meanwhile: an old basis no longer fits
                self._solve(values)
                lp, basis = self._lp, self._lp.basis()
            choice = self._children(int(place), values, lp, basis)
            costs = [max(best - choice.margins[value], 1e-6 * best) for value in (_OUT, _IN)]
            self._effect.learn(int(place), float(x[place]), costs)
            if choice.closed[_OUT] is not None or choice.closed[_IN] is not None:
                return choice
            if costs[_OUT] * costs[_IN] > score:
                chosen, score, fruitless = choice, costs[_OUT] * costs[_IN], 0
            else:
                fruitless += 1
                if fruitless >= _PATIENCE and depth > _THOROUGH_DEPTH:
                    break
        if chosen is None:
            message = "there is nothing to branch on"
            raise AssertionError(message)
        return chosen

    def _children(self, place: int, values: Values, lp: BranchingLp, basis: object) -> "_Choice":
        choice = _Choice(place, [0.0, 0.0], [None, None])
        for value in (_OUT, _IN):
            child = values.copy()
            child[place] = value
            if lp is self._lp:
                lp.restart(basis)
            choice.margins[value] = self._solve(child)
            if choice.margins[value] <= 0:
                whole = self._whole(self._lp.solution().duals) if choice.margins[value] > -np.inf else None
                choice.closed[value] = self._closes(whole, child)
        return choice

    def _closes(self, whole: Integers | None, values: Values) -> int | None:
        """Record multipliers if they close a node; counts that cannot be reached are closed by any."""
        if not self._reachable(values):
            return 0
        if whole is None:
            return None
        value, _, _, error = self._bound(whole, values)
        return self._record(whole) if value <= -error else None

    def _record(self, whole: Integers) -> int:
        self._search._proof.append(Multipliers.of(whole, 0.0))
        return len(self._search._proof) - 1

    def _try_rounding(self, x: Floats, values: Values) -> None:
        """Round to the counts by size, and see whether that is a selection already."""
        self._offer_if_good(self._rounded(x, values))

    def _rounded(self, x: Floats, values: Values) -> Bools:
        """A solution rounded to the counts by size."""
        rounded: Bools = values == _IN
        for cls, left in enumerate(self._missing(values)):
            free = np.flatnonzero((values == _FREE) & (self._of == cls))
            rounded[free[np.argsort(-x[free], kind="stable")[: int(left)]]] = True
        return rounded

    def _offer(self, values: Values, free: list[Integers], missing: Integers) -> None:
        chosen = values == _IN
        for places, left in zip(free, missing, strict=True):
            chosen[places] = left > 0
        self._submit(chosen)

    def _offer_if_good(self, chosen: Bools) -> None:
        margins = self._base + self._effects.T @ (chosen / self._counts[self._of])
        if (margins > self._safe).all():
            self._submit(chosen)

    def _submit(self, chosen: Bools) -> None:
        support = self._fixed_in.copy()
        support[self._features[chosen]] = True
        if self._search._incumbent.offer(support):
            raise _Found


@dataclass
class _Choice:
    """A feature to branch on: what is left of the margin in each child, and the multipliers that close it, if any."""

    place: int
    margins: list[float]
    closed: list[int | None]


class _Effects:
    """How much branching on each feature has cost so far, per unit of its distance to the value it was given."""

    def __init__(self, size: int) -> None:
        self._total = np.zeros((2, size))
        self._times = np.zeros((2, size))

    def learn(self, place: int, x: float, costs: list[float]) -> None:
        for value, distance in ((_OUT, x), (_IN, 1.0 - x)):
            if np.isfinite(costs[value]):
                self._total[value, place] += costs[value] / max(distance, _FRACTIONAL)
                self._times[value, place] += 1

    def estimate(self, places: Integers, x: Floats) -> Floats:
        """Product of the expected costs of both values; features never tried count as average ones."""
        average = self._total.sum(axis=1) / np.maximum(self._times.sum(axis=1), 1)
        average[self._times.sum(axis=1) == 0] = 1.0
        tried = self._times[:, places]
        cost = np.where(tried > 0, self._total[:, places] / np.maximum(tried, 1), average[:, None])
        product: Floats = np.maximum(cost[_OUT] * x, 1e-300) * np.maximum(cost[_IN] * (1.0 - x), 1e-300)
        return product
