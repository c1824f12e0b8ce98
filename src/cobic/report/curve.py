"""A path as the report shows it: from :func:`cobic.path`, or read back from the folder of ``cobic path --out``."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from cobic.errors import InputError
from cobic.matrix import Floats
from cobic.problem import Problem
from cobic.report.tables import feature_table


@dataclass(frozen=True, eq=False)
class Curve:
    """The curve over a margin and the ranking of the features.

    Attributes
    ----------
    kind : str
        ``"alpha"`` or ``"beta"``.
    table : DataFrame
        One row per margin: the margin under the name of its kind, ``n_selected, upper_bound`` and, where there was
        cross-validation, ``cv_error, cv_se``.
    chosen : float or None
        The margin to take.
    reason : str
        Why.
    rank, survives : ndarray of float, shape (n_features,)
        Place in the ranking, and the largest margin at which the feature is selected; NaN where not known.
    """

    kind: str
    table: pd.DataFrame
    chosen: float | None
    reason: str
    rank: Floats
    survives: Floats

    @classmethod
    def of(cls, path: Any) -> Self:
        """What the report needs of a :class:`cobic.Path`."""
        ranking = path.survival.ranking.astype(np.float64)
        return cls(path.kind, path.table, path.chosen, path.reason, ranking, path.survival.margin)

    @classmethod
    def read(cls, folder: Path, problem: Problem) -> Self:
        """Read back what ``cobic path --out`` wrote about the same data.

        Parameters
        ----------
        folder : Path
            With ``path.json`` and ``ranking.csv``.
        problem : Problem
            The data.

        Returns
        -------
        Curve
            Its ranking in the order of the features.

        Raises
        ------
        InputError
            If the folder has no such files, or they are about other data.
        """
        try:
            document = json.loads((folder / "path.json").read_text(encoding="utf-8"))
            names = {"feature": str, "class": str}
            ranking = pd.read_csv(folder / "ranking.csv", dtype=names, float_precision="round_trip", na_filter=False)
            table = pd.DataFrame(document["rows"])
            kind, chosen, reason = document["kind"], document["chosen"], document["reason"]
            table[[kind, "n_selected", "upper_bound"]].astype(float)
        except OSError as error:
            message = f"{folder} is not a folder of `cobic path --out`: cannot read {error.filename}"
            raise InputError(message) from None
        except (ValueError, KeyError, TypeError, RecursionError):
            message = f"{folder} is not a folder of `cobic path --out`: path.json or ranking.csv is damaged"
            raise InputError(message) from None
        rank, survives = _in_order_of_features(folder, ranking, problem)
        return cls(kind, table, chosen, reason, rank, survives)


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
    rank, survives = (
        pd.to_numeric(joined[name], errors="coerce").to_numpy(np.float64) for name in ("rank", "survives")
    )
    return rank, survives
