"""Public data sets, fetched once and checked.

A file is looked for in the folder named by the environment variable ``COBIC_DATA`` first, then in the user's cache,
then downloaded from a fixed address. Its SHA-256 is checked in every case.
"""

from __future__ import annotations

import csv
import hashlib
import logging
import os
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pooch
import requests

from cobic.errors import DownloadError
from cobic.matrix import Floats
from cobic.problem.dataset import Dataset

_TIMEOUT = 30.0  # seconds without a word from the server


@dataclass(frozen=True)
class RemoteFile:
    """One file of a public data set.

    Examples
    --------
    >>> import cobic
    >>> cobic.datasets.FILES["alon"].path
    'binary/alon.tar.gz'
    """

    path: str  # where it is kept inside ``COBIC_DATA`` and inside the cache
    address: str  # where it is downloaded from
    sha256: str  # what it must hash to


_GOLUB = (
    "https://raw.githubusercontent.com/tkhan11/Gene-Expression-Classification/e6a1d8be4d763c9e4d9d71348abfaabd61a32131/"
)
_NOTTERMAN = (
    "https://raw.githubusercontent.com/AmalDamodarMukund/"
    "Colon-Cancer-Analysis-and-Prediction-from-Genetic-Expression-Data/6793215fd9feb87f8bdcf2ce5366de6f4fbf0afc/"
)
_MICROARRAY = (
    "https://raw.githubusercontent.com/kivancguckiran/microarray-data/5681201bb4e2ba7024fe15d4c71046017219b658/csv/"
)

# The folder that an archive is kept in, and its SHA-256
_ARCHIVES = {
    "khan": ("multiclass", "1dfd1b10ecd9fdcde6955db65bb02f27b65dfdf41e924b624e36db7c3247b9d5"),
    "sorlie": ("multiclass", "6bb9fe279e10f83d04b1a5c8931d12d1132f7df10a55461eee9075420e1fd97c"),
    "alon": ("binary", "caa28ffa83219916d0e3ab9c2e459c0a43e407f5ec55ab49301e69493cef5628"),
    "singh": ("binary", "7aeba654ac623bca8598ff31125fed953668320474f2a86e7860fe2c1dc5a650"),
    "gravier": ("binary", "5eb759605597717c7012dfef7af4f9bf7cc3e4ad63628f2d1970f72a0baa933e"),
}

FILES = {
    "golub-train": RemoteFile(
        "golub/data_set_ALL_AML_train.csv",
        f"{_GOLUB}data_set_ALL_AML_train.csv",
        "7c8b432b4af99e68f923c53e289c73f1834986b05d80c2c43502053d8fca9f2c",
    ),
    "golub-independent": RemoteFile(
        "golub/data_set_ALL_AML_independent.csv",
        f"{_GOLUB}data_set_ALL_AML_independent.csv",
        "38bd56674360e5765840c579622fc0be2650780c0d6ef46f8601074e96677bd3",
    ),
    "golub-classes": RemoteFile(
        "golub/actual.csv",
        f"{_GOLUB}actual.csv",
        "af291eced4116e257af0b73043e83b55d9b42f0d815440a4c5bc72424d2f44e1",
    ),
    "notterman": RemoteFile(
        "notterman/CarcinomaNormaldatasetCancerResearch.csv",
        f"{_NOTTERMAN}CarcinomaNormaldatasetCancerResearch.csv",
        "c62e3ea520a69ceb78ab9ff37a7bc79dbc23bf8f906d634e302fdabba71f2546",
    ),
    **{
        name: RemoteFile(f"{folder}/{name}.tar.gz", f"{_MICROARRAY}{name}.tar.gz", sha256)
        for name, (folder, sha256) in _ARCHIVES.items()
    },
}


def load_golub() -> Dataset:
    """Load the leukaemia data of Golub et al. (Science 1999): ALL against AML, 7129 genes.

    Returns
    -------
    Dataset
        The 38 training samples (27 ALL, 11 AML); its `test` holds the 34 independent ones (20 ALL, 14 AML).

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.load_golub()
    >>> data.X.shape, data.class_sizes
    ((38, 7129), {'ALL': 27, 'AML': 11})
    """
    classes = {row[0]: row[1] for row in _csv_rows(fetch(FILES["golub-classes"]))[1:]}
    train, independent = (_golub_part(name, classes) for name in ("golub-train", "golub-independent"))
    return replace(train, test=independent)


def load_notterman() -> Dataset:
    """Load the colon data of Notterman et al. (Cancer Research 2001): tumour against normal tissue, 7457 genes.

    Returns
    -------
    Dataset
        18 tumour and 18 normal samples of the same patients.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.load_notterman()
    >>> data.X.shape, data.class_sizes
    ((36, 7457), {'Normal': 18, 'Tumor': 18})
    """
    header, *body = _csv_rows(fetch(FILES["notterman"]))
    columns = [index for index, name in enumerate(header) if name.startswith(("Tumor ", "Normal "))]
    genes = [row for row in body if row[0]]  # the clinical rows have no accession number
    names = tuple(header[index] for index in columns)
    return Dataset(
        X=_cells(genes, columns),
        y=np.array([name.split()[0] for name in names]),
        feature_names=tuple(row[0] for row in genes),
        sample_names=names,
        source="Notterman et al., Cancer Research 61 (2001)",
        feature_descriptions=tuple(row[1].strip('"') for row in genes),
    )


def load_khan() -> Dataset:
    """Load the small round blue cell tumours of Khan et al. (Nature Medicine 2001): 4 classes, 2308 genes.

    Returns
    -------
    Dataset
        63 samples; the classes are numbered.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.load_khan()
    >>> data.X.shape, data.class_sizes
    ((63, 2308), {'1': 8, '2': 23, '3': 12, '4': 20})
    """
    return _archived("khan", "Khan et al., Nature Medicine 7 (2001)")


def load_sorlie() -> Dataset:
    """Load the breast carcinomas of Sørlie et al. (PNAS 2001): 5 classes, 456 genes.

    Returns
    -------
    Dataset
        85 samples; the classes are numbered.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.load_sorlie()
    >>> data.X.shape, data.class_sizes
    ((85, 456), {'1': 14, '2': 11, '3': 13, '4': 15, '5': 32})
    """
    return _archived("sorlie", "Sørlie et al., PNAS 98 (2001)")


def load_alon() -> Dataset:
    """Load the colon data of Alon et al. (PNAS 1999): normal against tumour tissue, 2000 genes.

    Returns
    -------
    Dataset
        62 samples, intensities; class 1 (22 samples) is normal tissue, class 2 (40) tumour.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.load_alon()
    >>> data.X.shape, data.class_sizes
    ((62, 2000), {'1': 22, '2': 40})
    """
    return _archived("alon", "Alon et al., PNAS 96 (1999)")


def load_singh() -> Dataset:
    """Load the prostate data of Singh et al. (Cancer Cell 2002): normal against tumour tissue, 12,600 genes.

    Returns
    -------
    Dataset
        102 samples, intensities; class 1 (50 samples) is normal tissue, class 2 (52) tumour.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.load_singh()
    >>> data.X.shape, data.class_sizes
    ((102, 12600), {'1': 50, '2': 52})
    """
    return _archived("singh", "Singh et al., Cancer Cell 1 (2002)")


def load_gravier() -> Dataset:
    """Load the breast carcinomas of Gravier et al. (Genes Chromosomes Cancer 2010): two outcomes, 2905 genes.

    Returns
    -------
    Dataset
        168 samples, log ratios; class 1 (111 samples) had no metastasis within five years, class 2 (57) had one.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.load_gravier()
    >>> data.X.shape, data.class_sizes
    ((168, 2905), {'1': 111, '2': 57})
    """
    return _archived("gravier", "Gravier et al., Genes Chromosomes Cancer 49 (2010)")


_ALL = (load_golub, load_notterman, load_khan, load_sorlie, load_alon, load_singh, load_gravier)
LOADERS: dict[str, Callable[[], Dataset]] = {load.__name__.removeprefix("load_"): load for load in _ALL}


def fetch(file: RemoteFile) -> Path:
    """Find a file in ``COBIC_DATA`` or the cache, or download it; its digest is checked in every case.

    Parameters
    ----------
    file : RemoteFile
        What to fetch.

    Returns
    -------
    Path
        Where it is on this computer.

    Raises
    ------
    DownloadError
        If it cannot be had whole and unchanged.

    Examples
    --------
    >>> import cobic
    >>> cobic.datasets.fetch(cobic.datasets.FILES["alon"]).name
    'alon.tar.gz'
    """
    folder = os.environ.get("COBIC_DATA")
    if folder and (own := Path(folder) / file.path).is_file():
        if hashlib.sha256(own.read_bytes()).hexdigest() != file.sha256:
            message = f"{own} is not the published file (wrong SHA-256): replace it, or unset COBIC_DATA to download it"
            raise DownloadError(message)
        return own
    name, cache, logger = file.path.replace("/", "-"), pooch.os_cache("cobic"), pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.WARNING)  # nothing is told about a download that goes well
    try:
        downloader = pooch.HTTPDownloader(timeout=_TIMEOUT)
        return Path(pooch.retrieve(file.address, f"sha256:{file.sha256}", name, cache, downloader=downloader))
    except requests.exceptions.RequestException as error:
        why = f"the download failed ({type(error).__name__})"
    except ValueError:  # pooch's word for a wrong digest
        why = "what arrived is not the expected file (wrong SHA-256)"
    except OSError as error:
        why = f"it cannot be stored ({error.strerror or error})"
    finally:
        logger.setLevel(level)
    message = f"cannot fetch {file.address}: {why}; try again, or put {file.path} into a folder named by COBIC_DATA"
    raise DownloadError(message)


def _csv_rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return [row for row in csv.reader(stream) if row]


def _cells(rows: list[list[str]], columns: list[int]) -> Floats:
    """The numbers of some columns of features-in-rows text, turned to samples in rows."""
    return np.array([[row[index] for index in columns] for row in rows], dtype=np.float64).T.copy()


def _golub_part(name: str, classes: dict[str, str]) -> Dataset:
    header, *body = _csv_rows(fetch(FILES[name]))
    columns = [index for index, cell in enumerate(header) if cell.isdigit()]  # the others are `call` columns
    patients = tuple(header[index] for index in columns)
    return Dataset(
        X=_cells(body, columns),
        y=np.array([classes[patient] for patient in patients]),
        feature_names=tuple(row[1] for row in body),
        sample_names=patients,
        source="Golub et al., Science 286 (1999)",
        feature_descriptions=tuple(row[0] for row in body),
    )


def _archived(name: str, source: str) -> Dataset:
    with tarfile.open(fetch(FILES[name])) as archive:
        files: Any = (archive.extractfile(f"{name}_{part}.csv") for part in ("inputs", "outputs"))
        X, y = (np.loadtxt(file, delimiter=",", ndmin=2) for file in files)
    return Dataset(
        X=X,
        y=y.ravel().astype(np.int64),
        feature_names=tuple(f"{name}_{index + 1}" for index in range(X.shape[1])),
        sample_names=tuple(f"sample_{index + 1}" for index in range(X.shape[0])),
        source=source,
    )
