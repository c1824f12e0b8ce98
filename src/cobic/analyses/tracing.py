"""One margin after another: fits to one problem, each started from its neighbours, along given margins or a grid."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from cobic.answer.records import mask_text, read_mask, read_result, result_document
from cobic.answer.steps import Steps
from cobic.certified.margins import Kind, LargestMargin, largest_margin
from cobic.checks import require, require_whole
from cobic.errors import InputError
from cobic.matrix import Bools
from cobic.methods import DEFAULT_METHOD, solve
from cobic.problem import Problem
from cobic.search.budget import Budget
from cobic.search.result import Result, Status

_MOST_MARGINS = 10_000  # each is a search of its own: more take days, and lie on top of each other
_QUICK_PROGRAMS = 1000  # of fits that only lead to the next margin
_CLOSE = 0.15  # of a margin: two that are closer need none between them
_DIGITS = 6  # of the margins of a grid of its own: what is told can be asked for again
_BELOW = 1e-9  # of a margin: what a selection bears is a little less than what it has
_PUSHES = 4  # halvings between what was found and its bound


LEAST: dict[Kind, float] = {"alpha": 0.0, "beta": 1.0}  # the margin that asks for nothing beyond consistency


def at_margin(problem: Problem, kind: Kind, value: float) -> Problem:
    """The problem with another α, or another β."""
    alpha, beta = (value, problem.beta) if kind == "alpha" else (problem.alpha, value)
    return problem.with_margins(alpha, beta)


def rounded_down(value: float, digits: int = _DIGITS) -> float:
    """A number of a few digits, as it is told, that is smaller; 0 for what is not above."""
    value *= 1 - _BELOW
    if not (np.isfinite(value) and value > 0):
        return 0.0
    unit = 10.0 ** (np.floor(np.log10(value)) - digits + 1)
    return float(f"{np.floor(value / unit) * unit:.{digits}g}")


class NoPathError(InputError):
    """No selection even without a margin: there is nothing to trace."""


@dataclass
class Tracer:
    """Solves one problem for one margin after another.

    Ctrl-C is meant for all fits, not for the one at hand: it comes out as `KeyboardInterrupt`, and what was found until
    then stays in `results` and `largest`.
    """

    problem: Problem  # the data, and the margin that is not varied
    kind: Kind  # which margin is varied
    method: str  # how to solve, as in :func:`cobic.solve`
    time_limit: float | None
    seed: int
    options: dict[str, Any]
    results: dict[float, Result] = field(default_factory=dict)  # the fit of each margin
    largest: LargestMargin | None = None  # how far the margin can be raised, where it was asked for
    on_progress: Callable[[str], None] | None = None  # called with a line that says where it stands
    # Where each fit is kept, and looked up: fit by fit, what was found before leads on to the same next one
    steps: Steps = field(default_factory=Steps)
    _n_steps: int = 0

    def of(self, problem: Problem) -> "Tracer":
        """One that has found nothing yet and tells nothing, for another problem, perhaps in another process."""
        return replace(self, problem=problem, results={}, largest=None, on_progress=None, steps=Steps(), _n_steps=0)

    def tell(self, line: str) -> None:
        """Tell the listener, if there is one."""
        if self.on_progress is not None:
            self.on_progress(line)

    @property
    def least(self) -> float:
        """The margin that asks for nothing beyond consistency."""
        return LEAST[self.kind]

    def along(self, values: Sequence[float], *, quick: bool = False) -> None:
        """Solve for ascending values, each started from the last."""
        problem = self.problem
        last: list[Bools] = []
        for value in values:
            result = self.results.get(value) or self._solve(value, last, quick=quick)
            if not (problem.soft or result.consistent) and problem.feature_class_sizes.all():
                # A selection that bears a large margin is a start where the last one does not lead on.
                strong = self._largest_margin(last).support
                result = self._solve(value, [strong, *last], quick=quick)
            self.results[value] = result
            last = [result.support] if result.consistent or problem.soft else last
        self._carry_down()

    def adaptive(self, count: int, start: Sequence[Bools] = ()) -> None:
        """Solve from no margin to the largest feasible one, and between where the number of features changes most."""
        require_whole("n_margins", count, 2, _MOST_MARGINS)
        first = self._solve(self.least, start)
        message = f"there is no path: {first.reason}, which is proven; give slack_penalty for soft margins"
        require(first.status != Status.INFEASIBLE, message, NoPathError)
        message = f"there is no path: {first.reason}; raise time_limit or max_programs, or give slack_penalty"
        require(first.status != Status.UNKNOWN, message, NoPathError)
        self.results[self.least] = first
        if self.problem.soft:  # every margin is feasible: up to the median one of the first fit
            reach = float(np.median(np.abs(self.problem.margins(first.support)))) if self.kind == "alpha" else 4.0
            self.along(np.linspace(self.least, self.least + reach, count).tolist(), quick=True)
            return
        try:
            self._reach_out(first)
            self._fill_in(count)
            self._carry_down()
        finally:  # on Ctrl-C as well: a margin that nobody asked for and nothing was found for is no part of the curve
            self.results = {value: result for value, result in self.results.items() if result.consistent}
            self._raise_largest()

    def _solve(self, value: float, start: Sequence[Bools] = (), *, quick: bool = False) -> Result:
        options = dict(self.options)
        if quick and self.method == DEFAULT_METHOD and not self.problem.soft:  # with soft margins few are the default
            options.setdefault("max_programs", _QUICK_PROGRAMS)
        known = [support for support in start if self.problem.counts(support).all()]
        if known and self.method == DEFAULT_METHOD:
            options["start"] = known
        at, where = at_margin(self.problem, self.kind, value), f"{self.kind} {value:.4g}"
        self.tell(where)
        listener = None if self.on_progress is None else lambda event: self.tell(f"{where}: {event}")
        step, asked = self._next_step("fit"), {"margin": value, "options": options}
        kept = self.steps.recall(step, asked)
        if kept is not None:
            return read_result(kept, at)
        result = solve(at, self.method, self.time_limit, self.seed, listener, **options)
        if result.stopped_by == "interrupt":
            found = result.status in (Status.OPTIMAL, Status.FEASIBLE)
            if found and (value not in self.results or result.objective > self.results[value].objective):
                self.results[value] = result
            raise KeyboardInterrupt
        self.steps.keep(step, asked, result_document(result))
        return result

    def _next_step(self, what: str) -> str:
        """Name of the next step: they come in the same order whenever the same run is done again."""
        self._n_steps += 1
        return f"{what}-{self._n_steps:04d}"

    def _largest_margin(self, known: Sequence[Bools]) -> LargestMargin:
        self.tell(f"the largest {self.kind}")
        step, asked = self._next_step("largest"), {"known": known}
        kept = self.steps.recall(step, asked)
        if kept is not None:
            return LargestMargin(kept["found"], kept["bound"], read_mask(kept["support"], self.problem.n_features))
        with Budget(self.time_limit, None, self.problem.n_selectable) as budget:
            largest = largest_margin(self.problem, self.kind, budget, known)
        if budget.stopped_by == "interrupt":
            raise KeyboardInterrupt
        found, bound = float(largest.found), float(largest.bound)
        self.steps.keep(step, asked, {"found": found, "bound": bound, "support": mask_text(largest.support)})
        return largest

    def _carry_down(self) -> None:
        """What is found for a large margin serves the smaller ones: no fewer features there."""
        if self.problem.soft:
            return
        results, values = self.results, sorted(self.results)
        for low, high in zip(values[-2::-1], values[:0:-1], strict=True):
            if results[high].n_selected > results[low].n_selected:
                again = self._solve(low, [results[high].support, results[low].support], quick=True)
                results[low] = max(results[low], again, key=lambda result: result.n_selected)

    def _reach_out(self, first: Result) -> None:
        """Find the largest margin, and solve for it."""
        largest = self.largest = self._largest_margin([first.support])
        if self.kind == "alpha":
            largest = self.largest = self._pushed(largest)
        top = rounded_down(largest.found)
        if top > self.least:
            self.results[top] = self._solve(top, [largest.support], quick=True)

    def _pushed(self, largest: LargestMargin) -> LargestMargin:
        """Try margins between the largest that was found and its bound."""
        part = 0.5
        for _ in range(_PUSHES):
            found = max(largest.found, 0.0)
            value = found + part * (largest.bound - found)
            result = self._solve(value, [largest.support], quick=True)
            if result.consistent:
                largest = replace(largest, found=value + result.worst_margin, support=result.support)
            else:
                part *= 0.5
        return largest

    def _fill_in(self, count: int) -> None:
        """Solve between the neighbours that differ most, until there are enough margins."""
        while len(self.results) < count and (gap := _widest(self.results)) is not None:
            middle = float(f"{_between(*gap):.{_DIGITS}g}")
            self.results[middle] = self._solve(middle, [self.results[value].support for value in gap], quick=True)

    def _raise_largest(self) -> None:
        """The largest margin again, where a fit turned out to bear more."""
        if self.kind == "beta" or self.largest is None:
            return
        value, result = max(self.results.items(), key=lambda item: item[0] + item[1].worst_margin)
        found = value + result.worst_margin
        if found > self.largest.found:
            self.largest = replace(self.largest, found=found, support=result.support)


def _widest(results: dict[float, Result]) -> tuple[float, float] | None:
    """The neighbours between which the number of features falls by the largest factor."""

    def fall(pair: tuple[float, float]) -> float:
        before, after = (max(results[value].n_selected, 1) for value in pair)
        return before / after

    pairs = [(low, high) for low, high in pairwise(sorted(results)) if high - low > _CLOSE * high]
    widest = max(pairs, key=fall, default=None)
    return None if widest is None or fall(widest) <= 1 else widest


def _between(low: float, high: float) -> float:
    """The middle; the geometric one where the values are of different sizes."""
    return float(np.sqrt(low * high)) if low > 0 and high > 4 * low else 0.5 * (low + high)
