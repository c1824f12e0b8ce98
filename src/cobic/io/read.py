"""One function for the files that labs have: the format is told from content and name."""

import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from cobic.errors import InputError
from cobic.io.annotated import read_hdf, read_ten_x
from cobic.io.arff import read_arff
from cobic.io.arrange import Arranged, LabelOptions, arrange, require_shared_classes, require_usable
from cobic.io.arrays import read_npz
from cobic.io.broad import read_gct, read_res
from cobic.io.columnar import read_feather, read_parquet
from cobic.io.delimited import FileOptions, read_delimited
from cobic.io.excel import read_excel
from cobic.io.geo import read_geo
from cobic.io.grid import has_thousands, thousands_message
from cobic.io.labels import read_label_file
from cobic.io.r import read_r
from cobic.io.raw import RawTable, held_as
from cobic.io.source import first_bytes, foreign
from cobic.io.stores import is_zarr, read_zarr
from cobic.matrix import as_matrix, stays_where_it_is
from cobic.problem.dataset import Dataset

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
    asked = Reading(
        Path(path),
        labels,
        None if labels_file is None else Path(labels_file),
        labels_from_names,
        features_in_rows,
        ids,
        tuple(drop),
        FileOptions(part, header_row, decimal, encoding, backed),
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

    def dataset(self, features: tuple[str, ...] | None = None) -> Dataset:
        """Read, arrange, and refuse what cannot be used; features that should be there may tell the orientation."""
        options = replace(self.label_options(), features=features)
        arranged = arrange(read_raw(self.path, self.file), options)
        if features is None:
            require_shared_classes(arranged, options)
        return as_dataset(arranged)

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
    try:
        reader = _reader(path)
        if options.part is not None and reader not in _WITH_PARTS:
            message = f"{path} has no parts, and --part (or --sheet) is {options.part!r}: leave it out"
            raise InputError(message)
        if options.backed and reader not in _BACKED:
            message = f"{path} can only be read as a whole: leave out --backed, or save it as h5ad, Zarr or npy"
            raise InputError(message)
        return reader(path, options)
    except MemoryError:
        message = (
            f"{path} does not fit into memory: use a sparse format such as h5ad, --backed (backed=True) to read it "
            "piece by piece, or a larger computer"
        )
        raise InputError(message) from None


def _reader(path: Path) -> Reader:
    """The reader for a file: by how it begins, and by its name where that does not tell."""
    if path.is_dir():
        return read_zarr if is_zarr(path) else read_ten_x
    start = first_bytes(path)
    by_content = _by_content(path, start)
    ending = _ending(path)
    by_name = _BY_NAME.get(ending)
    if by_name is not None and by_name is not by_content:
        what = "text" if by_content is None else "something else"
        message = f"{path} is called .{ending}, but is none (it looks like {what}): give it its right name"
        raise InputError(message)
    if by_content is not None:
        return by_content
    if ending == "cls":
        message = f"{path} holds classes, not data: give it as --labels-file with a GCT file"
        raise InputError(message)
    if b"\x00" in start and start[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        message = f"{path} is not text, and of no other known format"
        raise InputError(message)
    return read_res if ending == "res" else read_delimited


def _ending(path: Path) -> str:
    name = path.name.lower()
    for packed in (".gz", ".bz2", ".xz", ".zst"):
        name = name.removesuffix(packed)
    return name.rpartition(".")[2]


def _by_content(path: Path, start: bytes) -> Reader | None:
    for magic, reader in _BY_CONTENT.items():
        if start.startswith(magic):
            return reader
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith((b"#1.2", b"#1.3")):
        return read_gct
    if text.lower().startswith((b"!series_", b"!sample_")):
        return read_geo
    if _ending(path) == "rds" and start.startswith((b"A\n", b"B\n")):
        return read_r
    lines = (line.lstrip() for line in text.split(b"\n"))
    if next((line for line in lines if line and not line.startswith(b"%")), b"").lower().startswith(b"@relation"):
        return read_arff
    if start.startswith(b"PK"):
        return _in_zip(path)
    for magic, what in _REFUSED.items():
        if start.startswith(magic) or (what == _TAR and start[257:262] == b"ustar"):
            message = f"{path} is {what}"
            raise InputError(message)
    return None


def _in_zip(path: Path) -> Reader:
    """Excel and numpy keep their data in zip archives."""
    with foreign(path, "a zip archive"), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if any(name.startswith("xl/") for name in names):
        return read_excel
    if any(name.endswith(".npy") for name in names):
        return read_npz
    message = f"{path} is a zip archive: unpack it, and give the file with the measurements"
    raise InputError(message)


_TAR = "a tar archive: unpack it, and give the file with the measurements"
_REFUSED = {
    b"\xd0\xcf\x11\xe0": "an Excel file of before 2007: save it as .xlsx or CSV",
    b"\x80": "a pickle, or of no known format: a pickle may run any program and is never read",
    b"%PDF": "a PDF document: give the table itself",
    b"ustar": _TAR,
}
_WITH_PARTS: tuple[Reader, ...] = (read_excel, read_hdf, read_npz, read_r, read_zarr)
_BACKED: tuple[Reader, ...] = (read_hdf, read_npz, read_zarr)
_BY_CONTENT: dict[bytes, Reader] = {
    b"PAR1": read_parquet,
    b"ARROW1": read_feather,
    b"FEA1": read_feather,
    b"\x89HDF\r\n": read_hdf,
    b"\x93NUMPY": read_npz,
    b"RDX2\n": read_r,
    b"RDX3\n": read_r,
    b"RDA2\n": read_r,
    b"RDA3\n": read_r,
    b"X\n\x00": read_r,
    b"%%MatrixMarket": read_ten_x,
}
_BY_NAME: dict[str, Reader] = {
    "gct": read_gct,
    "arff": read_arff,
    "xlsx": read_excel,
    "xlsm": read_excel,
    "parquet": read_parquet,
    "feather": read_feather,
    "h5ad": read_hdf,
    "loom": read_hdf,
    "h5": read_hdf,
    "npz": read_npz,
    "npy": read_npz,
    "mtx": read_ten_x,
    "rda": read_r,
    "rdata": read_r,
    "rds": read_r,
}


def as_dataset(arranged: Arranged) -> Dataset:
    """Make a data set of what was understood; refuse what is missing or not a number."""
    require_usable(arranged)
    X = arranged.table.values
    if stays_where_it_is(X):
        X = as_matrix(X)
    elif not hasattr(X, "tocsr"):
        X = np.asarray(X, dtype=held_as(X.dtype))
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
        comma = "say --decimal , if it is a decimal comma, or " if re.fullmatch(r"[-+]?\d*,\d+", text) else ""
        marks = f"; {thousands_message(text)}" if has_thousands(text) else ""
        message = (
            f"{place}: {text[:80]!r} is not a number; {comma}correct it, or leave the column out with --drop{marks}"
        )
    elif value != value:
        message = f"{place}: missing value; impute it first (sklearn.impute.SimpleImputer, say), or drop the feature"
    else:
        message = f"{place}: '{value}' is not finite; replace it, or drop the feature"
    raise InputError(message)
