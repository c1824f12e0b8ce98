"""All methods on the same rows: features kept, linear programs, seconds."""

from typing import Any

from benchmarks.timing import data_sets
from cobic import solve
from cobic.methods import METHODS

ROWS = {
    "synthetic": [{}, {"alpha": 50.0}],
    "golub": [{}, {"alpha": 50.0}, {"beta": 1.2}, {"beta": 2.0}],
    "notterman": [{}, {"alpha": 5.0}, {"beta": 2.0}],
}


def run(*, quick: bool) -> list[dict[str, Any]]:
    """One line per data set, margin and method."""
    rows = []
    for name, data in data_sets().items():
        for margin in ROWS[name][: 1 if quick else None]:
            problem = data.problem(**margin)
            for method in METHODS:
                result = solve(problem, method=method)
                rows.append(
                    {
                        "data": name,
                        "margin": " ".join(f"{kind}={value:g}" for kind, value in margin.items()) or "alpha=0",
                        "method": method,
                        "features": result.n_selected,
                        "status": str(result.status),
                        "worst margin": result.worst_margin,
                        "LPs": result.history[-1].lps if result.history else 0,
                        "seconds": result.seconds,
                    }
                )
    return rows
