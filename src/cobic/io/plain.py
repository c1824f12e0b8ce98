"""Plain text, cut into columns and read by the C engine of pandas, which can be exact to the last bit.

It is asked only for what it reads as the careful way does (`grid.py`); a file with anything odd in it is left to that
way, which says what is wrong and where.
"""

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cobic.io.raw import MISSING
from cobic.matrix import Floats

# Keywords of pandas.read_csv: from 3.1 on numbers are always exact, and the option that asked for it is on its way out.
_IS_EXACT = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
EXACT: dict[str, Any] = {} if _IS_EXACT else {"float_precision": "round_trip"}
_AS_MISSING = sorted({form for word in MISSING for form in (word, word.upper(), word.capitalize())} | {"NaN"})
_NUMBERS = (np.int64, np.uint64, np.float64)
_TEXT = pd.StringDtype("python")  # columns of which stay apart: objects would be gathered in one block
_MINUS_ZERO = re.compile(rb"-0+(?![\d.])")  # as a whole number it would lose its sign
_TAKEN_FOR_MISSING = str(np.iinfo(np.int64).min).encode()  # by pandas, among whole numbers


def plain_columns(
    text: bytes, delimiter: str, width: int, numeric: Sequence[int], decimal: str
) -> tuple[Floats, dict[int, list[str]]] | None:
    """Whole lines, in UTF-8, as numbers, lines × columns, and the texts of the other columns.

    None where a line is no row, or a cell of a numeric column no number.
    """
    n_lines = text.count(b"\n") + (not text.endswith(b"\n"))
    if b"\0" in text or _TAKEN_FOR_MISSING in text or (b"\r" in text and text.count(b"\r") != text.count(b"\r\n")):
        return None
    others = sorted(set(range(width)).difference(numeric))
    kinds: dict[int, Any] = dict.fromkeys(others, _TEXT)
    if _MINUS_ZERO.search(text):
        kinds |= dict.fromkeys(numeric, float)
    for missing in ({"na_filter": False}, {"keep_default_na": False, "na_values": dict.fromkeys(numeric, _AS_MISSING)}):
        columns = _cut(text, delimiter, decimal, dtype=kinds, **missing)
        if len(columns) != width or len(columns[0]) != n_lines:
            return None
        if all(columns[at].dtype in _NUMBERS for at in numeric):
            break
    else:
        return None
    if not _are_rows(text, delimiter, columns):
        return None
    values = np.empty((n_lines, len(numeric)))
    for to, at in enumerate(numeric):
        values[:, to] = columns[at]
    texts = {}
    for at in others:
        cells = columns[at].tolist()
        stripped = {cell: cell.strip() for cell in set(cells)}
        texts[at] = [stripped[cell] for cell in cells]
    return values, texts


def _cut(text: bytes, delimiter: str, decimal: str, **options: Any) -> list[NDArray[Any]]:
    try:
        frame = pd.read_csv(
            io.BytesIO(text),
            sep=delimiter,
            header=None,
            skipinitialspace=delimiter == " ",
            skip_blank_lines=False,
            decimal=decimal,
            low_memory=False,
            **EXACT,
            **options,
        )
    except (ValueError, OverflowError):
        return []
    return [np.asarray(column) for _, column in frame.items()]


def _are_rows(text: bytes, delimiter: str, columns: Sequence[NDArray[Any]]) -> bool:
    """Tell whether each line is a row: pandas fills lines that are too short, or blank, with empty cells."""
    last = columns[-1]
    if last.dtype == object:
        ending_empty = [at for at, cell in enumerate(last.tolist()) if not cell.strip()]
    else:
        ending_empty = np.flatnonzero(np.isnan(last)).tolist()
    if not ending_empty:
        return True
    lines = text.split(b"\n")
    those = [lines[at].decode() for at in ending_empty]
    reader = csv.reader(those, delimiter=delimiter, skipinitialspace=delimiter == " ")
    return all(len(row) == len(columns) and any(cell.strip() for cell in row) for row in reader)
