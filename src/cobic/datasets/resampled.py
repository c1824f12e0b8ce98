"""Large data out of a real set: its columns and samples drawn again and again, with noise, in parts.

What is drawn is decided first (:class:`Draw`); the noise of a stretch of a row then comes from a seed of its own, so
that a value does not depend on which parts are made, how large they are, or where they are put.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from cobic.checks import is_number, require_whole
from cobic.datasets.tiled import (
    TILE_COLUMNS,
    Singles,
    Table,
    block_of_cells,
    blocks_of,
    in_file,
    in_memory,
    numbered,
    require_density,
    stream,
    tiles_of,
)
from cobic.errors import InputError
from cobic.problem import Problem
from cobic.problem.dataset import Dataset

_FEATURES, _SAMPLES, _NOISE = range(3)  # what a stream of random numbers is for
_STRETCH = TILE_COLUMNS  # cells of a row with one seed; part of what a seed means
_NEVER = 10.0  # no normal number of single precision is so far from zero


@dataclass(frozen=True, eq=False)
class Draw(Table):
    """Which columns and samples are drawn, and what becomes of their values; kinds are their names in the real data."""

    values: Singles  # the real data
    features: NDArray[np.intp]  # the column and the sample of the real data that each one is drawn from
    samples: NDArray[np.intp]
    noise: float  # standard deviation of the factors

    def part(self, rows: slice, columns: slice) -> Singles:
        """The values of any part, before small ones are zero."""
        drawn = self.features[columns]
        values = np.empty((rows.stop - rows.start, drawn.size), dtype=np.float32)
        for row, line in zip(range(rows.start, rows.stop), values, strict=True):
            np.take(self.values[self.samples[row]], drawn, out=line, mode="clip")  # clip: no buffer is needed
            if self.noise:
                self._disturb(line, row, columns)
        return values

    def _disturb(self, line: Singles, row: int, columns: slice) -> None:
        """Multiply part of a row by its noise, stretch by stretch."""
        for number in range(columns.start // _STRETCH, -(-columns.stop // _STRETCH)):
            start = number * _STRETCH
            first, stop = max(start, columns.start), min(start + _STRETCH, columns.stop)
            factors = stream(self.seed, _NOISE, row, number).standard_normal(stop - start, dtype=np.float32)
            factors *= np.float32(self.noise)
            factors += np.float32(1.0)
            line[first - columns.start : stop - columns.start] *= factors[first - start :]

    def tiles(self) -> Iterator[tuple[slice, slice, Singles]]:
        """Rows, columns and values of one tile after the other."""
        for rows, columns in tiles_of(self.shape):
            yield rows, columns, self.part(rows, columns)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Rows and their values as csr, one block after the other."""
        least = np.float32(np.quantile(np.abs(self.values), 1.0 - self.density))
        for rows in blocks_of(self.shape):
            values = self.part(rows, slice(0, self.shape[1]))
            cells = np.flatnonzero(np.abs(values) > least)
            yield rows, block_of_cells(cells, values.ravel()[cells], values.shape)

    def parts(self) -> Any:
        """Blocks of a sparse matrix, or tiles."""
        return self.blocks() if self.sparse else self.tiles()


def resample_expression(
    X: Any,
    y: ArrayLike | None = None,
    n_features: int = 100_000,
    *,
    n_samples: int | None = None,
    class_sizes: Sequence[int] | None = None,
    noise: float = 0.1,
    density: float = 1.0,
    seed: int = 0,
) -> Dataset:
    """Make data of any size in float32, dense or sparse, out of the columns of a real data set.

    Each feature is a column of the real data, drawn with replacement, and each of its values is multiplied by
    1 + `noise` × a standard normal number: the features differ, disagree with the classes and lie as close to each
    other as real ones do, which those of :func:`make_large_expression` do not. :func:`write_resampled` writes the very
    same data to a file without ever holding them.

    Parameters
    ----------
    X : Dataset, array-like or sparse matrix of shape (n_samples, n_features)
        The real data; they are held as a dense array.
    y : array-like of shape (n_samples,), optional
        Their classes; not with a `Dataset`, which has them.
    n_features : int, default=100_000
        Number of features to draw. Those of fewer are the first of those of more.
    n_samples : int, optional
        Number of samples to draw, with replacement, of each class about as many as its share of the real ones; at
        least one. By default the real samples are there once each, in their order.
    class_sizes : sequence of int, optional
        Samples to draw of each class, the classes sorted, in place of `n_samples`.
    noise : float, default=0.1
        Standard deviation of the factors; 0 for copies.
    density : float, default=1.0
        1: a dense array. At most 0.5: a sparse matrix of the values whose size is above a threshold that this share of
        the real values exceed; the others are zero.
    seed : int, default=0
        Everything is determined by it.

    Returns
    -------
    Dataset
        Drawn samples are in no order. `feature_kinds` and `sample_kinds` are the names of the columns and samples
        that they were drawn from. There is no test set.

    Raises
    ------
    InputError
        If the real data are no data for :class:`cobic.Problem`, or no such data can be drawn from them.

    Examples
    --------
    >>> import cobic
    >>> real = cobic.datasets.make_expression(500, seed=0)
    >>> data = cobic.datasets.resample_expression(real, n_features=2000, seed=1)
    >>> data.X.shape, data.X.dtype, data.class_sizes
    ((38, 2000), dtype('float32'), {'A': 27, 'B': 11})
    >>> cobic.datasets.resample_expression(real.X, real.y, 2000, n_samples=100, density=0.1).class_sizes
    {'A': 71, 'B': 29}
    """
    drawn = draw(
        X, y, n_features, n_samples=n_samples, class_sizes=class_sizes, noise=noise, density=density, seed=seed
    )
    return in_memory(drawn, drawn.parts())


def write_resampled(
    path: str | Path,
    X: Any,
    y: ArrayLike | None = None,
    n_features: int = 100_000,
    *,
    overwrite: bool = False,
    **arguments: Any,
) -> None:
    """Write the data of :func:`resample_expression` to a file, chunk by chunk; they are never held as a whole.

    Parameters
    ----------
    path : str or Path
        Where to write, and what, as in :func:`write_expression`.
    X, y, n_features : Dataset or array-like, array-like, and int
        The real data, their classes, and the number of features to draw, as in :func:`resample_expression`.
    overwrite : bool, default=False
        Whether something of that name may be replaced.
    **arguments
        Further arguments of :func:`resample_expression`, with the same defaults.

    Raises
    ------
    InputError
        If there can be no such data, a library is missing, or the file cannot be written or exists.

    Examples
    --------
    >>> import cobic, tempfile
    >>> real = cobic.datasets.make_expression(500, seed=0)
    >>> file = f"{tempfile.mkdtemp()}/drawn.h5ad"
    >>> cobic.datasets.write_resampled(file, real, n_features=2000, n_samples=100)
    """
    drawn = draw(X, y, n_features, **arguments)
    in_file(path, drawn, drawn.parts(), overwrite=overwrite)


def draw(
    X: Any,
    y: ArrayLike | None,
    n_features: int,
    *,
    n_samples: int | None = None,
    class_sizes: Sequence[int] | None = None,
    noise: float = 0.1,
    density: float = 1.0,
    seed: int = 0,
) -> Draw:
    """Check what is asked for, and decide what is drawn."""
    require_whole("n_features", n_features, 1)
    if not is_number(noise) or not 0 <= noise < np.inf:
        message = f"noise is {noise!r}: give a finite number of at least 0"
        raise InputError(message)
    density, seed = require_density(density), require_whole("seed", seed, 0)
    real = _real(X, y)
    sizes = _sizes(real.class_sizes, n_samples, class_sizes)
    names = real.sample_names or numbered("sample", real.n_samples)
    samples, sample_names = np.arange(real.n_samples), names
    if sizes is not None:
        rng = stream(seed, _SAMPLES)
        drawn = [rng.choice(np.flatnonzero(real.labels == cls), size) for cls, size in enumerate(sizes)]
        samples = rng.permutation(np.concatenate(drawn))
        sample_names = numbered("sample", samples.size)
    features = stream(seed, _FEATURES).integers(real.n_features, size=n_features)
    drawn_from = X.source if isinstance(X, Dataset) else f"{real.n_samples} × {real.n_features} values"
    return Draw(
        seed=seed,
        density=density,
        y=real.classes[real.labels[samples]],
        sample_names=sample_names,
        sample_kinds=pd.Categorical(names)[samples],
        feature_kinds=pd.Categorical(real.feature_names or numbered("column", real.n_features))[features],
        source=f"drawn from {drawn_from}, seed {seed}",
        values=_singles(real, noise),
        features=features,
        samples=samples,
        noise=float(noise),
    )


def _real(X: Any, y: ArrayLike | None) -> Problem:
    """The real data, checked as everywhere."""
    if not isinstance(X, Dataset):
        if y is None:
            message = "give y, the class of each sample of X"
            raise InputError(message)
        return Problem(X, y)
    if y is not None:
        message = "X is a Dataset and has its classes: leave y out"
        raise InputError(message)
    return X.problem()


def _sizes(real: NDArray[np.intp], n_samples: int | None, class_sizes: Sequence[int] | None) -> NDArray[np.intp] | None:
    """How many samples to draw of each class; None if they are to stay as they are."""
    if class_sizes is not None:
        if n_samples is not None:
            message = "give n_samples or class_sizes, not both"
            raise InputError(message)
        if len(class_sizes) != real.size:
            message = f"class_sizes has {len(class_sizes)} entries for {real.size} classes"
            raise InputError(message)
        return np.array([require_whole("each of class_sizes", size, 1) for size in class_sizes])
    if n_samples is None:
        return None
    require_whole("n_samples", n_samples, real.size)
    exact = 1 + (n_samples - real.size) * real / real.sum()  # one of each class, and the others by shares
    sizes: NDArray[np.intp] = np.floor(exact).astype(np.intp)
    largest_rest = np.argsort(sizes - exact, kind="stable")[: n_samples - sizes.sum()]
    sizes[largest_rest] += 1
    return sizes


def _singles(real: Problem, noise: float) -> Singles:
    """The real data as a dense array of single precision, in which noise makes no infinities."""
    values = real.matrix.rows(np.arange(real.n_samples))
    if np.abs(values).max() * (1.0 + _NEVER * noise) > np.finfo(np.float32).max:
        message = "X has values that are too large for float32: scale it first"
        raise InputError(message)
    return np.ascontiguousarray(values, dtype=np.float32)
