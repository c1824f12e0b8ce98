"""Questions that take many answers: how far a margin goes, which features stay, how the published tables come out."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from numpy.typing import ArrayLike

from cobic.answer.steps import Steps
from cobic.errors import InputError
from cobic.problem import Problem
from cobic.search.parallel import side_by_side


def problem_of(
    X: Any, y: ArrayLike | None, alpha: ArrayLike | None, beta: ArrayLike | None, choices: dict[str, Any]
) -> Problem:
    """The problem of some data; or the one given in their place, which has its own classes, margins and choices."""
    margins: dict[str, Any] = {name: value for name, value in (("alpha", alpha), ("beta", beta)) if value is not None}
    if isinstance(X, Problem):
        given = [*(["y"] if y is not None else []), *margins, *choices]
        if given:
            message = f"a Problem is given, and {', '.join(given)} beside it: it has its own, leave them out"
            raise InputError(message)
        return X
    if y is None:
        message = "y is missing: give the class of each sample, or a Problem in place of X"
        raise InputError(message)
    return Problem(X, y, **margins, **choices)


def step_by_step(
    function: Callable[..., Any],
    shared: Any,
    tasks: Mapping[str, tuple[Any, ...]],
    asked: Mapping[str, Any],
    steps: Steps,
    n_jobs: int | None,
) -> Iterator[dict[str, Any]]:
    """The answers so far of tasks that run side by side: those that were kept before, and then one more at a time."""
    answers = {name: kept for name in tasks if (kept := steps.recall(name, asked[name])) is not None}
    yield answers
    left = {name: task for name, task in tasks.items() if name not in answers}
    for name, answer in side_by_side(function, shared, left, n_jobs):
        answers[name] = answer
        steps.keep(name, asked[name], answer)
        yield answers
