"""Write the exact mixed-integer program, or the inner linear program of Mucherino & Cafieri (2010).

example: cobic export leukaemia.csv --labels class --model linearised --format lp --out model.lp
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from cobic.cli import common
from cobic.io import write_text
from cobic.methods.export import export_model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common.add_table_arguments(parser)
    common.add_margin_arguments(parser)
    common.add_rule_arguments(parser)
    add = parser.add_argument_group("the model").add_argument
    add("--model", choices=("linearised", "inner"), default="linearised", help="default: linearised")
    add("--format", choices=("lp", "mps"), help="default: as the name of the file says, else lp")
    add("--shares", metavar="LIST", help="inner: a share per class in sorted order, as 0.54,0.46")
    at_least = "linearised: leave out selections with fewer features; by default what the LP fixed point finds"
    add("--at-least", type=int, metavar="N", help=at_least)
    add("--out", type=Path, metavar="FILE", help="where to write; standard output by default")
    add("--force", action="store_true", help="overwrite the file")


def run(arguments: argparse.Namespace) -> None:
    """Read, build, write."""
    asked = common.reading(arguments)
    shares = None if arguments.shares is None else common.numbers("--shares", arguments.shares, "0.54,0.46")
    out = arguments.out
    if out is not None:
        common.require_place(out, overwrite=arguments.force)
    data = common.read_data(asked, transformed=arguments.transform is not None)
    problem = data.problem(arguments.alpha, arguments.beta, **common.rules(arguments, data))
    file_format: Any = arguments.format or ("mps" if out is not None and out.suffix.lower() == ".mps" else "lp")
    text = export_model(problem, arguments.model, file_format, shares=shares, at_least=arguments.at_least)
    if out is None:
        sys.stdout.write(text)
    else:
        write_text(out, text)
        print(f"Written to {out}: {len(text):,} characters.")
