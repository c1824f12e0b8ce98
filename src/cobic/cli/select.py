"""Keep as many features as possible such that each sample's class can be read back from them.

example: cobic select leukaemia.csv --labels class --alpha 50 --out answer
"""

import argparse
from pathlib import Path
from typing import Any

from cobic.answer.folder import answer_files
from cobic.answer.tables import summary_document
from cobic.checks import require
from cobic.cli import common
from cobic.io import write_folder, write_text
from cobic.methods import METHODS, solve
from cobic.report.page import render
from cobic.report.story import Story
from cobic.search.budget import Stopwatch
from cobic.search.cluster import cluster


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common.add_table_arguments(parser)
    common.add_margin_arguments(parser)
    common.add_rule_arguments(parser)
    common.add_method_arguments(parser)
    common.add_parallel_arguments(parser, "restarts of bilevel-vns")
    files = "report.html, selection.csv, model.json, certificate.json, run.json (and violations.csv)"
    output = common.add_answer_arguments(parser, files)
    output.add_argument("--report", type=Path, metavar="FILE", help="write the report there, with or without --out")


def run(arguments: argparse.Namespace) -> int:
    """Read, select, write, tell."""
    asked = common.reading(arguments)
    options = {**common.solve_options(arguments), **_side_by_side(arguments)}
    watch = Stopwatch()
    data = common.read_data(asked, transformed=arguments.transform is not None)
    problem = data.problem(arguments.alpha, arguments.beta, **common.rules(arguments, data))
    watch.lap("read")
    with common.output_folder(arguments.out, overwrite=arguments.force):
        if arguments.report is not None:
            common.require_place(arguments.report, overwrite=arguments.force)
        if not arguments.json:
            print(common.read_line(data, problem))
        with cluster(arguments.cluster), common.live_progress("selecting") as on_progress:
            result = solve(problem, on_progress=on_progress, **options)
        watch.lap("solve")
        with common.finishing():
            story = Story(problem, result, data.source, options, watch.seconds)
            if arguments.json:
                common.print_json(summary_document(problem, result))
            else:  # before anything is written, so that a full disk cannot lose it
                print(common.describe(problem, result), flush=True)
            written = _write(arguments, story, watch)
            if not arguments.json:
                print(_where(arguments, written))
    return common.exit_code(result)


def _side_by_side(arguments: argparse.Namespace) -> dict[str, Any]:
    """The option that a method with something to do side by side has for it."""
    if arguments.jobs is None and arguments.cluster is None:
        return {}
    able = [name for name, method in METHODS.items() if "n_jobs" in method.options]
    restarts = f"--jobs and --cluster are for the restarts of {', '.join(able)}"
    require(arguments.method in able, f"{restarts}: method {arguments.method!r} is one search")
    return {} if arguments.jobs is None else {"n_jobs": arguments.jobs}


def _write(arguments: argparse.Namespace, story: Story, watch: Stopwatch) -> list[str]:
    """Write what was asked for; the names of the files in the folder."""
    if arguments.out is None and arguments.report is None:
        return []
    page = render(story)
    watch.lap("report")
    files = {**answer_files(story), "report.html": page}
    if arguments.out is not None:
        write_folder(arguments.out, files, instead_of=common.ANSWERS)
    if arguments.report is not None:
        write_text(arguments.report, page)
    return list(files)


def _where(arguments: argparse.Namespace, written: list[str]) -> str:
    parts = {"selection.csv": "the table", "model.json": "the model", "certificate.json": "the proof"}
    there = [what for file, what in parts.items() if file in written]
    named = " and ".join([", ".join(there[:-1]), there[-1]] if len(there) > 1 else there)
    if arguments.out is not None:
        return f"Look at {arguments.out / 'report.html'}; {named} {'is' if len(there) == 1 else 'are'} beside it."
    if arguments.report is not None:
        return f"Look at {arguments.report}; --out FOLDER keeps {named} as well."
    return "Nothing was written: --out FOLDER keeps a report to look at, the table and what goes with it."
