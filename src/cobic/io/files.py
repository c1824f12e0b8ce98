"""Files that appear whole or not at all."""

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from cobic.errors import InputError


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all, replacing what was there.

    Parameters
    ----------
    path : Path
        Where to write, in an existing folder.
    text : str
        Its content, written as UTF-8.

    Raises
    ------
    InputError
        If it cannot be written; a file that was there before is unchanged.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise _cannot_write(path, error) from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except OSError as error:
        raise _cannot_write(path, error) from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()


def write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Write several text files into a folder, which is made if need be; none appears half-written.

    Parameters
    ----------
    folder : Path
        Where to write.
    files : mapping of str to str
        Content by file name.
    """
    prepare_folder(folder, overwrite=True)
    for name, text in files.items():
        write_text(folder / name, text)


def prepare_folder(folder: Path, *, overwrite: bool) -> None:
    """Make an output folder, or find out early that it cannot be used.

    Parameters
    ----------
    folder : Path
        The folder to be.
    overwrite : bool
        Whether it may already have files in it.

    Raises
    ------
    InputError
        If it cannot be made or written to, or has files and `overwrite` is false.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        occupied = any(folder.iterdir())
    except OSError as error:
        raise _cannot_write(folder, error) from None
    if occupied and not overwrite:
        message = f"{folder} already has files in it: choose another folder, or overwrite them with --force"
        raise InputError(message)


def _cannot_write(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot write {path}: {error.strerror or error}")
