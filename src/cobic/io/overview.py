"""What a file holds, as it was understood, before anything is computed with it."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cobic.checks import require
from cobic.errors import InputError
from cobic.io.arrange import Arranged, about_features, arrange, is_statistic, require_usable
from cobic.io.delimited import NoNamesError
from cobic.io.grid import is_number
from cobic.io.labels import LabelFile, LabelOptions, is_no_label, read_label_file
from cobic.io.raw import Axis, Note, RawTable, Reading
from cobic.io.read import as_dataset, read_raw
from cobic.matrix import Matrix, as_matrix
from cobic.problem.advice import LOGGED, class_advice, transform_advice

_MOST_DROPPED = 20  # samples that a proposed command leaves out by name: it should stay readable
_MOST_CLASSES = 10  # more different texts are rather names, or remarks
_CLASS_WORDS = re.compile(
    r"(.*[^a-z])?(class(es)?|labels?|groups?|(sub|pheno|cell)?types?|diagnos[ie]s|status|outcome|target|condition|"
    r"disease|tumou?r|treatment|response|y)[^a-z]*(\(.*)?",
    re.I,
)
_FEWEST_CODED = 6  # samples: among fewer, whole numbers that repeat are chance
_MOST_CODES = 5  # features of whole numbers: more are measured in whole numbers
_MOST_CODED = 4  # different numbers: classes as numbers are rarely more, and counts rarely fewer
_UNKNOWN = "<FILE WITH THE CLASSES>"
_PARTS = "parts"  # the folder of the two parts of a table
_TEXTS = frozenset({".csv", ".tsv", ".txt", ".tab", ".cls"})
_BESIDE = 200  # files beside the data that are looked at
_LARGEST_BESIDE = 1 << 20  # bytes: classes of more samples than fit into memory are not in such a file


@dataclass(frozen=True)
class Overview:
    """What was understood of a file."""

    arranged: Arranged  # the table, samples in rows
    values: dict[str, Any]  # its numbers in a few words, under the names that `cobic inspect --json` has for them
    places: dict[str, str]  # where the first missing, infinite or unreadable cell is
    repeated: dict[str, list[str]]  # names of samples, and of features, that occur more than once
    n_ties: int | None  # features whose largest class means tie; None where that cannot be computed
    guessed: bool  # whether the orientation is a guess
    # arguments of the command line that say where the classes are, given or proposed; empty if nobody knows
    labels: tuple[str, ...]
    advice: str  # which transform suits the values; empty for none
    notices: tuple[str, ...]  # what may be a mistake in the data
    reading: Reading  # what was said about the file, and what was guessed besides

    @property
    def class_sizes(self) -> dict[str, int]:
        """Samples of each class, in sorted order."""
        return {} if self.arranged.y is None else dict(sorted(Counter(self.arranged.y.tolist()).items()))


def overview(reading: Reading) -> Overview:
    """Read a file and say what is in it; where nothing is said about classes or names, guess."""
    require(not reading.backed, f"{reading.path}: inspect reads the whole file: leave out --backed")
    try:
        raw = read_raw(reading)
    except NoNamesError:
        reading = replace(reading, header_row=0)
        raw = read_raw(reading)
    options = LabelOptions.of(reading)
    labels, guessed, proposed = tuple(reading.place_of_classes), False, reading
    if not options.asked.says_classes:
        labels, side, proposed = _proposal(raw, reading)
        guessed = raw.samples_in is None and reading.features_in_rows is None
        if guessed:
            options = replace(options, asked=replace(reading, features_in_rows=side))
    arranged = arrange(raw, options)
    values = _values(arranged.table.values, len(arranged.table.odd_cells))
    names = {"sample": Counter(arranged.sample_names), "feature": Counter(arranged.feature_names)}
    repeated = {word: [name for name, times in counts.items() if times > 1] for word, counts in names.items()}
    matrix = as_matrix(arranged.table.values)
    if options.asked.says_classes:
        classes = reading.classes or _classes_kept(() if arranged.y is None else arranged.y.tolist())
        proposed = replace(reading, drop=(*reading.drop, *_if_few(repeated["sample"])), classes=classes)
    read = _arranged_by(raw, proposed)
    notices = [
        *class_advice(_class_sizes(read)),
        *_constant(arranged, matrix),
        *_holes(read or arranged),
        *_codes(read or arranged),
    ]
    if proposed.classes != reading.classes:
        where = f" in {proposed.labels!r}" if proposed.labels else ""
        notices.append(f"some samples have no class{where}: the commands below leave them out")
    left_out = proposed.drop[len(reading.drop) :]
    if left_out:
        names_of = "the sample name" if len(left_out) == 1 else "the sample names"
        more = f"{names_of} {', '.join(map(repr, left_out))}"
        notices.append(
            f"the command below leaves out all samples with {more}, which occurs more than once: rename them"
        )
    return Overview(
        arranged,
        values,
        _places(arranged),
        repeated,
        _ties(arranged),
        guessed,
        labels,
        transform_advice(matrix),
        tuple(notices),
        replace(reading, drop=proposed.drop, classes=proposed.classes),
    )


def next_commands(found: Overview) -> tuple[str, ...]:
    """The commands to run next: a selection; or a panel of some samples, by which the others are classified."""
    labels = found.labels or ("--labels-file", _UNKNOWN)
    data = [str(found.reading.path), *labels, *found.reading.layout]
    transform = shlex.split(found.advice.partition("consider ")[2])
    commands = (
        ["select", *data, "--out", "answer"],
        ["split", *data, "--out", _PARTS],
        ["panel", f"{_PARTS}/train.csv", "--labels", "class", *transform, "--gap", "5%", "--out", "panel"],
        ["report", "panel", f"{_PARTS}/train.csv", "--labels", "class", "--new", f"{_PARTS}/test.csv", "--force"],
        ["classify", "panel/model.json", f"{_PARTS}/test.csv", "--labels", "class"],
    )
    return tuple(shlex.join(["cobic", *command]) for command in commands)


def _arranged_by(raw: RawTable, proposed: Reading) -> Arranged | None:
    """The data as the proposed commands read them: without the classes, and without samples that they leave out."""
    with suppress(InputError):
        return arrange(raw, LabelOptions.of(proposed))
    return None


def _class_sizes(arranged: Arranged | None) -> dict[str, int]:
    """Samples of each class."""
    return {} if arranged is None or arranged.y is None else dict(sorted(Counter(arranged.y.tolist()).items()))


def _constant(arranged: Arranged, matrix: Matrix) -> list[str]:
    """A sentence about features that are the same in all samples."""
    values = arranged.table.values
    if matrix.first_not_finite() is not None or values.shape[0] < 2:  # which are told elsewhere
        return []
    low, high = (
        np.asarray(each.toarray() if hasattr(each, "toarray") else each).ravel()
        for each in (values.min(axis=0), values.max(axis=0))
    )
    same = np.flatnonzero(low == high)
    if not same.size:
        return []
    are = "1 feature is" if same.size == 1 else f"{same.size} features are"
    return [f"{are} constant, as {arranged.feature_names[same[0]]!r}: such features tell nothing apart"]


def _codes(arranged: Arranged) -> list[str]:
    """A sentence about features of a few whole numbers among measurements: classes or groups, as 0 and 1."""
    values, names = arranged.table.values, arranged.feature_names
    if hasattr(values, "tocoo") or values.shape[0] < _FEWEST_CODED or values.shape[1] < 2:
        return []
    whole = np.flatnonzero((values == np.round(values)).all(axis=0))
    if whole.size > _MOST_CODES or whole.size * 2 > len(names):  # then counts are nothing special
        return []
    numbers = {at: np.unique(values[:, at], return_counts=True)[1] for at in whole.tolist()}
    coded = [at for at, sizes in numbers.items() if 2 <= sizes.size <= _MOST_CODED and sizes.min() > 1]
    return [
        f"feature {names[at]!r} is one of {numbers[at].size} whole numbers, among measurements: if these are the "
        f"classes, {shlex.join(['--labels', names[at]])}; if it is no measurement, {shlex.join(['--drop', names[at]])}"
        for at in coded
    ]


def _holes(arranged: Arranged) -> list[str]:
    """A sentence about cells without a number, because of which the commands to run next would end."""
    values = arranged.table.values
    cells = values.tocoo() if hasattr(values, "tocoo") else None
    wrong = ~np.isfinite(values if cells is None else cells.data)
    if not wrong.any():
        return []
    n_wrong, n_features = int(wrong.sum()), arranged.table.columns.size
    n_hit = np.unique(np.nonzero(wrong)[1] if cells is None else cells.col[wrong]).size
    holds = "1 cell holds no finite number" if n_wrong == 1 else f"{n_wrong} cells hold no finite number"
    where = f"{n_hit} of {n_features} features"
    return [f"{holds}, in {where}, which the commands below refuse: impute first, or leave these features out"]


def _proposal(raw: RawTable, reading: Reading) -> tuple[tuple[str, ...], bool, Reading]:
    """Where the classes may be, whether features are in rows then, and what was said with it.

    If they are nowhere, samples whose names occur more than once are left out; then the shape tells.
    """
    known = {None: reading.features_in_rows, "rows": False, "columns": True}[raw.samples_in]
    sides = [False, True] if known is None else [known]
    for dropping in (reading, *_without_twins(raw, reading, sides)):
        found = _first_that_works(raw, dropping, sides)
        if found is not None:
            return found
    return (), raw.rows.size > raw.columns.size if known is None else known, reading


def _without_twins(raw: RawTable, reading: Reading, sides: Sequence[bool]) -> Iterator[Reading]:
    """The same without samples whose names occur more than once, where there are some but not many."""
    for side in sides:
        with suppress(InputError):
            names = Counter(arrange(raw, LabelOptions(replace(reading, features_in_rows=side))).sample_names)
            twice = _if_few([name for name, times in names.items() if times > 1])
            if twice:
                yield replace(reading, drop=(*reading.drop, *twice))


def _if_few(names: list[str]) -> list[str]:
    return names if len(names) <= _MOST_DROPPED else []


def _first_that_works(
    raw: RawTable, reading: Reading, sides: Sequence[bool]
) -> tuple[tuple[str, ...], bool, Reading] | None:
    for proposed, side in _candidates(raw, reading, sides):
        for said in ((), ("--features-in-rows" if side else "--samples-in-rows",))[: len(sides)]:
            if _works(raw, replace(proposed, features_in_rows=side if said else reading.features_in_rows)):
                sure = replace(proposed, features_in_rows=side if raw.samples_in is None else None)
                return (*proposed.place_of_classes, *said), side, sure
    return None


def _candidates(raw: RawTable, reading: Reading, sides: Sequence[bool]) -> Iterator[tuple[Reading, bool]]:
    """Where classes may be, the likeliest first: a file beside the data, columns and lines, names of samples."""
    beside = Path(str(reading.path).removesuffix("".join(reading.path.suffixes)) + ".cls")
    if True in sides and beside.is_file():
        yield replace(reading, labels_file=beside), True
    yield from _files_beside(raw, reading, sides)
    notes = [(note, side) for side in sides for note in _possible(raw, reading, side=side)]
    for note, side in sorted(notes, key=lambda each: _rank(each[0])):
        yield replace(reading, labels=note.name, classes=_classes_kept(note.texts)), side
    yield from _tables_beside(raw, reading, sides)
    for side in sides:
        axis = raw.columns if side else raw.rows
        for candidate in [axis.names or (), *(note.texts for note in axis.notes if note.leading)]:
            genes = about_features([*candidate, *(note.name for note in raw.rows.notes)]) if side else frozenset()
            names = [name for name in candidate if not (side and is_statistic(name)) and name not in genes]
            words = [re.match(r"[A-Za-z]+", name) for name in names]
            found = tuple(word.group() if word else "" for word in words)
            if _are_classes(found):
                longest_first = sorted(sorted(set(found)), key=len, reverse=True)
                yield replace(reading, labels_from_names=f"^({'|'.join(longest_first)})"), side


def _files_beside(raw: RawTable, reading: Reading, sides: Sequence[bool]) -> Iterator[tuple[Reading, bool]]:
    """Files in the same folder with a class for each sample, where nothing in the table looks like classes."""
    notes = [*raw.rows.notes, *raw.columns.notes]
    if any(note.name and _are_classes(note.texts) for note in notes):
        return
    for classes in _label_files(reading):
        for side in sides:
            if classes.of_samples(raw.columns.size if side else raw.rows.size) is not None:
                yield replace(reading, labels_file=classes.path), side


def _tables_beside(raw: RawTable, reading: Reading, sides: Sequence[bool]) -> Iterator[tuple[Reading, bool]]:
    """Tables in the same folder with a line for each sample, by its name."""
    for table in _label_files(reading):
        for side in sides:
            for note in sorted(_about_samples(raw.columns if side else raw.rows, table), key=_rank):
                column = None if len(table.header) == 2 else note.name
                kept = _classes_kept(note.texts)
                yield replace(reading, labels_file=table.path, labels=column, classes=kept), side


def _label_files(reading: Reading) -> Iterator[LabelFile]:
    """What may be files of classes, in the folder of the data."""
    if not reading.path.is_file():
        return
    for file in sorted(reading.path.parent.iterdir())[:_BESIDE]:
        if file == reading.path or file.suffix.lower() not in _TEXTS or file.stat().st_size > _LARGEST_BESIDE:
            continue
        with suppress(InputError):
            yield read_label_file(file)


def _about_samples(axis: Axis, file: LabelFile) -> list[Note]:
    """Columns of a table with a line for each sample, by name, that could be classes; numbers if they are called so."""
    named = [set(names) for names in (axis.names, *(note.texts for note in axis.notes if note.leading)) if names]
    samples = next((names for names in named if len(names) > 1 and names <= file.names), set())
    lines = [cells for _, cells in file.rows if cells[0] in samples]
    if not lines or len(lines) != len(samples):  # one more may be the first line of a table without headings
        return []
    columns = zip(*lines, strict=True)
    notes = [Note(name, texts) for name, texts in zip(file.header, columns, strict=True)]
    return [
        note
        for note in notes[1:]
        if _mostly_classes(note.texts)
        and (_CLASS_WORDS.fullmatch(note.name) or not all(map(is_number, note.texts)))
        and file.header.count(note.name) == 1
    ]


def _possible(raw: RawTable, reading: Reading, *, side: bool) -> list[Note]:
    """Texts about the samples that could be classes, and numbers if they are called so."""
    axis = raw.columns if side else raw.rows
    found = [note for note in axis.notes if note.name and _mostly_classes(note.texts)]
    asked = replace(reading, ids=None, drop=(), classes=(), features_in_rows=side)
    table = arrange(raw, LabelOptions(asked)).table
    for at, name in enumerate(table.columns.names or ()):
        if _CLASS_WORDS.fullmatch(name):
            note = table.take_columns(np.array([at])).column_as_note(0).rows.notes[0]
            found += [note] if _mostly_classes(note.texts) else []
    return found


def _rank(note: Note) -> tuple[bool, bool, bool, bool, bool]:
    """Classes of all samples, and of several, come first, then what is called so, categories, texts, numbers."""
    numbers = all(is_number(text) for text in note.texts)
    return (
        bool(_classes_kept(note.texts)),
        min(Counter(note.texts).values()) == 1,
        _CLASS_WORDS.fullmatch(note.name) is None,
        not note.categorical,
        numbers,
    )


def _works(raw: RawTable, proposed: Reading) -> bool:
    """Try a proposal."""
    with suppress(InputError):
        arranged = arrange(raw, LabelOptions.of(proposed))
        require_usable(arranged)
        return arranged.y is not None and _are_classes(arranged.y.tolist())
    return False


def _are_classes(texts: Sequence[str]) -> bool:
    """Tell whether texts could be classes: a few, most of them of several samples, none missing."""
    sizes = Counter(texts)
    shared = sum(size > 1 for size in sizes.values())
    return 2 <= len(sizes) <= _MOST_CLASSES and shared >= 2 and 2 * shared > len(sizes) and all(texts)


def _mostly_classes(texts: Sequence[str]) -> bool:
    """Tell whether texts could be classes, of most samples at least."""
    given = [text for text in texts if not is_no_label(text)]
    return 2 * len(given) > len(texts) and _are_classes(given)


def _classes_kept(texts: Sequence[str]) -> tuple[str, ...]:
    """The classes to keep where some samples have none; empty where all have one, or the list would be long."""
    there = sorted({text for text in texts if not is_no_label(text)})
    missing = any(is_no_label(text) for text in texts)
    return tuple(there) if missing and len(there) <= _MOST_CLASSES else ()


def _values(values: Any, n_odd: int) -> dict[str, Any]:
    """The numbers of a table in a few words; what a sparse matrix does not store is zero."""
    numbers = np.asarray(values.tocsr().data if hasattr(values, "tocsr") else values.ravel(), dtype=np.float64)
    finite = numbers[np.isfinite(numbers)]
    n_cells = int(values.shape[0]) * int(values.shape[1])
    n_absent = n_cells - numbers.size
    if n_absent:
        finite = np.append(finite, 0.0)
    some = np.zeros(1) if n_absent * 2 > n_cells else finite[:: max(1, finite.size // 1_000_000)]
    smallest = largest = median = float("nan")
    if finite.size:
        smallest, largest, median = float(finite.min()), float(finite.max()), float(np.median(some))
    whole, n_negative = bool((finite == np.round(finite)).all()), int((finite < 0).sum())
    return {
        "smallest": smallest,
        "largest": largest,
        "median": median,
        "looks": _looks(largest, median, whole=whole, negative=n_negative > 0),
        "whole": whole,
        "negative": n_negative,
        "zero": int((numbers == 0).sum()) + n_absent,
        "missing": int(np.isnan(numbers).sum()) - n_odd,
        "infinite": int(np.isinf(numbers).sum()),
    }


def _looks(largest: float, median: float, *, whole: bool, negative: bool) -> str:
    """What kind of measurements numbers look like."""
    if largest <= LOGGED and not whole:
        return "standardised or log ratios" if negative and abs(median) < 1 else "logged"
    if whole and not negative:
        return "raw counts" if largest > 1 else "present or absent"
    return "raw, not logged"


def _places(arranged: Arranged) -> dict[str, str]:
    """Where the first cell of each kind is that is no number."""
    values, odd = arranged.table.values, arranged.table.odd_cells
    cells = values.tocoo() if hasattr(values, "tocoo") else None
    found = {}
    for kind, test in (("missing", np.isnan), ("infinite", np.isinf)):
        if cells is None:
            rows, columns = np.nonzero(test(values))
        else:
            rows, columns = cells.row[test(cells.data)], cells.col[test(cells.data)]
        first = next((place for place in zip(rows.tolist(), columns.tolist(), strict=True) if place not in odd), None)
        if first is not None:
            found[kind] = arranged.place(*first).removeprefix(f"{arranged.table.path}, ")
    if odd:
        place = arranged.place(*min(odd)).removeprefix(f"{arranged.table.path}, ")
        found["not a number"] = f"{place}: {odd[min(odd)][:40]!r}"
    return found


def _ties(arranged: Arranged) -> int | None:
    with suppress(InputError):  # said elsewhere: missing values, names, or classes
        return None if arranged.y is None else as_dataset(arranged).problem().n_ties
    return None
