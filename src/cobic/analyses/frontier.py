"""The frontier between size and margin: the best panel of each size, its errors on new samples, which to choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from cobic.analyses import problem_of, step_by_step
from cobic.analyses.folds import Split, add_errors, add_shortfalls, margins_of, splits_of
from cobic.analyses.panel import panel
from cobic.analyses.picture import draw_frontier
from cobic.answer.frontier import choose_size
from cobic.answer.panel import Panel
from cobic.answer.records import mask_text, read_mask
from cobic.answer.steps import Steps, run_parameters
from cobic.checks import is_whole, require, require_jobs, require_whole
from cobic.errors import InputError
from cobic.matrix import Floats, Integers, TransformName
from cobic.problem import PanelProblem, Problem
from cobic.problem.panel import ClassSplit, Weights, most_features
from cobic.search.budget import Budget
from cobic.search.result import Progress

_ROUND = (1, 2, 5)  # times powers of ten: sizes that people order, each about twice the one before
# Fits in the folds need no proof: they end when no panel can be better by so much, or after so many linear programs,
# by which time the panel hardly changes on the public data sets.
_FOLD_GAP, _FOLD_PROGRAMS = 0.02, 100


@dataclass(frozen=True, eq=False)
class Frontier:
    """The answer of :func:`frontier`.

    Attributes
    ----------
    table : DataFrame
        One row per size: ``size, counts`` (features of each class, as text), ``tail_margin, bound, gap, status,
        worst_margin, read_back`` (training samples whose class is read back), ``seconds`` of the panel of all samples;
        ``cv_error`` (mean over the folds of the share of misclassified held-out samples) and ``cv_se`` (its standard
        error); ``cv_shortfall`` (the share of the typical held-out margin, their median, that held-out samples lack on
        average: those that are wrong count more than 1, those that are just right nearly 1) and ``cv_shortfall_se``
        (the standard error of its difference from the least); ``chosen``, true for the size to take.
    chosen, reason : int or None, str
        The size to take by the one-standard-error rule, None without cross-validation; and why: the smallest whose
        shortfall is within one standard error of the least.
    panels : dict of int to Panel
        The panel of each size.
    problem : Problem
        The data.
    stopped_by : str or None
        ``"interrupt"`` if Ctrl-C cut it short: the table then has the sizes done before, without cross-validation.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.make_expression(n_features=60, seed=0)
    >>> frontier = cobic.frontier(data.X, data.y, sizes=[2, 4], cv=None)
    >>> frontier.table[["size", "counts", "status"]]
       size counts   status
    0     2  1 + 1  optimal
    1     4  2 + 2  optimal
    """

    table: pd.DataFrame
    chosen: int | None
    reason: str
    panels: dict[int, Panel]
    problem: Problem
    stopped_by: str | None = None

    @property
    def panel(self) -> Panel:
        """The panel of the chosen size, with its certificate and model; an `InputError` if nothing was chosen."""
        if self.chosen is None:
            message = f"no size was chosen: {self.reason}"
            raise InputError(message)
        return self.panels[self.chosen]

    def plot(self, axes: Any = None) -> Any:
        """Draw what was found and what is proven, and the cross-validated error, over the size.

        Parameters
        ----------
        axes : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            The axes of the tail margin; those of the error share its horizontal axis.
        """
        return draw_frontier(self, axes)

    def __repr__(self) -> str:
        """The range, and the choice, in one line."""
        sizes, best = self.table["size"], self.table["tail_margin"].max()
        choice = "" if self.chosen is None else f"; choose {self.chosen}"
        return f"<Frontier of {sizes.min()} to {sizes.max()} features: tail margin up to {best:.4g}{choice}>"


def frontier(
    X: Any,
    y: ArrayLike | None = None,
    sizes: Sequence[int] | NDArray[Any] | None = None,
    tail: float = 0.3,
    weights: Weights = "equal",
    *,
    cv: int | Any | None = 5,
    split: ClassSplit = "even",
    offset: bool = False,
    groups: Sequence[Any] | None = None,
    beta: ArrayLike | None = None,
    transform: TransformName | None = None,
    floor: float | None = None,
    time_limit: float | None = 60.0,
    target_gap: float = 0.0,
    random_state: int = 0,
    n_jobs: int | None = None,
    on_progress: Callable[[str], None] | None = None,
    folder: str | PathLike[str] | Steps | None = None,
    **choices: Any,
) -> Frontier:
    """Choose a panel of each of several sizes, cross-validate, and say which size to take.

    Parameters
    ----------
    X : Problem, or array-like or sparse matrix of shape (n_samples, n_features)
        The data; a :class:`cobic.Problem` has its own `y`, `beta` and `choices`, which are left out then.
    y : array-like of shape (n_samples,)
        Class of each sample.
    sizes : sequence of int, optional
        Numbers of features. By default from one of each class to all, by way of 5, 10, 20, 50, 100 and so on.
    tail, weights : optional
        As in :func:`cobic.panel`.
    cv : int, splitter of scikit-learn, or None, default=5
        Folds of the cross-validation (stratified, shuffled); the panels are chosen anew in each. None for none.
    split : {"even", "any"}, default="even"
        How a size is shared among the classes, as in :func:`cobic.panel`.
    offset, groups, beta, transform, floor : optional
        As in :func:`cobic.panel`.
    time_limit : float or None, default=60.0
        Seconds for all of it in one process: half of them for the panels of all samples, the same for each, and half
        for the folds. A closer proof of one size is a matter of :func:`cobic.panel`. None for no limit.
    target_gap : float, default=0.0
        Share of the tail margin: the search for a panel ends as soon as none can be better by more.
    random_state : int, default=0
        Seed of the folds.
    n_jobs : int, optional
        Processes, as in joblib: the panels, and then the folds, side by side. The answer is the same for every number
        and backend, unless searches are cut short by the time limit.
    on_progress : callable, optional
        Called with a line of text that says how far it is.
    folder : path-like, optional
        Where each finished panel and fold is kept. The same call, after the process was ended, goes on where it stopped
        and gives the same answer; with other data or parameters it is an error. Delete the folder when you are done.
    **choices
        Further arguments of :class:`cobic.Problem`, such as `ties` or `fixed_in`.

    Returns
    -------
    Frontier
        The table, the choice and its reason, and all panels. Ctrl-C returns the sizes so far: see
        `Frontier.stopped_by`.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.make_expression(n_features=30, informative=0.8, seed=1)
    >>> frontier = cobic.frontier(data.X, data.y, sizes=[2, 30], cv=2)
    >>> frontier.table["size"].tolist()
    [2, 30]
    >>> len(frontier.panel.features) == frontier.chosen
    True
    """
    require_whole("random_state", random_state, 0)
    require_jobs(n_jobs)
    transforms = {"transform": transform, "floor": floor}
    given = {name: value for name, value in transforms.items() if value is not None}
    problem = problem_of(X, y, None, beta, {**choices, **given})
    wanted = default_sizes(problem, groups) if sizes is None else _checked(sizes)
    rules: dict[str, Any] = {"split": split, "tail": tail, "weights": weights, "offset": offset, "groups": groups}
    for size in (wanted[0], wanted[-1]):  # whatever is wrong is said before the work
        PanelProblem(problem, size, **rules)
    Budget(time_limit, None, 0)
    splits = splits_of(problem, cv, random_state)
    search = _Search(problem, rules, wanted, time_limit, target_gap, len(splits))
    labels = None if groups is None else np.array([str(label) for label in groups])
    asked = {
        "sizes": wanted,
        **rules,
        "groups": labels,
        "cv": splits,
        "time_limit": time_limit,
        "target_gap": target_gap,
    }
    steps, tell = Steps.of(folder), on_progress or (lambda _line: None)
    panels: dict[str, Any] = {}
    folds: list[dict[str, list[Any]]] = []
    stopped_by = None
    with steps.opened(lambda: run_parameters("frontier", problem, asked)):
        try:
            tasks = {_name(size): (size,) for size in wanted}
            for panels in step_by_step(_panel_of_size, search, tasks, tasks, steps, n_jobs):
                tell(f"{len(panels)} of {len(wanted)} sizes done")
            folds = _held_out(search, splits, steps, n_jobs, tell)
        except KeyboardInterrupt:
            if not panels:
                raise
            stopped_by = "interrupt"
    found = {size: _read_panel(panels[_name(size)], search.asked(size)) for size in wanted if _name(size) in panels}
    return _put_together(problem, found, folds, stopped_by)


def default_sizes(problem: Problem, groups: Sequence[Any] | None = None) -> list[int]:
    """From one feature of each class, and what is fixed in, to all features, by way of round numbers."""
    least, (_, most) = int(np.maximum(problem.required_sizes, 1).sum()), most_features(problem, groups)
    between = [step * 10**power for power in range(len(str(most))) for step in _ROUND]
    return sorted({least, *(size for size in between if least < size < most), most})


@dataclass(frozen=True, eq=False)
class _Search:
    """How panels are looked for, in whichever process."""

    problem: Problem
    rules: dict[str, Any]
    sizes: list[int]
    time_limit: float | None
    target_gap: float
    n_folds: int

    def asked(self, size: int) -> PanelProblem:
        return PanelProblem(self.problem, size, **self.rules)

    def seconds(self, parts: int) -> float | None:
        """The share of a part in the half of the time for panels, or for folds; without folds in all of it."""
        return None if self.time_limit is None else self.time_limit / (parts * (2 if self.n_folds else 1))


def _name(size: int) -> str:
    return f"panel-{size:08d}"


def _panel_of_size(search: _Search, size: int) -> dict[str, Any]:
    """The panel of all samples, as values that JSON knows."""
    limits: dict[str, Any] = {"time_limit": search.seconds(len(search.sizes)), "target_gap": search.target_gap}
    found = panel(search.problem, size=size, **search.rules, **limits)
    if found.stopped_by == "interrupt":  # Ctrl-C is meant for all sizes, not for this one
        raise KeyboardInterrupt
    return {
        "support": mask_text(found.support),
        "bound": found.bound,
        "offsets": found.offsets,
        "seconds": found.seconds,
        "history": [asdict(event) for event in found.history],
        "stopped_by": found.stopped_by,
        "certificate": found.certificate,
    }


def _read_panel(record: dict[str, Any], asked: PanelProblem) -> Panel:
    """The panel that :func:`_panel_of_size` described."""
    return Panel.of(
        asked,
        read_mask(record["support"], asked.problem.n_features),
        record["bound"],
        offsets=None if record["offsets"] is None else tuple(record["offsets"]),
        history=[Progress(**event) for event in record["history"]],
        **{name: record[name] for name in ("seconds", "stopped_by", "certificate")},
    )


def _held_out(
    search: _Search, splits: list[Split], steps: Steps, n_jobs: int | None, tell: Callable[[str], None]
) -> list[dict[str, list[Any]]]:
    """For each fold what :func:`_of_fold` says."""
    tasks = {f"fold-{fold:04d}": split for fold, split in enumerate(splits, 1)}
    folds: dict[str, dict[str, list[Any]]] = {}
    for folds in step_by_step(_of_fold, search, tasks, tasks, steps, n_jobs):
        tell(f"cross-validation: {len(folds)} of {len(splits)} folds done")
    return [folds[name] for name in tasks]


def _of_fold(search: _Search, train: Integers, test: Integers) -> dict[str, list[Any]]:
    """Error and margins of held-out samples by the panel of the others, for each size; NaN without a panel."""
    whole = search.problem
    none = [float("nan")]
    nothing: dict[str, list[Any]] = {
        "errors": none * len(search.sizes),
        "margins": [none * test.size] * len(search.sizes),
    }
    known = np.isin(whole.labels[test], whole.labels[train])  # of other classes nothing is learned, whatever the size
    try:
        part = whole.subset(train)
    except InputError:  # all samples together were accepted: in these, a feature of `fixed_in` may be tied
        return nothing
    if not known.any():
        return nothing
    weights = search.rules["weights"]
    rules = {**search.rules, "weights": weights if isinstance(weights, str) else np.asarray(weights)[train]}
    budget, left = Budget(search.seconds(search.n_folds), None, 0), len(search.sizes)
    held_out = whole.raw.take(test[known])
    own = np.searchsorted(part.classes, whole.classes[whole.labels[test[known]]])
    errors, margins = [], []
    for size in search.sizes:
        # What small panels leave is for the larger ones; a fit that comes too late still has the first panel at hand.
        seconds = None if search.time_limit is None else max(budget.remaining / left, 1e-9)
        means = _means(part, size, rules, seconds, held_out)
        right = np.nan if means is None else (means.argmax(axis=1) == own).sum()
        errors.append(float(1.0 - right / test.size))
        margins.append(np.full(own.size, np.nan).tolist() if means is None else margins_of(means, own).tolist())
        left -= 1
    return {"errors": errors, "margins": margins}


def _means(part: Problem, size: int, rules: dict[str, Any], seconds: float | None, held_out: Any) -> Floats | None:
    """Class means of held-out samples by the panel of the others; None without one."""
    try:
        _, most = most_features(part, rules["groups"])
        limits: dict[str, Any] = {"time_limit": seconds, "target_gap": _FOLD_GAP, "max_programs": _FOLD_PROGRAMS}
        found = panel(part, size=min(size, most), **rules, **limits)
    except InputError:  # a class has no features in these samples, or fewer than are fixed in
        return None
    if found.stopped_by == "interrupt":
        raise KeyboardInterrupt
    return found.model.means(held_out) if found.support.any() else None


def _checked(sizes: Any) -> list[int]:
    given = list(sizes) if np.ndim(sizes) == 1 else []
    message = f"sizes is {sizes!r}: give whole numbers of features, as [2, 10, 50]"
    require(given and all(is_whole(size) for size in given), message)
    return sorted({int(size) for size in given})


def _put_together(
    problem: Problem, panels: dict[int, Panel], folds: list[dict[str, list[Any]]], stopped_by: str | None
) -> Frontier:
    rows = [
        {
            "size": size,
            "counts": " + ".join(str(count) for count in found.counts),
            **{name: getattr(found, name) for name in ("tail_margin", "bound", "gap", "status", "worst_margin")},
            "read_back": int((found.margins > 0).sum()),
            "seconds": found.seconds,
        }
        for size, found in panels.items()
    ]
    table = pd.DataFrame(rows).astype({"status": str})
    if folds:
        add_errors(table, [fold["errors"] for fold in folds])
        add_shortfalls(table, np.hstack([fold["margins"] for fold in folds]))
    chosen, reason = choose_size(table)
    table["chosen"] = table["size"] == chosen
    if stopped_by is not None:
        reason = "it was interrupted before the cross-validation was done"
    return Frontier(table, chosen, reason, panels, problem, stopped_by)
