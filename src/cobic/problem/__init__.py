"""What is asked: samples with classes, features, margins, constraints; and exact answers about single selections."""

from cobic.problem.arguments import frame_names
from cobic.problem.panel import PanelProblem
from cobic.problem.problem import BetaRule, Problem, Ties

__all__ = ["BetaRule", "PanelProblem", "Problem", "Ties", "frame_names"]
