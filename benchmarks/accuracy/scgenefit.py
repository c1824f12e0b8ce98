"""Markers by scGeneFit, in a Python of its own: ``COBIC_SCGENEFIT=/…/bin/python``.

Its linear program chooses so many features that keep the centres of the classes apart (its default method and
parameters). It is no classifier. Its package asks for a name that no longer installs (``sklearn``), and runs without:
``pip install numpy scipy scikit-learn matplotlib`` and ``pip install --no-deps scGeneFit``.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.data import Fold, f_statistics
from benchmarks.accuracy.elsewhere import Elsewhere
from benchmarks.accuracy.protocol import Size

_SCRIPT = """
import json, sys
import numpy as np
from scGeneFit.functions import get_markers
for line in sys.stdin:
    asked = json.loads(line)
    data = np.load(asked["file"])
    X, y, found = data["X"], data["y"].tolist(), []
    for size in asked["sizes"]:
        np.random.seed(0)  # with three classes and more it takes some of its constraints at random
        found.append([size, [int(marker) for marker in get_markers(X, y, size, verbose=False)]])
    print(json.dumps(found), flush=True)
"""

SCGENEFIT = Elsewhere("COBIC_SCGENEFIT", "scGeneFit", _SCRIPT)


FILTERED = 1000  # features with the best F test are looked at, as for pairs: all of 12,600 would take 10 s per size


def markers(fold: Fold, sizes: Sequence[Size]) -> dict[Size, NDArray[Any]]:
    """The features that it chooses, for each size that is possible: fewer than classes take it 30 s, and say little."""
    best = np.argsort(-f_statistics(fold.X, fold.y), kind="stable")[:FILTERED]
    part = replace(fold, X=fold.X[:, best], new=fold.new[:, best])
    found = SCGENEFIT.ask(part, [size for size in sizes if np.unique(fold.y).size <= int(size) < best.size])
    return {size: best[kept] for size, kept in found.items()}
