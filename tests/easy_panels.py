"""Data whose panels are found and proven at once."""

import numpy as np

from cobic import Dataset


def easy(seed, n_features=24):
    """Forty samples; of four features, one tells A from B, one B from A, and two tell nothing."""
    y = np.array(["A", "B"])[np.arange(40) % 2]
    own = np.arange(n_features)[:, None] % 4 == np.array([0, 1])  # of A, of B
    X = np.random.default_rng(seed).normal(8.0, 1.0, (40, n_features)) + 1.5 * own[:, (y == "B").astype(int)].T
    names, samples = (
        tuple(f"{what} {place}" for place in range(size)) for what, size in zip(("gene", "man"), X.T.shape)
    )
    return Dataset(X.astype(np.float32).astype(np.float64), y, names, samples, "made for tests")
