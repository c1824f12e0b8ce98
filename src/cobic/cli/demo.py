"""Make synthetic expression data with planted errors, choose a panel, select features, classify held-out samples.

example: cobic demo --seed 3
"""

import argparse
from collections import Counter
from typing import Any

import numpy as np

from cobic.analyses.panel import panel
from cobic.answer.model import Model
from cobic.answer.panel_words import panel_lines
from cobic.cli import common
from cobic.datasets import make_expression
from cobic.methods import solve
from cobic.problem.dataset import Dataset

_FEW = 6  # features that a laboratory can measure: the best so many are proven to be the best in less than a second
_FLOOR = 20.0  # intensities below are noise


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common.add_method_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Make data, answer both questions, tell."""
    options = common.solve_options(arguments)
    data = make_expression(seed=arguments.seed)
    sizes = ", ".join(f"{cls}: {size}" for cls, size in data.class_sizes.items())
    print(f"Data: {data.source}: {data.X.shape[0]} samples ({sizes}) × {data.X.shape[1]} features.")
    _few(data, options["time_limit"])
    return _most(data, options)


def _few(data: Dataset, time_limit: float | None) -> None:
    """The panel."""
    print()
    print(f"Which {_FEW} features separate the classes best? (on log2 of the values, with a floor of {_FLOOR:g})")
    problem = data.problem(transform="log2", floor=_FLOOR)
    with common.live_progress("choosing", time_limit) as on_progress:
        found = panel(problem, size=_FEW, time_limit=time_limit, on_progress=on_progress)
    if found.support.any():
        common.print_table(found.table)
        print(panel_lines(found))
        _print_held_out(data, found.model, "panel")


def _most(data: Dataset, options: dict[str, Any]) -> int:
    """The largest consistent selection."""
    print()
    print("How many features can be kept such that the class of each sample can still be read back?")
    problem = data.problem()
    everything = np.ones(problem.n_features, dtype=np.bool_)
    misread = int((problem.margins(everything) <= 0).sum())
    print(f"With all features, {misread} of {problem.n_samples} training samples are given a wrong class.")
    with common.live_progress("selecting", options["time_limit"]) as on_progress:
        result = solve(problem, on_progress=on_progress, **options)
    print(common.describe(problem, result))
    if result.consistent and data.feature_kinds is not None:
        _print_dropped(np.array(data.feature_kinds), result.support)
        _print_held_out(data, Model.of(problem, result), "kept features")
    return common.exit_code(result)


def _print_held_out(data: Dataset, model: Model, by: str) -> None:
    if data.test is not None and data.test.y is not None:
        right = int((model.predict(data.test.X) == data.test.y).sum())
        print(f"Held-out samples classified by the {by}: {right} of {data.test.y.size} right.")


def _print_dropped(kinds: np.ndarray[Any, np.dtype[np.str_]], support: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
    planted, dropped = Counter(kinds.tolist()), Counter(kinds[~support].tolist())
    print()
    print(f"  {'planted as':<14}{'features':>10}{'dropped':>10}")
    for kind in ("informative", "plain", "noisy", "contaminated"):
        print(f"  {kind:<14}{planted[kind]:>10}{dropped[kind]:>10}")
    print()
