"""The exact mixed-integer program for a general solver: Wu's linearisation, solved by HiGHS.

:mod:`cobic.methods.linearisation` has the model, from Busygin, Prokopyev & Pardalos (2005). As published, with nothing
known about the numbers of features, it is out of reach at real sizes. A general solver gets all the help here that a
careful user could give it:

1. *Start.* The LP fixed point (with soft margins, a local search) finds a selection of T features. Only selections of
   at least T matter from then on: this bounds z, and the solver starts from that selection.
2. *Bounds.* The linear relaxation bounds the number of features in all. As long as that is above T, the smallest and
   the largest number of features of each class are found by two linear programs per class, and the model is built
   anew with these numbers, `rounds` times at most.
3. *Branch and bound* by HiGHS. Solvers do not know ``>``: comparisons get a hair of leeway, so that no consistent
   selection is lost, and a solution that is not consistent by the true means in exact arithmetic is cut off and the
   search goes on.

``warm_start=False`` leaves out 1 and 2: the model as published, but for its scale and the curve of 1/n. With soft
margins that are too dear for the solver's tolerances its bound is not used.

What is proven here is proven by HiGHS in floating point: there is no certificate. The bounds of step 2 are computed
anew from the multipliers, without trusting the solver's word, but not rigorously against rounding.
"""

import math
from dataclasses import replace

import numpy as np

from cobic.certified.effort import DEFAULT
from cobic.checks import require_whole
from cobic.errors import InputError
from cobic.matrix import Bools, Floats
from cobic.methods.fixed_point import iterate
from cobic.methods.linearisation import CountRange, Linearisation
from cobic.problem import Problem
from cobic.search.budget import Budget, Incumbent
from cobic.search.judge import Outcome
from cobic.search.lp import LpSolver, solve_mixed
from cobic.search.program import Entries, LinearProgram
from cobic.search.repair import climb

_ROUNDING = 1e-6  # a bound this little below a whole number stands for it
_LEEWAY = 1e-9  # of a margin: what the solver may take for satisfied
_MOST_CUTS = 1000  # selections that only the solver takes for consistent; a handful in practice
_DEAREST = 1e7  # with a dearer slack the tolerances of the solver are worth whole features
_GAP, _SOFT_GAP = 1 - 1e-3, 1e-7  # features are whole: less than one apart is proven; objectives are not


def solve(
    problem: Problem,
    budget: Budget,
    rng: np.random.Generator,  # noqa: ARG001
    *,
    warm_start: bool = True,
    rounds: int = 2,
) -> Outcome:
    """Build the program and have it solved.

    Parameters
    ----------
    problem, budget, rng : Problem, Budget, numpy.random.Generator
        What to solve, and when to stop; nothing is random here.
    warm_start : bool, default=True
        Whether to start from a selection, and to derive bounds from it.
    rounds : int, default=2
        How often the bounds may be tightened by linear programs before the search.

    Returns
    -------
    Outcome
        The best selection and the solver's bound.
    """
    require_whole("rounds", rounds, 0)
    if not isinstance(warm_start, bool):
        message = f"warm_start is {warm_start!r}: give True or False"
        raise InputError(message)
    search = _Search(problem, budget)
    if warm_start:
        search.start()
        for _ in range(rounds):
            if search.ended or search.counts.empty or not search.tighten():
                break
    if not search.ended:
        search.run()
    return search.outcome()


class _Search:
    """The course of one solve."""

    def __init__(self, problem: Problem, budget: Budget) -> None:
        self._problem, self._budget, self._incumbent = problem, budget, Incumbent(problem, budget)
        self.bound = float(problem.n_selectable)
        self.counts = CountRange.of(problem, 0)

    @property
    def least(self) -> float:
        """What the best selection so far is worth; with hard margins 0 if there is none."""
        return self._incumbent.objective if self._problem.soft else float(self._incumbent.n_selected)

    @property
    def ended(self) -> bool:
        """Whether nothing better than the best selection can exist, or there is no time to look for it."""
        settled = self._incumbent.support is not None and self.bound <= self.least
        return settled or self._budget.exhausted()

    def start(self) -> None:
        """Find a selection to start from, and what follows from its size."""
        problem, incumbent = self._problem, self._incumbent
        incumbent.offer(problem.selectable)
        if self.least < self.bound:
            if problem.soft:
                incumbent.offer(climb(problem, problem.selectable, self._budget))
            else:
                iterate(problem, self._budget, incumbent, DEFAULT.starting_programs)
        if incumbent.support is not None:
            self.counts = CountRange.of(problem, max(0, math.ceil(self.least - _ROUNDING)))

    def _model(self) -> Linearisation:
        """The model for the present numbers of features."""
        if self._problem.soft:
            return Linearisation(self._problem, self.counts, least=self.least)
        return Linearisation(self._problem, self.counts, leeway=_LEEWAY)

    def tighten(self) -> bool:
        """Bound the objective and the number of features of each class by linear programs; whether any bound moved."""
        model, solver, counts = self._model(), LpSolver(self._budget), self.counts
        self._note_bound(_relaxed_maximum(solver, model.program, model.program.gain))
        if self.ended:
            return False
        low, high = counts.low.copy(), counts.high.copy()
        for cls in range(self._problem.n_classes):
            of_class = np.zeros(model.program.n_columns)
            of_class[: model.features.size] = model.classes == cls
            high[cls] = min(high[cls], _whole(_relaxed_maximum(solver, model.program, of_class)))
            low[cls] = max(low[cls], -_whole(_relaxed_maximum(solver, model.program, -of_class)))
        self.counts = CountRange(low, high, counts.total)
        return bool((low > counts.low).any() or (high < counts.high).any())

    def run(self) -> None:
        """Let the solver branch, again and again if what it finds is not consistent in exact arithmetic."""
        if self.counts.empty:
            self._note_bound(self.least)
            return
        model, found = self._model(), self._incumbent.support
        program, start = model.program, None if found is None else model.solution(found)
        trusted = np.abs(program.gain).max() <= _DEAREST
        note, gap = self._note_bound if trusted else None, _SOFT_GAP if self._problem.soft else _GAP
        for _ in range(_MOST_CUTS):
            solution = solve_mixed(program, self._budget, gap=gap, start=start, on_bound=note)
            self._budget.lps += solution.nodes
            allowed = solution.x is None or self._incumbent.offer(model.selection(solution.x))
            if trusted:
                self._note_bound(max(solution.bound, self.least))
            if solution.x is None or allowed or not solution.settled:
                break
            program = program.with_rows(*_cut_off(model, model.selection(solution.x)))

    def _note_bound(self, bound: float) -> None:
        """Note a bound on the objective; with hard margins this is a number of features."""
        bound = max(bound if self._problem.soft else float(_whole(bound)), self.least)
        if bound >= self.bound:
            return
        self.bound = bound
        if self._problem.soft:
            self._budget.report_objective(bound, 0)
        else:
            self._budget.report(upper_bound=int(bound))

    def outcome(self) -> Outcome:
        """The best selection and the bound, and whose word that is."""
        support, bound = self._incumbent.selection, self.bound
        if self._problem.soft:
            return Outcome(support, self._problem.n_selectable, bound)
        reason = ""
        if bound == 0:
            reason = "no selection is consistent, says HiGHS in floating point"
        elif bound == self._incumbent.n_selected:
            most = f"no consistent selection has more than {bound:.0f} features"
            reason = f"consistent; HiGHS says in floating point that {most}"
        return Outcome(support, int(bound), reason=reason)


def _relaxed_maximum(solver: LpSolver, program: LinearProgram, gain: Floats) -> float:
    """A bound on what the continuous program can reach; infinite if the budget ran out."""
    relaxed = replace(program, gain=gain, integer=None)
    solution = solver.solve(relaxed)
    return math.inf if solution is None else relaxed.dual_bound(solution.duals)


def _whole(bound: float) -> float:
    return math.floor(bound + _ROUNDING) if math.isfinite(bound) else bound


def _cut_off(model: Linearisation, support: Bools) -> tuple[Entries, Floats, Floats]:
    """A row that this selection violates and every other satisfies."""
    inside = support[model.features]
    columns = np.arange(inside.size)
    entries = Entries(np.zeros(inside.size, dtype=np.intp), columns, np.where(inside, -1.0, 1.0))
    return entries, np.array([1.0 - inside.sum()]), np.array([np.inf])
