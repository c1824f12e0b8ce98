"""The folder of ``cobic panel --out``: a panel as files, and read back from them and checked against the data."""

import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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
from cobic.answer.panel import Panel
from cobic.answer.tables import finite, provenance
from cobic.checker import Verification
from cobic.checks import require
from cobic.errors import InputError, ModelError
from cobic.io.files import settle
from cobic.problem import PanelProblem, Problem
from cobic.problem.dataset import Dataset

PANEL_FILES = ("panel.csv", "model.json", "certificate.json", "panel.json", "report.html")


@dataclass(frozen=True, eq=False)
class PanelAnswer:
    """A panel, and what else is known about it."""

    panel: Panel
    source: str = ""  # where the data come from
    command: str = ""  # by which it was made
    timings: dict[str, float] | None = None  # seconds by step
    checked: Verification | None = None  # what a check of the certificate found, where there was one

    @property
    def problem(self) -> Problem:
        """Samples, classes and features."""
        return self.panel.problem.problem


def panel_summary(panel: Panel) -> dict[str, Any]:
    """A panel under the keys that ``cobic panel --json`` prints."""
    return {
        "features": list(panel.features),
        "counts": list(panel.counts),
        "tail_margin": finite(panel.tail_margin),
        "worst_margin": finite(panel.worst_margin),
        "bound": panel.bound,
        "gap": finite(panel.gap),
        "status": str(panel.status),
        "seconds": round(panel.seconds, 4),
        "n_features": panel.problem.problem.n_features,
        "n_samples": panel.problem.problem.n_samples,
        "classes": list(panel.classes),
        **({} if panel.offsets is None else {"offsets": list(panel.offsets)}),
    }


def panel_files(answer: PanelAnswer) -> dict[str, str]:
    """A panel as the texts of files, by name; the page is not among them. Without a panel, the bound alone."""
    panel, files = answer.panel, {}
    if panel.support.any():
        files = {"panel.csv": panel.table.to_csv(index=False, lineterminator="\n"), "model.json": panel.model.to_json()}
    files["certificate.json"] = json.dumps(panel.certificate, allow_nan=False) + "\n"
    files["panel.json"] = json.dumps(_document(answer), indent=2, allow_nan=False) + "\n"
    return files


def _document(answer: PanelAnswer) -> dict[str, Any]:
    """A panel and how it was found, for the file ``panel.json``."""
    panel, problem = answer.panel, answer.problem
    return {
        **panel_summary(panel),
        "stopped_by": panel.stopped_by,
        "source": answer.source,
        "command": answer.command,
        "sample_names": None if problem.sample_names is None else list(problem.sample_names),
        "timings": answer.timings or {"choose": round(panel.seconds, 4)},
        "history": [{key: finite(value) for key, value in asdict(event).items()} for event in panel.history],
        **provenance(problem),
        "problem": panel.problem.parameters,
    }


def is_panel_folder(folder: Path) -> bool:
    """Whether a folder holds a panel, not a selection."""
    settle(folder)
    return (folder / "panel.json").exists()


def read_panel(folder: Path, data: Dataset) -> PanelAnswer:
    """Read a panel back and check it: the data by digest and names, the panel by its margins, the proof whole."""
    document = read_json(folder, "panel.json")
    problem = stated_problem(folder, "panel.json", document, data)
    try:
        asked = PanelProblem.stated(problem, document["problem"])
    except (*DAMAGED, InputError):
        message = f"{folder}/panel.json does not say which panel was asked for: make {folder} again"
        raise InputError(message) from None
    certificate, checked = checked_certificate(folder, asked)
    panel = _panel(folder, document, asked, certificate)
    timings = timings_of(folder, "panel.json", document, problem)
    return PanelAnswer(panel, str(document.get("source", "")), str(document.get("command", "")), timings, checked)


def _panel(folder: Path, document: dict[str, Any], asked: PanelProblem, certificate: dict[str, Any]) -> Panel:
    """What can be computed is computed, what is proven is taken from the proof, and the claims must agree."""
    support = np.zeros(asked.problem.n_features, dtype=np.bool_)
    support[certificate["selected"]] = True
    try:
        panel = Panel.of(
            asked,
            support,
            float(certificate["objective_bound"]),
            offsets=tuple(certificate["offsets"]) if asked.offset and support.any() else None,
            seconds=float(document["seconds"]),
            history=history_of(document["history"]),
            stopped_by=stopped_by(document),
            certificate=certificate,
        )
        claimed = float(document["bound"]), str(document["status"])
        features = [str(name) for name in document["features"]]
    except DAMAGED:
        message = f"{folder}/panel.json is damaged: a value is missing or of the wrong kind"
        raise ModelError(message) from None
    message = f"{folder}: certificate.json does not prove the bound of panel.json, {claimed[0]:.6g}"
    require(bool(np.isclose(claimed[0], panel.bound, rtol=1e-9, atol=0)), message, ModelError)
    message = f"{folder} does not hold together: panel.json says {claimed[1]}, and the answer is {panel.status}"
    require(claimed[1] == panel.status, message, ModelError)
    names = [str(name) for name in panel.features]
    message = f"{folder} does not hold together: panel.json, panel.csv and certificate.json have different features"
    same = len(features) == len(names) and (not names or features == _listed(folder))
    require(same, message, ModelError)
    require_names(folder, "feature of the panel", features, names)
    return panel


def _listed(folder: Path) -> list[str] | None:
    """The features of ``panel.csv``, in its order."""
    how: dict[str, Any] = {"usecols": ["feature"], "dtype": str, "na_filter": False}
    table = read_file(folder, "panel.csv", lambda content: pd.read_csv(io.BytesIO(content), **how))
    return None if table is None else list(table["feature"])
