"""The relaxation of a panel where comparisons are many: the bundle method in place of linear programs.

The multipliers of a tail margin add up to 1, those of a sample to at most its cap (:mod:`cobic.certified.tails`).
"""

from dataclasses import replace

import numpy as np

from cobic.certified.bounds import Cut
from cobic.certified.bundle import Bundle
from cobic.certified.effort import Effort
from cobic.certified.panel_relaxation import PanelRoot, bound_at
from cobic.certified.tails import TailPieces
from cobic.matrix import Integers
from cobic.problem import PanelProblem
from cobic.search.budget import Budget


class PanelLooks:
    """Relaxations by looks at the data, at one count vector after another."""

    def __init__(self, panel: PanelProblem, budget: Budget, effort: Effort) -> None:
        self._panel, self._effort, self._budget = panel, effort, budget
        # Few features are chosen, of those with the best scores: a small window holds all that may be.
        narrow = replace(effort, window_part=effort.panel_window_part)
        self._bundle = Bundle(
            panel.problem, budget, narrow, TailPieces(panel.problem, narrow, panel.caps, panel.tail_of)
        )

    def start_from(self, multipliers: Integers) -> None:
        """Begin with some multipliers."""
        self._bundle.start_from(multipliers)

    def at(self, counts: Integers) -> tuple[PanelRoot, bool] | None:
        """Some looks at some counts: the best multipliers so far, and whether there is more to gain; None: no time."""
        looks, close = 0, False

        def enough(value: float, model: float, _effect: float) -> bool:
            nonlocal looks, close
            looks, close = looks + 1, value - model <= self._effort.panel_close * abs(value)
            return close or looks > self._effort.looks_at_a_time

        relaxed = self._bundle.minimise(counts, counts, enough)
        if relaxed is None:
            return None
        cut, x = Cut(self._panel.problem, relaxed.cut.multipliers, counts, groups=self._panel.groups), relaxed.mixture.x
        x[self._panel.problem.required] = 0.0
        features = np.flatnonzero(x > 0)
        return PanelRoot(cut, bound_at(self._panel, cut, counts), features, x[features]), not close
