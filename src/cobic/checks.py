"""Checks of single parameters that several rooms make, each in the same words."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from cobic.errors import InputError

_PER_CORE = 8  # processes: more of them wait for each other, each with a hundred megabytes


def is_whole(value: Any) -> bool:
    """Tell whether a value is a whole number; True and False are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Tell whether a value is a real number other than NaN; True and False are none."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool) and value == value


def require(holds: object, message: str, error: type[InputError] = InputError) -> None:
    """Raise an error with the message unless something holds."""
    if not holds:
        raise error(message)


def require_whole(name: str, value: Any, least: int, most: float = float("inf")) -> int:
    """Return a whole number from `least` to `most`, or raise `InputError`."""
    if not is_whole(value) or not least <= value <= most:
        limit = f" and at most {most}" if is_whole(value) and value > most else ""
        message = f"{name} is {value!r}: give a whole number of at least {least}{limit}"
        raise InputError(message)
    return int(value)


def require_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise `InputError` for a word that is not one of the choices."""
    if value not in choices:
        message = f"{name} is {value!r}: choose one of {', '.join(choices)}"
        raise InputError(message)


def require_processes(said: str, count: int) -> None:
    """Refuse to start so many processes that the machine does nothing else."""
    most = _PER_CORE * (os.cpu_count() or 1)
    require(count <= most, f"{said}: this machine bears {most} processes at most; as many as it has cores are quickest")


def require_jobs(n_jobs: Any) -> None:
    """Raise `InputError` for a number of processes that joblib does not know, or that no machine bears."""
    if is_whole(n_jobs):
        require_processes(f"n_jobs is {n_jobs}", n_jobs)
    if n_jobs is not None and (not is_whole(n_jobs) or n_jobs == 0):
        message = f"n_jobs is {n_jobs!r}: give a whole number above 0, -1 for all processors, or None for one"
        raise InputError(message)
