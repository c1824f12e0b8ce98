"""`cobic path`: the curve over a margin, and the features that survive longest."""

import argparse
from typing import Any

from cobic.analyses.path import Path as Curve
from cobic.analyses.path import path
from cobic.answer.curve import PATH_FILES, path_document, path_files
from cobic.answer.steps import Steps
from cobic.checks import require_whole
from cobic.cli import common
from cobic.cli.codes import EXIT_DONE, EXIT_INTERRUPTED
from cobic.errors import InputError
from cobic.io import write_folder
from cobic.problem.dataset import Dataset
from cobic.search.cluster import cluster

_SHOWN = ["n_selected", "upper_bound", "status", "worst_margin", "cv_error", "cv_se"]


def add_parser(commands: Any, summary: str) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "path",
        help=summary,
        description="Select over a grid of margins, cross-validate, and rank features by the margin they survive.",
        epilog="example: cobic path leukaemia.csv --labels class --top 50 --out curve",
    )
    common.add_table_arguments(parser)
    margins = parser.add_argument_group("the margins")
    margins.add_argument("--alphas", metavar="LIST", help="additive margins, as 0,10,20; auto by default")
    margins.add_argument("--betas", metavar="LIST", help="multiplicative margins instead, as 1,1.1,1.5, or auto")
    margins.add_argument("--n-margins", type=int, default=12, metavar="N", help="how many with auto (default: 12)")
    margins.add_argument("--alpha", type=float, default=0.0, help="with --betas: the additive margin (default: 0)")
    margins.add_argument("--beta", type=float, default=1.0, help="with --alphas: the multiplicative one (default: 1)")
    margins.add_argument("--cv", type=int, default=5, metavar="FOLDS", help="default: 5; 0 for no cross-validation")
    common.add_rule_arguments(parser)
    common.add_method_arguments(parser, time_limit=10.0)
    common.add_parallel_arguments(parser, "folds")
    output = common.add_answer_arguments(parser, "path.csv, ranking.csv, path.json and, with matplotlib, path.svg")
    output.add_argument("--top", type=int, metavar="N", help="list the N features that survive the largest margins")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Read, trace, write, tell."""
    common.require_labels(arguments)
    if arguments.top is not None:
        require_whole("--top", arguments.top, 1)
    options = common.solve_options(arguments)
    data = common.read_data(arguments)
    with common.resumable_folder(arguments) as steps:
        curve = _trace(arguments, data, options, steps)
        _tell(arguments, curve)
        if arguments.out is not None:
            files = path_files(curve)
            write_folder(arguments.out, files, instead_of=PATH_FILES)
            if not arguments.json:
                print(f"Written to {arguments.out}: {', '.join(files)}.")
        if curve.stopped_by is None:
            steps.discard()
    return EXIT_INTERRUPTED if curve.stopped_by == "interrupt" else EXIT_DONE


def _trace(arguments: argparse.Namespace, data: Dataset, options: dict[str, Any], steps: Steps) -> Curve:
    with cluster(arguments.cluster), common.live_progress("tracing") as on_progress:
        return path(
            data.X,
            [] if data.y is None else data.y,
            alphas=_numbers("--alphas", arguments.alphas),
            betas=_numbers("--betas", arguments.betas),
            n_margins=arguments.n_margins,
            cv=arguments.cv or None,
            on_progress=on_progress,
            folder=steps,
            **common.repeated(arguments, data, options),
        )


def _numbers(option: str, text: str | None) -> Any:
    if text is None or text == "auto":
        return text
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        message = f"{option} {text!r}: write numbers with commas between them, as 0,10,20, or auto"
        raise InputError(message) from None


def _tell(arguments: argparse.Namespace, curve: Curve) -> None:
    if arguments.json:
        common.print_json(path_document(curve, arguments.top))
        return
    shown = curve.table[[curve.kind, *(name for name in _SHOWN if name in curve.table)]]
    print(shown.to_string(index=False, float_format=lambda value: f"{value:.4g}"))
    if curve.largest is not None:
        print(
            f"Largest {curve.kind} of any selection: {curve.largest.found:.4g} found, "
            f"{curve.largest.bound:.4g} at most."
        )
    print(f"{'Choose' if curve.chosen is not None else 'No choice'}: {curve.reason}.")
    if arguments.top is not None:
        print(curve.top(arguments.top).to_string(index=False, float_format=lambda value: f"{value:.4g}"), flush=True)
