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

# A workbook takes its time: a second for half a million cells.
_MOST_EXPANSION = 50  # tables of zeros alone unpack to 12 times their size
_ALWAYS_UNPACKED = 1 << 24  # bytes, 16 MB
_MOST_GAPS = 1 << 22  # rows and cells that are not in the file, but before those that are: four empty sheets of them


def read_excel(path: Path, options: Reading) -> RawTable:
    """Read one sheet of a workbook; values as they were last computed."""
    openpyxl = needed("openpyxl", "excel")
    with foreign(path, "an Excel file"):
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
        require_unpacked(path, size, _MOST_EXPANSION, _ALWAYS_UNPACKED)
        with path.open("rb") as stream:
            book = _Workbook(
                path, openpyxl.load_workbook(stream, read_only=True, data_only=True, keep_links=False), size
            )
            name = book.chosen(options.part)
            header, lines = header_and_lines(path, book.rows(name, max(1, options.header_row or 1)), options)
            padded = ((number, cells + [""] * (len(header) - len(cells))) for number, cells in lines)
            return Grid(path, f"Excel, sheet {name!r}", header).split(padded)


def _is_excel(path: Path, start: bytes) -> bool:
    return start.startswith(b"PK") and any(name.startswith("xl/") for name in zip_names(path))


EXCEL = Format(read_excel, ("xlsx", "xlsm"), recognises=_is_excel, parts=True)


class _Workbook:
    """The sheets of a workbook; no more of their rows and cells are looked at than there can be in the file."""

    def __init__(self, path: Path, book: Any, size: int) -> None:
        self._path, self._book = path, book
        self._left = max(_MOST_GAPS, size)  # a cell takes a few bytes

    def chosen(self, name: str | None) -> str:
        """The name of a sheet that there is: of the one with cells, if none is asked for."""
        path, names = self._path, self._book.sheetnames
        if name is None:
            filled = [each for each in names if next(self.rows(each, 1), None)]
            message = f"{path} has {len(filled)} sheets with cells in them: say which with --sheet: {', '.join(names)}"
            require(len(filled) == 1, message)
            return str(filled[0])
        require(name in names, f"{path} has no sheet {name!r}: its sheets are {', '.join(names)}")
        return name

    def rows(self, name: str, first: int) -> Iterator[Line]:
        """Number and cells of each row that is not empty; empty cells at its end are left out."""
        sheet = self._book[name]
        require(hasattr(sheet, "iter_rows"), f"{self._path}: sheet {name!r} is a chart, not a table")
        sheet.reset_dimensions()  # what the file says about its size may be wrong, or a trap
        for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
            self._left -= 1 + len(row)
            require(self._left >= 0, f"{self._path} has millions of rows or cells with nothing in them: save it anew")
            if number < first:
                continue
            cells = [as_text(value) for value in row]
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                yield number, cells
