"""Public data sets, fetched once and checked, a synthetic one shaped like them, and larger ones made of either kind.

A file is looked for in the folder named by the environment variable ``COBIC_DATA`` first, then in the user's cache,
then downloaded from a fixed address. Its SHA-256 is checked in every case.
"""

import csv
import hashlib
import io
import logging
import os
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pooch
import requests
from numpy.typing import NDArray

from cobic.checks import require_whole
from cobic.dataset import Dataset
from cobic.errors import DownloadError, InputError
from cobic.expression import make_large_expression, write_expression
from cobic.matrix import Floats, Integers
from cobic.resampled import resample_expression, write_resampled

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

_TIMEOUT = 30.0


@dataclass(frozen=True)
class RemoteFile:
    """One file of a public data set.

    Attributes
    ----------
    path : str
        Where it is kept inside ``COBIC_DATA`` and inside the cache.
    address : str
        Where it is downloaded from.
    sha256 : str
        What it must hash to.
    """

    path: str
    address: str
    sha256: str


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
    "khan": RemoteFile(
        "multiclass/khan.tar.gz",
        f"{_MICROARRAY}khan.tar.gz",
        "1dfd1b10ecd9fdcde6955db65bb02f27b65dfdf41e924b624e36db7c3247b9d5",
    ),
    "sorlie": RemoteFile(
        "multiclass/sorlie.tar.gz",
        f"{_MICROARRAY}sorlie.tar.gz",
        "6bb9fe279e10f83d04b1a5c8931d12d1132f7df10a55461eee9075420e1fd97c",
    ),
    "alon": RemoteFile(
        "binary/alon.tar.gz",
        f"{_MICROARRAY}alon.tar.gz",
        "caa28ffa83219916d0e3ab9c2e459c0a43e407f5ec55ab49301e69493cef5628",
    ),
    "singh": RemoteFile(
        "binary/singh.tar.gz",
        f"{_MICROARRAY}singh.tar.gz",
        "7aeba654ac623bca8598ff31125fed953668320474f2a86e7860fe2c1dc5a650",
    ),
    "gravier": RemoteFile(
        "binary/gravier.tar.gz",
        f"{_MICROARRAY}gravier.tar.gz",
        "5eb759605597717c7012dfef7af4f9bf7cc3e4ad63628f2d1970f72a0baa933e",
    ),
}


def load_golub() -> Dataset:
    """Load the leukaemia data of Golub et al. (Science 1999): ALL against AML, 7129 genes.

    Returns
    -------
    Dataset
        The 38 training samples (27 ALL, 11 AML); its `test` holds the 34 independent ones (20 ALL, 14 AML).
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
    """
    return _archived("khan", "Khan et al., Nature Medicine 7 (2001)")


def load_sorlie() -> Dataset:
    """Load the breast carcinomas of Sørlie et al. (PNAS 2001): 5 classes, 456 genes.

    Returns
    -------
    Dataset
        85 samples; the classes are numbered.
    """
    return _archived("sorlie", "Sørlie et al., PNAS 98 (2001)")


def load_alon() -> Dataset:
    """Load the colon data of Alon et al. (PNAS 1999): normal against tumour tissue, 2000 genes.

    Returns
    -------
    Dataset
        62 samples, intensities; class 1 (22 samples) is normal tissue, class 2 (40) tumour.
    """
    return _archived("alon", "Alon et al., PNAS 96 (1999)")


def load_singh() -> Dataset:
    """Load the prostate data of Singh et al. (Cancer Cell 2002): normal against tumour tissue, 12,600 genes.

    Returns
    -------
    Dataset
        102 samples, intensities; class 1 (50 samples) is normal tissue, class 2 (52) tumour.
    """
    return _archived("singh", "Singh et al., Cancer Cell 1 (2002)")


def load_gravier() -> Dataset:
    """Load the breast carcinomas of Gravier et al. (Genes Chromosomes Cancer 2010): two outcomes, 2905 genes.

    Returns
    -------
    Dataset
        168 samples, log ratios; class 1 (111 samples) had no metastasis within five years, class 2 (57) had one.
    """
    return _archived("gravier", "Gravier et al., Genes Chromosomes Cancer 49 (2010)")


LOADERS: dict[str, Callable[[], Dataset]] = {
    "golub": load_golub,
    "notterman": load_notterman,
    "khan": load_khan,
    "sorlie": load_sorlie,
    "alon": load_alon,
    "singh": load_singh,
    "gravier": load_gravier,
}


def make_expression(
    n_features: int = 7129,
    *,
    class_sizes: Sequence[int] = (27, 11),
    test_sizes: Sequence[int] | None = (20, 14),
    informative: float = 0.2,
    noisy: float = 0.1,
    contaminated: float = 0.01,
    seed: int = 0,
) -> Dataset:
    """Make synthetic expression data shaped like Golub's, with features that must be dropped.

    Parameters
    ----------
    n_features : int, default=7129
        Number of genes.
    class_sizes : sequence of int, default=(27, 11)
        Training samples of each class; the classes are called A, B, ….
    test_sizes : sequence of int or None, default=(20, 14)
        Held-out samples of each class. They follow the same distribution without the contamination.
    informative : float, default=0.2
        Fraction of genes that are expressed more in one class.
    noisy : float, default=0.1
        Fraction of genes with a large spread and no class.
    contaminated : float, default=0.01
        Fraction of genes that are expressed in one class, but in which one training sample of *another* class has a
        gross error. A few samples have most of these errors: they cannot be read right unless such genes go.
    seed : int, default=0
        Everything is determined by it.

    Returns
    -------
    Dataset
        Whole numbers, `feature_kinds` says what each gene was planted as, and `test` holds the held-out samples.

    Examples
    --------
    >>> data = make_expression(seed=0)
    >>> data.X.shape, data.test.X.shape
    ((38, 7129), (34, 7129))
    >>> data.feature_kinds.count("contaminated")
    71
    """
    _check_expression(n_features, class_sizes, test_sizes, (informative, noisy, contaminated))
    rng = np.random.default_rng(require_whole("seed", seed, 0))
    k = len(class_sizes)
    kinds = _planted_kinds(n_features, informative, noisy, contaminated, rng)
    raised_in = rng.integers(k, size=n_features)
    baseline = rng.lognormal(5.0, 1.2, size=n_features)
    errors = rng.uniform(20_000.0, 60_000.0, size=n_features)
    shift = np.zeros(n_features)
    shift[kinds == "informative"] = (rng.uniform(0.1, 0.6, n_features) * (baseline + 150.0))[kinds == "informative"]
    # The class must stay ahead of the victim's own class, whose mean the error lifts by error / (its size).
    lifted = rng.uniform(1.2, 1.6, n_features) * errors / max(2, min(class_sizes))
    shift[kinds == "contaminated"] = lifted[kinds == "contaminated"]
    spread = np.where(kinds == "noisy", 3.0, 0.25) * baseline + 60.0

    def sample(sizes: Sequence[int]) -> tuple[Floats, Integers]:
        labels = np.repeat(np.arange(k), sizes)
        level = baseline + shift * (labels[:, None] == raised_in)
        return level + spread * rng.standard_normal((labels.size, n_features)), labels

    X, labels = sample(class_sizes)
    held_out = sample(test_sizes) if test_sizes is not None else None
    victims = _victims(labels, k, rng)
    for feature in np.flatnonzero(kinds == "contaminated"):
        X[rng.choice(victims[raised_in[feature]]), feature] += errors[feature]
    kind_names = tuple(str(kind) for kind in kinds)
    test = None if held_out is None else _expression(*held_out, "test", kind_names, seed)
    return replace(_expression(X, labels, "train", kind_names, seed), test=test)


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
    """
    folder = os.environ.get("COBIC_DATA")
    if folder and (Path(folder) / file.path).is_file():
        return _checked(Path(folder) / file.path, file.sha256)
    name = file.path.replace("/", "-")
    try:
        with _quiet_pooch():
            downloader = pooch.HTTPDownloader(timeout=_TIMEOUT)
            cache = pooch.os_cache("cobic")
            return Path(pooch.retrieve(file.address, f"sha256:{file.sha256}", name, cache, downloader=downloader))
    except requests.exceptions.RequestException as error:
        why = f"the download failed ({type(error).__name__})"
    except ValueError:  # pooch's word for a wrong digest
        why = "what arrived is not the expected file (wrong SHA-256)"
    except OSError as error:
        why = f"it cannot be stored ({error.strerror or error})"
    message = f"cannot fetch {file.address}: {why}; try again, or put {file.path} into a folder named by COBIC_DATA"
    raise DownloadError(message)


def _checked(path: Path, sha256: str) -> Path:
    if hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
        message = f"{path} is not the published file (wrong SHA-256): replace it, or unset COBIC_DATA to download it"
        raise DownloadError(message)
    return path


@contextmanager
def _quiet_pooch() -> Iterator[None]:
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


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
        X, y = (_archived_table(archive, f"{name}_{part}.csv") for part in ("inputs", "outputs"))
    n_samples, n_features = X.shape
    return Dataset(
        X=X,
        y=y.ravel().astype(np.int64),
        feature_names=tuple(f"{name}_{index + 1}" for index in range(n_features)),
        sample_names=tuple(f"sample_{index + 1}" for index in range(n_samples)),
        source=source,
    )


def _archived_table(archive: tarfile.TarFile, member: str) -> Floats:
    stream = archive.extractfile(member)
    if stream is None:
        message = f"the archive has no file {member}"
        raise DownloadError(message)
    return np.loadtxt(io.TextIOWrapper(stream, encoding="ascii"), delimiter=",", ndmin=2)


def _check_expression(
    n_features: int, class_sizes: Sequence[int], test_sizes: Sequence[int] | None, fractions: tuple[float, ...]
) -> None:
    if len(class_sizes) < 2 or min(class_sizes) < 1 or n_features < 1:
        message = "make_expression needs at least one feature and two classes with at least one sample each"
        raise InputError(message)
    if test_sizes is not None and len(test_sizes) != len(class_sizes):
        message = f"test_sizes has {len(test_sizes)} entries for {len(class_sizes)} classes"
        raise InputError(message)
    if min(fractions) < 0 or sum(fractions) > 1:
        message = (
            "informative, noisy and contaminated are fractions of the features: each at least 0, together at most 1"
        )
        raise InputError(message)


def _planted_kinds(
    n_features: int, informative: float, noisy: float, contaminated: float, rng: np.random.Generator
) -> NDArray[np.str_]:
    kinds = np.full(n_features, "plain", dtype="<U12")
    numbers = [round(part * n_features) for part in (informative, noisy, contaminated)]
    ends = np.cumsum(numbers)
    for kind, end, number in zip(("informative", "noisy", "contaminated"), ends, numbers, strict=True):
        kinds[end - number : end] = kind
    rng.shuffle(kinds)
    return kinds


def _victims(labels: Integers, k: int, rng: np.random.Generator) -> list[Integers]:
    """For each class the samples of other classes that get its gross errors: a few, the same ones again and again."""
    few = rng.permutation(labels.size)[: max(k, labels.size // 6)]
    chosen = [few[labels[few] != cls] for cls in range(k)]
    return [each if each.size else np.flatnonzero(labels != cls) for cls, each in enumerate(chosen)]


def _expression(X: Floats, labels: Integers, part: str, kinds: tuple[str, ...], seed: int) -> Dataset:
    width = len(str(X.shape[1]))
    return Dataset(
        X=np.round(X),
        y=np.array([chr(ord("A") + label) if label < 26 else f"class_{label + 1}" for label in labels]),
        feature_names=tuple(f"gene_{index + 1:0{width}d}" for index in range(X.shape[1])),
        sample_names=tuple(f"{part}_{index + 1}" for index in range(X.shape[0])),
        source=f"synthetic expression data, seed {seed}",
        feature_kinds=kinds,
    )
