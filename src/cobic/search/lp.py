"""HiGHS: the only module that knows the solver."""

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from cobic.matrix import Floats
from cobic.search.budget import Budget
from cobic.search.program import LinearProgram

Options = dict[str, bool | int | float | str]
Names = tuple[list[Hashable], list[Hashable]]  # of columns and rows

# Few rows, many boxed columns, rows scaled by us: the dual simplex without presolve is the fastest here.
_OPTIONS: Options = {
    "output_flag": False,
    "threads": 1,
    "solver": "simplex",
    "simplex_strategy": 1,
    "simplex_scale_strategy": 0,
    "presolve": "off",
}
# A basis stays feasible when columns come in: the primal simplex goes on from there.
_PRIMAL_OPTIONS: Options = {"simplex_strategy": 4}
# Programs with fewer entries take a few milliseconds at most.
_TOO_SMALL_TO_INTERRUPT = 200_000
# For the rare program on which the fast settings fail numerically.
_CAREFUL_OPTIONS: Options = {"simplex_scale_strategy": 2, "presolve": "on"}


@dataclass(frozen=True)
class LpSolution:
    """An optimal solution."""

    x: Floats  # the variables, inside their bounds
    duals: Floats  # multipliers of the rows: at least 0 for a row that is bounded below, up to the solver's tolerance


class SolverError(RuntimeError):
    """HiGHS refused what it was given."""


class LpSolver:
    """Solves one linear program after another, each started from the basis of the last."""

    def __init__(self, budget: Budget, *, primal: bool = False) -> None:
        self._budget = budget
        self._shape: tuple[int, int] | None = None
        self._ends: dict[Hashable, Any] = {}
        self.highs = highspy.Highs()  # type: ignore[no-untyped-call]
        self._options = {**_OPTIONS, **(_PRIMAL_OPTIONS if primal else {})}
        _set_options(self.highs, self._options)
        # Python runs pending signal handlers inside the callback: that is how Ctrl-C gets through to the solver. The
        # callback must not hold this object, which holds the solver: Python cannot see that circle, nor free it.
        self.highs.setCallback(_interrupt_check(budget), None)
        self.highs.startCallback(highspy.cb.HighsCallbackType.kCallbackSimplexInterrupt)

    def solve(self, program: LinearProgram, names: Names | None = None) -> LpSolution | None:
        """Return an optimal solution, or None if the budget ran out first.

        With names of columns and rows, those that the last program had, too, start from where they ended there. Without
        them a program of the same shape does.

        Callers use a solution as a proposal only and check what follows from it: where the solver fails on badly scaled
        numbers, what it ended with is returned.
        """
        if self._budget.exhausted():
            return None
        self.load(program)
        if names is not None:
            self._start_from(names)
        status = self.optimise()
        if status == highspy.HighsModelStatus.kInterrupt:
            self._shape = None
            return None
        if names is not None:
            basis, known = self.highs.getBasis(), names[0] + names[1]
            ends = [*basis.col_status, *basis.row_status]
            self._ends = dict(zip(known, ends, strict=True)) if len(ends) == len(known) else {}  # it may have failed
        self._budget.lps += 1
        return self._answer(program)

    def _start_from(self, names: Names) -> None:
        """Columns that are new begin at their bounds, rows that are new are not binding."""
        status = highspy.HighsBasisStatus
        basis = highspy.HighsBasis()
        basis.col_status = [self._ends.get(name, status.kLower) for name in names[0]]
        basis.row_status = [self._ends.get(name, status.kBasic) for name in names[1]]
        basis.valid = True
        if self._ends and self.highs.setBasis(basis) == highspy.HighsStatus.kError:
            self.highs.clearSolver()  # what was left out was needed: begin anew

    def _answer(self, program: LinearProgram) -> LpSolution:
        """What the solver ended with; on numbers that it cannot cope with that may be far from optimal, or nothing."""
        solution = self.highs.getSolution()
        x, duals = np.array(solution.col_value), np.array(solution.row_dual)
        if x.size != program.n_columns or duals.size != program.n_rows:
            x, duals = np.zeros(program.n_columns), np.zeros(program.n_rows)
        return LpSolution(np.clip(np.nan_to_num(x), program.lower, program.upper), np.nan_to_num(duals))

    def load(self, program: LinearProgram) -> None:
        """Pass a program to the solver, with the basis of the last one if it has the same shape."""
        shape = (program.n_rows, program.n_columns)
        basis = self.highs.getBasis() if shape == self._shape else None
        _pass(program, self.highs)
        if basis is not None:
            _require(self.highs.setBasis(basis), "setBasis")
        self._shape = shape

    def optimise(self) -> Any:
        """Run the solver on what is loaded, a second time with care if need be; the status it ends with."""
        ends = highspy.HighsModelStatus
        self.highs.run()
        status = self.highs.getModelStatus()
        if status not in (ends.kOptimal, ends.kInterrupt, ends.kInfeasible):
            self.highs.clearSolver()
            _set_options(self.highs, _CAREFUL_OPTIONS)
            self.highs.run()
            status = self.highs.getModelStatus()
            _set_options(self.highs, self._options)
        return status


def _set_options(highs: Any, options: Options) -> None:
    for name, value in options.items():
        _require(highs.setOptionValue(name, value), name)


def _require(status: Any, what: str) -> None:
    if status == highspy.HighsStatus.kError:
        message = f"HiGHS refused {what}"
        raise SolverError(message)


def _interrupt_check(budget: Budget, on_bound: Callable[[float], None] | None = None) -> Callable[..., None]:
    """What the solver asks in the course of its work; it tells its bound meanwhile."""
    mip = int(highspy.cb.HighsCallbackType.kCallbackMipInterrupt)

    def check(kind: Any, _message: str, state: Any, answer: Any, _data: Any) -> None:
        if budget.exhausted():
            answer.user_interrupt = True
        elif on_bound is not None and int(kind) == mip:
            on_bound(-state.mip_dual_bound)

    return check


def _pass(program: LinearProgram, highs: Any) -> None:
    """Give a program to the solver, in minimisation form."""
    sizes = (program.n_columns, program.n_rows, program.values.size)
    form = (int(highspy.MatrixFormat.kColwise), int(highspy.ObjSense.kMinimize))
    bounds = (program.lower, program.upper, program.row_lower, program.row_upper)
    entries = (program.starts, program.rows, program.values)
    whole = np.zeros(program.n_columns) if program.integer is None else program.integer
    status = highs.passModel(*sizes, *form, 0.0, -program.gain, *bounds, *entries, whole.astype(np.int32))
    _require(status, "passModel")


class BranchingLp:
    """One linear program whose column bounds change from solve to solve, as in branch and bound."""

    def __init__(self, program: LinearProgram, budget: Budget) -> None:
        self._solver = LpSolver(budget)
        self._budget, self._highs = budget, self._solver.highs
        self._lower, self._upper = program.lower.copy(), program.upper.copy()
        if program.values.size < _TOO_SMALL_TO_INTERRUPT:  # asking during them would take longer than they do
            self._highs.stopCallback(highspy.cb.HighsCallbackType.kCallbackSimplexInterrupt)
        self._solver.load(program)

    def bound(self, columns: NDArray[np.intp], lower: Floats, upper: Floats) -> None:
        """Set the bounds of some columns; the rest stay as they are."""
        changed = (self._lower[columns] != lower) | (self._upper[columns] != upper)
        which = columns[changed].astype(np.int32)
        if which.size:
            self._lower[which], self._upper[which] = lower[changed], upper[changed]
            self._highs.changeColsBounds(which.size, which, lower[changed], upper[changed])

    def maximum(self) -> float | None:
        """The optimum; −∞ if there is no solution, None if the budget ran out."""
        if self._budget.exhausted():
            return None
        status = self._solver.optimise()
        if status == highspy.HighsModelStatus.kInterrupt:
            return None
        if status != highspy.HighsModelStatus.kOptimal:
            return -np.inf
        self._budget.lps += 1
        return -float(self._highs.getInfo().objective_function_value)

    def solution(self) -> LpSolution:
        """The optimal solution that :meth:`maximum` found."""
        solution = self._highs.getSolution()
        return LpSolution(np.array(solution.col_value), np.array(solution.row_dual))

    def basis(self) -> Any:
        """Where the last solve ended, for :meth:`restart`."""
        return self._highs.getBasis()

    def restart(self, basis: Any) -> None:
        """Start the next solve from a basis."""
        self._highs.setBasis(basis)


@dataclass(frozen=True)
class MixedSolution:
    """What the solver says about a program with whole columns."""

    x: Floats | None  # the best solution, within the solver's tolerances; None if none was found
    # No solution has a larger gain, as far as the solver's floating point can be trusted; −∞ if there is none
    bound: float
    settled: bool  # whether the solver came to an end by itself: `x` is optimal, or there is no solution
    nodes: int  # nodes of its search tree


_LATE = 0.05  # seconds that the solver's own clock is given beyond the budget, which is asked more often
# Closer than the defaults: in the linearised model a tolerance of 1e-6 is a good part of what one feature moves.
_MIXED_OPTIONS: Options = {
    "output_flag": False,
    "threads": 1,
    "mip_rel_gap": 0.0,
    "mip_feasibility_tolerance": 1e-8,
    "small_matrix_value": 1e-12,  # entries below are dropped
    "primal_feasibility_tolerance": 1e-9,
}


def solve_mixed(
    program: LinearProgram,
    budget: Budget,
    *,
    gap: float,
    start: Floats | None = None,
    seconds: float = math.inf,
    on_bound: Callable[[float], None] | None = None,
) -> MixedSolution:
    """Solve a program with whole columns by the branch and bound of HiGHS."""
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    limit = max(min(seconds, budget.remaining + _LATE), 0.0)
    _set_options(highs, {**_MIXED_OPTIONS, "mip_abs_gap": gap, "time_limit": limit})
    _pass(program, highs)
    if start is not None:
        solution = highspy.HighsSolution()
        solution.col_value = start.tolist()
        highs.setSolution(solution)
    highs.setCallback(_interrupt_check(budget, on_bound), None)
    kinds = highspy.cb.HighsCallbackType
    for kind in (kinds.kCallbackMipInterrupt, kinds.kCallbackSimplexInterrupt, kinds.kCallbackIpmInterrupt):
        highs.startCallback(kind)
    highs.run()
    budget.exhausted()  # takes note of a limit that the solver was the first to see
    status, info = highs.getModelStatus(), highs.getInfo()
    nodes = int(info.mip_node_count)
    if status == highspy.HighsModelStatus.kInfeasible:
        return MixedSolution(None, -math.inf, settled=True, nodes=nodes)
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    x = np.clip(np.array(highs.getSolution().col_value), program.lower, program.upper) if found else None
    settled = status == highspy.HighsModelStatus.kOptimal
    return MixedSolution(x, -float(info.mip_dual_bound), settled=settled, nodes=nodes)
