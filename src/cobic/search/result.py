"""The answer: what was selected, what is proven about it, and how it was found."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from html import escape
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

LeftOpenBy = Literal["target gap", "patience", "max_programs"]
_CARD = "border-left: 3px solid #0072B2; padding: 2px 0 2px 14px; font-family: system-ui, sans-serif; line-height: 1.5"
_QUIET = "opacity: 0.7; font-size: 90%"


class Status(StrEnum):
    """What is known about the selection.

    Examples
    --------
    >>> import cobic
    >>> problem = cobic.datasets.make_expression(n_features=60, seed=0).problem()
    >>> cobic.solve(problem).status == "optimal"
    True
    >>> [str(status) for status in cobic.Status]
    ['optimal', 'feasible', 'infeasible', 'unknown']
    """

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Progress:
    """One event in the course of a run.

    Attributes
    ----------
    elapsed : float
        Seconds since the start.
    n_selected : int or None
        Size of the best selection so far; None if there is none yet.
    upper_bound : int
        No consistent selection has more features; with soft margins, the number of features that may be selected.
    lps : int
        Linear programs solved, and looks taken at the data, so far.
    boxes : int
        Parts of the search that are neither settled nor given up.
    objective, objective_bound : float or None
        With soft margins: what the best selection so far attains, and what none exceeds; None if not yet known.

    Examples
    --------
    >>> import cobic
    >>> problem = cobic.datasets.make_expression(n_features=200, seed=1).problem()
    >>> result = cobic.solve(problem, on_progress=lambda event: None)  # or print, to be told while it runs
    >>> last = result.history[-1]
    >>> last.n_selected <= result.n_selected, last.upper_bound >= result.upper_bound
    (True, True)
    >>> print(cobic.Progress(elapsed=1.5, n_selected=90, upper_bound=92, lps=40))
    90 features, at most 92, gap 2; 1.5 s
    """

    elapsed: float
    n_selected: int | None
    upper_bound: int
    lps: int
    boxes: int = 0
    objective: float | None = None
    objective_bound: float | None = None

    @property
    def soft(self) -> bool:
        """Whether it is about the objective of soft margins, not about the number of features."""
        return self.objective is not None or self.objective_bound is not None

    @property
    def gap(self) -> float | None:
        """Between the best selection and the bound, in features or objective; None while one of them is not known."""
        best, bound = (self.objective, self.objective_bound) if self.soft else (self.n_selected, self.upper_bound)
        return None if best is None or bound is None else bound - best

    @property
    def words(self) -> str:
        """What is found and what is left, for a person."""
        found = "nothing yet" if self.n_selected is None else f"{self.n_selected} features"
        objective = "" if self.objective is None else f", objective {_short(self.objective)}"
        bound = self.objective_bound if self.soft else self.upper_bound
        most = "" if bound is None else f", at most {_short(bound)}"
        gap = "" if self.gap is None else f", gap {_short(self.gap)}"
        left = {0: "", 1: "; 1 case left to look at"}.get(self.boxes, f"; {self.boxes} cases left to look at")
        return f"{found}{objective}{most}{gap}{left}"

    def __str__(self) -> str:
        """The event in one line."""
        return f"{self.words}; {self.elapsed:.1f} s"


@dataclass(frozen=True)
class Run:
    """One run of a heuristic, in the terms of its paper.

    Attributes
    ----------
    iterations, inner_lps : int
        Rounds of the algorithm, and linear programs solved in them.
    f, g : int, float
        Features selected by the run's last x, and the violation g(x, y) of that x with the shares y of the run, which
        is the published stopping value.
    worst_margin : float
        Worst margin of that x by the true means: positive if and only if x is consistent.
    n_selected : int or None
        Size of the largest truly consistent selection met in the run, repairs included.

    Examples
    --------
    >>> import cobic
    >>> problem = cobic.datasets.make_expression(n_features=60, seed=0).problem()
    >>> result = cobic.solve(problem, method="bilevel-vns", restarts=2)
    >>> max(run.n_selected for run in result.runs) == result.n_selected
    True
    """

    iterations: int
    inner_lps: int
    f: int
    g: float
    worst_margin: float
    n_selected: int | None


@dataclass(frozen=True, eq=False)
class Result:
    """The answer of :func:`cobic.solve`.

    Attributes
    ----------
    support : ndarray of bool, shape (n_features,)
        The selected features.
    status : Status
        ``"optimal"``: consistent, and proven that no larger selection is. ``"feasible"``: consistent.
        ``"infeasible"``: proven that no selection is consistent. ``"unknown"``: none of these was shown, and `support`,
        with which the method ended, is *not* consistent. With soft margins every selection that leaves no class without
        features is ``"feasible"``, and ``"optimal"`` if none has an objective that is larger by more than a millionth.
    upper_bound : int
        No consistent selection has more features; with soft margins, the number of features that may be selected.
    objective : float
        What is maximised: the number of selected features, minus the price of all violations with soft margins;
        ``-inf`` if the selection is none.
    objective_bound : float
        No selection has a larger objective; `upper_bound` with hard margins.
    worst_margin : float
        Smallest margin over all samples by the true means; positive if and only if `support` is consistent.
    counts, classes : tuple
        Selected features of each class, and the labels of these.
    method, seconds : str, float
        Name of the method, and wall-clock time.
    lps : int
        Linear programs solved, and looks taken at the data by ``"certified"``; the 0-1 programs of
        ``"sequential-binary"``; nodes of the search of ``"milp"`` as well.
    history : tuple of Progress
        How incumbent and bound moved.
    runs : tuple of Run
        The runs of a heuristic with restarts.
    stopped_by : str or None
        ``"time limit"`` or ``"interrupt"`` if the method was cut short.
    left_open_by : str or None
        Where a gap is left though nothing cut the search short: ``"target gap"`` if it is as small as was asked for,
        ``"patience"`` if more effort brought nothing for long, ``"max_programs"`` if no more programs were allowed.
    reason : str
        Why the status is what it is, in one line for a person.
    certificate : dict or None
        Proof of the bound that `cobic.verify` can check, if the method makes one.
    soft : bool
        Whether margins could be violated at a price.

    Examples
    --------
    >>> import cobic
    >>> problem = cobic.datasets.make_expression(n_features=200, seed=1).problem()
    >>> result = cobic.solve(problem)
    >>> str(result.status), result.n_selected, result.upper_bound, result.gap
    ('optimal', 187, 187, 0)
    >>> problem.is_consistent(result.support)
    True
    """

    support: NDArray[np.bool_]
    status: Status
    upper_bound: int
    objective: float
    objective_bound: float
    worst_margin: float
    counts: tuple[int, ...]
    classes: tuple[Any, ...]
    method: str
    seconds: float
    lps: int = 0
    history: tuple[Progress, ...] = ()
    runs: tuple[Run, ...] = ()
    stopped_by: str | None = None
    left_open_by: LeftOpenBy | None = None
    reason: str = ""
    certificate: dict[str, Any] | None = field(default=None, repr=False)
    soft: bool = False

    @cached_property
    def n_selected(self) -> int:
        """Number of selected features."""
        return int(self.support.sum())

    @property
    def gap(self) -> float:
        """Distance to what may be possible: `upper_bound` − `n_selected`; with soft margins that of the objectives."""
        return self.objective_bound - self.objective if self.soft else self.upper_bound - self.n_selected

    @property
    def consistent(self) -> bool:
        """True if the selection is consistent by the true means."""
        return self.status in (Status.OPTIMAL, Status.FEASIBLE) and self.worst_margin > 0

    def __repr__(self) -> str:
        """The answer in one line."""
        counts = ", ".join(f"{cls}: {count}" for cls, count in zip(self.classes, self.counts, strict=True))
        soft = f"objective {self.objective:.6g}, at most {self.objective_bound:.6g}"
        most = soft if self.soft else f"at most {self.upper_bound}"
        return (
            f"<Result {self.status}: {self.n_selected} of {self.support.size} features ({counts}), {most}; "
            f"worst margin {self.worst_margin:.4g}; {self.method}, {self.seconds:.2f} s>"
        )

    def _repr_html_(self) -> str:
        """The answer for a notebook: a few lines without a script, with every name escaped."""
        heading = {
            Status.OPTIMAL: "proven: no selection can keep more",
            Status.FEASIBLE: f"no selection can keep more than {self.upper_bound}",
            Status.INFEASIBLE: "proven: no selection of features is consistent",
            Status.UNKNOWN: "no consistent selection was found",
        }[self.status]
        if self.soft and self.status in (Status.OPTIMAL, Status.FEASIBLE):
            heading = f"objective {self.objective:.6g}, no selection has more than {self.objective_bound:.6g}"
        counts = ", ".join(f"{escape(str(cls))}: {count}" for cls, count in zip(self.classes, self.counts, strict=True))
        took = f"{escape(self.method)}, {self.seconds:.2f} s" + (f", {self.stopped_by}" if self.stopped_by else "")
        return (
            f'<div style="{_CARD}"><b>{self.n_selected} of {self.support.size} features kept; {heading}</b><br>'
            f"{counts}; worst margin {self.worst_margin:.4g}<br>"
            f'<span style="{_QUIET}">{took}; {escape(self.reason)}</span></div>'
        )


def _short(value: float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
