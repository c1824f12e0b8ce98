import numpy as np
import pandas as pd
import pytest

from cobic.errors import InputError
from cobic.problem.labels import encode_labels


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([2, 1, 2, 10], [1, 2, 10]),
        (["b", "a", "b"], ["a", "b"]),
        ([True, False, True], [False, True]),
        ([1.0, 3.0], [1.0, 3.0]),
        (pd.Series(["x", "y"], index=[7, 3]), ["x", "y"]),
        (pd.Categorical(["x", "y", "x"], categories=["y", "x", "unused"]), ["x", "y"]),
        (np.array([[1], [2]]), [1, 2]),
        (np.array(["p", "q"], dtype=object), ["p", "q"]),
        (np.array([True, False], dtype=object), [False, True]),
        (pd.array(["u", "v"], dtype="string"), ["u", "v"]),
    ],
)
def test_labels_of_every_kind(y, classes):
    found, labels = encode_labels(y, (len(y), 5))
    assert found.tolist() == classes
    assert found[labels].tolist() == np.asarray(y).ravel().tolist()


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (["a", "a", "a"], "all 3 samples have the class a: at least two classes"),
        (["a", "b"], "X has 3 samples but y has 2 labels$"),
        (["a", "b", "a", "b", "a"], "looks transposed"),
        (["a", None, "b"], "no class for 1 sample.*first is sample 1"),
        ([1.0, np.nan, 2.0], "first is sample 1"),
        (["a", "  ", "b"], "first is sample 1"),
        (np.array(["a", np.nan, "b"], dtype=object), "first is sample 1"),
        (pd.Series(["a", pd.NA, "b"], dtype="string"), "first is sample 1"),
        ([0.5, 1.0, 2.0], "look like measurements"),
        (np.array([0.5, 1.0, 2.0], dtype=object), "look like measurements"),
        (np.array(["a", 1, "b"], dtype=object), "different kinds"),
        (np.array([1j, 2j, 1j]), "complex"),
        (np.zeros((3, 2)), r"shape \(3, 2\)"),
    ],
)
def test_unusable_labels_are_refused(y, words):
    with pytest.raises(InputError, match=words):
        encode_labels(y, (3, 5))
