"""`cobic report`: an answer as a page to look at."""

import argparse
from pathlib import Path
from typing import Any

from cobic.answer.curve import Curve
from cobic.answer.folder import read_answer
from cobic.answer.words import answer_sentence
from cobic.cli import common
from cobic.cli.codes import EXIT_DONE
from cobic.errors import InputError
from cobic.io import write_text
from cobic.io.labels import read_label_file
from cobic.problem.dataset import Dataset
from cobic.report.page import render
from cobic.report.story import Story


def add_parser(commands: Any, summary: str) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "report",
        help=summary,
        description="Read an answer back, check it against the data, write it as one HTML page that needs no network.",
        epilog="example: cobic report answer leukaemia.csv --labels class --new new.csv --path curve --out report.html",
    )
    parser.add_argument("answer", type=Path, metavar="ANSWER", help="folder of `cobic select --out`")
    common.add_table_arguments(parser)
    more = parser.add_argument_group("more to show")
    more.add_argument("--new", metavar="FILE", help="new samples, read as DATA is: classified, and counted if labelled")
    more.add_argument("--new-labels-file", metavar="FILE", help="their classes, if --labels-file does not have them")
    more.add_argument("--new-without-classes", action="store_true", help="say what they are read as, whatever they are")
    more.add_argument("--path", type=Path, metavar="FOLDER", help="folder of `cobic path --out` about the same data")
    output = parser.add_argument_group("the page")
    output.add_argument("--out", type=Path, metavar="FILE", help="default: report.html in ANSWER")
    output.add_argument("--force", action="store_true", help="overwrite the file")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Read, check, write, tell."""
    common.require_labels(arguments)
    _require_own_classes(arguments)
    out = arguments.out or arguments.answer / "report.html"
    common.require_place(out, overwrite=arguments.force)
    answer = read_answer(arguments.answer, common.read_data(arguments))
    curve = None if arguments.path is None else Curve.read(arguments.path, answer.problem)
    new = _read_new(arguments, answer.problem.feature_names)
    write_text(out, render(Story(**vars(answer), new=new, curve=curve)))
    print(f"{answer_sentence(answer.problem, answer.result)}.")
    print(f"Look at {out}.")
    return EXIT_DONE


def _require_own_classes(arguments: argparse.Namespace) -> None:
    """Complain if the new samples would get the classes of the others, one after the other."""
    if arguments.new is None or arguments.labels_file is None:
        return
    if arguments.new_without_classes or arguments.new_labels_file is not None:
        return
    if read_label_file(Path(arguments.labels_file), arguments.encoding).in_order is not None:
        message = (
            f"{arguments.labels_file} holds the classes of {arguments.data} in the order of its samples: give those of "
            f"{arguments.new} with --new-labels-file, or say --new-without-classes"
        )
        raise InputError(message)


def _read_new(arguments: argparse.Namespace, features: tuple[str, ...] | None) -> Dataset | None:
    """The new samples, read in the way of the others; without classes where they have none."""
    if arguments.new is None:
        return None
    given = {**vars(arguments), "data": arguments.new}
    without = argparse.Namespace(**{**given, "labels": None, "labels_file": None, "labels_from_names": None})
    if arguments.new_without_classes:
        return common.read_data(without, features)
    labels_file = arguments.new_labels_file or arguments.labels_file
    try:
        return common.read_data(argparse.Namespace(**{**given, "labels_file": labels_file}))
    except InputError as error:
        if arguments.new_labels_file is not None:
            raise
        try:
            new = common.read_data(without, features)
        except InputError:
            raise error from None
        if new.feature_names != features:
            raise
        print(f"New samples without classes: {error}.")
        return new
