"""What is planted where in large synthetic data: drawn for all samples and features before any measurement."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cobic.checks import is_number, require_whole
from cobic.datasets.tiled import categories, numbered, require_density, stream
from cobic.errors import InputError

KINDS = ("plain", "informative", "noisy", "contaminated")
PLAIN, INFORMATIVE, NOISY, CONTAMINATED = range(4)  # places in KINDS
PLANNING, FILLING = 0, 1  # what a stream of random numbers is for
ERROR = 40_000.0  # of an intensity, in the mean
AHEAD = 1.4  # a contaminated feature stays ahead of what its error does to the mean of the victim's class
_MOST_CLASSES = 100  # classes are indices of one byte, and have names of three figures at most
_OVERLOAD = 2.5  # by how much the errors of a victim outweigh its margin: more than half of them must go
_VICTIM_SHARE = 0.02  # of the cells: few enough that most are read right


@dataclass(frozen=True)
class Recipe:
    """What data are asked for; see :func:`make_large_expression` for the parts."""

    n_features: int
    class_sizes: tuple[int, ...]
    density: float
    informative: float
    noisy: float
    contaminated: float
    mislabelled: float
    seed: int

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        return sum(self.class_sizes), self.n_features

    @property
    def sparse(self) -> bool:
        """Whether the measurements are counts, most of them zero."""
        return self.density < 1.0

    def rng(self, *key: int) -> np.random.Generator:
        """Randomness of its own for each key."""
        return stream(self.seed, *key)


@dataclass(frozen=True, eq=False)
class Plan:
    """What is planted where."""

    recipe: Recipe  # what was asked for
    classes: NDArray[np.intp]  # the class that a sample is made as, and the one it is said to have
    labels: NDArray[np.intp]
    kinds: NDArray[np.uint8]  # index into :data:`KINDS`
    raised_in: NDArray[np.uint8]  # the class in which a feature is expressed more, if it is informative or contaminated
    # For each class the samples of other classes that get gross errors in its contaminated features
    victims: list[NDArray[np.intp]]

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        return self.recipe.shape

    @property
    def class_names(self) -> list[str]:
        """Names of the classes."""
        return [chr(ord("A") + cls) if cls < 26 else f"class_{cls + 1}" for cls in range(len(self.recipe.class_sizes))]

    @property
    def y(self) -> NDArray[np.str_]:
        """The class that each sample is said to have."""
        return np.array(self.class_names)[self.labels]

    @property
    def feature_names(self) -> list[str]:
        """gene_0001 and so on."""
        return numbered("gene", self.shape[1])

    @property
    def sample_names(self) -> list[str]:
        """sample_0001 and so on."""
        return numbered("sample", self.shape[0])

    @property
    def feature_kinds(self) -> "pd.Categorical[str]":
        """What each feature was planted as, in words."""
        return pd.Categorical.from_codes(self.kinds, categories=pd.Index(KINDS))

    @property
    def sample_kinds(self) -> "pd.Categorical[str]":
        """What each sample was planted as, in words."""
        words = np.full(self.labels.size, "plain", dtype="<U11")
        for each in self.victims:
            words[each] = "victim"
        words[self.classes != self.labels] = "mislabelled"
        return categories(words)

    @property
    def source(self) -> str:
        """What the data are."""
        return f"synthetic expression data, seed {self.recipe.seed}"


def recipe(
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
) -> Recipe:
    """Check what is asked for."""
    require_whole("n_features", n_features, 1)
    if class_sizes is None:
        require_whole("n_classes", n_classes, 2)
        require_whole("n_samples", n_samples, n_classes)
        class_sizes = [n_samples // n_classes + (cls < n_samples % n_classes) for cls in range(n_classes)]
    sizes = tuple(require_whole("each of class_sizes", size, 1) for size in class_sizes)
    if not 2 <= len(sizes) <= _MOST_CLASSES:
        message = f"{len(sizes)} classes: give 2 to {_MOST_CLASSES}"
        raise InputError(message)
    density = require_density(density)
    if contaminated is None:
        contaminated = 0.01 if density == 1 else 0.02
    fractions = (informative, noisy, contaminated)
    if not all(is_number(each) and each >= 0 for each in fractions) or sum(fractions) > 1:
        message = (
            "informative, noisy and contaminated are fractions of the features: each at least 0, together at most 1"
        )
        raise InputError(message)
    if not is_number(mislabelled) or not 0 <= mislabelled < 0.5:
        message = f"mislabelled is {mislabelled!r}: give a fraction of the samples, at least 0 and below 0.5"
        raise InputError(message)
    return Recipe(n_features, sizes, density, *fractions, mislabelled, require_whole("seed", seed, 0))


def plan(asked: Recipe) -> Plan:
    """Decide what is planted where."""
    rng = asked.rng(PLANNING)
    n_samples, n_features = asked.shape
    k = len(asked.class_sizes)
    classes = rng.permutation(np.repeat(np.arange(k), asked.class_sizes))
    labels = _mislabelled(classes, k, round(asked.mislabelled * n_samples), rng)
    kinds = np.full(n_features, PLAIN, dtype=np.uint8)
    start = 0
    for kind, share in enumerate((asked.informative, asked.noisy, asked.contaminated), start=INFORMATIVE):
        stop = start + round(share * n_features)
        kinds[start:stop] = kind
        start = stop
    rng.shuffle(kinds)
    raised_in = rng.integers(k, size=n_features, dtype=np.uint8)
    order = rng.permutation(np.flatnonzero(classes == labels))
    errors = np.bincount(raised_in[kinds == CONTAMINATED], minlength=k)
    return Plan(asked, classes, labels, kinds, raised_in, _victims(asked, order, labels, errors))


def _mislabelled(classes: NDArray[np.intp], k: int, number: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """The classes with some of them changed; one sample of each class keeps its own."""
    movable = np.setdiff1d(np.arange(classes.size), np.unique(classes, return_index=True)[1])
    moved = rng.permutation(movable)[:number]
    labels = classes.copy()
    labels[moved] = (labels[moved] + rng.integers(1, k, size=moved.size)) % k
    return labels


def _victims(
    asked: Recipe, order: NDArray[np.intp], labels: NDArray[np.intp], errors: NDArray[np.intp]
) -> list[NDArray[np.intp]]:
    """For each class a few samples of other classes, not more than there are features with errors in it.

    No sample is the victim of two classes if that can be.
    """
    n_samples, k = labels.size, len(asked.class_sizes)
    each = max(1, int(_VICTIM_SHARE * n_samples / k)) if asked.sparse else _dense_victims(asked)
    free = order
    victims = []
    for cls in range(k):
        others = free[labels[free] != cls]
        chosen = (others if others.size else np.flatnonzero(labels != cls))[: min(each, errors[cls])]
        free = free[~np.isin(free, chosen)]
        victims.append(chosen)
    return victims


def _typical_margin(asked: Recipe) -> float:
    """About how far the own class is ahead in a sample without errors, where features are intensities.

    Informative features are raised by 0.35 × 450 in the mean. A feature without a class is put where its mean happens
    to be largest, and leans to the training samples of that class by the largest of k means of noise.
    """
    size = sum(asked.class_sizes) / len(asked.class_sizes)
    spread = 60.0 + (0.25 + 2.75 * asked.noisy) * 305.0
    return asked.informative * 157.0 + spread * math.sqrt(2.0 * math.log(len(asked.class_sizes)) / size)


def burden(asked: Recipe) -> tuple[float, float]:
    """The largest number of victims of a class whose errors still outweigh their margin, and by how much if it is one.

    The features of a class that are contaminated lift its mean by contaminated × error / victims in a victim, and by
    contaminated × `AHEAD` × error / (smallest class) in a sample of its own.
    """
    margin, lift = _OVERLOAD * _typical_margin(asked), asked.contaminated * ERROR
    cost = _OVERLOAD * AHEAD / max(2, min(asked.class_sizes))
    if lift == 0:
        return 1.0, 1.0
    return 1.0 / (margin / lift + cost), margin / (lift * max(0.1, 1.0 - cost))


def _dense_victims(asked: Recipe) -> int:
    most = sum(asked.class_sizes) // (6 * len(asked.class_sizes))
    return max(1, min(int(burden(asked)[0]), most))
