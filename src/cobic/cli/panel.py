"""Choose a given number of features that separate the classes by the widest margin, and prove how good they are.

example: cobic panel leukaemia.csv --labels class --size 4 --out panel
"""

import argparse
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cobic.analyses.panel import panel
from cobic.answer.panel import Panel
from cobic.answer.panel_folder import PANEL_FILES, panel_files, panel_summary
from cobic.answer.panel_words import panel_lines
from cobic.cli import common
from cobic.cli.main import EXIT_INTERRUPTED
from cobic.io import read_groups
from cobic.problem import Problem
from cobic.problem.dataset import Dataset
from cobic.report.page import render
from cobic.report.story import PanelStory
from cobic.search.budget import Stopwatch


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common.add_table_arguments(parser)
    add = parser.add_argument_group("the panel").add_argument
    add("--size", default="20", metavar="N", help="features in all, or of each class as A=5,B=5 (default: 20)")
    add_panel_rules(add, split="any")
    add("--time-limit", type=float, default=60.0, metavar="SECONDS", help="default: 60; 0 for none")
    add("--gap", type=common.share, default=0.0, metavar="SHARE", help="end when no panel can be better by more")
    add("--seed", type=int, default=0, help="default: 0")
    common.add_transform_arguments(parser)
    common.add_answer_arguments(parser, ", ".join(PANEL_FILES))


def add_panel_rules(add: Callable[..., Any], split: str) -> None:
    """Arguments that say what is asked of a panel besides its size."""
    common.add_panel_choices(add, split)
    add("--beta", type=float, default=1.0, help="how often the mean of another class counts (default: 1)")
    add("--ties", choices=("first", "exclude"), default="first", help="features with tied class means")
    add("--fixed-in", action="append", metavar="NAME", help="feature that must be in the panel (repeatable)")
    add("--fixed-out", action="append", metavar="NAME", help="feature that must not be (repeatable)")
    groups = "table with the columns feature, group, such as probe and gene: a panel holds one of each group at most"
    add("--groups", type=Path, metavar="FILE", help=groups)


def panel_rules(arguments: argparse.Namespace, data: Dataset) -> tuple[Problem, dict[str, Any]]:
    """The problem, and what is asked of its panels, from the arguments of :func:`add_panel_rules`."""
    names = ("ties", "fixed_in", "fixed_out", *common.TRANSFORM_ARGUMENTS)
    rules = {name: getattr(arguments, name) for name in names}
    groups = None if arguments.groups is None else read_groups(arguments.groups, data.feature_names)
    asked = {name: getattr(arguments, name) for name in ("split", "tail", "weights", "offset")}
    return data.problem(beta=arguments.beta, **rules), {**asked, "groups": groups}


def run(arguments: argparse.Namespace) -> int:
    """Read, choose, tell, write."""
    asked, size = common.reading(arguments), common.panel_size(arguments.size)
    watch = Stopwatch()
    data = common.read_data(asked, transformed=arguments.transform is not None)
    problem, rules = panel_rules(arguments, data)
    watch.lap("read")
    with common.output_folder(arguments.out, overwrite=arguments.force):
        if not arguments.json:
            print(common.read_line(data, problem))
        with common.live_progress("choosing", arguments.time_limit) as on_progress:
            found = panel(
                problem,
                size=size,
                **rules,
                time_limit=arguments.time_limit or None,
                target_gap=arguments.gap,
                seed=arguments.seed,
                on_progress=on_progress,
            )
        with common.finishing():
            _tell(arguments, found)
            if arguments.out is not None:
                watch.lap("choose")
                story = PanelStory(found, data.source, shlex.join(["cobic", *arguments.words]), watch.seconds)
                page = render(story)
                watch.lap("report")
                files = {"report.html": page, **panel_files(story)}
                common.write_files(arguments, files, common.ANSWERS)
    return EXIT_INTERRUPTED if found.stopped_by == "interrupt" else 0


def _tell(arguments: argparse.Namespace, found: Panel) -> None:
    if arguments.json:
        common.print_json(panel_summary(found))
    elif not found.support.any():
        print("No panel was found in that time: raise --time-limit.")
    else:
        common.print_table(found.table)
        print(panel_lines(found), flush=True)
