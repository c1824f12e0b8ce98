"""R data: data frames, matrices and objects of Bioconductor in .rda, .RData and .rds. Nothing in them is executed."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cobic.checks import require
from cobic.io.arrays import from_arrays
from cobic.io.bioconductor import objects, read_object, unread
from cobic.io.columnar import from_frame
from cobic.io.raw import Format, Note, RawTable, Reading, as_text
from cobic.io.source import MOST_CELLS, ending_of, foreign, needed, open_bytes

_Names = tuple[tuple[str, ...] | None, tuple[str, ...] | None]


def read_r(path: Path, options: Reading) -> RawTable:
    """Read a data frame or matrix; vectors of the same length beside it may hold classes and names.

    So may data frames that name its columns, as the samples of a matrix of counts.
    """
    rdata = needed("rdata", "r")
    with open_bytes(path) as stream:
        raw = stream.read()
    with foreign(path, "an R file"):
        parsed = rdata.parser.parse_data(raw, altrep_constructor_dict=_bounded_altreps(path, rdata.parser))
        found = objects(parsed)
        if (table := read_object(path, found, options.part)) is not None:
            return table
        converted = rdata.conversion.convert(parsed)
        things = _flat(converted if isinstance(converted, Mapping) else {"object": converted})
        frames = {name: thing for name, thing in things.items() if isinstance(thing, pd.DataFrame)}
        matrices = [name for name, thing in things.items() if getattr(thing, "ndim", 0) == 2 and name not in frames]
        tables = [*frames, *matrices]
        told = [name for name in tables if next(_told_by(frames, name, _columns(things[name])), None) is not None]
        likely = told if len(told) == 1 else tables
        message = f"{path} holds {', '.join(tables[:8])}: say which with --part"
        require(options.part is not None or len(likely) <= 1, message)
        chosen = next(iter(likely), None) if options.part is None else options.part
        if chosen in frames:
            return _with_notes(from_frame(path, "R data", frames[chosen]), frames, chosen)
        arrays, names = _arrays(things)
        if not arrays:
            unread(path, found)
        return _with_notes(from_arrays(path, "R data", arrays, chosen, names), frames, chosen)


def _is_old_rds(path: Path, start: bytes) -> bool:
    return ending_of(path) == "rds" and start.startswith((b"A\n", b"B\n"))


_BEGINS = (b"RDX2\n", b"RDX3\n", b"RDA2\n", b"RDA3\n", b"X\n\x00")
R = Format(read_r, ("rda", "rdata", "rds"), _BEGINS, recognises=_is_old_rds, parts=True)


def _bounded_altreps(path: Path, parser: Any) -> dict[bytes, Any]:
    """Compact sequences such as 1:1000000000 are a few bytes in the file; they must not fill the memory."""

    def bounded(construct: Any, state: Any) -> Any:
        too_long = np.max(np.abs(np.asarray(state.value, dtype=np.float64))) > MOST_CELLS
        require(not too_long, f"{path} holds a sequence that does not fit into memory")
        return construct(state)

    known = dict(parser.DEFAULT_ALTREP_MAP)
    return known | {name: partial(bounded, known[name]) for name in known if name.startswith(b"compact")}


def _flat(objects: Mapping[str, Any]) -> dict[str, Any]:
    """The objects of a file, and those in its lists under names such as khan$xtrain."""
    found: dict[str, Any] = {}
    for name, thing in objects.items():
        if isinstance(thing, Mapping):
            found |= {f"{name}${key}": each for key, each in thing.items() if not isinstance(each, Mapping)}
        else:
            found[str(name)] = thing
    return found


def _columns(thing: Any) -> tuple[str, ...]:
    """The names of the columns of numbers, as far as they have any."""
    if isinstance(thing, pd.DataFrame):
        return tuple(map(str, thing.select_dtypes("number").columns))
    return (_coordinate(thing, thing.dims[1]) or ()) if hasattr(thing, "coords") else ()


def _told_by(
    frames: Mapping[str, pd.DataFrame], table: str | None, columns: tuple[str, ...] | None
) -> Iterator[pd.DataFrame]:
    """Other data frames with a line for each column of a table, in their order: by row names, or a column of names."""
    for name, frame in frames.items():
        for texts in (frame.index, *(frame[each] for each in frame)) if columns and name != table else ():
            places = {str(text): at for at, text in enumerate(texts)}
            if len(places) == len(frame) and places.keys() >= set(columns or ()):
                yield frame.iloc[[places[each] for each in columns or ()]]
                break


def _with_notes(table: RawTable, frames: Mapping[str, pd.DataFrame], name: str | None) -> RawTable:
    """The same with what data frames beside it say of its columns."""
    notes = [
        Note(str(column), tuple(as_text(None if pd.isna(cell) else cell) for cell in frame[column]))
        for frame in _told_by(frames, name, table.columns.names)
        for column in frame
    ]
    return replace(table, columns=replace(table.columns, notes=(*table.columns.notes, *notes)))


def _arrays(things: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, _Names]]:
    """Arrays, and the names of rows and columns of those that have them."""
    arrays: dict[str, Any] = {}
    names: dict[str, _Names] = {}
    for name, thing in things.items():
        array = _array(thing)
        if array is None:
            continue
        if array.dtype.kind == "O":
            array = np.array([as_text(each) for each in array.ravel().tolist()], dtype=str).reshape(array.shape)
        arrays[name] = array
        if array.ndim == 2 and getattr(thing, "coords", None) is not None:
            rows, columns = (_coordinate(thing, dimension) for dimension in thing.dims)
            names[name] = (rows, columns)
    return arrays, names


def _array(thing: Any) -> Any:
    """An array, with NaN where R has NA; None for functions, data frames and other things that are none."""
    if isinstance(thing, (pd.DataFrame, str)):
        return None
    if isinstance(thing, np.ma.MaskedArray) and np.ma.is_masked(thing):
        return np.ma.filled(thing.astype(np.float64), np.nan)
    values = getattr(thing, "values", thing)
    return np.asarray(values) if hasattr(values, "dtype") else None


def _coordinate(thing: Any, dimension: str) -> tuple[str, ...] | None:
    return tuple(map(str, thing.coords[dimension].values)) if dimension in thing.coords else None
