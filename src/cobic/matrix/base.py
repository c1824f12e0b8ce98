"""What every kind of matrix can do."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cobic.errors import InputError

if TYPE_CHECKING:
    from cobic.matrix.transform import Transform

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Bits = NDArray[np.uint64]
NotFinite = tuple[int, int, float]

_WHOLE = 1 << 53  # whole numbers up to here are numbers of float64
_ROWS_AT_ONCE, _CELLS_AT_ONCE = 256, 1 << 20  # 8 MB of a matrix on disk


@dataclass(eq=False)
class Survey:
    """What one look at all numbers tells."""

    row_peaks: Floats  # largest absolute value of each sample (n,) and of each feature (m,)
    column_peaks: Floats
    fingerprints: Bits  # the fingerprint of each feature; none if they were not asked for
    not_finite: NotFinite | None = None  # row, column and value of the first NaN or infinity

    @classmethod
    def blank(cls, shape: tuple[int, int], *, with_bits: bool) -> "Survey":
        """That of nothing, to which parts are added."""
        return cls(np.zeros(shape[0]), np.zeros(shape[1]), np.zeros(shape[1] if with_bits else 0, dtype=np.uint64))

    def add(self, part: "Survey", rows: Any, columns: Any) -> None:
        """Add a part; the rows and columns it is about are slices, or indices in rising order."""
        self.row_peaks[rows] = np.maximum(self.row_peaks[rows], part.row_peaks)
        self.column_peaks[columns] = np.maximum(self.column_peaks[columns], part.column_peaks)
        if self.fingerprints.size:
            self.fingerprints[columns] += part.fingerprints
        if part.not_finite is not None:
            row, column, value = part.not_finite
            place = (_at(rows, row), _at(columns, column))
            if self.not_finite is None or place < self.not_finite[:2]:
                self.not_finite = (*place, value)


def _at(places: Any, local: int) -> int:
    return (places.start or 0) + local if isinstance(places, slice) else int(places[local])


class Matrix(ABC):
    """Samples × features, seen through a handful of operations."""

    #: Whether reading the numbers costs so much more than working on them that one look should tell everything.
    costly = False

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = (int(shape[0]), int(shape[1]))

    @property
    @abstractmethod
    def kind(self) -> str:
        """What it is, in words: form, type of numbers, and where they are."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Size of the numbers as they are stored, without compression."""

    @abstractmethod
    def products(self, weights: Floats) -> Floats:
        """``X @ weights``: (n, g) for feature weights (m, g)."""

    @abstractmethod
    def transposed_products(self, multipliers: Floats) -> Floats:
        """``X.T @ multipliers``: (m, g) for sample multipliers (n, g)."""

    def class_sums(self, weights: Floats, classes: Integers, n_classes: int) -> Floats:
        """Weighted sums of each sample over the features of each class, (n, k)."""
        by_class = np.zeros((weights.size, n_classes))
        member = np.flatnonzero(classes >= 0)
        by_class[member, classes[member]] = weights[member]
        return self.products(by_class)

    def class_scores(self, pull: Floats, classes: Integers) -> Floats:
        """For each feature the product with the column of its class, (m,); 0 for a feature in no class."""
        own: Floats = self.transposed_products(pull)[np.arange(classes.size), classes]
        own[classes < 0] = 0.0
        return own

    @abstractmethod
    def rows(self, index: Integers) -> Floats:
        """Some samples, dense: (len(index), m)."""

    @abstractmethod
    def columns(self, index: Integers) -> Floats:
        """Some features, dense: (n, len(index)), each feature in one piece of memory."""

    @abstractmethod
    def selected(self, index: Integers) -> Any:
        """Some features in the form and type that they have: an array, a sparse matrix, or chunks."""

    @abstractmethod
    def take(self, index: Integers) -> "Matrix":
        """Some samples, in the same form; of a file or of chunks, a view."""

    @abstractmethod
    def transformed(self, transform: "Transform") -> "Matrix":
        """The same with transformed values: of what is in memory a copy, else made as they are read."""

    def row_blocks(self) -> Iterator[tuple[slice, Floats]]:
        """All samples, dense, a few at a time: which ones, and their values."""
        n_samples, n_features = self.shape
        at_once = min(_ROWS_AT_ONCE, max(1, _CELLS_AT_ONCE // n_features))
        for start in range(0, n_samples, at_once):
            block = slice(start, min(start + at_once, n_samples))
            yield block, self.rows(np.arange(block.start, block.stop))

    @abstractmethod
    def row_peaks(self, features: Bools) -> Floats:
        """Largest absolute value of each sample over some features, (n,); 0 if there are none."""

    @abstractmethod
    def survey(self, bit_weights: Bits | None = None) -> Survey:
        """Look at all numbers once; `bit_weights` of the samples make fingerprints.

        That of a feature is the sum of weight × bits of the value, modulo 2⁶⁴.
        """

    @cached_property
    def _survey(self) -> Survey:
        return self.survey(fingerprint_weights(self.shape[0]) if self.costly else None)

    def peaks(self) -> tuple[Floats, Floats]:
        """Largest absolute value of each sample (n,) and of each feature (m,)."""
        return self._survey.row_peaks, self._survey.column_peaks

    def first_not_finite(self) -> NotFinite | None:
        """Row, column and value of the first NaN or infinity, or None."""
        return self._survey.not_finite

    def fingerprints(self) -> Bits:
        """A number per feature (m,) that depends on its values alone: equal for equal features, else as by chance."""
        return self._survey.fingerprints


def require_exact(values: NDArray[Any], where: str = "X") -> None:
    """Refuse numbers that float64 does not have: a larger one would be taken for its neighbour in silence."""
    kind, lost = values.dtype, values[:0]
    if kind.kind in "iu" and kind.itemsize == 8:
        large = values[(values > _WHOLE) | (values < -_WHOLE)]
        lost = large[[int(float(value)) != value for value in large.tolist()]]
    elif kind.kind == "f" and kind.itemsize > 8:
        lost = values[(values.astype(np.float64) != values) & (values == values)]
    if lost.size:
        message = (
            f"{where} has {lost.flat[0]}, which would be rounded: numbers are float64, whole ones up to 2**53 exact"
        )
        raise InputError(message + "; divide them, or round them yourself")


def fingerprint_weights(size: int) -> Bits:
    """An odd number for each sample, the same ones every time."""
    return np.random.default_rng(0).integers(1, 1 << 63, size, dtype=np.uint64) | np.uint64(1)


def bits_of(values: NDArray[Any]) -> Bits:
    """The bits of numbers as float64, with one zero only; zeros have none, so that absent entries count nothing."""
    return (values.astype(np.float64) + 0.0).view(np.uint64)
