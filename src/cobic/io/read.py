"""One function for the files that labs have: the format is told from content and name."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from cobic.dataset import Dataset
from cobic.errors import InputError
from cobic.io.arrange import Arranged, LabelOptions, arrange
from cobic.io.delimited import FileOptions, read_delimited
from cobic.io.labels import read_label_file
from cobic.io.raw import RawTable
from cobic.io.source import first_bytes
from cobic.matrix import as_matrix

Reader = Callable[[Path, FileOptions], RawTable]


def read(
    path: str | Path,
    labels: str | None = None,
    *,
    labels_file: str | Path | None = None,
    labels_from_names: str | None = None,
    features_in_rows: bool | None = None,
    ids: str | None = None,
    drop: Sequence[str] = (),
    part: str | None = None,
    header_row: int | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> Dataset:
    r"""Read samples, features and classes from a file.

    CSV and TSV, GCT, RES, GEO series matrix, ARFF, Excel, Parquet, Feather, h5ad, loom, a 10x folder, npz and R data;
    texts also packed as gz, bz2, xz or zst. The format is told from the content and the name. Where the classes are
    found tells whether samples are in rows or in columns.

    Parameters
    ----------
    path : str or Path
        The file, or the folder of a 10x matrix.
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

    Returns
    -------
    Dataset
        Samples in rows. Sparse data stay sparse. `y` holds strings, or is None if no labels were asked for;
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
    asked = Reading(
        Path(path),
        labels,
        None if labels_file is None else Path(labels_file),
        labels_from_names,
        features_in_rows,
        ids,
        tuple(drop),
        FileOptions(part, header_row, decimal, encoding),
    )
    return asked.dataset()


@dataclass(frozen=True)
class Reading:
    """A file and what is said about it; see :func:`read` for the parts."""

    path: Path
    labels: str | None = None
    labels_file: Path | None = None
    labels_from_names: str | None = None
    features_in_rows: bool | None = None
    ids: str | None = None
    drop: tuple[str, ...] = ()
    file: FileOptions = field(default_factory=FileOptions)

    def arranged(self) -> Arranged:
        """Read and arrange; values may be missing still."""
        options = self.label_options()
        return arrange(read_raw(self.path, self.file), options)

    def dataset(self) -> Dataset:
        """Read, arrange, and refuse what cannot be used."""
        return as_dataset(self.arranged())

    def label_options(self) -> LabelOptions:
        """What is said about classes, with the second file read."""
        file = None if self.labels_file is None else read_label_file(self.labels_file, self.file.encoding)
        pattern = None if self.labels_from_names is None else _pattern(self.labels_from_names)
        if pattern is not None and (file is not None or self.labels is not None):
            message = "classes from names and from a column or file: give one of them"
            raise InputError(message)
        return LabelOptions(self.labels, file, pattern, self.features_in_rows, self.ids, self.drop)


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        message = f"labels_from_names is {text!r}: not a regular expression ({error}); try '(Tumor|Normal)'"
        raise InputError(message) from None


def read_raw(path: Path, options: FileOptions) -> RawTable:
    """Read a file of any known format, as it is."""
    return _reader(path)(path, options)


def _reader(path: Path) -> Reader:
    first_bytes(path)
    return read_delimited


def as_dataset(arranged: Arranged) -> Dataset:
    """Make a data set of what was understood; refuse what is missing or not a number."""
    X = arranged.table.values
    if not hasattr(X, "tocsr"):
        X = np.ascontiguousarray(X, dtype=np.float64)
    elif X.format not in ("csr", "csc"):
        X = X.tocsr()
    if 0 in X.shape:
        message = f"{arranged.table.path} has {X.shape[0]} samples and zero features: there is nothing to select from"
        raise InputError(message)
    _require_finite(arranged, X)
    return Dataset(
        X,
        arranged.y,
        arranged.feature_names,
        arranged.sample_names,
        str(arranged.table.path),
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
        message = f"{place}: {text[:80]!r} is not a number; correct it, or leave the column out with --drop"
    elif value != value:
        message = f"{place}: missing value; impute it first (sklearn.impute.SimpleImputer, say), or drop the feature"
    else:
        message = f"{place}: '{value}' is not finite; replace it, or drop the feature"
    raise InputError(message)
