"""The folder of ``cobic frontier --out``: a frontier as files, and read back from them; and the size it chooses."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cobic.answer.documents import picture
from cobic.checks import require
from cobic.errors import InputError, ModelError
from cobic.io.files import settle
from cobic.io.plain import EXACT
from cobic.problem import PanelProblem

if TYPE_CHECKING:
    from cobic.analyses.frontier import Frontier

FRONTIER_FILES = ("frontier.csv", "frontier.json", "frontier.svg")
_NUMBERS = ["size", "tail_margin", "bound", "worst_margin", "read_back"]  # of a row that both files must agree on
_FOLDS = ["cv_error", "cv_se", "cv_shortfall", "cv_shortfall_se"]  # and with cross-validation on these


def _question(asked: PanelProblem) -> dict[str, Any]:
    """What is asked of a panel, whatever its size."""
    parameters = asked.parameters
    return {
        **{name: parameters["panel"][name] for name in ("tail", "weights", "offset")},
        "beta": parameters["beta"],
        "transform": parameters.get("transform"),
    }


def frontier_document(frontier: "Frontier") -> dict[str, Any]:
    """A frontier under the keys of ``frontier.json``."""
    asked = next(iter(frontier.panels.values())).problem
    return {
        "chosen": frontier.chosen,
        "reason": frontier.reason,
        "stopped_by": frontier.stopped_by,
        "split": asked.split,
        **_question(asked),
        "n_samples": frontier.problem.n_samples,
        "n_features": frontier.problem.n_features,
        "classes": frontier.problem.classes.tolist(),
        "digest": frontier.problem.digest,
        "rows": json.loads(frontier.table.to_json(orient="records", double_precision=15)),
    }


def frontier_files(frontier: "Frontier") -> dict[str, str]:
    """A frontier as the texts of files, by name; without the picture where matplotlib is not installed."""
    return {
        "frontier.csv": frontier.table.to_csv(index=False, lineterminator="\n"),
        "frontier.json": json.dumps(frontier_document(frontier), indent=2, allow_nan=False) + "\n",
        **picture("frontier.svg", frontier.plot),
    }


def choose_size(table: pd.DataFrame) -> tuple[int | None, str]:
    """The smallest size whose held-out margins fall short by at most a standard error more than the least; and why.

    Errors alone would say too little: among a hundred samples a size has a few more or less by chance.
    """
    if "cv_shortfall" not in table:
        return None, "without cross-validation nothing is chosen"
    usable = table[table["cv_shortfall"].notna() & np.isfinite(table["tail_margin"])]
    if usable.empty:
        return None, "no size could be fitted in all folds"
    least = usable.iloc[int(usable["cv_shortfall"].argmin())]
    more = usable["cv_shortfall"] - float(least["cv_shortfall"])
    good = usable[more <= usable["cv_shortfall_se"].fillna(0.0)]  # one held-out sample has no standard error
    taken = good.iloc[int(good["size"].argmin())]
    reason = (
        f"{taken['size']} features are the fewest whose held-out margins fall short of the typical one by no more than "
        f"one standard error above the least: {taken['cv_shortfall']:.3g} of it, {least['cv_shortfall']:.3g} with "
        f"{least['size']} features"
    )
    return int(taken["size"]), reason


def read_frontier(folder: Path, asked: PanelProblem) -> pd.DataFrame:
    """Read back the table that ``cobic frontier --out`` wrote, about the same data and question as a panel."""
    settle(folder)
    try:
        document = json.loads((folder / "frontier.json").read_text(encoding="utf-8"))
        table: pd.DataFrame = pd.read_csv(folder / "frontier.csv", **EXACT)
        same = _same_rows(table, document)
        chosen, reason, known = document["chosen"], document["reason"], document["digest"]
        other = [name for name, value in _question(asked).items() if document[name] != value]
    except OSError as error:
        message = f"{folder} is not a folder of `cobic frontier --out`: cannot read {error.filename}"
        raise InputError(message) from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        message = f"{folder} is not a folder of `cobic frontier --out`: frontier.json or frontier.csv is damaged"
        raise ModelError(message) from None
    require(known == asked.problem.digest, f"{folder} is not about these data: values, shape or classes differ")
    require(not other, f"{folder} is about another question than the panel: {', '.join(other)} differ(s)")
    damage = f"{folder} does not hold together:"
    require(same, f"{damage} frontier.json and frontier.csv differ", ModelError)
    expected, why = choose_size(table)
    follows = chosen == expected and (chosen is None or reason == why)
    require(follows, f"{damage} the choice of frontier.json does not follow from its rows", ModelError)
    table["chosen"] = table["size"] == chosen
    return table


def _same_rows(table: pd.DataFrame, document: dict[str, Any]) -> bool:
    """Whether both files have the same rows, but for the digits that JSON has not."""
    if not isinstance(document["reason"], str) or table.empty:
        raise ValueError
    rows = pd.DataFrame(document["rows"])
    errors = [name for name in _FOLDS if name in table]
    if len(rows) != len(table) or len(errors) not in (0, len(_FOLDS)) or errors != [n for n in _FOLDS if n in rows]:
        return False
    here, there = (each[[*_NUMBERS, *errors]].astype(np.float64).to_numpy() for each in (table, rows))
    in_order = bool((np.diff(here[:, 0]) > 0).all())
    finite = np.where(np.isfinite(here), here, np.nan)  # JSON has neither NaN nor infinity
    return in_order and np.allclose(finite, there, rtol=1e-9, atol=1e-14, equal_nan=True)
