"""Feature selection by consistent biclustering: which features agree with the classes of my samples?"""

from importlib.metadata import version

from cobic import datasets
from cobic.certified.verify import Verification, verify
from cobic.dataset import Dataset
from cobic.errors import DownloadError, InputError, ModelError
from cobic.io import read_table
from cobic.methods import solve
from cobic.model import Model
from cobic.problem import Problem
from cobic.report import selection_table
from cobic.result import Progress, Result, Run, Status

__version__ = version("cobic")

__all__ = [
    "Dataset",
    "DownloadError",
    "InputError",
    "Model",
    "ModelError",
    "Problem",
    "Progress",
    "Result",
    "Run",
    "Status",
    "Verification",
    "datasets",
    "read_table",
    "selection_table",
    "solve",
    "verify",
]
