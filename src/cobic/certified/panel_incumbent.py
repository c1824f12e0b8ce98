"""The best panel so far, with its offsets where there are any."""

import numpy as np

from cobic.certified.panel_offsets import fitted_offsets
from cobic.matrix import Bools, Floats
from cobic.problem import PanelProblem
from cobic.search.budget import Budget

_SAME = 1e-7  # of a tail margin: panels that are better by less are not looked for


class PanelIncumbent:
    """The best panel so far."""

    def __init__(self, panel: PanelProblem, budget: Budget) -> None:
        self._panel, self._budget = panel, budget
        self.support: Bools | None = None
        self.offsets: Floats | None = None
        self.tail_margin = self.ceiling = -np.inf

    @property
    def level(self) -> float:
        """What a panel must exceed to be looked for."""
        return self.ceiling + _SAME * abs(self.ceiling) if self.support is not None else -2 * self._panel.largest_margin

    def offer(self, support: Bools) -> bool:
        """Take a panel if it is better; tell whether it is."""
        panel, offsets = self._panel, None
        if not panel.admits(support):
            return False
        if panel.offset:
            margins = panel.problem.comparisons.margins(panel.problem.means(support))
            offsets = fitted_offsets(panel, margins)
        value = panel.tail_margin(support, offsets)
        if not value > self.tail_margin:
            return False
        self.support, self.offsets = support.copy(), offsets
        self.tail_margin, self.ceiling = value, panel.ceiling(support, offsets)
        self._budget.report(n_selected=self._panel.total, objective=value)
        return True
