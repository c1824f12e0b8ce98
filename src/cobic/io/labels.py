"""Files of classes: a table with a name and a class per sample, or a CLS file with the classes in order."""

from dataclasses import dataclass
from pathlib import Path

from cobic.errors import InputError
from cobic.io.delimited import OneColumnError, delimited_lines
from cobic.io.reading import Reading
from cobic.io.source import first_bytes, text_lines

NO_LABEL = frozenset({"", "na", "n/a", "nan"})


@dataclass(frozen=True)
class LabelFile:
    """Classes by the name of the sample, or in the order of the samples."""

    path: Path  # the file
    header: tuple[str, ...] = ()  # the first line of a table
    rows: tuple[tuple[int, tuple[str, ...]], ...] = ()  # number and cells of the lines below it
    in_order: tuple[str, ...] | None = None  # one class per sample

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
            if cells[0] in classes and cells[0] in known:
                message = f"{self.path}, line {line}: the sample {cells[0]!r} has a class already"
                raise InputError(message)
            classes[cells[0]] = cells[at]
        return classes

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
            message = (
                f"{self.path} has two lines and {len(self.header)} columns: it looks transposed; "
                "give one line per sample"
            )
        else:
            message = f"{self.path} has {len(self.header)} columns: name the one with the classes with --labels"
        raise InputError(message)


def read_label_file(path: Path, encoding: str | None = None) -> LabelFile:
    """Read a file of classes, of either kind."""
    if path.suffix.lower() == ".cls" or _looks_like_cls(first_bytes(path, 256)):
        return LabelFile(path, in_order=_cls_classes(path))
    try:
        header, lines, _ = delimited_lines(path, Reading(path, header_row=1, encoding=encoding))
    except OneColumnError:
        message = (
            f"{path} has one column only: put the name of the sample before each class, separated by a comma; classes "
            "alone, in the order of the samples, are read from a CLS file"
        )
        raise InputError(message) from None
    rows = []
    for number, cells in lines:
        if len(cells) != len(header):
            message = f"{path}, line {number}: {len(cells)} cells where the first line has {len(header)}"
            raise InputError(message)
        rows.append((number, tuple(cells)))
    if not rows:
        message = f"{path} has a line of names but no data below it"
        raise InputError(message)
    return LabelFile(path, tuple(header), tuple(rows))


def _looks_like_cls(start: bytes) -> bool:
    lines = start.splitlines()
    numbers = lines[0].split() if lines else []
    return (
        len(lines) > 1
        and len(numbers) == 3
        and all(number.isdigit() for number in numbers)
        and lines[1].startswith(b"#")
    )


def _cls_classes(path: Path) -> tuple[str, ...]:
    lines = [line.strip() for line in text_lines(path) if line.strip()]
    if lines and lines[0].lower().startswith("#numeric"):
        message = f"{path} holds measurements (#numeric), not classes"
        raise InputError(message)
    numbers = lines[0].split() if lines else []
    if len(lines) != 3 or len(numbers) != 3 or not lines[1].startswith("#"):
        message = f"{path} is not a CLS file: three lines are needed, as '38 2 1', '# ALL AML', '0 0 1 …'"
        raise InputError(message)
    names, labels = lines[1][1:].split(), lines[2].split()
    if numbers[:2] != [str(len(labels)), str(len(set(labels)))] or len(names) != len(set(labels)):
        message = (
            f"{path}: its first line promises {numbers[0]} samples in {numbers[1]} classes; it has {len(names)} names, "
            f"and {len(labels)} samples in {len(set(labels))} classes"
        )
        raise InputError(message)
    return _named(path, names, labels)


def _named(path: Path, names: list[str], labels: list[str]) -> tuple[str, ...]:
    """Names in place of numbers; programs differ in whether 0 is the first name, or the first number that occurs."""
    in_order = list(dict.fromkeys(labels))
    if set(in_order) == set(names):
        return tuple(labels)
    by_number = [str(number) for number in range(len(names))]
    if set(in_order) == set(by_number) and in_order != by_number:
        message = (
            f"{path}: its numbers do not occur in the order 0, 1, …, and programs disagree on which class name they "
            "mean: write the class names themselves in line 3"
        )
        raise InputError(message)
    return tuple(names[in_order.index(label)] for label in labels)


def some(names: tuple[str, ...] | list[str]) -> str:
    """A few of the names that there are, for messages."""
    shown = ", ".join(repr(name) for name in names[:5])
    return f"it has {shown}" + (f" and {len(names) - 5} more" if len(names) > 5 else "")
