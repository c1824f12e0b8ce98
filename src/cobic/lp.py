"""Linear programs and HiGHS: the only module that knows the solver."""

from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from cobic.budget import Budget
from cobic.matrix import Floats

# Few rows, many boxed columns, rows scaled by us: the dual simplex without presolve is the fastest here.
_OPTIONS: dict[str, bool | int | str] = {
    "output_flag": False,
    "threads": 1,
    "solver": "simplex",
    "simplex_strategy": 1,
    "simplex_scale_strategy": 0,
    "presolve": "off",
}
# For the rare program on which the fast settings fail numerically.
_CAREFUL_OPTIONS: dict[str, bool | int | str] = {"simplex_scale_strategy": 2, "presolve": "on"}


@dataclass(frozen=True)
class LinearProgram:
    """Maximise Σ x subject to A x ≥ 0 and 0 ≤ x ≤ 1, with A stored by columns.

    Attributes
    ----------
    starts, rows, values : ndarray
        A in compressed column form; `starts` and `rows` are int32.
    n_rows : int
        Number of rows of A.
    """

    starts: NDArray[np.int32]
    rows: NDArray[np.int32]
    values: Floats
    n_rows: int

    @property
    def n_columns(self) -> int:
        """Number of variables."""
        return self.starts.size - 1


class SolverError(RuntimeError):
    """HiGHS ended in a state that a correct program cannot lead to."""


class LpSolver:
    """Solves one linear program after another, each started from the basis of the last.

    Parameters
    ----------
    budget : Budget
        Asked during every solve; a solve is broken off when it is exhausted.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._shape: tuple[int, int] | None = None
        self._highs = highspy.Highs()  # type: ignore[no-untyped-call]
        self._set_options(_OPTIONS)
        # Python runs pending signal handlers inside the callback: that is how Ctrl-C gets through to the solver.
        self._highs.setCallback(self._on_interrupt_check, None)
        self._highs.startCallback(highspy.cb.HighsCallbackType.kCallbackSimplexInterrupt)

    def solve(self, program: LinearProgram) -> Floats | None:
        """Return an optimal x, or None if the budget ran out first."""
        if self._budget.exhausted():
            return None
        self._load(program)
        status = self._run()
        if status not in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInterrupt):
            status = self._solve_carefully()
        if status == highspy.HighsModelStatus.kInterrupt:
            self._shape = None
            return None
        self._budget.lps += 1
        return np.clip(self._highs.getSolution().col_value, 0.0, 1.0)

    def _load(self, program: LinearProgram) -> None:
        shape = (program.n_rows, program.n_columns)
        basis = self._highs.getBasis() if shape == self._shape else None
        self._require(self._highs.passModel(*_pass_arguments(program)), "passModel")
        if basis is not None:
            self._require(self._highs.setBasis(basis), "setBasis")
        self._shape = shape

    def _run(self) -> Any:
        self._highs.run()
        return self._highs.getModelStatus()

    def _solve_carefully(self) -> Any:
        self._highs.clearSolver()
        self._set_options(_CAREFUL_OPTIONS)
        status = self._run()
        self._set_options(_OPTIONS)
        if status not in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInterrupt):
            message = f"HiGHS ended with {self._highs.modelStatusToString(status)!r} on a program that has an optimum"
            raise SolverError(message)
        return status

    def _on_interrupt_check(self, _kind: Any, _message: str, _state: Any, answer: Any, _data: Any) -> None:
        if self._budget.exhausted():
            answer.user_interrupt = True

    def _set_options(self, options: dict[str, bool | int | str]) -> None:
        for name, value in options.items():
            self._require(self._highs.setOptionValue(name, value), name)

    @staticmethod
    def _require(status: Any, what: str) -> None:
        if status == highspy.HighsStatus.kError:
            message = f"HiGHS refused {what}"
            raise SolverError(message)


def _pass_arguments(program: LinearProgram) -> tuple[Any, ...]:
    """The arguments of `passModel`, in minimisation form."""
    m, n_rows = program.n_columns, program.n_rows
    return (
        m,
        n_rows,
        program.values.size,
        int(highspy.MatrixFormat.kColwise),
        int(highspy.ObjSense.kMinimize),
        0.0,
        np.full(m, -1.0),
        np.zeros(m),
        np.ones(m),
        np.zeros(n_rows),
        np.full(n_rows, highspy.kHighsInf),
        program.starts,
        program.rows,
        program.values,
        np.zeros(m, dtype=np.int32),
    )
