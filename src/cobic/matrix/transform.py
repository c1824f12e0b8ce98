"""What a transform makes of values before anything else is done with them: logarithms with a floor, standard scores."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from cobic.checks import is_number, require, require_choice
from cobic.matrix.base import Floats, Integers

if TYPE_CHECKING:
    from cobic.matrix.base import Matrix

TransformName = Literal["log2", "log1p", "standardise"]
TRANSFORMS: tuple[str, ...] = get_args(TransformName)

# Who checks a proof must have the numbers of who made it, but the last bits of a logarithm differ from computer to
# computer. So results are rounded to multiples of 2^-24, far below any measurement's error, and then to what float32
# holds: the same numbers stored as float32 or as float64 are the same problem.
_GRID = float(1 << 24)
_CLOSE = 2.0**-18  # of a step, to the middle of two: 16 times a logarithm's last bit up to 2^128; eight of a million
_DIGITS = Context(prec=34)  # twice those of a float64
_BEYOND_GRID = 2.0**28  # from here on float64 itself has no finer steps than the grid
_FARTHEST = 1000  # powers of two that can be multiplied with each other without overflow


@dataclass(frozen=True, eq=False)
class Transform:
    """A transform, with what it has learnt of the training samples: centre and scale of each feature to standardise."""

    name: str
    floor: float | None = None
    centre: Floats | None = None
    scale: Floats | None = None

    @classmethod
    def named(cls, name: Any, floor: Any = None) -> "Transform | None":
        """The transform that a caller asks for; None for none."""
        if name is None:
            message = f"floor is {floor!r}, but there is no transform: give transform='log2' as well, or leave it out"
            require(floor is None, message)
            return None
        require_choice("transform", name, TRANSFORMS)
        if floor is None:
            return cls(name)
        require(name != "standardise", f"floor is {floor!r}: there is none to standardise by, leave it out")
        least = "a finite number above 0" if name == "log2" else "a finite number of at least 0"
        inside = is_number(floor) and np.isfinite(floor) and (floor > 0 or (floor == 0 and name == "log1p"))
        require(inside, f"floor is {floor!r}: give {least}, what is below counts as it")
        return cls(name, float(floor))

    @property
    def words(self) -> str:
        """What it is, for a person."""
        return self.name if self.floor is None else f"{self.name} with floor {self.floor:g}"

    @property
    def keeps_zero(self) -> bool:
        """Whether zero stays zero, so that a sparse matrix stays sparse."""
        return (self.name, self.floor) in (("log1p", None), ("log1p", 0.0), ("log2", 1.0))

    def fitted(self, matrix: "Matrix") -> "Transform":
        """The same with centre and scale of the samples of a matrix, if it needs them.

        Sums go from sample to sample, whatever the matrix is stored as, and powers of two bring all features to the
        same size: the result has the same bits on every computer. Differences to the first sample make it exact for
        a constant feature, whose scale is 0.
        """
        if self.name != "standardise":
            return self
        n_samples, peaks = matrix.shape[0], matrix.peaks()[1]
        unit = np.ldexp(1.0, -np.clip(np.frexp(peaks)[1], -_FARTHEST, _FARTHEST))
        first = matrix.rows(np.array([0]))[0] * unit
        total, squares = np.zeros_like(first), np.zeros_like(first)
        for _, rows in matrix.row_blocks():
            for row in rows * unit:
                total += row - first
        centre = first + total / n_samples
        for _, rows in matrix.row_blocks():
            for row in rows * unit:
                squares += np.square(row - centre)
        return replace(self, centre=centre / unit, scale=np.sqrt(squares / n_samples) / unit)

    def part(self, columns: slice | Integers) -> "Transform":
        """The same for some of the features."""
        if self.centre is None or self.scale is None:
            return self
        return replace(self, centre=self.centre[columns], scale=self.scale[columns])

    def of(self, values: NDArray[Any], dtype: Any = np.float64) -> NDArray[Any]:
        """What becomes of values, features in columns; NaN where it is undefined, or the value not finite."""
        raw = np.asarray(values, dtype=np.float64)
        with np.errstate(all="ignore"):
            result = self._standardised(raw) if self.name == "standardise" else self._logarithm(raw)
            result[~np.isfinite(raw)] = np.nan
            narrow = result.astype(np.float32)
        return narrow if dtype == np.float32 else narrow.astype(np.float64)

    def _standardised(self, raw: Floats) -> Floats:
        if self.centre is None or self.scale is None:
            message = "centre and scale are those of training samples: fit it first"
            raise ValueError(message)
        result = np.divide(raw - self.centre, self.scale, out=np.zeros(raw.shape), where=self.scale > 0)
        return np.where(np.abs(result) < _BEYOND_GRID, np.rint(result * _GRID) / _GRID, result) + 0.0

    def _logarithm(self, raw: Floats) -> Floats:
        above = raw if self.floor is None else np.maximum(raw, self.floor)
        if self.name == "log2":
            return _on_grid(np.log2(above), above, _exact_log2)
        result = _on_grid(np.log1p(above), above, _exact_log1p)
        result[above < 0] = np.nan
        return result


def value_type(dtype: Any) -> np.dtype[Any]:
    """The type of the results for numbers of a type: float32 holds them all, float64 need not be widened."""
    return np.dtype(np.float32 if np.dtype(dtype).itemsize <= 4 else np.float64)


def _on_grid(logarithms: Floats, values: Floats, exact: Callable[[Decimal], Decimal]) -> Floats:
    """Logarithms rounded to the grid; those of values in the middle of two steps are computed with more digits."""
    steps = np.multiply(logarithms, _GRID, out=logarithms)
    rounded = np.rint(steps)
    steps -= rounded
    np.abs(steps, out=steps)
    steps -= 0.5
    close = np.abs(steps, out=steps) < _CLOSE
    if close.any():
        some, back = np.unique(values[close], return_inverse=True)
        found = [_DIGITS.multiply(exact(Decimal(value)), Decimal(_GRID)) for value in some.tolist()]
        rounded[close] = np.array([float(step.to_integral_value(ROUND_HALF_EVEN)) for step in found])[back]
    rounded /= _GRID
    rounded += 0.0  # no zero below zero
    return rounded


def _exact_log2(value: Decimal) -> Decimal:
    return _DIGITS.divide(_DIGITS.ln(value), _DIGITS.ln(Decimal(2)))


def _exact_log1p(value: Decimal) -> Decimal:
    return _DIGITS.ln(_DIGITS.add(value, Decimal(1)))
