"""From a rounded relaxation to a good panel: exchanges of features within their class.

The tail margin is concave in the margins: with the shares λ of the samples in the tail, an exchange raises it by at
most λ·(change of the margins). So only exchanges with a positive product are tried, the most promising first.
"""

import numpy as np

from cobic.certified.panel_offsets import fitted_offsets, refitted_shares, refitted_tail
from cobic.certified.panel_relaxation import Arena
from cobic.matrix import Bools, Floats, Integers

_TRIED, _LEAST_TRIED = 2000, 64  # exchanges that are judged exactly, the first where samples are few
_TRIED_AT_LAST = 40_000  # the same for a panel that is better than all before: nearly every exchange
_CELLS_TRIED = 1 << 25  # of these and comparisons: about a second
_CELLS_AT_A_TIME = 1 << 22  # 32 MB
_GAIN = 1e-12  # of the largest margin: less is rounding


class PanelSwaps:
    """Exchanges among some of the features at hand, with the others as they are."""

    def __init__(self, arena: Arena, places: Integers) -> None:
        self._panel, self.places, self._comparisons = arena.panel, places, arena.panel.problem.comparisons
        self._classes, self._base = arena.classes[places], arena.base_means
        self._means = arena.columns[places] / arena.counts[self._classes][:, None]  # what each adds to a mean
        self._fits = arena.panel.offset and arena.counts.size > 2  # offsets; those of two classes take no fitting
        self._offsets, self._shift = np.zeros(arena.counts.size), np.zeros(self._comparisons.other.shape)
        self._groups = None if arena.groups is None else arena.groups[places]
        self._of_class = [np.flatnonzero(self._classes == cls) for cls in range(arena.counts.size)]
        self._budget = arena.budget
        self._limit(_TRIED)

    def _limit(self, tried: int) -> None:
        """Say how many exchanges are judged."""
        cells = self._comparisons.other.size
        self._tried = int(np.clip(_CELLS_TRIED // cells, _LEAST_TRIED, tried))
        self._at_a_time = int(np.clip(_CELLS_AT_A_TIME // cells, 1, self._tried))

    def polish(self, chosen: Bools) -> Bools:
        """Climb by all exchanges."""
        self._limit(_TRIED_AT_LAST)
        better, _ = self.climb(chosen)
        self._limit(_TRIED)
        return better

    def tail_margin(self, chosen: Bools) -> float:
        """Tail margin of the panel that holds some of the places; offsets are fitted to it."""
        if self._fits:
            plain = self._margins(chosen) - self._shift
            self._offsets = fitted_offsets(self._panel, plain, self._offsets)
            self._shift = self._panel.shift(self._offsets)
        return float(refitted_tail(self._panel, self._margins(chosen).min(axis=-1)))

    def _margins(self, chosen: Bools) -> Floats:
        parts = [self._means[places[chosen[places]]].sum(axis=0) for places in self._of_class]
        return self._comparisons.margins(self._base + np.stack(parts, axis=1)) + self._shift

    def climb(self, chosen: Bools) -> tuple[Bools, float]:
        """Make the best exchange for as long as there is one; the panel and its tail margin."""
        chosen, least = chosen.copy(), _GAIN * self._panel.largest_margin
        value = self.tail_margin(chosen)
        while not self._budget.exhausted():
            exchange, better = self._best_exchange(chosen, value + least)
            if exchange is not None:
                chosen[exchange[0]], chosen[exchange[1]] = False, True
            elif not self._fits or (better := self.tail_margin(chosen)) <= value + least:
                break  # with offsets, exchanges were judged at the same ones
            value = better
        return chosen, value

    def _allowed(self, chosen: Bools, out: Integers, into: Integers) -> Bools:
        """Which exchanges leave no more than one feature of each group."""
        if self._groups is None:
            return np.ones((1, 1), dtype=np.bool_)
        taken = np.isin(self._groups[into], self._groups[chosen])
        return np.asarray(~taken | (self._groups[out][:, None] == self._groups[into]))

    def _best_exchange(self, chosen: Bools, least: float) -> tuple[tuple[int, int] | None, float]:
        """The best of the most promising exchanges that raise the tail margin above a level, and what it becomes."""
        margins = self._margins(chosen)
        out, into = self._promising(chosen, margins)
        for start in range(0, out.size, self._at_a_time):
            part = slice(start, start + self._at_a_time)
            values = refitted_tail(self._panel, self._changed(margins, out[part], into[part]).min(axis=-1))
            best = int(values.argmax())
            if values[best] > least:
                return (int(out[start + best]), int(into[start + best])), float(values[best])
        return None, least

    def _changed(self, margins: Floats, out: Integers, into: Integers) -> Floats:
        """Margins (…, n, c) after exchanges."""
        found = np.empty((out.size, *margins.shape))
        for cls in np.unique(self._classes[out]):
            mine = np.flatnonzero(self._classes[out] == cls)
            change = self._means[into[mine]] - self._means[out[mine]]
            found[mine] = margins + change[:, :, None] * self._comparisons.coefficients(int(cls))
        return found

    def _promising(self, chosen: Bools, margins: Floats) -> tuple[Integers, Integers]:
        """Exchanges that may raise the tail margin, best first: features that go, and those that come instead."""
        rows = margins.argmin(axis=1)
        sample, shares = np.arange(rows.size), np.zeros(margins.shape)
        shares[sample, rows] = refitted_shares(self._panel, margins[sample, rows])
        pull = self._comparisons.pull(shares)
        gains, pairs = [], []
        for cls, places in enumerate(self._of_class):
            scores = self._means[places] @ pull[:, cls]
            out, into = np.flatnonzero(chosen[places]), np.flatnonzero(~chosen[places])
            gain = scores[into][None, :] - scores[out][:, None]
            first, second = np.nonzero((gain > 0) & self._allowed(chosen, places[out], places[into]))
            gains.append(gain[first, second])
            pairs.append(np.stack([places[out[first]], places[into[second]]]))
        gain, pair = np.concatenate(gains), np.concatenate(pairs, axis=1)
        if gain.size > self._tried:
            best = np.argpartition(-gain, self._tried)[: self._tried]
            gain, pair = gain[best], pair[:, best]
        pair = pair[:, np.argsort(-gain, kind="stable")]
        return pair[0], pair[1]
