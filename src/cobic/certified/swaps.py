"""Exchanges of features near the thresholds: from a rounded relaxation to a consistent selection with the same counts.

All exchanges of one feature for another of its class are judged at once. With the energy Σ_j exp(−margin_j / τ), what
an exchange of i for o leaves is

    Σ_j  [ exp(−margin_j / τ) · exp(d_ij / τ) ] · exp(−d_oj / τ),        d_i = what feature i adds to the margins,

one matrix product for all pairs. The best exchange is made, whether or not it is an improvement; features that have
just moved stay for a few steps (tabu search), and τ falls from a few typical effects to a fraction of one.
"""

import numpy as np

from cobic.certified.effort import DEFAULT, Effort
from cobic.matrix import Bools, Floats, Integers

_STEEPEST = 40.0  # exponents are kept within what float32 can hold


class Swaps:
    """Exchanges among some features."""

    def __init__(
        self, effects: Floats, classes: Integers, selected: Bools, margins: Floats, effort: Effort = DEFAULT
    ) -> None:
        self._effort = effort
        moving = np.abs(effects[effects != 0])
        unit = float(np.median(moving)) if moving.size else 1.0
        self._effects: Floats = effects / unit
        self._margins: Floats = margins / unit
        self._largest: Floats = np.abs(self._effects).max(axis=0, initial=0.0)  # effect on each margin
        self._selected = selected
        self._places = [np.flatnonzero(classes == cls) for cls in np.unique(classes)]

    def cool(self, rng: np.random.Generator, turn: int) -> Bools | None:
        """One cooling: which features are selected when all margins are positive; None if it does not come to that."""
        effort, selected, margins = self._effort, self._selected.copy(), self._margins.copy()
        stays = np.zeros(selected.size, dtype=np.int64)
        step = 0
        for tau in np.geomspace(rng.uniform(*effort.hot), effort.cold, effort.temperatures):
            rows = self._within_reach(margins, tau)
            grown = self._grown(rows, tau)
            for _ in range(min(effort.exchanges << turn, effort.most_exchanges)):
                if margins.min() > 0:
                    return selected
                if not rows[margins.argmin()]:
                    rows |= self._within_reach(margins, tau)
                    grown = self._grown(rows, tau)
                step += 1
                energy = np.exp(np.maximum((margins.min() - margins[rows]) / tau, -_STEEPEST)).astype(np.float32)
                exchange = self._best(grown * energy, 1.0 / grown, selected, stays < step)
                if exchange is None:
                    return None
                out, into = exchange
                selected[out], selected[into] = False, True
                margins += self._effects[into] - self._effects[out]
                stays[[out, into]] = step + rng.integers(effort.tenure, 2 * effort.tenure + 1, 2)
        return None

    def _within_reach(self, margins: Floats, tau: float) -> Bools:
        """Margins that one exchange can make the worst one, or nearly so at this temperature."""
        return np.asarray(margins <= margins.min() + 2.0 * self._largest + self._effort.swap_reach * tau)

    def _grown(self, rows: Bools, tau: float) -> Floats:
        """By what taking a feature out multiplies the energy of some margins."""
        return np.exp(np.clip(self._effects[:, rows] / tau, -_STEEPEST, _STEEPEST)).astype(np.float32)

    def _best(self, grown: Floats, shrunk: Floats, selected: Bools, free: Bools) -> tuple[int, int] | None:
        """The exchange of two free features of a class that leaves the least energy."""
        best: tuple[float, int, int] | None = None
        for places in self._places:
            movable = places[free[places]]
            outgoing, incoming = movable[selected[movable]], movable[~selected[movable]]
            if outgoing.size == 0 or incoming.size == 0:
                continue
            left = grown[outgoing] @ shrunk[incoming].T
            at = int(left.argmin())
            if best is None or left.flat[at] < best[0]:
                best = (float(left.flat[at]), int(outgoing[at // incoming.size]), int(incoming[at % incoming.size]))
        return None if best is None else best[1:]
