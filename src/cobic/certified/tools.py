"""What a search over the selections of one problem works with."""

import numpy as np

from cobic.certified.explorer import Explorer
from cobic.certified.feature_search import FeatureSearch
from cobic.certified.proof import Multipliers
from cobic.certified.selections import Selections
from cobic.certified.standing import Standing
from cobic.certified.totals import Totals
from cobic.problem import Problem


class Tools:
    """Relaxations, decisions on features, selections and totals, which hold each other."""

    def __init__(
        self, problem: Problem, standing: Standing, proof: list[Multipliers], rng: np.random.Generator
    ) -> None:
        self.standing, self.proof, self.rng = standing, proof, rng
        self.explorer = Explorer(problem, standing.budget, standing.effort)
        self.features = FeatureSearch(self.explorer.programs, standing.incumbent, proof)
        self.selections = Selections(self.explorer, standing, self.features, rng)
        self.totals = Totals(self.explorer, standing, self.selections)
