"""What a method hands back, before it is judged."""

from dataclasses import dataclass
from typing import Any

from cobic.matrix import Bools
from cobic.result import Run


@dataclass(frozen=True)
class Outcome:
    """A selection and what the method can say about it.

    Attributes
    ----------
    support : ndarray of bool
        The selection; it may be inconsistent, the judge finds out.
    upper_bound : int or None
        A proven bound; None if the method has none of its own.
    objective_bound : float or None
        A proven bound on the objective with soft margins.
    runs : tuple of Run
        One entry per restart.
    reason : str
        A line for a person, where the judge's own would say less.
    certificate : dict or None
        Proof of the bound.
    """

    support: Bools
    upper_bound: int | None = None
    objective_bound: float | None = None
    runs: tuple[Run, ...] = ()
    reason: str = ""
    certificate: dict[str, Any] | None = None
