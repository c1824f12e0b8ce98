"""An answer read back from the folder of ``cobic select --out``, and checked against the data."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cobic.certified.verify import Verification, data_digest, problem_arguments, verify
from cobic.dataset import Dataset
from cobic.errors import InputError, ModelError
from cobic.matrix import Bools
from cobic.problem import Problem
from cobic.report.story import Story
from cobic.result import Progress, Result, Status

ANSWER_FILES = (
    "selection.csv",
    "model.json",
    "violations.csv",
    "certificate.json",
    "run.json",
    "report.html",
)
_DAMAGED = (ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError)


def read_answer(folder: Path, data: Dataset) -> Story:
    """Read an answer back and check it: the data by their digest, the selection by its margins, the proof as a whole.

    Parameters
    ----------
    folder : Path
        What ``cobic select --out`` wrote.
    data : Dataset
        The data it is about.

    Returns
    -------
    Story
        For the report.

    Raises
    ------
    InputError
        If a file is missing, or the data are others.
    ModelError
        If the files do not hold together.
    """
    run = _json(folder / "run.json", folder)
    data.problem()  # complains about the data themselves, if there is something to complain about
    try:
        problem = data.problem(**problem_arguments(run["problem"], len(data.feature_names)))
        known = run["digest"]
    except (*_DAMAGED, InputError):
        message = f"{folder}/run.json does not say which problem it is about: run `cobic select --out` again"
        raise InputError(message) from None
    if known != data_digest(problem):
        message = f"{data.source} does not hold the data of {folder}: values, shape or classes differ"
        raise InputError(message)
    path = folder / "certificate.json"
    certificate = _json(path, folder) if path.exists() else None
    result = _result(folder, run, _support(folder, problem), certificate)
    checked = _checked(folder, problem, result)
    return Story(problem, result, str(run.get("source", "")), run["options"], run["timings"], checked)


def _json(path: Path, folder: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        message = f"{folder} is not a folder of `cobic select --out`: cannot read {path.name} in it"
        raise InputError(message) from None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        message = f"{path} is damaged: it is not a JSON object"
        raise ModelError(message)
    return document


def _support(folder: Path, problem: Problem) -> Bools:
    path = folder / "selection.csv"
    try:
        column = pd.read_csv(path, usecols=["selected"], dtype=str)["selected"]
    except OSError:
        message = f"{folder} is not a folder of `cobic select --out`: cannot read {path.name} in it"
        raise InputError(message) from None
    except ValueError:  # pandas' own errors are, too
        message = f"{path} is damaged: it has no column 'selected'"
        raise ModelError(message) from None
    if len(column) != problem.n_features or not column.isin(["True", "False"]).all():
        message = f"{path} is damaged: it does not say of {problem.n_features} features whether they are selected"
        raise ModelError(message)
    return np.asarray(column == "True", dtype=np.bool_)


def _result(folder: Path, run: dict[str, Any], support: Bools, certificate: dict[str, Any] | None) -> Result:
    try:
        soft = run["slack_penalty"] is not None
        objective = run["objective"] if soft else (support.sum() if run["status"] in ("optimal", "feasible") else None)
        return Result(
            support=support,
            status=Status(run["status"]),
            upper_bound=int(run["upper_bound"]),
            objective=-np.inf if objective is None else float(objective),
            objective_bound=float(run["objective_bound"] if soft else run["upper_bound"]),
            worst_margin=-np.inf if run["worst_margin"] is None else float(run["worst_margin"]),
            counts=tuple(int(count) for count in run["counts"]),
            classes=tuple(run["classes"]),
            method=str(run["method"]),
            seconds=float(run["seconds"]),
            lps=int(run["lps"]),
            history=tuple(Progress(**event) for event in run["history"]),
            stopped_by=run["stopped_by"],
            reason=str(run["reason"]),
            certificate=certificate,
            soft=soft,
        )
    except _DAMAGED:
        message = f"{folder}/run.json is damaged: a value is missing or of the wrong kind"
        raise ModelError(message) from None


def _checked(folder: Path, problem: Problem, result: Result) -> Verification | None:
    """Believe nothing that can be checked: margins always, the bound where there is a certificate."""
    same = tuple(problem.counts(result.support).tolist()) == result.counts
    claims = result.status in (Status.OPTIMAL, Status.FEASIBLE)
    if not same or (claims and not result.soft and not problem.is_consistent(result.support)):
        message = f"{folder} does not hold together: selection.csv is not the selection of run.json"
        raise ModelError(message)
    if result.certificate is None:
        return None  # the page says that there is no proof
    checked = verify(problem, result.certificate)
    if not checked.ok:
        message = f"{folder}/certificate.json does not hold: {checked.reason}"
        raise ModelError(message)
    if checked.upper_bound != result.upper_bound:
        message = f"{folder}/certificate.json does not prove the bound of run.json, {result.upper_bound}"
        raise ModelError(message)
    return checked
