"""The curve over a margin: how many features survive it, what that does to new samples, and which value to choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from cobic.analyses import problem_of, step_by_step
from cobic.analyses.folds import Split, add_errors, splits_of
from cobic.analyses.picture import draw_path
from cobic.analyses.tracing import Tracer, at_margin
from cobic.answer.curve import choose
from cobic.answer.effects import ClassEffects
from cobic.answer.model import class_means, transform_of_selected
from cobic.answer.steps import Steps, run_parameters
from cobic.answer.tables import feature_table
from cobic.certified.margins import Kind, LargestMargin
from cobic.checks import is_whole, require, require_jobs, require_whole
from cobic.errors import InputError
from cobic.matrix import Bools, Floats, Integers
from cobic.methods import DEFAULT_METHOD, find_method
from cobic.problem import Problem
from cobic.search.result import Result

Margins = Sequence[float] | NDArray[Any] | Literal["auto"] | None


@dataclass(frozen=True, eq=False)
class Survival:
    """How long each feature stays selected while a margin is raised."""

    margin: Floats  # the largest margin of the grid at which the feature is selected; NaN if it never is
    # 1 for the feature that survives longest. Of features that survive equally long, those come first whose mean in
    # their class exceeds that of all other samples by more standard deviations
    ranking: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Path:
    """The answer of :func:`cobic.path`.

    Attributes
    ----------
    kind : {"alpha", "beta"}
        Which margin was varied.
    table : DataFrame
        One row per margin: ``alpha`` (or ``beta``), ``n_selected, upper_bound, gap, status, worst_margin, objective,
        objective_bound, seconds`` of the fit to all samples (a bound proven for a smaller α serves the larger ones),
        ``cv_error`` (mean over the folds of the share of misclassified held-out samples) and ``cv_se`` (its standard
        error).
    chosen, reason : float or None, str
        The margin to take by the one-standard-error rule, None without cross-validation; and why.
    largest : LargestMargin or None
        How far the margin can be raised, where it was asked for.
    survival : Survival
        How long each feature stays selected.
    results : tuple of Result
        The fits to all samples, in the order of `table`.
    problem : Problem
        The data.
    cut_short : int
        How many fits, those in folds included, ended at the time limit with the best selection so far.
    stopped_by : str or None
        ``"interrupt"`` if Ctrl-C cut it short: the table then has the margins solved before, without cross-validation.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.make_expression(n_features=60, seed=0)
    >>> path = cobic.path(data.X, data.y, alphas=[0, 20], cv=None, method="fixed-point")
    >>> path.table[["alpha", "n_selected"]]
       alpha  n_selected
    0    0.0          47
    1   20.0          42
    """

    kind: Kind
    table: pd.DataFrame
    chosen: float | None
    reason: str
    largest: LargestMargin | None
    survival: Survival
    results: tuple[Result, ...]
    problem: Problem
    cut_short: int = 0
    stopped_by: str | None = None

    @property
    def chosen_result(self) -> Result:
        """The fit to all samples at the chosen margin; an `InputError` if nothing was chosen."""
        return self.results[list(self.table[self.kind]).index(self._choice)]

    @property
    def chosen_problem(self) -> Problem:
        """The data with the chosen margin, for :class:`cobic.Model` and :func:`cobic.verify`."""
        return at_margin(self.problem, self.kind, self._choice)

    @property
    def _choice(self) -> float:
        """The chosen margin, where there must be one."""
        if self.chosen is None:
            message = f"no margin was chosen: {self.reason}"
            raise InputError(message)
        return self.chosen

    def top(self, count: int) -> pd.DataFrame:
        """The `count` features that survive the largest margins, best first.

        Each survives with many others. Which so many features are best *together*, and what is proven about it, says
        :func:`cobic.panel`.

        Returns
        -------
        DataFrame
            Columns ``rank, feature, class, survives`` (the largest margin at which the feature is selected) and a
            ``mean …`` per class.
        """
        message = f"{count!r} features cannot be listed: give a whole number of at least 1"
        require(is_whole(count) and count >= 1, message)
        best = np.argsort(self.survival.ranking, kind="stable")[:count]
        table = feature_table(self.problem).iloc[best].reset_index(drop=True)
        table.insert(0, "rank", self.survival.ranking[best])
        table.insert(3, "survives", self.survival.margin[best])
        return table

    def plot(self, axes: Any = None) -> Any:
        """Draw the number of features and the cross-validated error over the margin.

        Parameters
        ----------
        axes : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            The axes of the number of features; those of the error share its horizontal axis.
        """
        return draw_path(self, axes)

    def __repr__(self) -> str:
        """The range, and the choice, in one line."""
        values = self.table[self.kind]
        choice = "" if self.chosen is None else f"; choose {self.chosen:.6g}"
        sizes = f"{self.table['n_selected'].max()} to {self.table['n_selected'].min()} features"
        return f"<Path over {self.kind} {values.min():.6g} to {values.max():.6g}: {sizes}{choice}>"


def path(
    X: Any,
    y: ArrayLike | None = None,
    *,
    alphas: Margins = None,
    betas: Margins = None,
    n_margins: int = 12,
    cv: int | Any | None = 5,
    alpha: float | None = None,
    beta: float | None = None,
    method: str = DEFAULT_METHOD,
    time_limit: float | None = 10.0,
    random_state: int = 0,
    n_jobs: int | None = None,
    method_options: dict[str, Any] | None = None,
    on_progress: Callable[[str], None] | None = None,
    folder: str | PathLike[str] | Steps | None = None,
    **choices: Any,
) -> Path:
    """Solve over a grid of margins, each step started from its neighbour, and say which margin to choose.

    Parameters
    ----------
    X : Problem, or array-like or sparse matrix of shape (n_samples, n_features)
        The data; a :class:`cobic.Problem` has its own `y`, margins and `choices`, which are left out then.
    y : array-like of shape (n_samples,)
        Class of each sample.
    alphas, betas : sequence of float or "auto", optional
        The margins to try; one of the two. By default `alphas` from 0 to the largest feasible one, with new values put
        where the number of features changes most.
    n_margins : int, default=12
        How many margins where they are not given.
    cv : int, splitter of scikit-learn, or None, default=5
        Folds of the cross-validation (stratified, shuffled); None for none.
    alpha, beta : float, optional
        The margin that is not varied; 0, or 1, by default.
    method : str, default="certified"
        As in :func:`cobic.solve`.
    time_limit : float or None, default=10.0
        Seconds for each single fit.
    random_state : int, default=0
        Seed of the folds and of the method.
    n_jobs : int, optional
        Processes, as in joblib: after the fits to all samples the folds run side by side. The answer is the same for
        every number and backend, unless fits are cut short by the time limit.
    method_options : dict, optional
        Options of the method. Unless ``max_programs`` says otherwise, ``certified`` may solve 1000 linear programs
        per fit in the folds and on a grid of its own, and as many as always where the margins are given.
    on_progress : callable, optional
        Called with a line of text that says at which margin it is and what was found there, or how many folds are done.
    folder : path-like, optional
        Where each finished fit and fold is kept. The same call, after the process was ended, goes on where it stopped
        and gives the same answer; with other data or parameters it is an error. Delete the folder when you are done.
    **choices
        Further arguments of :class:`cobic.Problem`, such as `ties`, `slack_penalty` or `fixed_in`.

    Returns
    -------
    Path
        The table, the choice and its reason, the ranking of the features. Ctrl-C returns the curve so far: see
        `Path.stopped_by`.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.make_expression(n_features=200, seed=1)
    >>> path = cobic.path(data.X, data.y, alphas=[0, 20, 40], cv=3)
    >>> path.table["n_selected"].is_monotonic_decreasing
    True
    >>> len(path.top(10))
    10
    >>> cobic.path(data.problem(beta=1.1), alphas=[0, 20], cv=None)  # or of a problem that is there
    <Path over alpha 0 to 20: 183 to 177 features>
    """
    if alphas is not None and betas is not None:
        message = "give alphas or betas, not both: the other margin stays at alpha, or beta"
        raise InputError(message)
    kind: Kind = "alpha" if betas is None else "beta"
    given = alphas if betas is None else betas
    require_whole("random_state", random_state, 0)
    require_jobs(n_jobs)
    options = dict(method_options or {})
    find_method(method, options)
    problem = problem_of(X, y, alpha, beta, choices)
    without_effect, other = (problem.alpha > 0, "beta") if kind == "alpha" else (problem.beta > 1, "alpha")
    message = f"{kind} is given, but {kind}s are varied: leave {kind} out, or give {other}s"
    require(not without_effect.any(), message)
    values = None if given is None or (isinstance(given, str) and given == "auto") else _checked(kind, given)
    splits = splits_of(problem, cv, random_state)
    steps = Steps.of(folder)
    tracer = Tracer(problem, kind, method, time_limit, random_state, options, on_progress=on_progress, steps=steps)
    asked = {
        f"{kind}s": "auto" if values is None else values,
        "n_margins": n_margins if values is None else None,
        "cv": splits,
        "method": method,
        "time_limit": time_limit,
        "random_state": random_state,
        "method_options": options,
    }
    folds: list[dict[str, Any]] = []
    stopped_by = None
    with steps.opened(lambda: run_parameters("path", problem, asked)):
        try:
            if values is None:
                tracer.adaptive(n_margins)
            else:
                tracer.along(values)
            folds = _fold_errors(tracer, splits, n_jobs)
        except KeyboardInterrupt:
            if not tracer.results:
                raise
            stopped_by = "interrupt"
    return _put_together(tracer, folds, stopped_by)


def survival(
    problem: Problem,
    n_margins: int = 12,
    seed: int = 0,
    time_limit: float | None = 10.0,
    start: Sequence[Bools] = (),
) -> Survival:
    """How long each feature stays selected while α is raised to the largest feasible value."""
    tracer = Tracer(problem, "alpha", DEFAULT_METHOD, time_limit, seed, {})
    tracer.adaptive(n_margins, start)
    return _survival(problem, tracer.results)


def _checked(kind: Kind, given: Any) -> list[float]:
    try:
        values = np.unique(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        values = np.zeros(0)
    least = 0.0 if kind == "alpha" else 1.0
    fine = values.size > 0 and (np.isfinite(values) & (values >= least)).all()
    require(fine, f'{kind}s is {given!r}: give finite numbers of at least {least:g}, or "auto"')
    return [float(value) for value in values]


def _fold_errors(tracer: Tracer, splits: list[Split], n_jobs: int | None) -> list[dict[str, Any]]:
    """For each fold the errors at the margins of the curve, and how many fits were cut short."""
    if not splits:
        return []
    values, silent = sorted(tracer.results), tracer.of(tracer.problem)
    tasks = {f"fold-{fold:04d}": (values, *split) for fold, split in enumerate(splits, 1)}
    asked = {name: {"margins": values, "split": split} for name, split in zip(tasks, splits, strict=True)}
    for errors in step_by_step(_errors_of_fold, silent, tasks, asked, tracer.steps, n_jobs):
        tracer.tell(f"cross-validation: {len(errors)} of {len(splits)} folds done")
    return [errors[name] for name in tasks]


def _errors_of_fold(tracer: Tracer, values: list[float], train: Integers, test: Integers) -> dict[str, Any]:
    """Share of the held-out samples that the fit to the others misclassifies, for each margin; NaN without a fit."""
    whole, part = tracer.problem, tracer.problem.subset(train)
    held_out = whole.raw.take(test)
    wanted = whole.classes[whole.labels[test]]
    fits = tracer.of(part)
    fits.along(values, quick=True)
    errors = []
    for value in values:
        result = fits.results[value]
        if not all(result.counts):
            errors.append(np.nan)
            continue
        transform = transform_of_selected(part, result.support)
        means = class_means(held_out, result.support, part.feature_classes, part.n_classes, transform)
        predicted = part.classes[means.argmax(axis=1)]
        errors.append(float((predicted != wanted).mean()))
    return {"errors": errors, "cut_short": _cut_short(fits.results)}


def _cut_short(results: dict[float, Result]) -> int:
    return sum(result.stopped_by == "time limit" for result in results.values())


def _put_together(tracer: Tracer, folds: list[dict[str, Any]], stopped_by: str | None) -> Path:
    kind, problem, results = tracer.kind, tracer.problem, dict(sorted(tracer.results.items()))
    table = _table(kind, problem, list(results), list(results.values()))
    add_errors(table, [fold["errors"] for fold in folds])
    chosen, reason = choose(kind, table)
    if stopped_by is not None:
        reason = "it was interrupted before the cross-validation was done"
    ranks = _survival(problem, results)
    cut_short = _cut_short(results) + sum(fold["cut_short"] for fold in folds)
    fits = tuple(results.values())
    return Path(kind, table, chosen, reason, tracer.largest, ranks, fits, problem, cut_short, stopped_by)


def _table(kind: Kind, problem: Problem, values: list[float], results: list[Result]) -> pd.DataFrame:
    """What the fits to all samples say, one row per margin."""
    fields = ("n_selected", "upper_bound", "gap", "status", "worst_margin", "objective", "objective_bound", "seconds")
    table = pd.DataFrame({name: [getattr(result, name) for result in results] for name in fields})
    table.insert(0, kind, values)
    table["status"] = table["status"].astype(str)
    if not problem.soft:
        if kind == "alpha":
            table["upper_bound"] = table["upper_bound"].cummin()  # a selection for a larger α is one for every smaller
        table["gap"] = table["upper_bound"] - table["n_selected"]
    closed = np.array([result.consistent for result in results]) & (table["n_selected"] == table["upper_bound"])
    table.loc[closed, "status"] = "optimal"
    return table


def _effects(problem: Problem) -> Floats:
    """By how many standard deviations the mean of each feature in its class exceeds that in all other samples."""
    found = ClassEffects.of(problem.matrix, problem.labels, problem.n_classes, problem.class_means)
    of = problem.feature_classes
    differences = np.where(of >= 0, found.differences[of, np.arange(of.size)], -np.inf)
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.where(found.spread > 0, differences / found.spread, 0.0), neginf=-np.inf)


def _survival(problem: Problem, results: dict[float, Result]) -> Survival:
    margin = np.full(problem.n_features, np.nan)
    for value in sorted(results):
        margin[results[value].support] = value
    order = np.lexsort((-_effects(problem), -np.nan_to_num(margin, nan=-np.inf)))
    ranking = np.empty(problem.n_features, dtype=np.intp)
    ranking[order] = np.arange(1, problem.n_features + 1)
    return Survival(margin, ranking)
