"""From a raw table to samples with classes: where the classes are tells which way round the table is."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cobic.checks import require
from cobic.errors import InputError
from cobic.io.grid import ID_NAMES, name_note
from cobic.io.labels import LabelFile, LabelOptions, is_no_label, some
from cobic.io.raw import Axis, Note, RawTable, Reading

# Results of somebody's statistics beside the samples they were made from.
_STATISTIC = re.compile(
    r"(^|[^a-z])(t[-_. ]?test|[pq][-_. ]?val(ue)?s?|fdr|log2?[-_. ]?fc|fold[-_. ]?change|adj[-_. ]?p)([^a-z]|$)", re.I
)
# What a column of names is called; one that is called otherwise may be a sample.
_NAMES_FEATURES = re.compile(r"(^|[^a-z])(gene|probe|probe ?set|entrez|feature|transcript|clone|spot|symbol)", re.I)
# Rows of HTSeq and STAR that count reads of no gene, and columns of featureCounts that are about genes.
_COUNTS_NO_GENE = frozenset(
    {f"__{name}" for name in ("no_feature", "ambiguous", "too_low_aQual", "not_aligned", "alignment_not_unique")}
    | {f"N_{name}" for name in ("unmapped", "multimapping", "noFeature", "ambiguous")}
)
_OF_A_GENE = frozenset({"chr", "start", "end", "strand", "length"})
_SEVERAL = 5  # so many samples cannot all have a class of their own
_ENOUGH = 0.5  # of the samples found: enough to say that these are the samples


@dataclass(frozen=True, eq=False)
class Arranged:
    """A table turned so that samples are in rows, and what is understood of it: classes and names come step by step."""

    table: RawTable  # samples in rows; values may still be missing
    features_in_rows: bool  # how it was in the file
    feature_descriptions: tuple[str, ...] | None  # a longer text per feature
    set_aside: tuple[str, ...]  # what is in the file but not in the data
    reason: str = ""  # how the orientation is known
    y: NDArray[np.str_] | None = None  # the classes
    labels_file: Path | None = None  # the second file, if they are from one
    share: float = 1.0  # of the samples: those for which a class was found
    names: tuple[str, ...] | None = None  # by which classes were found

    @property
    def sample_names(self) -> tuple[str, ...]:
        """The names of the samples."""
        return self.table.rows.names or ()

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features."""
        return self.table.columns.names or ()

    @property
    def without_class(self) -> list[str]:
        """The samples whose class is missing."""
        classes = () if self.y is None else self.y.tolist()
        return [name for name, label in zip(self.sample_names, classes, strict=False) if is_no_label(label)]

    def place(self, sample: int, feature: int) -> str:
        """Say where in the file a value stands."""
        row, column = self.table.rows.where(sample), self.table.columns.where(feature)
        first, second = (column, row) if self.features_in_rows else (row, column)
        return f"{self.table.path}, {first}, {second}"

    def column_as_note(self, column: int) -> "Arranged":
        """The same with a column of numbers made a note about the samples; its description goes, too."""
        texts = self.feature_descriptions
        kept = None if texts is None else texts[:column] + texts[column + 1 :]
        return replace(self, table=self.table.column_as_note(column), feature_descriptions=kept)


def arrange(raw: RawTable, options: LabelOptions) -> Arranged:
    """Find classes and orientation."""
    raw = _without(raw, options.asked.drop)
    sides = _sides(raw, options)
    if options.asked.says_classes:
        found = _found(raw, options, sides)
        if not found:
            raise InputError(_not_found(raw, options, sides))
        fits_both = f"{raw.path}: {options.wish()} fits the rows and the columns"
        require(len(found) == 1, f"{fits_both}: say --features-in-rows or --samples-in-rows")
        return _with_sample_names(_of_classes(found[0], options.asked.classes), options.asked.ids)
    message = (
        f"{raw.path}: samples of some classes only (--class) need to have classes: say where they are, as --labels"
    )
    require(not options.asked.classes, message)
    known = raw.samples_in is not None or options.asked.features_in_rows is not None
    reason = "" if known else "assumed, as no classes are asked for"
    views = [_view(raw, options, features_in_rows=side) for side in sides]
    fitting = [view for view in views if view.feature_names == options.features]
    wanted = set(options.features or ())
    likely = sorted(views, key=lambda view: len(wanted.intersection(view.feature_names)), reverse=True)
    return _with_sample_names(replace((fitting or likely)[0], reason=reason), options.asked.ids)


def _sides(raw: RawTable, options: LabelOptions) -> list[bool]:
    """The orientations that are possible: whether features are in rows."""
    asked = options.asked.features_in_rows
    if raw.samples_in is None:
        return [False, True] if asked is None else [asked]
    says = raw.samples_in == "columns"
    message = f"{raw.path}: the format {raw.form} has {'features' if says else 'samples'} in rows"
    require(asked in (None, says), message)
    return [says]


def _found(raw: RawTable, options: LabelOptions, sides: Sequence[bool]) -> list[Arranged]:
    found = [_labelled(_view(raw, options, features_in_rows=side), options) for side in sides]
    there = [each for each in found if each is not None]
    return [each for each in there if each.share >= _ENOUGH] or there


def _of_classes(view: Arranged, classes: Sequence[str]) -> Arranged:
    """The samples of some classes only; of all, if none are named."""
    if not classes or view.y is None:
        return view
    there = sorted(set(view.y.tolist()))
    for name in classes:
        require(name in there, f"{view.labels_file or view.table.path} has no class {name!r}: {some(there)}")
    keep = np.flatnonzero(np.isin(view.y, classes))
    left = view.y.size - keep.size
    return replace(
        view,
        table=view.table.take_rows(keep),
        y=view.y[keep],
        names=None if view.names is None else tuple(view.names[at] for at in keep),
        set_aside=(*view.set_aside, *([f"{left} samples of other classes, or of none"] if left else [])),
    )


def _without(raw: RawTable, drop: Sequence[str]) -> RawTable:
    for name in drop:
        left = _without_column(raw, name)
        if left is raw:
            left = _without_row(raw, name)
        require(left is not raw, f"{raw.path} has no column {name!r} to drop: {some(_column_headings(raw))}")
        raw = left
    return raw


def _without_column(raw: RawTable, name: str) -> RawTable:
    notes = tuple(note for note in raw.rows.notes if note.name != name)
    names = raw.columns.names or [None] * raw.columns.size
    keep = np.array([at for at, each in enumerate(names) if each != name], dtype=np.intp)
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


def _view(raw: RawTable, options: LabelOptions, *, features_in_rows: bool) -> Arranged:
    """Turn the table so that samples are in rows, and name the features."""
    set_aside = [*raw.remarks]
    n_columns = raw.columns.size
    if features_in_rows and raw.columns.names is not None and _are_names(raw, options):
        set_aside.append(f"names of features from the column {raw.columns.names[0]!r}, which holds numbers")
        raw = raw.column_as_note(0)
    table = raw.turned() if features_in_rows else raw
    names, descriptions, aside = _feature_texts(table.columns)
    table = replace(table, columns=replace(table.columns, names=names, notes=()))
    set_aside += _told(aside, "column" if features_in_rows else "line")
    if features_in_rows and raw.samples_in is None:
        samples = table.rows.names or ()
        genes = about_features(_column_headings(raw))
        why = {name: "a statistic by its name" for name in samples if is_statistic(name)}
        why |= {name: "about features" for name in samples if name in genes}
        others = [name for name in samples if name in why and not options.names_sample(name, n_columns)]
        if 0 < len(others) < table.rows.size:
            set_aside += [f"column {name!r} ({why[name]})" for name in others]
            table = table.take_rows(np.flatnonzero(~np.isin(samples, others)))
    wanted = options.features or ()
    no_gene = [at for at, name in enumerate(names) if name in _COUNTS_NO_GENE and name not in wanted]
    if no_gene:
        set_aside += [f"{'line' if features_in_rows else 'column'} {names[at]!r} (counts no gene)" for at in no_gene]
        keep = np.delete(np.arange(table.columns.size), no_gene)
        table = table.take_columns(keep)
        descriptions = None if descriptions is None else tuple(descriptions[at] for at in keep)
    return Arranged(table, features_in_rows, descriptions, tuple(set_aside))


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


def about_features(headings: Sequence[str]) -> frozenset[str]:
    """Columns that say where a gene is and how long, as featureCounts writes them; none where these are not there."""
    found = frozenset(name for name in headings if name.lower() in _OF_A_GENE)
    return found if {"start", "end", "length"} <= {name.lower() for name in found} else frozenset()


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


def _labelled(view: Arranged, options: LabelOptions) -> Arranged | None:
    """The same with its classes; None if what is asked for is not there this way round."""
    ids, file = options.asked.ids, options.file
    if options.from_names is not None:
        return _from_names(_with_ids(view, ids), ids, options.from_names)
    if file is None:
        return _from_table(view, options.asked.labels or "")
    view = replace(view, labels_file=file.path)
    if file.in_order is None:
        return _from_file(_with_ids(view, ids), options.asked, file)
    classes, reason = file.of_samples(view.table.rows.size), f"{file.path.name} has as many classes, in this order"
    return None if classes is None else replace(view, y=np.array(classes, dtype=str), reason=reason)


def _from_table(view: Arranged, labels: str) -> Arranged | None:
    """Classes in a note about the samples, or in a column of numbers."""
    places = [at for at, name in enumerate(view.feature_names) if name == labels]
    notes = [note for note in view.table.rows.notes if note.name == labels]
    what = "line" if view.features_in_rows else "column"
    n_places = len(places) + len(notes)
    message = f"{view.table.path} has {n_places} {what}s called {labels!r}: which one holds the classes?"
    require(n_places <= 1, message)
    if places:
        view = view.column_as_note(places[0])
        notes = [view.table.rows.notes[0]]
    if not notes:
        return None
    rows = view.table.rows
    rest = replace(rows, notes=tuple(note for note in rows.notes if note is not notes[0]))
    table, reason = replace(view.table, rows=rest), f"the classes are in the {what} {labels!r}"
    return replace(view, table=table, y=np.array(notes[0].texts, dtype=str), reason=reason)


def _name_candidates(view: Arranged, ids: str | None) -> list[tuple[str, ...]]:
    """What samples may be called: their names, and notes that are as good, such as the titles in GEO files."""
    axis = view.table.rows
    if ids is not None:
        return [note.texts for note in axis.notes if note.name == ids]
    notes = [note.texts for note in axis.notes if note.leading]
    return notes if axis.names is None else [axis.names, *notes]


def _from_file(view: Arranged, asked: Reading, file: LabelFile) -> Arranged | None:
    known = file.names
    candidates = _name_candidates(view, asked.ids)
    names = max(candidates, key=lambda names: sum(name in known for name in names), default=())
    share = sum(name in known for name in names) / max(1, len(names))
    if not share:
        return None
    classes = file.classes(asked.labels, set(names))
    y = np.array([classes.get(name, "") for name in names], dtype=str)
    reason = f"{file.path.name} names the {'columns' if view.features_in_rows else 'lines'}"
    return replace(view, y=y, share=share, reason=reason, names=names)


def _from_names(view: Arranged, ids: str | None, pattern: re.Pattern[str]) -> Arranged | None:
    """Classes in the names; samples in whose names there is none are set aside."""
    candidates = _name_candidates(view, ids)
    names = max(candidates, key=lambda names: sum(bool(pattern.search(name)) for name in names), default=())
    matches = [pattern.search(name) for name in names]
    texts = [match.group(1 if pattern.groups else 0) if match else "" for match in matches]
    found = np.array([text or "" for text in texts], dtype=str)
    keep = np.flatnonzero(found != "")
    if not keep.size:
        return None
    kind = "column" if view.features_in_rows else "line"
    without = [name for name, text in zip(names, found, strict=True) if not text]
    left = [f"{kind} {name!r} (no class in its name)" for name in without]
    if len(left) > 5:
        left = [f"{len(left)} {kind}s without a class in their name, the first is {without[0]!r}"]
    return replace(
        view,
        table=view.table.take_rows(keep),
        set_aside=(*view.set_aside, *left),
        reason=f"the classes are in the names of the {kind}s",
        y=found[keep],
        share=keep.size / len(names),
        names=tuple(names[at] for at in keep),
    )


def _with_ids(view: Arranged, ids: str | None) -> Arranged:
    """Make a column of numbers that holds sample names a note, so that it can be found among them."""
    if ids not in view.feature_names or any(note.name == ids for note in view.table.rows.notes):
        return view
    return view.column_as_note(view.feature_names.index(ids))


def _with_sample_names(view: Arranged, ids: str | None) -> Arranged:
    """The same with samples that have names, and all notes about them that are neither names nor classes set aside."""
    view = _with_ids(view, ids)
    table = view.table
    names, used = _sample_names(table, ids, view.names)
    aside = tuple(note for note in table.rows.notes if note is not used)
    told = _told(aside, "line" if view.features_in_rows else "column")
    table = replace(table, rows=replace(table.rows, names=names, notes=aside))
    return replace(view, table=table, set_aside=(*view.set_aside, *told))


def _sample_names(
    table: RawTable, ids: str | None, found: tuple[str, ...] | None
) -> tuple[tuple[str, ...], Note | None]:
    """The names of the samples, and the note that they come from."""
    axis = table.rows
    if ids is not None:
        named = [note for note in axis.notes if note.name == ids]
        require(named, f"{table.path} has no column {ids!r}: {some(_column_headings(table))}")
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
    message = (
        f"{path}: the sample name {name!r} occurs {times} times: sample names must be distinct; "
        "correct them, or leave columns that are no samples out with --drop"
    )
    require(times <= 1, message)
    missing = arranged.without_class
    message = (
        f"{arranged.labels_file or path} has no class for {len(missing)} of {len(names)} samples, the first is "
        f"{next(iter(missing), '')!r}: label them or leave them out (--drop NAME, or --class NAME for each to keep)"
    )
    require(not missing, message)


def require_shared_classes(arranged: Arranged, options: LabelOptions) -> None:
    """Raise `InputError` if every one of several samples has a class of its own."""
    y = arranged.y
    if y is None or len(y) < _SEVERAL or len(set(y.tolist())) < len(y):
        return
    in_table = options.asked.labels is not None and options.file is None
    what = f"--labels {options.asked.labels!r} names a column or line with" if in_table else f"{options.wish()} gives"
    message = (
        f"{arranged.labels_file or arranged.table.path}: {what} a different value for each of {len(y)} samples, as "
        f"{str(y[0])!r} and {str(y[1])!r}: say where classes are that samples share (cobic inspect shows what there is)"
    )
    raise InputError(message)


def _not_found(raw: RawTable, options: LabelOptions, sides: Sequence[bool]) -> str:
    """Why what is asked for is not there, and what to do."""
    wish = options.wish()
    if options.asked.features_in_rows is not None and raw.samples_in is None and _found(raw, options, [not sides[0]]):
        cure = "leave out --features-in-rows" if sides[0] else "leave out --samples-in-rows"
        return f"{raw.path}: {wish} fits the other side: the table looks transposed; {cure}"
    if options.file is not None and options.file.in_order is not None:
        has = f"{raw.path} has {raw.rows.size} rows and {raw.columns.size} columns of numbers"
        return f"{wish} has {len(options.file.in_order)} classes, but {has}"
    names = {side: _view_names(raw, options, features_in_rows=side) for side in sides}
    if options.file is not None:
        return _no_names_in_common(raw.path, options.file, names)
    if options.from_names is not None:
        return f"{raw.path}: {wish} is in no name of a row or column: {some([*chain.from_iterable(names.values())])}"
    columns = _column_headings(raw) if False in sides else []
    lines = _column_headings(_named_rows(raw).turned()) if True in sides else []
    words = " or ".join(word for word, names in (("column", columns), ("line", lines)) if names) or "column"
    return f"{raw.path} has no {words} {options.asked.labels!r}: {some([*columns, *lines])}"


def _no_names_in_common(path: Path, file: LabelFile, by_side: Mapping[bool, list[str]]) -> str:
    names = [*chain.from_iterable(by_side.values())]
    if len(file.rows) == 1 and set(names).intersection(file.header):
        return file.transposed()
    if not by_side.get(False, names):
        return f"{path} has no sample names to look up in {file.path}: name their column with --ids"
    none = f"{file.path} names no sample of {path}"
    folded = {name.casefold(): name for name in file.names}
    alike = next((name for name in names if name.casefold() in folded), None)
    if alike is not None:
        different = f"{folded[alike.casefold()]!r} and {alike!r}"
        return f"{none}: upper and lower case differ, as in {different}; write them alike"
    shown = {"the one has names such as": sorted(file.names)}
    shown |= {f"the {'columns' if side else 'lines'} of the other,": names for side, names in by_side.items() if names}
    told = "; ".join(f"{whose} {', '.join(map(repr, names[:3]))}" for whose, names in shown.items())
    return f"{none}: {told}; if the sample names are in another column, name it with --ids"


def _view_names(raw: RawTable, options: LabelOptions, *, features_in_rows: bool) -> list[str]:
    view = _view(raw, options, features_in_rows=features_in_rows)
    return [name for names in _name_candidates(view, None) for name in names]


def _named_rows(raw: RawTable) -> RawTable:
    note = name_note(raw.rows.notes)
    return raw if raw.rows.names is not None or note is None else replace(raw, rows=replace(raw.rows, names=note.texts))
