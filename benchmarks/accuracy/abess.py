"""Best subset selection by abess, in a Python of its own: ``COBIC_ABESS=/…/bin/python``.

Logistic regression with exactly so many features; with more than two classes multinomial. Its tuned size is that of
its own cross-validation among 1 to 20 features.
"""

import atexit
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.data import Fold
from benchmarks.accuracy.protocol import CHOSEN, Answer, Size

PYTHON = "COBIC_ABESS"

_SCRIPT = """
import json, sys
import numpy as np
from abess import LogisticRegression, MultinomialRegression
for line in sys.stdin:
    asked = json.loads(line)
    data = np.load(asked["file"])
    varies = np.flatnonzero(np.ptp(data["X"], axis=0))  # it refuses features that are constant
    X, y, new, k = data["X"][:, varies], data["y"], data["new"][:, varies], int(data["y"].max()) + 1
    found = {}
    for size in asked["sizes"]:
        upto = {"support_size": range(1, min(21, varies.size)), "cv": 3}
        tuned = upto if size == "chosen" else {"support_size": size}
        model = LogisticRegression(**tuned) if k == 2 else MultinomialRegression(**tuned)
        model.fit(X, y if k == 2 else np.eye(k)[y])
        coefficients = model.coef_.reshape(X.shape[1], -1)
        scores = new @ coefficients + model.intercept_
        predicted = (scores[:, 0] > 0).astype(int) if k == 2 else scores.argmax(axis=1)
        found[size] = [predicted.tolist(), varies[(coefficients != 0).any(axis=1)].tolist()]
    print(json.dumps(list(found.items())), flush=True)
"""


@lru_cache(maxsize=1)
def at_hand() -> bool:
    """Whether there is a Python that has abess."""
    python = os.environ.get(PYTHON)
    return bool(python) and subprocess.run([python, "-c", "import abess"], capture_output=True).returncode == 0


@lru_cache(maxsize=1)
def _worker() -> Any:
    """The process that is asked; it ends with this one."""
    command = [os.environ[PYTHON], "-c", _SCRIPT]
    worker = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    atexit.register(worker.kill)
    return worker


def answers(fold: Fold, sizes: Sequence[Size]) -> dict[Size, Answer]:
    """Best subsets of the sizes asked for."""
    classes, y = np.unique(fold.y, return_inverse=True)
    possible = [size for size in sizes if size == CHOSEN or int(size) < fold.X.shape[1]]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "fold.npz"
        np.savez(file, X=fold.X, y=y, new=fold.new)
        worker = _worker()
        worker.stdin.write(json.dumps({"file": str(file), "sizes": possible}) + "\n")
        worker.stdin.flush()
        line = worker.stdout.readline()
    if not line:
        _worker.cache_clear()  # it died of this fold: no answer, and a new one for the next
        return {}
    return {size: (classes[np.array(said)], np.array(kept)) for size, (said, kept) in json.loads(line)}
