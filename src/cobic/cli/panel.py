"""Choose a given number of features that separate the classes by the widest margin, and prove how good they are.

example: cobic panel leukaemia.csv --labels class --size 4 --out panel
"""

import argparse
import json
from typing import Any

from cobic.analyses.panel import Panel, panel
from cobic.answer.tables import finite
from cobic.answer.words import fold_change
from cobic.cli import common
from cobic.cli.main import EXIT_INTERRUPTED
from cobic.errors import InputError

_FILES = ("panel.csv", "model.json", "certificate.json", "panel.json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common.add_table_arguments(parser)
    add = parser.add_argument_group("the panel").add_argument
    add("--size", default="20", metavar="N", help="features in all, or of each class as A=5,B=5 (default: 20)")
    tail = "share of the samples whose margins count, the worst first: 0 for the worst alone, 1 for all (default: 0.3)"
    add("--tail", type=float, default=0.3, metavar="SHARE", help=tail)
    add("--weights", choices=("equal", "balanced"), default="equal", help="balanced: all classes count the same")
    add("--beta", type=float, default=1.0, help="how often the mean of another class counts (default: 1)")
    add("--ties", choices=("first", "exclude"), default="first", help="features with tied class means")
    add("--fixed-in", action="append", metavar="NAME", help="feature that must be in the panel (repeatable)")
    add("--fixed-out", action="append", metavar="NAME", help="feature that must not be (repeatable)")
    add("--time-limit", type=float, default=60.0, metavar="SECONDS", help="default: 60; 0 for none")
    add("--gap", type=common.share, default=0.0, metavar="SHARE", help="end when no panel can be better by more")
    add("--seed", type=int, default=0, help="default: 0")
    common.add_transform_arguments(parser)
    common.add_answer_arguments(parser, ", ".join(_FILES))


def run(arguments: argparse.Namespace) -> int:
    """Read, choose, tell, write."""
    asked, size = common.reading(arguments), _size(arguments.size)
    data = common.read_data(asked, transformed=arguments.transform is not None)
    names = ("ties", "fixed_in", "fixed_out", *common.TRANSFORM_ARGUMENTS)
    rules = {name: getattr(arguments, name) for name in names}
    problem = data.problem(beta=arguments.beta, **rules)
    with common.output_folder(arguments.out, overwrite=arguments.force):
        if not arguments.json:
            print(common.read_line(data, problem))
        with common.live_progress("choosing") as on_progress:
            found = panel(
                problem,
                size=size,
                tail=arguments.tail,
                weights=arguments.weights,
                time_limit=arguments.time_limit or None,
                target_gap=arguments.gap,
                seed=arguments.seed,
                on_progress=on_progress,
            )
        _tell(arguments, found)
        if arguments.out is not None and found.support.any():
            texts = (
                found.table.to_csv(index=False, lineterminator="\n"),
                found.model.to_json(),
                json.dumps(found.certificate, allow_nan=False) + "\n",
                json.dumps(_document(found), indent=2, allow_nan=False) + "\n",
            )
            common.write_files(arguments, dict(zip(_FILES, texts, strict=True)), _FILES)
    return EXIT_INTERRUPTED if found.stopped_by == "interrupt" else 0


def _size(text: str) -> int | dict[str, int]:
    """A number, or one for each class."""
    try:
        if "=" not in text:
            return int(text)
        return {name: int(count) for name, _, count in (part.rpartition("=") for part in text.split(","))}
    except ValueError:
        message = f"--size {text!r}: write a whole number, or one for each class as A=5,B=5"
        raise InputError(message) from None


def _tell(arguments: argparse.Namespace, found: Panel) -> None:
    if arguments.json:
        common.print_json(_document(found))
        return
    if not found.support.any():
        print("No panel was found in that time: raise --time-limit.")
        return
    common.print_table(found.table)
    base = found.problem.problem
    tail_margin = f"{found.tail_margin:.4g}{fold_change(base, found.tail_margin)}"
    share = f"Mean of the worst {100 * found.problem.tail:g} % of margins {tail_margin}, worst margin"
    wrong = int((base.margins(found.support) <= 0).sum())
    read_back = f"{wrong} training sample(s) are not read back" if wrong else "every training sample is read back"
    worst = f"{found.worst_margin:.4g}{fold_change(base, found.worst_margin)}"
    print(f"{share if found.problem.tail else 'Worst margin'} {worst}: {read_back}.")
    better = f"no other panel of that size is better by more than {100 * found.gap:.2g} %"
    print(
        "Proven optimal: no other panel of that size is better." if found.status == "optimal" else f"Proven: {better}."
    )


def _document(found: Panel) -> dict[str, Any]:
    return {
        "features": list(found.features),
        "counts": list(found.counts),
        "tail_margin": finite(found.tail_margin),
        "worst_margin": finite(found.worst_margin),
        "bound": found.bound,
        "gap": finite(found.gap),
        "status": str(found.status),
        "seconds": round(found.seconds, 4),
        "n_features": found.problem.problem.n_features,
        "n_samples": found.problem.problem.n_samples,
        "classes": list(found.classes),
    }
