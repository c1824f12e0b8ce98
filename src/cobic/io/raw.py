"""What is said about a file, and what every reader makes of it: numbers, and the texts that stand around them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cobic.checks import require_choice, require_whole
from cobic.io.sizes import Stored
from cobic.io.source import MOST_LINES
from cobic.matrix import Integers

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-", ".", "#n/a"})

Line = tuple[int, list[str]]  # number and cells
Side = Literal["rows", "columns"]
_OTHER: dict[Side | None, Side | None] = {None: None, "rows": "columns", "columns": "rows"}


@dataclass(frozen=True)
class Reading:
    """A file and what is said about it; :func:`cobic.read` describes the parts, and the command line has the same."""

    path: Path
    labels: str | None = None
    labels_file: Path | None = None
    labels_from_names: str | None = None
    features_in_rows: bool | None = None
    ids: str | None = None
    drop: Sequence[str] = ()
    classes: Sequence[str] = ()
    part: str | None = None
    header_row: int | None = None
    decimal: str | None = None
    encoding: str | None = None
    backed: bool = False

    def __post_init__(self) -> None:
        files = {"path": Path(self.path), "labels_file": None if self.labels_file is None else Path(self.labels_file)}
        lists = {"drop": tuple(self.drop), "classes": tuple(self.classes)}
        vars(self).update(files | lists)  # they may be given as texts, and as lists
        if self.header_row is not None:
            require_whole("header_row", self.header_row, 0, MOST_LINES)
        if self.decimal is not None:
            require_choice("decimal", self.decimal, (".", ","))

    @property
    def says_classes(self) -> bool:
        """Whether it says where the classes are."""
        return any(each is not None for each in (self.labels, self.labels_file, self.labels_from_names))

    @property
    def place_of_classes(self) -> list[str]:
        """Where the classes are, as the command line spells it."""
        return self.arguments("labels", "labels_file", "labels_from_names")

    @property
    def layout(self) -> list[str]:
        """All that is said besides the classes, as the command line spells it."""
        said = self.arguments("ids", "part", "header_row", "decimal", "encoding")
        if self.features_in_rows is not None:
            said.append("--features-in-rows" if self.features_in_rows else "--samples-in-rows")
        for option, names in (("--drop", self.drop), ("--class", self.classes)):
            said += [word for name in names for word in (option, name)]
        return [*said, "--backed"] if self.backed else said

    def arguments(self, *names: str) -> list[str]:
        """Some of the parts as the command line spells them, where they are given."""
        given = [(name, getattr(self, name)) for name in names if getattr(self, name) is not None]
        return [word for name, value in given for word in (f"--{name.replace('_', '-')}", str(value))]


@dataclass(frozen=True)
class Note:
    """One text per row, or per column: names, descriptions, classes, or something to be set aside."""

    name: str  # its heading; may be empty
    texts: tuple[str, ...]  # the texts, stripped; empty where there is none
    leading: bool = False  # whether it stands before the numbers, where names are
    categorical: bool = False  # whether the format says that it holds categories


@dataclass(frozen=True)
class Axis:
    """What is known about the rows, or about the columns, of a table."""

    size: int  # how many there are
    names: tuple[str, ...] | None = None  # their names, where the format says so; None if a leading note may hold them
    notes: tuple[Note, ...] = ()  # further texts about each
    numbers: Sequence[int] | None = None  # where each stands in the file, counted from 1, for messages
    word: str = "row"  # what one is called in messages: line, row, column, sample …

    def take(self, index: Integers) -> "Axis":
        """Some of them."""
        pick = index.tolist()
        return Axis(
            len(pick),
            None if self.names is None else tuple(self.names[i] for i in pick),
            tuple(replace(note, texts=tuple(note.texts[i] for i in pick)) for note in self.notes),
            None if self.numbers is None else [self.numbers[i] for i in pick],
            self.word,
        )

    def where(self, index: int) -> str:
        """Say which one it is."""
        name = None if self.names is None else self.names[index]
        if self.numbers is None:
            return f"{self.word} {index + 1}" if name is None else f"{self.word} {name!r}"
        unnamed = name is None or self.word == "line"  # the number of a line says enough
        return f"{self.word} {self.numbers[index]}" + ("" if unnamed else f" ({name!r})")


@dataclass(frozen=True, eq=False)
class RawTable:
    """The numbers of a file with what stands around them, before anyone has said which way round they are."""

    path: Path  # the file
    form: str  # what it is: CSV, GCT 1.2, h5ad …
    values: Any  # the numbers; NaN where there is none
    rows: Axis
    columns: Axis
    samples_in: Side | None = None  # which side the samples are on, where the format says so
    odd_cells: Mapping[tuple[int, int], str] = field(default_factory=dict)  # texts where numbers should be
    remarks: tuple[str, ...] = ()  # what was set aside on reading

    def turned(self) -> "RawTable":
        """The same table with rows and columns exchanged."""
        return replace(
            self,
            values=self.values.T,
            rows=self.columns,
            columns=self.rows,
            samples_in=_OTHER[self.samples_in],
            odd_cells={(column, row): text for (row, column), text in self.odd_cells.items()},
        )

    def take_rows(self, keep: Integers) -> "RawTable":
        """Some rows of the table."""
        if keep.size == self.rows.size:
            return self
        at = {int(old): new for new, old in enumerate(keep)}
        odd = {(at[row], column): text for (row, column), text in self.odd_cells.items() if row in at}
        return replace(self, values=self.values[keep], rows=self.rows.take(keep), odd_cells=odd)

    def take_columns(self, keep: Integers) -> "RawTable":
        """Some columns of the table."""
        return self if keep.size == self.columns.size else self.turned().take_rows(keep).turned()

    def column_as_note(self, column: int) -> "RawTable":
        """The same table with a column of numbers made one more note, the first, about the rows."""
        number = self.values[:, [column]]
        number = number.toarray() if hasattr(number, "toarray") else np.asarray(number)
        texts = [as_text(value) for value in number.ravel().tolist()]
        for (row, at), text in self.odd_cells.items():
            if at == column:
                texts[row] = text
        name = "" if self.columns.names is None else self.columns.names[column]
        rest = self.take_columns(np.delete(np.arange(self.columns.size), column))
        note = Note(name, tuple(texts), leading=True)
        return replace(rest, rows=replace(rest.rows, notes=(note, *rest.rows.notes)))


@dataclass(frozen=True)
class Format:
    """How files of a format are recognised and read, and how large they are said to be."""

    read: Callable[[Path, Reading], RawTable]
    endings: tuple[str, ...] = ()
    begins: tuple[bytes, ...] = ()
    recognises: Callable[[Path, bytes], bool] | None = None  # by its beginning, where a few bytes do not tell
    certain_name: bool = True  # whether nothing else is called so
    parts: bool = False  # whether there may be several tables in a file
    backed: bool = False  # whether numbers can stay in the file
    size: Callable[[Path], Stored | None] | None = None  # from the contents page of a file


def as_text(value: Any) -> str:
    """A cell as text; whole numbers without a decimal point, nothing for a missing value."""
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value).strip()
