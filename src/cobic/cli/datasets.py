"""`cobic datasets`: the public data sets, listed or written as tables."""

import argparse
from pathlib import Path
from typing import Any

from cobic.cli import common
from cobic.dataset import Dataset
from cobic.datasets import LOADERS
from cobic.errors import InputError
from cobic.io import table_text, write_folder
from cobic.io.files import prepare_folder


def add_parser(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "datasets",
        help="list the public data sets, or write one as a table",
        description="Public data sets are read from the folder COBIC_DATA, or downloaded once and kept.",
        epilog="example: cobic datasets golub --out data && cobic select data/golub.csv --labels class",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help=f"one of {', '.join(LOADERS)}")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write NAME.csv (and NAME-test.csv) there")
    parser.add_argument("--force", action="store_true", help="overwrite files in the folder")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """List, describe or write."""
    if arguments.name is None:
        for name, load in LOADERS.items():
            print(f"{name:<12}{(load.__doc__ or '').splitlines()[0].removeprefix('Load the ')}")
        return common.EXIT_DONE
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
    return common.EXIT_DONE


def _line(name: str, data: Dataset) -> str:
    sizes = ", ".join(f"{cls}: {size}" for cls, size in data.class_sizes.items())
    return f"{name}: {data.X.shape[0]} samples × {data.X.shape[1]} features ({sizes}); {data.source}"
