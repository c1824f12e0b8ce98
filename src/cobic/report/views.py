"""What the pictures show, as arrays; `figures.py` draws them in the page and `cobic.plot` on matplotlib axes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cobic.answer.panel import Panel
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem
from cobic.search.repair import margins_after
from cobic.search.result import Progress, Result

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#7F7F7F")  # Okabe & Ito
GREY = "#8a8f98"
HEATMAP_SPAN = 2.0  # standard deviations on either side of a feature's mean
LEVELS = 254  # steps of the heatmap: the middle one is the mean
MAX_CELLS, MAX_COLUMNS, MAX_ROWS = 4_000_000, 30_000, 2_000  # beyond 32,767 pixels browsers refuse a canvas
MAX_TOP = 30  # features of the small heatmap: their names have room beside it
MAX_STRIPS = 300  # small pictures: more than anybody looks at one by one, and the table has all
_SETTLED = 0.05  # of the steps of a course: the first ones may lie far outside of where all others are
_BLOCK_CELLS = 1 << 20  # 8 MB of the data at a time
_WHOLE = 400  # parts of up to so many features are always shown whole


def colour(index: int) -> str:
    """The colour of a class, grey for the index -1; colour-blind safe, the same in every picture."""
    return GREY if index < 0 else COLOURS[index % len(COLOURS)]


@dataclass(frozen=True)
class Block:
    """Neighbouring features of the heatmap: of one class, all kept or all dropped."""

    cls: int
    kept: bool
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class Heatmap:
    """Samples by class × features by class, the kept ones first."""

    samples: Integers  # rows of X from top to bottom: by class, those with the largest margin first
    features: Integers  # columns of X from left to right: kept by class, then dropped by class, the clearest first
    blocks: tuple[Block, ...]  # where classes begin and end along the features
    # Standardised per feature, 127 at its mean, 0 and 254 at two standard deviations and beyond
    cells: NDArray[np.uint8]
    centres: Floats  # mean and standard deviation of each feature that is shown
    scales: Floats
    thinned: bool  # whether some samples or features were left out to keep it small

    @property
    def n_kept(self) -> int:
        """Number of kept features that are shown."""
        return sum(block.stop - block.start for block in self.blocks if block.kept)


def heatmap_view(problem: Problem, result: Result) -> Heatmap:
    """Arrange the data for the heatmap."""
    centres, scales = _spread(problem)
    margins = np.nan_to_num(problem.margins(result.support), neginf=0.0)
    samples = thin(np.lexsort((-margins, problem.labels)), MAX_ROWS)
    parts = _parts(problem, result, np.argsort(-(problem.leads / scales), kind="stable"))
    total = sum(part.size for _, _, part in parts)
    limit = min(MAX_COLUMNS, MAX_CELLS // samples.size)
    if total > limit:
        parts = [(cls, kept, thin(part, max(_WHOLE, part.size * limit // total))) for cls, kept, part in parts]
    ends = np.cumsum([part.size for _, _, part in parts])
    blocks = tuple(
        Block(cls, kept, int(end) - part.size, int(end)) for (cls, kept, part), end in zip(parts, ends, strict=True)
    )
    features = np.concatenate([part for _, _, part in parts])
    thinned = samples.size < problem.n_samples or features.size < total
    cells = _quantised(problem, samples, features, centres[features], scales[features])
    return Heatmap(samples, features, blocks, cells, centres[features], scales[features], thinned)


@dataclass(frozen=True, eq=False)
class TopFeatures:
    """The cells of a few features, as in the heatmap."""

    features: Integers  # columns of X from top to bottom: by class, the best first
    cells: NDArray[np.uint8]  # (features, samples of the heatmap)


def top_view(problem: Problem, result: Result, heatmap: Heatmap, merit: Floats) -> TopFeatures:
    """The best features: of each class as many as there is room for, the kept ones where there are any."""
    eligible = (result.support if result.support.any() else problem.selectable) & (problem.feature_classes >= 0)
    order = np.argsort(-merit, kind="stable")  # NaN, of which nothing is known, last
    order = order[eligible[order]]
    room = max(1, MAX_TOP // problem.n_classes)
    of = problem.feature_classes[order]
    features = np.concatenate([order[of == cls][:room] for cls in range(problem.n_classes)])[:MAX_TOP]
    centres, scales = _spread_of(problem, features)
    return TopFeatures(features, _quantised(problem, heatmap.samples, features, centres, scales).T)


@dataclass(frozen=True, eq=False)
class Margins:
    """Each sample's margin, smallest first."""

    samples: Integers  # rows of X
    margins: Floats  # their margins
    binding: Bools  # samples that at least one dropped feature, put back alone, would break


@dataclass(frozen=True, eq=False)
class Harm:
    """What each dropped feature would do if it alone were put back."""

    # The dropped features that may be selected; those with most broken samples first, then by worst margin
    features: Integers
    broken: Integers  # how many samples would no longer hold their margin, of those that do
    worst_sample: Integers  # the sample whose margin would be smallest of those that get smaller; -1 if none does
    worst_margin: Floats  # that margin; NaN if there is none
    gain: Floats  # change of the objective with soft margins; NaN with hard ones
    per_sample: Integers  # how many of the dropped features would break each sample


def harm_view(problem: Problem, result: Result) -> Harm:
    """Find out which samples the dropped features hurt."""
    dropped = np.flatnonzero(~result.support & problem.selectable)
    margins = problem.margins(result.support)
    broken, worst_sample = np.zeros(dropped.size, dtype=np.intp), np.full(dropped.size, -1)
    worst_margin, gain = np.full(dropped.size, np.nan), np.full(dropped.size, np.nan)
    per_sample = np.zeros(problem.n_samples, dtype=np.intp)
    for places, after in _put_back(problem, result, dropped):
        breaks = (after <= 0) & (margins > 0)[:, None]
        broken[places], per_sample = breaks.sum(axis=0), per_sample + breaks.sum(axis=1)
        smaller = np.where(after < margins[:, None], after, np.inf)
        lowest = smaller.argmin(axis=0)
        value = smaller[lowest, np.arange(places.size)]
        worst_sample[places] = np.where(np.isfinite(value), lowest, -1)
        worst_margin[places] = np.where(np.isfinite(value), value, np.nan)
        if problem.soft:
            more = np.maximum(-after, 0.0).sum(axis=0) - np.maximum(-margins, 0.0).sum()
            gain[places] = 1.0 - problem.slack_penalty * more
    order = np.lexsort((worst_margin, -broken))
    return Harm(dropped[order], broken[order], worst_sample[order], worst_margin[order], gain[order], per_sample)


def margins_view(problem: Problem, result: Result, harm: Harm | None = None) -> Margins:
    """Sort the samples by their margin."""
    harm = harm_view(problem, result) if harm is None else harm
    margins = problem.margins(result.support)
    order = np.argsort(margins, kind="stable")
    return Margins(order, margins[order], harm.per_sample[order] > 0)


@dataclass(frozen=True, eq=False)
class Course:
    """How the bound and the best selection moved, as steps over time; NaN where nothing was known yet."""

    seconds: Floats
    found: Floats
    bound: Floats
    settled: bool = False  # whether the first steps, far from all others, may be out of the picture

    @property
    def extent(self) -> tuple[float, float]:
        """From where to where the picture goes."""
        known = np.concatenate([self.found, self.bound])
        if self.settled and np.isfinite(self.found).any():
            known = np.array([np.nanquantile(self.found, _SETTLED), np.nanquantile(self.bound, 1 - _SETTLED)])
        return float(np.nanmin(known)), float(np.nanmax(known))


def course_view(answer: Result | Panel) -> Course:
    """The history of a run: in features, in the objective with soft margins, in the tail margin of a panel."""
    if isinstance(answer, Panel):
        end = (answer.seconds, answer.tail_margin, answer.bound)
        return replace(_course(answer.history, "objective", "objective_bound", end), settled=True)
    found, bound = ("objective", "objective_bound") if answer.soft else ("n_selected", "upper_bound")
    last = getattr(answer, found) if answer.soft or answer.consistent else np.nan
    return _course(answer.history, found, bound, (answer.seconds, last, getattr(answer, bound)))


def _course(history: tuple[Progress, ...], found: str, bound: str, last: tuple[float, float, float]) -> Course:
    rows = [(event.elapsed, getattr(event, found), getattr(event, bound)) for event in history]
    steps = np.array([*rows, last], dtype=np.float64)  # None becomes NaN
    steps[~np.isfinite(steps)] = np.nan
    return Course(*np.ascontiguousarray(steps.T))


@dataclass(frozen=True, eq=False)
class TailMargins:
    """Each sample's margin with a panel, smallest first, and how far the tail goes."""

    samples: Integers  # rows of X; not all of them where they are many
    margins: Floats  # their margins
    misread: Bools  # whether another class has as large a mean
    tail: float  # how many of these samples are in the tail; the last one in part


def tail_view(panel: Panel) -> TailMargins:
    """Sort the samples by their margin with a panel."""
    margins = panel.margins
    order = np.argsort(margins, kind="stable")
    shares, caps = panel.problem.shares_in_tail(margins)[order], panel.problem.caps
    last = int(np.flatnonzero(shares > 0)[-1])
    tail = last + (1.0 if caps is None else float(shares[last] / caps[order[last]]))
    shown = thin(order, MAX_ROWS)
    return TailMargins(shown, margins[shown], margins[shown] <= 0, tail * shown.size / order.size)


@dataclass(frozen=True, eq=False)
class Strips:
    """The values of a panel's features, to be drawn as one strip of points per class."""

    features: Integers  # places in the panel's table; not all of them where they are many
    samples: Integers  # rows of X, likewise
    values: Floats  # (features, samples)


def strips_view(problem: Problem, table: Integers) -> Strips:
    """The values of the features of a table (columns of X)."""
    samples = thin(np.argsort(problem.labels, kind="stable"), MAX_ROWS)
    places = thin(np.arange(table.size), MAX_STRIPS)
    values = np.empty((places.size, samples.size))
    for part in _blocks(places.size, problem.n_samples):
        values[part] = problem.matrix.columns(table[places[part]])[samples].T
    return Strips(places, samples, values)


def _spread(problem: Problem) -> tuple[Floats, Floats]:
    """Mean and standard deviation of every feature; 1 for features that do not vary."""
    return _spread_of(problem, np.arange(problem.n_features))


def _spread_of(problem: Problem, features: Integers) -> tuple[Floats, Floats]:
    centres, scales = np.empty(features.size), np.empty(features.size)
    for part in _blocks(features.size, problem.n_samples):
        columns = problem.matrix.columns(features[part])
        centres[part], scales[part] = columns.mean(axis=0), columns.std(axis=0)
    return centres, np.where(scales > 0, scales, 1.0)


def _blocks(count: int, cells: int) -> Iterator[Integers]:
    """Columns of so many cells each, a few megabytes at a time."""
    step = max(1, _BLOCK_CELLS // cells)
    for start in range(0, count, step):
        yield np.arange(start, min(start + step, count))


def _parts(problem: Problem, result: Result, order: Integers) -> list[tuple[int, bool, Integers]]:
    of, kept = problem.feature_classes[order], result.support[order]
    pairs = [(cls, keep) for keep in (True, False) for cls in (*range(problem.n_classes), -1)]
    parts = [(cls, keep, order[(of == cls) & (kept == keep)]) for cls, keep in pairs]
    return [part for part in parts if part[2].size]


def thin(places: Integers, count: int) -> Integers:
    """At most so many of some places, evenly chosen."""
    if places.size <= count:
        return places
    return places[np.linspace(0, places.size - 1, count).round().astype(np.intp)]


def _quantised(
    problem: Problem, samples: Integers, features: Integers, centres: Floats, scales: Floats
) -> NDArray[np.uint8]:
    cells = np.empty((samples.size, features.size), dtype=np.uint8)
    for part in _blocks(features.size, problem.n_samples):
        values = problem.matrix.columns(features[part])[samples]
        scores = np.clip((values - centres[part]) / scales[part], -HEATMAP_SPAN, HEATMAP_SPAN)
        cells[:, part] = np.rint((scores / HEATMAP_SPAN + 1.0) * LEVELS / 2)
    return cells


def _put_back(problem: Problem, result: Result, dropped: Integers) -> Iterator[tuple[Integers, Floats]]:
    """Places in `dropped` and the margins (n, places) of all samples with each of these features put back alone."""
    means, counts = problem.means(result.support), problem.counts(result.support)
    for places in _blocks(dropped.size, problem.comparisons.other.size):
        after = margins_after(problem, means, counts, dropped[places], np.ones(places.size)).min(axis=1)
        yield places, np.asfortranarray(after)  # sums over the samples run along memory
