"""The search for the proven optimum: selections and bound close in on each other, with growing effort.

A rough bound comes first (:mod:`cobic.certified.approach`). Totals between the best selection and the bound are then
bisected by success: at the most promising counts of a total (:mod:`cobic.certified.explorer`) the relaxation is
solved, rounded and mended (:mod:`cobic.certified.selections`). Then the bound is lowered: by multipliers
(:mod:`cobic.certified.totals`), and where these leave a few counts open, by deciding on features
(:mod:`cobic.certified.emptiness`). What fails is tried again with more effort, until the two meet, or are as close as
was asked for, or more effort has brought nothing for long (:mod:`cobic.certified.standing`).
"""

from typing import Any

import numpy as np

from cobic.certified.approach import Approach, bound_of_part
from cobic.certified.certificate import make_certificate
from cobic.certified.coarse import Beginning, everything
from cobic.certified.emptiness import Emptiness
from cobic.certified.proof import Multipliers, OrMore, Step
from cobic.certified.standing import Standing
from cobic.certified.tools import Tools
from cobic.problem import Problem


class CertifiedSearch:
    """Brings the largest selection and the proven bound together."""

    def __init__(self, problem: Problem, standing: Standing, rng: np.random.Generator) -> None:
        self._problem, self.standing, self._effort = problem, standing, standing.effort
        self._proof: list[Multipliers] = []
        tools = Tools(problem, self.standing, self._proof, rng)
        self._explorer, self._totals, self._selections = tools.explorer, tools.totals, tools.selections
        self._emptiness = Emptiness(tools)

    def run(self, beginning: Beginning | None = None) -> None:
        """Search."""
        standing, effort = self.standing, self._effort
        self._begin(beginning or bound_of_part(self._problem, standing.budget, effort) or everything(self._problem))
        rounds = effort.rounds_of_few if standing.has_few_features else effort.rounds
        for stage in range(rounds):
            if standing.is_spent():
                return
            if stage == 0:
                self._close_in()
            before = standing.n_selected
            self._selections.rise(stage)
            if standing.is_wide and standing.n_selected > before:
                continue  # more selections are worth more than a bound that is lower by a unit
            units = effort.units << stage
            too_few = standing.upper_bound - standing.floor > units and stage + 1 < rounds
            if too_few and not self._explorer.bundle.is_small:
                continue  # so many units would not do, and each takes seconds
            for _ in range(units):
                if standing.is_spent() or not self._emptiness.lower_bound(stage):
                    break

    def _begin(self, beginning: Beginning) -> None:
        """A rough bound, and some selection."""
        Approach(self._explorer, self.standing, self._totals, self._selections).run(beginning)
        if not self.standing.has_selection and self.standing.upper_bound:
            self._selections.find_first()

    def _close_in(self) -> None:
        """The bound and selections in turn, where features are many roughly at first, then more and more closely."""
        standing, effort, closeness = self.standing, self._effort, self._effort.rough
        if standing.has_selection and not standing.is_wide and not self._explorer.bundle.is_small:
            self._selections.rise(0, closeness)  # below a bound that is too rough it would try too much in vain
        while not standing.is_spent():
            middle = (standing.floor + standing.upper_bound) // 2
            self._totals.find_bound(min(middle, self._explorer.reached + int(closeness * middle)), closeness)
            if closeness <= effort.close:
                return
            many = closeness * standing.upper_bound > effort.many_totals
            self._selections.rise(0, closeness if many else effort.closer * closeness)
            closeness = max(closeness * effort.closer, effort.close) if many else effort.close

    def certificate(self) -> dict[str, Any]:
        """The proof of the present bound: a tree for each total above it, the last for all that are larger, too."""
        tree: list[Step] = []
        for total in range(max(self.standing.upper_bound + 1, self.standing.smallest), self._problem.n_selectable + 1):
            exclusion = self._totals.exclusion(total, first_cut=len(self._proof))
            if exclusion is not None:
                tree += [OrMore(), *exclusion]
                break
            tree += self._emptiness.of(total)
        cuts = [*self._proof, *(cut.proof for cut in self._explorer.brancher.cuts)]
        incumbent = self.standing.incumbent
        return make_certificate(self._problem, incumbent.support, self.standing.upper_bound, cuts, tree)
