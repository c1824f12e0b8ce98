"""From a raw table to samples with classes: where the classes are tells which way round the table is."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cobic.errors import InputError
from cobic.io.grid import ID_NAMES, name_note
from cobic.io.labels import NO_LABEL, LabelFile, some
from cobic.io.raw import Axis, Note, RawTable
from cobic.io.wanted import LabelOptions

# Results of somebody's statistics beside the samples they were made from.
_STATISTIC = re.compile(
    r"(^|[^a-z])(t[-_. ]?test|[pq][-_. ]?val(ue)?s?|fdr|log2?[-_. ]?fc|fold[-_. ]?change|adj[-_. ]?p)([^a-z]|$)", re.I
)
# What a column of names is called; one that is called otherwise may be a sample.
_NAMES_FEATURES = re.compile(r"(^|[^a-z])(gene|probe|probe ?set|entrez|feature|transcript|clone|spot|symbol)", re.I)
_SEVERAL = 5  # so many samples cannot all have a class of their own
_ENOUGH = 0.5  # of the samples found: enough to say that these are the samples


@dataclass(frozen=True, eq=False)
class Arranged:
    """A table with samples in rows, and what was understood."""

    table: RawTable  # samples in rows; values may still be missing
    y: NDArray[np.str_] | None  # the classes
    features_in_rows: bool  # how it was in the file
    reason: str  # how that is known
    sample_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    feature_descriptions: tuple[str, ...] | None  # a longer text per feature
    set_aside: tuple[str, ...]  # what is in the file but not in the data
    labels_path: Path  # the file that the classes are from

    @property
    def without_class(self) -> list[str]:
        """The samples whose class is missing."""
        if self.y is None:
            return []
        return [name for name, label in zip(self.sample_names, self.y, strict=True) if label.lower() in NO_LABEL]

    def place(self, sample: int, feature: int) -> str:
        """Say where in the file a value stands."""
        row, column = self.table.rows.where(sample), self.table.columns.where(feature)
        first, second = (column, row) if self.features_in_rows else (row, column)
        return f"{self.table.path}, {first}, {second}"


@dataclass(frozen=True, eq=False)
class _View:
    """A table one way round: samples in rows, the features with names."""

    table: RawTable
    features_in_rows: bool
    descriptions: tuple[str, ...] | None
    set_aside: list[str] = field(default_factory=list)

    def column_as_note(self, column: int) -> "_View":
        """The same view with a column of numbers made a note about the samples; its description goes, too."""
        texts = self.descriptions
        kept = None if texts is None else tuple(text for at, text in enumerate(texts) if at != column)
        return replace(self, table=self.table.column_as_note(column), descriptions=kept)


@dataclass(frozen=True, eq=False)
class _Labelled:
    """Classes found in a view."""

    view: _View
    table: RawTable
    classes: tuple[str, ...]
    share: float
    reason: str
    names: tuple[str, ...] | None = None


def arrange(raw: RawTable, options: LabelOptions) -> Arranged:
    """Find classes and orientation."""
    raw = _without(raw, options.asked.drop)
    sides = _sides(raw, options)
    if not options.wanted:
        known = raw.samples_in is not None or options.asked.features_in_rows is not None
        reason = "" if known else "assumed, as no classes are asked for"
        views = [_view(raw, options, features_in_rows=side) for side in sides]
        fitting = [view for view in views if view.table.columns.names == options.features]
        wanted = set(options.features or ())
        holding = [view for view in views if wanted and wanted <= set(view.table.columns.names or ())]
        view = (fitting or holding or views)[0]
        return _arranged(_Labelled(view, view.table, (), 1.0, reason), options)
    found = _found(raw, options, sides)
    if len(found) == 1:
        return _arranged(found[0], options)
    if found:
        message = (
            f"{raw.path}: {options.wish()} fits the rows and the columns: say --features-in-rows or --samples-in-rows"
        )
        raise InputError(message)
    raise _not_found(raw, options, sides)


def _sides(raw: RawTable, options: LabelOptions) -> list[bool]:
    """The orientations that are possible: whether features are in rows."""
    if raw.samples_in is not None:
        says = raw.samples_in == "columns"
        if options.asked.features_in_rows is not None and options.asked.features_in_rows != says:
            message = f"{raw.path}: the format {raw.form} has {'features' if says else 'samples'} in rows"
            raise InputError(message)
        return [says]
    return [False, True] if options.asked.features_in_rows is None else [options.asked.features_in_rows]


def _found(raw: RawTable, options: LabelOptions, sides: Sequence[bool]) -> list[_Labelled]:
    found = [_labelled(_view(raw, options, features_in_rows=side), options) for side in sides]
    there = [each for each in found if each is not None]
    return [each for each in there if each.share >= _ENOUGH] or there


def _without(raw: RawTable, drop: Sequence[str]) -> RawTable:
    for name in drop:
        left = _without_column(raw, name)
        if left is raw:
            left = _without_row(raw, name)
        if left is raw:
            message = f"{raw.path} has no column {name!r} to drop: {some(_column_headings(raw))}"
            raise InputError(message)
        raw = left
    return raw


def _without_column(raw: RawTable, name: str) -> RawTable:
    notes = tuple(note for note in raw.rows.notes if note.name != name)
    keep = np.array([at for at, each in enumerate(raw.columns.names or ()) if each != name], dtype=np.intp)
    if raw.columns.names is None or keep.size == raw.columns.size:
        keep = np.arange(raw.columns.size)
    if len(notes) == len(raw.rows.notes) and keep.size == raw.columns.size:
        return raw
    return replace(raw.take_columns(keep), rows=replace(raw.rows, notes=notes))


def _without_row(raw: RawTable, name: str) -> RawTable:
    left = _without_column(_named_rows(raw).turned(), name).turned()
    if left.rows.size == raw.rows.size and len(left.columns.notes) == len(raw.columns.notes):
        return raw
    return left if raw.rows.names is not None else replace(left, rows=replace(left.rows, names=None))


def _column_headings(raw: RawTable) -> list[str]:
    return [*(note.name for note in raw.rows.notes), *(raw.columns.names or ())]


def _view(raw: RawTable, options: LabelOptions, *, features_in_rows: bool) -> _View:
    """Turn the table so that samples are in rows, and name the features."""
    told = []
    n_columns = raw.columns.size
    if features_in_rows and raw.columns.names is not None and _are_names(raw, options):
        heading = raw.columns.names[0]
        told.append(f"names of features from the column {heading!r}, which holds numbers")
        raw = raw.column_as_note(0)
    table = raw.turned() if features_in_rows else raw
    names, descriptions, aside = _feature_texts(table.columns)
    table = replace(table, columns=replace(table.columns, names=names, notes=()))
    set_aside = [*raw.remarks, *told, *_told(aside, "column" if features_in_rows else "line")]
    if features_in_rows and raw.samples_in is None:
        odd = [
            at
            for at, name in enumerate(table.rows.names or ())
            if is_statistic(name) and not options.names_sample(name, n_columns)
        ]
        if 0 < len(odd) < table.rows.size:
            set_aside += [f"column {(table.rows.names or ())[at]!r} (a statistic by its name)" for at in odd]
            table = table.take_rows(np.setdiff1d(np.arange(table.rows.size), odd))
    return _View(table, features_in_rows, descriptions, set_aside)


def _are_names(raw: RawTable, options: LabelOptions) -> bool:
    """Tell whether the first column of numbers holds names, such as those of Entrez, and no sample."""
    if raw.rows.names is not None or name_note(raw.rows.notes) is not None or raw.columns.size < 2:
        return False
    heading = (raw.columns.names or ("",))[0]
    usual = _NAMES_FEATURES.search(heading) is not None
    found = options.from_names is not None and options.from_names.search(heading) is not None
    if options.names_sample(heading, raw.columns.size) or (found and not usual):
        return False
    texts = raw.column_as_note(0).rows.notes[0].texts
    odd = {row for row, column in raw.odd_cells if column == 0}
    if not all(row in odd or re.fullmatch(r"\d+", text) for row, text in enumerate(texts)):
        return False
    above = any(note.texts[0] == note.name for note in raw.columns.notes)  # a line has its heading there
    return above or usual or len(set(texts)) == len(texts)


def is_statistic(name: str) -> bool:
    """Tell by its name whether a column holds results of a test rather than a sample."""
    return _STATISTIC.search(name) is not None


def _feature_texts(axis: Axis) -> tuple[tuple[str, ...], tuple[str, ...] | None, list[Note]]:
    """Names and descriptions of the features, and the notes that are neither."""
    notes, names = list(axis.notes), axis.names
    if names is None:
        note = name_note(notes)
        if note is not None:
            notes.remove(note)
        names = tuple(f"feature_{at + 1}" for at in range(axis.size)) if note is None else note.texts
    description = next((note for note in notes if note.leading and 2 * sum(map(bool, note.texts)) > axis.size), None)
    if description is not None:
        notes.remove(description)
    return names, None if description is None else description.texts, notes


def _told(notes: Sequence[Note], kind: str) -> list[str]:
    """Name what is set aside, each name once."""
    return [
        f"{kind} {name!r}" if times == 1 else f"{times} {kind}s {name!r}"
        for name, times in Counter(note.name for note in notes).items()
    ]


def _labelled(view: _View, options: LabelOptions) -> _Labelled | None:
    if options.from_names is not None:
        return _from_names(view, options, options.from_names)
    if options.file is not None:
        return _from_order(view, options.file) if options.file.in_order else _from_file(view, options, options.file)
    return _from_table(view, options.asked.labels or "")


def _from_table(view: _View, labels: str) -> _Labelled | None:
    """Classes in a note about the samples, or in a column of numbers."""
    table = view.table
    places = [at for at, name in enumerate(table.columns.names or ()) if name == labels]
    notes = [note for note in table.rows.notes if note.name == labels]
    what = "line" if view.features_in_rows else "column"
    if len(places) + len(notes) > 1:
        message = f"{table.path} has {len(places) + len(notes)} {what}s called {labels!r}: which one holds the classes?"
        raise InputError(message)
    if places:
        view = view.column_as_note(places[0])
        table = view.table
        notes = [table.rows.notes[0]]
    if not notes:
        return None
    rest = tuple(note for note in table.rows.notes if note is not notes[0])
    table = replace(table, rows=replace(table.rows, notes=rest))
    return _Labelled(view, table, notes[0].texts, 1.0, f"the classes are in the {what} {labels!r}")


def _name_candidates(view: _View, ids: str | None) -> list[tuple[str, ...]]:
    """What samples may be called: their names, and notes that are as good, such as the titles in GEO files."""
    axis = view.table.rows
    if ids is not None:
        return [note.texts for note in axis.notes if note.name == ids]
    notes = [note.texts for note in axis.notes if note.leading]
    return notes if axis.names is None else [axis.names, *notes]


def _from_file(view: _View, options: LabelOptions, file: LabelFile) -> _Labelled | None:
    view = _with_ids(view, options.asked.ids)
    candidates = _name_candidates(view, options.asked.ids)
    known = file.names
    names = max(candidates, key=lambda names: sum(name in known for name in names), default=())
    share = sum(name in known for name in names) / max(1, len(names))
    if not share:
        return None
    classes = file.classes(options.asked.labels, set(names))
    found = tuple(classes.get(name, "") for name in names)
    reason = f"{file.path.name} names the {'columns' if view.features_in_rows else 'lines'}"
    return _Labelled(view, view.table, found, share, reason, names)


def _from_order(view: _View, file: LabelFile) -> _Labelled | None:
    if file.in_order is None or len(file.in_order) != view.table.rows.size:
        return None
    reason = f"{file.path.name} has as many classes"
    return _Labelled(view, view.table, file.in_order, 1.0, reason)


def _from_names(view: _View, options: LabelOptions, pattern: re.Pattern[str]) -> _Labelled | None:
    """Classes in the names; samples in whose names there is none are set aside."""
    view = _with_ids(view, options.asked.ids)
    candidates = _name_candidates(view, options.asked.ids)
    names = max(candidates, key=lambda names: sum(bool(pattern.search(name)) for name in names), default=())
    matches = [pattern.search(name) for name in names]
    found = [(match.group(1) if pattern.groups else match.group()) or "" if match else "" for match in matches]
    keep = np.flatnonzero([bool(text) for text in found])
    if not keep.size:
        return None
    kind = "column" if view.features_in_rows else "line"
    left = [f"{kind} {names[at]!r} (no class in its name)" for at in range(len(names)) if not found[at]]
    if len(left) > 5:
        left = [f"{len(left)} {kind}s without a class in their name, the first is {names[found.index('')]!r}"]
    view = replace(view, set_aside=[*view.set_aside, *left])
    reason = f"the classes are in the names of the {kind}s"
    kept = tuple(names[at] for at in keep)
    share = keep.size / len(names)
    return _Labelled(view, view.table.take_rows(keep), tuple(found[at] for at in keep), share, reason, kept)


def _with_ids(view: _View, ids: str | None) -> _View:
    """Make a column of numbers that holds sample names a note, so that it can be found among them."""
    table = view.table
    if ids is None or any(note.name == ids for note in table.rows.notes) or ids not in (table.columns.names or ()):
        return view
    return view.column_as_note((table.columns.names or ()).index(ids))


def _arranged(labelled: _Labelled, options: LabelOptions) -> Arranged:
    view = _with_ids(replace(labelled.view, table=labelled.table), options.asked.ids)
    table = view.table
    names, used = _sample_names(table, options.asked.ids, labelled.names)
    y = np.array(labelled.classes, dtype=str) if options.wanted else None
    aside = [note for note in table.rows.notes if note is not used]
    told = _told(aside, "line" if view.features_in_rows else "column")
    rows = replace(table.rows, names=names, notes=tuple(aside))
    return Arranged(
        replace(table, rows=rows),
        y,
        view.features_in_rows,
        labelled.reason,
        names,
        table.columns.names or (),
        view.descriptions,
        (*view.set_aside, *told),
        table.path if options.file is None else options.file.path,
    )


def _sample_names(
    table: RawTable, ids: str | None, found: tuple[str, ...] | None
) -> tuple[tuple[str, ...], Note | None]:
    """The names of the samples, and the note that they come from."""
    axis = table.rows
    if ids is not None:
        named = [note for note in axis.notes if note.name == ids]
        if not named:
            message = f"{table.path} has no column {ids!r}: {some(_column_headings(table))}"
            raise InputError(message)
        return named[0].texts, named[0]
    if axis.names is not None:
        return axis.names, None
    for note in axis.notes:
        called_so = note.leading and note.name.lower() in ID_NAMES
        distinct = note.leading and len(set(note.texts)) == len(note.texts) and all(note.texts)
        if note.texts == found or (found is None and (called_so or distinct)):
            return note.texts, note
    return tuple(axis.where(at) for at in range(axis.size)), None


def require_usable(arranged: Arranged) -> None:
    """Raise `InputError` for samples with the same name, or without a class."""
    names, path = arranged.sample_names, arranged.table.path
    name, times = Counter(names).most_common(1)[0] if names else ("", 0)
    if times > 1:
        message = (
            f"{path}: the sample name {name!r} occurs {times} times: sample names must be distinct; "
            "correct them, or leave columns that are no samples out with --drop"
        )
        raise InputError(message)
    missing = arranged.without_class
    if missing:
        message = (
            f"{arranged.labels_path} has no class for {len(missing)} of {len(names)} samples, the first is "
            f"{missing[0]!r}: label them or leave them out (--drop NAME)"
        )
        raise InputError(message)


def require_shared_classes(arranged: Arranged, options: LabelOptions) -> None:
    """Raise `InputError` if every one of several samples has a class of its own."""
    y = arranged.y
    if y is None or len(y) < _SEVERAL or len(set(y.tolist())) < len(y):
        return
    in_table = options.asked.labels is not None and options.file is None
    what = f"--labels {options.asked.labels!r} names a column or line with" if in_table else f"{options.wish()} gives"
    message = (
        f"{arranged.labels_path}: {what} a different value for each of {len(y)} samples, as {str(y[0])!r} and "
        f"{str(y[1])!r}: say where classes are that samples share (cobic inspect shows what there is)"
    )
    raise InputError(message)


def _not_found(raw: RawTable, options: LabelOptions, sides: Sequence[bool]) -> InputError:
    wish = options.wish()
    if options.asked.features_in_rows is not None and raw.samples_in is None and _found(raw, options, [not sides[0]]):
        cure = "leave out --features-in-rows" if sides[0] else "leave out --samples-in-rows"
        return InputError(f"{raw.path}: {wish} fits the other side: the table looks transposed; {cure}")
    if options.file is not None and options.file.in_order is None:
        return _no_names_in_common(raw, options, options.file, sides)
    if options.file is not None:
        return InputError(
            f"{wish} has {len(options.file.in_order or ())} classes, but {raw.path} has {raw.rows.size} rows and "
            f"{raw.columns.size} columns of numbers"
        )
    if options.from_names is not None:
        names = [name for side in sides for name in _view_names(raw, options, features_in_rows=side)]
        return InputError(f"{raw.path}: {wish} is in no name of a row or column: {some(names)}")
    columns = _column_headings(raw) if False in sides else []
    lines = _column_headings(_named_rows(raw).turned()) if True in sides else []
    words = " or ".join(word for word, names in (("column", columns), ("line", lines)) if names) or "column"
    return InputError(f"{raw.path} has no {words} {options.asked.labels!r}: {some([*columns, *lines])}")


def _no_names_in_common(raw: RawTable, options: LabelOptions, file: LabelFile, sides: Sequence[bool]) -> InputError:
    by_side = {side: _view_names(raw, options, features_in_rows=side) for side in sides}
    names = [name for side in sides for name in by_side[side]]
    if len(file.rows) == 1 and set(names).intersection(file.header):
        return InputError(
            f"{file.path} has two lines and {len(file.header)} columns: it looks transposed; give one line per sample"
        )
    if not by_side.get(False, names):
        return InputError(f"{raw.path} has no sample names to look up in {file.path}: name their column with --ids")
    shown = ", ".join(map(repr, sorted(file.names)[:3]))
    folded = {name.casefold(): name for name in file.names}
    alike = next((name for name in names if name.casefold() in folded), None)
    if alike is not None:
        return InputError(
            f"{file.path} names no sample of {raw.path}: upper and lower case differ, as in "
            f"{folded[alike.casefold()]!r} and {alike!r}; write them alike"
        )
    sides_shown = "; ".join(
        f"the {'columns' if side else 'lines'} of the other, {', '.join(map(repr, by_side[side][:3]))}"
        for side in sides
        if by_side[side]
    )
    return InputError(
        f"{file.path} names no sample of {raw.path}: the one has names such as {shown}; {sides_shown}; "
        "if the sample names are in another column, name it with --ids"
    )


def _view_names(raw: RawTable, options: LabelOptions, *, features_in_rows: bool) -> list[str]:
    view = _view(raw, options, features_in_rows=features_in_rows)
    return [name for names in _name_candidates(view, None) for name in names]


def _named_rows(raw: RawTable) -> RawTable:
    note = name_note(raw.rows.notes)
    return raw if raw.rows.names is not None or note is None else replace(raw, rows=replace(raw.rows, names=note.texts))
