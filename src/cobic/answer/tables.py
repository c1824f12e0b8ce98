"""The answer as tables and JSON documents."""

from __future__ import annotations

import math
from importlib.metadata import version
from platform import python_version
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from cobic.problem import Problem
from cobic.problem.identity import problem_parameters
from cobic.search.result import Result


def feature_table(problem: Problem) -> pd.DataFrame:
    """List every feature with its class and its class means."""
    names = problem.feature_names if problem.feature_names is not None else range(problem.n_features)
    means = {f"mean {cls}": mean for cls, mean in zip(problem.classes, problem.class_means, strict=True)}
    return pd.DataFrame({"feature": names, "class": _class_names(problem)[problem.feature_classes], **means})


def selection_table(problem: Problem, result: Result) -> pd.DataFrame:
    """List every feature with its class, its class means, whether it was selected, and how it differs between classes.

    Parameters
    ----------
    problem : Problem
        What was solved.
    result : Result
        Its answer.

    Returns
    -------
    DataFrame
        One row per feature, in the order of the data: ``feature, class, selected``, a ``mean …`` per class, and what
        describes it, whether it was selected or not. All of that compares its class with all other samples:
        ``difference`` of the means (under ``transform="log2"`` called ``log2 fold change``), ``AUC`` (area under the
        ROC curve; missing with more than 67 million numbers), Welch's ``t``, its ``p``, and ``adjusted p``, over all
        features by Benjamini and Hochberg.

    Examples
    --------
    >>> import cobic
    >>> problem = cobic.Problem([[3, 1], [1, 4]], ["a", "b"])
    >>> cobic.selection_table(problem, cobic.solve(problem)).iloc[:, :7]
       feature class  selected  mean a  mean b  difference  AUC
    0        0     a      True     3.0     1.0         2.0  1.0
    1        1     b      True     1.0     4.0         3.0  1.0
    """
    table = feature_table(problem)
    table.insert(2, "selected", result.support)
    from cobic.answer.effects import effect_table  # with scipy.stats, a third of a second: for who writes an answer

    return pd.concat([table, effect_table(problem)], axis=1)


def violation_table(problem: Problem, support: ArrayLike) -> pd.DataFrame:
    """List the samples whose margin a selection violates, worst first: the suspects for label errors.

    Parameters
    ----------
    problem : Problem
        What was solved.
    support : array-like of bool, shape (n_features,)
        The selected features.

    Returns
    -------
    DataFrame
        Columns ``sample`` (row of X), ``name``, ``class``, ``read_as`` (the class with the largest mean) and ``amount``
        (how much of the margin is missing).

    Examples
    --------
    >>> import cobic
    >>> problem = cobic.Problem([[3, 1], [1, 4], [5, 1]], ["a", "b", "b"], slack_penalty=1.0)
    >>> cobic.violation_table(problem, [True, True])
       sample  name class read_as  amount
    0       2     2     b       a     4.0
    """
    amounts = problem.violations(support)
    worst = np.argsort(-amounts, kind="stable")[: np.count_nonzero(amounts)]
    labels, complete = _class_names(problem), problem.counts(support).all()
    table = pd.DataFrame({"sample": worst})
    table["name"] = worst if problem.sample_names is None else np.array(problem.sample_names, dtype=object)[worst]
    table["class"] = labels[problem.labels[worst]]
    table["read_as"] = labels[problem.means(support).argmax(axis=1)[worst]] if complete else ""
    table["amount"] = amounts[worst]
    return table


def summary_document(problem: Problem, result: Result) -> dict[str, Any]:
    """The answer under the keys that ``cobic select --json`` prints."""
    names = ("n_selected", "upper_bound", "gap", "status", "worst_margin", "counts", "seconds", "method")
    document = {
        **{name: finite(getattr(result, name)) for name in names},
        "n_features": problem.n_features,
        "n_samples": problem.n_samples,
        "classes": list(result.classes),
    }
    if result.soft:
        document |= {"objective": finite(result.objective), "objective_bound": result.objective_bound}
    return document | {"status": str(result.status), "counts": list(result.counts), "seconds": round(result.seconds, 4)}


def provenance(problem: Problem) -> dict[str, Any]:
    """Which data, which problem, which programs."""
    packages = ("cobic", "numpy", "scipy", "highspy", "scikit-learn")
    return {
        "digest": problem.digest,
        "problem": problem_parameters(problem),
        "versions": {"python": python_version(), **{name: version(name) for name in packages}},
    }


def _class_names(problem: Problem) -> NDArray[np.str_]:
    """The names of the classes, and an empty one for the class index -1."""
    return np.array([*(str(cls) for cls in problem.classes), ""])


def finite(value: Any) -> Any:
    """A value as JSON can hold it: None where it is no finite number."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
