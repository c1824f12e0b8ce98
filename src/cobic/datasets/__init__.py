"""Public data sets, fetched once and checked, a synthetic one shaped like them, and larger ones made of either kind."""

from cobic.datasets.large import make_large_expression, write_expression
from cobic.datasets.public import (
    FILES,
    LOADERS,
    RemoteFile,
    fetch,
    load_alon,
    load_golub,
    load_gravier,
    load_khan,
    load_notterman,
    load_singh,
    load_sorlie,
)
from cobic.datasets.resampled import resample_expression, write_resampled
from cobic.datasets.synthetic import make_expression

__all__ = [
    "FILES",
    "LOADERS",
    "RemoteFile",
    "fetch",
    "load_alon",
    "load_golub",
    "load_gravier",
    "load_khan",
    "load_notterman",
    "load_singh",
    "load_sorlie",
    "make_expression",
    "make_large_expression",
    "resample_expression",
    "write_expression",
    "write_resampled",
]
