"""Best subset selection by abess, in a Python of its own: ``COBIC_ABESS=/…/bin/python``.

Logistic regression with exactly so many features; with more than two classes multinomial. Its tuned size is that of
its own cross-validation among 1 to 20 features.
"""

from collections.abc import Sequence

import numpy as np

from benchmarks.accuracy.data import Fold
from benchmarks.accuracy.elsewhere import Elsewhere
from benchmarks.accuracy.protocol import CHOSEN, Answer, Size

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

ABESS = Elsewhere("COBIC_ABESS", "abess", _SCRIPT)


def answers(fold: Fold, sizes: Sequence[Size]) -> dict[Size, Answer]:
    """Best subsets of the sizes asked for."""
    possible = [size for size in sizes if size == CHOSEN or int(size) < fold.X.shape[1]]
    classes, found = np.unique(fold.y), ABESS.ask(fold, possible)
    return {size: (classes[np.array(said)], np.array(kept)) for size, (said, kept) in found.items()}
