"""The only place where a status is given: by the true means and the proven bounds."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from cobic.matrix import Bools
from cobic.problem import Problem
from cobic.search.budget import Budget
from cobic.search.result import Result, Run, Status

_SAME_OBJECTIVE = 1e-6  # of an objective with soft margins: prices are real numbers, and a proof of the rest never ends


@dataclass(frozen=True)
class Outcome:
    """A selection and what the method can say about it."""

    support: Bools  # the selection; it may be inconsistent, the judge finds out
    upper_bound: int | None = None  # a proven bound; None if the method has none of its own
    objective_bound: float | None = None  # a proven bound on the objective with soft margins
    runs: tuple[Run, ...] = ()  # one entry per restart
    reason: str = ""  # a line for a person, where the judge's own would say less
    certificate: dict[str, Any] | None = None  # proof of the bound


def judge(problem: Problem, method: str, outcome: Outcome, budget: Budget) -> Result:
    """An outcome as a result; its status follows from the true means and the proven bound, whatever the method says."""
    bound = problem.n_selectable if outcome.upper_bound is None else outcome.upper_bound
    objective_bound = float(bound) if outcome.objective_bound is None else outcome.objective_bound
    status = status_of(problem, outcome.support, bound, objective_bound)
    return Result(
        support=outcome.support,
        status=status,
        upper_bound=bound,
        objective=problem.objective(outcome.support),
        objective_bound=objective_bound,
        worst_margin=problem.worst_margin(outcome.support),
        counts=tuple(int(count) for count in problem.counts(outcome.support)),
        classes=tuple(problem.classes.tolist()),
        method=method,
        seconds=budget.elapsed,
        lps=budget.lps,
        history=tuple(budget.history),
        runs=outcome.runs,
        stopped_by=budget.stopped_by,
        reason=outcome.reason or _reason(problem, outcome.support, status, objective_bound),
        certificate=outcome.certificate,
        soft=problem.soft,
    )


def status_of(problem: Problem, support: Bools, upper_bound: int, objective_bound: float) -> Status:
    """What follows from a selection and the proven bounds on features and objective."""
    if upper_bound == 0:
        return Status.INFEASIBLE
    objective = problem.objective(support)
    if not np.isfinite(objective):
        return Status.UNKNOWN
    tolerance = _SAME_OBJECTIVE * max(1.0, abs(objective)) if problem.soft else 0.0
    return Status.OPTIMAL if objective_bound - objective <= tolerance else Status.FEASIBLE


def _reason(problem: Problem, support: Bools, status: Status, objective_bound: float) -> str:
    """Why a selection has a status, in words."""
    if status == Status.INFEASIBLE:
        return "no selection is consistent"
    if problem.soft and status == Status.UNKNOWN:
        return "no selection was found"
    if problem.soft:
        reason = f"{int((problem.violations(support) > 0).sum())} sample(s) violate their margin"
        proven = f", and no selection has an objective above {objective_bound:.6g}"
        return reason + (proven if status == Status.OPTIMAL else "")
    if status == Status.OPTIMAL:
        return f"consistent, and no consistent selection has more than {objective_bound:.0f} features"
    if status == Status.FEASIBLE:
        return "consistent by the true means"
    if not support.any():
        return "no consistent selection was found"
    wrong = int((problem.margins(support) <= 0).sum())
    return f"the selection is not consistent: {wrong} sample(s) fail by the true means"
