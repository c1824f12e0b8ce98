"""What a caller gives for a problem, checked: margins, names, numbers that must be finite."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cobic.errors import InputError
from cobic.matrix import Bools, Floats, Matrix, Transform

Names = tuple[str, ...] | None


def margin_vector(name: str, value: ArrayLike, least: float, n_samples: int) -> Floats:
    """One margin per sample, out of one number or one per sample."""
    try:
        if np.asarray(value).dtype.kind in "SU":
            raise TypeError
        given = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        message = f"{name} is {value!r}: give a number of at least {least:g}, or one per sample"
        raise InputError(message) from None
    if given.ndim > 1 or (given.ndim == 1 and given.size != n_samples):
        message = f"{name} has shape {given.shape} for {n_samples} samples: give one number, or one per sample"
        raise InputError(message)
    vector = np.broadcast_to(given, (n_samples,)).copy()
    wrong = np.flatnonzero(~((vector >= least) & np.isfinite(vector)))
    if wrong.size:
        place = "" if given.ndim == 0 else f" for sample {wrong[0]}"
        message = f"{name} is {vector[wrong[0]]:g}{place}: it must be a finite number of at least {least:g}"
        raise InputError(message)
    return vector


def names_along(name: str, given: Sequence[str] | None, X: Any, axis: str, size: int) -> Names:
    """Names along an axis of the data: those given, or those of a data frame."""
    names = frame_names(X, axis) if given is None else given
    if names is None:
        return None
    if len(names) != size:
        message = f"{name} has {len(names)} names for {size}"
        raise InputError(message)
    return tuple(str(each) for each in names)


def frame_names(X: Any, axis: str) -> Sequence[Any] | None:
    """Names along an axis ("columns" or "index") of a data frame; None if it has none but a running number."""
    names = getattr(X, axis, None) if hasattr(X, "columns") and not isinstance(X, Matrix) else None
    if names is None or type(names).__name__ == "RangeIndex":
        return None
    return list(names)


def require_finite(matrix: Matrix, sample_names: Names, feature_names: Names) -> None:
    """Refuse missing and infinite values, and name the first."""
    bad = matrix.first_not_finite()
    if bad is None:
        return
    what = "a missing value (NaN)" if np.isnan(bad[2]) else "an infinite value"
    message = (
        f"X has {what} at {_place(bad, sample_names, feature_names)}: impute it first, for example with "
        "sklearn.impute.SimpleImputer, or leave the feature out"
    )
    raise InputError(message)


def transformed(
    raw: Matrix, transform: Transform | None, sample_names: Names, feature_names: Names
) -> tuple[Transform | None, Matrix]:
    """The transform, fitted to the samples, and what it makes of them; refuse values that it is not defined for."""
    if transform is None or transform.name == "standardise":
        require_finite(raw, sample_names, feature_names)
    if transform is None:
        return None, raw
    transform = transform.fitted(raw)
    matrix = raw.transformed(transform)
    bad = matrix.first_not_finite()
    if bad is not None:
        value = float(raw.rows(np.array([bad[0]]))[0, bad[1]])
        if not np.isfinite(value):
            require_finite(raw, sample_names, feature_names)
        raise InputError(undefined(transform, value, f"X at {_place(bad, sample_names, feature_names)}"))
    return transform, matrix


def undefined(transform: Transform, value: float, where: str, cure: str = "give") -> str:
    """What to say of a value that a transform is not defined for."""
    if transform.name == "standardise":
        return f"{where} is {value:g}, too large to be standardised: divide the feature by a power of ten first"
    floor = 20 if transform.name == "log2" else 0
    return f"{where} is {value:g}, which has no {transform.name}: {cure} floor={floor}, what is below counts as {floor}"


def _place(at: tuple[int, int, float], sample_names: Names, feature_names: Names) -> str:
    sample, feature = (
        f"{place}" if names is None else f"{place} ({names[place]!r})"
        for place, names in zip(at[:2], (sample_names, feature_names), strict=True)
    )
    return f"sample {sample}, feature {feature}"


def support_mask(support: ArrayLike, n_features: int) -> Bools:
    """A selection as a boolean mask over the features."""
    try:
        mask = np.asarray(support)
    except ValueError:
        message = "the selection is a list of lists of different lengths: give one entry per feature"
        raise InputError(message) from None
    if mask.shape != (n_features,):
        message = f"the selection has shape {mask.shape}, not ({n_features},): one entry per feature"
        raise InputError(message)
    if mask.dtype != np.bool_ and not np.isin(mask, (0, 1)).all():
        message = "the selection must be a mask of true/false (or 0/1) values, one per feature"
        raise InputError(message)
    return mask.astype(np.bool_, copy=False)
