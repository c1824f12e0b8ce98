"""The data of the comparison: the same values for every method."""

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.feature_selection import f_classif
from sklearn.preprocessing import StandardScaler

from cobic.datasets import LOADERS

Floats = NDArray[np.float64]
Labels = NDArray[Any]

# Raw intensities are taken on log2 with a floor. 20 is the usual one for Golub's arrays, 10 that of Singh et al.;
# Notterman's values are as large as Singh's (medians 11 and 6); Alon's are all above 5.
FLOORS = {"golub": 20.0, "notterman": 10.0, "singh": 10.0, "alon": 5.0}
EXPRESSION = ("golub", "notterman", "alon", "singh", "gravier", "khan", "sorlie", "pbmc68k")
FEW_FEATURES = {"wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
PBMC = "COBIC_PBMC"  # names the file 10x_pbmc68k_reduced.h5ad, which is part of the package scanpy


@dataclass(frozen=True, eq=False)
class Data:
    """A data set: values on log scale where it has one, the values as published, classes."""

    name: str
    X: Floats
    raw: Floats
    y: Labels

    @property
    def few(self) -> bool:
        """Whether it has few features, on scales of their own: they are standardised, in the training part."""
        return self.name in FEW_FEATURES

    @property
    def two(self) -> bool:
        """Whether it has two classes."""
        return np.unique(self.y).size == 2


@dataclass(frozen=True, eq=False)
class Fold:
    """What a method sees: training samples with classes, and new samples."""

    X: Floats
    y: Labels
    new: Floats
    raw: tuple[Floats, Floats]  # the same samples as published
    few: bool = False

    @classmethod
    def of(cls, data: Data, train: NDArray[Any], test: NDArray[Any]) -> "Fold":
        """Part of the samples for training, others to predict."""
        X, new = data.X[train], data.X[test]
        if data.few:
            scaler = StandardScaler().fit(X)
            X, new = scaler.transform(X), scaler.transform(new)
        return cls(X, data.y[train], new, (data.raw[train], data.raw[test]), data.few)

    def inner(self, train: NDArray[Any], test: NDArray[Any]) -> "Fold":
        """A fold inside the training part."""
        raw = self.raw[0]
        return Fold(self.X[train], self.y[train], self.X[test], (raw[train], raw[test]), self.few)


def everything(name: str) -> tuple[Floats, Labels]:
    """All samples of a data set as published, those of the test part as well."""
    data = LOADERS[name]()
    if data.test is None:
        return data.X, data.y
    return np.vstack([data.X, data.test.X]), np.concatenate([data.y, data.test.y])


def f_statistics(X: Floats, y: Labels) -> Floats:
    """The F test of the class means, feature by feature; 0 for one that is constant, where it would be rounding."""
    return np.where(np.ptp(X, axis=0) > 0, np.nan_to_num(f_classif(X, y)[0]), 0.0)


@lru_cache(maxsize=2)
def load(name: str) -> Data:
    """A data set by its name."""
    if name in FEW_FEATURES:
        X, y = FEW_FEATURES[name](return_X_y=True)
    elif name == "pbmc68k":
        X, y = _pbmc()
    else:
        X, y = everything(name)
    floor = FLOORS.get(name)
    return Data(name, X if floor is None else np.log2(np.maximum(X, floor)), X, y)


def available() -> list[str]:
    """The data sets that are at hand, the expression data first."""
    have = [name for name in EXPRESSION if name != "pbmc68k"] if os.environ.get("COBIC_DATA") else []
    return [*have, *(["pbmc68k"] if os.environ.get(PBMC) else []), *FEW_FEATURES]


def _pbmc() -> tuple[Floats, Labels]:
    """Logarithms of counts of 765 genes in 700 cells, ten kinds of cells."""
    import anndata

    cells = anndata.read_h5ad(Path(os.environ[PBMC]))
    return cells.raw.X.toarray().astype(np.float64), cells.obs["bulk_labels"].astype(str).to_numpy()
