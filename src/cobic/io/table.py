"""The plain CSV that cobic writes, and tables of groups of features."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from cobic.errors import InputError
from cobic.io.labels import read_label_file, some
from cobic.problem.dataset import Dataset


def read_groups(path: str | Path, feature_names: Sequence[str]) -> list[str | None]:
    """Read which features stand and fall together from a table with the columns ``feature`` and ``group``."""
    table = read_label_file(Path(path))
    for name in ("feature", "group"):
        if name not in table.header:
            message = f"{path} has no column {name!r}: {some(table.header)}"
            raise InputError(message)
    at, to = table.header.index("feature"), table.header.index("group")
    known, groups = set(feature_names), dict[str, str]()
    for line, row in table.rows:
        feature, group = row[at], row[to]
        if feature not in known:
            message = f"{path}, line {line}, column {at + 1} ('feature'): the data have no feature {feature!r}"
            raise InputError(message)
        if groups.setdefault(feature, group) != group:
            place = f"{path}, line {line}, column {to + 1} ('group')"
            message = f"{place}: feature {feature!r} is in group {groups[feature]!r} already"
            raise InputError(message)
    return [groups.get(name) or None for name in feature_names]


def table_text(data: Dataset) -> str:
    """Write a data set as the CSV that :func:`cobic.read` takes with ``labels="class"``."""
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
