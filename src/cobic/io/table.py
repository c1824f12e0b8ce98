"""The plain CSV that cobic writes, and tables of groups of features."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from cobic.errors import InputError
from cobic.io.labels import read_label_file, some
from cobic.problem.dataset import Dataset


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
    """Write a data set as the CSV that :func:`cobic.read` takes with ``labels="class"``.

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
