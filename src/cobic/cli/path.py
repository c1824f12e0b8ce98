"""Select over a grid of margins, cross-validate, and rank features by the margin they survive.

example: cobic path leukaemia.csv --labels class --top 50 --out curve
"""

import argparse
import sys
from typing import Any

import numpy as np

from cobic.analyses.path import Path as Curve
from cobic.analyses.path import path
from cobic.answer.curve import PATH_FILES, path_document, path_files
from cobic.answer.curve import Curve as CurveFiles
from cobic.answer.folder import ANSWER_FILES, answer_files
from cobic.cli import common
from cobic.cli.main import EXIT_INTERRUPTED
from cobic.report.page import render
from cobic.report.story import Story

_FILES = (*PATH_FILES, *ANSWER_FILES)
_WIDE = 0.1  # of the features kept: a bound further above leaves open what is possible
_SHORT = 1e-3  # of a margin: by less the last of a grid may be rounded down
_SHOWN = ["n_selected", "upper_bound", "status", "worst_margin", "cv_error", "cv_se"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common.add_table_arguments(parser)
    margins = parser.add_argument_group("the margins")
    margins.add_argument("--alphas", metavar="LIST", help="additive margins, as 0,10,20; auto by default")
    margins.add_argument("--betas", metavar="LIST", help="multiplicative margins instead, as 1,1.1,1.5, or auto")
    margins.add_argument("--n-margins", type=int, default=12, metavar="N", help="how many with auto (default: 12)")
    margins.add_argument("--alpha", type=float, default=0.0, help="with --betas: the additive margin (default: 0)")
    margins.add_argument("--beta", type=float, default=1.0, help="with --alphas: the multiplicative one (default: 1)")
    margins.add_argument("--cv", type=int, default=5, metavar="FOLDS", help="default: 5; 0 for no cross-validation")
    common.add_rule_arguments(parser)
    common.add_method_arguments(
        parser, time_limit=10.0, of="of each fit: one a margin, for all samples and in each fold; "
    )
    common.add_parallel_arguments(parser, "folds")
    output = common.add_answer_arguments(
        parser, "path.csv, ranking.csv, path.json, path.svg; of the chosen margin what select writes"
    )
    output.add_argument(
        "--top", type=int, metavar="N", help="list the N features that survive the largest margins (see also panel)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Read, trace, write, tell."""
    if arguments.top is not None and arguments.top > 0:
        best = common.about_the_same(arguments, "panel", "--size", str(arguments.top))
        print(f"cobic: which {arguments.top} features are best together is another question: {best}", file=sys.stderr)
    margins = {"alphas": _margins("--alphas", arguments.alphas), "betas": _margins("--betas", arguments.betas)}
    more = {"n_margins": arguments.n_margins, "cv": arguments.cv or None, **margins}
    with common.repeated(arguments, path, "tracing", **more) as (curve, steps), common.finishing():
        _tell(arguments, curve)
        if arguments.out is not None:
            common.write_files(arguments, {**path_files(curve), **_chosen_files(curve, str(arguments.data))}, _FILES)
        if curve.stopped_by is None:
            steps.discard()
    return EXIT_INTERRUPTED if curve.stopped_by == "interrupt" else 0


def _chosen_files(curve: Curve, source: str) -> dict[str, str]:
    """The answer at the chosen margin, as `cobic select --out` would write it, with the curve on its page."""
    if curve.chosen is None:
        return {}
    story = Story(curve.chosen_problem, curve.chosen_result, source, curve=CurveFiles.of(curve))
    return {**answer_files(story), "report.html": render(story)}


def _margins(option: str, text: str | None) -> Any:
    return text if text in (None, "auto") else common.numbers(option, str(text), "0,10,20, or auto")


def _tell(arguments: argparse.Namespace, curve: Curve) -> None:
    if arguments.json:
        common.print_json(path_document(curve, arguments.top))
        return
    shown = curve.table[[curve.kind, *(name for name in _SHOWN if name in curve.table)]]
    shown = shown.assign(**{curve.kind: [f"{value:.6g}" for value in shown[curve.kind]]})  # to be asked for again
    common.print_table(shown)
    if curve.largest is not None:
        print(
            f"Largest {curve.kind} of any selection: {curve.largest.found:.4g} found, "
            f"{curve.largest.bound:.4g} at most."
        )
        if curve.stopped_by is None:
            _tell_of_the_end(curve)
    common.tell_cut_short(curve.cut_short, "fits")
    print(f"{'Choose' if curve.chosen is not None else 'No choice'}: {curve.reason}.")
    _tell_of_panels(arguments, curve)
    if arguments.top is not None:
        common.print_table(curve.top(arguments.top))
        _tell_of_ties(curve, arguments.top)


def _tell_of_the_end(curve: Curve) -> None:
    """Where the grid ends short of what is known to be possible."""
    last = float(curve.table[curve.kind].iloc[-1])
    if curve.largest is not None and curve.largest.found > (1 + _SHORT) * last:
        print(f"The curve ends at {last:.6g}, short of that: fits of larger margins found nothing in their time.")


def _tell_of_ties(curve: Curve, count: int) -> None:
    """Features that survive equally long and differ in their effects alone."""
    survives = curve.survival.margin[np.argsort(curve.survival.ranking)]
    last = survives[min(count, survives.size) - 1]
    tied = int((survives == last).sum())
    if count < survives.size and survives[count] == last:
        print(
            f"{tied} features survive {curve.kind} = {last:.6g} alike: of these, those are listed whose means differ "
            "most, in standard deviations."
        )


def _tell_of_panels(arguments: argparse.Namespace, curve: Curve) -> None:
    """Where the numbers are far apart at large margins, the other question has the closer answer."""
    table = curve.table
    wide = table[(table[curve.kind] > table[curve.kind].min()) & (table["gap"] > _WIDE * table["n_selected"])]
    if not wide.empty:
        row = wide.iloc[-1]
        print(
            f"At {curve.kind} {row[curve.kind]:.4g} the gap is wide: {row['n_selected']} of at most "
            f"{row['upper_bound']} features. How wide a margin a given number of features reaches, and what is proven "
            "about it, says the frontier:"
        )
        print(f"  {common.about_the_same(arguments, 'frontier')}")
