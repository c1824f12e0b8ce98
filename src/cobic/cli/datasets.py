"""Public data sets are read from the folder COBIC_DATA, or downloaded once and kept.

The one called synthetic is made here. Those of --make are written in parts, and may be larger than the memory.

example: cobic datasets golub --out data && cobic select data/golub.csv --labels class
"""

import argparse
from pathlib import Path

from cobic.checks import require
from cobic.cli import common
from cobic.datasets import LOADERS, make_expression, write_expression
from cobic.io import table_text, write_folder
from cobic.io.files import prepare_folder
from cobic.problem.dataset import Dataset

_SETS = {**LOADERS, "synthetic": make_expression}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", help=f"one of {', '.join(_SETS)}")
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


def run(arguments: argparse.Namespace) -> None:
    """List, describe, write or make."""
    name, folder = arguments.name, arguments.out
    if arguments.make is not None:
        _make(arguments)
    elif name is None:
        for each, load in _SETS.items():
            about = (load.__doc__ or "").splitlines()[0]
            print(f"{each:<12}{about.removeprefix('Load the ').removeprefix('Make ')}")
    else:
        require(name in _SETS, f"there is no data set {name!r}: choose one of {', '.join(_SETS)}")
        data = _SETS[name]()
        parts: dict[str, Dataset] = {name: data} if data.test is None else {name: data, f"{name}-test": data.test}
        for each, part in parts.items():
            print(_line(each, part))
        if folder is not None:
            prepare_folder(folder, overwrite=arguments.force)
            files = {f"{each}.csv": table_text(part) for each, part in parts.items()}
            write_folder(folder, files)
            print(f"Written to {folder}: {', '.join(files)}.")


def _make(arguments: argparse.Namespace) -> None:
    message = "--make writes a synthetic data set to its FILE: leave NAME and --out out"
    require(arguments.name is None and arguments.out is None, message)
    common.require_place(arguments.make, overwrite=arguments.force, folders=arguments.make.suffix == ".zarr")
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


def _line(name: str, data: Dataset) -> str:
    sizes = ", ".join(f"{cls}: {size}" for cls, size in data.class_sizes.items())
    return f"{name}: {data.X.shape[0]} samples × {data.X.shape[1]} features ({sizes}); {data.source}"
