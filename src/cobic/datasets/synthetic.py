"""Synthetic expression data of Golub's size, with features that must be dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cobic.checks import require_whole
from cobic.datasets.plan import CONTAMINATED, INFORMATIVE, KINDS, NOISY, class_names, planted_kinds, require_fractions
from cobic.datasets.tiled import numbered
from cobic.errors import InputError
from cobic.matrix import Floats, Integers
from cobic.problem.dataset import Dataset


def make_expression(
    n_features: int = 7129,
    *,
    class_sizes: Sequence[int] = (27, 11),
    test_sizes: Sequence[int] | None = (20, 14),
    informative: float = 0.2,
    noisy: float = 0.1,
    contaminated: float = 0.01,
    seed: int = 0,
) -> Dataset:
    """Make synthetic expression data shaped like Golub's, with features that must be dropped.

    Parameters
    ----------
    n_features : int, default=7129
        Number of genes.
    class_sizes : sequence of int, default=(27, 11)
        Training samples of each class; the classes are called A, B, ….
    test_sizes : sequence of int or None, default=(20, 14)
        Held-out samples of each class. They follow the same distribution without the contamination.
    informative, noisy : float, default=0.2 and 0.1
        Fractions of genes that are expressed more in one class, and that have a large spread and no class.
    contaminated : float, default=0.01
        Fraction of genes that are expressed in one class, but in which one training sample of *another* class has a
        gross error. A few samples have most of these errors: they cannot be read right unless such genes go.
    seed : int, default=0
        Everything is determined by it.

    Returns
    -------
    Dataset
        Whole numbers, `feature_kinds` says what each gene was planted as, and `test` holds the held-out samples.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.make_expression(seed=0)
    >>> data.X.shape, data.test.X.shape
    ((38, 7129), (34, 7129))
    >>> data.feature_kinds.count("contaminated")
    71
    """
    k = len(class_sizes)
    if k < 2 or min(class_sizes) < 1 or n_features < 1:
        message = "make_expression needs at least one feature and two classes with at least one sample each"
        raise InputError(message)
    if test_sizes is not None and len(test_sizes) != k:
        message = f"test_sizes has {len(test_sizes)} entries for {k} classes"
        raise InputError(message)
    require_fractions(informative, noisy, contaminated)
    rng = np.random.default_rng(require_whole("seed", seed, 0))
    kinds = planted_kinds(n_features, (informative, noisy, contaminated), rng)
    raised_in = rng.integers(k, size=n_features)
    baseline = rng.lognormal(5.0, 1.2, size=n_features)
    errors = rng.uniform(20_000.0, 60_000.0, size=n_features)
    strength = rng.uniform(0.1, 0.6, n_features) * (baseline + 150.0)
    # The class must stay ahead of the victim's own class, whose mean the error lifts by error / (its size).
    lifted = rng.uniform(1.2, 1.6, n_features) * errors / max(2, min(class_sizes))
    shift = np.select([kinds == INFORMATIVE, kinds == CONTAMINATED], [strength, lifted])
    spread = np.where(kinds == NOISY, 3.0, 0.25) * baseline + 60.0

    def sample(sizes: Sequence[int]) -> tuple[Floats, Integers]:
        labels = np.repeat(np.arange(k), sizes)
        level = baseline + shift * (labels[:, None] == raised_in)
        return level + spread * rng.standard_normal((labels.size, n_features)), labels

    def named(part: str, X: Floats, labels: Integers) -> Dataset:
        return Dataset(
            X=np.round(X),
            y=np.array(class_names(k))[labels],
            feature_names=tuple(numbered("gene", n_features)),
            sample_names=tuple(f"{part}_{index + 1}" for index in range(labels.size)),
            source=f"synthetic expression data, seed {seed}",
            feature_kinds=tuple(KINDS[kind] for kind in kinds),
        )

    X, labels = sample(class_sizes)
    test = None if test_sizes is None else named("test", *sample(test_sizes))
    victims = _victims(labels, k, rng)
    for feature in np.flatnonzero(kinds == CONTAMINATED):
        X[rng.choice(victims[raised_in[feature]]), feature] += errors[feature]
    return replace(named("train", X, labels), test=test)


def _victims(labels: Integers, k: int, rng: np.random.Generator) -> list[Integers]:
    """For each class the samples of other classes that get its gross errors: a few, the same ones again and again."""
    few = rng.permutation(labels.size)[: max(k, labels.size // 6)]
    chosen = [few[labels[few] != cls] for cls in range(k)]
    return [each if each.size else np.flatnonzero(labels != cls) for cls, each in enumerate(chosen)]
