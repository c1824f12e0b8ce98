"""Large synthetic expression data, made tile by tile, with conflicts planted so that features really must go.

Everything about samples and features is drawn first (:mod:`cobic.datasets.plan`), then the measurements
(:mod:`cobic.datasets.measurements`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cobic.datasets.measurements import Counts, Intensities
from cobic.datasets.plan import Plan, plan
from cobic.datasets.tiled import in_file, in_memory
from cobic.problem.dataset import Dataset


def make_large_expression(
    n_features: int = 100_000,
    *,
    n_samples: int = 200,
    n_classes: int = 2,
    class_sizes: Sequence[int] | None = None,
    density: float = 1.0,
    informative: float = 0.2,
    noisy: float = 0.1,
    contaminated: float | None = None,
    mislabelled: float = 0.0,
    seed: int = 0,
) -> Dataset:
    """Make synthetic expression data of any size in float32, dense or sparse, with features that must be dropped.

    :func:`make_expression` is for data of Golub's size; its numbers are other ones, because they cannot be made in
    parts. :func:`write_expression` writes the very same data to a file without ever holding them.

    Parameters
    ----------
    n_features : int, default=100_000
        Number of genes.
    n_samples, n_classes : int, default=200 and 2
        How many samples in how many classes, as equal in size as can be; the classes are called A, B, ….
    class_sizes : sequence of int, optional
        Samples of each class, in place of `n_samples` and `n_classes`.
    density : float, default=1.0
        1: intensities, whole numbers, a dense array. At most 0.5: counts as of single cells, about this share of them
        not zero, divided by the size of the library and logged (``log1p``), in a sparse matrix.
    informative, noisy : float, default=0.2 and 0.1
        Fractions of genes that are expressed more in one class, and that have a large spread and no class.
    contaminated : float, optional
        Fraction of genes that are expressed in one class, but in which a few samples of *other* classes have gross
        errors: these cannot be read right unless about half of such genes go. 0.01 by default, 0.02 in sparse data.
    mislabelled : float, default=0.0
        Fraction of samples that are said to be of another class than they are.
    seed : int, default=0
        Everything is determined by it.

    Returns
    -------
    Dataset
        Samples in no order. `feature_kinds` and `sample_kinds` say what each gene and sample was planted as.

    Notes
    -----
    Without mislabelled samples a consistent selection exists if there are some hundred genes in each class. With them
    soft margins are worth their price: most mislabelled samples are better violated than read wrong.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.make_large_expression(2000, n_samples=60, n_classes=3, density=0.1, seed=1)
    >>> data.X.shape, data.X.format, data.X.dtype
    ((60, 2000), 'csr', dtype('float32'))
    >>> data.class_sizes
    {'A': 20, 'B': 20, 'C': 20}
    """
    planned = plan(
        n_features,
        n_samples=n_samples,
        n_classes=n_classes,
        class_sizes=class_sizes,
        density=density,
        informative=informative,
        noisy=noisy,
        contaminated=contaminated,
        mislabelled=mislabelled,
        seed=seed,
    )
    return in_memory(planned, _parts(planned))


def write_expression(path: str | Path, n_features: int = 100_000, *, overwrite: bool = False, **arguments: Any) -> None:
    """Write the data of :func:`make_large_expression` to a file, chunk by chunk; they are never held as a whole.

    Parameters
    ----------
    path : str or Path
        Where to write: ``.h5ad``, or ``.zarr`` in the layout of AnnData. The classes are in ``obs["class"]``, what was
        planted in ``obs["kind"]`` and ``var["kind"]``. It appears when it is whole. Needs ``cobic[scale]``.
    n_features : int, default=100_000
        Number of genes.
    overwrite : bool, default=False
        Whether something of that name may be replaced.
    **arguments
        Further arguments of :func:`make_large_expression`, with the same defaults.

    Raises
    ------
    InputError
        If there can be no such data, a library is missing, or the file cannot be written or exists.

    Examples
    --------
    >>> import anndata, cobic, tempfile
    >>> file = f"{tempfile.mkdtemp()}/cells.h5ad"
    >>> cobic.datasets.write_expression(file, 2000, n_samples=60, n_classes=3, density=0.1, seed=1)
    >>> anndata.read_h5ad(file).obs["class"].value_counts().to_dict()
    {'A': 20, 'B': 20, 'C': 20}
    """
    planned = plan(n_features, **arguments)
    in_file(path, planned, _parts(planned), overwrite=overwrite)


def _parts(planned: Plan) -> Any:
    return Counts(planned).blocks() if planned.sparse else Intensities(planned).tiles()
