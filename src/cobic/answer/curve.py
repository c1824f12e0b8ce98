"""The folder of ``cobic path --out``: a path as files, and read back from them; and the margin that it chooses."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from cobic.answer.documents import picture
from cobic.answer.effects import effect_table
from cobic.answer.tables import feature_table
from cobic.checks import require
from cobic.errors import InputError, ModelError
from cobic.io.files import settle
from cobic.io.plain import EXACT
from cobic.matrix import Floats
from cobic.problem import Problem

if TYPE_CHECKING:
    from cobic.analyses.path import Path as MarginPath

PATH_FILES = ("path.csv", "ranking.csv", "path.json", "path.svg")


def path_document(path: "MarginPath", top: int | None = None) -> dict[str, Any]:
    """A path under the keys of ``path.json``."""
    document = {
        "kind": path.kind,
        "chosen": path.chosen,
        "reason": path.reason,
        "stopped_by": path.stopped_by,
        "cut_short": path.cut_short,
        "largest": None if path.largest is None else {"found": path.largest.found, "bound": path.largest.bound},
        "rows": json.loads(path.table.to_json(orient="records", double_precision=15)),
    }
    if top is not None:
        document["top"] = json.loads(path.top(top).to_json(orient="records", double_precision=15))
    return document


def path_files(path: "MarginPath") -> dict[str, str]:
    """A path as the texts of files, by name; without the picture where matplotlib is not installed."""
    return {
        "path.csv": path.table.to_csv(index=False, lineterminator="\n"),
        "ranking.csv": _ranking(path).to_csv(index=False, lineterminator="\n"),
        "path.json": json.dumps(path_document(path), indent=2, allow_nan=False) + "\n",
        **picture("path.svg", path.plot),
    }


def _ranking(path: "MarginPath") -> pd.DataFrame:
    """All features, best first, with what describes them."""
    best = np.argsort(path.survival.ranking, kind="stable")
    effects = effect_table(path.problem).iloc[best].reset_index(drop=True)
    return pd.concat([path.top(path.problem.n_features), effects], axis=1)


@dataclass(frozen=True, eq=False)
class Curve:
    """The curve over a margin and the ranking of the features."""

    kind: str  # ``"alpha"`` or ``"beta"``
    # One row per margin: the margin under the name of its kind, ``n_selected, upper_bound`` and, where there was
    # cross-validation, ``cv_error, cv_se``
    table: pd.DataFrame
    chosen: float | None  # the margin to take
    reason: str  # why
    rank: Floats  # place in the ranking, and the largest margin at which the feature is selected; NaN where not known
    survives: Floats

    @classmethod
    def of(cls, path: "MarginPath") -> Self:
        """What the report needs of a :class:`cobic.Path`."""
        ranking = path.survival.ranking.astype(np.float64)
        return cls(path.kind, path.table, path.chosen, path.reason, ranking, path.survival.margin)

    @classmethod
    def read(cls, folder: Path, problem: Problem) -> Self:
        """Read back what ``cobic path --out`` wrote about the same data."""
        settle(folder)
        try:
            document = json.loads((folder / "path.json").read_text(encoding="utf-8"))
            table = pd.read_csv(folder / "path.csv", **EXACT)
            ranking = pd.read_csv(folder / "ranking.csv", dtype=str, na_filter=False)
            for name in ranking.columns.difference(["feature", "class"]):
                cells = ranking[name] if name == "rank" else ranking[name].replace("", "nan")
                ranking[name] = [float(cell) for cell in cells]  # pandas does not read the last digit
            kind, chosen, reason = document["kind"], document["chosen"], document["reason"]
            same = _same_rows(kind, table, document)
        except OSError as error:
            message = f"{folder} is not a folder of `cobic path --out`: cannot read {error.filename}"
            raise InputError(message) from None
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            message = f"{folder} is not a folder of `cobic path --out`: path.json, path.csv or ranking.csv is damaged"
            raise ModelError(message) from None
        damage = f"{folder} does not hold together:"
        require(same, f"{damage} path.json and path.csv differ", ModelError)
        expected, why = choose(kind, table)
        follows = chosen == expected and (chosen is None or reason == why)
        require(follows, f"{damage} the choice of path.json does not follow from its errors", ModelError)
        rank, survives = _in_order_of_features(folder, ranking, problem)
        kept = _kept_as_ranked(table[kind].to_numpy(np.float64), table["n_selected"].to_numpy(np.float64), survives)
        require(kept, f"{damage} path.csv keeps other numbers of features than ranking.csv", ModelError)
        return cls(kind, table, chosen, reason, rank, survives)


def _same_rows(kind: Any, table: pd.DataFrame, document: dict[str, Any]) -> bool:
    """Whether both files have the same rows, but for the digits that JSON has not."""
    if kind not in ("alpha", "beta") or not isinstance(document["reason"], str) or table.empty:
        raise ValueError
    errors = [name for name in ("cv_error", "cv_se") if name in table]
    rows = pd.DataFrame(document["rows"])
    if len(rows) != len(table) or len(errors) != sum(name in rows for name in ("cv_error", "cv_se")):
        return False
    names = [kind, "n_selected", "upper_bound", *errors]
    here, there = (each[names].astype(np.float64).to_numpy() for each in (table, rows))
    in_order = bool((np.diff(here[:, 0]) > 0).all() and np.isfinite(here[:, :3]).all())
    return in_order and np.allclose(here, there, rtol=1e-9, atol=1e-14, equal_nan=True)


def choose(kind: str, table: pd.DataFrame) -> tuple[float | None, str]:
    """The largest margin, hence the fewest features, whose error is within a standard error of the least; and why."""
    if "cv_error" not in table:
        return None, "without cross-validation nothing is chosen"
    usable = table[table["cv_error"].notna() & (table["n_selected"] > 0)]
    if usable.empty:
        return None, "no margin could be fitted in all folds"
    best = usable.iloc[int(usable["cv_error"].argmin())]
    good = usable[usable["cv_error"] <= float(best["cv_error"] + best["cv_se"])]
    taken = good.iloc[int(good[kind].argmax())]
    reason = (
        f"{kind} = {taken[kind]:.6g} is the largest whose cross-validated error ({taken['cv_error']:.3g}) is within "
        f"one standard error of the least ({best['cv_error']:.3g} + {best['cv_se']:.3g} at {kind} = {best[kind]:.6g})"
    )
    return float(taken[kind]), reason


def _kept_as_ranked(margins: Floats, kept: Floats, survives: Floats) -> bool:
    """Whether each margin keeps the features that survive no larger one, and at most those that survive it."""
    last = survives[~np.isnan(survives)]
    at = np.abs(last[:, None] - margins).argmin(axis=1)
    if not np.allclose(last, margins[at], rtol=1e-9, atol=1e-14):
        return False
    least = np.bincount(at, minlength=margins.size)
    most = least[::-1].cumsum()[::-1]
    return bool(((least <= kept) & (kept <= most)).all())


def _in_order_of_features(folder: Path, ranking: pd.DataFrame, problem: Problem) -> tuple[Floats, Floats]:
    """Names may repeat; name, class and means together are one feature, or several that cannot be told apart."""
    known = feature_table(problem)
    known["feature"] = known["feature"].astype(str)
    keys = list(known.columns)
    other, same = f"{folder}: ranking.csv is not about these data:", len(ranking) == len(known)
    require(same and {"rank", "survives", *keys} <= {*ranking.columns}, f"{other} it has other features or classes")
    for table in (known, ranking):
        table["twin"] = table.groupby(keys).cumcount()
    joined = known.merge(ranking, on=[*keys, "twin"], how="left", validate="one_to_one")
    require(joined["rank"].notna().all(), f"{other} a feature or its means differ")
    return joined["rank"].to_numpy(np.float64), joined["survives"].to_numpy(np.float64)
