"""One function for the files that labs have: the format is told from content and name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cobic.checks import require
from cobic.errors import InputError
from cobic.io.arrange import Arranged, arrange, require_shared_classes, require_usable
from cobic.io.formats import format_of
from cobic.io.grid import has_thousands, thousands_message
from cobic.io.labels import LabelOptions
from cobic.io.raw import RawTable, Reading
from cobic.io.sizes import held_as
from cobic.io.source import readable
from cobic.matrix import as_matrix, stays_where_it_is
from cobic.problem.dataset import Dataset


def read(
    path: str | Path,
    labels: str | None = None,
    *,
    labels_file: str | Path | None = None,
    labels_from_names: str | None = None,
    features_in_rows: bool | None = None,
    ids: str | None = None,
    drop: Sequence[str] = (),
    classes: Sequence[str] = (),
    part: str | None = None,
    header_row: int | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    backed: bool = False,
) -> Dataset:
    r"""Read samples, features and classes from a file.

    CSV and TSV, GCT, RES, GEO series matrix, ARFF, Excel, Parquet, Feather, h5ad, loom, Zarr, a 10x folder, npz and R
    data; texts also packed as gz, bz2, xz or zst. The format is told from the content and the name. Where the classes
    are found tells whether samples are in rows or in columns.

    Parameters
    ----------
    path : str or Path
        The file, or the folder of a 10x matrix or Zarr store.
    labels : str, optional
        The column or row (of h5ad: the column of ``obs``) that holds the class of each sample; with `labels_file` the
        column of that file, if it has more than two.
    labels_file : str or Path, optional
        A second file: a table with the name and the class of each sample, which may have more samples; or a CLS file.
    labels_from_names : str, optional
        A regular expression: the class is what it finds in the name of the sample, or its first group. Samples in
        whose names it finds nothing are set aside.
    features_in_rows : bool, optional
        Which way round the table is, if that cannot be told. Without labels samples are in rows.
    ids : str, optional
        The column of the sample names. By default a first column that is called something like ``id`` or ``sample``,
        or holds distinct texts.
    drop : sequence of str
        Columns, or rows, to leave out.
    classes : sequence of str
        Read the samples of these classes only; by default those of all, and then each must have one.
    part : str, optional
        What to read of a file that holds several tables: sheet of an Excel file, object of an R file, array of an npz
        file, layer of h5ad or loom.
    header_row : int, optional
        The line with the names in a text or Excel file, counted from 1; 0 if there is none. By default the first
        after comments.
    decimal : {".", ","}, optional
        The decimal mark of a text file, if it cannot be told.
    encoding : str, optional
        The encoding of a text file; UTF-8 by default, or UTF-16 with a byte order mark.
    backed : bool, default=False
        Leave the numbers of an h5ad, loom, 10x ``.h5``, Zarr or npy file where they are, and read them piece by piece
        whenever they are needed: for files that do not fit into memory.

    Returns
    -------
    Dataset
        Samples in rows. Sparse data stay sparse; with `backed` X is a matrix on disk, for :class:`cobic.Problem` and
        all that takes data here. `y` holds strings, or is None if no labels were asked for;
        `set_aside` names what is in the file but not in the data.

    Raises
    ------
    InputError
        If the file cannot be read so; the message names the place and what to do.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import cobic
    >>> table = Path(tempfile.mkdtemp()) / "table.tsv"
    >>> _ = table.write_text("gene,Tumor 1,Tumor 2,Normal 1\nTP53,8.1,7.9,2.5\nMYC,3.5,4.1,9.2\n")
    >>> data = cobic.read(table, labels_from_names="Tumor|Normal")
    >>> data.X.shape, data.y.tolist(), data.layout
    ((3, 2), ['Tumor', 'Tumor', 'Normal'], 'features in rows')
    """
    return read_data(Reading(**locals()))  # it has the same parts by the same names


def read_data(asked: Reading, features: tuple[str, ...] | None = None) -> Dataset:
    """Read, arrange, and refuse what cannot be used; features that should be there may tell the orientation."""
    options = LabelOptions.of(asked, features)
    arranged = arrange(read_raw(asked), options)
    if features is None:
        require_shared_classes(arranged, options)
    return as_dataset(arranged)


def read_raw(asked: Reading) -> RawTable:
    """Read a file of any known format, as it is."""
    path = asked.path
    try:
        with readable(path):
            form = format_of(path)
        message = f"{path} has no parts, and --part (or --sheet) is {asked.part!r}: leave it out"
        require(asked.part is None or form.parts, message)
        message = f"{path} can only be read as a whole: leave out --backed, or save it as h5ad, Zarr or npy"
        require(form.backed or not asked.backed, message)
        return form.read(path, asked)
    except MemoryError:
        message = (
            f"{path} does not fit into memory: use a sparse format such as h5ad, --backed (backed=True) to read it "
            "piece by piece, or a larger computer"
        )
        raise InputError(message) from None


def as_dataset(arranged: Arranged) -> Dataset:
    """Make a data set of what was understood; refuse what is missing or not a number."""
    require_usable(arranged)
    path, X = arranged.table.path, arranged.table.values
    if stays_where_it_is(X):
        X = as_matrix(X)
    elif not hasattr(X, "tocsr"):
        X = np.asarray(X, dtype=held_as(X.dtype))
    elif X.format not in ("csr", "csc"):
        X = X.tocsr()
    require(0 not in X.shape, f"{path} has {X.shape[0]} samples and zero features: there is nothing to select from")
    _require_finite(arranged, X)
    return Dataset(
        X,
        arranged.y,
        arranged.feature_names,
        arranged.sample_names,
        str(path),
        arranged.feature_descriptions,
        layout=f"{'features' if arranged.features_in_rows else 'samples'} in rows",
        set_aside=arranged.set_aside,
    )


def _require_finite(arranged: Arranged, X: object) -> None:
    bad = as_matrix(X).first_not_finite()
    if bad is None:
        return
    row, column, value = bad
    place = arranged.place(row, column)
    text = arranged.table.odd_cells.get((row, column))
    if text is not None:
        comma = "say --decimal , if it is a decimal comma, or " if re.fullmatch(r"[-+]?\d*,\d+", text) else ""
        marks = f"; {thousands_message(text)}" if has_thousands(text) else ""
        cure = f"{comma}correct it, or leave the column out with --drop{marks}"
        message = f"{place}: {text[:80]!r} is not a number; {cure}"
    elif value != value:
        message = f"{place}: missing value; impute it first (sklearn.impute.SimpleImputer, say), or drop the feature"
    else:
        message = f"{place}: '{value}' is not finite; replace it, or drop the feature"
    raise InputError(message)
