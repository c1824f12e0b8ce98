"""Objects of Bioconductor in R files: ExpressionSet, SummarizedExperiment and its kin, and sparse matrices of Matrix.

They are read from what `rdata` parses, slot by slot: it converts none of them, and fails over promises beside them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cobic.checks import require
from cobic.errors import InputError
from cobic.io.raw import Axis, Note, RawTable, as_text
from cobic.io.sparse import sparse_matrix

_NAMES_OF_GENES = {"symbol", "gene_name", "gene_symbol", "name", "description"}
_NOTHING = b"\x01NULL\x01"  # how R writes a slot that holds NULL
_MISSING = np.iinfo(np.int32).min  # how R writes a whole number, or a level, that is NA


@dataclass(frozen=True, eq=False)
class Thing:
    """A thing of an R file, as it was parsed."""

    node: Any

    @cached_property
    def type(self) -> str:
        """What R calls it: INT, STR, VEC, S4 …; empty for NULL."""
        name = str(self.node.info.type.name)
        return "" if name.startswith("NIL") or (name == "SYM" and self.node.value.value == _NOTHING) else name

    @cached_property
    def slots(self) -> "dict[str, Thing]":
        """Attributes by name; the slots of an object."""
        return dict(_pairs(self.node.attributes))

    @property
    def kind(self) -> str:
        """The class of an object; empty if it has none."""
        return next(iter(self.slots["class"].texts), "") if "class" in self.slots else ""

    @property
    def texts(self) -> list[str]:
        """A vector as texts, empty where there is none."""
        if self.type == "STR":
            return [_decoded(each.value) for each in self.node.value]
        levels = self.slots["levels"].texts if "levels" in self.slots else None
        numbers = np.ma.filled(self.node.value, _MISSING if self.type == "INT" else np.nan)
        if levels is not None:
            return [levels[code - 1] if code > 0 else "" for code in numbers.tolist()]
        return ["" if number == _MISSING else as_text(number) for number in numbers.tolist()]

    @property
    def items(self) -> "dict[str, Thing]":
        """The members of a list or of an environment, by name."""
        if self.type == "ENV":
            tables = [self.node.value.frame, *(self.node.value.hash_table.value or ())]
            return {name: thing for table in tables for name, thing in _pairs(table)}
        if self.type != "VEC":
            return {}
        members = [_thing(each) for each in self.node.value]
        names = self.slots["names"].texts if "names" in self.slots else [str(at + 1) for at in range(len(members))]
        return dict(zip(names, members, strict=True))


def _thing(node: Any) -> Thing:
    return Thing(node.referenced_object if node.info.type.name == "REF" else node)


def _pairs(node: Any) -> Iterator[tuple[str, Thing]]:
    """Names and members of what R calls a pairlist."""
    while node is not None and node.info.type.name == "LIST":
        member, rest = node.value
        yield _decoded(_thing(node.tag).node.value.value), _thing(member)
        node = rest


def _decoded(text: bytes | None) -> str:
    try:
        return "" if text is None else text.decode().strip()
    except UnicodeDecodeError:
        return text.decode("latin-1").strip() if text else ""


def objects(parsed: Any) -> dict[str, Thing]:
    """The objects of a file by name; that of an rds file has none."""
    whole = _thing(parsed.object)
    return dict(_pairs(parsed.object)) if whole.type == "LIST" else {"": whole}


def read_object(path: Path, found: dict[str, Thing], part: str | None) -> RawTable | None:
    """The matrix of an object with the annotation of its samples; None where no such object is asked for."""
    known = {name: assays for name, thing in found.items() if (assays := _assays(thing))}
    parts = {
        "$".join(filter(None, (name if len(known) > 1 else "", assay if len(assays) > 1 else ""))): (name, assay)
        for name, assays in known.items()
        for assay in assays
    }
    exact = {"$".join(filter(None, (name, assay))): (name, assay) for name, assays in known.items() for assay in assays}
    if part is None and parts.keys() >= {"exprs"}:  # of one ExpressionSet: what stands beside are errors of these
        part = "exprs"
    if part is None and len(parts) > 1:
        message = f"{path} holds {', '.join(list(parts)[:8])}: say which with --part"
        raise InputError(message)
    chosen = next(iter(parts.values()), None) if part is None else (exact | parts).get(part)
    if chosen is None:
        message = f"{path} holds no {part!r}: give --part {' or '.join(list(exact)[:8])}, or leave it out"
        require(part is None or len(known) < len(found), message)
        return None
    name, assay = chosen
    thing, matrix = found[name], known[name][assay]
    values, names = _matrix(path, matrix, name, assay)
    rows, columns = _annotation(thing)
    aside = tuple(repr(other) for other in (*found, *known[name]) if other not in (name, assay))
    return RawTable(
        path,
        f"{thing.kind} of R",
        values,
        _axis(path, values.shape[0], names[0], rows, "feature"),
        _axis(path, values.shape[1], names[1], columns, "sample"),
        None if thing.kind == "dgCMatrix" else "columns",
        remarks=aside,
    )


def unread(path: Path, found: dict[str, Thing]) -> None:
    """Say what an object is that cannot be read, and how R makes a table of it."""
    for name, thing in found.items():
        if thing.type == "S4":
            what = f"{name}, an object of class {thing.kind}" if name else f"an object of class {thing.kind}"
            message = f"{path} holds {what}, which cannot be read; in R: {_in_r(path, thing.kind, name)}"
            raise InputError(message)


def _in_r(path: Path, kind: str, name: str, assay: str = "") -> str:
    """The line of R that writes a table."""
    opened = f'load("{path.name}")' if name else f'x <- readRDS("{path.name}")'
    table = name = name or "x"
    if kind == "Seurat":
        table = f"SeuratObject::LayerData({name})"
    elif assay:
        table = f'SummarizedExperiment::assay({name}, "{assay}")'
    return f'{opened}; write.csv(as.matrix({table}), "{name}.csv")'


def _assays(thing: Thing) -> dict[str, Thing]:
    """The matrices of an object by name; none if it is nothing that is known."""
    if thing.type != "S4":
        return {}
    if thing.kind == "dgCMatrix":
        return {"": thing}
    if "assayData" in thing.slots:
        return thing.slots["assayData"].items
    if "assays" not in thing.slots or "colData" not in thing.slots:
        return {}
    assays = thing.slots["assays"]
    held = assays.slots[".xData"].items if ".xData" in assays.slots else assays.slots  # as until Bioconductor 3.12
    return held["data"].slots["listData"].items


def _matrix(path: Path, thing: Thing, name: str, assay: str) -> tuple[Any, tuple[list[str], list[str]]]:
    """The numbers, and the names of rows and columns as far as there are any."""
    if thing.kind == "dgCMatrix":
        data, indices, starts, shape = (thing.slots[part].node.value for part in ("x", "i", "p", "Dim"))
        values = sparse_matrix(path, "csc", data, indices, starts, shape)
        return values, _two_names(thing.slots["Dimnames"])
    if thing.type not in ("INT", "REAL", "LGL") or "dim" not in thing.slots:
        message = (
            f"{path}: {assay or name or 'x'} is of class {thing.kind or thing.type}, which cannot be read; in R: "
            f"{_in_r(path, '', name, assay)}"
        )
        raise InputError(message)
    shape = thing.slots["dim"].node.value
    require(shape.size == 2, f"{path}: {assay or name or 'x'} has {shape.size} dimensions, not 2")
    values = np.ma.filled(np.ma.asarray(thing.node.value, dtype=np.float64), np.nan).reshape(shape, order="F")
    return values, _two_names(thing.slots["dimnames"]) if "dimnames" in thing.slots else ([], [])


def _two_names(names: Thing) -> tuple[list[str], list[str]]:
    rows, columns = (_thing(each) for each in names.node.value)
    return (rows.texts if rows.type else []), (columns.texts if columns.type else [])


def _annotation(thing: Thing) -> tuple[Thing | None, Thing | None]:
    """The data frames about features and about samples."""
    slots = thing.slots
    if "assayData" in slots:
        return slots["featureData"].slots["data"], slots["phenoData"].slots["data"]
    about_features = slots.get("elementMetadata")
    if "rowRanges" in slots:  # of objects that know where features are, it is there
        about_features = slots["rowRanges"].slots.get("elementMetadata", about_features)
    return about_features, slots.get("colData")


def _axis(path: Path, size: int, names: list[str], frame: Thing | None, word: str) -> Axis:
    """What is known about features or samples; the columns of their data frame are notes."""
    slots = {} if frame is None else frame.slots
    columns = {} if frame is None else slots.get("listData", frame).items
    if not names and "rownames" in slots and slots["rownames"].type == "STR":
        names = slots["rownames"].texts
    require(not names or len(names) == size, f"{path} has {len(names)} names for {size} {word}s")
    notes = []
    for name, column in columns.items():
        if column.type in ("STR", "INT", "REAL", "LGL") and "dim" not in column.slots:
            texts = tuple(column.texts)
            require(len(texts) == size, f"{path}: {name!r} has {len(texts)} entries for {size} {word}s")
            notes.append(Note(name, texts, name.lower() in _NAMES_OF_GENES, column.kind == "factor"))
    return Axis(size, tuple(names) or tuple(f"{word}_{at + 1}" for at in range(size)), tuple(notes), word=word)
