"""Linear programs, with or without whole columns, as plain arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobic.matrix import Bools, Floats, Integers

BYTES_PER_ENTRY = 60  # that a program and its solver take, as measured: python -m benchmarks --only memory


@dataclass(frozen=True)
class Entries:
    """Entries of a matrix, one by one."""

    rows: Integers  # where they are and what they are
    columns: Integers
    values: Floats

    @classmethod
    def joined(cls, parts: Sequence["Entries"]) -> "Entries":
        """All entries of several parts."""
        names = ("rows", "columns", "values")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def moved(self, down: int) -> "Entries":
        """The same, so many rows further down."""
        return Entries(self.rows + down, self.columns, self.values)


@dataclass(frozen=True)
class LinearProgram:
    """Maximise gain·x subject to row_lower ≤ A x ≤ row_upper and lower ≤ x ≤ upper, with A stored by columns."""

    starts: NDArray[np.int32]  # a in compressed column form; `starts` and `rows` are int32
    rows: NDArray[np.int32]
    values: Floats
    gain: Floats  # objective and bounds of the columns
    lower: Floats
    upper: Floats
    row_lower: Floats  # bounds of the rows
    row_upper: Floats
    integer: Bools | None = None  # columns that must be whole; none by default

    @classmethod
    def of_entries(cls, entries: Entries, gain: Floats, **rest: Any) -> "LinearProgram":
        """Build a program from entries in any order; what is left are the fields that are not about A."""
        order = np.lexsort((entries.rows, entries.columns))
        starts = np.searchsorted(entries.columns[order], np.arange(gain.size + 1))
        rows, values = entries.rows[order].astype(np.int32), entries.values[order]
        return cls(starts.astype(np.int32), rows, values, gain, **rest)

    @property
    def entries(self) -> Entries:
        """The entries of A, one by one."""
        columns = np.repeat(np.arange(self.n_columns), np.diff(self.starts))
        return Entries(self.rows.astype(np.intp), columns, self.values)

    def with_rows(self, added: Entries, lower: Floats, upper: Floats) -> "LinearProgram":
        """The same program with further rows below those it has; `added` counts them from 0."""
        return LinearProgram.of_entries(
            Entries.joined([self.entries, added.moved(self.n_rows)]),
            self.gain,
            lower=self.lower,
            upper=self.upper,
            row_lower=np.concatenate([self.row_lower, lower]),
            row_upper=np.concatenate([self.row_upper, upper]),
            integer=self.integer,
        )

    def with_elastic(self, price: float) -> "LinearProgram":
        """The same program with a last column that lifts every row alike, at a price: it always has a solution."""
        everywhere = np.arange(self.n_rows, dtype=np.int32)
        return replace(
            self,
            starts=np.append(self.starts, self.starts[-1] + self.n_rows).astype(np.int32),
            rows=np.concatenate([self.rows, everywhere]),
            values=np.concatenate([self.values, np.ones(self.n_rows)]),
            gain=np.append(self.gain, -price),
            lower=np.append(self.lower, 0.0),
            upper=np.append(self.upper, np.inf),
        )

    def dual_bound(self, duals: Floats) -> float:
        """What no solution's gain exceeds, by weak duality: it holds for any multipliers, good ones make it tight."""
        usable = np.where(duals > 0, np.isfinite(self.row_lower), np.isfinite(self.row_upper))
        duals = np.where(usable, duals, 0.0)
        pull = np.bincount(self.entries.columns, self.values * duals[self.rows], minlength=self.n_columns)
        reduced = self.gain + pull
        used, moving = np.flatnonzero(duals), np.flatnonzero(reduced)  # 0 × ∞ is 0 here
        at_rows = np.where(duals > 0, self.row_lower, self.row_upper)
        best = np.where(reduced > 0, self.upper, self.lower)
        return float(reduced[moving] @ best[moving] - duals[used] @ at_rows[used])

    @property
    def n_rows(self) -> int:
        """Number of rows of A."""
        return self.row_lower.size

    @property
    def n_columns(self) -> int:
        """Number of variables."""
        return self.gain.size


@dataclass(frozen=True)
class ProgramNames:
    """Names of the columns and rows of a program, for a file."""

    columns: Sequence[str]  # in the order of the program; unique, and without characters that mean something in a file
    rows: Sequence[str]
