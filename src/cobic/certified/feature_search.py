"""Selections at fixed counts: found by dives, or proven not to exist by trees.

At an open point the relaxation has a fractional selection with positive margins. Only few features are in question:
those whose other value would not already push the bound v to zero, or, for a dive, those next to the thresholds.
"""

import numpy as np

from cobic.certified.bundle import Relaxed
from cobic.certified.fixing import FREE, IN, OUT, Values
from cobic.certified.node_program import NodeProgram
from cobic.certified.programs import FeaturePrograms
from cobic.certified.proof import Multipliers, Step
from cobic.certified.restriction import Found, FreeFeatures, GivenUp, Restriction, in_question, near_thresholds
from cobic.certified.swaps import Swaps
from cobic.certified.trees import FRACTIONAL, Tree
from cobic.matrix import Bools, Floats
from cobic.search.budget import Incumbent


class FeatureSearch:
    """Decides on features at one count vector after another."""

    def __init__(self, programs: FeaturePrograms, incumbent: Incumbent, proof: list[Multipliers]) -> None:
        self._programs, self._incumbent, self._proof = programs, incumbent, proof

    def close(self, point: Relaxed, allowed: int) -> list[Step] | None:
        """Prove by so many programs that no selection has some counts; None if one was found, or they are spent."""
        free, closed = in_question(self._programs.problem, point)
        try:
            program = self._program(point, free, allowed, self._programs.effort.active)
            return Tree(program, self._proof).steps(point.cut.multipliers, closed=closed)
        except (Found, GivenUp):
            return None

    def dive(self, point: Relaxed, base: Bools, size: int, allowed: int, stage: int, rng: np.random.Generator) -> bool:
        """Look for a selection with the counts of an open point: one path down, by chance a little different."""
        free = near_thresholds(self._programs.window, point, base, size)
        try:
            _Dive(self._program(point, free, allowed, None), rng).run(stage)
        except Found:
            return True
        except GivenUp:
            pass
        return False

    def _program(self, point: Relaxed, free: FreeFeatures, allowed: int, active: int | None) -> NodeProgram:
        """The program of a tree or a dive, unless it would gather too much."""
        if free.features.size * point.margins.size > self._programs.effort.tree_cells:
            raise GivenUp
        restriction = Restriction(self._programs, point.counts, free, self._incumbent)
        return NodeProgram(restriction, self._programs, point, allowed, active)


class _Dive:
    """One path down: features are decided one by one, each the way that keeps more margin."""

    def __init__(self, program: NodeProgram, rng: np.random.Generator) -> None:
        self._program, self._restriction, self._effort, self._rng = program, program.restriction, program.effort, rng

    def run(self, stage: int) -> None:
        """Those with the largest effect come first.

        When those that do far more than others are decided, exchanges of the others come first: they can mend the rest.
        """
        values, size = self._restriction.undecided(), self._restriction.sizes()
        giant, exchanged = self._effort.giant * float(np.median(size)) if size.size else 0.0, False
        while self._program.solve(values) > 0:
            x = self._program.solution(values)
            if self._program.add_violated_rows(x):
                continue
            bound = self._restriction.bound(self._program.multipliers(), values)
            if not bound.closes:
                forced = (values == FREE) & bound.forced
                values[forced] = bound.preferred[forced]
            self._restriction.submit_if_good(self._restriction.rounded(x, values))
            away = np.minimum(x, 1.0 - x)
            places = np.flatnonzero((away > FRACTIONAL) & (values == FREE))
            if places.size == 0:
                return
            chance = 1.0 + self._effort.dive_chance * self._rng.random(places.size)
            place = places[np.argmax(size[places] * away[places] * chance)]
            if size[place] <= giant and not exchanged:
                exchanged = True
                self._exchange(x, values, stage)
            margins = []
            for value in (OUT, IN):
                values[place] = value
                margins.append(self._program.solve(values))
            values[place] = IN if margins[IN] >= margins[OUT] else OUT

    def _exchange(self, x: Floats, values: Values, stage: int) -> None:
        """Round a solution and look for a selection by exchanges of features that are free."""
        restriction, most = self._restriction, self._effort.exchanged
        rounded, free = restriction.rounded(x, values), np.flatnonzero(values == FREE)
        if free.size > most:
            away = np.minimum(x[free], 1.0 - x[free])
            free = np.sort(free[np.lexsort((restriction.free.losses[free], away <= FRACTIONAL))[:most]])
        margins, classes = restriction.margins(rounded) - restriction.safe, restriction.classes[free]
        effects = restriction.effects[free] / restriction.counts[classes][:, None]
        found = Swaps(effects, classes, rounded[free], margins, self._effort).cool(self._rng, stage)
        if found is not None:
            rounded[free] = found
            restriction.submit_if_good(rounded)
