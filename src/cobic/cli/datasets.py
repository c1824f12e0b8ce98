"""`cobic datasets`: the public data sets, listed or written as tables, and synthetic ones of any size."""

import argparse
from pathlib import Path
from typing import Any

from cobic.cli import common
from cobic.cli.codes import EXIT_DONE
from cobic.datasets import LOADERS, write_expression
from cobic.errors import InputError
from cobic.io import table_text, write_folder
from cobic.io.files import prepare_folder
from cobic.problem.dataset import Dataset


def add_parser(commands: Any, summary: str) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "datasets",
        help=summary,
        description="Public data sets are read from the folder COBIC_DATA, or downloaded once and kept. "
        "Synthetic ones are written in parts, and may be larger than the memory.",
        epilog="example: cobic datasets golub --out data && cobic select data/golub.csv --labels class",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help=f"one of {', '.join(LOADERS)}")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write NAME.csv (and NAME-test.csv) there")
    parser.add_argument("--force", action="store_true", help="overwrite files in the folder, or FILE")
    made = parser.add_argument_group("a synthetic data set")
    made.add_argument("--make", type=Path, metavar="FILE", help="write one to FILE, .h5ad or .zarr")
    made.add_argument("--features", type=int, default=100_000, metavar="N", help="default: 100000")
    made.add_argument("--samples", type=int, default=200, metavar="N", help="default: 200")
    made.add_argument("--classes", type=int, default=2, metavar="N", help="default: 2")
    made.add_argument("--density", type=float, default=1.0, help="1 for dense, at most 0.5 for sparse (default: 1)")
    made.add_argument("--mislabelled", type=float, default=0.0, metavar="SHARE", help="of the samples (default: 0)")
    made.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """List, describe, write or make."""
    if arguments.make is not None:
        return _make(arguments)
    if arguments.name is None:
        for name, load in LOADERS.items():
            print(f"{name:<12}{(load.__doc__ or '').splitlines()[0].removeprefix('Load the ')}")
        return EXIT_DONE
    if arguments.name not in LOADERS:
        message = f"there is no data set {arguments.name!r}: choose one of {', '.join(LOADERS)}"
        raise InputError(message)
    data = LOADERS[arguments.name]()
    print(_line(arguments.name, data))
    files = {f"{arguments.name}.csv": table_text(data)} if arguments.out is not None else {}
    if data.test is not None:
        print(_line(f"{arguments.name}-test", data.test))
        files |= {f"{arguments.name}-test.csv": table_text(data.test)} if arguments.out is not None else {}
    if arguments.out is not None:
        prepare_folder(arguments.out, overwrite=arguments.force)
        write_folder(arguments.out, files)
        print(f"Written to {arguments.out}: {', '.join(files)}.")
    return EXIT_DONE


def _make(arguments: argparse.Namespace) -> int:
    if arguments.name is not None or arguments.out is not None:
        message = "--make writes a synthetic data set to its FILE: leave NAME and --out out"
        raise InputError(message)
    common.require_place(arguments.make, overwrite=arguments.force, folders=True)
    write_expression(
        arguments.make,
        arguments.features,
        n_samples=arguments.samples,
        n_classes=arguments.classes,
        density=arguments.density,
        mislabelled=arguments.mislabelled,
        seed=arguments.seed,
        overwrite=arguments.force,
    )
    shape = f"{arguments.samples} samples × {arguments.features} features"
    print(f"Written to {arguments.make}: {shape} in {arguments.classes} classes; they are in the column class.")
    return EXIT_DONE


def _line(name: str, data: Dataset) -> str:
    sizes = ", ".join(f"{cls}: {size}" for cls, size in data.class_sizes.items())
    return f"{name}: {data.X.shape[0]} samples × {data.X.shape[1]} features ({sizes}); {data.source}"
