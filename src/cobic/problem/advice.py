"""What values and classes look like, and which transform suits them: advice, which decides nothing."""

from collections.abc import Mapping

import numpy as np

from cobic.matrix import Floats, Matrix, SparseMatrix

_CELLS = 1 << 20  # values that are looked at, of samples across the table: a second on disk
LOGGED = 40.0  # the logarithm to base 2 of the largest measurement of any instrument is below
_SKEW = 2.0  # how much farther the upper twentieth is from the median than the lower: 1 for log data, 3 to 8 measured
_TWENTIETH = 0.05  # far enough out to tell skew, and there are values enough beyond


def transform_advice(matrix: Matrix) -> str:
    """One line for values that look like raw intensities or counts; empty for others.

    They are large, and far more spread above their median than below. With fewer features than samples, they must be
    counts: such tables rather hold quantities in several units, for which one logarithm means little.
    """
    values = _some(matrix)
    if values.size == 0 or values.max() <= LOGGED:
        return ""
    mostly_zero = bool(values.min() >= 0 and 5 * np.count_nonzero(values) < values.size)
    spread = values[values != 0] if mostly_zero else values
    low, median, high = np.quantile(spread, [_TWENTIETH, 0.5, 1 - _TWENTIETH])
    counts = values.min() >= 0 and bool((values == np.round(values)).all())
    if high - median <= _SKEW * (median - low) or not (counts or matrix.shape[1] >= matrix.shape[0]):
        return ""
    option = "--transform log2" + (f" --floor {_floor(values)}" if values.min() <= 0 else "")
    if mostly_zero or isinstance(matrix, SparseMatrix):
        option = "--transform log1p"  # it leaves zeros zero
    return f"these look like raw intensities or counts: consider {option}"


def class_advice(sizes: Mapping[str, int]) -> list[str]:
    """Sentences about classes that may be one, and about those of a single sample."""
    alike: dict[str, list[str]] = {}
    for name in sizes:
        alike.setdefault("".join(name.split()).casefold(), []).append(repr(name))
    told = [
        f"classes {' and '.join(names)} differ in case or blanks alone: write them alike if they are one"
        for names in alike.values()
        if len(names) > 1
    ]
    single = [repr(name) for name, size in sizes.items() if size == 1]
    if single:
        classes = f"class {single[0]} has" if len(single) == 1 else f"classes {', '.join(single)} have"
        told.append(f"{classes} one sample: nothing can be said about others of such a class")
    return told


def _some(matrix: Matrix) -> Floats:
    """The finite values of as many samples as are looked at, from the first to the last."""
    count = min(matrix.shape[0], max(1, _CELLS // matrix.shape[1]))
    values = matrix.rows(np.unique(np.linspace(0, matrix.shape[0] - 1, count).astype(np.intp)))
    return values[np.isfinite(values)]


def _floor(values: Floats) -> str:
    """What a twentieth of the values above zero are below, to one digit: by then there is nothing but noise."""
    low = float(np.quantile(values[values > 0], _TWENTIETH))
    return f"{float(f'{low:.0e}'):g}"
