"""What is said about classes, and files of them: a name and a class per sample, a column of classes, a CLS file."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cobic.checks import require
from cobic.errors import InputError
from cobic.io.delimited import OneColumnError, delimited_lines
from cobic.io.grid import is_number, number_of
from cobic.io.raw import Reading, as_text
from cobic.io.source import first_bytes, require_width, text_lines

_NO_LABEL = frozenset({"", "na", "n/a", "nan"})


def is_no_label(text: str) -> bool:
    """Tell whether a text says that there is no class."""
    return text.lower() in _NO_LABEL


@dataclass(frozen=True)
class LabelFile:
    """Classes by the name of the sample, or in the order of the samples."""

    path: Path  # the file
    header: tuple[str, ...] = ()  # the first line of a table
    rows: tuple[tuple[int, tuple[str, ...]], ...] = ()  # number and cells of the lines below it
    in_order: tuple[str, ...] | None = None  # one class per sample
    may_have_heading: bool = False  # whether the first of these may be the heading of a column

    @property
    def names(self) -> set[str]:
        """All that may be the name of a sample."""
        return {self.header[0], *(cells[0] for _, cells in self.rows)} if self.header else set()

    def classes(self, column: str | None, known: set[str]) -> dict[str, str]:
        """The class of each sample that is known; a file without a header has its first sample there."""
        lines = [*self.rows]
        if self.header[0] in known and column is None:
            lines.insert(0, (1, self.header))
        at = self._class_column(column, known)
        classes: dict[str, str] = {}
        for line, cells in lines:
            again = cells[0] in classes and cells[0] in known
            require(not again, f"{self.path}, line {line}: the sample {cells[0]!r} has a class already")
            classes[cells[0]] = cells[at]
        return classes

    def of_samples(self, count: int) -> tuple[str, ...] | None:
        """One class for each of so many samples; None if they are not as many."""
        classes = self.in_order or ()
        if self.may_have_heading and len(classes) == count + 1:
            classes = classes[1:]
        if len(classes) != count:
            return None
        return _plain(classes) if self.may_have_heading else classes

    def transposed(self) -> str:
        """What to do about a file that seems to have a column per sample."""
        columns = f"{len(self.header)} columns"
        return f"{self.path} has two lines and {columns}: it looks transposed; give one line per sample"

    def _class_column(self, column: str | None, known: set[str]) -> int:
        if column is not None:
            places = [at for at, name in enumerate(self.header) if name == column]
            if len(places) == 1:
                return places[0]
            message = f"{self.path} has {len(places) or 'no'} column{'s' * (len(places) > 1)} {column!r}"
            message += f": {some(self.header)}"
        elif len(self.header) == 2:
            return 1
        elif len(self.rows) == 1 and known.intersection(self.header):
            message = self.transposed()
        else:
            columns = f"{len(self.header)} columns: name the one with the classes with --labels"
            message = f"{self.path} has {columns}: {some(self.header)}"
        raise InputError(message)


def read_label_file(path: Path, encoding: str | None = None) -> LabelFile:
    """Read a file of classes, of either kind."""
    if path.suffix.lower() == ".cls" or _looks_like_cls(first_bytes(path, 256)):
        return LabelFile(path, in_order=_cls_classes(path))
    try:
        header, lines, _ = delimited_lines(path, Reading(path, header_row=1, encoding=encoding))
    except OneColumnError:
        classes = [line.strip().strip('"') for line in text_lines(path, encoding)]
        return LabelFile(path, in_order=tuple(filter(None, classes)), may_have_heading=True)
    rows = []
    for number, cells in lines:
        require_width(path, number, cells, len(header))
        rows.append((number, tuple(cells)))
    require(rows, f"{path} has a line of names but no data below it")
    return LabelFile(path, tuple(header), tuple(rows))


@dataclass(frozen=True)
class LabelOptions:
    """What a user says about samples and classes, with what it takes to look for them."""

    asked: Reading
    file: LabelFile | None = None  # classes in a second file
    from_names: re.Pattern[str] | None = None  # the class is what this finds in the sample's name
    features: tuple[str, ...] | None = None  # what data should have; tells the orientation if no classes are asked for

    @classmethod
    def of(cls, asked: Reading, features: tuple[str, ...] | None = None) -> Self:
        """What is said, with the second file read and the pattern compiled."""
        file = None if asked.labels_file is None else read_label_file(asked.labels_file, asked.encoding)
        text = asked.labels_from_names
        try:
            pattern = None if text is None else re.compile(text)
        except (re.error, RecursionError, OverflowError) as error:
            message = f"labels_from_names is {text!r}: not a regular expression ({error}); try '(Tumor|Normal)'"
            raise InputError(message) from None
        one = pattern is None or (file is None and asked.labels is None)
        require(one, "classes from names and from a column or file: give one of them")
        return cls(asked, file, pattern, features)

    def names_sample(self, name: str, n_columns: int) -> bool:
        """Tell whether the file of classes, or all that the pattern finds, says that one of so many is a sample."""
        if self.file is None:
            return self.from_names is not None and self.from_names.fullmatch(name) is not None
        return name in self.file.names or self.file.of_samples(n_columns) is not None

    def wish(self) -> str:
        """What was asked for, in words."""
        if self.from_names is not None:
            return f"the pattern {self.from_names.pattern!r}"
        return str(self.file.path) if self.file is not None else repr(self.asked.labels)


def _plain(classes: tuple[str, ...]) -> tuple[str, ...]:
    """Classes as they are; whole numbers as such, however many digits a program wrote."""
    return tuple(as_text(number_of(text)) if is_number(text) else text for text in classes)


def _looks_like_cls(start: bytes) -> bool:
    lines = start.splitlines()
    counts = re.fullmatch(rb"\s*\d+\s+\d+\s+\d+\s*", lines[0]) if len(lines) > 1 else None
    return counts is not None and lines[1].startswith(b"#")


def _cls_classes(path: Path) -> tuple[str, ...]:
    lines = [line.strip() for line in text_lines(path) if line.strip()]
    numbers = lines[0].split() if lines else []
    measured = lines and lines[0].lower().startswith("#numeric")
    require(not measured, f"{path} holds measurements (#numeric), not classes")
    message = f"{path} is not a CLS file: three lines are needed, as '38 2 1', '# ALL AML', '0 0 1 …'"
    require(len(lines) == 3 and len(numbers) == 3 and lines[1].startswith("#"), message)
    names, labels = lines[1][1:].split(), lines[2].split()
    n_classes = len(set(labels))
    message = (
        f"{path}: its first line promises {numbers[0]} samples in {numbers[1]} classes; it has {len(names)} names, "
        f"and {len(labels)} samples in {n_classes} classes"
    )
    require(numbers[:2] == [str(len(labels)), str(n_classes)] and len(names) == n_classes, message)
    return _named(path, names, labels)


def _named(path: Path, names: list[str], labels: list[str]) -> tuple[str, ...]:
    """Names in place of numbers; programs differ in whether 0 is the first name, or the first number that occurs."""
    in_order = list(dict.fromkeys(labels))
    if set(in_order) == set(names):
        return tuple(labels)
    by_number = [str(number) for number in range(len(names))]
    message = (
        f"{path}: its numbers do not occur in the order 0, 1, …, and programs disagree on which class name they "
        "mean: write the class names themselves in line 3"
    )
    require(set(in_order) != set(by_number) or in_order == by_number, message)
    return tuple(names[in_order.index(label)] for label in labels)


def read_groups(path: str | Path, feature_names: Sequence[str]) -> list[str | None]:
    """Read which features stand and fall together from a table with the columns ``feature`` and ``group``."""
    table = read_label_file(Path(path))
    for name in ("feature", "group"):
        require(name in table.header, f"{path} has no column {name!r}: {some(table.header)}")
    at, to = table.header.index("feature"), table.header.index("group")
    known, groups = set(feature_names), dict[str, str]()
    for line, row in table.rows:
        feature, group = row[at], row[to]
        place = f"{path}, line {line}, column {at + 1} ('feature')"
        require(feature in known, f"{place}: the data have no feature {feature!r}")
        place = f"{path}, line {line}, column {to + 1} ('group')"
        first = groups.setdefault(feature, group)
        require(first == group, f"{place}: feature {feature!r} is in group {first!r} already")
    return [groups.get(name) or None for name in feature_names]


def some(names: tuple[str, ...] | list[str]) -> str:
    """A few of the names that there are, for messages."""
    shown = ", ".join(repr(name) for name in names[:5])
    return f"it has {shown}" + (f" and {len(names) - 5} more" if len(names) > 5 else "")
