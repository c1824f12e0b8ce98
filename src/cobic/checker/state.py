"""A node of a proof: what is known about the selections it stands for."""

from dataclasses import dataclass, field, replace

import numpy as np

from cobic.matrix import Floats, Integers


class Refuted(Exception):
    """Something in the certificate does not hold."""


def require(holds: bool, fault: str) -> None:  # noqa: FBT001
    """Go on only with what holds."""
    if not holds:
        raise Refuted(fault)


@dataclass(frozen=True)
class State:
    """A node of the tree: a box of counts, and which features are decided.

    `inside` are the features that are in, `n_in` their numbers by class, `sums` for each sample their sums by class;
    `free` are the features that are undecided. A node is `void` if it contradicts what is decided: nothing is left to
    show.
    """

    low: Integers
    high: Integers
    free: Integers
    inside: Integers
    n_in: Integers
    sums: Floats = field(repr=False)
    void: bool = False

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return self.free.nbytes + self.inside.nbytes + self.sums.nbytes

    @property
    def empty(self) -> bool:
        """Whether no counts are left."""
        return bool((self.low > self.high).any())

    @property
    def one_count(self) -> bool:
        """Whether the counts are settled."""
        return bool((self.low == self.high).all())


def within_total(state: State, total: int, *, beyond: bool) -> State:
    """The box cut down to the counts that can be part of the total, or of a larger one."""
    low = np.maximum(state.low, total - (state.high.sum() - state.high))
    if beyond:
        return replace(state, low=low)
    high = np.minimum(state.high, total - (state.low.sum() - state.low))
    return replace(state, low=low, high=high)
