"""The folder of ``cobic select --out``: an answer as files, and read back from them and checked against the data."""

import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd

from cobic.answer.documents import (
    DAMAGED,
    checked_certificate,
    history_of,
    read_file,
    read_json,
    require_names,
    stated_problem,
    stopped_by,
    timings_of,
)
from cobic.answer.model import Model
from cobic.answer.tables import finite, provenance, selection_table, summary_document, violation_table
from cobic.checker import Verification
from cobic.checks import require
from cobic.errors import ModelError
from cobic.matrix import Bools
from cobic.methods import METHODS, Method
from cobic.problem import Problem
from cobic.problem.dataset import Dataset
from cobic.search.judge import judged
from cobic.search.result import LeftOpenBy, Result, Status

ANSWER_FILES = ("selection.csv", "model.json", "violations.csv", "certificate.json", "run.json", "report.html")


@dataclass(frozen=True, eq=False)
class Answer:
    """What was solved and found, and what else is known about it."""

    problem: Problem
    result: Result
    source: str = ""  # where the data come from
    options: dict[str, Any] | None = None  # options given to :func:`cobic.solve`
    timings: dict[str, float] | None = None  # seconds by step
    checked: Verification | None = None  # what a check of the certificate found, where there was one


def answer_files(answer: Answer) -> dict[str, str]:
    """An answer as the texts of files, by name; the page is not among them."""
    problem, result = answer.problem, answer.result
    files = {"selection.csv": selection_table(problem, result).to_csv(index=False, lineterminator="\n")}
    if result.status in (Status.OPTIMAL, Status.FEASIBLE):
        files["model.json"] = Model.of(problem, result).to_json()
    if result.soft:
        files["violations.csv"] = violation_table(problem, result.support).to_csv(index=False, lineterminator="\n")
    if result.certificate is not None:
        files["certificate.json"] = json.dumps(result.certificate, allow_nan=False) + "\n"
    files["run.json"] = json.dumps(run_document(answer), indent=2, allow_nan=False) + "\n"
    return files


def run_document(answer: Answer) -> dict[str, Any]:
    """How an answer was found, for the file ``run.json``."""
    problem, result = answer.problem, answer.result
    history, runs = (
        [{key: finite(value) for key, value in asdict(each).items()} for each in events]
        for events in (result.history, result.runs)
    )
    return {
        **summary_document(problem, result),
        **{name: getattr(result, name) for name in ("reason", "stopped_by", "left_open_by")},
        "source": answer.source,
        "sample_names": None if problem.sample_names is None else list(problem.sample_names),
        "alpha": problem.alpha.tolist(),
        "beta": problem.beta.tolist(),
        **{name: getattr(problem, name) for name in ("ties", "beta_rule", "n_ties")},
        "slack_penalty": finite(problem.slack_penalty),
        "n_required": int(problem.required.sum()),
        "n_excluded": int((~problem.selectable).sum()),
        "n_groups": len(problem.constraints.groups),
        "options": answer.options or {},
        "timings": answer.timings or {"solve": round(result.seconds, 4)},
        "lps": result.lps,
        "runs": runs,
        "history": history,
        **provenance(problem),
    }


def read_answer(folder: Path, data: Dataset) -> Answer:
    """Read an answer back and check it: the data by digest and names, the selection by its margins, the proof whole."""
    run = read_json(folder, "run.json")
    problem = stated_problem(folder, "run.json", run, data)
    support = _support(folder, problem)
    certificate, checked = _checked(folder, run, problem)
    result = _result(folder, run, problem, support, certificate, checked)
    return Answer(problem, result, *_circumstances(folder, run, problem), checked)


def _support(folder: Path, problem: Problem) -> Bools:
    path, n_features = folder / "selection.csv", problem.n_features
    how: dict[str, Any] = {"usecols": ["feature", "selected"], "dtype": str, "na_filter": False}
    table = read_file(folder, path.name, lambda content: pd.read_csv(io.BytesIO(content), **how))
    require(table is not None, f"{path} is damaged: it has no columns 'feature' and 'selected'", ModelError)
    fine = len(table) == n_features and table["selected"].isin(["True", "False"]).all()
    require(fine, f"{path} is damaged: it does not say of {n_features} features whether they are selected", ModelError)
    require_names(folder, "feature", table["feature"].tolist(), problem.feature_names)
    return np.asarray(table["selected"] == "True", dtype=np.bool_)


def _checked(
    folder: Path, run: dict[str, Any], problem: Problem
) -> tuple[dict[str, Any], Verification] | tuple[None, None]:
    """The certificate and what it proves; None where the method makes none."""
    if not (folder / "certificate.json").exists():
        method = METHODS.get(str(run.get("method")))
        message = f"{folder} does not hold together: certificate.json is missing, so nothing of it is proven"
        require(method is None or not method.proves, message, ModelError)
        return None, None
    return checked_certificate(folder, problem)


def _result(
    folder: Path,
    run: dict[str, Any],
    problem: Problem,
    support: Bools,
    certificate: dict[str, Any] | None,
    checked: Verification | None,
) -> Result:
    """What can be computed is computed, what is proven is taken from the proof, and the claims must agree."""
    try:
        claim, counts = Status(run["status"]), tuple(run["counts"])
        claimed = int(run["upper_bound"]), float(run["objective_bound"] if problem.soft else run["upper_bound"])
        left_open_by = run.get("left_open_by")
        if left_open_by not in (None, *get_args(LeftOpenBy)):
            raise ValueError
        result = judged(
            problem,
            support,
            *_bounds(problem, METHODS[run["method"]], claimed, checked),
            left_open_by=left_open_by,
            reason=str(run["reason"]),
            method=run["method"],
            seconds=float(run["seconds"]),
            lps=int(run["lps"]),
            history=history_of(run["history"]),
            stopped_by=stopped_by(run),
            certificate=certificate,
        )
    except DAMAGED:
        message = f"{folder}/run.json is damaged: a value is missing or of the wrong kind"
        raise ModelError(message) from None
    same = counts == result.counts and (claim not in (Status.OPTIMAL, Status.FEASIBLE) or np.isfinite(result.objective))
    require(same, f"{folder} does not hold together: selection.csv is not the selection of run.json", ModelError)
    bounds = result.upper_bound, result.objective_bound
    source = "certificate.json does not prove" if checked is not None else "nothing proves"
    message = f"{folder}: {source} the bound of run.json, {claimed[problem.soft]:.6g}"
    require(np.allclose(claimed, bounds, rtol=1e-9, atol=0) and result.objective <= bounds[1], message, ModelError)
    message = f"{folder} does not hold together: run.json says {claim}, and the answer is {result.status}"
    require(claim == result.status, message, ModelError)
    return result


def _bounds(
    problem: Problem, method: Method, claimed: tuple[int, float], checked: Verification | None
) -> tuple[int, float]:
    """Proven bounds on features and objective; those of HiGHS are its word, and other methods have none."""
    if checked is not None and checked.upper_bound is not None and checked.objective_bound is not None:
        return checked.upper_bound, checked.objective_bound
    if not method.claims:
        return problem.n_selectable, float(problem.n_selectable)
    return (problem.n_selectable, claimed[1]) if problem.soft else claimed


def _circumstances(folder: Path, run: dict[str, Any], problem: Problem) -> tuple[str, dict[str, Any], dict[str, float]]:
    """Where the data were, the options and the timings: what is told as it is written."""
    try:
        options = dict(run["options"].items())
    except DAMAGED:
        message = f"{folder}/run.json is damaged: options are missing or of the wrong kind"
        raise ModelError(message) from None
    return str(run.get("source", "")), options, timings_of(folder, "run.json", run, problem)
