"""The only place where a status is given: by the true means and the proven bounds."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from cobic.matrix import Bools
from cobic.problem import Problem
from cobic.problem.identity import twins
from cobic.search.result import LeftOpenBy, Result, Run, Status

_SAME_OBJECTIVE = 1e-6  # of an objective with soft margins: prices are real numbers, and a proof of the rest never ends

_LEFT_OPEN: dict[LeftOpenBy, str] = {
    "target gap": "which is close enough (target_gap=0 goes on)",
    "patience": "and more effort has brought nothing for long (target_gap=0 goes on)",
    "max_programs": "and the linear programs that were allowed are spent (raise max_programs)",
}


@dataclass(frozen=True)
class Outcome:
    """What a method hands back, before it is judged: a selection and what it can say about it."""

    support: Bools  # the selection; it may be inconsistent, the judge finds out
    upper_bound: int | None = None  # a proven bound; None if the method has none of its own
    objective_bound: float | None = None  # a proven bound on the objective with soft margins
    runs: tuple[Run, ...] = ()  # one entry per restart
    left_open_by: LeftOpenBy | None = None  # why a gap is left, where nothing cut the search short
    reason: str = ""  # a line for a person, where the judge's own would say less
    certificate: dict[str, Any] | None = None  # proof of the bound


def judged(
    problem: Problem,
    support: Bools,
    upper_bound: int,
    objective_bound: float,
    *,
    left_open_by: LeftOpenBy | None,
    reason: str,
    **course: Any,
) -> Result:
    """A selection and what is proven of all others as a result, whatever a method or a file says of it."""
    status = _status(problem, support, upper_bound, objective_bound)
    left_open_by = None if status == Status.OPTIMAL else left_open_by
    return Result(
        support=support,
        status=status,
        upper_bound=upper_bound,
        objective=problem.objective(support),
        objective_bound=objective_bound,
        worst_margin=problem.worst_margin(support),
        counts=tuple(problem.counts(support).tolist()),
        classes=tuple(problem.classes.tolist()),
        left_open_by=left_open_by,
        reason=reason or _reason(problem, support, status, objective_bound, left_open_by),
        soft=problem.soft,
        **course,
    )


def _status(problem: Problem, support: Bools, upper_bound: int, objective_bound: float) -> Status:
    """What follows from a selection and the proven bounds on features and objective."""
    if upper_bound == 0:
        return Status.INFEASIBLE
    objective = problem.objective(support)
    if not np.isfinite(objective):
        return Status.UNKNOWN
    tolerance = _SAME_OBJECTIVE * max(1.0, abs(objective)) if problem.soft else 0.0
    return Status.OPTIMAL if objective_bound - objective <= tolerance else Status.FEASIBLE


def _why_none(problem: Problem) -> str:
    pair = twins(problem)
    if pair is None:
        return "no selection is consistent"
    names = problem.sample_names or range(problem.n_samples)
    told = " and ".join(f"{names[each]} of class {problem.classes[problem.labels[each]]}" for each in pair)
    return f"the samples {told} have the same values, so no selection tells them apart"


def _reason(
    problem: Problem, support: Bools, status: Status, objective_bound: float, left_open_by: LeftOpenBy | None
) -> str:
    """Why a selection has a status, in words."""
    empty = np.flatnonzero(problem.feature_class_sizes == 0)
    if empty.size:
        return f"no feature has its largest mean in class {problem.classes[empty[0]]}, so no selection is consistent"
    if status == Status.INFEASIBLE:
        return _why_none(problem)
    if problem.soft and status == Status.UNKNOWN:
        return "no selection was found"
    if problem.soft:
        reason = f"{int((problem.violations(support) > 0).sum())} sample(s) violate their margin"
        proven = f", and no selection has an objective above {objective_bound:.6g}"
        return reason + (proven if status == Status.OPTIMAL else "")
    if status == Status.OPTIMAL:
        return f"consistent, and no consistent selection has more than {objective_bound:.0f} features"
    if status == Status.FEASIBLE:
        missing = int(objective_bound) - int(support.sum())
        possible = f"at most {missing} more feature{'s' if missing > 1 else ''} would be possible"
        return f"consistent; {possible}" + (f", {_LEFT_OPEN[left_open_by]}" if left_open_by is not None else "")
    if not support.any():
        return "no consistent selection was found"
    wrong = int((problem.margins(support) <= 0).sum())
    return f"the selection is not consistent: {wrong} sample(s) fail by the true means"
