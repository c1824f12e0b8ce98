"""Feature selection by consistent biclustering: which features agree with the classes of my samples?"""

from importlib.metadata import version

from cobic import datasets, plot
from cobic.adata import select_adata
from cobic.certified.facts import SettledFeatures, settled_features
from cobic.certified.verify import Verification, verify
from cobic.dataset import Dataset
from cobic.errors import (
    DownloadError,
    InconsistentDataWarning,
    InputError,
    LargeDataWarning,
    ModelError,
    UnfinishedError,
)
from cobic.estimator import ConsistentBiclustering
from cobic.export import export_model
from cobic.io.read import read
from cobic.memory import MemoryEstimate, estimate_memory
from cobic.methods import solve
from cobic.model import Model
from cobic.paths import Path, path
from cobic.problem import Problem
from cobic.report import selection_table, violation_table
from cobic.report.page import write_report
from cobic.result import Progress, Result, Run, Status
from cobic.stability import Stability, stability

__version__ = version("cobic")

__all__ = [
    "ConsistentBiclustering",
    "Dataset",
    "DownloadError",
    "InconsistentDataWarning",
    "InputError",
    "LargeDataWarning",
    "MemoryEstimate",
    "Model",
    "ModelError",
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
