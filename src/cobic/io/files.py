"""Files that appear whole or not at all, folders of answers that are old whole or new whole, and cobic's plain CSV.

The files of an answer are written into a folder within the one that they are for. Once they are on the disk, one
rename gives that folder the name ``.cobic-whole``: from then on the new answer counts. Its files are then moved to
their places; whoever reads or writes there next ends a move that was cut short (:func:`settle`).
"""

import contextlib
import csv
import errno
import io
import json
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import numpy as np

from cobic.checks import require
from cobic.errors import InputError
from cobic.problem.dataset import Dataset

RESTS = ".cobic-*.part"  # what is being written, or was when a run was killed
_WHOLE, _PLAN = ".cobic-whole", "plan.json"
_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EBADF}  # of folders that cannot be opened or synced


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all, replacing what was there."""
    with naming(path):
        message = f"cannot write {path}: it is no ordinary file, but a pipe, a device or a folder"
        require(path.is_file() or not path.exists(), message)
        part = place_for(path.parent)
        try:
            _write(part, text)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        _sync(path.parent)


def write_folder(folder: Path, files: Mapping[str, str], *, instead_of: Collection[str] = ()) -> None:
    """Write several text files into a folder, which is made if need be: all of them or none.

    Of the names in `instead_of` those that are not written go. Until all files are on the disk nothing changes.
    """
    prepare_folder(folder, overwrite=True)
    with naming(folder), _alone(folder):
        _move(folder)
        sweep(folder)
        part = place_for(folder)
        plan = {"files": list(files), "stale": sorted(set(instead_of).difference(files))}
        try:
            part.mkdir()
            for name, text in {**files, _PLAN: json.dumps(plan)}.items():
                with naming(folder / name):
                    _write(part / name, text)
            _sync(part)
            part.replace(folder / _WHOLE)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        _sync(folder)
        _move(folder)


def settle(folder: Path) -> None:
    """End what a run that was killed had begun: the files of its answer, all written, go to their places."""
    whole = folder / _WHOLE
    with contextlib.suppress(OSError):  # who reads or writes there will say it
        if whole.is_symlink() or not whole.is_dir():
            return
        try:
            with _alone(folder):
                _move(folder)
        except OSError as error:
            message = f"{whole} has an answer whose files cannot be moved to their places: {error.strerror or error}"
            raise InputError(message) from None


def place_for(folder: Path) -> Path:
    """A name in a folder for what is not whole yet."""
    return folder / RESTS.replace("*", secrets.token_hex(8))


def sweep(folder: Path) -> None:
    """Remove what killed runs left half-written."""
    for rest in folder.glob(RESTS):
        with contextlib.suppress(OSError):
            shutil.rmtree(rest) if rest.is_dir() else rest.unlink()


def _move(folder: Path) -> None:
    """Move the files of a whole answer to their places; done again as often as need be."""
    whole = folder / _WHOLE
    if not whole.is_dir():
        return
    names, stale = _planned(whole)
    for name in names:
        with naming(folder / name), contextlib.suppress(FileNotFoundError):  # it was moved already
            (whole / name).replace(folder / name)
    for name in stale:
        with naming(folder / name):
            (folder / name).unlink(missing_ok=True)
    _sync(folder)
    shutil.rmtree(whole)
    _sync(folder)


def _planned(whole: Path) -> tuple[list[str], list[str]]:
    """The files that belong to an answer, and those that go; none when all is done but the folder is still there."""
    try:
        plan = json.loads((whole / _PLAN).read_text(encoding="utf-8"))
        names, stale = (list(plan[part]) for part in ("files", "stale"))
        plain = all(re.fullmatch(r"\w[\w.-]*", name) for name in (*names, *stale))  # no way out of the folder
    except FileNotFoundError:
        return [], []
    except (ValueError, TypeError, LookupError):
        plain = False
    require(plain, f"{whole} is damaged: delete it")
    return names, stale


def _write(path: Path, text: str) -> None:
    """A new file, on the disk; who may read it, the umask says."""
    content = memoryview(text.encode())
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        while content:
            content = content[os.write(handle, content) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let others who write there wait, where the system can."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Say in one line what cannot be written."""
    try:
        yield
    except OSError as error:
        message = f"cannot write {path}: {error.strerror or error}"
        raise InputError(message) from None


def prepare_folder(folder: Path, *, overwrite: bool) -> None:
    """Make an output folder, or find out early that it cannot be used; what killed runs left is no obstacle."""
    with naming(folder):
        folder.mkdir(parents=True, exist_ok=True)
        settle(folder)
        try_out(folder)
        occupied = any(not each.match(RESTS) for each in folder.iterdir())
    message = f"{folder} already has files in it: choose another folder, or overwrite them with --force"
    require(overwrite or not occupied, message)


def try_out(folder: Path) -> None:
    """Find out early whether files can be made in a folder."""
    probe = place_for(folder)
    os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    probe.unlink()


def table_text(data: Dataset) -> str:
    """Write a data set as the CSV that :func:`cobic.read` takes with ``labels="class"``."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["sample", *(["class"] if data.y is not None else []), *data.feature_names])
    for index, name in enumerate(data.sample_names):
        row = np.asarray(data.X[index], dtype=np.float64)
        whole = (row == np.round(row)) & (np.abs(row) < 1e15)  # all at once: one by one takes five times as long
        values = [
            f"{value:.0f}" if is_whole else repr(value)
            for value, is_whole in zip(row.tolist(), whole.tolist(), strict=True)
        ]
        writer.writerow([name, *([data.y[index]] if data.y is not None else []), *values])
    return stream.getvalue()
