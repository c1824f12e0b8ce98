"""Files that appear whole or not at all, and the plain CSV that cobic writes."""

import contextlib
import csv
import io
import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from cobic.checks import require
from cobic.errors import InputError
from cobic.problem.dataset import Dataset


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all, replacing what was there."""
    _write_all({path: text}, ())


def write_folder(folder: Path, files: Mapping[str, str], *, instead_of: Collection[str] = ()) -> None:
    """Write several text files into a folder, which is made if need be: all of them or none.

    Every file is on the disk under a name of its own before the first one takes its place.
    """
    prepare_folder(folder, overwrite=True)
    stale = [folder / name for name in instead_of if name not in files]
    _write_all({folder / name: text for name, text in files.items()}, stale)


def _write_all(files: Mapping[Path, str], stale: Iterable[Path]) -> None:
    parts: dict[Path, Path] = {}
    try:
        for path, text in files.items():
            with _naming(path):
                handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
                parts[path] = Path(name)
                with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
                    stream.write(text)
                    stream.flush()
                    os.fsync(stream.fileno())
                parts[path].chmod(0o644)
        for path, part in parts.items():
            with _naming(path):
                part.replace(path)
        for path in stale:
            with _naming(path):
                path.unlink(missing_ok=True)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error) from None


def prepare_folder(folder: Path, *, overwrite: bool) -> None:
    """Make an output folder, or find out early that it cannot be used."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        occupied = any(folder.iterdir())
    except OSError as error:
        raise cannot_write(folder, error) from None
    message = f"{folder} already has files in it: choose another folder, or overwrite them with --force"
    require(overwrite or not occupied, message)


def cannot_write(path: Path, error: OSError) -> InputError:
    """The complaint about a place that cannot be written to."""
    return InputError(f"cannot write {path}: {error.strerror or error}")


def table_text(data: Dataset) -> str:
    """Write a data set as the CSV that :func:`cobic.read` takes with ``labels="class"``."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["sample", *(["class"] if data.y is not None else []), *data.feature_names])
    for index, name in enumerate(data.sample_names):
        values = [
            f"{value:.0f}" if value == round(value) and abs(value) < 1e15 else repr(float(value))
            for value in data.X[index]
        ]
        writer.writerow([name, *([data.y[index]] if data.y is not None else []), *values])
    return stream.getvalue()
