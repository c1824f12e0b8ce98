"""Panels: a given number of features that separate the classes by the widest margin, and the proof of it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from cobic.analyses import problem_of
from cobic.answer.model import Model
from cobic.certified.panel_search import PanelSearch
from cobic.checks import is_number, require, require_whole
from cobic.errors import InputError
from cobic.matrix import Bools
from cobic.matrix.pool import fitting_threads
from cobic.methods import require_bearable
from cobic.problem import PanelProblem
from cobic.problem.panel import Size, Weights
from cobic.search.budget import Budget, OnProgress
from cobic.search.result import Progress, Status

_SAME = 1e-6  # of the tail margin: bound and panel are equal as far as floating point can tell


@dataclass(frozen=True, eq=False)
class Panel:
    """The answer of :func:`panel`.

    Attributes
    ----------
    problem : PanelProblem
        What was asked.
    support : ndarray of bool, shape (n_features,)
        The features of the panel.
    tail_margin : float
        Mean of the worst share of the samples' margins.
    worst_margin : float
        The smallest margin of all samples; above 0 if the class of every one can be read back.
    bound : float
        No panel of that size has a larger tail margin.
    status : Status
        ``"optimal"`` if bound and tail margin are equal to a millionth, else ``"feasible"``; ``"unknown"`` if time was
        too short for any panel.
    counts : tuple of int
        Features of each class, in the order of `classes`.
    classes : tuple
        The class labels.
    seconds : float
        Wall-clock time.
    history : tuple of Progress
        How tail margin and bound moved, as `objective` and `objective_bound`.
    stopped_by : str or None
        ``"time limit"`` or ``"interrupt"`` if the search was cut short.
    certificate : dict
        Proof of the bound, which :func:`cobic.verify` checks.
    """

    problem: PanelProblem
    support: Bools
    tail_margin: float
    worst_margin: float
    bound: float
    status: Status
    counts: tuple[int, ...]
    classes: tuple[Any, ...]
    seconds: float
    history: tuple[Progress, ...] = field(default=(), repr=False)
    stopped_by: str | None = None
    certificate: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def features(self) -> tuple[Any, ...]:
        """The features by name, or by index where they have none, class by class, those that differ most first."""
        return tuple(self.table["feature"].tolist())

    @property
    def table(self) -> pd.DataFrame:
        """The features in that order: name, class, mean in each class, and by how much the largest mean leads."""
        base, chosen = self.problem.problem, np.flatnonzero(self.support)
        order = chosen[np.lexsort((chosen, -base.leads[chosen], base.feature_classes[chosen]))]
        means = {f"mean in {cls}": base.class_means[place, order] for place, cls in enumerate(self.classes)}
        classes = [str(self.classes[cls]) for cls in base.feature_classes[order]]
        names = order if base.feature_names is None else [base.feature_names[at] for at in order]
        return pd.DataFrame({"feature": names, "class": classes, **means, "lead": base.leads[order]})

    @property
    def gap(self) -> float:
        """How much better a panel could be at most, as a share of the tail margin."""
        return float((self.bound - self.tail_margin) / abs(self.tail_margin)) if self.tail_margin else float("inf")

    @property
    def model(self) -> Model:
        """The classifier made of the panel."""
        if not self.support.any():
            message = "there is no panel yet, so nothing to classify with: give it more time"
            raise InputError(message)
        base, asked = self.problem.problem, self.problem.parameters
        parameters = {**asked["panel"], "ties": base.ties, "beta": asked["beta"], "tail_margin": self.tail_margin}
        return Model(self.classes, base.feature_classes, self.support, base.feature_names, parameters)

    def __repr__(self) -> str:
        """The answer in one line."""
        counts = ", ".join(f"{cls}: {count}" for cls, count in zip(self.classes, self.counts, strict=True))
        return (
            f"<Panel {self.status}: {self.problem.total} of {self.support.size} features ({counts}), tail margin "
            f"{self.tail_margin:.4g}, at most {self.bound:.4g}; worst margin {self.worst_margin:.4g}; "
            f"{self.seconds:.2f} s>"
        )


def panel(
    X: Any,
    y: ArrayLike | None = None,
    size: Size = 20,
    tail: float = 0.3,
    weights: Weights = "equal",
    *,
    beta: ArrayLike | None = None,
    time_limit: float | None = 60.0,
    target_gap: float = 0.0,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    **choices: Any,
) -> Panel:
    """Choose a given number of features that separate the classes by the widest margin.

    A sample's margin is the mean of the panel's features of its own class minus the largest mean of those of another
    class. The tail margin, which is maximised, is the mean of the worst margins.

    Parameters
    ----------
    X : array-like, sparse matrix or Problem
        Samples in rows, as for :class:`cobic.Problem`; or a problem, whose data and features it is about.
    y : array-like of shape (n_samples,), optional
        Class of each sample; not with a problem.
    size : int or mapping of classes to int, default=20
        Number of features in all, or of each class.
    tail : float, default=0.3
        Share of the samples whose margins count, the worst first: 0 for the worst sample alone, 1 for all.
    weights : {"equal", "balanced"} or array-like of shape (n_samples,), default="equal"
        What each sample counts; balanced: all classes count the same.
    beta : float or array-like of shape (n_samples,), optional
        Multiplicative margin: the mean of another class counts `beta` times, 1 by default.
    time_limit : float or None, default=60.0
        Seconds after which the best panel so far is returned; None for no limit.
    target_gap : float, default=0.0
        Share of the tail margin: the search ends as soon as no panel can be better by more.
    seed : int, default=0
        Seed of everything random, of which there is nothing at present: the same question has the same answer.
    on_progress : callable, optional
        Called with a :class:`cobic.Progress` whenever panel or bound improve.
    **choices
        Further arguments of :class:`cobic.Problem`: `ties`, `fixed_in`, `fixed_out`, `feature_names` and so on.

    Returns
    -------
    Panel
        The features, what they attain, and what is proven about all other panels. Ctrl-C, too, returns the best panel
        so far.

    Raises
    ------
    InputError
        If a size, share or weight is out of range.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.make_expression(n_features=60, seed=0)
    >>> panel = cobic.panel(data.X, data.y, size={"A": 1, "B": 2})
    >>> panel.counts, str(panel.status)
    ((1, 2), 'optimal')
    >>> cobic.verify(panel.problem, panel.certificate).ok
    True
    """
    problem = problem_of(X, y, None, beta, choices)
    require_bearable(problem)
    asked = PanelProblem(problem, size, tail=tail, weights=weights)
    require(is_number(target_gap) and target_gap >= 0, f"target_gap is {target_gap!r}: give a number of at least 0")
    require_whole("seed", seed, 0)
    with Budget(time_limit, on_progress, asked.total) as budget, fitting_threads(problem.matrix.shape):
        search = PanelSearch(asked, budget, target_gap)
        search.run()
    return _answer(asked, search, budget)


def _answer(asked: PanelProblem, search: PanelSearch, budget: Budget) -> Panel:
    best, problem = search.incumbent, asked.problem
    support = np.zeros(problem.n_features, dtype=np.bool_) if best.support is None else best.support
    proven = search.bound - best.tail_margin <= _SAME * max(abs(best.tail_margin), _SAME * asked.largest_margin)
    status = Status.UNKNOWN if best.support is None else Status.OPTIMAL if proven else Status.FEASIBLE
    return Panel(
        problem=asked,
        support=support,
        tail_margin=best.tail_margin,
        worst_margin=problem.worst_margin(support),
        bound=search.bound,
        status=status,
        counts=tuple(problem.counts(support).tolist()),
        classes=tuple(problem.classes.tolist()),
        seconds=budget.elapsed,
        history=tuple(budget.history),
        stopped_by=budget.stopped_by,
        certificate=search.certificate(),
    )
