"""From a fractional panel to a panel: the largest shares are in, one feature of each group at most."""

from collections.abc import Iterator

import numpy as np

from cobic.certified.fixing import FREE, IN, Values
from cobic.certified.looks import largest
from cobic.certified.panel_relaxation import Arena, PanelRelaxed
from cobic.matrix import Bools, Floats, Integers

_FRACTIONAL = 1e-6  # away from 0 and 1: less is the tolerance of the solver
_TAKEN = 8  # one part in so many of the shares is taken at a time: the program makes up for what that costs


def rounded(arena: Arena, x: Floats, values: Values) -> Bools | None:
    """The panel that holds the largest shares of a fractional one; None if groups get in the way."""
    if arena.groups is not None:
        return _one_of_each(arena, arena.groups, x, values)
    chosen: Bools = values == IN
    for cls, wanted in enumerate(arena.missing(values)):
        free = np.flatnonzero((values == FREE) & (arena.classes == cls))
        chosen[free[largest(x[free], int(wanted))]] = True
    return chosen


def _one_of_each(arena: Arena, groups: Integers, x: Floats, values: Values) -> Bools | None:
    """The same, one feature of each group at most."""
    chosen: Bools = values == IN
    missing, taken = arena.missing(values), set(groups[chosen].tolist())
    free = np.flatnonzero(values == FREE)
    for place in free[np.argsort(-x[free], kind="stable")].tolist():
        cls, group = arena.classes[place], int(groups[place])
        if missing[cls] > 0 and group not in taken:
            chosen[place] = True
            missing[cls] -= 1
            taken.add(group)
    return None if missing.any() else chosen


def dive(arena: Arena, found: PanelRelaxed, values: Values, level: float) -> Iterator[tuple[PanelRelaxed, Values]]:
    """Take the largest shares in, a few at a time, and let the program make up for it: each relaxation on the way."""
    values = values.copy()
    while not arena.budget.exhausted():
        shares = np.flatnonzero((values == FREE) & (found.x > _FRACTIONAL) & (found.x < 1.0 - _FRACTIONAL))
        if shares.size == 0 or not arena.take(values, shares[largest(found.x[shares], max(1, shares.size // _TAKEN))]):
            return
        deeper = arena.relax(values, found.bound.losses, level)
        if deeper is None or deeper.bound.closes:
            return
        found = deeper
        yield found, values


def held_twice(arena: Arena, x: Floats, values: Values) -> Integers:
    """Undecided features of groups that a panel of whole shares holds twice, in different classes."""
    if arena.groups is None:
        return np.zeros(0, dtype=np.intp)
    held = np.flatnonzero((values == FREE) & (x > 0.5))
    _, number, sizes = np.unique(arena.groups[held], return_inverse=True, return_counts=True)
    return held[sizes[number] > 1]
