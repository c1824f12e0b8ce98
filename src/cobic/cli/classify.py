"""Give each sample the class with the largest mean over its selected features.

example: cobic classify answer/model.json new.csv --labels class --out classes.csv
"""

import argparse
import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cobic.answer.model import Model
from cobic.checks import require
from cobic.cli import common
from cobic.cli.main import printable
from cobic.errors import InputError
from cobic.io import write_text
from cobic.io.labels import some
from cobic.matrix import as_matrix
from cobic.problem.dataset import Dataset

_NUMBERED = re.compile(r"(column|feature)_\d+")  # what a reader calls features that have no names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", help="model.json of `cobic select --out`")
    common.add_table_arguments(parser)
    output = parser.add_argument_group("the answer")
    output.add_argument("--out", type=Path, metavar="FILE", help="write the table there instead of printing it")
    output.add_argument("--force", action="store_true", help="overwrite the file")
    output.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> None:
    """Read model and table, classify, tell."""
    occupied = arguments.out is not None and arguments.out.exists() and not arguments.force
    require(not occupied, f"{arguments.out} exists: choose another name, or overwrite it with --force")
    model = Model.load(arguments.model)
    data = common.read_data(common.reading(arguments, labelled=False), model.feature_names)
    model = _of_what_was_measured(model, data)
    data = _matched(model, data)
    means = model.means(data.X, data.feature_names)
    predicted = np.array([str(model.classes[index]) for index in means.argmax(axis=1)])
    ordered = np.sort(means, axis=1)
    columns: dict[str, Any] = {"sample": data.sample_names, "predicted": predicted}
    if data.y is not None:
        columns["class"] = data.y
    columns["lead"] = ordered[:, -1] - ordered[:, -2]
    columns |= {f"mean {cls}": means[:, index] for index, cls in enumerate(model.classes)}
    _tell_unknown(model, data)
    errors = None if data.y is None else int((predicted != data.y).sum())
    _tell(arguments, pd.DataFrame(columns), errors)


def _of_what_was_measured(model: Model, data: Dataset) -> Model:
    """The model over its selected features alone, where the data have all of them, but not all of the others."""
    if model.feature_names is None or all(_NUMBERED.fullmatch(name) for name in model.feature_names):
        return model  # without names features are told by their places, for which all must be there
    chosen, there = np.flatnonzero(model.support), set(data.feature_names)
    names = tuple(model.feature_names[at] for at in chosen)
    if there.issuperset(model.feature_names) or not there.issuperset(names):
        return model
    times = Counter(model.feature_names)
    if any(times[name] > 1 for name in names):
        return model  # nobody knows which of them was measured
    told = f"{data.source}: it lacks features of the model, but none of the {len(names)} by which it classifies"
    print(printable(told), file=sys.stderr)
    everything = np.ones(chosen.size, dtype=np.bool_)
    return replace(model, support=everything, feature_classes=model.feature_classes[chosen], feature_names=names)


def _matched(model: Model, data: Dataset) -> Dataset:
    """The model's features in its order, found by name where the data have them in another one, or more of them."""
    names = model.feature_names
    if names is None or data.feature_names == names:
        return data
    if all(_NUMBERED.fullmatch(name) for name in names):
        return _matched_by_place(names, data)
    times = Counter(data.feature_names)
    missing = [name for name in names if name not in times]
    if missing:
        message = (
            f"{data.source} lacks {len(missing)} of the model's {len(names)} features, the first is {missing[0]!r}: "
            f"{some(data.feature_names)}; give data with the features that the model was made with"
        )
        if data.X.shape[0] == model.n_features:
            message += "; these data look transposed: try --features-in-rows or --samples-in-rows"
        raise InputError(message)
    if len(set(names)) < len(names) or any(times[name] > 1 for name in names):
        return data  # names that repeat tell nothing: the order must be that of the model
    at = {name: index for index, name in enumerate(data.feature_names)}
    pick = [at[name] for name in names]
    more = len(data.feature_names) - len(names)
    left = f"; {more} that the model does not have are left out" if more else ""
    print(
        printable(f"{data.source}: features matched by name, as their order is not the model's{left}"), file=sys.stderr
    )
    X = as_matrix(data.X).selected(np.array(pick))
    return replace(data, X=X, feature_names=names, feature_descriptions=None, feature_kinds=None, test=None)


def _matched_by_place(names: tuple[str, ...], data: Dataset) -> Dataset:
    """The same features by their places, where the model's have no names; that is told."""
    message = (
        f"{data.source} has {len(data.feature_names)} features and the model {len(names)}, which have numbers for "
        "names: they can only be told by their places; give the same columns in the same order"
    )
    require(len(data.feature_names) == len(names), message)
    told = f"{data.feature_names[0]!r} is taken for the model's {names[0]!r}, and so on"
    print(f"{data.source}: features matched by their places, as the model's have no names: {told}", file=sys.stderr)
    return replace(data, feature_names=names)


def _tell_unknown(model: Model, data: Dataset) -> None:
    known = {str(cls) for cls in model.classes}
    unknown = {cls: size for cls, size in data.class_sizes.items() if cls not in known}
    if unknown:
        told = ", ".join(f"{cls!r} of {size} samples" for cls, size in unknown.items())
        unknown_line = f"{data.source}: the model does not know {told}; it knows {', '.join(sorted(known))}"
        print(printable(unknown_line), file=sys.stderr)


def _tell(arguments: argparse.Namespace, table: pd.DataFrame, errors: int | None) -> None:
    text = table.to_csv(index=False, lineterminator="\n")
    if arguments.json:
        rows = table.to_dict(orient="records")
        common.print_json({"n_samples": len(table), "errors": errors, "samples": rows})
    elif arguments.out is None:
        print(text, end="")
    if arguments.out is not None:
        write_text(arguments.out, text)
    if errors is not None and not arguments.json:
        verdict = f"{errors} of {len(table)} samples are not given their class"
        print(verdict if arguments.out is not None else f"# {verdict}")
