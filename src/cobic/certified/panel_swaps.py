"""From a rounded relaxation to a good panel: exchanges of features within their class, one or two at a time.

A tail margin is the least Σ λ·margin over shares λ of the samples up to their caps. With τ times the entropy of λ taken
off it becomes smooth, and its shares are known: λ ∝ exp(−margin / τ), cut off at the caps. An exchange that changes
margins by Δ leaves about Σ λ·exp(−Δ/τ) over the shares that are not cut off, and −Σ λ·Δ/τ over the others: for all
exchanges of a class, and for all pairs of the best exchanges, that is one matrix product. Steepest descent at falling
temperatures ends where no two exchanges help. A few good ones at random lead to another place to climb from.
"""

from collections.abc import Iterator

import numpy as np

from cobic.certified.effort import Effort
from cobic.certified.looks import largest
from cobic.certified.panel_offsets import fitted_offsets, parts_of_tail, refitted_tail
from cobic.certified.panel_relaxation import Arena
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import PanelProblem

_STEEPEST = 40.0  # exponents are kept within what float32 can hold
_UNDERFLOW = 600.0  # the same for float64
_GAIN = 1e-12  # of the largest margin: less is rounding

Exchanges = tuple[Integers, Integers]  # features that go, and those that come instead, one by one


class PanelSwaps:
    """Exchanges among some of the features at hand, with the others as they are."""

    def __init__(self, arena: Arena, places: Integers, effort: Effort) -> None:
        self._panel, self.places, self._comparisons = arena.panel, places, arena.panel.problem.comparisons
        self._effort, self._budget = effort, arena.budget
        self._classes, self._base = arena.classes[places], arena.base_means
        self._means = arena.columns[places] / arena.counts[self._classes][:, None]  # what each adds to a mean
        self._fits = arena.panel.offset and arena.counts.size > 2  # offsets; those of two classes take no fitting
        self._offsets, self._shift = np.zeros(arena.counts.size), np.zeros(self._comparisons.other.shape)
        self._groups = None if arena.groups is None else arena.groups[places]
        self._of_class = [np.flatnonzero(self._classes == cls) for cls in range(arena.counts.size)]
        sizes = np.abs(self._means[self._means != 0])
        self._unit = float(np.median(sizes)) if sizes.size else 1.0
        self._least = _GAIN * self._panel.largest_margin
        self._known: dict[float, Floats] = {}  # what the places add to all comparisons, at each temperature
        rows = min(self._shift.size, max(effort.panel_swap_cells // max(places.size, 1), 1))
        self._n_few = int(np.clip(effort.panel_pair_cells // rows, effort.panel_fewest, effort.panel_most))

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
        """The best panel on the way down through all temperatures, and its tail margin."""
        best, value = chosen, self.tail_margin(chosen)
        for heat in self._effort.panel_heats:
            for found in self._descent(chosen, heat * self._unit):
                chosen, now = found, self.tail_margin(found)
                if now > value + self._least:
                    best, value = chosen, now
        return best, value

    def elsewhere(self, chosen: Bools, rng: np.random.Generator) -> Bools:
        """A panel near another one: some good exchanges at random."""
        for _ in range(self._effort.panel_kick):
            (out, into), _ = self._singles(chosen, self._tangent(chosen, self._effort.panel_heats[0] * self._unit))
            if out.size:
                at = [rng.integers(out.size)]
                chosen = _exchanged(chosen, (out[at], into[at]))
        return chosen

    def _descent(self, chosen: Bools, tau: float) -> Iterator[Bools]:
        """The panels on the way to where no two exchanges help at a temperature."""
        tangent = self._tangent(chosen, tau)
        while not self._budget.exhausted() and (best := self._best(chosen, tangent)) is not None:
            chosen, before = _exchanged(chosen, best), tangent.value
            tangent = self._tangent(chosen, tau)
            if tangent.value <= before + self._least:
                return
            yield chosen

    def _tangent(self, chosen: Bools, tau: float) -> "_Tangent":
        """How the smooth tail margin changes near a panel; of too many comparisons those count that weigh most."""
        margins = self._margins(chosen)
        shares, cut = _smooth_shares(self._panel, margins, tau)
        weights, rows = shares.ravel(), np.arange(shares.size)
        most = max(self._effort.panel_swap_cells // max(chosen.size, 1), 1)
        if rows.size > most:
            rows = largest(weights, most)
        entropy = float((weights[weights > 0] * np.log(weights[weights > 0])).sum())
        fixed = np.repeat(cut, shares.shape[1])[rows]
        effects = self._effects(rows) / tau if rows.size < weights.size or tau not in self._known else self._known[tau]
        if rows.size == weights.size:
            self._known[tau] = effects
        return _Tangent(
            float((margins * shares).sum()) + tau * entropy,
            np.where(fixed, 0.0, weights[rows]),
            np.where(fixed, weights[rows], 0.0),
            effects,
        )

    def _effects(self, rows: Integers) -> Floats:
        """What the places add to some comparisons."""
        sample, effects = rows // self._comparisons.other.shape[1], np.empty((self.places.size, rows.size))
        for cls, mine in enumerate(self._of_class):
            effects[mine] = self._means[mine][:, sample] * self._comparisons.coefficients(cls).ravel()[rows]
        return effects

    def _singles(self, chosen: Bools, tangent: "_Tangent") -> tuple[Exchanges, Floats]:
        """The best exchanges, and what each leaves."""
        outs, intos, left = [], [], []
        for places in self._of_class:
            out, into = places[chosen[places]], places[~chosen[places]]
            energy = np.where(self._allowed(chosen, out, into), tangent.of_all(out, into), np.inf)
            few = largest(-energy.ravel(), self._n_few)
            outs.append(out[few // max(into.size, 1)])
            intos.append(into[few % max(into.size, 1)])
            left.append(energy.ravel()[few])
        out, into, energy = (np.concatenate(each) for each in (outs, intos, left))
        few = largest(-energy, self._n_few)
        few = few[np.isfinite(energy[few])]
        return (out[few], into[few]), energy[few]

    def _best(self, chosen: Bools, tangent: "_Tangent") -> Exchanges | None:
        """The best exchange, or two at once, if any promises to help."""
        (out, into), energy = self._singles(chosen, tangent)
        if out.size == 0:
            return None
        both = tangent.of_pairs(out, into)
        both[(out[:, None] == out) | (into[:, None] == into)] = np.inf
        if self._groups is not None:
            both[self._groups[into][:, None] == self._groups[into]] = np.inf
        np.fill_diagonal(both, energy)
        at = int(both.argmin())
        if not both.flat[at] < tangent.here:
            return None
        pair = np.unique(divmod(at, out.size))
        return out[pair], into[pair]

    def _allowed(self, chosen: Bools, out: Integers, into: Integers) -> Bools:
        """Which exchanges leave no more than one feature of each group."""
        if self._groups is None:
            return np.ones((out.size, into.size), dtype=np.bool_)
        taken = np.isin(self._groups[into], self._groups[chosen])
        return np.asarray(~taken | (self._groups[out][:, None] == self._groups[into]))


class _Tangent:
    """What exchanges leave of Σ λ·exp(−Δ/τ), or of −Σ λ·Δ/τ where shares are cut off."""

    def __init__(self, value: float, loose: Floats, fixed: Floats, effects: Floats) -> None:
        self.value = value  # the smooth tail margin
        self._loose, self._effects, self._line = loose.astype(np.float32), effects, effects @ fixed
        self._grown = np.exp(np.clip(effects, -_STEEPEST, _STEEPEST)).astype(np.float32)
        self.here = float(self._loose.sum())

    def of_all(self, out: Integers, into: Integers) -> Floats:
        """After all exchanges of some features for others."""
        energy = (self._grown[out] * self._loose) @ (1.0 / self._grown[into]).T
        return np.asarray(energy + (self._line[out][:, None] - self._line[into]))

    def of_pairs(self, out: Integers, into: Integers) -> Floats:
        """After any two of some exchanges."""
        change, line = self._grown[out] / self._grown[into], self._line[out] - self._line[into]
        with np.errstate(over="ignore"):
            return np.asarray((change * self._loose) @ change.T + (line[:, None] + line))


def _exchanged(chosen: Bools, exchanges: Exchanges) -> Bools:
    """A panel after exchanges."""
    chosen = chosen.copy()
    chosen[exchanges[0]], chosen[exchanges[1]] = False, True
    return chosen


def _smooth_shares(panel: PanelProblem, margins: Floats, tau: float) -> tuple[Floats, Bools]:
    """The shares (n, c) of a smooth tail at some margins, and which samples have theirs cut off."""
    shares, cut = np.zeros(margins.shape), np.zeros(margins.shape[0], dtype=np.bool_)
    for mine, caps, total in parts_of_tail(panel):
        worst = margins[mine].min()
        weights = np.exp(np.maximum((worst - margins[mine]) / tau, -_UNDERFLOW))
        of_sample = weights.sum(axis=1)
        full, scale = np.zeros(of_sample.size, dtype=np.bool_), total / of_sample.sum()
        while caps is not None and (more := ~full & (scale * of_sample > caps)).any():
            full |= more
            scale = max(total - caps[full].sum(), 0.0) / max(of_sample[~full].sum(), np.finfo(np.float64).tiny)
        amounts = scale * of_sample if caps is None else np.where(full, caps, scale * of_sample)
        shares[mine], cut[mine] = weights * (amounts / of_sample)[:, None], full
    return shares, cut
