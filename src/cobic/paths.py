"""The curve over a margin: how many features survive it, what that does to new samples, and which value to choose."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedKFold

from cobic.budget import Budget
from cobic.checks import is_whole, require_jobs, require_whole
from cobic.errors import InputError
from cobic.largest import Kind, LargestMargin, largest_margin
from cobic.matrix import Bools, Floats, Integers
from cobic.methods import DEFAULT_METHOD, find_method, solve
from cobic.model import class_mean_weights
from cobic.problem import Problem
from cobic.result import Result, Status

Margins = Sequence[float] | NDArray[Any] | Literal["auto"] | None
_QUICK_PROGRAMS = 1000
_CLOSE = 0.15
_PUSHES = 4


@dataclass(frozen=True, eq=False)
class Survival:
    """How long each feature stays selected while a margin is raised.

    Attributes
    ----------
    margin : ndarray of shape (n_features,)
        The largest margin of the grid at which the feature is selected; NaN if it never is.
    ranking : ndarray of int, shape (n_features,)
        1 for the feature that survives longest. Of features that survive equally long, those come first that are
        selected at more margins of the grid, then those whose best class mean leads by more.
    """

    margin: Floats
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
    chosen : float or None
        The margin to take by the one-standard-error rule; None without cross-validation.
    reason : str
        Why.
    largest : LargestMargin or None
        How far the margin can be raised, where it was asked for.
    survival : Survival
        How long each feature stays selected.
    results : tuple of Result
        The fits to all samples, in the order of `table`.
    problem : Problem
        The data.
    """

    kind: Kind
    table: pd.DataFrame
    chosen: float | None
    reason: str
    largest: LargestMargin | None
    survival: Survival
    results: tuple[Result, ...]
    problem: Problem

    @property
    def chosen_result(self) -> Result:
        """The fit to all samples at the chosen margin.

        Raises
        ------
        InputError
            If nothing was chosen.
        """
        if self.chosen is None:
            message = f"no margin was chosen: {self.reason}"
            raise InputError(message)
        return self.results[list(self.table[self.kind]).index(self.chosen)]

    @property
    def chosen_problem(self) -> Problem:
        """The data with the chosen margin, for :class:`cobic.Model` and :func:`cobic.verify`."""
        if self.chosen is None:
            message = f"no margin was chosen: {self.reason}"
            raise InputError(message)
        if self.kind == "alpha":
            return self.problem.with_margins(self.chosen, self.problem.beta)
        return self.problem.with_margins(self.problem.alpha, self.chosen)

    def top(self, count: int) -> pd.DataFrame:
        """The features that survive the largest margins.

        Parameters
        ----------
        count : int
            How many.

        Returns
        -------
        DataFrame
            Columns ``rank, feature, class, survives`` (the largest margin at which the feature is selected) and a
            ``mean …`` per class, best first.
        """
        if not is_whole(count) or count < 1:
            message = f"{count!r} features cannot be listed: give a whole number of at least 1"
            raise InputError(message)
        problem = self.problem
        best = np.argsort(self.survival.ranking, kind="stable")[:count]
        names: Any = np.arange(problem.n_features) if problem.feature_names is None else np.array(problem.feature_names)
        labels = np.array([*(str(cls) for cls in problem.classes), ""])
        means = {f"mean {cls}": mean[best] for cls, mean in zip(problem.classes, problem.class_means, strict=True)}
        return pd.DataFrame(
            {
                "rank": self.survival.ranking[best],
                "feature": names[best],
                "class": labels[problem.feature_classes[best]],
                "survives": self.survival.margin[best],
                **means,
            }
        )

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
        from cobic.report.plots import plot_path

        return plot_path(self, axes)

    def __repr__(self) -> str:
        """The range, and the choice, in one line."""
        values = self.table[self.kind]
        choice = "" if self.chosen is None else f"; choose {self.chosen:.6g}"
        sizes = f"{self.table['n_selected'].max()} to {self.table['n_selected'].min()} features"
        return f"<Path over {self.kind} {values.min():.6g} to {values.max():.6g}: {sizes}{choice}>"


def path(
    X: Any,
    y: ArrayLike,
    *,
    alphas: Margins = None,
    betas: Margins = None,
    n_margins: int = 12,
    cv: int | Any | None = 5,
    alpha: float = 0.0,
    beta: float = 1.0,
    method: str = DEFAULT_METHOD,
    time_limit: float | None = 10.0,
    random_state: int = 0,
    n_jobs: int | None = None,
    method_options: dict[str, Any] | None = None,
    **choices: Any,
) -> Path:
    """Solve over a grid of margins, each step started from its neighbour, and say which margin to choose.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.
    y : array-like of shape (n_samples,)
        Class of each sample.
    alphas, betas : sequence of float or "auto", optional
        The margins to try; one of the two. By default `alphas` from 0 to the largest feasible one, with new values put
        where the number of features changes most.
    n_margins : int, default=12
        How many margins where they are not given.
    cv : int, splitter of scikit-learn, or None, default=5
        Folds of the cross-validation (stratified, shuffled); None for none.
    alpha, beta : float
        The margin that is not varied.
    method : str, default="certified"
        As in :func:`cobic.solve`.
    time_limit : float or None, default=10.0
        Seconds for each single fit.
    random_state : int, default=0
        Seed of the folds and of the method.
    n_jobs : int, optional
        Processes, as in joblib: the fit to all samples and the folds run side by side.
    method_options : dict, optional
        Options of the method. Unless ``max_programs`` says otherwise, ``certified`` may solve 1000 linear programs
        per fit in the folds and on a grid of its own, and as many as always where the margins are given.
    **choices
        Further arguments of :class:`cobic.Problem`, such as `ties`, `slack_penalty` or `fixed_in`.

    Returns
    -------
    Path
        The table, the choice and its reason, the ranking of the features.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.make_expression(n_features=200, seed=1)
    >>> path = cobic.path(data.X, data.y, alphas=[0, 20, 40], cv=3)
    >>> path.table["n_selected"].is_monotonic_decreasing
    True
    >>> len(path.top(10))
    10
    """
    kind = _kind(alphas, betas)
    given = alphas if kind == "alpha" else betas
    require_whole("random_state", random_state, 0)
    require_jobs(n_jobs)
    find_method(method, method_options or {})
    problem = Problem(X, y, alpha, beta, **choices)
    _require_other_margin(kind, problem)
    tracer = _Tracer(kind, method, time_limit, random_state, dict(method_options or {}))
    splits = _splits(problem, cv, random_state)
    if given is None or (isinstance(given, str) and given == "auto"):
        largest, results = tracer.adaptive(problem, n_margins)
        values = sorted(results)
        folds = _fold_errors(problem, splits, tracer, values, n_jobs)
    else:
        largest, values = None, _checked(kind, given)
        everything, *folds = _all_side_by_side(problem, splits, tracer, values, n_jobs)
        results = dict(zip(values, everything, strict=True))
    return _put_together(kind, problem, largest, results, np.array(folds))


def survival(
    problem: Problem,
    n_margins: int = 12,
    seed: int = 0,
    time_limit: float | None = 10.0,
    start: Sequence[Bools] = (),
) -> Survival:
    """How long each feature stays selected while α is raised to the largest feasible value.

    Parameters
    ----------
    problem : Problem
        The data; its β is kept.
    n_margins : int, default=12
        Size of the grid.
    seed : int, default=0
        Seed of the method.
    time_limit : float or None, default=10.0
        Seconds for each fit.
    start : sequence of ndarray of bool
        Selections from which to start.

    Returns
    -------
    Survival
        Margins and ranking.
    """
    tracer = _Tracer("alpha", DEFAULT_METHOD, time_limit, seed, {})
    _, results = tracer.adaptive(problem, n_margins, start)
    return _survival(problem, results)


def _kind(alphas: Margins, betas: Margins) -> Kind:
    if alphas is not None and betas is not None:
        message = "give alphas or betas, not both: the other margin stays at alpha, or beta"
        raise InputError(message)
    return "alpha" if betas is None else "beta"


def _require_other_margin(kind: Kind, problem: Problem) -> None:
    """Complain about a margin that is given, but varied: it would have no effect."""
    given, other = (problem.alpha > 0, "beta") if kind == "alpha" else (problem.beta > 1, "alpha")
    if given.any():
        message = f"{kind} is given, but {kind}s are varied: leave {kind} out, or give {other}s"
        raise InputError(message)


def _checked(kind: Kind, given: Any) -> list[float]:
    try:
        values = np.unique(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        values = np.zeros(0)
    least = 0.0 if kind == "alpha" else 1.0
    if values.size == 0 or not (np.isfinite(values) & (values >= least)).all():
        message = f'{kind}s is {given!r}: give finite numbers of at least {least:g}, or "auto"'
        raise InputError(message)
    return [float(value) for value in values]


@dataclass(frozen=True)
class _Tracer:
    """Solves one problem for one margin after another."""

    kind: Kind
    method: str
    time_limit: float | None
    seed: int
    options: dict[str, Any]

    def solve(self, problem: Problem, value: float, start: Sequence[Bools] = (), *, quick: bool = False) -> Result:
        at = self._at(problem, value)
        options = dict(self.options)
        if quick and self.method == DEFAULT_METHOD:
            options.setdefault("max_programs", _QUICK_PROGRAMS)
        known = [support for support in start if problem.counts(support).all()]
        if known and self.method == DEFAULT_METHOD:
            options["start"] = known
        return solve(at, self.method, self.time_limit, self.seed, **options)

    def _at(self, problem: Problem, value: float) -> Problem:
        if self.kind == "alpha":
            return problem.with_margins(value, problem.beta)
        return problem.with_margins(problem.alpha, value)

    def along(self, problem: Problem, values: Sequence[float], *, quick: bool = False) -> list[Result]:
        """Solve for ascending values, each started from the last."""
        results: dict[float, Result] = {}
        last: list[Bools] = []
        for value in values:
            results[value] = self.solve(problem, value, last, quick=quick)
            if not (problem.soft or results[value].consistent) and problem.feature_class_sizes.all():
                # A selection that bears a large margin is a start where the last one does not lead on.
                budget = Budget(self.time_limit, None, problem.n_selectable)
                strong = largest_margin(problem, self.kind, budget, last).support
                results[value] = self.solve(problem, value, [strong, *last], quick=quick)
            last = [results[value].support] if results[value].consistent or problem.soft else last
        self._carry_down(problem, results)
        return [results[value] for value in values]

    def _carry_down(self, problem: Problem, results: dict[float, Result]) -> None:
        """What is found for a large margin serves the smaller ones: no fewer features there."""
        values = sorted(results)
        for low, high in zip(values[-2::-1], values[:0:-1], strict=True):
            if results[high].n_selected > results[low].n_selected and not problem.soft:
                again = self.solve(problem, low, [results[high].support, results[low].support], quick=True)
                results[low] = max(results[low], again, key=lambda result: result.n_selected)

    def adaptive(
        self, problem: Problem, count: int, start: Sequence[Bools] = ()
    ) -> tuple[LargestMargin | None, dict[float, Result]]:
        """Solve from no margin to the largest feasible one, and between where the number of features changes most."""
        require_whole("n_margins", count, 2)
        least = 0.0 if self.kind == "alpha" else 1.0
        first = self.solve(problem, least, start)
        if first.status == Status.INFEASIBLE:
            message = f"there is no path: {first.reason}, which is proven; give slack_penalty for soft margins"
            raise InputError(message)
        if first.status == Status.UNKNOWN:
            message = f"there is no path: {first.reason}; raise time_limit or max_programs, or give slack_penalty"
            raise InputError(message)
        if problem.soft:
            return None, self._soft_grid(problem, first, count)
        budget = Budget(self.time_limit, None, problem.n_selectable)
        largest = largest_margin(problem, self.kind, budget, [first.support])
        results = {least: first}
        if self.kind == "alpha":
            largest = self._pushed(problem, largest)
        top = float(np.nextafter(largest.found, least))
        if top > least:
            results[top] = self.solve(problem, top, [largest.support], quick=True)
        while len(results) < count and (gap := _widest(results)) is not None:
            low, high = gap
            middle = _between(low, high)
            nearby = [results[low].support, results[high].support]
            results[middle] = self.solve(problem, middle, nearby, quick=True)
        self._carry_down(problem, results)
        results = {value: result for value, result in results.items() if result.consistent}
        return self._raised(largest, results), results

    def _pushed(self, problem: Problem, largest: LargestMargin) -> LargestMargin:
        """Try margins between the largest that was found and its bound."""
        part = 0.5
        for _ in range(_PUSHES):
            value = max(largest.found, 0.0) + part * (largest.bound - max(largest.found, 0.0))
            result = self.solve(problem, value, [largest.support], quick=True)
            if result.consistent:
                largest = replace(largest, found=value + result.worst_margin, support=result.support)
            else:
                part *= 0.5
        return largest

    def _raised(self, largest: LargestMargin, results: dict[float, Result]) -> LargestMargin:
        """The largest margin again, where a fit turned out to bear more."""
        if self.kind == "beta":
            return largest
        value, result = max(results.items(), key=lambda item: item[0] + item[1].worst_margin)
        found = value + result.worst_margin
        return replace(largest, found=found, support=result.support) if found > largest.found else largest

    def _soft_grid(self, problem: Problem, first: Result, count: int) -> dict[float, Result]:
        """With soft margins every margin is feasible: up to the median one of the first fit."""
        least = 0.0 if self.kind == "alpha" else 1.0
        reach = float(np.median(np.abs(problem.margins(first.support)))) if self.kind == "alpha" else 4.0
        values = np.linspace(least, least + reach, count)
        return dict(zip(values.tolist(), self.along(problem, values.tolist(), quick=True), strict=True))


def _widest(results: dict[float, Result]) -> tuple[float, float] | None:
    """The neighbours between which the number of features falls by the largest factor."""
    values = sorted(results)
    pairs = list(pairwise(values))
    fall = [_fall(results, low, high) for low, high in pairs]
    if not pairs or max(fall) <= 0:
        return None
    return pairs[int(np.argmax(fall))]


def _fall(results: dict[float, Result], low: float, high: float) -> float:
    if high - low <= _CLOSE * high:
        return 0.0
    return float(np.log(max(results[low].n_selected, 1) / max(results[high].n_selected, 1)))


def _between(low: float, high: float) -> float:
    """The middle; the geometric one where the values are of different sizes."""
    return float(np.sqrt(low * high)) if low > 0 and high > 4 * low else 0.5 * (low + high)


def _splits(problem: Problem, cv: Any, seed: int) -> list[tuple[Integers, Integers]]:
    if cv is None:
        return []
    if is_whole(cv):
        smallest = int(problem.class_sizes.min())
        folds = min(int(cv), smallest)
        if folds < 2:
            name = problem.classes[int(problem.class_sizes.argmin())]
            message = f"cv is {cv} and class {name} has {smallest} sample(s): give cv of at least 2, or cv=None"
            raise InputError(message)
        cv = StratifiedKFold(folds, shuffle=True, random_state=seed % 2**32)  # it knows no larger seeds
    if not hasattr(cv, "get_n_splits"):
        message = f"cv is {cv!r}: give a number of folds, a splitter of scikit-learn, or None"
        raise InputError(message)
    return list(cv.split(np.zeros((problem.n_samples, 1)), problem.labels))


def _fold_errors(
    problem: Problem, splits: list[tuple[Integers, Integers]], tracer: _Tracer, values: list[float], n_jobs: int | None
) -> list[list[float]]:
    errors: list[list[float]] = Parallel(n_jobs=n_jobs)(
        delayed(_errors_of_fold)(problem, tracer, values, *split) for split in splits
    )
    return errors


def _all_side_by_side(
    problem: Problem, splits: list[tuple[Integers, Integers]], tracer: _Tracer, values: list[float], n_jobs: int | None
) -> list[Any]:
    """The fits to all samples, and the errors of each fold."""
    folds = [delayed(_errors_of_fold)(problem, tracer, values, *split) for split in splits]
    answers: list[Any] = Parallel(n_jobs=n_jobs)([delayed(tracer.along)(problem, values), *folds])
    return answers


def _errors_of_fold(
    problem: Problem, tracer: _Tracer, values: list[float], train: Integers, test: Integers
) -> list[float]:
    """Share of the held-out samples that the fit to the others misclassifies, for each margin; NaN without a fit."""
    part = problem.subset(train)
    held_out = problem.matrix.take(test)
    wanted = problem.classes[problem.labels[test]]
    errors = []
    for result in tracer.along(part, values, quick=True):
        if not all(result.counts):
            errors.append(np.nan)
            continue
        weights = class_mean_weights(result.support, part.feature_classes, part.n_classes)
        predicted = part.classes[held_out.products(weights).argmax(axis=1)]
        errors.append(float((predicted != wanted).mean()))
    return errors


def _put_together(
    kind: Kind, problem: Problem, largest: LargestMargin | None, results: dict[float, Result], folds: Floats
) -> Path:
    values = sorted(results)
    ordered = [results[value] for value in values]
    bounds = np.array([result.upper_bound for result in ordered])
    if kind == "alpha" and not problem.soft:
        bounds = np.minimum.accumulate(bounds)  # a selection for a larger α is one for every smaller α
    closed = [result.consistent and result.n_selected == bound for result, bound in zip(ordered, bounds, strict=True)]
    table = pd.DataFrame(
        {
            kind: values,
            "n_selected": [result.n_selected for result in ordered],
            "upper_bound": bounds,
            "gap": [
                result.gap if result.soft else bound - result.n_selected
                for result, bound in zip(ordered, bounds, strict=True)
            ],
            "status": ["optimal" if done else str(result.status) for result, done in zip(ordered, closed, strict=True)],
            "worst_margin": [result.worst_margin for result in ordered],
            "objective": [result.objective for result in ordered],
            "objective_bound": [result.objective_bound for result in ordered],
            "seconds": [result.seconds for result in ordered],
        }
    )
    chosen, reason = None, "without cross-validation nothing is chosen"
    if folds.size:
        table["cv_error"] = folds.mean(axis=0)
        table["cv_se"] = folds.std(axis=0, ddof=1) / np.sqrt(folds.shape[0])
        chosen, reason = _choose(kind, table)
    return Path(kind, table, chosen, reason, largest, _survival(problem, results), tuple(ordered), problem)


def _choose(kind: Kind, table: pd.DataFrame) -> tuple[float | None, str]:
    """The largest margin, hence the fewest features, whose error is within a standard error of the least."""
    usable = table[table["cv_error"].notna() & (table["n_selected"] > 0)]
    if usable.empty:
        return None, "no margin could be fitted in all folds"
    best = usable.iloc[int(usable["cv_error"].argmin())]
    limit = float(best["cv_error"] + best["cv_se"])
    good = usable[usable["cv_error"] <= limit]
    taken = good.iloc[int(good[kind].argmax())]
    reason = (
        f"{kind} = {taken[kind]:.6g} is the largest whose cross-validated error ({taken['cv_error']:.3g}) is within "
        f"one standard error of the least ({best['cv_error']:.3g} + {best['cv_se']:.3g} at {kind} = {best[kind]:.6g})"
    )
    return float(taken[kind]), reason


def _survival(problem: Problem, results: dict[float, Result]) -> Survival:
    margin, times = np.full(problem.n_features, np.nan), np.zeros(problem.n_features, dtype=np.intp)
    for value in sorted(results):
        support = results[value].support
        margin[support] = value
        times += support
    order = np.lexsort((-problem.leads, -times, -np.nan_to_num(margin, nan=-np.inf)))
    ranking = np.empty(problem.n_features, dtype=np.intp)
    ranking[order] = np.arange(1, problem.n_features + 1)
    return Survival(margin, ranking)
