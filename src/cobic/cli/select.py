"""`cobic select`: features out of a table."""

import argparse
import json
from typing import Any

from cobic.cli import common
from cobic.io import write_folder
from cobic.io.files import prepare_folder
from cobic.methods import solve
from cobic.model import Model
from cobic.problem import Problem
from cobic.report import run_document, selection_table, summary_document, violation_table
from cobic.result import Result, Status


def add_parser(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "select",
        help="select features from a table",
        description="Keep as many features as possible such that each sample's class can be read back from them.",
        epilog="example: cobic select leukaemia.csv --labels class --alpha 50 --out answer",
    )
    common.add_table_arguments(parser)
    common.add_margin_arguments(parser)
    common.add_rule_arguments(parser)
    common.add_method_arguments(parser)
    common.add_answer_arguments(parser, "selection.csv, model.json, certificate.json, run.json (and violations.csv)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Read, select, write, tell."""
    common.require_labels(arguments)
    options = common.solve_options(arguments)
    data = common.read_data(arguments)
    problem = data.problem(arguments.alpha, arguments.beta, **common.rules(arguments, data))
    if arguments.out is not None:
        prepare_folder(arguments.out, overwrite=arguments.force)
    if not arguments.json:
        print(common.read_line(data))
    with common.live_progress("selecting") as on_progress:
        result = solve(problem, on_progress=on_progress, **options)
    _tell(arguments, problem, result)
    if arguments.out is not None:
        files = _files(problem, result, data.source, options)
        write_folder(arguments.out, files)
        if not arguments.json:
            print(f"Written to {arguments.out}: {', '.join(files)}.")
    return common.exit_code(result)


def _tell(arguments: argparse.Namespace, problem: Problem, result: Result) -> None:
    """Print the answer before anything is written, so that a full disk cannot lose it."""
    if arguments.json:
        common.print_json(summary_document(problem, result))
    else:
        print(common.describe(problem, result), flush=True)


def _files(problem: Problem, result: Result, source: str, options: dict[str, Any]) -> dict[str, str]:
    files = {"selection.csv": selection_table(problem, result).to_csv(index=False, lineterminator="\n")}
    if result.status in (Status.OPTIMAL, Status.FEASIBLE):
        files["model.json"] = Model.of(problem, result).to_json()
    if result.soft:
        files["violations.csv"] = violation_table(problem, result.support).to_csv(index=False, lineterminator="\n")
    if result.certificate is not None:
        files["certificate.json"] = json.dumps(result.certificate, allow_nan=False) + "\n"
    files["run.json"] = json.dumps(run_document(problem, result, source, options), indent=2, allow_nan=False) + "\n"
    return files
