"""The offsets of a panel: constants, one per class, with which its tail margin is largest.

It is a concave function of them, made of pieces that are linear. With two classes half of the tail belongs to each of
them, whatever the offset, which gives it in closed form. With more, the pieces met so far are a small linear program.
"""

import numpy as np

from cobic.matrix import Bools, Floats, Integers
from cobic.problem import PanelProblem
from cobic.problem.panel import tail_mean, tail_shares
from cobic.search.budget import Budget
from cobic.search.lp import LpSolver
from cobic.search.program import Entries, LinearProgram

_STEPS = 200  # pieces that are looked at, of which ten per class are usual
_NEAR = 0.02  # of the largest margin: how far from the best offsets so far the first steps go; later ones go further
_CLOSE = 1e-10  # of the largest margin: no piece promises more
_SHARE = 1e-12  # of the tail: less is rounding


def fitted_offsets(panel: PanelProblem, margins: Floats, start: Floats | None = None) -> Floats:
    """The best offsets (k,) for margins (n, c), the first of them 0."""
    if panel.problem.n_classes == 2:
        return np.array([0.0, _second_offset(panel, margins.min(axis=1))])
    return _by_pieces(panel, margins, np.zeros(panel.problem.n_classes) if start is None else start)


def refitted_tail(panel: PanelProblem, worst: Floats) -> Floats:
    """Tail margins (…) for the worst margins of the samples (…, n); with two classes, at the best offset."""
    if not panel.offset or panel.problem.n_classes > 2:
        return panel.tail_of(worst)
    return np.asarray(0.5 * sum(tail_mean(worst[..., mine], caps) for mine, caps in _halves(panel)))


def parts_of_tail(panel: PanelProblem) -> list[tuple[Bools, Floats | None, float]]:
    """The samples, their caps, and how much they count in all: together, or with two classes and offsets apart."""
    if not panel.offset or panel.problem.n_classes > 2:
        return [(np.ones(panel.problem.n_samples, dtype=np.bool_), panel.caps, 1.0)]
    return [(mine, None if caps is None else 0.5 * caps, 0.5) for mine, caps in _halves(panel)]


def _halves(panel: PanelProblem) -> list[tuple[Bools, Floats | None]]:
    """The samples of each of two classes, and how much they count in the half of the tail that is theirs."""
    found = []
    for cls in range(2):
        mine = panel.problem.labels == cls
        found.append((mine, None if panel.caps is None else 2.0 * panel.caps[mine]))
    return found


def _second_offset(panel: PanelProblem, worst: Floats) -> float:
    """The offset of the second of two classes; of several that are best, the one with the largest worst margin.

    An offset is best if no sample that is not all in the tail is worse than one of the other class that is in it.
    """
    ends: list[tuple[float, float, float]] = []
    for mine, caps in _halves(panel):
        shares = tail_shares(worst[mine], caps)
        inside, left_out = shares > _SHARE, shares < (np.inf if caps is None else caps - _SHARE)
        ends.append((worst[mine].min(), worst[mine][inside].max(), worst[mine][left_out].min(initial=np.inf)))
    (first_least, first_in, first_out), (second_least, second_in, second_out) = ends
    highest, lowest = (first_out - second_in) / 2, (first_in - second_out) / 2
    return float(max(min((first_least - second_least) / 2, highest), lowest))


def _by_pieces(panel: PanelProblem, margins: Floats, start: Floats) -> Floats:
    """The best offsets for any number of classes: the pieces so far tell where to look next, near the best so far."""
    solver, around = LpSolver(Budget(None, None, panel.total)), _NEAR * panel.largest_margin
    levels, slopes, offsets, best = [], [], start, (-np.inf, start)
    for _ in range(_STEPS):
        value, slope = _piece(panel, margins, offsets)
        levels.append(value - float(slope @ offsets))
        slopes.append(slope)
        best = max(best, (value, offsets), key=lambda found: found[0])
        limits = np.clip(best[1] + np.array([[-around], [around]]), -panel.widest_offsets / 2, panel.widest_offsets / 2)
        promised, offsets = _most_promising(np.array(levels), np.array(slopes), limits, solver)
        if promised - best[0] <= _CLOSE * panel.largest_margin:
            if around >= panel.widest_offsets:
                break
            around *= 8
    return best[1]


def _piece(panel: PanelProblem, margins: Floats, offsets: Floats) -> tuple[float, Floats]:
    """The tail margin at some offsets, and how it changes with each of them."""
    comparisons, shifted = panel.problem.comparisons, margins + panel.shift(offsets)
    rows, samples = shifted.argmin(axis=1), np.arange(shifted.shape[0])
    worst = shifted[samples, rows]
    shares = panel.shares_in_tail(worst)
    shares /= shares.sum()
    size = panel.problem.n_classes
    slope: Floats = np.bincount(comparisons.own, shares, size).astype(np.float64)
    slope -= np.bincount(comparisons.other[samples, rows], shares, size)
    return float(shares @ worst), slope


def _most_promising(levels: Floats, slopes: Floats, limits: Floats, solver: LpSolver) -> tuple[float, Floats]:
    """Offsets within limits, the first of them 0, at which the least of some pieces is largest, and that value."""
    n_pieces, size = slopes.shape
    rows, columns = (index.ravel() for index in np.indices((n_pieces, size)))
    values = np.hstack([np.full((n_pieces, 1), -1.0), slopes[:, 1:]]).ravel()  # the value in place of the first offset
    used: Integers = np.flatnonzero(values)
    program = LinearProgram.of_entries(
        Entries(rows[used], columns[used], values[used]),
        np.append(1.0, np.zeros(size - 1)),
        lower=np.append(-np.inf, limits[0, 1:]),
        upper=np.append(np.inf, limits[1, 1:]),
        row_lower=-levels,
        row_upper=np.full(n_pieces, np.inf),
    )
    solution = solver.solve(program, ([f"column {at}" for at in range(size)], list(range(n_pieces))))
    assert solution is not None
    x = np.append(0.0, solution.x[1:])
    return float((levels + slopes @ x).min()), x
