"""From a rounded relaxation to a good panel: exchanges of features within their class.

The tail margin is concave in the margins: with the shares λ of the samples in the tail, an exchange raises it by at
most λ·(change of the margins). So only exchanges with a positive product are tried, the most promising first.
"""

import numpy as np

from cobic.certified.panel_offsets import fitted_offsets, refitted_shares, refitted_tail
from cobic.certified.panel_relaxation import Arena
from cobic.matrix import Bools, Floats, Integers

_TRIED = 2000  # exchanges that are judged exactly at a time
_GAIN = 1e-12  # of the largest margin: less is rounding


class PanelSwaps:
    """Exchanges among some of the features at hand, with the others as they are."""

    def __init__(self, arena: Arena, places: Integers) -> None:
        self._panel, self.places = arena.panel, places
        self._effects, self._base = arena.effects(places), arena.base_margins
        self._shift = np.zeros_like(self._base)  # by the offsets, fitted after each exchange
        self._groups = None if arena.groups is None else arena.groups[places]
        self._of_class = [np.flatnonzero(arena.classes[places] == cls) for cls in range(arena.counts.size)]

    def tail_margin(self, chosen: Bools) -> float:
        """Tail margin of the panel that holds some of the places."""
        if self._panel.offset:
            margins = self._base + self._effects[chosen].sum(axis=0)
            self._shift = self._panel.shift(fitted_offsets(self._panel, margins))
        return float(self._panel.tail_of(self._margins(chosen).min(axis=-1)))

    def _margins(self, chosen: Bools) -> Floats:
        margins: Floats = self._base + self._shift + self._effects[chosen].sum(axis=0)
        return margins

    def climb(self, chosen: Bools) -> tuple[Bools, float]:
        """Make the best exchange for as long as there is one; the panel and its tail margin."""
        chosen, least = chosen.copy(), _GAIN * self._panel.largest_margin
        value = self.tail_margin(chosen)
        while True:
            out, into = self._promising(chosen)
            if out.size == 0:
                return chosen, value
            margins = self._margins(chosen) + self._effects[into] - self._effects[out]
            values = refitted_tail(self._panel, margins.min(axis=-1))
            best = int(values.argmax())
            if values[best] <= value + least:
                return chosen, value
            chosen[out[best]], chosen[into[best]] = False, True
            value = self.tail_margin(chosen)

    def _allowed(self, chosen: Bools, out: Integers, into: Integers) -> Bools:
        """Which exchanges leave no more than one feature of each group."""
        if self._groups is None:
            return np.ones((1, 1), dtype=np.bool_)
        taken = np.isin(self._groups[into], self._groups[chosen])
        return np.asarray(~taken | (self._groups[out][:, None] == self._groups[into]))

    def _promising(self, chosen: Bools) -> tuple[Integers, Integers]:
        """Exchanges that may raise the tail margin: features that go, and those that come in their place."""
        margins = self._margins(chosen)
        rows = margins.argmin(axis=1)
        worst = margins[np.arange(rows.size), rows]
        scores = self._effects[:, np.arange(rows.size), rows] @ refitted_shares(self._panel, worst)
        gains, pairs = [], []
        for places in self._of_class:
            out, into = places[chosen[places]], places[~chosen[places]]
            gain = scores[into][None, :] - scores[out][:, None]
            first, second = np.nonzero((gain > 0) & self._allowed(chosen, out, into))
            gains.append(gain[first, second])
            pairs.append(np.stack([out[first], into[second]]))
        gain, pair = np.concatenate(gains), np.concatenate(pairs, axis=1)
        if gain.size > _TRIED:
            pair = pair[:, np.argpartition(-gain, _TRIED)[:_TRIED]]
        return pair[0], pair[1]
