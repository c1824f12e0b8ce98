"""Choose a panel of each of several sizes, cross-validate, and say which size to take.

example: cobic frontier leukaemia.csv --labels class --sizes 2,10,50 --gap 0.1 --out sizes
"""

import argparse
import shlex
from typing import Any

from cobic.analyses.frontier import Frontier, frontier
from cobic.answer.frontier import FRONTIER_FILES, frontier_document, frontier_files
from cobic.answer.panel_folder import PANEL_FILES, panel_files, panel_summary
from cobic.answer.panel_words import panel_lines
from cobic.cli import common
from cobic.cli.main import EXIT_INTERRUPTED
from cobic.cli.panel import add_panel_rules, panel_rules
from cobic.errors import InputError
from cobic.problem.dataset import Dataset
from cobic.report.page import render
from cobic.report.story import PanelStory
from cobic.search.cluster import cluster

_SHOWN = ["size", "counts", "tail_margin", "bound", "worst_margin", "read_back", "cv_error", "cv_se", "cv_shortfall"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common.add_table_arguments(parser)
    add = parser.add_argument_group("the panels").add_argument
    sizes = "numbers of features, as 2,4,10; by default from one of each class to all, by way of 5, 10, 20, 50 …"
    add("--sizes", metavar="LIST", help=sizes)
    add_panel_rules(add, split="even")
    add("--cv", type=int, default=5, metavar="FOLDS", help="default: 5; 0 for no cross-validation")
    limit = "for all of it, half for the panels and half for the folds; default: 60; 0 for none"
    add("--time-limit", type=float, default=60.0, metavar="SECONDS", help=limit)
    add("--gap", type=common.share, default=0.0, metavar="SHARE", help="end when no panel can be better by more")
    add("--seed", type=int, default=0, help="default: 0")
    common.add_transform_arguments(parser)
    common.add_parallel_arguments(parser, "panels and folds")
    files = f"{', '.join(FRONTIER_FILES)} and, of the chosen size, {', '.join(PANEL_FILES)}"
    common.add_answer_arguments(parser, files)


def run(arguments: argparse.Namespace) -> int:
    """Read, choose, tell, write."""
    asked = common.reading(arguments)
    sizes = None if arguments.sizes is None else _sizes(arguments.sizes)
    data = common.read_data(asked, transformed=arguments.transform is not None)
    problem, rules = panel_rules(arguments, data)
    with common.resumable_folder(arguments) as steps:
        with cluster(arguments.cluster), common.live_progress("choosing", arguments.time_limit) as on_progress:
            found = frontier(
                problem,
                sizes=sizes,
                cv=arguments.cv or None,
                time_limit=arguments.time_limit or None,
                target_gap=arguments.gap,
                random_state=arguments.seed,
                n_jobs=arguments.jobs,
                on_progress=on_progress,
                folder=steps,
                **rules,
            )
        with common.finishing():
            _tell(arguments, data, found)
            if arguments.out is not None:
                files = {**frontier_files(found), **_chosen_files(arguments, data, found)}
                common.write_files(arguments, files, common.ANSWERS)
            if found.stopped_by is None:
                steps.discard()
    return EXIT_INTERRUPTED if found.stopped_by == "interrupt" else 0


def _sizes(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        message = f"--sizes {text!r}: write whole numbers with commas between them, as 2,4,10"
        raise InputError(message) from None


def _chosen_files(arguments: argparse.Namespace, data: Dataset, found: Frontier) -> dict[str, str]:
    """The files of the panel of the chosen size, as ``cobic panel --out`` writes them; none without a choice."""
    if found.chosen is None:
        return {}
    story = PanelStory(found.panel, data.source, shlex.join(["cobic", *arguments.words]), frontier=found.table)
    return {"report.html": render(story), **panel_files(story)}


def _tell(arguments: argparse.Namespace, data: Dataset, found: Frontier) -> None:
    if arguments.json:
        document: dict[str, Any] = frontier_document(found)
        document["panel"] = None if found.chosen is None else panel_summary(found.panel)
        common.print_json(document)
        return
    print(common.read_line(data, found.problem))
    common.print_table(found.table[[name for name in _SHOWN if name in found.table]])
    print(f"{'Choose' if found.chosen is not None else 'No choice'}: {found.reason}.", flush=True)
    if found.chosen is not None:
        common.print_table(found.panel.table)
        print(panel_lines(found.panel), flush=True)
