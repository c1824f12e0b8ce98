"""From fractional panels to better ones: rounded, mended by exchanges, and once more from places near the best."""

from collections.abc import Callable

import numpy as np

from cobic.certified.effort import Effort
from cobic.certified.fixing import IN, NodeBound, Values
from cobic.certified.looks import largest
from cobic.certified.panel_incumbent import PanelIncumbent
from cobic.certified.panel_relaxation import Arena, PanelRoot, losses_at
from cobic.certified.panel_rounding import rounded
from cobic.certified.panel_swaps import PanelSwaps
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import PanelProblem
from cobic.search.budget import Budget


class PanelClimbs:
    """Offers panels to the incumbent, until it is told that these are good enough."""

    def __init__(
        self,
        panel: PanelProblem,
        incumbent: PanelIncumbent,
        budget: Budget,
        effort: Effort,
        seed: int,
        good_enough: Callable[[], bool],
    ) -> None:
        self._panel, self._incumbent, self._budget, self._effort = panel, incumbent, budget, effort
        self._rng, self._good_enough = np.random.default_rng(seed), good_enough

    def from_root(self, counts: Integers, root: PanelRoot, kicks: int = 0) -> None:
        """The panels that a relaxation over all features leads to."""
        problem = self._panel.problem
        bound, features = losses_at(self._panel, counts, root.cut, self._incumbent.level)
        tried, x = np.zeros(problem.n_features, dtype=np.bool_), np.zeros(problem.n_features)
        tried[root.features] = root.x > self._effort.no_share
        x[root.features] = root.x
        swapped = self._effort.panel_swap_cells // (problem.n_samples * problem.n_classes)
        swapped = min(self._effort.panel_swapped, swapped)
        for cls, n in enumerate(counts):
            mine = problem.feature_classes[features] == cls
            near = np.where(bound.preferred[mine] == IN, -1.0, bound.losses[mine])
            tried[features[mine][largest(-near, int(n) + swapped)]] = True
        places = np.flatnonzero(tried & ~problem.required)
        arena = Arena(self._panel, counts, places, problem.required, self._budget)
        chosen = rounded(arena, x[places], arena.undecided())
        if chosen is not None:
            self._climb(arena, PanelSwaps(arena, np.arange(places.size), self._effort), chosen, kicks)

    def from_node(self, arena: Arena, x: Floats, bound: NodeBound, values: Values, kicks: int = 0) -> None:
        """The panels that a fractional one of a node leads to, unless it is poor."""
        chosen = rounded(arena, x, values)
        if chosen is None:
            return
        best, held = self._incumbent.tail_margin, np.flatnonzero(chosen)
        value = PanelSwaps(arena, held, self._effort).tail_margin(np.ones(held.size, dtype=np.bool_))
        if value < best - self._effort.panel_poor * abs(best) and not kicks:
            return
        tried = chosen.copy()
        for cls in range(arena.counts.size):
            mine = np.flatnonzero(arena.classes == cls)
            tried[mine[largest(-bound.losses[mine], self._effort.panel_swapped)]] = True
        places = np.flatnonzero(tried)
        self._climb(arena, PanelSwaps(arena, places, self._effort), chosen[places], kicks)

    def _climb(self, arena: Arena, swaps: PanelSwaps, chosen: Bools, kicks: int) -> None:
        """Offer what exchanges make of a panel; if it is the best so far, or so asked, go on from places near it."""
        chosen, value = swaps.climb(chosen)
        if value > self._incumbent.tail_margin:
            kicks = max(kicks, self._effort.panel_first_kicks)
        vain = 0
        while True:
            if value > self._incumbent.tail_margin:
                self.offer(arena.fixed_in, arena.features[swaps.places[chosen]])
            if vain >= kicks or self._good_enough() or self._budget.exhausted():
                return
            found, now = swaps.climb(swaps.elsewhere(chosen, self._rng))
            vain = 0 if now > value else vain + 1
            if now >= value:
                chosen, value = found, now

    def offer(self, fixed_in: Bools, features: Integers) -> None:
        """Offer a panel of some features beside those that are decided."""
        support = fixed_in.copy()
        support[features] = True
        self._incumbent.offer(support)
