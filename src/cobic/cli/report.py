"""Read an answer back, check it against the data, write it as one HTML page that needs no network.

example: cobic report answer leukaemia.csv --labels class --new new.csv --path curve --out report.html
"""

import argparse
from dataclasses import replace
from pathlib import Path

from cobic.answer.curve import Curve
from cobic.answer.folder import read_answer
from cobic.answer.frontier import read_frontier
from cobic.answer.panel_folder import is_panel_folder, read_panel
from cobic.answer.panel_words import panel_sentence
from cobic.answer.words import answer_sentence
from cobic.checks import require
from cobic.cli import common
from cobic.errors import InputError
from cobic.io import write_text
from cobic.io.labels import read_label_file
from cobic.io.raw import Reading
from cobic.problem.dataset import Dataset
from cobic.report.page import render
from cobic.report.story import PanelStory, Story


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "answer", type=Path, metavar="ANSWER", help="folder of `cobic select --out` or `cobic panel --out`"
    )
    common.add_table_arguments(parser)
    more = parser.add_argument_group("more to show")
    more.add_argument("--new", metavar="FILE", help="new samples, read as DATA is: classified, and counted if labelled")
    more.add_argument("--new-labels-file", metavar="FILE", help="their classes, if --labels-file does not have them")
    more.add_argument("--new-without-classes", action="store_true", help="say what they are read as, whatever they are")
    more.add_argument("--path", type=Path, metavar="FOLDER", help="folder of `cobic path --out` about the same data")
    more.add_argument("--frontier", type=Path, metavar="FOLDER", help="folder of `cobic frontier --out`, for a panel")
    output = parser.add_argument_group("the page")
    output.add_argument("--out", type=Path, metavar="FILE", help="default: report.html in ANSWER")
    output.add_argument("--force", action="store_true", help="overwrite the file")


def run(arguments: argparse.Namespace) -> None:
    """Read, check, write, tell."""
    asked = common.reading(arguments)
    _require_own_classes(arguments, asked)
    out = arguments.out or arguments.answer / "report.html"
    common.require_place(out, overwrite=arguments.force)
    tell = _panel_page if is_panel_folder(arguments.answer) else _selection_page
    page, sentence = tell(arguments, asked, common.read_data(asked))
    write_text(out, page)
    print(f"{sentence}.")
    print(f"Look at {out}.")


def _selection_page(arguments: argparse.Namespace, asked: Reading, data: Dataset) -> tuple[str, str]:
    """The page of a selection, and its heading."""
    require(arguments.frontier is None, f"--frontier is for panels, and {arguments.answer} holds a selection")
    answer = read_answer(arguments.answer, data)
    curve = None if arguments.path is None else Curve.read(arguments.path, answer.problem)
    new = _read_new(arguments, asked, answer.problem.feature_names)
    return render(Story(**vars(answer), new=new, curve=curve)), answer_sentence(answer.problem, answer.result)


def _panel_page(arguments: argparse.Namespace, asked: Reading, data: Dataset) -> tuple[str, str]:
    """The page of a panel, and its heading."""
    require(arguments.path is None, f"--path is for selections, and {arguments.answer} holds a panel")
    answer = read_panel(arguments.answer, data)
    own = arguments.answer if (arguments.answer / "frontier.json").exists() else None
    sizes = arguments.frontier or own
    frontier = None if sizes is None else read_frontier(sizes, answer.panel.problem)
    new = _read_new(arguments, asked, answer.problem.feature_names)
    return render(PanelStory(**vars(answer), new=new, frontier=frontier)), panel_sentence(answer.panel)


def _require_own_classes(arguments: argparse.Namespace, asked: Reading) -> None:
    """Complain if the new samples would get the classes of the others, one after the other."""
    if arguments.new is None or asked.labels_file is None:
        return
    if arguments.new_without_classes or arguments.new_labels_file is not None:
        return
    message = (
        f"{arguments.labels_file} holds the classes of {arguments.data} in the order of its samples: give those of "
        f"{arguments.new} with --new-labels-file, or say --new-without-classes"
    )
    require(read_label_file(asked.labels_file, asked.encoding).in_order is None, message)


def _read_new(arguments: argparse.Namespace, asked: Reading, features: tuple[str, ...] | None) -> Dataset | None:
    """The new samples, read in the way of the others; without classes where they have none."""
    if arguments.new is None:
        return None
    without = replace(asked, path=Path(arguments.new), labels=None, labels_file=None, labels_from_names=None)
    if arguments.new_without_classes:
        return common.read_data(without, features)
    labels_file = arguments.new_labels_file or asked.labels_file
    try:
        return common.read_data(replace(asked, path=without.path, labels_file=labels_file))
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
