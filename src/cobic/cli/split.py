"""Part a table into samples to select from and samples to try the selection on: train.csv and test.csv.

example: cobic split leukaemia.csv --labels class --test 0.3 --out parts
"""

import argparse
from pathlib import Path

import numpy as np

from cobic.analyses.stability import stratified_rows
from cobic.checks import require, require_whole
from cobic.cli import common
from cobic.io.files import table_text, write_folder
from cobic.matrix import Integers, as_matrix
from cobic.problem.dataset import Dataset


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common.add_table_arguments(parser)
    add = parser.add_argument_group("the parts").add_argument
    add("--test", type=common.share, default=0.3, metavar="SHARE", help="of each class, held out (default: 0.3)")
    add("--seed", type=int, default=0, help="default: 0")
    output = parser.add_argument_group("the answer")
    output.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="write train.csv and test.csv there")
    output.add_argument("--force", action="store_true", help="overwrite files in the folder")


def run(arguments: argparse.Namespace) -> None:
    """Read, draw, write, tell."""
    require_whole("seed", arguments.seed, 0)
    data = common.read_data(common.reading(arguments))
    with common.output_folder(arguments.out, overwrite=arguments.force):
        parts = _parts(data, arguments.test, arguments.seed)
        write_folder(arguments.out, {f"{name}.csv": table_text(part) for name, part in parts.items()})
    for name, part in parts.items():
        sizes = ", ".join(f"{cls}: {size}" for cls, size in part.class_sizes.items())
        print(f"{arguments.out / name}.csv: {part.X.shape[0]} samples ({sizes})")
    print("The classes are in the column class. Select from train.csv alone; test.csv then says how it does on others.")


def _parts(data: Dataset, share: float, seed: int) -> dict[str, Dataset]:
    """The two parts, class by class; of each class at least two samples are kept to learn from, or the only one."""
    labels = np.unique(np.asarray(data.y), return_inverse=True)[1]
    train = stratified_rows(labels, 1.0 - share, np.random.default_rng(seed))
    test = np.setdiff1d(np.arange(labels.size), train)
    require(test.size, f"--test {share:g} holds no sample of any class out: raise it, or give more samples of a class")
    return {name: _part(data, rows) for name, rows in (("train", train), ("test", test))}


def _part(data: Dataset, rows: Integers) -> Dataset:
    """Some of the samples, as a table holds them."""
    names = tuple(data.sample_names[row] for row in rows)
    return Dataset(as_matrix(data.X).rows(rows), np.asarray(data.y)[rows], data.feature_names, names, data.source)
