"""Panels: a given number of features that separate the classes by the widest margin, and the proof of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cobic.analyses import problem_of
from cobic.answer.panel import Panel
from cobic.certified.panel_relaxation import FEATURES_AROUND
from cobic.certified.panel_search import PanelSearch
from cobic.checks import is_number, require, require_whole
from cobic.matrix import TransformName
from cobic.matrix.pool import fitting_threads
from cobic.methods import require_bearable
from cobic.problem import PanelProblem
from cobic.problem.panel import ClassSplit, Size, Weights
from cobic.search.budget import Budget, OnProgress

_MOST_ENTRIES = 1 << 26  # of a linear program: 1.6 GB while it is put together


def panel(
    X: Any,
    y: ArrayLike | None = None,
    size: Size = 20,
    tail: float = 0.3,
    weights: Weights = "equal",
    *,
    split: ClassSplit = "any",
    offset: bool = False,
    groups: Sequence[Any] | None = None,
    beta: ArrayLike | None = None,
    transform: TransformName | None = None,
    floor: float | None = None,
    time_limit: float | None = 60.0,
    target_gap: float = 0.0,
    max_programs: int | None = None,
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
    split : {"any", "even"}, default="any"
        How a total is shared among the classes: as serves the margin best, or as evenly as their features allow, which
        classifies new samples better where panels are large.
    offset : bool, default=False
        Whether a constant is added to the mean of each class, fitted with the panel so that the tail margin is largest:
        for features that are standardised or on different scales. Not with `beta`.
    groups : sequence of shape (n_features,), optional
        A label per feature, such as the gene that a probe measures: a panel holds at most one feature of each group, so
        that 10 features are 10 genes. None, NaN or ``""`` for a feature on its own. (In :class:`cobic.Problem` groups
        are selected as a whole.)
    beta : float or array-like of shape (n_samples,), optional
        Multiplicative margin: the mean of another class counts `beta` times, 1 by default.
    transform : {"log2", "log1p", "standardise"} or None, default=None
        What becomes of the values first, as in :class:`cobic.Problem`. Under ``"log2"`` margins are fold changes: one
        of 1 is a factor of 2.
    floor : float, optional
        The smallest value under a logarithm: what is below counts as it.
    time_limit : float or None, default=60.0
        Seconds after which the best panel so far is returned; None for no limit.
    target_gap : float, default=0.0
        Share of the tail margin: the search ends as soon as no panel can be better by more.
    max_programs : int, optional
        The search ends after so many linear programs: unlike a time limit, at the same place on every machine.
    seed : int, default=0
        Seed of everything random: the same question with the same seed has the same answer.
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
    transforms = {"transform": transform, "floor": floor}
    given = {name: value for name, value in transforms.items() if value is not None}
    problem = problem_of(X, y, None, beta, {**choices, **given})
    require_bearable(problem)
    asked = PanelProblem(problem, size, split=split, tail=tail, weights=weights, offset=offset, groups=groups)
    problem = asked.problem
    entries = problem.comparisons.other.size * (asked.total + FEATURES_AROUND * problem.n_classes)
    message = (
        f"{problem.comparisons.other.size} comparisons of samples with classes are too many for the linear programs of "
        f"a panel of {asked.total} features with offsets: leave these out, or take some samples of each class"
    )
    require(entries <= _MOST_ENTRIES or not asked.offset, message)
    require(is_number(target_gap) and target_gap >= 0, f"target_gap is {target_gap!r}: give a number of at least 0")
    require_whole("seed", seed, 0)
    if max_programs is not None:
        require_whole("max_programs", max_programs, 1)
    with Budget(time_limit, on_progress, asked.total) as budget, fitting_threads(problem.matrix.shape):
        search = PanelSearch(asked, budget, target_gap, max_programs, seed=seed)
        search.run()
    return _answer(asked, search, budget)


def _answer(asked: PanelProblem, search: PanelSearch, budget: Budget) -> Panel:
    best, nothing = search.incumbent, np.zeros(asked.problem.n_features, dtype=np.bool_)
    return Panel.of(
        asked,
        nothing if best.support is None else best.support,
        search.bound,
        offsets=None if best.offsets is None else tuple(best.offsets.tolist()),
        seconds=budget.elapsed,
        history=budget.history,
        stopped_by=budget.stopped_by,
        certificate=search.certificate(),
    )
