"""A path as the report shows it: from :func:`cobic.path`, or read back from the folder of ``cobic path --out``."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from cobic.answer.tables import feature_table
from cobic.errors import InputError, ModelError
from cobic.matrix import Floats
from cobic.problem import Problem


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
    def of(cls, path: Any) -> Self:
        """What the report needs of a :class:`cobic.Path`."""
        ranking = path.survival.ranking.astype(np.float64)
        return cls(path.kind, path.table, path.chosen, path.reason, ranking, path.survival.margin)

    @classmethod
    def read(cls, folder: Path, problem: Problem) -> Self:
        """Read back what ``cobic path --out`` wrote about the same data."""
        try:
            document = json.loads((folder / "path.json").read_text(encoding="utf-8"))
            table = pd.read_csv(folder / "path.csv", float_precision="round_trip")
            ranking = _numeric(pd.read_csv(folder / "ranking.csv", dtype=str, na_filter=False))
            kind, chosen, reason = document["kind"], document["chosen"], document["reason"]
            same = _same_rows(kind, table, document)
        except OSError as error:
            message = f"{folder} is not a folder of `cobic path --out`: cannot read {error.filename}"
            raise InputError(message) from None
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            message = f"{folder} is not a folder of `cobic path --out`: path.json, path.csv or ranking.csv is damaged"
            raise ModelError(message) from None
        if not same:
            message = f"{folder} does not hold together: path.json and path.csv differ"
            raise ModelError(message)
        if chosen != _choice(kind, table) or not (chosen is None or reason.startswith(f"{kind} = {chosen:.6g} ")):
            message = f"{folder} does not hold together: the choice of path.json does not follow from its errors"
            raise ModelError(message)
        rank, survives = _in_order_of_features(folder, ranking, problem)
        if not _kept_as_ranked(table[kind].to_numpy(np.float64), table["n_selected"].to_numpy(np.float64), survives):
            message = f"{folder} does not hold together: path.csv keeps other numbers of features than ranking.csv"
            raise ModelError(message)
        return cls(kind, table, chosen, reason, rank, survives)


def _numeric(ranking: pd.DataFrame) -> pd.DataFrame:
    """The ranking with numbers where they belong; no margin at all is an empty cell."""
    names = [name for name in ranking.columns if name not in ("feature", "class")]
    for name in names:
        cells = ranking[name].replace("", "nan") if name == "survives" else ranking[name]
        ranking[name] = [float(cell) for cell in cells]
    return ranking


def _same_rows(kind: Any, table: pd.DataFrame, document: dict[str, Any]) -> bool:
    """Whether both files have the same rows, but for the digits that JSON has not."""
    if kind not in ("alpha", "beta") or not isinstance(document["reason"], str) or table.empty:
        raise ValueError
    errors = [name for name in ("cv_error", "cv_se") if name in table]
    names = [kind, "n_selected", "upper_bound", *errors]
    rows = pd.DataFrame(document["rows"])
    if len(rows) != len(table) or len(errors) != sum(name in rows for name in ("cv_error", "cv_se")):
        return False
    here, there = (each[names].astype(np.float64).to_numpy() for each in (table, rows))
    in_order = bool((np.diff(here[:, 0]) > 0).all() and np.isfinite(here[:, :3]).all())
    return in_order and np.allclose(here, there, rtol=1e-9, atol=1e-14, equal_nan=True)


def _choice(kind: str, table: pd.DataFrame) -> float | None:
    """The largest margin whose error is within a standard error of the least."""
    if "cv_error" not in table:
        return None
    usable = table[table["cv_error"].notna() & (table["n_selected"] > 0)]
    if usable.empty:
        return None
    best = usable.iloc[int(usable["cv_error"].argmin())]
    return float(usable.loc[usable["cv_error"] <= best["cv_error"] + best["cv_se"], kind].max())


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
    if not {"rank", "survives", *keys} <= set(ranking.columns) or len(ranking) != len(known):
        message = f"{folder}: ranking.csv is not about these data: it has other features or classes"
        raise InputError(message)
    for table in (known, ranking):
        table["twin"] = table.groupby(keys).cumcount()
    joined = known.merge(ranking, on=[*keys, "twin"], how="left", validate="one_to_one")
    if joined["rank"].isna().any():
        message = f"{folder}: ranking.csv is not about these data: a feature or its means differ"
        raise InputError(message)
    return joined["rank"].to_numpy(np.float64), joined["survives"].to_numpy(np.float64)
