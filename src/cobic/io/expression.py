"""Expression tables with features in rows and tabs between cells: GCT and RES of the Broad Institute, and GEO's.

By hand, as ARFF is: readers of others name no line that is wrong.
"""

from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from cobic.checks import require
from cobic.io.grid import Collected
from cobic.io.raw import Format, Line, Note, RawTable, Reading
from cobic.io.sizes import text_size
from cobic.io.source import cells_of, require_width, text_lines

_PROMISED = "its head promises"
_BEGIN, _END = "!series_matrix_table_begin", "!series_matrix_table_end"


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
    found = Collected(path, range(start, start + n_columns), range(start))
    for number, cells in lines:
        require_width(path, number, cells, start + n_columns, _PROMISED)
        found.add(number, cells)
    _require_rows(path, len(found.numbers), n_rows)
    rows, *others = found.texts
    row_notes = [Note(name, tuple(texts), leading=True) for name, texts in zip(header[1:start], others, strict=True)]
    return found.table(f"GCT {version}", header[start:], rows, row_notes, notes, "columns")


def read_res(path: Path, options: Reading) -> RawTable:
    """Read RES: each value is followed by a call, present or absent, which is set aside."""
    lines = _cells(path, options)
    header = next(lines, (1, [""]))[1]
    names = tuple(name for name in header[2::2] if name)
    described = [*next(lines, (2, []))[1][1:], *[""] * (2 * len(names))]
    size = next(lines, (3, [""]))[1][0]
    message = f"{path} is not a RES file: a line of names, one of descriptions and one with a number are needed"
    require(names and size.isdigit(), message)
    width = 2 + 2 * len(names)
    found = Collected(path, range(2, width, 2), [0, 1], remarks=(f"{len(names)} columns of calls",))
    for number, cells in lines:
        padded = [*cells, ""] if len(cells) == width - 1 else cells
        require_width(path, number, padded, width, _PROMISED)
        found.add(number, padded)
    _require_rows(path, len(found.numbers), int(size))
    note = Note("description", tuple(described[: 2 * len(names) : 2]))
    features = Note("Description", tuple(found.texts[0]), leading=True)
    return found.table("RES", names, found.texts[1], [features], [note] if any(note.texts) else [], "columns")


def _is_gct(_: Path, start: bytes) -> bool:
    return start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"#1.2", b"#1.3"))


GCT = Format(read_gct, ("gct",), recognises=_is_gct, size=text_size)
RES = Format(read_res, ("res",), certain_name=False, size=text_size)


def _cells(path: Path, options: Reading) -> Iterator[Line]:
    for number, line in enumerate(text_lines(path, options.encoding), start=1):
        if line.strip():
            yield number, [cell.strip().strip('"') for cell in line.rstrip("\r\n").split("\t")]


def _gct_size(path: Path, cells: list[str], version: str) -> tuple[int, int, int, int]:
    numbers = [int(cell) for cell in cells if cell.isdecimal() and len(cell) < 10]
    expected = {"1.2": 2, "1.3": 4}.get(version, 0)
    message = f"{path} is not GCT 1.2 or 1.3: '#1.2' and a line such as '7129 38' are needed at the top"
    require(expected and len(numbers) >= expected, message)
    return (numbers[0], numbers[1], 1, 0) if expected == 2 else (numbers[0], numbers[1], numbers[2], numbers[3])


def _line(path: Path, lines: Iterator[Line], width: int) -> list[str]:
    number, cells = next(lines, (0, []))
    require(number, f"{path} ends before its data: it seems cut short")
    require_width(path, number, cells, width, _PROMISED)
    return cells


def _require_rows(path: Path, found: int, promised: int) -> None:
    message = f"{path} promises {promised} features and has {found}: it seems cut short or damaged"
    require(found and found == promised, message)


def read_geo(path: Path, options: Reading) -> RawTable:
    """Read a series matrix; each characteristic of the samples may hold the classes."""
    lines = text_lines(path, options.encoding)
    above = list(takewhile(lambda line: not line.lower().startswith(_BEGIN), lines))
    ended: list[bool] = []
    rows = cells_of(path, _until_end(lines, ended), "\t", first=len(above) + 2)
    header = next(rows, (0, []))[1]
    message = f"{path} has no table after {_BEGIN}: this series has its data elsewhere, or the file is cut short"
    require(len(header) > 1, message)
    found = Collected(path, range(1, len(header)), [0])
    for number, cells in rows:
        padded = cells + [""] * (len(header) - len(cells))  # a last value that is missing has no tab before it
        message = f"{path}, line {number}: {len(cells)} cells where the table has {len(header)} columns"
        require(len(padded) == len(header), message)
        found.add(number, padded)
    require(ended and found.numbers, f"{path} has no line {_END} after its data: it seems cut short")
    notes = _sample_notes(path, above, len(header) - 1)
    return found.table("GEO series matrix", header[1:], found.texts[0], column_notes=notes, samples_in="columns")


def _is_geo(_: Path, start: bytes) -> bool:
    return start.removeprefix(b"\xef\xbb\xbf").lstrip().lower().startswith((b"!series_", b"!sample_"))


GEO = Format(read_geo, recognises=_is_geo)


def _until_end(lines: Iterator[str], ended: list[bool]) -> Iterator[str]:
    for line in lines:
        if line.lower().startswith(_END):
            ended.append(True)
            return
        yield line


def _sample_notes(path: Path, above: list[str], n_samples: int) -> tuple[Note, ...]:
    """What is said about each sample; of characteristics such as 'tissue: colon' each kind is a note of its own."""
    notes, kinds = [], dict[str, list[str]]()
    about_samples = (line for line in above if line.lower().startswith("!sample_"))
    for _, (name, *texts) in cells_of(path, iter(about_samples), "\t"):
        if len(texts) != n_samples:
            continue
        if not name.lower().startswith("!sample_characteristics"):
            short = name[len("!Sample_") :]
            notes.append(Note(short, tuple(texts), leading=short == "title"))
            continue
        for sample, text in enumerate(texts):
            kind, colon, value = text.partition(":") if ":" in text else ("characteristics", "", text)
            kinds.setdefault(kind.strip(), [""] * n_samples)[sample] = value.strip() if colon else text
    return (*notes, *(Note(kind, tuple(texts)) for kind, texts in kinds.items() if any(texts)))
