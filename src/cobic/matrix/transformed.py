"""Matrices on disk whose values go through a transform as they are read, piece by piece."""

from typing import Any

from numpy.typing import NDArray

from cobic.errors import InputError
from cobic.matrix.base import Integers
from cobic.matrix.stored import Form, compressed
from cobic.matrix.transform import Transform, value_type


class _Transformed:
    """What both forms have in common."""

    def __init__(self, source: Any, transform: Transform) -> None:
        self._source, self._transform = source, transform
        self.shape, self.costly, self.nbytes = source.shape, source.costly, source.nbytes
        self.words = f"{source.words}, {transform.words}"
        self.dtype = value_type(source.dtype)


class TransformedArray(_Transformed):
    """A dense array on disk."""

    def read(self, rows: slice, columns: slice) -> NDArray[Any]:
        """A rectangle."""
        return self._transform.part(columns).of(self._source.read(rows, columns), self.dtype)

    def rows(self, index: Integers) -> NDArray[Any]:
        """Some rows."""
        return self._transform.of(self._source.rows(index), self.dtype)

    def columns(self, index: Integers) -> NDArray[Any]:
        """Some columns."""
        return self._transform.part(index).of(self._source.columns(index), self.dtype)

    def selected(self, index: Integers) -> NDArray[Any]:
        """Some columns, which are not kept for the next time."""
        return self._transform.part(index).of(self._source.selected(index), self.dtype)

    def take(self, index: Integers) -> "TransformedArray":
        """Some rows; nothing is read."""
        return TransformedArray(self._source.take(index), self._transform)

    def tiles_per_block(self, tile: tuple[int, int]) -> tuple[int, int]:
        """As many tiles as are read together."""
        size: tuple[int, int] = self._source.tiles_per_block(tile)
        return size


class TransformedSparse(_Transformed):
    """A csr or csc matrix on disk; its zeros stay zeros."""

    def __init__(self, source: Any, transform: Transform) -> None:
        require_zeros(transform)
        super().__init__(source, transform)
        self.form: Form = source.form

    @property
    def indptr(self) -> Integers:
        """Where each line begins."""
        begins: Integers = self._source.indptr
        return begins

    def band(self, part: slice) -> Any:
        """Some rows of csr, or columns of csc."""
        return transformed_entries(self._source.band(part), self._transform)

    def lines(self, index: Integers) -> Any:
        """Any rows of csr, or columns of csc."""
        return transformed_entries(self._source.lines(index), self._transform)

    def take(self, index: Integers) -> "TransformedSparse":
        """Some rows; nothing is read."""
        return TransformedSparse(self._source.take(index), self._transform)


def transformed_entries(band: Any, transform: Transform) -> Any:
    """A csr or csc matrix with transformed entries, each of which it has once; the places are shared."""
    data = transform.of(band.data, value_type(band.dtype))
    return compressed(band.format, data, band.indices, band.indptr, band.shape)


def require_zeros(transform: Transform) -> None:
    """Refuse a transform that would leave no zeros in a sparse matrix."""
    if not transform.keeps_zero:
        message = (
            f"X is sparse, and {transform.words} leaves no zeros in it: take transform='log1p', or 'log2' with "
            "floor=1, or give a dense X"
        )
        raise InputError(message)
