"""ARFF, the tables of Weka: attributes with types, then lines of values, dense or sparse."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from cobic.checks import require
from cobic.errors import InputError
from cobic.io.grid import Grid
from cobic.io.raw import Format, Line, RawTable, Reading
from cobic.io.source import require_cells, text_lines

_ATTRIBUTE = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+)\s+(\S.*)""", re.IGNORECASE)
_NUMERIC = ("numeric", "real", "integer")


_Attribute = tuple[str, bool, str]  # name, whether it holds numbers, what a sparse line means by leaving it out


def read_arff(path: Path, options: Reading) -> RawTable:
    """Read ARFF; attributes that are nominal, texts or dates are about the samples."""
    lines = enumerate(text_lines(path, options.encoding), start=1)
    names, numeric, defaults = zip(*_attributes(path, lines), strict=True)
    texts = [at for at, numbers in enumerate(numeric) if not numbers]
    table = Grid(path, "ARFF", names).split(_lines(path, lines, defaults), texts)
    return replace(table, samples_in="rows")


def _is_arff(_: Path, start: bytes) -> bool:
    lines = (line.lstrip() for line in start.removeprefix(b"\xef\xbb\xbf").lstrip().split(b"\n"))
    return next((line for line in lines if line and not line.startswith(b"%")), b"").lower().startswith(b"@relation")


ARFF = Format(read_arff, ("arff",), recognises=_is_arff)


def _attributes(path: Path, lines: Iterator[tuple[int, str]]) -> list[_Attribute]:
    found = []
    for number, line in lines:
        text = line.strip()
        if text.lower().startswith("@data"):
            break
        if not text.lower().startswith("@attribute"):
            continue
        match = _ATTRIBUTE.fullmatch(text)
        if match is None:
            message = f"{path}, line {number}: not an attribute, as '@attribute gene_1 numeric': {text[:60]!r}"
            raise InputError(message)
        name, kind = match.groups()
        numeric = kind.split()[0].lower() in _NUMERIC
        values = [] if numeric or not kind.startswith("{") else _cells(kind.strip("{} "))
        found.append((_unquoted(name), numeric, "0" if numeric else next(iter(values), "")))
    else:
        message = f"{path} has no line @data: it seems cut short"
        raise InputError(message)
    require(len(found) > 1, f"{path} has {len(found)} attributes: measurements and a class are needed")
    return found


def _unquoted(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name[1:-1]) if name[0] in "'\"" and len(name) > 1 else name


def _lines(path: Path, lines: Iterator[tuple[int, str]], defaults: Sequence[str]) -> Iterator[Line]:
    for count, (number, line) in enumerate(lines):
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        if not text.startswith("{"):
            yield number, _cells(text)
            continue
        require_cells(path, count, len(defaults))
        require(text.endswith("}"), f"{path}, line {number} has no closing brace: it seems cut short")
        cells = list(defaults)
        for pair in _cells(text.strip("{} ")):
            index, _, value = pair.strip().partition(" ")
            if not index.isdecimal() or int(index) >= len(cells):
                message = f"{path}, line {number}: {pair[:60]!r} is not the number of an attribute and its value"
                raise InputError(message)
            cells[int(index)] = _unquoted(value.strip() or "?")
        yield number, cells


def _cells(text: str) -> list[str]:
    quote = '"' if '"' in text and "'" not in text else "'"
    try:
        row = next(csv.reader([text], quotechar=quote, escapechar="\\", skipinitialspace=True), [])
    except csv.Error:
        row = [text]
    return [cell.strip() for cell in row]
