"""Writing down a proof so that anybody can check it: see `docs/certificate.md` for the format."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cobic.checker import FORMAT, VERSION
from cobic.matrix import Bools, Integers
from cobic.problem import Problem
from cobic.problem.identity import checksum, problem_parameters

Token = list[Any]


@dataclass(frozen=True)
class Multipliers:
    """One vector of multipliers in a proof; most of them are zero."""

    places: Integers  # running indices of those comparisons that have one
    values: Integers  # the λ there, whole numbers above zero
    # The σ to be used with them over a box of counts; any number up to 0 is right, a good one gives a tight bound
    slope: float

    @classmethod
    def of(cls, multipliers: Integers, slope: float) -> "Multipliers":
        """From all of them, (n_samples, n_comparisons)."""
        flat = multipliers.ravel()
        places = np.flatnonzero(flat)
        return cls(places, flat[places], slope)

    def dense(self, shape: tuple[int, int]) -> Integers:
        """All of them, (n_samples, n_comparisons)."""
        flat = np.zeros(shape[0] * shape[1], dtype=np.int64)
        flat[self.places] = self.values
        return flat.reshape(shape)


def make_certificate(
    problem: Problem,
    support: Bools | None,
    upper_bound: int,
    cuts: Sequence[Multipliers],
    tree: Sequence[Token],
    objective_bound: float | None = None,
) -> dict[str, Any]:
    """Put a proof together."""
    used = sorted({token[1] for token in tree if token[0] in ("cut", "fix")})
    place = {cut: index for index, cut in enumerate(used)}
    certificate: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "data": problem.digest,
        "problem": problem_parameters(problem),
        "selected": [] if support is None else np.flatnonzero(support).tolist(),
        "upper_bound": upper_bound,
        "objective_bound": upper_bound if objective_bound is None else objective_bound,
        "multipliers": [_pairs(cuts[cut]) for cut in used],
        "slopes": [cuts[cut].slope for cut in used],
        "tree": [[token[0], place[token[1]]] if token[0] in ("cut", "fix") else token for token in tree],
    }
    return {**certificate, "checksum": checksum(certificate)}


def _pairs(cut: Multipliers) -> list[list[int]]:
    return [[place, value] for place, value in zip(cut.places.tolist(), cut.values.tolist(), strict=True)]
