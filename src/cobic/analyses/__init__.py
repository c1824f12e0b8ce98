"""Questions that take many answers: how far a margin goes, which features stay, how the published tables come out."""

from typing import Any

from numpy.typing import ArrayLike

from cobic.errors import InputError
from cobic.problem import Problem


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
