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
from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np

from cobic.certified.effort import DEFAULT
from cobic.checks import require_whole
from cobic.errors import InputError
from cobic.matrix import Bools, Floats
from cobic.methods.fixed_point import iterate
from cobic.methods.linearisation import CountRange, Linearisation
from cobic.methods.outcome import Outcome
from cobic.problem import Problem
from cobic.search.budget import Budget, Incumbent, SoftIncumbent
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
    problem : Problem
        What to solve; every class has features.
    budget : Budget
        When to stop.
    rng : numpy.random.Generator
        Not used: the method is deterministic.
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
    search = (_SoftSearch if problem.soft else _HardSearch)(problem, budget)
    if warm_start:
        search.start()
        for _ in range(rounds):
            if search.ended or search.counts.empty or not search.tighten():
                break
    if not search.ended:
        search.run()
    return search.outcome()


class _Search(ABC):
    """The course of one solve."""

    gap: float

    def __init__(self, problem: Problem, budget: Budget) -> None:
        self.problem, self.budget = problem, budget
        self.bound = float(problem.n_selectable)
        self.counts = CountRange.of(problem, 0)

    @property
    @abstractmethod
    def support(self) -> Bools | None:
        """The best selection so far."""

    @property
    @abstractmethod
    def least(self) -> float:
        """What the best selection so far is worth."""

    @abstractmethod
    def find(self) -> None:
        """Look for a selection to start from."""

    @abstractmethod
    def offer(self, support: Bools) -> bool:
        """Take a selection if it is better; whether it is allowed."""

    @abstractmethod
    def model(self) -> Linearisation:
        """The model for the present numbers of features."""

    @abstractmethod
    def note_bound(self, bound: float) -> None:
        """Note a bound on the objective."""

    @abstractmethod
    def outcome(self) -> Outcome:
        """The best selection and the bound."""

    @property
    def settled(self) -> bool:
        """Whether nothing better than the best selection can exist."""
        return self.support is not None and self.bound <= self.least

    @property
    def ended(self) -> bool:
        """Whether there is nothing left to do, or no time to do it."""
        return self.settled or self.budget.exhausted()

    def start(self) -> None:
        """Find a selection to start from, and what follows from its size."""
        self.offer(self.problem.selectable)
        if not self.settled:
            self.find()
        if self.support is not None:
            self.counts = CountRange.of(self.problem, max(0, math.ceil(self.least - _ROUNDING)))

    def tighten(self) -> bool:
        """Bound the objective and the number of features of each class by linear programs; whether any bound moved."""
        model, solver, counts = self.model(), LpSolver(self.budget), self.counts
        self.note_bound(_relaxed_maximum(solver, model.program, model.program.gain))
        if self.ended:
            return False
        low, high = counts.low.copy(), counts.high.copy()
        for cls in range(self.problem.n_classes):
            of_class = np.zeros(model.program.n_columns)
            of_class[: model.features.size] = model.classes == cls
            high[cls] = min(high[cls], _whole(_relaxed_maximum(solver, model.program, of_class)))
            low[cls] = max(low[cls], -_whole(_relaxed_maximum(solver, model.program, -of_class)))
        self.counts = CountRange(low, high, counts.total)
        return bool((low > counts.low).any() or (high < counts.high).any())

    def run(self) -> None:
        """Let the solver branch, again and again if what it finds is not consistent in exact arithmetic."""
        if self.counts.empty:
            self.note_bound(self.least)
            return
        model = self.model()
        program, start = model.program, None if self.support is None else model.solution(self.support)
        note = self.note_bound if np.abs(program.gain).max() <= _DEAREST else _ignore
        for _ in range(_MOST_CUTS):
            solution = solve_mixed(program, self.budget, gap=self.gap, start=start, on_bound=note)
            self.budget.lps += solution.nodes
            allowed = solution.x is None or self.offer(model.selection(solution.x))
            note(max(solution.bound, self.least))
            if solution.x is None or allowed or not solution.settled:
                break
            program = program.with_rows(*_cut_off(model, model.selection(solution.x)))


class _HardSearch(_Search):
    """With hard margins the objective is the number of features."""

    gap = _GAP

    def __init__(self, problem: Problem, budget: Budget) -> None:
        super().__init__(problem, budget)
        self._incumbent = Incumbent(problem, budget)

    @property
    def support(self) -> Bools | None:
        return self._incumbent.support

    @property
    def least(self) -> float:
        return float(self._incumbent.n_selected)

    def find(self) -> None:
        iterate(self.problem, self.budget, self._incumbent, DEFAULT.starting_programs)

    def offer(self, support: Bools) -> bool:
        return self._incumbent.offer(support)

    def model(self) -> Linearisation:
        return Linearisation(self.problem, self.counts, leeway=_LEEWAY)

    def note_bound(self, bound: float) -> None:
        whole = max(float(_whole(bound)), self.least)
        if whole < self.bound:
            self.bound = whole
            self.budget.report(upper_bound=int(whole))

    def outcome(self) -> Outcome:
        support = np.zeros(self.problem.n_features, dtype=np.bool_) if self.support is None else self.support
        return Outcome(support, upper_bound=int(self.bound), reason=_said(int(self.bound), support))


class _SoftSearch(_Search):
    """With soft margins the objective is the number of features less the price of the violations."""

    gap = _SOFT_GAP

    def __init__(self, problem: Problem, budget: Budget) -> None:
        super().__init__(problem, budget)
        self._incumbent = SoftIncumbent(problem, budget)

    @property
    def support(self) -> Bools | None:
        return self._incumbent.support

    @property
    def least(self) -> float:
        return self._incumbent.objective

    def find(self) -> None:
        self.offer(climb(self.problem, self.problem.selectable, self.budget))

    def offer(self, support: Bools) -> bool:
        return self._incumbent.offer(support) > -math.inf

    def model(self) -> Linearisation:
        return Linearisation(self.problem, self.counts, least=self.least)

    def note_bound(self, bound: float) -> None:
        bound = max(bound, self.least)
        if bound < self.bound:
            self.bound = bound
            self.budget.report_objective(bound, 0)

    def outcome(self) -> Outcome:
        support = np.zeros(self.problem.n_features, dtype=np.bool_) if self.support is None else self.support
        return Outcome(support, self.problem.n_selectable, self.bound)


def _said(bound: int, support: Bools) -> str:
    """Whose word a proof is."""
    if bound == 0:
        return "no selection is consistent, says HiGHS in floating point"
    if bound == int(support.sum()):
        return f"consistent; HiGHS says in floating point that no consistent selection has more than {bound} features"
    return ""


def _relaxed_maximum(solver: LpSolver, program: LinearProgram, gain: Floats) -> float:
    """A bound on what the continuous program can reach; infinite if the budget ran out."""
    relaxed = replace(program, gain=gain, integer=None)
    solution = solver.solve(relaxed)
    return math.inf if solution is None else relaxed.dual_bound(solution.duals)


def _ignore(_bound: float) -> None:
    """What is done with the bound of a solver that cannot be trusted."""


def _whole(bound: float) -> float:
    return math.floor(bound + _ROUNDING) if math.isfinite(bound) else bound


def _cut_off(model: Linearisation, support: Bools) -> tuple[Entries, Floats, Floats]:
    """A row that this selection violates and every other satisfies."""
    inside = support[model.features]
    columns = np.arange(inside.size)
    entries = Entries(np.zeros(inside.size, dtype=np.intp), columns, np.where(inside, -1.0, 1.0))
    return entries, np.array([1.0 - inside.sum()]), np.array([np.inf])
