"""Tables of numbers with names, as CSV or TSV, plain or gzipped, either way round."""

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cobic.dataset import Dataset
from cobic.errors import InputError
from cobic.matrix import Floats

_DELIMITERS = ",\t;"
_ID_NAMES = {"", "id", "ids", "index", "name", "sample", "samples", "sample_id", "sampleid", "sample id"}
_NO_LABEL = {"", "na", "n/a", "nan"}
_MISSING = {*_NO_LABEL, "null", "none", "?", "-"}


@dataclass(frozen=True)
class _Grid:
    """The cells of a file: a header line and lines as long as it, with their numbers for messages."""

    path: Path
    header: list[str]
    lines: list[tuple[int, list[str]]]

    def place(self, line: int, column: int) -> str:
        return f"{self.path}, line {line}, column {column + 1} ({self.header[column]!r})"

    def without(self, names: Iterable[str]) -> "_Grid":
        for name in names:
            if name not in self.header:
                message = f"{self.path} has no column {name!r} to drop: {_some(self.header)}"
                raise InputError(message)
        kept = [index for index, name in enumerate(self.header) if name not in set(names)]
        header = [self.header[index] for index in kept]
        return _Grid(self.path, header, [(line, [row[index] for index in kept]) for line, row in self.lines])


def read_table(
    path: str | Path,
    *,
    labels: str | None = None,
    labels_file: str | Path | None = None,
    features_in_rows: bool = False,
    ids: str | None = None,
    drop: Sequence[str] = (),
) -> Dataset:
    """Read a table of samples and features from a CSV or TSV file (``.gz`` too).

    The first line holds names. Comma, tab or semicolon is recognised from it.

    Parameters
    ----------
    path : str or Path
        The file.
    labels : str, optional
        The column (with `features_in_rows`: the row) that holds the class of each sample; with `labels_file` the
        column of that file, if it has more than two.
    labels_file : str or Path, optional
        A second table with one line per sample: its name, then its class. It may have more samples.
    features_in_rows : bool, default=False
        True if each line is a feature: its name, then one value per sample; the header holds the sample names.
    ids : str, optional
        With samples in rows, the column of the sample names. By default the first column if it is called something
        like ``id`` or ``sample``, has no name, or holds no number at all; otherwise there are none.
    drop : sequence of str
        Columns to leave out.

    Returns
    -------
    Dataset
        Its `y` holds strings, or is None if no labels were asked for.

    Raises
    ------
    InputError
        If the file cannot be read as such a table; the message names the line and the column.
    """
    path = Path(path)
    grid = _read_grid(path).without(drop)
    inline = labels if labels_file is None else None
    data = _features_in_rows(grid, inline) if features_in_rows else _samples_in_rows(grid, inline, ids)
    if labels_file is None:
        return data
    y = _labels_from_file(
        Path(labels_file), labels, data, ids_known=features_in_rows or _id_column(grid, ids) is not None
    )
    return Dataset(data.X, y, data.feature_names, data.sample_names, data.source)


def read_groups(path: str | Path, feature_names: Sequence[str]) -> list[str | None]:
    """Read which features stand and fall together from a table with the columns ``feature`` and ``group``.

    Parameters
    ----------
    path : str or Path
        CSV or TSV; further columns are ignored, and so are lines without a group.
    feature_names : sequence of str
        The features of the data. One that is not in the table is on its own; a name stands for all features called so.

    Returns
    -------
    list
        A group, or None, for each feature.

    Raises
    ------
    InputError
        If a column is missing, or the table names a feature that the data do not have, or gives it two groups.
    """
    grid = _read_grid(Path(path))
    for name in ("feature", "group"):
        if name not in grid.header:
            message = f"{path} has no column {name!r}: {_some(grid.header)}"
            raise InputError(message)
    at, to = grid.header.index("feature"), grid.header.index("group")
    known, groups = set(feature_names), dict[str, str]()
    for line, row in grid.lines:
        feature, group = row[at], row[to]
        if feature not in known:
            message = f"{grid.place(line, at)}: the data have no feature {feature!r}"
            raise InputError(message)
        if groups.setdefault(feature, group) != group:
            message = f"{grid.place(line, to)}: feature {feature!r} is in group {groups[feature]!r} already"
            raise InputError(message)
    return [groups.get(name) or None for name in feature_names]


def table_text(data: Dataset) -> str:
    """Write a data set as the CSV that :func:`read_table` takes with ``labels="class"``.

    Parameters
    ----------
    data : Dataset
        What to write; numbers are written so that they are read back unchanged.

    Returns
    -------
    str
        A header, then one line per sample: its name, its class if known, its values.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["sample", *(["class"] if data.y is not None else []), *data.feature_names])
    for index, name in enumerate(data.sample_names):
        values = [
            f"{value:.0f}" if value == round(value) and abs(value) < 1e15 else repr(float(value))
            for value in data.X[index]
        ]
        writer.writerow([name, *([data.y[index]] if data.y is not None else []), *values])
    return stream.getvalue()


def _read_grid(path: Path) -> _Grid:
    text = _read_text(path)
    if not text.strip():
        message = f"{path} is empty: a table with a line of names and a line per sample is needed"
        raise InputError(message)
    first = text.lstrip("\r\n").split("\n", 1)[0]
    delimiter = max(_DELIMITERS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    csv.field_size_limit(1 << 30)
    try:
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if row]
    except csv.Error as error:
        message = f"{path}, line {reader.line_num}: not a table of text ({error})"
        raise InputError(message) from None
    (_, header), lines = rows[0], rows[1:]
    if len(header) < 2:
        message = f"{path} has one column only: separate the columns by comma, tab or semicolon"
        raise InputError(message)
    for line, row in lines:
        if len(row) != len(header):
            message = f"{path}, line {line}: {len(row)} cells where the first line has {len(header)}"
            raise InputError(message)
    if not lines:
        message = f"{path} has a line of names but no data below it"
        raise InputError(message)
    return _Grid(path, header, lines)


def _read_text(path: Path) -> str:
    try:
        raw = path.read_bytes()
        if raw[:2] == b"\x1f\x8b":
            raw = gzip.decompress(raw)
        return raw.decode("utf-8-sig")
    except FileNotFoundError:
        message = f"there is no file {path}"
    except (gzip.BadGzipFile, EOFError, zlib.error):
        message = f"{path} is not a whole gzip file: it seems cut short or damaged"
    except UnicodeDecodeError as error:
        message = f"{path} is not text in UTF-8 (byte {error.start}): save it as CSV with UTF-8 encoding"
    except OSError as error:
        message = f"cannot read {path}: {error.strerror or error}"
    raise InputError(message)


def _samples_in_rows(grid: _Grid, labels: str | None, ids: str | None) -> Dataset:
    label_column = None if labels is None else _label_column(grid, labels)
    id_column = _id_column(grid, ids)
    taken = {label_column, id_column}
    columns = [index for index in range(len(grid.header)) if index not in taken]
    names = [row[id_column] if id_column is not None else f"line {line}" for line, row in grid.lines]
    _require_distinct(grid.path, names)
    y = None
    if label_column is not None:
        y = np.array([row[label_column] for _, row in grid.lines])
        _require_labels(grid.path, y, names)
    X = np.empty((len(grid.lines), len(columns)))
    for index, (line, row) in enumerate(grid.lines):
        X[index] = _numbers(grid, line, row, columns)
    return Dataset(X, y, tuple(grid.header[index] for index in columns), tuple(names), str(grid.path))


def _features_in_rows(grid: _Grid, labels: str | None) -> Dataset:
    y, lines = None, grid.lines
    if labels is not None:
        found = [row for _, row in lines if row[0] == labels]
        if not found:
            raise _no_labels_row(grid, labels)
        y, lines = np.array(found[0][1:]), [(line, row) for line, row in lines if row[0] != labels]
        _require_labels(grid.path, y, grid.header[1:])
    _require_distinct(grid.path, grid.header[1:])
    columns = range(1, len(grid.header))
    values = [_numbers(grid, line, row, columns) for line, row in lines]
    X = np.array(values).T.copy() if values else np.empty((len(columns), 0))
    names = tuple(row[0] for _, row in lines)
    return Dataset(X, y, names, tuple(grid.header[1:]), str(grid.path))


def _label_column(grid: _Grid, labels: str) -> int:
    places = [index for index, name in enumerate(grid.header) if name == labels]
    if len(places) == 1:
        return places[0]
    if len(places) > 1:
        message = f"{grid.path} has {len(places)} columns called {labels!r}: which one holds the classes?"
    elif any(row[0] == labels for _, row in grid.lines):
        message = (
            f"{grid.path}: {labels!r} is the name of a line, not of a column: the table looks transposed; "
            "if its lines are features, add --features-in-rows"
        )
    else:
        message = f"{grid.path} has no column {labels!r}: {_some(grid.header)}"
    raise InputError(message)


def _no_labels_row(grid: _Grid, labels: str) -> InputError:
    if labels in grid.header:
        return InputError(
            f"{grid.path}: {labels!r} is the name of a column, not of a line: the table looks transposed; "
            "if its lines are samples, leave out --features-in-rows"
        )
    return InputError(f"{grid.path} has no line {labels!r}: {_some([row[0] for _, row in grid.lines])}")


def _id_column(grid: _Grid, ids: str | None) -> int | None:
    if ids is not None:
        if ids not in grid.header:
            message = f"{grid.path} has no column {ids!r}: {_some(grid.header)}"
            raise InputError(message)
        return grid.header.index(ids)
    named = grid.header[0].lower() in _ID_NAMES
    return 0 if named or not any(_is_number(row[0]) or row[0].lower() in _MISSING for _, row in grid.lines) else None


def _numbers(grid: _Grid, line: int, row: list[str], columns: Sequence[int]) -> Floats:
    cells = [row[index] for index in columns]
    try:
        values = np.array(cells, dtype=np.float64)
    except ValueError:
        values = None
    if values is not None and np.isfinite(values).all():
        return values
    column = next(index for index in columns if not _is_finite_number(row[index]))
    cell, place = row[column], grid.place(line, column)
    if cell.lower() in _MISSING:
        message = f"{place}: missing value; impute it first (sklearn.impute.SimpleImputer, say), or drop the feature"
    elif _is_number(cell):
        message = f"{place}: {cell!r} is not finite; replace it, or drop the feature"
    else:
        message = f"{place}: {cell!r} is not a number; correct it, or leave the column out with --drop"
    raise InputError(message)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_finite_number(cell: str) -> bool:
    return _is_number(cell) and bool(np.isfinite(float(cell)))


def _require_distinct(path: Path, names: Sequence[str]) -> None:
    name, times = Counter(names).most_common(1)[0] if names else ("", 0)
    if times > 1:
        message = f"{path}: the sample name {name!r} occurs {times} times: sample names must be distinct"
        raise InputError(message)


def _require_labels(path: Path, y: NDArray[np.str_], names: Sequence[str]) -> None:
    missing = [name for name, label in zip(names, y, strict=True) if label.lower() in _NO_LABEL]
    if missing:
        message = (
            f"{path}: {len(missing)} sample(s) have no class, the first is {missing[0]!r}: label them or leave them out"
        )
        raise InputError(message)


def _labels_from_file(path: Path, column: str | None, data: Dataset, *, ids_known: bool) -> NDArray[np.str_]:
    if not ids_known:
        message = f"{data.source} has no sample names to look up in {path}: name their column with --ids"
        raise InputError(message)
    grid = _read_grid(path)
    known = set(data.sample_names)
    rows = [(1, grid.header), *grid.lines] if grid.header[0] in known and column is None else grid.lines
    at = _class_column(grid, column, known)
    classes: dict[str, str] = {}
    for line, row in rows:
        if row[0] in classes and row[0] in known:
            message = f"{path}, line {line}: the sample {row[0]!r} has a class already"
            raise InputError(message)
        classes[row[0]] = row[at]
    missing = [name for name in data.sample_names if classes.get(name, "").lower() in _NO_LABEL]
    if len(missing) == len(data.sample_names) and any(name in classes for name in data.feature_names):
        message = (
            f"{path} names the features of {data.source}, not its samples: the table looks transposed; "
            "give --features-in-rows if its lines are features, leave it out if not"
        )
        raise InputError(message)
    if missing:
        message = (
            f"{path} has no class for {len(missing)} of {len(known)} samples, the first is {missing[0]!r}: "
            "label them or leave them out"
        )
        raise InputError(message)
    return np.array([classes[name] for name in data.sample_names])


def _class_column(grid: _Grid, column: str | None, known: set[str]) -> int:
    if column is not None:
        return _label_column(grid, column)
    if len(grid.header) == 2:
        return 1
    if len(grid.lines) == 1 and known.intersection(grid.header):
        message = (
            f"{grid.path} has two lines and {len(grid.header)} columns: it looks transposed; give one line per sample"
        )
    else:
        message = f"{grid.path} has {len(grid.header)} columns: name the one with the classes with --labels"
    raise InputError(message)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return f"it has {shown}" + (f" and {len(names) - 5} more" if len(names) > 5 else "")
