"""A table of samples and features with its names, as readers make it and methods take it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cobic.errors import InputError
from cobic.problem import Problem


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples in rows, features in columns, and what is known about both.

    Attributes
    ----------
    X : ndarray, sparse matrix or Matrix of shape (n_samples, n_features)
        The measurements; a matrix on disk if they were to stay there.
    y : ndarray of shape (n_samples,) or None
        Class of each sample.
    feature_names, sample_names : tuple of str
        Names along both axes. Feature names may repeat; sample names do not.
    source : str
        Where the data come from.
    feature_descriptions : tuple of str or None
        A longer text per feature.
    feature_kinds, sample_kinds : tuple of str or None
        What each feature and each sample of a synthetic set was planted as.
    test : Dataset or None
        Held-out samples over the same features.
    layout : str
        How it was in a file: samples in rows, or features in rows.
    set_aside : tuple of str
        Columns and lines of a file that are not in the data: annotations, results of tests, and so on.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.make_expression(n_features=100, seed=0)
    >>> data.X.shape, data.class_sizes
    ((38, 100), {'A': 27, 'B': 11})
    >>> data.problem(alpha=10.0).n_features
    100
    """

    X: Any
    y: NDArray[Any] | None
    feature_names: tuple[str, ...]
    sample_names: tuple[str, ...]
    source: str
    feature_descriptions: tuple[str, ...] | None = None
    feature_kinds: tuple[str, ...] | None = None
    test: Self | None = None
    layout: str = "samples in rows"
    set_aside: tuple[str, ...] = ()
    sample_kinds: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        n_samples, n_features = self.X.shape
        for what, given, size in (
            ("y", self.y, n_samples),
            ("sample_names", self.sample_names, n_samples),
            ("feature_names", self.feature_names, n_features),
            ("feature_descriptions", self.feature_descriptions, n_features),
            ("feature_kinds", self.feature_kinds, n_features),
            ("sample_kinds", self.sample_kinds, n_samples),
        ):
            if given is not None and len(given) != size:
                message = f"{what} has {len(given)} entries where X, {n_samples} × {n_features}, needs {size}"
                raise InputError(message)

    def problem(self, alpha: ArrayLike = 0.0, beta: ArrayLike = 1.0, **choices: Any) -> Problem:
        """Make the :class:`cobic.Problem` of these data.

        Parameters
        ----------
        alpha, beta : float or array-like
            Margins, as in :class:`cobic.Problem`.
        **choices
            Further keyword arguments of :class:`cobic.Problem`.

        Returns
        -------
        Problem
            With the names of these data.

        Examples
        --------
        >>> import cobic
        >>> cobic.datasets.make_expression(n_features=50, seed=0).problem(alpha=5.0).n_samples
        38
        """
        if self.y is None:
            message = f"{self.source}: the samples have no classes"
            raise ValueError(message)
        choices = {"feature_names": self.feature_names, "sample_names": self.sample_names, **choices}
        return Problem(self.X, self.y, alpha, beta, **choices)

    @property
    def class_sizes(self) -> dict[str, int]:
        """Number of samples of each class."""
        classes, sizes = np.unique([] if self.y is None else self.y, return_counts=True)
        return {str(cls): int(size) for cls, size in zip(classes, sizes, strict=True)}
