"""What a user's typed script may rely on: `mypy --strict` checks it against the installed package (.ci/release)."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import cobic


def best_features(values: NDArray[np.float64], classes: list[str]) -> list[str]:
    panel = cobic.panel(values, classes, size=6, transform="log2", floor=20)
    assert_type(panel, cobic.Panel)
    assert_type(panel.tail_margin, float)
    assert_type(cobic.verify(panel.problem, panel.certificate).ok, bool)
    return [str(name) for name in panel.features]


def how_many(values: NDArray[np.float64], classes: list[str]) -> int:
    problem = cobic.Problem(values, classes, alpha=10.0)
    result = cobic.solve(problem, time_limit=5.0)
    assert_type(result.gap, float)
    assert_type(result.support, NDArray[np.bool_])
    cobic.Model.of(problem, result).save("model.json")
    return result.n_selected


def mistakes(problem: cobic.Problem) -> None:
    cobic.solve(problem, seed="zero")  # type: ignore[arg-type]
    cobic.Problem([[1.0]], ["A"], ties="last")  # type: ignore[arg-type]
    problem.marginz()  # type: ignore[attr-defined]
