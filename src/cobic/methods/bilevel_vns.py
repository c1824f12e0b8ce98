"""Bilevel optimisation with variable neighbourhood search: Algorithm 1 of Mucherino & Cafieri (2010).

The denominators of the class means are replaced by shares ``y_r`` that add up to 1. The *inner* problem keeps as many
features as possible for given shares: a linear program, solved continuously and rounded at ½. The *outer* problem
looks for shares at which the rounded x violates nothing:

    g(x, y) = Σ_r Σ_{q≠r} Σ_{j∈S_r} | β_j/y_q Σ_{F_q} a_ij x_i − 1/y_r Σ_{F_r} a_ij x_i + α_j Σ_i x_i |₊  =  0.

Start with all features and their shares. While g > 0 and the range is at most its maximum: solve the inner problem; if
still g > 0, widen the range (or reset it, if g is the smallest so far), and move two random shares.

**The trap.** Nothing ties y to the shares that x really has, so g(x, y) = 0 does not mean that x is consistent. On
Golub's data, α = 0, the printed algorithm ends with g = 0 at about 7083 features, and the true means misread two
training samples. Hence the option `criterion`:

``"published"``
    the algorithm as printed. It stops at g(x, y) = 0 and returns that x; the result's status is ``"feasible"`` only
    if the true means agree, ``"unknown"`` otherwise.
``"consistent"`` (default)
    the same search, which goes on until x is consistent by its *true* means. After each inner problem the true shares
    of the rounded x are tried as well, and a cheap repair (`cobic.search.repair`) turns what comes out into a truly
    consistent candidate. The largest candidate is returned.

Where the paper is silent, we read it so:

* "g has improved" means: below the smallest g of the run so far;
* "increase range" multiplies it by `range_growth`;
* y must stay in (0, 1). r' and r'' are drawn first, then y_r' uniformly from the part of [y_r' − range, y_r' + range]
  that leaves both y_r' and y_r'' at least 1/m, the share of a single feature. That is the printed draw, repeated until
  it fits; such a part always exists, because the present y_r' is in it.
* every run begins with a linear program of its own, so that it does not matter which runs came before, or beside it.
* g counts as 0 if no single term exceeds 1e-9 of its row's size: the rounding error of the sums, not a violation.
"""

from typing import Literal, NamedTuple

import numpy as np

from cobic.checks import is_number, require_choice, require_jobs, require_whole
from cobic.errors import InputError
from cobic.matrix import Bools, Floats
from cobic.methods.relaxation import Relaxation, shares_of
from cobic.problem import Problem
from cobic.search.budget import Budget, Incumbent
from cobic.search.judge import Outcome
from cobic.search.lp import LpSolver
from cobic.search.parallel import runs_alone, side_by_side
from cobic.search.repair import repair
from cobic.search.result import Run

_NEGLIGIBLE = 1e-9  # of the values: rounding, not a violation


class _Parameters(NamedTuple):
    criterion: str
    starting_range: float
    max_range: float
    range_growth: float
    max_iterations: int


def solve(
    problem: Problem,
    budget: Budget,
    rng: np.random.Generator,
    *,
    criterion: Literal["consistent", "published"] = "consistent",
    restarts: int = 5,
    starting_range: float = 0.001,
    max_range: float = 0.2,
    range_growth: float = 2.0,
    max_iterations: int = 100,
    n_jobs: int | None = None,
) -> Outcome:
    """Run Algorithm 1 from several seeds and keep the best selection.

    Parameters
    ----------
    problem, budget, rng : Problem, Budget, numpy.random.Generator
        What to solve, when to stop, and the source of the seeds of the runs.
    criterion : {"consistent", "published"}, default="consistent"
        When a run ends: x consistent by its true means, or g(x, y) = 0 as printed, which does not imply it.
    restarts : int, default=5
        Number of runs. A run that needed no random draw is not repeated: the next would be the same.
    starting_range, max_range : float, default=0.001, 0.2
        Half-width of the interval from which a share is drawn: at the start, and where a run gives up.
    range_growth : float, default=2.0
        Factor by which the range grows when g did not improve.
    max_iterations : int, default=100
        Largest number of rounds in one run.
    n_jobs : int, optional
        Runs at the same time, as in joblib. The answer is the same for every number, unless the time limit cuts it.

    Returns
    -------
    Outcome
        The best selection and a report of every run.
    """
    require_whole("restarts", restarts, 1)
    require_whole("max_iterations", max_iterations, 1)
    require_choice("criterion", criterion, ("consistent", "published"))
    if not (is_number(starting_range) and is_number(max_range) and 0 < starting_range <= max_range < 1):
        message = (
            f"starting_range is {starting_range!r} and max_range {max_range!r}: "
            "they must satisfy 0 < starting_range <= max_range < 1"
        )
        raise InputError(message)
    if not (is_number(range_growth) and range_growth > 1):
        message = f"range_growth is {range_growth!r}: it must be above 1, or the search never ends"
        raise InputError(message)
    require_jobs(n_jobs)
    parameters = _Parameters(criterion, starting_range, max_range, range_growth, max_iterations)
    seeds = rng.spawn(restarts)
    if runs_alone(n_jobs):
        search, ended = _Search(problem, budget, parameters), []
        for seed in seeds:
            ended.append(search.run(seed))
            if not ended[-1].drew or budget.exhausted():
                break
    else:
        ended = _side_by_side((problem, parameters, budget.ends_at), budget, seeds, n_jobs)
    return _outcome(problem, parameters, ended)


_Shared = tuple[Problem, _Parameters, float | None]  # what to solve, how, and until when


class _Ended(NamedTuple):
    """What a run leaves: its report, its last x, the largest consistent x so far, whether it drew random numbers."""

    run: Run
    x: Bools
    best: Bools | None
    drew: bool


def _side_by_side(
    shared: _Shared, budget: Budget, seeds: list[np.random.Generator], n_jobs: int | None
) -> list[_Ended]:
    ended: dict[int, _Ended] = {}
    lps_before, largest = budget.lps, 0
    try:
        with budget.waiting():
            for place, each in side_by_side(_run_elsewhere, shared, dict(enumerate(zip(seeds, strict=True))), n_jobs):
                ended[place] = each
                budget.lps += each.run.inner_lps
                if each.run.n_selected is not None and each.run.n_selected > largest:
                    largest = each.run.n_selected
                    budget.report(n_selected=largest)
                if budget.exhausted():
                    break
    except KeyboardInterrupt:
        if not ended:
            raise
    in_order = [ended[place] for place in sorted(ended)]
    # One by one, nothing would follow a run that drew nothing.
    last = next((place for place, each in enumerate(in_order) if not each.drew), len(in_order))
    budget.lps = lps_before + sum(each.run.inner_lps for each in in_order[: last + 1])
    return in_order[: last + 1]


def _run_elsewhere(shared: _Shared, seed: np.random.Generator) -> _Ended:
    problem, parameters, ends_at = shared
    with Budget.until(ends_at, problem.n_selectable) as budget:
        return _Search(problem, budget, parameters).run(seed)


def _outcome(problem: Problem, parameters: _Parameters, ended: list[_Ended]) -> Outcome:
    """The best of all runs, in the sense of the criterion."""
    runs = tuple(each.run for each in ended)
    if parameters.criterion != "published":
        met = [each.best for each in ended if each.best is not None]
        if met:
            best = max(met, key=lambda support: (int(support.sum()), problem.worst_margin(support)))
            return Outcome(best, runs=runs)
    place = min(range(len(runs)), key=lambda index: (runs[index].g, -runs[index].f))
    return Outcome(ended[place].x, runs=runs)


class _Step(NamedTuple):
    """One round: the selection, its g(x, y), the violation that guides the search, and whether the run is over."""

    x: Bools
    g: float
    guide: float
    ended: bool


class _Search:
    """Runs on one problem; the relaxation serves them all, a solver and its basis only one."""

    def __init__(self, problem: Problem, budget: Budget, parameters: _Parameters) -> None:
        self._problem, self._budget, self._parameters = problem, budget, parameters
        self._incumbent = Incumbent(problem, budget)
        self._relaxation, self._solver = Relaxation(problem), LpSolver(budget)
        self._published = parameters.criterion == "published"
        self._largest_of_run: int | None = None

    def run(self, rng: np.random.Generator) -> _Ended:
        """Do one run."""
        limits, lps_before, iterations, draws = self._parameters, self._budget.lps, 0, 0
        self._largest_of_run, self._solver = None, LpSolver(self._budget)
        everything = self._problem.selectable
        shares = shares_of(self._problem, everything.astype(np.float64))
        step, reach = self._judged(everything, shares), limits.starting_range
        least = step.guide
        while not step.ended and reach <= limits.max_range and iterations < limits.max_iterations:
            next_step = self._round(shares)
            if next_step is None:
                break
            step, iterations = next_step, iterations + 1
            if not step.ended:
                reach = limits.starting_range if step.guide < least else reach * limits.range_growth
                least = min(least, step.guide)
                shares = _moved(shares, reach, 1.0 / self._problem.n_features, rng)
                draws += 1
        report = Run(
            iterations=iterations,
            inner_lps=self._budget.lps - lps_before,
            f=int(step.x.sum()),
            g=step.g,
            worst_margin=self._problem.worst_margin(step.x),
            n_selected=self._largest_of_run,
        )
        return _Ended(report, step.x, self._incumbent.support, draws > 0)

    def _round(self, shares: Floats) -> _Step | None:
        """Solve the inner problem and judge its rounded solution; None if the budget ran out.

        Where x is to be consistent and is not, its true shares are tried; if that does not help, it is repaired.
        """
        step = self._solve_inner(shares)
        if step is None or step.ended or self._published:
            return step
        again = self._solve_inner(shares_of(self._problem, step.x.astype(np.float64)))
        if again is not None and (again.ended or again.guide < step.guide):
            step = again
        mended = None if step.ended else repair(self._problem, step.x, self._budget)
        if mended is not None:
            self._offer(mended)
        return step

    def _solve_inner(self, shares: Floats) -> _Step | None:
        solution = self._solver.solve(self._relaxation.at_shares(shares))
        return None if solution is None else self._judged(self._relaxation.by_feature(solution.x) > 0.5, shares)

    def _judged(self, x: Bools, shares: Floats) -> _Step:
        consistent, g = self._offer(x), violation(self._problem, x, shares)
        if self._published:
            return _Step(x, g, g, g == 0)
        true_shares = shares_of(self._problem, x.astype(np.float64))
        return _Step(x, g, violation(self._problem, x, true_shares), consistent)

    def _offer(self, x: Bools) -> bool:
        consistent = self._incumbent.offer(x)
        if consistent:
            self._largest_of_run = max(self._largest_of_run or 0, int(x.sum()))
        return consistent


def violation(problem: Problem, x: Bools, shares: Floats) -> float:
    """Violation g(x, y) of the share-scaled comparisons; 0 if none is violated by more than its rounding error."""
    comparisons, size = problem.comparisons, float(x.sum())
    scaled = problem.sums(x.astype(np.float64)) / shares
    rows = comparisons.margins(scaled) - (size - 1.0) * comparisons.alpha[:, None]
    terms = np.maximum(-rows, 0.0)
    negligible = _NEGLIGIBLE * size * problem.row_scale()[:, None] / shares.min()
    return float(terms.sum()) if (terms > negligible).any() else 0.0


def _moved(shares: Floats, reach: float, least: float, rng: np.random.Generator) -> Floats:
    """Draw a new value for one share and let another take up the difference; both stay at or above `least`."""
    first, second = rng.choice(shares.size, size=2, replace=False)
    both = shares[first] + shares[second]
    low = max(shares[first] - reach, min(least, shares[first]))
    high = min(shares[first] + reach, both - min(least, shares[second]))
    moved = shares.copy()
    moved[first] = rng.uniform(low, high)
    moved[second] = both - moved[first]
    return moved
