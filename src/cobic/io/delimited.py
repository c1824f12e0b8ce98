"""Comma, tab, semicolon or space between cells: the delimiter, the header and the decimal mark are found out."""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path

from cobic.checks import require
from cobic.errors import InputError
from cobic.io.grid import Grid, is_number
from cobic.io.raw import MISSING, Format, Line, RawTable, Reading
from cobic.io.sizes import text_size
from cobic.io.source import cells_of, text_blocks, text_lines

_HEAD_LINES = 50  # by which delimiter and decimal mark are told
_TITLE_LINES = 20  # more than a title and remarks above a table have
_HEAD_CHARACTERS = 1 << 20  # of lines so long a few will do
_WITH_COMMA = re.compile(r"[-+]?\d*,\d+(?:[eE][-+]?\d+)?")
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")


class OneColumnError(InputError):
    """A table with one column only."""


class NoNamesError(InputError):
    """A first line that looks like data where the names should be."""


def read_delimited(path: Path, options: Reading) -> RawTable:
    """Read CSV, TSV and their relatives."""
    header, rows, delimiter = delimited_lines(path, options)
    form = {",": "CSV", "\t": "TSV"}.get(delimiter, f"text separated by {delimiter!r}")
    head = list(islice(rows, _HEAD_LINES))
    grid = Grid(path, form, header, options.decimal or _decimal(path, delimiter, head))
    if len(head) == _HEAD_LINES:
        below = text_blocks(path, options.encoding, n_above=head[-1][0])
        table = grid.split_text(head, below, delimiter)
        if table is not None:
            return table
    return grid.split(chain(head, rows))


TEXT = Format(read_delimited, ("csv", "tsv", "txt", "tab"), certain_name=False, size=text_size)


def delimited_lines(path: Path, options: Reading) -> tuple[list[str], Iterator[Line], str]:
    """Header, lines and delimiter of a text file; what stands before the header is left out."""
    lines = text_lines(path, options.encoding)
    skipped = list(islice(lines, max(0, (options.header_row or 1) - 1)))
    start = _start(lines)
    delimiter = _delimiter(start)
    rows = cells_of(path, chain(_without_comments(start, delimiter), lines), delimiter, first=len(skipped) + 1)
    header, rows = header_and_lines(path, rows, options)
    return header, rows, delimiter


def _start(lines: Iterator[str]) -> list[str]:
    """The comments at the top and the first lines after them."""
    start: list[str] = []
    found = size = 0
    for line in lines:
        start.append(line)
        if not _is_comment(line):
            found, size = found + 1, size + len(line)
        if found >= _HEAD_LINES or (found > 1 and size > _HEAD_CHARACTERS):
            break
    return start


def _is_comment(line: str) -> bool:
    return line.startswith("#") or not line.strip()


def _without_comments(start: list[str], delimiter: str) -> Iterator[str]:
    """Blank lines in place of the comments at the top; but the last one is the header if it has the cells of one."""
    first = next((at for at, line in enumerate(start) if not _is_comment(line)), len(start))
    widths = [max(_widths([line], delimiter), default=0) for line in start[max(0, first - 1) : first + 1]]
    is_header = 0 < first < len(start) and widths[0] == widths[1] > 1
    yield from ["\n"] * (first - is_header)
    yield from (line.lstrip("# ") for line in start[first - is_header : first])
    yield from start[first:]


def header_and_lines(path: Path, rows: Iterator[Line], options: Reading) -> tuple[list[str], Iterator[Line]]:
    """Tell the line with the names from the lines below it."""
    first = next(rows, None)
    if first is None:
        message = f"{path} is empty: a table with a line of names and a line per sample is needed"
        raise InputError(message)
    number, header = first
    second = next(rows, None)
    rest = rows if second is None else chain([second], rows)
    if second is not None and len(second[1]) == len(header) + 1:
        header = ["", *header]  # as R writes a table: no heading above the names of the rows
    if options.header_row is None:
        head = list(islice(rest, _TITLE_LINES))
        _require_no_title(path, number, header, head)
        rest = chain(head, rest)
    if len(header) < 2:
        message = f"{path} has one column only: separate the columns by comma, tab or semicolon"
        raise OneColumnError(message)
    if options.header_row == 0:
        return [f"column_{column + 1}" for column in range(len(first[1]))], chain([first], rest)
    if options.header_row is None:
        _require_names(path, number, header)
    return header, rest


def _require_names(path: Path, number: int, header: Sequence[str]) -> None:
    """Refuse a line of data: mostly numbers, and not different whole ones, which patients and genes may be called."""
    numbers = [cell for cell in header if is_number(cell) or is_number(cell, ",")]
    names = len(set(numbers)) == len(numbers) and all(cell.isdigit() for cell in numbers)
    only = len(numbers) == len(header)
    what = "holds numbers only" if only else f"looks like data, with {next(iter(numbers), 0)} where a name should be"
    message = (
        f"{path}, line {number} {what}: if there is no line of names, say --header-row 0; "
        f"if these are the names, --header-row {number}"
    )
    require(not only and (names or 2 * len(numbers) <= len(header)), message, NoNamesError)


def _require_no_title(path: Path, number: int, header: Sequence[str], head: Sequence[Line]) -> None:
    """Refuse a title, or some lines of one, where the line with the names should be."""
    width = max((len(cells) for _, cells in head), default=0)
    wide = [line for line, cells in head if len(cells) == width and all(cells[1:])]
    filled = sum(map(bool, header))
    narrow = len(header) < width or (filled == 1 and width > 2)
    if narrow and 2 * len(wide) > len(head) > 1:
        message = (
            f"{path}, line {number} has {filled} cell{'s' * (filled > 1)} where line {wide[0]} has {width}: if it is a "
            f"title and the names are in line {wide[0]}, say --header-row {wide[0]}"
        )
        raise InputError(message)


def _delimiter(start: Sequence[str]) -> str:
    """The delimiter that cuts most lines into the same number of cells."""
    lines = [line for line in start if not _is_comment(line)] or list(start)
    return max(",\t; ", key=lambda delimiter: _evenness(lines, delimiter))


def _evenness(lines: Sequence[str], delimiter: str) -> tuple[bool, float, int]:
    widths = _widths(lines, delimiter)
    width = max(set(widths), key=widths.count, default=1)
    agreeing = sum(each == width for each in widths) / max(1, len(widths))
    # A blank is a delimiter only where there is no other: names and descriptions have blanks.
    return width > 1 and delimiter != " ", agreeing if width > 1 else 0.0, width


def _widths(lines: Sequence[str], delimiter: str) -> list[int]:
    with suppress(csv.Error):
        return [len(row) for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == " ") if row]
    return []


def _decimal(path: Path, delimiter: str, head: Sequence[Line]) -> str:
    """The decimal mark; where 1,234 could be either, ask."""
    if delimiter == ",":
        return "."
    cells = [cell for _, row in head for cell in row if cell.lower() not in MISSING]
    with_comma = [cell for cell in cells if _WITH_COMMA.fullmatch(cell)]
    if not with_comma:
        return "."
    message = (
        f"{path} has numbers with a decimal comma ({with_comma[0]}) and with a decimal point: "
        "say which it is with --decimal"
    )
    require(not any("." in cell and is_number(cell) for cell in cells), message)
    message = f"{path}: is {with_comma[0]} a whole number or a fraction? Remove the commas, or say --decimal ,"
    require(not all(_GROUPED.fullmatch(cell) for cell in with_comma), message)
    return ","
