"""Lines of cells: which of them hold numbers, which hold texts about their row or column."""

import re
import string
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path

import numpy as np

from cobic.checks import require
from cobic.errors import InputError
from cobic.io.plain import plain_columns
from cobic.io.raw import MISSING, Axis, Line, Note, RawTable, Side
from cobic.io.source import LONGEST_LINE, MOST_LINES, require_cells, require_width
from cobic.matrix import Floats, Integers

ID_NAMES = frozenset({"", "id", "ids", "index", "name", "sample", "samples", "sample_id", "sampleid", "sample id"})
# Lines, and cells in them, by which it is told what a column holds: enough to outweigh remarks at the top, in seconds.
_HEAD_LINES = 10_000
_HEAD_CELLS = 1 << 22  # where lines are long
_BLOCK_CELLS = 1 << 16  # made numbers at once: 4 MB of texts wait for it
_MOST_ODD_CELLS = 1 << 17  # each is kept; a table with more of them is none

_NO_NUMBER_BEGINS = frozenset(string.ascii_letters) - {"i", "I"}  # with one of them; but infinity is a number
_WITH_MARKS = re.compile(r"[-+]?\d{1,3}([,' \u2019\u00a0\u202f]\d{3})+(\.\d+)?")
_WITH_POINTS = re.compile(r"[-+]?\d{1,3}([.' \u2019\u00a0\u202f]\d{3})+(,\d+)?")


@dataclass
class Collected:
    """Numbers and texts of the lines so far."""

    path: Path
    numeric: Sequence[int]  # the columns that hold numbers
    textual: Sequence[int]  # and those that hold texts
    decimal: str = "."
    remarks: tuple[str, ...] = ()  # about columns that are neither
    texts: list[list[str]] = field(default_factory=list)  # of each textual column
    numbers: list[int] = field(default_factory=list)  # of the lines
    odd: dict[tuple[int, int], str] = field(default_factory=dict)  # texts where numbers should be, by line and column
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

    def add_columns(self, numbers: Sequence[int], values: Floats, texts: Mapping[int, list[str]]) -> None:
        """Take more lines, which are cut and read already; the first of the numbers are theirs."""
        self._convert()
        self.numbers.extend(numbers[: len(values)])
        for mine, column in zip(self.texts, self.textual, strict=True):
            mine.extend(texts[column])
        self._blocks.append(values)
        require_cells(self.path, len(self.numbers), len(self.numeric) + len(self.textual))

    def table(
        self,
        form: str,
        columns: Sequence[str],
        rows: Sequence[str] | None = None,
        row_notes: Iterable[Note] = (),
        column_notes: Iterable[Note] = (),
        samples_in: Side | None = None,
    ) -> RawTable:
        """All lines as a table; with the names of its columns, and of its rows where the format says so."""
        self._convert()
        names = None if rows is None else tuple(rows)
        positions = [column + 1 for column in self.numeric]
        return RawTable(
            self.path,
            form,
            np.concatenate(self._blocks),
            Axis(len(self.numbers), names, tuple(row_notes), self.numbers, "line"),
            Axis(len(self.numeric), tuple(columns), tuple(column_notes), positions, "column"),
            samples_in,
            self.odd,
            self.remarks,
        )

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


@dataclass(frozen=True)
class Grid:
    """A table of cells below a line of names, of which it is to be told where the numbers are.

    A column holds numbers if at least half of its cells that are not missing do. A line is about the columns if it
    holds texts where the others have numbers, or stands above the first line that has a name.
    """

    path: Path
    form: str
    header: Sequence[str]
    decimal: str = "."

    def split(self, lines: Iterable[Line], text_columns: Collection[int] = ()) -> RawTable:
        """Tell the numbers from the texts about rows and columns; some columns are known to hold texts."""
        stream = self._checked(lines)
        head = list(islice(stream, self._n_head_lines()))
        require(head, f"{self.path} has a line of names but no data below it")
        numeric = [column for column in self._numeric_columns(head) if column not in text_columns]
        numbers = [number for number, _ in head]
        found = self._collected(numbers, numeric, lambda column: (row[column] for _, row in head))
        for number, cells in chain(head, stream):
            found.add(number, cells)
        return self._table(found)

    def split_text(self, head: Sequence[Line], below: Iterator[bytes], delimiter: str) -> RawTable | None:
        """Do the same faster with a few lines that are cut and the text below them; None if anything is odd."""
        n_deciding = self._n_head_lines() - len(head)
        if n_deciding < 0 or any(len(cells) != len(self.header) for _, cells in head):
            return None
        numeric = self._numeric_columns(head)
        if not numeric:
            return None
        numbers, blocks = [number for number, _ in head], []
        try:
            for block in below:
                columns = plain_columns(block, delimiter, len(self.header), numeric, self.decimal)
                if columns is None or len(block) >= LONGEST_LINE or numbers[-1] + len(columns[0]) > MOST_LINES:
                    return None
                blocks.append(columns)
                numbers.extend(range(numbers[-1] + 1, numbers[-1] + 1 + len(columns[0])))
        except UnicodeError:
            return None

        def cells_of(column: int) -> Iterator[str]:
            below = chain.from_iterable(texts[column] for _, texts in blocks)
            return chain((row[column] for _, row in head), islice(below, n_deciding))

        for column in set(range(len(self.header))).difference(numeric):
            doubtful = any(_numbers_among(set(texts[column]), self.decimal) for _, texts in blocks)
            if doubtful and self._holds_numbers(column, list(cells_of(column))):
                return None
        found = self._collected(numbers, numeric, cells_of)
        for number, cells in head:
            found.add(number, cells)
        for values, texts in blocks:
            found.add_columns(numbers[len(found.numbers) :], values, texts)
        return self._table(found)

    def _n_head_lines(self) -> int:
        return max(2, min(_HEAD_LINES, _HEAD_CELLS // max(1, len(self.header))))

    def _checked(self, lines: Iterable[Line]) -> Iterator[Line]:
        for number, cells in lines:
            if len(cells) == len(self.header) or not cells[0].startswith("#"):
                require_width(self.path, number, cells, len(self.header))
                yield number, cells

    def _numeric_columns(self, head: Sequence[Line]) -> list[int]:
        columns = range(len(self.header))
        return [column for column in columns if self._holds_numbers(column, [row[column] for _, row in head])]

    def _holds_numbers(self, column: int, cells: list[str]) -> bool:
        """Tell whether at least half of the cells that are there are numbers; a first column called id has names."""
        if column == 0 and self.header[column].lower() in ID_NAMES:
            return False
        numbers = _numbers_among(set(cells), self.decimal)
        if not numbers:
            return False
        n_numbers = sum(cell in numbers for cell in cells)
        return n_numbers >= sum(cell not in numbers and cell.lower() not in MISSING for cell in cells)

    def _collected(
        self, numbers: Sequence[int], numeric: Sequence[int], cells_of: Callable[[int], Iterator[str]]
    ) -> Collected:
        """A place for the lines; columns of texts that are empty and have no name are left out."""
        others = sorted(set(range(len(self.header))).difference(numeric))
        for column in others:
            if column > 0:  # the first one may hold names
                self._require_no_thousands(column, zip(numbers, cells_of(column), strict=False))
        message = f"{self.path} has no column of numbers: measurements are needed, and a decimal comma must be said"
        require(numeric, message)
        empty = [column for column in others if not self.header[column] and not any(cells_of(column))]
        remarks = (f"{len(empty)} empty column{'s' * (len(empty) > 1)}",) if empty else ()
        return Collected(self.path, numeric, sorted(set(others).difference(empty)), self.decimal, remarks)

    def _require_no_thousands(self, column: int, cells: Iterable[tuple[int, str]]) -> None:
        """Refuse a column that would be one of numbers but for its thousands marks."""
        marked = None
        for number, cell in cells:
            if has_thousands(cell, self.decimal):
                marked = marked or (number, cell)
            elif cell.lower() not in MISSING and not is_number(cell, self.decimal):
                return
        if marked is not None:
            place = f"{self.path}, line {marked[0]}, column {column + 1} ({self.header[column]!r})"
            message = f"{place}: {thousands_message(marked[1])}"
            raise InputError(message)

    def _table(self, found: Collected) -> RawTable:
        """The table, with lines that are about the columns moved out of the numbers."""
        notes = [
            Note(self.header[column], tuple(texts), leading=column < found.numeric[0])
            for column, texts in zip(found.textual, found.texts, strict=True)
        ]
        table = found.table(self.form, [self.header[column] for column in found.numeric], row_notes=notes)
        about = _lines_about_columns(table)
        if not about.size or about.size == table.rows.size:
            return table
        notes = []
        for row in about.tolist():
            texts = [
                table.odd_cells.get((row, column)) or ("" if value != value else f"{value:.15g}")
                for column, value in enumerate(table.values[row].tolist())
            ]
            notes.append(Note(_heading(table, row) or table.rows.where(row), tuple(texts)))
        kept = table.take_rows(np.setdiff1d(np.arange(table.rows.size), about))
        return replace(kept, columns=replace(kept.columns, notes=tuple(notes)))


def _numbers_among(cells: Iterable[str], decimal: str) -> set[str]:
    return {cell for cell in cells if cell[:1] not in _NO_NUMBER_BEGINS and is_number(cell, decimal)}


def has_thousands(cell: str, decimal: str = ".") -> bool:
    """Tell whether a cell is a number with thousands marks."""
    return (_WITH_POINTS if decimal == "," else _WITH_MARKS).fullmatch(cell) is not None


def thousands_message(cell: str) -> str:
    """What to do about thousands marks."""
    return f"{cell!r} has thousands marks: write numbers without them"


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
    filled = [note for note in notes if note.leading and 2 * note.texts.count("") < len(note.texts)]
    words = (note for note in filled if 2 * sum(" " in text for text in note.texts) < len(note.texts))
    return next(chain(words, filled), None)


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
