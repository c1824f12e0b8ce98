"""Panels and their variants, and the largest consistent selection.

A fit has no need of a proof: it ends at a gap of 5 %, or after a second of computing, whichever comes first; after half
a second where the numbers of each class are given, and later where there are many samples and classes. Time is that of
the processor, so that other work on the machine changes nothing.
"""

from functools import partial
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

import cobic
from benchmarks.accuracy.data import Data, Fold
from benchmarks.accuracy.protocol import ALL, INNER_FOLDS, SIZES, Answer, Fit, Method, Size, by_size, inner_margins
from benchmarks.timing import processor_time
from cobic.certified.margins import largest_margin
from cobic.search.budget import Budget

FIT_SECONDS = 1.0  # the first fractional panel takes up to 0.8 s (Gravier, 200 features)
EVEN_SECONDS = 0.5
TARGET_GAP = 0.05
MANY = 1000  # comparisons of samples with other classes: with more, a fit has as much more time
FRACTIONS = (0.0, 0.1, 0.25)  # of the largest feasible margin of the training part, for the largest selection

Fitted = tuple[Answer, Any]  # with the means of the classes in the new samples


def fitted(fold: Fold, size: int, *, split: str = "any", values: str = "log", **choices: Any) -> Fitted | None:
    """What a panel of some size says; None if there is none of that size."""
    X, new = _values(fold, values)
    problem = cobic.Problem(X, fold.y)
    if not problem.n_classes <= size <= X.shape[1]:
        return None
    seconds = (EVEN_SECONDS if split == "even" else FIT_SECONDS) * max(1.0, problem.comparisons.other.size / MANY)
    try:
        with processor_time():
            limits = {"time_limit": seconds, "target_gap": TARGET_GAP}
            panel = cobic.panel(problem, size=size, split=split, **limits, **choices)
    except cobic.InputError:  # a class without features
        return None
    means = panel.model.means(new)
    return (problem.classes[means.argmax(axis=1)], np.flatnonzero(panel.support)), means


def _values(fold: Fold, values: str) -> tuple[Any, Any]:
    """Training and new samples as a panel sees them; few standardised features come with their mirror images."""
    X, new = fold.raw if values == "raw" else (fold.X, fold.new)
    if values == "standardised":
        scaler = StandardScaler().fit(X)
        X, new = scaler.transform(X), scaler.transform(new)
    return (np.hstack([X, -X]), np.hstack([new, -new])) if fold.few else (X, new)


def _panel(name: str, sizes: tuple[Size, ...] = SIZES, *, tuned: bool = False, **choices: Any) -> Method:
    fit: Fit = partial(fitted, **choices)
    return Method(name, by_size(fit), sizes, held_out=inner_margins(fit) if tuned else None)


def _intensities(data: Data) -> bool:
    return data.raw is not data.X


def _many_features(data: Data) -> bool:
    return not data.few


@processor_time()
def _largest(fold: Fold, sizes: Any) -> dict[Size, Answer]:  # noqa: ARG001
    """The largest consistent selection, with the margin that cross-validation inside the training part suggests."""
    problem = cobic.Problem(fold.X, fold.y)
    largest = max(largest_margin(problem, "alpha", Budget(2.0, None, problem.n_selectable)).found, 0.0)
    alphas = [fraction * largest for fraction in FRACTIONS]
    options = {"max_programs": 200}
    path = cobic.path(problem, alphas=alphas, cv=INNER_FOLDS, time_limit=FIT_SECONDS, n_jobs=1, method_options=options)
    place = 0 if path.chosen is None else int((path.table["alpha"] - path.chosen).abs().idxmin())
    result = path.results[place]
    if not all(result.counts):  # none is there, or was found in a second: soft margins
        soft = cobic.ConsistentBiclustering(time_limit=FIT_SECONDS).fit(fold.X, fold.y)
        return {ALL: (soft.predict(fold.new), np.flatnonzero(soft.support_))}
    return {ALL: (cobic.Model.of(problem, result).predict(fold.new), np.flatnonzero(result.support))}


VARIED: tuple[Size, ...] = (10, 50)
EVEN = _panel("panel, even", split="even", tuned=True)
TOTAL = _panel("panel")
LARGEST = Method("largest selection", _largest, (ALL,), _many_features)
_CHOICES: dict[str, dict[str, Any]] = {
    "even, offset": {"split": "even", "offset": True},
    "offset": {"offset": True},
    "even, tail 0": {"split": "even", "tail": 0.0},
    "even, tail 0.1": {"split": "even", "tail": 0.1},
    "even, tail 0.5": {"split": "even", "tail": 0.5},
    "even, tail 1": {"split": "even", "tail": 1.0},
    "even, balanced": {"split": "even", "weights": "balanced"},
    "even, standardised": {"split": "even", "values": "standardised"},
    "even, standardised, offset": {"split": "even", "values": "standardised", "offset": True},
}
VARIANTS = [
    *(_panel(f"panel, {name}", VARIED, **choices) for name, choices in _CHOICES.items()),
    Method("panel, even, raw values", by_size(partial(fitted, split="even", values="raw")), VARIED, _intensities),
]
