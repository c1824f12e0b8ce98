"""What a report tells: the answer, and what else is known about it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from cobic.answer.curve import Curve
from cobic.answer.effects import effect_table
from cobic.answer.folder import Answer
from cobic.answer.panel_folder import PanelAnswer
from cobic.matrix import Integers
from cobic.problem import Problem
from cobic.problem.dataset import Dataset
from cobic.report.views import Harm, Heatmap, TopFeatures, harm_view, heatmap_view, top_view

MAX_TABLE = 60_000  # more features are in selection.csv only


@dataclass(frozen=True, eq=False)
class Names:
    """A name for everything in a problem."""

    problem: Problem

    @cached_property
    def features(self) -> list[str]:
        """A name for every feature."""
        return [str(name) for name in self.problem.feature_names or range(self.problem.n_features)]

    @cached_property
    def samples(self) -> list[str]:
        """A name for every sample."""
        return [str(name) for name in self.problem.sample_names or range(self.problem.n_samples)]

    @cached_property
    def classes(self) -> list[str]:
        """The names of the classes, and an empty one for the index -1."""
        return [*(str(cls) for cls in self.problem.classes), ""]

    def class_of(self, sample: Any) -> str:
        """The name of a sample's class."""
        return self.classes[int(self.problem.labels[sample])]


@dataclass(frozen=True, eq=False)
class Story(Answer):
    """What the report of a selection tells."""

    new: Dataset | None = None  # new samples, with or without classes
    curve: Curve | None = None  # the path

    @cached_property
    def names(self) -> Names:
        """How everything is called."""
        return Names(self.problem)

    @property
    def has_selection(self) -> bool:
        """Whether every class has a selected feature, so that margins exist."""
        return all(self.result.counts)

    @cached_property
    def heatmap(self) -> Heatmap:
        """What the heatmap shows."""
        return heatmap_view(self.problem, self.result)

    @cached_property
    def effects(self) -> pd.DataFrame:
        """What describes each feature."""
        return effect_table(self.problem)

    @cached_property
    def top(self) -> TopFeatures:
        """The best features: by the margin that they survive where there is a path, else by their t."""
        merit = self.effects["t"].to_numpy() if self.curve is None else -self.curve.rank
        return top_view(self.problem, self.result, self.heatmap, merit)

    @cached_property
    def harm(self) -> Harm:
        """What the dropped features would do."""
        return harm_view(self.problem, self.result)

    @property
    def listed(self) -> Integers:
        """The features of the table: all, or those of the heatmap where there are too many."""
        everything = np.arange(self.problem.n_features)
        return everything if everything.size <= MAX_TABLE else np.sort(self.heatmap.features)


@dataclass(frozen=True, eq=False)
class PanelStory(PanelAnswer):
    """What the report of a panel tells."""

    new: Dataset | None = None  # new samples, with or without classes
    frontier: pd.DataFrame | None = None  # one row per size

    @cached_property
    def names(self) -> Names:
        """How everything is called."""
        return Names(self.problem)

    @property
    def has_panel(self) -> bool:
        """Whether a panel was found."""
        return bool(self.panel.support.any())
