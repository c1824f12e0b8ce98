"""Class labels: numbers, strings or booleans, one per sample, made into indices."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cobic.errors import InputError
from cobic.matrix import Integers


def encode_labels(y: ArrayLike, shape: tuple[int, int]) -> tuple[NDArray[Any], Integers]:
    """Sort the classes and number the samples by them.

    Examples
    --------
    >>> encode_labels(["b", "a", "b"], (3, 5))[1]
    array([1, 0, 1])
    """
    given = np.asarray(y)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given.ravel()
    _require_one_per_sample(given, shape)
    _require_no_missing(given)
    _require_classes_not_measurements(given)
    if given.dtype.kind == "O":
        given = _plain(given)
    classes, labels = np.unique(given, return_inverse=True)
    if classes.size < 2:
        message = f"all {given.size} samples have the class {classes[0]!s}: at least two classes are needed"
        raise InputError(message)
    return classes, labels.astype(np.intp)


def _require_one_per_sample(given: NDArray[Any], shape: tuple[int, int]) -> None:
    if given.ndim != 1:
        message = f"y has shape {given.shape}: give one class label per sample"
        raise InputError(message)
    if given.size == shape[0]:
        return
    message = f"X has {shape[0]} samples but y has {given.size} labels"
    if given.size == shape[1]:
        message += ": X looks transposed; samples go in rows, so pass X.T"
    raise InputError(message)


def _require_no_missing(given: NDArray[Any]) -> None:
    if given.dtype.kind == "f":
        missing = np.isnan(given)
    elif given.dtype.kind == "O":
        missing = np.array([_is_missing(label) for label in given])
    elif given.dtype.kind in "US":
        missing = np.char.strip(given) == given.dtype.type()
    else:
        return
    if missing.any():
        message = (
            f"y has no class for {int(missing.sum())} sample(s), the first is sample {int(missing.argmax())}: "
            "label them or leave them out"
        )
        raise InputError(message)


def _is_missing(label: Any) -> bool:
    """Tell None, empty text, and NaN, NaT and NA, none of which is for certain equal to itself."""
    if label is None or (isinstance(label, str) and not label.strip()):
        return True
    same = label == label
    return not isinstance(same, (bool, np.bool_)) or not same


def _require_classes_not_measurements(given: NDArray[Any]) -> None:
    if given.dtype.kind == "c":
        message = "y holds complex numbers, which are not class labels"
        raise InputError(message)
    if given.dtype.kind != "f":
        return
    odd = np.flatnonzero(given != np.round(given))
    if odd.size:
        message = (
            f"y[{odd[0]}] is {given[odd[0]]:g}: labels that are not whole numbers look like measurements; "
            "if they are classes, pass them as strings"
        )
        raise InputError(message)


def _plain(given: NDArray[Any]) -> NDArray[Any]:
    """Labels of one kind in an array of that kind, so that they can be sorted."""
    kinds = {_kind(each) for each in given}
    if len(kinds) > 1:
        message = f"y mixes labels of different kinds ({', '.join(sorted(kinds))}): make them all strings"
        raise InputError(message)
    plain = np.array(given.tolist())
    if plain.dtype.kind == "O" or plain.ndim != 1:
        message = f"y holds labels of type {type(given[0]).__name__}: use numbers, strings or booleans"
        raise InputError(message)
    _require_classes_not_measurements(plain)
    return plain


def _kind(label: Any) -> str:
    if isinstance(label, str):
        return "text"
    return "truth values" if isinstance(label, (bool, np.bool_)) else "numbers"
