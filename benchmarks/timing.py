"""Timing on a noisy machine: the best of several repetitions, the processor's time, and how times grow."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

import cobic
from cobic.search import budget

_LEAST_POINTS = 3  # through two, every growth is a power


def best_of(repetitions: int, action: Callable[[], Any]) -> tuple[float, Any]:
    """Shortest wall-clock time of an action, and its last answer."""
    times, answer = [], None
    for _ in range(repetitions):
        started = time.perf_counter()
        answer = action()
        times.append(time.perf_counter() - started)
    return min(times), answer


@contextmanager
def processor_time() -> Iterator[None]:
    """Let every limit of seconds in cobic be one of the processor's."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(budget, "time", SimpleNamespace(time=time.process_time)))
        stack.enter_context(patch.dict(budget.Budget.__init__.__kwdefaults__, clock=time.process_time))
        yield


def exponent(points: list[tuple[float, float]]) -> float | None:
    """Slope of log time against log size over points (size, time); None if they are too few to say."""
    if len(points) < _LEAST_POINTS:
        return None
    sizes, seconds = np.log(np.array(points, dtype=float).T)
    return float(np.polyfit(sizes, seconds, 1)[0])


def data_sets() -> dict[str, cobic.Dataset]:
    """The data that are at hand: the synthetic set always, Golub and Notterman if COBIC_DATA has them."""
    sets = {"synthetic": cobic.datasets.make_expression(seed=0)}
    if os.environ.get("COBIC_DATA"):
        sets |= {"golub": cobic.datasets.load_golub(), "notterman": cobic.datasets.load_notterman()}
    return sets
