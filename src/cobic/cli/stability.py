"""Select again and again from a part of the samples, and tell how far the selections agree.

example: cobic stability leukaemia.csv --labels class --repeats 10 --out agreement
"""

import argparse
import json
from typing import Any

from cobic.analyses.stability import Stability, stability
from cobic.cli import common

_FILES = ("stability.csv", "stability.json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common.add_table_arguments(parser)
    common.add_margin_arguments(parser)
    common.add_rule_arguments(parser)
    draws = parser.add_argument_group("the subsamples")
    draws.add_argument("--repeats", type=int, default=50, metavar="N", help="how many (default: 50)")
    draws.add_argument("--subsample", type=float, default=0.8, metavar="PART", help="part of each class (default: 0.8)")
    draws.add_argument("--confidence", type=float, default=0.95, help="level of the interval (default: 0.95)")
    common.add_method_arguments(parser, time_limit=10.0, of="of each run; ")
    common.add_parallel_arguments(parser, "subsamples")
    output = common.add_answer_arguments(parser, " and ".join(_FILES))
    output.add_argument("--top", type=int, metavar="N", help="list the N features that are selected most often")


def run(arguments: argparse.Namespace) -> None:
    """Read, repeat, tell, write."""
    drawn = {name: getattr(arguments, name) for name in ("subsample", "confidence")}
    repeated = common.repeated(arguments, stability, "subsampling", n_repeats=arguments.repeats, **drawn)
    with repeated as (found, steps), common.finishing():
        _tell(arguments, found)
        if arguments.out is not None:
            document = json.dumps(_document(found, None), indent=2, allow_nan=False) + "\n"
            texts = (found.table.to_csv(index=False, lineterminator="\n"), document)
            common.write_files(arguments, dict(zip(_FILES, texts, strict=True)), _FILES)
        steps.discard()


def _tell(arguments: argparse.Namespace, found: Stability) -> None:
    if arguments.json:
        common.print_json(_document(found, arguments.top))
        return
    low, high = found.interval
    always, never = int((found.frequency == 1).sum()), int((found.frequency == 0).sum())
    print(f"Stability {found.index:.3f}, {100 * found.confidence:g} % interval {low:.3f} to {high:.3f} (1: all agree).")
    print(
        f"{found.n_repeats} subsamples, {found.n_failed} without a selection; {min(found.n_selected)} to "
        f"{max(found.n_selected)} of {found.frequency.size} features selected: {always} always, {never} never."
    )
    common.tell_cut_short(found.n_cut_short, "selections")
    if arguments.top is not None:
        common.print_table(found.table.head(arguments.top))


def _document(found: Stability, top: int | None) -> dict[str, Any]:
    document = {
        "index": found.index,
        "interval": list(found.interval),
        "confidence": found.confidence,
        "n_repeats": found.n_repeats,
        "n_failed": found.n_failed,
        "n_cut_short": found.n_cut_short,
        "n_features": found.frequency.size,
        "n_selected": list(found.n_selected),
    }
    if top is not None:
        document["top"] = json.loads(found.table.head(top).to_json(orient="records", double_precision=15))
    return document
