"""`cobic inspect`: what was understood of a file."""

import argparse
from typing import Any

from cobic.cli import common
from cobic.cli.codes import EXIT_DONE
from cobic.io.overview import Overview, next_command, overview


def add_parser(commands: Any, summary: str) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "inspect",
        help=summary,
        description="Show shape, orientation, classes, missing values, ranges and what is set aside.",
        epilog="example: cobic inspect leukaemia.csv --labels class",
    )
    common.add_table_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Read, look, tell."""
    common.tell_memory(arguments, solving=False)
    reading = common.reading(arguments)
    found = overview(reading)
    command = next_command(found, reading)
    if arguments.json:
        common.print_json(_document(found, command))
    else:
        print("\n".join(f"{word:<12}{text}" for word, text in _lines(found, command)))
    return EXIT_DONE


def _lines(found: Overview, command: str) -> list[tuple[str, str]]:
    arranged, values = found.arranged, found.values
    n_samples, n_features = arranged.table.values.shape
    lines = [
        ("file", f"{arranged.table.path} ({arranged.table.form})"),
        ("shape", f"{n_samples} samples × {n_features} features"),
        ("layout", _layout(found)),
        ("classes", _classes(found)),
        (
            "values",
            f"{values.smallest:.6g} to {values.largest:.6g}, median {values.median:.4g}: look {values.looks}; "
            f"{values.negative} negative, {values.zero} zero",
        ),
        ("missing", _missing(found)),
        ("names", _names(found)),
    ]
    if found.n_ties is not None:
        lines.append(("ties", f"{found.n_ties} features have the same largest mean in several classes"))
    lines.append(("set aside", ", ".join(arranged.set_aside) or "nothing"))
    return [*lines, ("next", command)]


def _layout(found: Overview) -> str:
    side = "features in rows" if found.arranged.features_in_rows else "samples in rows"
    if not found.guessed:
        return side + (f": {found.arranged.reason}" if found.arranged.reason else "")
    why = "where classes could be" if found.labels else "the shape"
    return f"{side}, guessed from {why}: say where the classes are, --features-in-rows or --samples-in-rows"


def _classes(found: Overview) -> str:
    if found.class_sizes:
        sizes = ", ".join(f"{cls or '(none)'}: {size}" for cls, size in found.class_sizes.items())
        missing = len(found.arranged.without_class)
        return sizes + (f"; {missing} samples have no class" if missing else "")
    notes = dict.fromkeys(note.name for note in found.arranged.table.rows.notes if note.name)
    return "not asked for" + (f"; they may be in one of {', '.join(list(notes)[:12])}" if notes else "")


def _missing(found: Overview) -> str:
    values = found.values
    counts = {
        "missing": values.missing,
        "infinite": values.infinite,
        "not a number": len(found.arranged.table.odd_cells),
    }
    told = [f"{count} {kind}, the first in {found.places[kind]}" for kind, count in counts.items() if count]
    return "; ".join(told) or "none"


def _names(found: Overview) -> str:
    told = []
    for word, names in (("sample", found.repeated_samples), ("feature", found.repeated_features)):
        if names:
            told.append(f"{len(names)} {word} names occur more than once, as {names[0]!r}")
    return "; ".join(told) or "all distinct"


def _document(found: Overview, command: str) -> dict[str, Any]:
    arranged, values = found.arranged, found.values
    n_samples, n_features = arranged.table.values.shape
    return {
        "file": str(arranged.table.path),
        "format": arranged.table.form,
        "n_samples": n_samples,
        "n_features": n_features,
        "features_in_rows": arranged.features_in_rows,
        "layout_guessed": found.guessed,
        "layout_reason": arranged.reason,
        "classes": found.class_sizes,
        "without_class": len(arranged.without_class),
        "smallest": common.finite(values.smallest),
        "largest": common.finite(values.largest),
        "median": common.finite(values.median),
        "looks": values.looks,
        "whole": values.whole,
        "negative": values.negative,
        "zero": values.zero,
        "missing": values.missing,
        "infinite": values.infinite,
        "not_numbers": len(arranged.table.odd_cells),
        "first_places": found.places,
        "repeated_samples": len(found.repeated_samples),
        "repeated_features": len(found.repeated_features),
        "ties": found.n_ties,
        "set_aside": list(arranged.set_aside),
        "next": command,
    }
