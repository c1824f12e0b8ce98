"""Which size a panel has when nobody names one: rules that see the margins of inner cross-validation and nothing else.

The fits are made once: a rule only points at one of the answers by size.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.accuracy.data import Floats
from benchmarks.accuracy.protocol import CHOSEN, HELD_OUT, LEAST
from cobic.analyses.folds import add_shortfalls
from cobic.answer.frontier import choose_size

HeldOut = dict[int, Floats]  # for each size, the smallest first, margins of the training samples when held out
Rule = Callable[[HeldOut], int]


def of_frontier(held_out: HeldOut) -> int:
    """What :func:`cobic.frontier` would choose."""
    size, _ = choose_size(_table(held_out))
    assert size is not None
    return size


def least_shortfall(held_out: HeldOut) -> int:
    """The size whose held-out margins fall short least, the smallest of them."""
    return [*held_out][int(_table(held_out)["cv_shortfall"].argmin())]


def least_error(held_out: HeldOut) -> int:
    """The size with the least error, the smallest of them."""
    return min(held_out, key=lambda size: ((held_out[size] <= 0).sum(), size))


def one_standard_error(held_out: HeldOut) -> int:
    """The smallest size whose error is within one standard error of the least."""
    best = held_out[least_error(held_out)] <= 0
    most = best.mean() + best.std(ddof=1) / np.sqrt(best.size)
    return min(size for size, margins in held_out.items() if (margins <= 0).mean() <= most)


def one_paired_error(held_out: HeldOut) -> int:
    """The same by the standard error of the difference."""
    best = (held_out[least_error(held_out)] <= 0).astype(float)
    more = {size: (margins <= 0) - best for size, margins in held_out.items()}
    return min(size for size, each in more.items() if each.mean() <= each.std(ddof=1) / np.sqrt(best.size) + 1e-12)


def _table(held_out: HeldOut) -> pd.DataFrame:
    table = pd.DataFrame({"size": [*held_out], "tail_margin": 1.0})
    add_shortfalls(table, np.array([*held_out.values()]))
    return table


RULES: dict[str, Rule] = {
    CHOSEN: of_frontier,
    LEAST: least_shortfall,
    "least error": least_error,
    "one standard error": one_standard_error,
    "one paired standard error": one_paired_error,
}


def with_choices(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers, and those of the sizes that each rule chooses under its name."""
    given, added = list(records), []
    known = {(*_place(record), record["size"]): record for record in given}
    for record in given:
        if record["size"] == HELD_OUT and record["margins"]:
            held_out = {int(size): np.array(margins) for size, margins in record["margins"].items()}
            for name, rule in RULES.items():
                size = rule(held_out)
                added.append({**known[(*_place(record), size)], "size": name})
    return [*given, *added]


def _place(record: dict[str, Any]) -> tuple[str, int, int, str]:
    return record["data"], record["repeat"], record["fold"], record["method"]
