"""Class labels: numbers, strings or booleans, one per sample, made into indices."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from cobic.errors import InputError
from cobic.matrix import Integers


def encode_labels(y: ArrayLike, shape: tuple[int, int]) -> tuple[NDArray[Any], Integers]:
    """Sort the classes and number the samples by them."""
    given = np.asarray(y)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given.ravel()
    if given.ndim != 1:
        message = f"y has shape {given.shape}: give one class label per sample"
        raise InputError(message)
    if given.size != shape[0]:
        message = f"X has {shape[0]} samples but y has {given.size} labels"
        if given.size == shape[1]:
            message += ": X looks transposed; samples go in rows, so pass X.T"
        raise InputError(message)
    require_no_missing(given)
    if given.dtype.kind == "O":
        given = _plain(given)
    _require_classes_not_measurements(given)
    classes, labels = np.unique(given, return_inverse=True)
    if classes.size < 2:
        message = f"all {given.size} samples have the class {classes[0]!s}: at least two classes are needed"
        raise InputError(message)
    return classes, labels.astype(np.intp)


def require_no_missing(given: NDArray[Any]) -> None:
    """Raise `InputError` for samples without a class."""
    missing = pd.isna(given)
    if given.dtype.kind in "OSU":
        missing |= [isinstance(label, (str, bytes)) and not label.strip() for label in given]
    if missing.any():
        message = (
            f"y has no class for {int(missing.sum())} sample(s), the first is sample {int(missing.argmax())}: "
            "label them or leave them out"
        )
        raise InputError(message)


def _require_classes_not_measurements(given: NDArray[Any]) -> None:
    if given.dtype.kind == "c":
        message = "y holds complex numbers, which are not class labels"
        raise InputError(message)
    if given.dtype.kind == "f" and (odd := np.flatnonzero(given != np.round(given))).size:
        message = (
            f"y[{odd[0]}] is {given[odd[0]]:g}: labels that are not whole numbers look like measurements; "
            "if they are classes, pass them as strings"
        )
        raise InputError(message)


def _plain(given: NDArray[Any]) -> NDArray[Any]:
    """Labels of one kind in an array of that kind, so that they can be sorted."""
    kinds = {
        "text" if isinstance(label, str) else "truth values" if isinstance(label, (bool, np.bool_)) else "numbers"
        for label in given
    }
    if len(kinds) > 1:
        message = f"y mixes labels of different kinds ({', '.join(sorted(kinds))}): make them all strings"
        raise InputError(message)
    plain = np.array(given.tolist())
    if plain.dtype.kind == "O" or plain.ndim != 1:
        message = f"y holds labels of type {type(given[0]).__name__}: use numbers, strings or booleans"
        raise InputError(message)
    return plain
