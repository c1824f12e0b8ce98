"""Large synthetic expression data, made tile by tile, with conflicts planted so that features really must go.

Everything about samples and features is drawn first (:class:`Plan`); the measurements of a tile are then drawn from a
seed of its own, so that they do not depend on which tiles are made, in what order, or where they are put.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cobic.checks import is_number, require_whole
from cobic.dataset import Dataset
from cobic.errors import InputError
from cobic.tiled import (
    TILE_COLUMNS,
    TILE_ROWS,
    Singles,
    block_of_cells,
    blocks_of,
    categories,
    in_file,
    in_memory,
    numbered,
    require_density,
    stream,
    tiles_of,
)

KINDS = ("plain", "informative", "noisy", "contaminated")
_PLAIN, _INFORMATIVE, _NOISY, _CONTAMINATED = range(4)
_MOST_CLASSES = 100
_PLANNING, _FILLING = 0, 1  # what a stream of random numbers is for

_ERROR = 40_000.0  # of an intensity, in the mean
_OVERLOAD = 2.5  # by how much the errors of a victim outweigh its margin: more than half of them must go
_AHEAD = 1.4  # a contaminated feature stays ahead of what its error does to the mean of the victim's class

_SLOTS = 16  # of a feature in the table that counts are drawn from, in the mean
_BURST = 8  # counts of a noisy feature come so many at once
_ERROR_COUNTS = (50, 150)
_LIBRARY_SPREAD = 0.3
_VICTIM_SHARE = 0.02


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


def make_large_expression(
    n_features: int = 100_000,
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
) -> Dataset:
    """Make synthetic expression data of any size in float32, dense or sparse, with features that must be dropped.

    :func:`make_expression` is for data of Golub's size; its numbers are other ones, because they cannot be made in
    parts. :func:`write_expression` writes the very same data to a file without ever holding them.

    Parameters
    ----------
    n_features : int, default=100_000
        Number of genes.
    n_samples, n_classes : int, default=200 and 2
        How many samples in how many classes, as equal in size as can be; the classes are called A, B, ….
    class_sizes : sequence of int, optional
        Samples of each class, in place of `n_samples` and `n_classes`.
    density : float, default=1.0
        1: intensities, whole numbers, a dense array. At most 0.5: counts as of single cells, about this share of them
        not zero, divided by the size of the library and logged (``log1p``), in a sparse matrix.
    informative : float, default=0.2
        Fraction of genes that are expressed more in one class.
    noisy : float, default=0.1
        Fraction of genes with a large spread and no class.
    contaminated : float, optional
        Fraction of genes that are expressed in one class, but in which a few samples of *other* classes have gross
        errors: these cannot be read right unless about half of such genes go. 0.01 by default, 0.02 in sparse data.
    mislabelled : float, default=0.0
        Fraction of samples that are said to be of another class than they are.
    seed : int, default=0
        Everything is determined by it.

    Returns
    -------
    Dataset
        Samples in no order. `feature_kinds` and `sample_kinds` say what each gene and sample was planted as.

    Notes
    -----
    Without mislabelled samples a consistent selection exists if there are some hundred genes in each class. With them
    soft margins are worth their price: most mislabelled samples are better violated than read wrong.

    Examples
    --------
    >>> data = make_large_expression(2000, n_samples=60, n_classes=3, density=0.1, seed=1)
    >>> data.X.shape, data.X.format, data.X.dtype
    ((60, 2000), 'csr', dtype('float32'))
    >>> data.class_sizes
    {'A': 20, 'B': 20, 'C': 20}
    """
    asked = recipe(
        n_features,
        n_samples=n_samples,
        n_classes=n_classes,
        class_sizes=class_sizes,
        density=density,
        informative=informative,
        noisy=noisy,
        contaminated=contaminated,
        mislabelled=mislabelled,
        seed=seed,
    )
    planned = plan(asked)
    return in_memory(planned, _parts(planned), sparse=asked.sparse)


def write_expression(path: str | Path, n_features: int = 100_000, *, overwrite: bool = False, **arguments: Any) -> None:
    """Write the data of :func:`make_large_expression` to a file, chunk by chunk; they are never held as a whole.

    Parameters
    ----------
    path : str or Path
        Where to write: ``.h5ad``, or ``.zarr`` in the layout of AnnData. The classes are in ``obs["class"]``, what was
        planted in ``obs["kind"]`` and ``var["kind"]``. It appears when it is whole. Needs ``cobic[scale]``.
    n_features : int, default=100_000
        Number of genes.
    overwrite : bool, default=False
        Whether something of that name may be replaced.
    **arguments
        Further arguments of :func:`make_large_expression`, with the same defaults.

    Raises
    ------
    InputError
        If there can be no such data, a library is missing, or the file cannot be written or exists.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import anndata
    >>> file = Path(tempfile.mkdtemp()) / "cells.h5ad"
    >>> write_expression(file, 2000, n_samples=60, n_classes=3, density=0.1, seed=1)
    >>> cells = anndata.read_h5ad(file)
    >>> cells.shape, cells.obs["class"].value_counts().to_dict()
    ((60, 2000), {'A': 20, 'B': 20, 'C': 20})
    """
    asked = recipe(n_features, **arguments)
    planned = plan(asked)
    in_file(Path(path), planned, _parts(planned), sparse=asked.sparse, overwrite=overwrite)


def _parts(planned: Plan) -> Any:
    """The measurements: blocks of a sparse matrix, or tiles."""
    return Counts(planned).blocks() if planned.recipe.sparse else Intensities(planned).tiles()


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
    rng = asked.rng(_PLANNING)
    n_samples, n_features = asked.shape
    k = len(asked.class_sizes)
    classes = rng.permutation(np.repeat(np.arange(k), asked.class_sizes))
    labels = _mislabelled(classes, k, round(asked.mislabelled * n_samples), rng)
    kinds = np.full(n_features, _PLAIN, dtype=np.uint8)
    start = 0
    for kind, share in enumerate((asked.informative, asked.noisy, asked.contaminated), start=_INFORMATIVE):
        stop = start + round(share * n_features)
        kinds[start:stop] = kind
        start = stop
    rng.shuffle(kinds)
    raised_in = rng.integers(k, size=n_features, dtype=np.uint8)
    order = rng.permutation(np.flatnonzero(classes == labels))
    errors = np.bincount(raised_in[kinds == _CONTAMINATED], minlength=k)
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


def _burden(asked: Recipe) -> tuple[float, float]:
    """The largest number of victims of a class whose errors still outweigh their margin, and by how much if it is one.

    The features of a class that are contaminated lift its mean by contaminated × error / victims in a victim, and by
    contaminated × `_AHEAD` × error / (smallest class) in a sample of its own.
    """
    margin, lift = _OVERLOAD * _typical_margin(asked), asked.contaminated * _ERROR
    cost = _OVERLOAD * _AHEAD / max(2, min(asked.class_sizes))
    if lift == 0:
        return 1.0, 1.0
    return 1.0 / (margin / lift + cost), margin / (lift * max(0.1, 1.0 - cost))


def _dense_victims(asked: Recipe) -> int:
    most = sum(asked.class_sizes) // (6 * len(asked.class_sizes))
    return max(1, min(int(_burden(asked)[0]), most))


class Intensities:
    """Whole numbers as of a microarray, negative ones among them, in tiles."""

    def __init__(self, planned: Plan) -> None:
        self.plan = planned
        asked = planned.recipe
        n_features, kinds = asked.n_features, planned.kinds
        rng = asked.rng(_PLANNING, 1)
        self._baseline = np.exp(np.float32(5.0) + np.float32(1.2) * rng.standard_normal(n_features, dtype=np.float32))
        factor = np.where(kinds == _NOISY, np.float32(3.0), np.float32(0.25))
        self._spread = factor * self._baseline + np.float32(60.0)
        strength = np.float32(0.1) + np.float32(0.5) * rng.random(n_features, dtype=np.float32)
        self._shift = np.where(kinds == _INFORMATIVE, strength * (self._baseline + np.float32(150.0)), np.float32(0.0))
        self._plant_errors(rng)

    def _plant_errors(self, rng: np.random.Generator) -> None:
        """One victim for each contaminated feature; the feature is raised enough to stay in its class."""
        asked = self.plan.recipe
        self._victim = np.full(asked.n_features, -1, dtype=np.int32)
        self._error = np.zeros(asked.n_features, dtype=np.float32)
        scale = max(1.0, _burden(asked)[1]) * _ERROR
        for cls, victims in enumerate(self.plan.victims):
            features = np.flatnonzero((self.plan.kinds == _CONTAMINATED) & (self.plan.raised_in == cls))
            if features.size == 0:
                continue
            errors = np.round(scale * rng.uniform(0.5, 1.5, features.size))
            self._victim[features] = victims[np.arange(features.size) % victims.size]
            self._error[features] = errors
            ahead = rng.uniform(_AHEAD - 0.2, _AHEAD + 0.2, features.size)
            self._shift[features] = ahead * errors / max(2, min(asked.class_sizes))

    def tiles(self) -> Iterator[tuple[slice, slice, Singles]]:
        """Rows, columns and values of one tile after the other, all columns before the next rows."""
        for rows, columns in tiles_of(self.plan.shape):
            yield rows, columns, self._tile(rows, columns)

    def _tile(self, rows: slice, columns: slice) -> Singles:
        rng = self.plan.recipe.rng(_FILLING, rows.start // TILE_ROWS, columns.start // TILE_COLUMNS)
        shape = (rows.stop - rows.start, columns.stop - columns.start)
        values = rng.standard_normal(shape, dtype=np.float32)
        values *= self._spread[columns]
        values += self._baseline[columns]
        classes, raised_in, shift = self.plan.classes[rows], self.plan.raised_in[columns], self._shift[columns]
        for cls in np.unique(classes):
            values[classes == cls] += np.where(raised_in == cls, shift, np.float32(0.0))
        victim = self._victim[columns]
        hit = np.flatnonzero((victim >= rows.start) & (victim < rows.stop))
        values[victim[hit] - rows.start, hit] += self._error[columns][hit]
        return np.round(values, out=values)


class Counts:
    """Counts as of single cells, by size of the library and logged, in blocks of rows.

    The counts of a cell are Poisson: as many are drawn as its library has, and the feature of each is looked up in a
    table where features have as many slots as they are expressed. What a class has in excess is drawn from a table of
    its own.
    """

    def __init__(self, planned: Plan) -> None:
        self.plan = planned
        asked = planned.recipe
        rng = asked.rng(_PLANNING, 1)
        kinds, m = planned.kinds, asked.n_features
        level = np.exp(rng.standard_normal(m, dtype=np.float32))
        self._burst = np.where(kinds == _NOISY, _BURST, 1).astype(np.int64)
        slots = np.maximum(1, np.round(_SLOTS * level / level.mean() / self._burst)).astype(np.int32)
        excess = np.zeros(m, dtype=np.int32)
        for kind, low, high in ((_INFORMATIVE, 2.0, 8.0), (_CONTAMINATED, 8.0, 12.0)):
            drawn = np.round(_SLOTS * (low + (high - low) * rng.random(m, dtype=np.float32))).astype(np.int32)
            excess = np.where(kinds == kind, drawn, excess)
        self._table = np.repeat(np.arange(m, dtype=np.int32), slots)
        self._excess = [
            np.repeat(np.flatnonzero(own).astype(np.int32), excess[own])
            for own in (planned.raised_in == cls for cls in range(len(asked.class_sizes)))
        ]
        self._per_slot = _per_slot(asked.density, slots, excess, len(asked.class_sizes))
        self._libraries = np.exp(_LIBRARY_SPREAD * rng.standard_normal(asked.shape[0]))
        self._errors = rng.integers(*_ERROR_COUNTS, size=m, dtype=np.int32)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Rows and their values as csr, one block after the other."""
        for number, rows in enumerate(blocks_of(self.plan.shape)):
            yield rows, self._block(rows, self.plan.recipe.rng(_FILLING, number))

    def _block(self, rows: slice, rng: np.random.Generator) -> Any:
        n_rows, m = rows.stop - rows.start, self.plan.recipe.n_features
        libraries, classes = self._libraries[rows], self.plan.classes[rows]
        counts = np.zeros(n_rows * m, dtype=np.int64)
        for row in range(n_rows):  # row by row, for the counters of one row stay in the cache
            own = counts[row * m : (row + 1) * m]
            for table in (self._table, self._excess[classes[row]]):
                number = rng.poisson(libraries[row] * self._per_slot * table.size)
                if number:
                    own += np.bincount(table[rng.integers(table.size, size=number)], minlength=m)
            own *= self._burst
        self._add_errors(rows, counts)
        cells = np.flatnonzero(counts)
        own_libraries = libraries[cells // m]
        values = np.log1p(counts[cells] / own_libraries).astype(np.float32)
        return block_of_cells(cells, values, (n_rows, m))

    def _add_errors(self, rows: slice, counts: NDArray[np.int64]) -> None:
        m = self.plan.recipe.n_features
        for cls, victims in enumerate(self.plan.victims):
            here = victims[(victims >= rows.start) & (victims < rows.stop)]
            if here.size:
                features = np.flatnonzero((self.plan.kinds == _CONTAMINATED) & (self.plan.raised_in == cls))
                counts.reshape(-1, m)[np.ix_(here - rows.start, features)] += self._errors[features]


def _per_slot(density: float, slots: NDArray[np.int32], excess: NDArray[np.int32], k: int) -> float:
    """Counts per slot such that the share of cells that are not zero is as wanted."""
    base, own = slots[: 1 << 16].astype(np.float64), (slots + excess)[: 1 << 16].astype(np.float64)
    libraries = np.exp(_LIBRARY_SPREAD * math.sqrt(3.0) * np.array([-1.0, 0.0, 1.0]))  # Gauss-Hermite, three points

    def expected(rate: float) -> float:
        zero, zero_own = (np.exp(-np.outer(rate * libraries, each)).mean(axis=1) for each in (base, own))
        return 1.0 - float(np.array([1.0, 4.0, 1.0]) / 6.0 @ (((k - 1) * zero + zero_own) / k))

    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if expected(middle) < density else (low, middle)
    return high
