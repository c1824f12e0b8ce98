"""Show shape, orientation, classes, missing values, ranges and what is set aside.

example: cobic inspect leukaemia.csv --labels class
"""

import argparse
from math import isnan
from typing import Any

from cobic.cli import common
from cobic.io.overview import Overview, next_commands, overview


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common.add_table_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> None:
    """Read, look, tell."""
    reading = common.reading(arguments, labelled=False)
    common.tell_memory(reading, solving=False)
    with common.read_progress(reading.path):
        found = overview(reading)
    commands = next_commands(found)
    if arguments.json:
        common.print_json(_document(found, commands))
    else:
        print("\n".join(f"{word:<12}{text}" for word, text in _lines(found, commands)))


def _lines(found: Overview, commands: tuple[str, ...]) -> list[tuple[str, str]]:
    table, values = found.arranged.table, found.values
    lines = [
        ("file", f"{table.path} ({table.form})"),
        ("shape", f"{table.rows.size} samples × {table.columns.size} features"),
        ("layout", _layout(found)),
        ("classes", _classes(found)),
        (
            "values",
            "{smallest:.6g} to {largest:.6g}, median {median:.4g}: look {looks}; "
            "{negative} negative, {zero} zero".format(**values),
        ),
        ("missing", _missing(found)),
        ("names", _names(found)),
    ]
    if found.n_ties is not None:
        lines.append(("ties", f"{found.n_ties} features have the same largest mean in several classes"))
    lines += [("advice", found.advice)] if found.advice else []
    lines += zip(("notice", *[""] * len(found.notices)), found.notices, strict=False)
    lines.append(("set aside", ", ".join(found.arranged.set_aside) or "nothing"))
    return [*lines, *zip(("next", "or", "", "", ""), commands, strict=True)]


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
    counts = {**found.values, "not a number": len(found.arranged.table.odd_cells)}
    kinds = [kind for kind in ("missing", "infinite", "not a number") if counts[kind]]
    return "; ".join(f"{counts[kind]} {kind}, the first in {found.places[kind]}" for kind in kinds) or "none"


def _names(found: Overview) -> str:
    repeated = [(word, names) for word, names in found.repeated.items() if names]
    told = [f"{len(names)} {word} names occur more than once, as {names[0]!r}" for word, names in repeated]
    made_up = "; made up, as line 1 is read as data: --header-row 1 if it holds the names"
    return ("; ".join(told) or "all distinct") + (made_up if found.reading.header_row == 0 else "")


def _document(found: Overview, commands: tuple[str, ...]) -> dict[str, Any]:
    arranged, table = found.arranged, found.arranged.table
    return {
        "file": str(table.path),
        "format": table.form,
        "n_samples": table.rows.size,
        "n_features": table.columns.size,
        "features_in_rows": arranged.features_in_rows,
        "layout_guessed": found.guessed,
        "layout_reason": arranged.reason,
        "classes": found.class_sizes,
        "without_class": len(arranged.without_class),
        # JSON knows neither NaN nor infinity
        **{name: None if isinstance(value, float) and isnan(value) else value for name, value in found.values.items()},
        "not_numbers": len(table.odd_cells),
        "first_places": found.places,
        "repeated_samples": len(found.repeated["sample"]),
        "repeated_features": len(found.repeated["feature"]),
        "ties": found.n_ties,
        "advice": found.advice or None,
        "notices": list(found.notices),
        "set_aside": list(arranged.set_aside),
        "next": commands[0],
        "or": list(commands[1:]),
    }
