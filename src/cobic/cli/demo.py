"""Make synthetic expression data with planted errors, select features, classify held-out samples.

example: cobic demo --seed 3
"""

import argparse
from collections import Counter
from typing import Any

import numpy as np

from cobic.answer.model import Model
from cobic.cli import common
from cobic.datasets import make_expression
from cobic.methods import solve


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common.add_method_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Make data, select, classify, tell."""
    options = common.solve_options(arguments)
    data = make_expression(seed=arguments.seed)
    problem = data.problem()
    everything = np.ones(problem.n_features, dtype=np.bool_)
    misread = int((problem.margins(everything) <= 0).sum())
    sizes = ", ".join(f"{cls}: {size}" for cls, size in data.class_sizes.items())
    print(f"Data: {data.source}: {problem.n_samples} samples ({sizes}) × {problem.n_features} features.")
    print(f"With all features, {misread} of {problem.n_samples} training samples are given a wrong class.")
    with common.live_progress("selecting") as on_progress:
        result = solve(problem, on_progress=on_progress, **options)
    print(common.describe(problem, result))
    if result.consistent and data.feature_kinds is not None and data.test is not None and data.test.y is not None:
        _print_dropped(np.array(data.feature_kinds), result.support)
        wrong = int((Model.of(problem, result).predict(data.test.X) != data.test.y).sum())
        print(
            f"Held-out samples classified by the kept features: {data.test.y.size - wrong} of {data.test.y.size} right."
        )
    return common.exit_code(result)


def _print_dropped(kinds: np.ndarray[Any, np.dtype[np.str_]], support: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
    planted, dropped = Counter(kinds.tolist()), Counter(kinds[~support].tolist())
    print()
    print(f"  {'planted as':<14}{'features':>10}{'dropped':>10}")
    for kind in ("informative", "plain", "noisy", "contaminated"):
        print(f"  {kind:<14}{planted[kind]:>10}{dropped[kind]:>10}")
    print()
