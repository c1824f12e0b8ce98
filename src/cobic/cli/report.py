"""`cobic report`: an answer as a page to look at."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from cobic.cli import common
from cobic.dataset import Dataset
from cobic.errors import InputError
from cobic.io import write_text
from cobic.report import answer_sentence
from cobic.report.curve import Curve
from cobic.report.folder import read_answer
from cobic.report.page import render


def add_parser(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "report",
        help="show an answer as a page: heatmap, margins, table, new samples, path",
        description="Read an answer back, check it against the data, write it as one HTML page that needs no network.",
        epilog="example: cobic report answer leukaemia.csv --labels class --new new.csv --path curve --out report.html",
    )
    parser.add_argument("answer", type=Path, metavar="ANSWER", help="folder of `cobic select --out`")
    common.add_table_arguments(parser)
    more = parser.add_argument_group("more to show")
    more.add_argument("--new", metavar="FILE", help="new samples, read as DATA is: classified, and counted if labelled")
    more.add_argument("--path", type=Path, metavar="FOLDER", help="folder of `cobic path --out` about the same data")
    output = parser.add_argument_group("the page")
    output.add_argument("--out", type=Path, metavar="FILE", help="default: report.html in ANSWER")
    output.add_argument("--force", action="store_true", help="overwrite the file")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Read, check, write, tell."""
    common.require_labels(arguments)
    out = arguments.out or arguments.answer / "report.html"
    if out.exists() and not arguments.force:
        message = f"{out} exists: choose another name with --out, or overwrite it with --force"
        raise InputError(message)
    story = read_answer(arguments.answer, common.read_data(arguments))
    curve = None if arguments.path is None else Curve.read(arguments.path, story.problem)
    write_text(out, render(replace(story, new=_read_new(arguments), curve=curve)))
    print(f"{answer_sentence(story.problem, story.result)}.")
    print(f"Look at {out}.")
    return common.EXIT_DONE


def _read_new(arguments: argparse.Namespace) -> Dataset | None:
    """The new samples, read in the way of the others."""
    if arguments.new is None:
        return None
    return common.read_data(argparse.Namespace(**{**vars(arguments), "data": arguments.new}))
