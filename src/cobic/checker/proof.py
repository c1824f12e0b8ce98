"""The proof in a certificate, read token by token.

For multipliers
λ ≥ 0 and counts n, a consistent selection with n_r features of class r can exist only if

    v(n) = Σ_r (mean of the n_r largest e_i in F_r) − Σ λα  >  0,       e_i = Σ_j (weight of sample j in λ) a_ij.

The proof is a tree for each total T above the bound, until one excludes all larger totals as well. Each node stands for
the selections with T features whose counts lie in a box and whose decided features are as decided; its tokens split it,
shrink it, or show by one λ that it is empty. With soft margins there is one tree over all selections, and λ shows that
none in a node has an objective above the bound. The same for a panel: one tree over all panels, with the bound on the
tail margin in place of zero, and λ within the caps.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from cobic.checker.state import Refuted, State, require, within_total
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import PanelProblem, Problem
from cobic.problem.exact import TINY

PRECISION = 1 << 30  # multipliers are whole multiples of its inverse
_EPS = float(np.finfo(np.float64).eps)
_COUNTLESS = 1 << 53  # more features than there are
_MEMORY = 1 << 32  # bytes of the nodes that wait: two hundred decisions over a million features
_AT_ONCE = 1 << 20  # products of a look at the data: 8 MB
_NUMBERS_KEPT = 1 << 22  # sums of the largest scores, of several multipliers: 32 MB


def _whole(value: Any, least: int, end: int) -> bool:
    """Whether something is a whole number, and no truth value, in a range."""
    return type(value) is int and least <= value < end


class Proof:
    """The walk through the tree."""

    def __init__(self, problem: Problem, certificate: dict[str, Any], panel: PanelProblem | None = None) -> None:
        self._problem, self._panel = problem, panel
        self._groups = None if panel is None or panel.groups is None else panel.groups.of
        self._vectors = certificate["multipliers"]
        for entries in self._vectors:
            self._require_multipliers(entries)
        self._slopes = certificate["slopes"]
        numbers = all(isinstance(slope, (int, float)) and abs(slope) < 1e300 for slope in self._slopes)
        require(numbers and len(self._slopes) == len(self._vectors), '"slopes" does not match "multipliers"')
        self._tokens: Iterator[Any] = iter(certificate["tree"])
        self._objective_bound, self._level = np.inf, 0.0
        self._scores: dict[int, tuple[Floats, float]] = {}
        self._undecided: Integers | None = None
        self._sums: dict[int, list[Floats]] = {}

    def check(self, total: int) -> None:
        """Walk the trees from a total on; raise at the first thing that does not hold."""
        settled = False
        while not settled and total <= self._problem.n_selectable:
            settled = self._walk(total)
            total += 1
        require(next(self._tokens, None) is None, "the tree goes on after its end")

    def check_objective(self, bound: float) -> None:
        """Walk the tree for the objective with soft margins; raise at the first thing that does not hold."""
        self._objective_bound = bound
        more = max(math.floor(bound) + 1, 0)  # a selection with fewer features has no larger objective
        left = [self._root()]
        while left:
            state = within_total(left.pop(), more, beyond=True)
            left.extend(self._below(state, self._next_token(), 0, len(left)))
        require(next(self._tokens, None) is None, "the tree goes on after its end")

    def check_panel(self, panel: PanelProblem, bound: float) -> None:
        """Walk the tree for the tail margin of panels; raise at the first thing that does not hold."""
        self._level = bound
        left = [replace(self._root(), low=panel.low.astype(np.int64), high=panel.high.astype(np.int64))]
        while left:
            state = within_total(left.pop(), panel.total, beyond=False)
            left.extend(self._below(state, self._next_token(), panel.total, len(left)))
        require(next(self._tokens, None) is None, "the tree goes on after its end")

    def _walk(self, total: int) -> bool:
        """Walk the tree for one total; tell whether it settles all larger ones, too.

        Multipliers exclude, with some counts, all larger ones, unless features are required; then the boxes of such a
        tree reach as far as there are features. What is shown for decided features says nothing about other totals.
        """
        token = self._next_token()
        or_more = token == ["or more"]
        token = self._next_token() if or_more else token
        beyond = or_more and bool(self._problem.required.any())
        left = [self._root()]
        while True:
            state = within_total(left.pop(), total, beyond=beyond)
            allowed = not or_more or token[0] in ("count", "cut", "empty")
            require(allowed, "a proof for all larger totals decides on features")
            left.extend(self._below(state, token, total, len(left)))
            if not left:
                return or_more
            token = self._next_token()

    def _next_token(self) -> list[Any]:
        token: Any = next(self._tokens, None)
        require(isinstance(token, list) and bool(token), "the tree ends too early")
        return list(token)

    def _root(self) -> State:
        """All selections: nothing decided but the required features."""
        problem, k = self._problem, self._problem.n_classes
        free = np.flatnonzero(problem.selectable)
        root = State(
            low=np.maximum(problem.required_sizes, 1).astype(np.int64),
            high=problem.feature_class_sizes.astype(np.int64),
            free=free,
            inside=free[:0],
            n_in=np.zeros(k, dtype=np.int64),
            sums=np.zeros((problem.n_samples, k)),
        )
        root = self._decided(root, into=np.flatnonzero(problem.required))
        self._undecided, self._sums = root.free, {}
        return root

    def _below(self, state: State, token: list[Any], total: int, waiting: int) -> list[State]:
        """The children, the first last, while so many other nodes wait."""
        require(
            token[0] != "feature" or waiting * state.nbytes < _MEMORY,
            "the tree is too deep for this checker; the exact one needs no memory for it",
        )
        return self._children(state, token, total)[::-1]

    def _children(self, state: State, token: list[Any], total: int) -> list[State]:
        """What is left to show after a token."""
        match token:
            case ["empty"]:
                require(state.empty or state.void, "a box that is called empty is not")
                return []
            case ["cut", index] if _whole(index, 0, len(self._vectors)):
                shown = state.void or self._excludes(state, index, total)
                require(shown, f"multipliers {index} do not exclude their box")
                return []
            case ["selection"]:
                self._require_inconsistent(state)
                return []
            case ["all"]:
                self._require_all_below(state)
                return []
            case ["count", cls, at] if type(cls) is int and type(at) is int:
                require(0 <= cls < state.low.size and 0 <= at < _COUNTLESS, "a split names no class, or no count")
                first, second = state.high.copy(), state.low.copy()
                first[cls], second[cls] = min(first[cls], at), max(second[cls], at + 1)
                return [replace(state, high=first), replace(state, low=second)]
            case ["feature", feature] if type(feature) is int:
                return self._both_values(state, feature)
            case ["fix", index] if _whole(index, 0, len(self._vectors)) and not self._problem.soft:
                return [state if state.void or state.empty else self._fixed(state, index)]
        fault = f"the tree has a token {str(token)[:40]} that is not known"
        raise Refuted(fault)

    def _both_values(self, state: State, feature: int) -> list[State]:
        """The node with a feature out, and with it in."""
        if (state.free == feature).any():
            return [self._decided(state, out=np.array([feature])), self._decided(state, into=np.array([feature]))]
        require(0 <= feature < self._problem.n_features, f"there is no feature {feature}")
        inside = bool((state.inside == feature).any())
        return [replace(state, void=state.void or inside), replace(state, void=state.void or not inside)]

    def _decided(self, state: State, out: Integers | None = None, into: Integers | None = None) -> State:
        """The same node with some features decided; one that is in keeps the others of its group out."""
        decided = np.concatenate([part for part in (out, into) if part is not None])
        free = state.free[~np.isin(state.free, decided)]
        if into is None or into.size == 0:
            return replace(state, free=free)
        if self._groups is not None:
            taken = self._groups[np.concatenate([state.inside, into])]
            if np.unique(taken).size < taken.size:
                return replace(state, free=free, void=True)
            free = free[~np.isin(self._groups[free], taken)]
        classes = self._problem.feature_classes[into]
        sums, n_in = state.sums.copy(), state.n_in.copy()
        columns = self._problem.columns(into)
        for cls in np.unique(classes):
            sums[:, cls] += columns[:, classes == cls].sum(axis=1)
            n_in[cls] += int((classes == cls).sum())
        return replace(state, free=free, inside=np.concatenate([state.inside, into]), sums=sums, n_in=n_in)

    def _require_multipliers(self, entries: Any) -> None:
        """Pairs of a running index, rising, and a positive whole number; nothing is made of them yet."""
        samples, per = self._problem.comparisons.other.shape
        before, spent = -1, [0] * (samples if self._problem.soft else 0)
        for entry in entries if isinstance(entries, list) else [None]:
            match entry:
                case [index, value] if _whole(index, before + 1, samples * per) and _whole(value, 1, (1 << 53) + 1):
                    before = index
                    if spent:
                        spent[index // per] += value
                case _:
                    fault = "the multipliers are not pairs of an index and a positive whole number, the indices rising"
                    raise Refuted(fault)
        require(self._problem.soft or bool(entries), "multipliers that are all zero prove nothing")
        require(all(value <= PRECISION for value in spent), "multipliers of a sample exceed the price")
        if self._panel is not None and self._panel.offset:
            self._require_balanced(entries)

    def _require_balanced(self, entries: list[list[int]]) -> None:
        """Every class wins with as much as it loses with, in whole numbers: then offsets drop out of Σ λ·margin."""
        balance, asked = [0] * self._problem.n_classes, self._problem.comparisons
        for index, value in entries:
            sample, at = divmod(index, asked.other.shape[1])
            balance[asked.own[sample]] += value
            balance[asked.other[sample, at]] -= value
        require(not any(balance), "the multipliers are not balanced: they depend on the offsets")

    def _multipliers(self, index: int) -> Floats:
        """Multipliers (n, c), most of them 0; they are as many numbers as the problem has comparisons."""
        shape = self._problem.comparisons.other.shape
        multipliers = np.zeros(shape[0] * shape[1])
        for row, value in self._vectors[index]:
            multipliers[row] = value
        unit = self._problem.slack_penalty / PRECISION if self._problem.soft else 1.0
        return multipliers.reshape(shape) * unit

    def _evaluated(self, index: int) -> tuple[Floats, float]:
        """Scores e_i of all features under multipliers, and a bound on the rounding error of v."""
        if index not in self._scores:
            self._evaluate(index)
        # A finite error means that no sum on the way to it, or to v, has overflowed: they are smaller.
        require(bool(np.isfinite(self._scores[index][1])), "the numbers are too large to be added up")
        return self._scores[index]

    def _evaluate(self, first: int) -> None:
        """Look at the data with some multipliers, and where they are asked about in turn with the next ones at once."""
        problem, k = self._problem, self._problem.n_classes
        more = _AT_ONCE // (k * max(problem.matrix.shape)) if first - 1 in self._scores else 0
        several = range(first, min(first + 1 + more, len(self._vectors)))
        if (len(self._scores) + more) * problem.n_features > _NUMBERS_KEPT:
            self._scores.clear()
        weights = np.hstack([problem.comparisons.pull(self._multipliers(index)) for index in several])
        products, largest = problem.matrix.transposed_products(weights), np.abs(weights).T @ problem.row_scale()
        for index, at in zip(several, range(0, k * len(several), k), strict=True):
            own = np.take_along_axis(products, at + problem.feature_classes[:, None], axis=1)[:, 0]
            found = problem.constraints.pooled(own), self._error(largest[at : at + k], self._multipliers(index))
            self._scores[index] = (np.zeros_like(own), 0.0) if self._cancels(index) else found

    def _cancels(self, index: int) -> bool:
        """Whether there are two multipliers, of two samples with the same values, whose margins exactly cancel out."""
        asked, vector = self._problem.comparisons, self._vectors[index]
        if len(vector) != 2 or vector[0][1] != vector[1][1]:
            return False
        (one, at), (other, there) = (divmod(row, asked.other.shape[1]) for row, _ in vector)
        opposed = asked.own[one] == asked.other[other, there] and asked.own[other] == asked.other[one, at]
        plain = asked.factor[one, at] == asked.factor[other, there] == 1
        return bool(opposed and plain and not np.diff(self._problem.matrix.rows(np.array([one, other])), axis=0).any())

    def _error(self, largest: Floats, multipliers: Floats) -> float:
        """Bound on the rounding error of v, and of the objective with soft margins.

        A sum of t terms is off by at most t·ε/2 times the sum of their sizes: for the scores (over samples and
        comparisons), their means over parts of groups, their sums over features, and what is put together of these,
        class by class, with Σ λα and the counts. 2ε times the number of all these terms is more than that.
        """
        problem = self._problem
        terms = problem.n_samples + 2 * problem.n_features + problem.comparisons.other.shape[1]
        terms += 2 * problem.n_classes + 24
        counted = problem.n_features if problem.soft else 0
        rounding = float(2 * _EPS * (terms * (float(largest.sum()) + abs(self._offset(multipliers)) + counted)))
        # Numbers below the smallest normal one are off by a fixed amount.
        return rounding + TINY + self._beyond_caps(multipliers)

    def _offset(self, multipliers: Floats) -> float:
        """What is taken off Σ λ·(class means): Σ λα, and for a panel Σ λ times the bound."""
        by_sample = multipliers.sum(axis=1)
        return float((by_sample * self._problem.alpha).sum()) + self._level * float(by_sample.sum())

    def _beyond_caps(self, multipliers: Floats) -> float:
        """What multipliers may overstate for a panel because they exceed the caps on the tail.

        Multipliers within the caps arise from these by moving what is too much, a share of all, to other samples; that
        changes Σ λ·margin by at most twice that share, times Σ λ, times the largest margin.
        """
        if self._panel is None:
            return 0.0
        largest = self._panel.largest_margin + self._panel.widest_offsets
        return 2.0 * self._panel.excess(multipliers) * largest * float(multipliers.sum())

    def _excludes(self, state: State, index: int, total: int) -> bool:
        """Whether v ≤ 0 over the whole node: σ·T + Σ_r max (Q_r(n) − σ n) with the best n in each interval.

        With soft margins, whether the objective stays below its bound: the same with σ = −1 and T = 0.
        """
        if state.empty:
            return True
        error = self._evaluated(index)[1]
        multipliers, slope = self._multipliers(index), float(self._slopes[index])
        if self._problem.soft:
            slope, error = -1.0, error - self._objective_bound
        else:
            require(slope <= 0 or self._panel is not None, "a slope is above zero")
        total = max(total, int(state.low.sum())) if not self._problem.soft else 0
        value = slope * total - self._offset(multipliers)
        for cls, sums in enumerate(self._best_sums(state, index)):
            least = max(int(state.low[cls]), int(state.n_in[cls]))
            most = min(int(state.high[cls]), int(state.n_in[cls]) + sums.size - 1)
            if least > most:
                return True  # the counts cannot be reached any more
            counts = np.arange(least, most + 1)
            value += float((sums[counts - state.n_in[cls]] / counts - slope * counts).max())
        # σT and the σn are added and taken away again, class by class.
        return value <= -error - (2 * state.low.size + 8) * _EPS * abs(slope) * total

    def _best_sums(self, state: State, index: int) -> list[Floats]:
        """For each class the sums of the scores of its 0, 1, 2, … best free features, added to those that are in.

        Many nodes have nothing decided but the counts: theirs are the same.
        """
        if state.free is self._undecided and index in self._sums:
            return self._sums[index]
        scores = self._evaluated(index)[0]
        pull = self._problem.comparisons.pull(self._multipliers(index))
        of, found = self._problem.feature_classes[state.free], []
        for cls in range(state.low.size):
            ordered = np.sort(scores[self._leading(state.free[of == cls], scores)])[::-1]
            already = float(pull[:, cls] @ state.sums[:, cls])
            found.append(already + np.concatenate([[0.0], np.cumsum(ordered)]))
        if state.free is self._undecided:
            if len(self._sums) * state.free.size > _NUMBERS_KEPT:
                self._sums.clear()
            self._sums[index] = found
        return found

    def _leading(self, features: Integers, scores: Floats) -> Integers:
        """Of features of one class, those that count: the best of each group."""
        if self._groups is None:
            return features
        order = np.lexsort((-scores[features], self._groups[features]))
        of = self._groups[features[order]]
        return features[order[np.concatenate([[True], of[1:] != of[:-1]])]] if features.size else features

    def _fixed(self, state: State, index: int) -> State:
        """Decide every feature whose other value multipliers exclude; only where the counts are settled."""
        require(state.one_count, "features are fixed where the counts are not settled")
        free = self._available(state)
        if (state.low < state.n_in).any() or (state.low > state.n_in + free).any():
            return replace(state, void=True)  # the counts cannot be reached any more
        inside, out = self._forced(state, index)
        return self._decided(state, out=out, into=inside)

    def _available(self, state: State) -> Integers:
        """How many features of each class may still come in."""
        of = self._problem.feature_classes[state.free]
        if self._groups is None:
            return np.bincount(of, minlength=state.low.size)
        groups = [np.unique(self._groups[state.free[of == cls]]).size for cls in range(state.low.size)]
        return np.array(groups)

    def _forced(self, state: State, index: int) -> tuple[Integers, Integers]:
        scores, error = self._evaluated(index)
        multipliers = self._multipliers(index)
        pull = self._problem.comparisons.pull(multipliers)
        value = -self._offset(multipliers)
        of = self._problem.feature_classes[state.free]
        tops: list[tuple[Integers, Bools, Floats]] = []
        for cls, n in enumerate(state.low):
            members, left = state.free[of == cls], int(n - state.n_in[cls])
            leading = self._leading(members, scores)
            leading = leading[np.argsort(-scores[leading], kind="stable")]
            chosen = np.isin(members, leading[:left])
            already = float(pull[:, cls] @ state.sums[:, cls])
            value += (already + float(scores[members[chosen]].sum())) / int(n)
            # Taking one of the chosen out lets the next one in; putting another in drives the last one out. Where there
            # is no next or last one, the count leaves no choice.
            first_out = np.full(members.size, scores[leading[left]] if left < leading.size else -np.inf)
            last_in = np.full(members.size, scores[leading[left - 1]] if left > 0 else np.inf)
            if self._groups is not None:
                self._within_groups(members, scores, chosen, first_out, last_in)
            loss = np.where(chosen, scores[members] - first_out, last_in - scores[members]) / int(n)
            tops.append((members, chosen, loss))
        inside, out = [], []
        for members, chosen, loss in tops:
            forced = value - loss <= -2 * error
            inside.append(members[forced & chosen])
            out.append(members[forced & ~chosen])
        return np.concatenate(inside), np.concatenate(out)

    def _within_groups(
        self, members: Integers, scores: Floats, chosen: Bools, first_out: Floats, last_in: Floats
    ) -> None:
        """Another of its group may take the place of a chosen feature; if it is put in, that one goes."""
        assert self._groups is not None
        for place in np.flatnonzero(chosen):
            mates = np.flatnonzero(self._groups[members] == self._groups[members[place]])
            last_in[mates] = scores[members[place]]
            others = scores[members[mates[mates != place]]]
            first_out[place] = max(first_out[place], others.max(initial=-np.inf))

    def _require_all_below(self, state: State) -> None:
        """At most two features are missing: no panel that has them has a worst margin above the bound."""
        problem, panel = self._problem, self._panel
        plain = panel is not None and panel.caps is None and not (panel.offset and problem.n_classes > 2)
        require(plain, "only panels by their worst margin, with offsets of two classes, are looked at one by one")
        missing = state.low - state.n_in
        if state.void or state.empty or (missing < 0).any():
            return
        wanted, of = np.repeat(np.arange(missing.size), missing), problem.feature_classes[state.free]
        require(state.one_count and wanted.size <= 2, "more than two features are missing where all are looked at")
        first, last = (wanted[0], wanted[-1]) if wanted.size else (0, 0)
        columns = problem.columns(state.free[of == last]) if wanted.size else np.zeros((problem.n_samples, 1))
        one = problem.columns(state.free[of == first]) if wanted.size == 2 else np.zeros((problem.n_samples, 1))
        limit = self._level - float(problem.margin_errors.max())
        for place, column in enumerate(one.T):
            sums = state.sums.copy()
            sums[:, first] += column
            among = columns[:, place + 1 :] if wanted.size == 2 and first == last else columns
            by_class = np.full((problem.n_classes, among.shape[1]), np.inf)
            for sample, own in enumerate(problem.labels):
                means = np.repeat(sums[sample][:, None], among.shape[1], axis=1)
                means[last] += among[sample]
                means /= state.low[:, None]
                asked = problem.comparisons
                for compared, factor in zip(asked.other[sample], asked.factor[sample], strict=True):
                    np.minimum(by_class[own], means[own] - factor * means[compared], out=by_class[own])
            # The best offset makes the worst margins of two classes equal: half of their sum is what they come to.
            worst = by_class.mean(axis=0) if panel is not None and panel.offset else by_class.min(axis=0)
            if self._groups is not None and wanted.size == 2:
                others = state.free[of == last][-among.shape[1] :] if among.shape[1] else state.free[:0]
                worst[self._groups[others] == self._groups[state.free[of == first][place]]] = -np.inf
            require(bool((worst <= limit).all()), "a panel among all that are looked at exceeds the bound")

    def _require_inconsistent(self, state: State) -> None:
        """The counts leave one selection; it is not consistent in exact arithmetic, or its objective is in bounds."""
        if state.void or state.empty:
            return
        support = np.zeros(self._problem.n_features, dtype=np.bool_)
        support[state.inside] = True
        of = self._problem.feature_classes[state.free]
        for cls, n in enumerate(state.low):
            rest, missing = state.free[of == cls], int(n - state.n_in[cls])
            require(state.one_count and missing in (0, rest.size), "a leaf leaves more than one selection")
            support[rest] = missing > 0
        if self._panel is not None:
            single = not self._panel.offset or not self._panel.admits(support)
            require(single, "with offsets a single panel takes multipliers, too")
            excluded = self._panel.ceiling(support) <= self._level
        elif self._problem.soft:
            excluded = self._problem.objective_ceiling(support) <= self._objective_bound
        else:
            excluded = not self._problem.is_consistent(support)
        require(excluded, "a selection that is called inconsistent is not")
