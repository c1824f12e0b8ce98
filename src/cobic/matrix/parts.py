"""Matrices that are worked on part by part: an operation is a kernel on a part, and a sum over the parts in order."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from cobic.matrix.base import Bits, Bools, Floats, Matrix, Survey, fingerprint_weights
from cobic.matrix.grid import Places
from cobic.matrix.pool import Room, in_order

Result = TypeVar("Result")
Kernel = Callable[[Any, Places, Places], Result]  # of the numbers of a part, its rows and its columns
Wanted = tuple[Bools | None, Bools | None]  # rows and columns that matter, where that is not all of them

_ALL: Wanted = (None, None)
_FEW_WANTED = 0.25  # share of the lines: to pick more of them takes about as long as to work on all
_FEW = 2  # columns: up to here a product for each is faster than one for all, which first copies its operands


class MatrixInParts(Matrix):
    """A matrix of which parts are read from a source; one of a single part is kept ready for use."""

    _few = _FEW

    def __init__(self, source: Any) -> None:
        super().__init__(source.shape)
        self._source = source
        self.costly = source.costly

    @property
    def nbytes(self) -> int:
        return int(self._source.nbytes)

    @property
    @abstractmethod
    def _parts(self) -> Sequence[Any]:
        """What is read at a time."""

    @abstractmethod
    def _read(self, part: Any, room: Room | None, wanted: Wanted) -> Iterable[tuple[Places, Places, Any]]:
        """Rows, columns and numbers of what a part consists of, in one form, in the room if there is one.

        What is not wanted may be left out.
        """

    @property
    @abstractmethod
    def _whole(self) -> Any:
        """All numbers of a matrix of one part; None if there are more."""

    @staticmethod
    @abstractmethod
    def _survey_of(values: Any, bit_weights: Bits | None) -> Survey:
        """The survey of a part."""

    @staticmethod
    @abstractmethod
    def _fingerprints_of(values: Any, bit_weights: Bits) -> Bits:
        """The fingerprints in that survey."""

    def _on_parts(self, kernel: Kernel[Result], wanted: Wanted = _ALL) -> Iterator[tuple[Places, Places, Result]]:
        """What a kernel makes of each part, in their order, with its rows and columns."""
        if self._whole is not None:
            everything = slice(0, self.shape[0]), slice(0, self.shape[1])
            yield *everything, kernel(self._whole, *everything)
            return
        room = Room()

        def work(part: Any) -> list[tuple[Places, Places, Result]]:
            read = self._read(part, room, wanted)
            return [(rows, columns, kernel(values, rows, columns)) for rows, columns, values in read]

        for results in in_order(work, self._parts, ahead=1 if self.costly else 2):
            yield from results

    def products(self, weights: Floats) -> Floats:
        if self._whole is not None:
            return self._times(self._whole, weights)
        weights, result = self._laid_out(weights), np.zeros((self.shape[0], weights.shape[1]))
        with_weight = None, _if_few(weights)

        def kernel(values: Any, _: Places, columns: Places) -> Floats:
            return self._times(values, weights[columns])

        for rows, _, part in self._on_parts(kernel, with_weight):
            result[rows] += part
        return result

    def transposed_products(self, multipliers: Floats) -> Floats:
        if self._whole is not None:
            return self._times(self._whole.T, multipliers)
        multipliers, result = self._laid_out(multipliers), np.zeros((self.shape[1], multipliers.shape[1]))
        with_multiplier = _if_few(multipliers), None

        def kernel(values: Any, rows: Places, _: Places) -> Floats:
            return self._times(values.T, multipliers[rows])

        for _, columns, part in self._on_parts(kernel, with_multiplier):
            result[columns] += part
        return result

    def _laid_out(self, right: Floats) -> Floats:
        """Columns that are multiplied one by one, each in one piece."""
        return np.asfortranarray(right) if right.shape[1] <= self._few else right

    def _times(self, left: Any, right: Floats) -> Floats:
        """A product; what is stored by columns gains nothing where they are few."""
        if not 1 <= right.shape[1] <= self._few or getattr(left, "format", "csr") == "csc":
            product: Floats = left @ right
            return product
        return np.stack([left @ column for column in self._laid_out(right).T], axis=1)

    def row_peaks(self, features: Bools) -> Floats:
        def kernel(values: Any, _: Places, columns: Places) -> Floats:
            return self._survey_of(values[:, features[columns]], None).row_peaks

        result = np.zeros(self.shape[0])
        for rows, _, part in self._on_parts(kernel):
            result[rows] = np.maximum(result[rows], part)
        return result

    def fingerprints(self) -> Bits:
        if self.costly:
            return super().fingerprints()
        weights, result = fingerprint_weights(self.shape[0]), np.zeros(self.shape[1], dtype=np.uint64)
        for _, columns, part in self._on_parts(lambda values, rows, _: self._fingerprints_of(values, weights[rows])):
            result[columns] += part
        return result

    def survey(self, bit_weights: Bits | None = None) -> Survey:
        def kernel(values: Any, rows: Places, _: Places) -> Survey:
            return self._survey_of(values, None if bit_weights is None else bit_weights[rows])

        whole = Survey.blank(self.shape, with_bits=bit_weights is not None)
        for rows, columns, part in self._on_parts(kernel):
            whole.add(part, rows, columns)
        return whole


def _if_few(weights: Floats) -> Bools | None:
    """The lines of weights that are not all zero, if these are few; it must not depend on how a matrix is stored."""
    weighted = np.asarray(weights.any(axis=1))
    return weighted if np.count_nonzero(weighted) <= _FEW_WANTED * weighted.size else None
