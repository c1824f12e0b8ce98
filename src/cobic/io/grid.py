"""Lines of cells: which of them hold numbers, which hold texts about their row or column."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

import numpy as np

from cobic.errors import InputError
from cobic.io.raw import MISSING, Axis, Note, RawTable
from cobic.io.source import require_cells
from cobic.matrix import Floats, Integers

ID_NAMES = frozenset({"", "id", "ids", "index", "name", "sample", "samples", "sample_id", "sampleid", "sample id"})
_HEAD_LINES = 10_000
_HEAD_CELLS = 1 << 22
_BLOCK_CELLS = 1 << 16
_MOST_ODD_CELLS = 1 << 17

_WITH_MARKS = re.compile(r"[-+]?\d{1,3}([,' \u2019\u00a0\u202f]\d{3})+(\.\d+)?")
_WITH_POINTS = re.compile(r"[-+]?\d{1,3}([.' \u2019\u00a0\u202f]\d{3})+(,\d+)?")

Line = tuple[int, list[str]]


@dataclass
class Collected:
    """Numbers and texts of the lines so far.

    Attributes
    ----------
    path : Path
        The file, for messages.
    numeric, textual : list of int
        The columns that hold numbers, and those that hold texts.
    decimal : str
        The decimal mark.
    texts : list of list of str
        The texts of each textual column.
    numbers : list of int
        The number of each line.
    odd : dict
        Texts where numbers should be, by line and column.
    """

    path: Path
    numeric: list[int]
    textual: list[int]
    decimal: str
    texts: list[list[str]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    odd: dict[tuple[int, int], str] = field(default_factory=dict)
    _blocks: list[Floats] = field(default_factory=list)
    _waiting: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.texts = [[] for _ in self.textual]

    def add(self, number: int, cells: Sequence[str]) -> None:
        """Take one more line."""
        self.numbers.append(number)
        for texts, column in zip(self.texts, self.textual, strict=True):
            texts.append(cells[column])
        self._waiting.append([cells[column] for column in self.numeric])
        if len(self._waiting) * len(self.numeric) >= _BLOCK_CELLS:
            self._convert()
            require_cells(self.path, len(self.numbers), len(self.numeric) + len(self.textual))

    def values(self) -> Floats:
        """All numbers, lines × columns; NaN where there is none."""
        self._convert()
        return np.concatenate(self._blocks)

    def _convert(self) -> None:
        """Make numbers of the lines that wait: all at once, or one by one where something is odd."""
        values = plain_numbers(self._waiting, self.decimal)
        if values is None:
            start = len(self.numbers) - len(self._waiting)
            values = np.array([self._line(start + at, cells) for at, cells in enumerate(self._waiting)])
        self._blocks.append(values.reshape(len(self._waiting), len(self.numeric)))
        self._waiting = []

    def _line(self, row: int, cells: list[str]) -> Floats:
        values = plain_numbers(cells, self.decimal)
        if values is None:
            values = np.array([number_of(cell, self.decimal) for cell in cells])
            for column in np.flatnonzero(np.isnan(values)).tolist():
                if cells[column].lower() not in MISSING:
                    self.odd[row, column] = cells[column]
            if len(self.odd) > _MOST_ODD_CELLS:
                message = f"{self.path}, line {self.numbers[row]}: too many cells are not numbers: is this the table?"
                raise InputError(message)
        return values


def split_grid(
    path: Path,
    form: str,
    header: Sequence[str],
    lines: Iterable[Line],
    *,
    decimal: str = ".",
    text_columns: Collection[int] = (),
) -> RawTable:
    """Tell the numbers of a table from the texts about its rows and columns.

    A column holds numbers if at least half of its cells that are not missing do. A line is about the columns if it
    holds texts where the others have numbers, or stands above the first line that has a name.

    Parameters
    ----------
    path : Path
        The file, for messages.
    form : str
        What it is.
    header : sequence of str
        The names of the columns.
    lines : iterable of (int, list of str)
        Number and cells of each line.
    decimal : {".", ","}
        The decimal mark.
    text_columns : collection of int
        Columns that hold no measurements whatever they look like.

    Returns
    -------
    RawTable
        With notes about rows and columns, and no names of rows yet.
    """
    stream = _checked(path, header, lines)
    head = list(islice(stream, max(2, min(_HEAD_LINES, _HEAD_CELLS // max(1, len(header))))))
    if not head:
        message = f"{path} has a line of names but no data below it"
        raise InputError(message)
    forced = set(text_columns)
    numeric = [column for column in _numeric_columns(header, head, decimal) if column not in forced]
    _require_no_thousands(path, header, head, numeric, decimal)
    if not numeric:
        message = f"{path} has no column of numbers: measurements are needed, and a decimal comma must be said"
        raise InputError(message)
    empty = _nameless_empty(header, head, numeric)
    textual = sorted(set(range(len(header))).difference(numeric, empty))
    found = Collected(path, numeric, textual, decimal)
    for number, cells in chain(head, stream):
        found.add(number, cells)
    remarks = (f"{len(empty)} empty column{'s' * (len(empty) > 1)}",) if empty else ()
    return _with_column_notes(_table(found, form, header, remarks))


def _checked(path: Path, header: Sequence[str], lines: Iterable[Line]) -> Iterator[Line]:
    for number, cells in lines:
        if len(cells) == len(header):
            yield number, cells
        elif not cells[0].startswith("#"):
            message = f"{path}, line {number}: {len(cells)} cells where the first line has {len(header)}"
            raise InputError(message)


def _numeric_columns(header: Sequence[str], head: Sequence[Line], decimal: str) -> list[int]:
    found = []
    for column, name in enumerate(header):
        if column == 0 and name.lower() in ID_NAMES:
            continue
        cells = [row[column] for _, row in head]
        values = plain_numbers(cells, decimal)
        if values is None:
            filled = Counter(cell for cell in cells if cell.lower() not in MISSING)
            n_numbers = sum(times for cell, times in filled.items() if is_number(cell, decimal))
            numbers = bool(n_numbers) and 2 * n_numbers >= filled.total()
        else:
            numbers = not np.isnan(values).all()
        if numbers:
            found.append(column)
    return found


def _require_no_thousands(
    path: Path, header: Sequence[str], head: Sequence[Line], numeric: Sequence[int], decimal: str
) -> None:
    """Refuse a column that would be one of numbers but for its thousands marks."""
    for column in range(1, len(header)):
        filled = [(line, row[column]) for line, row in head if row[column].lower() not in MISSING]
        marked = [each for each in filled if has_thousands(each[1], decimal)] if column not in numeric else []
        if marked and all(is_number(cell, decimal) or has_thousands(cell, decimal) for _, cell in filled):
            line, cell = marked[0]
            message = f"{path}, line {line}, column {column + 1} ({header[column]!r}): {thousands_message(cell)}"
            raise InputError(message)


def has_thousands(cell: str, decimal: str = ".") -> bool:
    """Tell whether a cell is a number with thousands marks."""
    return (_WITH_POINTS if decimal == "," else _WITH_MARKS).fullmatch(cell) is not None


def thousands_message(cell: str) -> str:
    """What to do about thousands marks."""
    return f"{cell!r} has thousands marks: write numbers without them"


def _nameless_empty(header: Sequence[str], head: Sequence[Line], numeric: Sequence[int]) -> set[int]:
    candidates = {column for column, name in enumerate(header) if not name} - set(numeric)
    return {column for column in candidates if not any(row[column] for _, row in head)}


def _table(found: Collected, form: str, header: Sequence[str], remarks: tuple[str, ...]) -> RawTable:
    first = found.numeric[0]
    notes = tuple(
        Note(header[column], tuple(texts), leading=column < first)
        for column, texts in zip(found.textual, found.texts, strict=True)
    )
    return RawTable(
        found.path,
        form,
        found.values(),
        Axis(len(found.numbers), None, notes, found.numbers, "line"),
        Axis(
            len(found.numeric),
            tuple(header[column] for column in found.numeric),
            (),
            [column + 1 for column in found.numeric],
            "column",
        ),
        odd_cells=found.odd,
        remarks=remarks,
    )


def _with_column_notes(table: RawTable) -> RawTable:
    """Move the lines that are about the columns out of the numbers."""
    about = _lines_about_columns(table)
    if not about.size or about.size == table.rows.size:
        return table
    notes = []
    for row in about.tolist():
        heading = _heading(table, row) or table.rows.where(row)
        texts = [
            table.odd_cells.get((row, column)) or ("" if value != value else f"{value:.15g}")
            for column, value in enumerate(table.values[row].tolist())
        ]
        notes.append(Note(heading, tuple(texts)))
    kept = table.take_rows(np.setdiff1d(np.arange(table.rows.size), about))
    columns = Axis(table.columns.size, table.columns.names, tuple(notes), table.columns.numbers, "column")
    return RawTable(
        table.path, table.form, kept.values, kept.rows, columns, odd_cells=kept.odd_cells, remarks=table.remarks
    )


def _heading(table: RawTable, row: int) -> str:
    """The first text of a line; names of features that are numbers are in the first column of numbers."""
    texts = [note.texts[row] for note in table.rows.notes]
    return next(filter(None, texts), "") or table.odd_cells.get((row, 0), "")


def _lines_about_columns(table: RawTable) -> Integers:
    with_text = {row for row, _ in table.odd_cells}
    without_number = set(np.flatnonzero(np.isnan(table.values).all(axis=1)).tolist())
    about = with_text & without_number if table.columns.size > 1 else set()
    names = name_note(table.rows.notes)
    if names is not None:
        first = next((row for row, text in enumerate(names.texts) if text and row not in about), 0)
        # A line of numbers without any text may as well be a sample whose name is missing.
        full = np.isfinite(table.values[:first]).all(axis=1)
        about |= {row for row in range(first) if _heading(table, row) or not full[row]}
    return np.array(sorted(about), dtype=np.intp)


def name_note(notes: Sequence[Note]) -> Note | None:
    """The leading note that holds names rather than descriptions: the first that is filled, with single words."""
    filled = [note for note in notes if note.leading and 2 * sum(map(bool, note.texts)) > len(note.texts)]
    words = [note for note in filled if 2 * sum(" " in text for text in note.texts) < len(note.texts)]
    return next(iter([*words, *filled]), None)


def plain_numbers(cells: Sequence[object], decimal: str) -> Floats | None:
    """Cells as numbers if all of them are; None otherwise. Cells may be nested in lists."""
    if decimal != "." or not cells:
        return None if cells else np.empty(0)
    try:
        values = np.array(cells, dtype=np.float64)
    except ValueError:
        return None
    return None if np.isnan(values).any() or _has_underscores(cells) else values


def _has_underscores(cells: Sequence[object]) -> bool:
    """Tell whether a cell is like 1_000, which Python takes for a number and nobody else does."""
    return any("_" in cell if isinstance(cell, str) else _has_underscores(cell) for cell in cells)  # type: ignore[arg-type]


def is_number(cell: str, decimal: str = ".") -> bool:
    """Tell whether a cell is a number; NaN is none."""
    value = number_of(cell, decimal)
    return value == value


def number_of(cell: str, decimal: str = ".") -> float:
    """A cell as a number; NaN if it is none."""
    if "_" in cell or (decimal == "," and "." in cell):
        return float("nan")
    try:
        return float(cell.replace(",", ".") if decimal == "," else cell)
    except ValueError:
        return float("nan")
