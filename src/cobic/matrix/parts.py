"""Matrices that are worked on part by part: an operation is a kernel on a part, and a sum over the parts in order."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from cobic.matrix.base import Bits, Bools, Floats, Matrix, Survey, fingerprint_weights
from cobic.matrix.pool import Room, in_order

Result = TypeVar("Result")
Kernel = Callable[[Any, slice, slice], Result]  # of the numbers of a part, its rows and its columns

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
    def _read(self, part: Any, room: Room | None) -> Iterable[tuple[slice, slice, Any]]:
        """Rows, columns and numbers of what a part consists of, in one form, in the room if there is one."""

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

    def _on_parts(self, kernel: Kernel[Result]) -> Iterator[tuple[slice, slice, Result]]:
        """What a kernel makes of each part, in their order, with its rows and columns."""
        if self._whole is not None:
            everything = slice(0, self.shape[0]), slice(0, self.shape[1])
            yield *everything, kernel(self._whole, *everything)
            return
        room = Room()

        def work(part: Any) -> list[tuple[slice, slice, Result]]:
            return [(rows, columns, kernel(values, rows, columns)) for rows, columns, values in self._read(part, room)]

        for results in in_order(work, self._parts, ahead=1 if self.costly else 2):
            yield from results

    def products(self, weights: Floats) -> Floats:
        if self._whole is not None:
            return self._times(self._whole, weights)
        weights, result = self._laid_out(weights), np.zeros((self.shape[0], weights.shape[1]))
        for rows, _, part in self._on_parts(lambda values, _, columns: self._times(values, weights[columns])):
            result[rows] += part
        return result

    def transposed_products(self, multipliers: Floats) -> Floats:
        if self._whole is not None:
            return self._times(self._whole.T, multipliers)
        multipliers, result = self._laid_out(multipliers), np.zeros((self.shape[1], multipliers.shape[1]))
        for _, columns, part in self._on_parts(lambda values, rows, _: self._times(values.T, multipliers[rows])):
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
        def kernel(values: Any, _: slice, columns: slice) -> Floats:
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
        def kernel(values: Any, rows: slice, _: slice) -> Survey:
            return self._survey_of(values, None if bit_weights is None else bit_weights[rows])

        whole = Survey.blank(self.shape, with_bits=bit_weights is not None)
        for rows, columns, part in self._on_parts(kernel):
            whole.add(part, rows, columns)
        return whole
