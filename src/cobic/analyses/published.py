"""The two tables of Mucherino & Cafieri (2010), and running cobic on their rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cobic.answer.model import Model
from cobic.checks import require, require_jobs
from cobic.datasets import LOADERS
from cobic.methods import solve
from cobic.problem.dataset import Dataset
from cobic.search.parallel import runs_alone, side_by_side
from cobic.search.result import Result


@dataclass(frozen=True)
class PublishedRow:
    """One experiment of the paper."""

    dataset: str  # ``"golub"`` or ``"notterman"``
    kind: Literal["alpha", "beta"]  # which margin was asked for
    value: float  # how much of it
    features: int  # number of features the paper reports
    errors: int | None  # misclassified samples of the independent set it reports

    @property
    def name(self) -> str:
        """How the row is chosen on the command line, e.g. ``golub:alpha=50``."""
        return f"{self.dataset}:{self.kind}={self.value:g}"


@dataclass(frozen=True, eq=False)
class ReproducedRow:
    """A row of the paper beside our own answer."""

    published: PublishedRow  # what the paper says
    result: Result  # what we found
    # Misclassified samples of the independent set; None if there is none, or nothing to classify with
    errors: int | None

    @property
    def refuted(self) -> bool:
        """True if the published number of features lies above the proven bound."""
        return self.published.features > self.result.upper_bound

    def document(self) -> dict[str, Any]:
        """The row under the keys that ``cobic reproduce --json`` prints."""
        published, result = self.published, self.result
        return {
            **{name: getattr(published, name) for name in ("dataset", "kind", "value")},
            "published": published.features,
            **{name: getattr(result, name) for name in ("n_selected", "upper_bound", "gap")},
            "status": str(result.status),
            "errors": self.errors,
            "published_errors": published.errors,
            "seconds": round(result.seconds, 4),
        }


def _table(dataset: str, kind: Literal["alpha", "beta"], *rows: tuple[float, int, int | None]) -> list[PublishedRow]:
    return [PublishedRow(dataset, kind, value, features, errors) for value, features, errors in rows]


# Both tables print α = 0 and β = 1, which are the same problem, as two rows with the same figures; here it is one.
PUBLISHED = (
    *_table("golub", "alpha", (0, 7081, 2), (10, 7076, 2), (20, 7075, 2), (30, 7072, 2), (40, 7068, 2)),
    *_table("golub", "alpha", (50, 7061, 1), (60, 7046, 1), (70, 6954, 1)),
    *_table("golub", "beta", (1.05, 7075, 2), (1.1, 7068, 2), (1.2, 7020, 1), (1.5, 6590, 1)),
    *_table("golub", "beta", (2, 5987, 1), (3, 5527, 2), (5, 5238, 2)),
    *_table("notterman", "alpha", (0, 7450, None), (1, 7448, None), (2, 7444, None), (5, 7413, None), (10, 7261, None)),
    *_table("notterman", "beta", (1.01, 7450, None), (1.5, 7107, None), (2, 6267, None), (3, 5365, None)),
)


def choose_rows(patterns: Sequence[str]) -> tuple[PublishedRow, ...]:
    """Choose rows by name or by the beginning of it, such as ``golub:alpha``; all without any pattern."""

    def matches(row: PublishedRow, pattern: str) -> bool:
        return row.name == pattern or row.name.startswith((f"{pattern}:", f"{pattern}="))

    for pattern in patterns:
        message = f"no row is called {pattern!r}: write e.g. golub, golub:beta or golub:alpha=50"
        require(any(matches(row, pattern) for row in PUBLISHED), message)
    return tuple(row for row in PUBLISHED if not patterns or any(matches(row, each) for each in patterns))


def reproduce(
    rows: Sequence[PublishedRow] = PUBLISHED, *, n_jobs: int | None = None, **solve_options: Any
) -> Iterator[ReproducedRow]:
    """Solve rows of the paper's tables."""
    require_jobs(n_jobs)
    if not runs_alone(n_jobs):
        solve_options.pop("on_progress", None)
    shared = {name: LOADERS[name]() for name in dict.fromkeys(row.dataset for row in rows)}, solve_options
    ready: dict[int, ReproducedRow] = {}
    awaited = 0
    for place, row in side_by_side(_reproduced, shared, dict(enumerate(zip(rows, strict=True))), n_jobs):
        ready[place] = row
        while awaited in ready:
            yield ready.pop(awaited)
            awaited += 1


def _reproduced(shared: tuple[dict[str, Dataset], dict[str, Any]], row: PublishedRow) -> ReproducedRow:
    datasets, solve_options = shared
    data = datasets[row.dataset]
    problem = data.problem(**{row.kind: row.value})
    result = solve(problem, **solve_options)
    errors = None
    if data.test is not None and all(result.counts):
        predicted = Model.of(problem, result).predict(data.test.X, data.test.feature_names)
        errors = int(np.sum(predicted != data.test.y))
    return ReproducedRow(row, result, errors)
