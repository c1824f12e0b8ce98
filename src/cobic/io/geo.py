"""GEO series matrix files: what is said about the samples above, the measurements below.

By hand, as GCT, RES and ARFF are: readers of others name no line that is wrong.
"""

from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from cobic.checks import require
from cobic.io.grid import Collected
from cobic.io.raw import Format, Note, RawTable
from cobic.io.reading import Reading
from cobic.io.source import cells_of, text_lines

_BEGIN, _END = "!series_matrix_table_begin", "!series_matrix_table_end"


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
