"""Solve the experiments of Mucherino & Cafieri (2010) and show them beside the published figures.

example: cobic reproduce --rows golub:alpha notterman:beta=2
"""

import argparse
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from cobic.analyses.published import PUBLISHED, ReproducedRow, choose_rows, reproduce
from cobic.cli import common
from cobic.cli.main import EXIT_INTERRUPTED
from cobic.search.cluster import cluster

_TITLES = {"notterman": "Table 1: Notterman (normal, tumour)", "golub": "Table 2: Golub (ALL, AML)"}
_SYMBOLS = {"alpha": "α", "beta": "β"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    rows = f"e.g. golub, golub:beta, {PUBLISHED[5].name} (default: all)"
    parser.add_argument("--rows", nargs="+", default=[], metavar="ROW", help=rows)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    common.add_method_arguments(parser)
    common.add_parallel_arguments(parser, "rows")


def run(arguments: argparse.Namespace) -> int:
    """Solve the rows, then tell."""
    chosen = choose_rows(arguments.rows)
    options = {"n_jobs": arguments.jobs, **common.solve_options(arguments)}
    done: list[ReproducedRow] = []
    interrupted = False
    with cluster(arguments.cluster), common.live_progress("reproducing") as on_progress:
        try:
            for row in reproduce(chosen, on_progress=on_progress, **options):
                done.append(row)
                interrupted = row.result.stopped_by == "interrupt"
                if interrupted:
                    break
        except KeyboardInterrupt:  # while others were at work
            interrupted = True
    if arguments.json:
        common.print_json({"rows": [row.document() for row in done]})
    else:
        _print_tables(done)
    return EXIT_INTERRUPTED if interrupted else 0


def _print_tables(rows: Sequence[ReproducedRow]) -> None:
    width = None if Console().is_terminal else 100
    console = Console(width=width, highlight=False, color_system=None, force_terminal=False)
    for dataset, title in _TITLES.items():
        part = [row for row in rows if row.published.dataset == dataset]
        if part:
            console.print(_table(title, part))
    seconds = sum(row.result.seconds for row in rows)
    print(f"{len(rows)} rows, {seconds:.1f} s; f: features kept, err: errors on new samples.")
    refuted = [row for row in rows if row.refuted]
    if refuted:
        print(f"! {len(refuted)} published value(s) lie above the proven bound: no consistent selection is that large.")


def _table(title: str, rows: Sequence[ReproducedRow]) -> Table:
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left")
    for heading in ("margin", "paper f", "err", "cobic f", "err", "at most", "status", "worst margin", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        published, result = row.published, row.result
        table.add_row(
            f"{_SYMBOLS[published.kind]} {published.value:g}",
            f"{published.features}{' !' if row.refuted else ''}",
            "" if published.errors is None else str(published.errors),
            str(result.n_selected),
            "" if row.errors is None else str(row.errors),
            str(result.upper_bound),
            str(result.status),
            f"{result.worst_margin:.4g}",
            f"{result.seconds:.2f}",
        )
    return table
