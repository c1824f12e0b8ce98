"""Excel workbooks, a sheet at a time."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cobic.checks import require
from cobic.io.delimited import header_and_lines
from cobic.io.grid import Grid
from cobic.io.raw import Format, Line, RawTable, Reading, as_text
from cobic.io.source import foreign, needed, require_unpacked, zip_names


def read_excel(path: Path, options: Reading) -> RawTable:
    """Read one sheet of a workbook; values as they were last computed."""
    openpyxl = needed("openpyxl", "excel")
    with foreign(path, "an Excel file"):
        with zipfile.ZipFile(path) as archive:
            require_unpacked(path, sum(member.file_size for member in archive.infolist()))
        with path.open("rb") as stream:
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
            sheet = _sheet(path, book, options.part)
            rows = _rows(sheet, max(1, options.header_row or 1))
            header, lines = header_and_lines(path, rows, options)
            padded = ((number, cells + [""] * (len(header) - len(cells))) for number, cells in lines)
            return Grid(path, f"Excel, sheet {sheet.title!r}", header).split(padded)


def _is_excel(path: Path, start: bytes) -> bool:
    return start.startswith(b"PK") and any(name.startswith("xl/") for name in zip_names(path))


EXCEL = Format(read_excel, ("xlsx", "xlsm"), recognises=_is_excel, parts=True)


def _sheet(path: Path, book: Any, name: str | None) -> Any:
    names = book.sheetnames
    if name is None:
        filled = [each for each in names if next(_rows(_worksheet(path, book, each), 1), None)]
        message = f"{path} has {len(filled)} sheets with cells in them: say which with --sheet: {', '.join(names)}"
        require(len(filled) == 1, message)
        name = filled[0]
    require(name in names, f"{path} has no sheet {name!r}: its sheets are {', '.join(names)}")
    return _worksheet(path, book, name)


def _worksheet(path: Path, book: Any, name: str) -> Any:
    sheet = book[name]
    require(hasattr(sheet, "iter_rows"), f"{path}: sheet {name!r} is a chart, not a table")
    sheet.reset_dimensions()  # what the file says about its size may be wrong, or a trap
    return sheet


def _rows(sheet: Any, first: int) -> Iterator[Line]:
    """Number and cells of each row that is not empty; empty cells at its end are left out."""
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        if number < first:
            continue
        cells = [as_text(value) for value in row]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield number, cells
