"""Linear programs as text, in the formats that solvers and modelling languages read.

By hand: what solvers write themselves has neither comments nor the names of features.
"""

import re
from collections.abc import Iterator, Sequence
from textwrap import wrap

import numpy as np

from cobic.matrix import Floats, Integers
from cobic.search.program import LinearProgram, ProgramNames

_LONGEST_LINE = 200  # some readers give up beyond 560 characters, older ones beyond 255
_LONGEST_NAME = 60  # some readers cut names at 64 characters or more


def lp_text(program: LinearProgram, names: ProgramNames, comments: Sequence[str]) -> str:
    """Write a program in the LP format of CPLEX, which Gurobi, SCIP, HiGHS and others read as well."""
    lines = [*_commented("\\ ", comments), "Maximize"]
    gained = np.flatnonzero(program.gain)
    lines += _expression("obj", gained, program.gain[gained], names, "")
    lines.append("Subject To")
    entries = program.entries
    order = np.lexsort((entries.columns, entries.rows))
    starts = np.searchsorted(entries.rows[order], np.arange(program.n_rows + 1))
    for row, name in enumerate(names.rows):
        mine = order[starts[row] : starts[row + 1]]
        for suffix, relation in _relations(program, row):
            lines += _expression(name + suffix, entries.columns[mine], entries.values[mine], names, relation)
    lines.append("Bounds")
    for name, lower, upper in zip(names.columns, program.lower.tolist(), program.upper.tolist(), strict=True):
        lines.append(f" {lower!r} <= {name} <= {upper!r}" if np.isfinite(upper) else f" {name} >= {lower!r}")
    if program.integer is not None:
        whole = [name for name, integer in zip(names.columns, program.integer, strict=True) if integer]
        lines += ["Generals", *(f" {name}" for name in whole)]
    return "\n".join([*lines, "End"]) + "\n"


def _commented(mark: str, comments: Sequence[str]) -> list[str]:
    """Comments as lines of a file, whatever the names in them."""
    return [mark + line for comment in comments for line in wrap(comment, _LONGEST_LINE)]


def _relations(program: LinearProgram, row: int) -> list[tuple[str, str]]:
    """The sides of a row: one, or two where it is bounded below and above, with suffixes that no other name has."""
    lower, upper = float(program.row_lower[row]), float(program.row_upper[row])
    if lower == upper:
        return [("", f"= {lower!r}")]
    sides = [("__least", f">= {lower!r}")] if np.isfinite(lower) else []
    sides += [("__most", f"<= {upper!r}")] if np.isfinite(upper) else []
    return sides if len(sides) == 2 else [("", relation) for _, relation in sides]


def _expression(name: str, columns: Integers, values: Floats, names: ProgramNames, end: str) -> list[str]:
    """A linear expression over several short lines."""
    terms = [
        f"{'-' if value < 0 else '+'} {abs(float(value))!r} {names.columns[column]}"
        for column, value in zip(columns, values, strict=True)
        if value
    ]
    lines = [f" {name}:"]
    for term in [*(terms or [f"0 {names.columns[0]}"]), end]:  # an expression without a variable is not allowed
        if len(lines[-1]) + len(term) < _LONGEST_LINE:
            lines[-1] += f" {term}"
        else:
            lines.append(f" {term}")
    return [line.rstrip() for line in lines]


def mps_text(program: LinearProgram, names: ProgramNames, comments: Sequence[str]) -> str:
    """Write a program in free MPS format, which every solver reads."""
    lines = [*_commented("* ", comments), "NAME cobic", "OBJSENSE", "    MAX", "ROWS", " N  obj"]
    lower, upper = program.row_lower, program.row_upper
    kinds = np.select([lower == upper, np.isfinite(lower)], ["E", "G"], "L")
    lines += [f" {kind}  {name}" for kind, name in zip(kinds, names.rows, strict=True)]
    lines += ["COLUMNS", *_mps_columns(program, names), "RHS"]
    sides = np.where(kinds == "L", upper, lower)
    lines += [f"    RHS  {name}  {float(side)!r}" for name, side in zip(names.rows, sides, strict=True) if side]
    ranges = np.where((kinds == "G") & np.isfinite(upper), upper - np.where(kinds == "G", lower, 0.0), 0.0)
    if ranges.any():
        lines.append("RANGES")
        lines += [f"    RNG  {name}  {float(width)!r}" for name, width in zip(names.rows, ranges, strict=True) if width]
    lines.append("BOUNDS")
    for name, least, most in zip(names.columns, program.lower.tolist(), program.upper.tolist(), strict=True):
        lines.append(f" LO BND  {name}  {least!r}")
        lines += [f" UP BND  {name}  {most!r}"] if np.isfinite(most) else []
    return "\n".join([*lines, "ENDATA"]) + "\n"


def _mps_columns(program: LinearProgram, names: ProgramNames) -> Iterator[str]:
    integer = np.zeros(program.n_columns, dtype=np.bool_) if program.integer is None else program.integer
    inside = False
    for column, name in enumerate(names.columns):
        if bool(integer[column]) != inside:
            inside = not inside
            yield f"    MARKER  'MARKER'  '{'INTORG' if inside else 'INTEND'}'"
        if program.gain[column]:
            yield f"    {name}  obj  {float(program.gain[column])!r}"
        for place in range(program.starts[column], program.starts[column + 1]):
            if program.values[place]:
                yield f"    {name}  {names.rows[program.rows[place]]}  {float(program.values[place])!r}"
    if inside:
        yield "    MARKER  'MARKER'  'INTEND'"


def readable(names: Sequence[str]) -> list[str]:
    """Turn names, which begin with a letter, into ones that mean nothing but themselves in a file, all different.

    >>> readable(["x_HLA-A", "x_HLA A", "x_B"])
    ['x_HLA_A', 'x_HLA_A_2', 'x_B']
    """
    plain = [re.sub(r"[^A-Za-z0-9]+", "_", name)[:_LONGEST_NAME] for name in names]
    taken: set[str] = set(plain)
    met: dict[str, int] = {}
    unique = []
    for name in plain:
        met[name] = met.get(name, 0) + 1
        chosen = name
        while met[name] > 1 and chosen in taken:
            chosen = f"{name}_{met[name]}"
            met[name] += chosen in taken
        taken.add(chosen)
        unique.append(chosen)
    return unique
