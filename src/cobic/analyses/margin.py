"""α in words: a share of the largest that a selection bears, or what cross-validation chooses; and which one to try."""

from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from cobic.analyses.folds import splits_of
from cobic.analyses.path import Path, path
from cobic.analyses.tracing import LEAST, NoPathError, at_margin, rounded_down
from cobic.certified.margins import Kind, LargestMargin, largest_margin
from cobic.errors import InputError
from cobic.matrix import Bools
from cobic.problem import Problem
from cobic.search.budget import Budget

_FOLDS = 5  # of the cross-validation behind "auto", as in :func:`cobic.path`
MARGINS = 6  # that it tries: the rule takes the largest good one, and finer steps are within its error
_PART = 0.5  # of the time, for choosing a margin; the rest is for the fit
_SECONDS = 10.0  # for a margin that is named in a message, where nobody said how long it may take
_NO_TIME = 1e-3  # seconds: a limit must be above 0, and a search then ends at its first look
_DIGITS = 4  # of a margin in a message


class TimeLeft:
    """What is left of a time limit that several searches share, one after the other."""

    def __init__(self, time_limit: float | None) -> None:
        self._budget = Budget(time_limit, None, 0)

    @property
    def seconds(self) -> float | None:
        """Seconds that are left, or next to nothing; None without a limit."""
        return max(self._budget.remaining, _NO_TIME) if self._budget.ends_at is not None else None

    def part(self, share: float) -> float | None:
        """A share of the seconds that are left."""
        return None if self.seconds is None else share * self.seconds


@dataclass(frozen=True, eq=False)
class ChosenMargin:
    """An α that was asked for in words."""

    alpha: float
    words: str  # how it was come by, in a sentence
    known: tuple[Bools, ...] = ()  # selections from which to start
    path: Path | None = None  # the curve that it was chosen from


_NONE = ChosenMargin(0.0, "alpha = 0, as no selection was found even without a margin")


def is_in_words(alpha: Any) -> TypeGuard[str]:
    """Whether α is a share or "auto" rather than numbers; an `InputError` for other texts."""
    if not isinstance(alpha, str):
        return False
    if alpha != "auto":
        _share(alpha)
    return True


def choose_alpha(problem: Problem, asked: str, time_left: TimeLeft, seed: int = 0) -> ChosenMargin:
    """The α that is a share ("30%") of the largest feasible one, or the one that cross-validation chooses ("auto").

    Where no selection is known even without a margin, α is 0: the fit then says what is proven about that.
    """
    if asked == "auto":
        return cross_validated(problem, time_left, n_margins=MARGINS, cv=_FOLDS, random_state=seed)
    share = _share(asked)
    largest = _largest(problem.softened(float("inf")), "alpha", time_left.part(_PART))
    if not largest.found > 0:
        return _NONE
    alpha = min(share * largest.found, rounded_down(largest.found))
    words = f"alpha = {alpha:.6g} is {asked} of {largest.found:.6g}, the largest that a selection was found for"
    return ChosenMargin(alpha, words, (largest.support,))


def cross_validated(
    problem: Problem, time_left: TimeLeft, *, cv: Any, n_margins: int, alphas: Any = None, **asked: Any
) -> ChosenMargin:
    """The α that :func:`cobic.path` chooses."""
    if not problem.feature_class_sizes.all():
        return _NONE
    # Some fits are made twice.
    n_fits = (n_margins if alphas is None else np.size(alphas)) * (2 + len(splits_of(problem, cv, 0)))
    limit = time_left.part(_PART / max(1, n_fits))
    try:
        curve = path(problem, alphas=alphas, n_margins=n_margins, cv=cv, time_limit=limit, **asked)
    except NoPathError:
        each = "" if limit is None else f" in {limit:.3g} s, the share of a fit in the time limit"
        return ChosenMargin(0.0, f"{_NONE.words}{each}")
    if curve.stopped_by is not None:
        raise KeyboardInterrupt
    if curve.chosen is None:
        message = f"alpha is to be chosen by cross-validation, and {curve.reason}: give alpha as a number"
        raise InputError(message)
    return ChosenMargin(curve.chosen, curve.reason, (curve.chosen_result.support,), curve)


def feasible_words(problem: Problem, time_limit: float | None = _SECONDS) -> str:
    """A margin that is smaller than the one asked for and that a selection is known to bear; empty without one."""
    hard, asked = problem.softened(float("inf")), {"alpha": problem.alpha > 0, "beta": problem.beta > 1}
    if not problem.feature_class_sizes.all():
        return ""
    kinds: list[Kind] = ["alpha", "beta"]
    for kind in (each for each in kinds if asked[each].any()):
        largest = _largest(hard, kind, time_limit)
        value = rounded_down(largest.found, _DIGITS)
        at = at_margin(hard, kind, value) if value >= LEAST[kind] else None
        if at is not None and value > LEAST[kind] and at.is_consistent(largest.support):
            return (
                f"{kind} = {value:.{_DIGITS}g} is feasible ({int(largest.support.sum())} features are known to bear it)"
            )
    return ""


def _largest(problem: Problem, kind: Kind, seconds: float | None) -> LargestMargin:
    with Budget(seconds, None, problem.n_selectable) as budget:
        largest = largest_margin(problem, kind, budget, [problem.selectable])
    if budget.stopped_by == "interrupt":
        raise KeyboardInterrupt
    return largest


def _share(text: str) -> float:
    number, percent, rest = text.strip().partition("%")
    try:
        share = float(number) / 100.0
    except ValueError:
        share = -1.0
    if not percent or rest or not 0 <= share <= 1:
        message = f'alpha is {text!r}: give a number, a share of the largest feasible one as "30%", or "auto"'
        raise InputError(message)
    return share
