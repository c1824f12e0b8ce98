"""All formats, and which of them a file has."""

from pathlib import Path

from cobic.checks import require
from cobic.errors import InputError
from cobic.io import sizes
from cobic.io.annotated import HDF, TEN_X
from cobic.io.arff import ARFF
from cobic.io.arrays import NUMPY
from cobic.io.columnar import FEATHER, PARQUET
from cobic.io.delimited import TEXT
from cobic.io.excel import EXCEL
from cobic.io.expression import GCT, GEO, RES
from cobic.io.r import R
from cobic.io.raw import Format
from cobic.io.sizes import Stored
from cobic.io.source import ending_of, first_bytes, readable
from cobic.io.stores import ZARR, is_zarr

FORMATS = (PARQUET, FEATHER, HDF, TEN_X, R, GCT, GEO, ARFF, EXCEL, NUMPY, RES, TEXT)

_TAR = "a tar archive: unpack it, and give the file with the measurements"
_REFUSED = {
    b"PK": "a zip archive: unpack it, and give the file with the measurements",
    b"\xd0\xcf\x11\xe0": "an Excel file of before 2007: save it as .xlsx or CSV",
    b"\x80": "a pickle, or of no known format: a pickle may run any program and is never read",
    b"%PDF": "a PDF document: give the table itself",
    b"ustar": _TAR,
}


def format_of(path: Path) -> Format:
    """The format of a file: by how it begins, and by its name where that does not tell."""
    if path.is_dir():
        return ZARR if is_zarr(path) else TEN_X
    start = first_bytes(path)
    by_content = _by_content(path, start)
    ending = ending_of(path)
    by_name = _by_name(ending)
    if by_name is not None and by_name.certain_name and by_name is not by_content:
        what = "text" if by_content is None else "something else"
        message = f"{path} is called .{ending}, but is none (it looks like {what}): give it its right name"
        raise InputError(message)
    if by_content is not None:
        return by_content
    require(ending != "cls", f"{path} holds classes, not data: give it as --labels-file with a GCT file")
    is_text = b"\x00" not in start or start[:2] in (b"\xff\xfe", b"\xfe\xff")
    require(is_text, f"{path} is not text, and of no other known format")
    return by_name or TEXT


def stored(path: Path) -> Stored | None:
    """What is in a file, as its format tells by its name and contents page; None if it is small, or nobody knows."""
    ending, suffix = ending_of(path), path.suffix.lower()
    with readable(path):
        if path.is_dir():
            return ZARR.size(path) if ZARR.size is not None and ending in ZARR.endings else None
        form = _by_name(ending)
        packed = suffix.lstrip(".") != ending
        least = sizes.SMALLEST_PACKED if packed else sizes.SMALLEST_FILE
        if form is None or form.size is None or not path.is_file() or path.stat().st_size < least:
            return None
    if packed and form.size is not sizes.text_size:
        return None  # what it unpacks to cannot be looked into
    return form.size(path)


def _by_name(ending: str) -> Format | None:
    return next((form for form in FORMATS if ending in form.endings), None)


def _by_content(path: Path, start: bytes) -> Format | None:
    for form in FORMATS:
        if start.startswith(form.begins) or (form.recognises is not None and form.recognises(path, start)):
            return form
    for magic, what in _REFUSED.items():
        refused = start.startswith(magic) or (what == _TAR and start[257:262] == b"ustar")
        require(not refused, f"{path} is {what}")
    return None
