"""What is planted where in large synthetic data: drawn for all samples and features before any measurement."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cobic.checks import is_number, require_whole
from cobic.datasets.tiled import Table, numbered, require_density, stream
from cobic.errors import InputError

KINDS = ("plain", "informative", "noisy", "contaminated")
PLAIN, INFORMATIVE, NOISY, CONTAMINATED = range(4)  # places in KINDS
PLANNING, FILLING = 0, 1  # what a stream of random numbers is for
ERROR = 40_000.0  # of an intensity, in the mean
AHEAD = 1.4  # a contaminated feature stays ahead of what its error does to the mean of the victim's class
_MOST_CLASSES = 100  # classes are indices of one byte, and have names of three figures at most
_OVERLOAD = 2.5  # by how much the errors of a victim outweigh its margin: more than half of them must go
_VICTIM_SHARE = 0.02  # of the cells: few enough that most are read right


@dataclass(frozen=True, eq=False)
class Plan(Table):
    """What is planted where."""

    class_sizes: tuple[int, ...]
    classes: NDArray[np.intp]  # the class that a sample is made as; y is the one it is said to have
    kinds: NDArray[np.uint8]  # index into :data:`KINDS`
    raised_in: NDArray[np.uint8]  # the class in which a feature is expressed more, if it is informative or contaminated
    # For each class the samples of other classes that get gross errors in its contaminated features
    victims: list[NDArray[np.intp]]
    error: float  # of an intensity, in the mean

    def contaminated(self, cls: int) -> NDArray[np.intp]:
        """The features that are expressed in a class, and have errors in its victims."""
        return np.flatnonzero((self.kinds == CONTAMINATED) & (self.raised_in == cls))


def plan(
    n_features: int,
    *,
    n_samples: int = 200,
    n_classes: int = 2,
    class_sizes: Sequence[int] | None = None,
    density: float = 1.0,
    informative: float = 0.2,
    noisy: float = 0.1,
    contaminated: float | None = None,
    mislabelled: float = 0.0,
    seed: int = 0,
) -> Plan:
    """Check what is asked for, and decide what is planted where; :func:`make_large_expression` says what can be."""
    require_whole("n_features", n_features, 1)
    if class_sizes is None:
        require_whole("n_classes", n_classes, 2)
        require_whole("n_samples", n_samples, n_classes)
        class_sizes = [n_samples // n_classes + (cls < n_samples % n_classes) for cls in range(n_classes)]
    sizes = tuple(require_whole("each of class_sizes", size, 1) for size in class_sizes)
    k = len(sizes)
    if not 2 <= k <= _MOST_CLASSES:
        message = f"{k} classes: give 2 to {_MOST_CLASSES}"
        raise InputError(message)
    density = require_density(density)
    if contaminated is None:
        contaminated = 0.01 if density == 1 else 0.02
    require_fractions(informative, noisy, contaminated)
    if not is_number(mislabelled) or not 0 <= mislabelled < 0.5:
        message = f"mislabelled is {mislabelled!r}: give a fraction of the samples, at least 0 and below 0.5"
        raise InputError(message)
    seed = require_whole("seed", seed, 0)
    rng = stream(seed, PLANNING)
    classes = rng.permutation(np.repeat(np.arange(k), sizes))
    labels = _mislabelled(classes, k, round(mislabelled * classes.size), rng)
    kinds = planted_kinds(n_features, (informative, noisy, contaminated), rng)
    raised_in = rng.integers(k, size=n_features, dtype=np.uint8)
    order = rng.permutation(np.flatnonzero(classes == labels))
    if density < 1:
        most, error = int(_VICTIM_SHARE * classes.size / k), ERROR
    else:
        most, error = _burden(sizes, informative, noisy, contaminated)
    victims = _victims(max(1, most), order, labels, np.bincount(raised_in[kinds == CONTAMINATED], minlength=k))
    return Plan(
        seed=seed,
        density=density,
        y=np.array(class_names(k))[labels],
        sample_names=numbered("sample", classes.size),
        sample_kinds=_sample_kinds(victims, classes != labels),
        feature_kinds=pd.Categorical.from_codes(kinds, categories=pd.Index(KINDS)),
        source=f"synthetic expression data, seed {seed}",
        class_sizes=sizes,
        classes=classes,
        kinds=kinds,
        raised_in=raised_in,
        victims=victims,
        error=error,
    )


def require_fractions(*fractions: Any) -> None:
    """Refuse shares of planted features that are none."""
    if not all(is_number(each) and each >= 0 for each in fractions) or sum(fractions) > 1:
        message = (
            "informative, noisy and contaminated are fractions of the features: each at least 0, together at most 1"
        )
        raise InputError(message)


def class_names(k: int) -> list[str]:
    """A, B and so on."""
    return [chr(ord("A") + cls) if cls < 26 else f"class_{cls + 1}" for cls in range(k)]


def planted_kinds(n_features: int, shares: Sequence[float], rng: np.random.Generator) -> NDArray[np.uint8]:
    """What each feature is planted as, as an index into :data:`KINDS`, for the shares of all kinds but plain ones."""
    kinds = np.full(n_features, PLAIN, dtype=np.uint8)
    start = 0
    for kind, share in enumerate(shares, start=INFORMATIVE):
        stop = start + round(share * n_features)
        kinds[start:stop] = kind
        start = stop
    rng.shuffle(kinds)
    return kinds


def _mislabelled(classes: NDArray[np.intp], k: int, number: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """The classes with some of them changed; one sample of each class keeps its own."""
    movable = np.setdiff1d(np.arange(classes.size), np.unique(classes, return_index=True)[1])
    moved = rng.permutation(movable)[:number]
    labels = classes.copy()
    labels[moved] = (labels[moved] + rng.integers(1, k, size=moved.size)) % k
    return labels


def _victims(
    most: int, order: NDArray[np.intp], labels: NDArray[np.intp], errors: NDArray[np.intp]
) -> list[NDArray[np.intp]]:
    """For each class a few samples of others, at most as many as features with errors; none twice if that can be."""
    free = order
    victims = []
    for cls, n_errors in enumerate(errors):
        others = free[labels[free] != cls]
        chosen = (others if others.size else np.flatnonzero(labels != cls))[: min(most, n_errors)]
        free = free[~np.isin(free, chosen)]
        victims.append(chosen)
    return victims


def _sample_kinds(victims: list[NDArray[np.intp]], mislabelled: NDArray[np.bool_]) -> "pd.Categorical[str]":
    words = np.full(mislabelled.size, "plain", dtype="<U11")
    words[np.concatenate(victims)] = "victim"
    words[mislabelled] = "mislabelled"
    return pd.Categorical(words)


def _burden(sizes: tuple[int, ...], informative: float, noisy: float, contaminated: float) -> tuple[int, float]:
    """How many victims a class may have such that their errors outweigh their margin; how large the errors must be.

    The margin is about how far the own class is ahead in a sample without errors. Informative features are raised by
    0.35 × 450 in the mean. A feature without a class is put where its mean happens to be largest, and leans to the
    training samples of that class by the largest of k means of noise.

    The features of a class that are contaminated lift its mean by contaminated × error / victims in a victim, and by
    contaminated × `AHEAD` × error / (smallest class) in a sample of its own.
    """
    n_samples, k = sum(sizes), len(sizes)
    if contaminated == 0:
        return 1, ERROR
    spread = 60.0 + (0.25 + 2.75 * noisy) * 305.0
    margin = _OVERLOAD * (informative * 157.0 + spread * math.sqrt(2.0 * math.log(k) / (n_samples / k)))
    lift, cost = contaminated * ERROR, _OVERLOAD * AHEAD / max(2, min(sizes))
    most = min(int(1.0 / (margin / lift + cost)), n_samples // (6 * k))
    return most, max(1.0, margin / (lift * max(0.1, 1.0 - cost))) * ERROR
