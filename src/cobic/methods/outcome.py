"""What a method hands back, before it is judged."""

from dataclasses import dataclass
from typing import Any

from cobic.matrix import Bools
from cobic.search.result import LeftOpenBy, Run


@dataclass(frozen=True)
class Outcome:
    """A selection and what the method can say about it."""

    support: Bools  # the selection; it may be inconsistent, the judge finds out
    upper_bound: int | None = None  # a proven bound; None if the method has none of its own
    objective_bound: float | None = None  # a proven bound on the objective with soft margins
    runs: tuple[Run, ...] = ()  # one entry per restart
    left_open_by: LeftOpenBy | None = None  # why a gap is left, where nothing cut the search short
    reason: str = ""  # a line for a person, where the judge's own would say less
    certificate: dict[str, Any] | None = None  # proof of the bound
