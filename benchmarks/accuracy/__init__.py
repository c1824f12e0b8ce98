"""Cross-validated accuracy of panels, beside the classifiers that people use.

Repeated 5-fold stratified cross-validation; every method sees the same folds and the same values, and everything that
is tuned is tuned inside the training part. Answers are kept in a folder, so that a run can be stopped, goes on where it
stopped, and its tables can be made at any time (:mod:`benchmarks.accuracy.protocol`).
"""

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.accuracy import tables
from benchmarks.accuracy.data import available, everything
from benchmarks.accuracy.panels import EVEN, LARGEST, TOTAL, VARIANTS
from benchmarks.accuracy.protocol import ALL, CHOSEN, SIZES, Cache, measure
from benchmarks.accuracy.rivals import all_rivals

REPEATS, SOME_REPEATS = 10, 3
SLOW = ("pbmc68k", "digits")  # ten classes and many samples: as long as all others together
KEPT = Path(tempfile.gettempdir()) / "cobic-accuracy"  # where answers are kept unless a folder is named

__all__ = ["ALL", "CHOSEN", "KEPT", "REPEATS", "SIZES", "everything", "run", "table"]


def run(*, quick: bool, cache: Path | None = None) -> list[dict[str, Any]]:
    """One line per data set, method and size: percent right, its standard error over repeats, features, stability."""
    if quick:
        return _quick()
    kept = Cache(cache or KEPT)
    here = available()
    main, quick_ones = [name for name in here if name != "digits"], [name for name in here if name not in SLOW]
    turns = [  # what matters most comes first, and a repeat of it is whole before the next one begins
        (REPEATS, main, [EVEN, *all_rivals()]),
        (SOME_REPEATS, quick_ones, [LARGEST]),
        (SOME_REPEATS, quick_ones, [TOTAL, *VARIANTS]),
        (1, here, [EVEN, *all_rivals(), TOTAL]),
    ]
    for repeats, names, methods in turns:
        for repeat in range(repeats):
            measure(kept, names, methods, repeat)
    return tables.lines(kept.records)


def _quick() -> list[dict[str, Any]]:
    """Two methods of ours and two others on small data, one fold."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Cache(Path(folder))
        few = [method for method in all_rivals() if method.name in ("F test + centroid", "k-TSP")]
        measure(kept, ["breast cancer"], [EVEN, TOTAL, *few], repeat=0, folds=1)
        return tables.lines(kept.records, folds=1)


def table(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Percent right at the size that each method chooses."""
    return tables.at_best(rows)
