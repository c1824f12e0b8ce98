"""GCT and RES, the expression tables of the Broad Institute: features in rows, tabs between cells."""

from collections.abc import Iterator
from pathlib import Path

from cobic.errors import InputError
from cobic.io.grid import Collected
from cobic.io.raw import Axis, Format, Note, RawTable
from cobic.io.reading import Reading
from cobic.io.sizes import text_size
from cobic.io.source import text_lines

_Cells = Iterator[tuple[int, list[str]]]


def read_gct(path: Path, options: Reading) -> RawTable:
    """Read GCT 1.2 and 1.3; of the latter the metadata of samples are where classes may be."""
    lines = _cells(path, options)
    version = next(lines, (1, [""]))[1][0].lstrip("#")
    n_rows, n_columns, n_row_notes, n_column_notes = _gct_size(path, next(lines, (2, []))[1], version)
    start = 1 + n_row_notes
    header = _line(path, lines, start + n_columns)
    notes = []
    for _ in range(n_column_notes):
        cells = _line(path, lines, start + n_columns)
        notes.append(Note(cells[0], tuple(cells[start:])))
    found = Collected(path, list(range(start, start + n_columns)), list(range(start)), ".")
    for number, cells in lines:
        _require_width(path, number, cells, start + n_columns)
        found.add(number, cells)
    _require_rows(path, len(found.numbers), n_rows)
    row_notes = tuple(
        Note(name, tuple(texts), leading=True) for name, texts in zip(header[1:start], found.texts[1:], strict=True)
    )
    return RawTable(
        path,
        f"GCT {version}",
        found.values(),
        Axis(n_rows, tuple(found.texts[0]), row_notes, found.numbers, "line"),
        Axis(n_columns, tuple(header[start:]), tuple(notes), [column + 1 for column in found.numeric], "column"),
        "columns",
        found.odd,
    )


def read_res(path: Path, options: Reading) -> RawTable:
    """Read RES: each value is followed by a call, present or absent, which is set aside."""
    lines = _cells(path, options)
    header = next(lines, (1, [""]))[1]
    names = tuple(name for name in header[2::2] if name)
    described = [*next(lines, (2, []))[1][1:], *[""] * (2 * len(names))]
    size = next(lines, (3, [""]))[1][0]
    if not names or not size.isdigit():
        message = f"{path} is not a RES file: a line of names, one of descriptions and one with a number are needed"
        raise InputError(message)
    width = 2 + 2 * len(names)
    found = Collected(path, list(range(2, width, 2)), [0, 1], ".")
    for number, cells in lines:
        padded = [*cells, ""] if len(cells) == width - 1 else cells
        _require_width(path, number, padded, width)
        found.add(number, padded)
    _require_rows(path, len(found.numbers), int(size))
    note = Note("description", tuple(described[: 2 * len(names) : 2]))
    features = Note("Description", tuple(found.texts[0]), leading=True)
    positions = [column + 1 for column in found.numeric]
    return RawTable(
        path,
        "RES",
        found.values(),
        Axis(int(size), tuple(found.texts[1]), (features,), found.numbers, "line"),
        Axis(len(names), names, (note,) if any(note.texts) else (), positions, "column"),
        "columns",
        found.odd,
        (f"{len(names)} columns of calls",),
    )


def _is_gct(_: Path, start: bytes) -> bool:
    return start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"#1.2", b"#1.3"))


GCT = Format(read_gct, ("gct",), recognises=_is_gct, size=text_size)
RES = Format(read_res, ("res",), certain_name=False, size=text_size)


def _cells(path: Path, options: Reading) -> _Cells:
    for number, line in enumerate(text_lines(path, options.encoding), start=1):
        if line.strip():
            yield number, [cell.strip().strip('"') for cell in line.rstrip("\r\n").split("\t")]


def _gct_size(path: Path, cells: list[str], version: str) -> tuple[int, int, int, int]:
    numbers = [int(cell) for cell in cells if cell.isdecimal() and len(cell) < 10]
    expected = {"1.2": 2, "1.3": 4}.get(version)
    if expected is None or len(numbers) < expected:
        message = f"{path} is not GCT 1.2 or 1.3: '#1.2' and a line such as '7129 38' are needed at the top"
        raise InputError(message)
    return (numbers[0], numbers[1], 1, 0) if expected == 2 else (numbers[0], numbers[1], numbers[2], numbers[3])


def _line(path: Path, lines: _Cells, width: int) -> list[str]:
    number, cells = next(lines, (0, []))
    if not number:
        message = f"{path} ends before its data: it seems cut short"
        raise InputError(message)
    _require_width(path, number, cells, width)
    return cells


def _require_width(path: Path, number: int, cells: list[str], width: int) -> None:
    if len(cells) != width:
        message = f"{path}, line {number}: {len(cells)} cells where its head promises {width}"
        raise InputError(message)


def _require_rows(path: Path, found: int, promised: int) -> None:
    if found != promised or not found:
        message = f"{path} promises {promised} features and has {found}: it seems cut short or damaged"
        raise InputError(message)
