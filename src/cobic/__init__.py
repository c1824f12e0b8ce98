"""Feature selection by consistent biclustering: which features agree with the classes of my samples?

The public names are loaded when they are first used: `import cobic` alone costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cobic import datasets, plot
    from cobic.adata import markers, select_adata
    from cobic.analyses.frontier import Frontier, frontier
    from cobic.analyses.panel import panel
    from cobic.analyses.path import Path, path
    from cobic.analyses.stability import Stability, stability
    from cobic.answer.model import Model
    from cobic.answer.panel import Panel
    from cobic.answer.tables import selection_table, violation_table
    from cobic.certified.facts import SettledFeatures, settled_features
    from cobic.checker import Verification, verify
    from cobic.errors import (
        DownloadError,
        InconsistentDataWarning,
        InputError,
        LargeDataWarning,
        ModelError,
        UnfinishedError,
    )
    from cobic.estimator import ConsistentBiclustering, ConsistentBiclusteringCV, PanelClassifier
    from cobic.io.read import read
    from cobic.methods import solve
    from cobic.methods.export import export_model
    from cobic.methods.memory import MemoryEstimate, estimate_memory
    from cobic.problem import PanelProblem, Problem
    from cobic.problem.dataset import Dataset
    from cobic.report.page import write_report
    from cobic.search.result import Progress, Result, Run, Status

    __version__: str

__all__ = [
    "ConsistentBiclustering",
    "ConsistentBiclusteringCV",
    "Dataset",
    "DownloadError",
    "Frontier",
    "InconsistentDataWarning",
    "InputError",
    "LargeDataWarning",
    "MemoryEstimate",
    "Model",
    "ModelError",
    "Panel",
    "PanelClassifier",
    "PanelProblem",
    "Path",
    "Problem",
    "Progress",
    "Result",
    "Run",
    "SettledFeatures",
    "Stability",
    "Status",
    "UnfinishedError",
    "Verification",
    "datasets",
    "estimate_memory",
    "export_model",
    "frontier",
    "markers",
    "panel",
    "path",
    "plot",
    "read",
    "select_adata",
    "selection_table",
    "settled_features",
    "solve",
    "stability",
    "verify",
    "violation_table",
    "write_report",
]

_ROOMS = {
    "adata": "markers select_adata",
    "analyses.frontier": "Frontier frontier",
    "analyses.panel": "panel",
    "analyses.path": "Path path",
    "analyses.stability": "Stability stability",
    "answer.model": "Model",
    "answer.panel": "Panel",
    "answer.tables": "selection_table violation_table",
    "certified.facts": "SettledFeatures settled_features",
    "checker": "Verification verify",
    "errors": "DownloadError InconsistentDataWarning InputError LargeDataWarning ModelError UnfinishedError",
    "estimator": "ConsistentBiclustering ConsistentBiclusteringCV PanelClassifier",
    "io.read": "read",
    "methods": "solve",
    "methods.export": "export_model",
    "methods.memory": "MemoryEstimate estimate_memory",
    "problem": "PanelProblem Problem",
    "problem.dataset": "Dataset",
    "report.page": "write_report",
    "search.result": "Progress Result Run Status",
}
_ROOM_OF = {name: f"cobic.{room}" for room, names in _ROOMS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Load a public name from its room, once."""
    if name == "__version__":
        value: Any = import_module("importlib.metadata").version("cobic")
    elif name in ("datasets", "plot"):
        return import_module(f"cobic.{name}")
    elif name in _ROOM_OF:
        value = getattr(import_module(_ROOM_OF[name]), name)
    else:
        message = f"module 'cobic' has no attribute {name!r}"
        raise AttributeError(message)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted({*__all__, "__version__"})
