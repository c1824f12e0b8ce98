"""The exact check of consistency against the same check in floating point and in rationals throughout."""

from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.timing import best_of, data_sets


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Time of `is_consistent` on all features: rationals are needed only where floating point cannot tell."""
    rows = []
    for name, data in data_sets().items():
        problem = data.problem()
        everything = np.ones(problem.n_features, dtype=bool)
        exact, _ = best_of(5 if quick else 20, lambda p=problem, s=everything: p.is_consistent(s))
        floating, _ = best_of(
            5 if quick else 20, lambda p=problem, s=everything: p.comparisons.margins(p.means(s)).min()
        )
        rational, _ = best_of(1, lambda p=problem, X=data.X: _all_rational(p, X))
        rows.append(
            {
                "data": name,
                "is_consistent ms": 1e3 * exact,
                "/ floating point": exact / floating,
                "rationals throughout / ours": rational / exact,
            }
        )
    return rows


def _all_rational(problem: Any, X: Any) -> bool:
    for j in range(problem.n_samples):
        sums = [sum(map(Fraction, X[j, problem.feature_classes == r].tolist())) for r in range(problem.n_classes)]
        means = [total / int(size) for total, size in zip(sums, problem.feature_class_sizes, strict=True)]
        own = problem.labels[j]
        if any(means[own] <= means[q] for q in range(problem.n_classes) if q != own):
            return False
    return True
