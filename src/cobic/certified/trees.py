"""A proof that no selection has some counts: a tree over features, each leaf closed by multipliers.

Branching on fractional features, most effective first (strong branching: both children of a candidate are solved before
one is chosen), either meets a selection with positive margins or closes every leaf.
"""

from dataclasses import dataclass

import numpy as np

from cobic.certified.fixing import FREE, IN, OUT, Values
from cobic.certified.node_program import NodeProgram
from cobic.certified.proof import Close, Fix, Multipliers, Single, SplitFeature, Step
from cobic.matrix import Floats, Integers
from cobic.search.lp import BranchingLp

FRACTIONAL = 1e-6  # away from 0 and 1: less is the tolerance of the solver
_LEAST_COST = 1e-6  # of the margin: a child that costs nothing must not make the product of both nothing
_NOT_ZERO = 1e-300  # the same for products of what is expected


class Tree:
    """The tree at one count vector; `Found` is raised when a selection is met, `GivenUp` when the effort is spent."""

    def __init__(self, program: NodeProgram, proof: list[Multipliers]) -> None:
        self._program, self._restriction, self._proof = program, program.restriction, proof
        self._costs = _BranchingCosts(program.restriction.features.size)

    def steps(self, root: Integers, *, closed: bool) -> list[Step]:
        """The whole proof, from the multipliers of the root on, which may close it already."""
        cut = self._record(root)
        return [Close(cut)] if closed else [Fix(cut), *self._explore(self._restriction.undecided(), 0)]

    def _explore(self, values: Values, depth: int) -> list[Step]:
        """Close a node, of which more and more is decided on the way."""
        before: list[Step] = []
        after: list[Step] = []
        while True:
            best = self._program.solve(values)
            if best == -np.inf:
                return [*before, *self._by_hand(values, depth), *after]
            whole = self._program.multipliers()
            bound = self._restriction.bound(whole, values)
            if bound.closes:
                return [*before, Close(self._record(whole)), *after]
            forced = (values == FREE) & bound.forced
            if forced.any():
                values[forced] = bound.preferred[forced]
                before.append(Fix(self._record(whole)))
            x = self._program.solution(values)
            if best > 0 and self._program.add_violated_rows(x):
                continue
            self._restriction.submit_if_good(self._restriction.rounded(x, values))
            candidates = self._fractional(x, values)
            if candidates.size == 0:
                return [*before, *self._by_hand(values, depth), *after]
            choice = self._strong_branch(candidates, x, values, best, depth)
            before.append(SplitFeature(int(self._restriction.features[choice.place])))
            out, into = choice.closed[OUT], choice.closed[IN]
            if out is not None and into is not None:
                return [*before, Close(out), Close(into), *after]
            if out is not None:
                before.append(Close(out))
                values[choice.place] = IN
            elif into is not None:
                after.insert(0, Close(into))
                values[choice.place] = OUT
            else:
                return [*before, *self._both(choice, values, depth), *after]

    def _both(self, choice: "_Choice", values: Values, depth: int) -> list[Step]:
        """Close both children, the more promising one first."""
        parts: dict[int, list[Step]] = {}
        for value in (IN, OUT) if choice.margins[IN] >= choice.margins[OUT] else (OUT, IN):
            parts[value] = self._explore(_with(values, choice.place, value), depth + 1)
        return [*parts[OUT], *parts[IN]]

    def _by_hand(self, values: Values, depth: int) -> list[Step]:
        """Go on where the linear program has nothing fractional to branch on: one feature after the other."""
        missing = self._restriction.missing(values)
        free = [self._restriction.free_of_class(values, cls) for cls in range(missing.size)]
        if not self._restriction.is_reachable(values):
            return [Close(0)]  # any multipliers close what cannot be reached
        undecided = [cls for cls in range(missing.size) if 0 < missing[cls] < free[cls].size]
        if not undecided:
            chosen = values == IN
            for places, wanted in zip(free, missing, strict=True):
                chosen[places] = wanted > 0
            self._restriction.submit(chosen)
            return [Single()]
        place = int(free[undecided[0]][0])
        steps: list[Step] = [SplitFeature(int(self._restriction.features[place]))]
        for value in (OUT, IN):
            steps += self._explore(_with(values, place, value), depth + 1)
        return steps

    def _fractional(self, x: Floats, values: Values) -> Integers:
        """Free features with a fractional value, those first that proved most effective in the tree so far."""
        away = np.minimum(x, 1.0 - x)
        places = np.flatnonzero((away > FRACTIONAL) & (values == FREE))
        return places[np.lexsort((places, -self._costs.estimate(places, x[places])))]

    def _strong_branch(self, candidates: Integers, x: Floats, values: Values, best: float, depth: int) -> "_Choice":
        """Try both values of the candidates; the first that closes a child, else the one that costs most."""
        chosen: _Choice | None = None
        score, fruitless = -np.inf, 0
        lp, basis = self._program.lp, self._program.lp.basis()
        for place in candidates.tolist():
            if lp is not self._program.lp:  # features became active meanwhile: an old basis no longer fits
                self._program.solve(values)
                lp, basis = self._program.lp, self._program.lp.basis()
            choice = self._children(place, values, lp, basis)
            costs = [max(best - choice.margins[value], _LEAST_COST * best) for value in (OUT, IN)]
            self._costs.learn(place, float(x[place]), costs)
            if choice.closed[OUT] is not None or choice.closed[IN] is not None:
                return choice
            if costs[OUT] * costs[IN] > score:
                chosen, score, fruitless = choice, costs[OUT] * costs[IN], 0
            else:
                fruitless += 1
                if fruitless >= self._program.effort.fruitless and depth > self._program.effort.thorough_depth:
                    break
        assert chosen is not None, "there is nothing to branch on"
        return chosen

    def _children(self, place: int, values: Values, lp: BranchingLp, basis: object) -> "_Choice":
        """Solve both children of a candidate, and close those that can be closed."""
        choice = _Choice(place, [0.0, 0.0], [None, None])
        for value in (OUT, IN):
            child = _with(values, place, value)
            if lp is self._program.lp:
                lp.restart(basis)
            choice.margins[value] = self._program.solve(child)
            if choice.margins[value] <= 0:
                choice.closed[value] = self._closing(child, solved=choice.margins[value] > -np.inf)
        return choice

    def _closing(self, values: Values, *, solved: bool) -> int | None:
        """Multipliers that close a node, if those of its program do; any close what cannot be reached."""
        if not self._restriction.is_reachable(values):
            return 0
        if not solved:
            return None
        whole = self._program.multipliers()
        return self._record(whole) if self._restriction.bound(whole, values).closes else None

    def _record(self, whole: Integers) -> int:
        """Take multipliers into the proof."""
        self._proof.append(Multipliers.of(whole, 0.0))
        return len(self._proof) - 1


def _with(values: Values, place: int, value: int) -> Values:
    """A child: one more feature is decided."""
    child = values.copy()
    child[place] = value
    return child


@dataclass
class _Choice:
    """A feature to branch on: what is left of the margin in each child, and the multipliers that close it, if any."""

    place: int
    margins: list[float]
    closed: list[int | None]


class _BranchingCosts:
    """How much branching on each feature has cost so far, per unit of its distance to the value it was given."""

    def __init__(self, size: int) -> None:
        self._total = np.zeros((2, size))
        self._times = np.zeros((2, size))

    def learn(self, place: int, x: float, costs: list[float]) -> None:
        for value, distance in ((OUT, x), (IN, 1.0 - x)):
            if np.isfinite(costs[value]):
                self._total[value, place] += costs[value] / max(distance, FRACTIONAL)
                self._times[value, place] += 1

    def estimate(self, places: Integers, x: Floats) -> Floats:
        """Product of the expected costs of both values; features never tried count as average ones."""
        average = self._total.sum(axis=1) / np.maximum(self._times.sum(axis=1), 1)
        average[self._times.sum(axis=1) == 0] = 1.0
        tried = self._times[:, places]
        cost = np.where(tried > 0, self._total[:, places] / np.maximum(tried, 1), average[:, None])
        product: Floats = np.maximum(cost[OUT] * x, _NOT_ZERO) * np.maximum(cost[IN] * (1.0 - x), _NOT_ZERO)
        return product
