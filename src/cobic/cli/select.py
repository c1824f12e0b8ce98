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
from cobic.methods import DEFAULT_METHOD, METHODS, solve
from cobic.problem import Problem
from cobic.problem.dataset import Dataset
from cobic.report.page import render
from cobic.report.story import Story
from cobic.search.budget import Stopwatch
from cobic.search.cluster import cluster
from cobic.search.result import Result, Status


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common.add_table_arguments(parser)
    common.add_margin_arguments(parser, in_words=True)
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
    problem, words, known = _problem(arguments, data, options)
    watch.lap("read")
    with common.output_folder(arguments.out, overwrite=arguments.force):
        if arguments.report is not None:
            common.require_place(arguments.report, overwrite=arguments.force)
        if not arguments.json:
            print(common.read_line(data, problem))
            print(end=words)
        with cluster(arguments.cluster), common.live_progress("selecting", options["time_limit"]) as on_progress:
            result = solve(problem, on_progress=on_progress, **options, **known)
        watch.lap("solve")
        with common.finishing():
            story = Story(problem, result, data.source, options, watch.seconds)
            if arguments.json:
                common.print_json(summary_document(problem, result))
            else:  # before anything is written, so that a full disk cannot lose it
                print(common.describe(problem, result), flush=True)
            written = _write(arguments, story, watch)
    if not arguments.json:
        print(end=_what_to_try(arguments, problem, result))
        print(_where(arguments, written))
    return common.exit_code(result)


def _problem(
    arguments: argparse.Namespace, data: Dataset, options: dict[str, Any]
) -> tuple[Problem, str, dict[str, Any]]:
    """The problem; where its margin is asked for in words, how it was come by, in time that counts, and the start."""
    rules = common.rules(arguments, data)
    if not isinstance(arguments.alpha, str):
        return data.problem(arguments.alpha, arguments.beta, **rules), "", {}
    from cobic.analyses.margin import TimeLeft, choose_alpha, is_in_words  # scikit-learn, which nothing else here needs

    is_in_words(arguments.alpha)
    problem, time_left = data.problem(0.0, arguments.beta, **rules), TimeLeft(options["time_limit"])
    with common.live_progress("looking for the margin"):
        chosen = choose_alpha(problem, arguments.alpha, time_left, options["seed"])
    options["time_limit"] = time_left.seconds
    known = {"start": list(chosen.known)} if arguments.method == DEFAULT_METHOD else {}
    return problem.with_margins(chosen.alpha, problem.beta), f"{chosen.words}.\n", known


def _what_to_try(arguments: argparse.Namespace, problem: Problem, result: Result) -> str:
    """What to do where there is nothing; empty where there is something, or it was stopped by hand."""
    found = result.status not in (Status.INFEASIBLE, Status.UNKNOWN)
    if found or result.stopped_by == "interrupt" or not problem.feature_class_sizes.all():
        return ""
    from cobic.analyses.margin import feasible_words

    smaller = feasible_words(problem)
    option = smaller.split(" is ")[0].replace("alpha = ", "--alpha ").replace("beta = ", "--beta ")
    cures = [(option, smaller)] if smaller else []
    if not problem.soft:
        cures.append(("--slack-penalty auto", "soft margins: names the samples that do not fit"))
    if result.status == Status.UNKNOWN and not METHODS[arguments.method].proves:
        cures.append((f"--method {DEFAULT_METHOD}", "which says what is proven"))
    elif result.stopped_by == "time limit":
        cures.append((f"--time-limit {4 * arguments.time_limit:g}", "more time"))
    cures.append((common.about_the_same(arguments, "panel", "--size", "20"), "a panel, which always exists"))
    return "".join(f"{line}\n" for line in ["Try one of these:", *(f"  {cure}   # {what}" for cure, what in cures)])


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
