"""What a long run has finished, kept in a folder: the same run goes on where it was stopped.

Each step is a file that appears whole or not at all. Its first line is a SHA-256 of the rest and of what the run is
about: a step that was damaged, or that belongs to another run, is not used. `run.json` says what the run is about.
"""

import contextlib
import hashlib
import json
import os
import socket
from collections.abc import Callable, Iterator
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any, Self, TextIO

from cobic.answer.records import described
from cobic.checks import require
from cobic.errors import InputError, UnfinishedError
from cobic.io.files import naming, prepare_folder, sweep, write_text
from cobic.problem import Problem
from cobic.problem.identity import problem_parameters

_FORMAT, _VERSION = "cobic-steps", 1
_RUN, _LOCK = "run.json", "lock"
_CURE = "give another folder, or delete this one (on the command line, --force starts anew)"


def run_parameters(what: str, problem: Problem, asked: dict[str, Any]) -> dict[str, Any]:
    """All that the answer of a run depends on."""
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "cobic": version("cobic"),
        "run": what,
        "classes": {"names": described(problem.classes.tolist()), "of samples": described(problem.labels)},
        "data": problem.digest,
        "parameters": {**problem_parameters(problem), **described(asked)},
    }


class Steps:
    """The finished steps of one run."""

    def __init__(
        self,
        folder: str | PathLike[str] | None = None,
        *,
        anew: bool = False,
        on_resume: Callable[[int, int], None] | None = None,
    ) -> None:
        fine = folder is None or isinstance(folder, (str, PathLike))
        require(fine, f"folder is {folder!r}: give the name of a folder, or None")
        self._folder = None if folder is None else Path(folder)
        self._anew, self._on_resume = anew, on_resume
        self._key, self._run = "", ""
        self._usable: set[str] = set()

    @classmethod
    def of(cls, folder: "str | PathLike[str] | Steps | None") -> "Steps":
        """The steps in a folder, unless they are given already."""
        return folder if isinstance(folder, Steps) else cls(folder)

    @contextlib.contextmanager
    def opened(self, parameters: Callable[[], dict[str, Any]]) -> Iterator[Self]:
        """Use the folder for a run, alone."""
        if self._folder is None:
            yield self
            return
        self._run = json.dumps(parameters(), indent=1, sort_keys=True) + "\n"
        self._key = hashlib.sha256(self._run.encode()).hexdigest()
        prepare_folder(self._folder, overwrite=True)
        try:
            with _locked(self._folder):
                self._look_around(self._folder, json.loads(self._run))
                try:
                    yield self
                except UnfinishedError:  # the machine cut it short: what is there can be used
                    raise
                except InputError:  # it would come again
                    self._throw_away(self._folder)
                    raise
        finally:
            _remove_if_empty(self._folder)

    def recall(self, name: str, asked: Any) -> Any | None:
        """The answer of a step, if it is finished; None if it is not."""
        if self._folder is None or name not in self._usable:
            return None
        body = _checked_body(self._folder / f"{name}.json", self._key)
        document = {} if body is None else json.loads(body)  # it may have been damaged since the run began
        same = document.get("asked") == json.loads(json.dumps(described(asked)))
        return document.get("answer") if same else None

    def keep(self, name: str, asked: Any, answer: Any) -> None:
        """Write a finished step, whole or not at all."""
        if self._folder is None:
            return
        body = json.dumps({"asked": described(asked), "answer": answer}, separators=(",", ":"))
        try:
            if not (self._folder / _RUN).exists():
                write_text(self._folder / _RUN, self._run)
            write_text(self._folder / f"{name}.json", f"{_checksum(self._key, body)}\n{body}\n")
        except InputError as error:
            message = f"{error}; what was finished before is kept, and the same command goes on from there"
            raise UnfinishedError(message) from None
        self._usable.add(name)

    def discard(self) -> None:
        """Remove the steps, when the answer is in a safe place."""
        if self._folder is not None and self._folder.is_dir():
            self._throw_away(self._folder)
            _remove_if_empty(self._folder)

    def _look_around(self, folder: Path, parameters: dict[str, Any]) -> None:
        """Find out what is there, and whether it can be used."""
        sweep(folder)
        found = {file.name for file in folder.iterdir()} - {_LOCK}
        if not found:
            return
        before = _read_run(folder / _RUN)
        message = f"{folder} holds files that are no steps of cobic: give another folder, or delete this one"
        require(before, message)
        changed = list(_differences(before, parameters))
        message = f"{folder} has the steps of another run ({', '.join(changed)}): {_CURE}"
        require(self._anew or not changed, message)
        if changed:
            self._throw_away(folder)
        names = [file.stem for file in sorted(folder.glob("*.json")) if file.name != _RUN]
        self._usable = {name for name in names if _checked_body(folder / f"{name}.json", self._key) is not None}
        if names and self._on_resume is not None:
            self._on_resume(len(self._usable), len(names) - len(self._usable))

    def _throw_away(self, folder: Path) -> None:
        steps = (file for file in folder.glob("*.json") if file.name != _RUN)
        for file in (*steps, folder / _RUN):  # this last: without it nobody would know what the others are
            with naming(file):
                file.unlink(missing_ok=True)
        self._usable = set()


def _remove_if_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):  # there is something in it
        folder.rmdir()


def _checksum(key: str, body: str) -> str:
    return hashlib.sha256(f"{key}\n{body}".encode()).hexdigest()


def _checked_body(file: Path, key: str) -> str | None:
    """The content of a step; None if it is not there, damaged, or of another run."""
    try:
        first, _, body = file.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeError):
        return None
    body = body.removesuffix("\n")
    return body if first == _checksum(key, body) else None


def _read_run(file: Path) -> dict[str, Any]:
    """What a folder was made for; empty if it is not one of ours."""
    try:
        document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        ours = (document["format"], document["version"]) == (_FORMAT, _VERSION)
        named = isinstance(document["parameters"], dict) and {"run", "cobic", "classes", "data"} <= set(document)
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    return document if ours and named else {}


def _differences(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    if before["run"] != now["run"]:
        yield f"cobic {before['run']}, not {now['run']}"
    if before["cobic"] != now["cobic"]:
        yield f"cobic {before['cobic']}, now {now['cobic']}"
    if before["classes"] != now["classes"]:
        yield "the classes of the samples changed"
    elif before["data"] != now["data"]:
        yield "the data changed"
    for name in sorted({*before["parameters"], *now["parameters"]}):
        old, new = before["parameters"].get(name), now["parameters"].get(name)
        if old != new:
            short = all(len(repr(each)) <= 40 for each in (old, new))
            old, new = ("none" if each is None else each for each in (old, new))
            yield f"{name} changed" + (f" from {old} to {new}" if short else "")


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep a second process away from a folder; the lock ends with the process, however that ends."""
    with naming(folder / _LOCK):
        stream = _lock(folder / _LOCK)
    with stream:
        with contextlib.suppress(OSError):  # a full disk is noticed when there is something to keep
            stream.truncate(0)
            os.write(stream.fileno(), f"process {os.getpid()} on {socket.gethostname()}".encode())
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # a file that is left does no harm
                (folder / _LOCK).unlink()


def _lock(file: Path) -> TextIO:
    """A lock file that is locked and still there: its last owner may have removed it while it was being opened."""
    while True:
        file.parent.mkdir(exist_ok=True)  # the last owner removes an empty folder, too
        try:
            stream = file.open("a+", encoding="utf-8")
        except FileNotFoundError:
            continue
        if not _taken(stream, file) or _is_at(stream, file):
            return stream
        stream.close()


def _is_at(stream: TextIO, file: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(stream.fileno()), file.stat())
    return False


def _taken(stream: TextIO, file: Path) -> bool:
    """Lock an open file, or say who has; False where there are no locks."""
    try:
        import fcntl

        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.seek(0)
        owner = stream.read().strip() or "another process"
        stream.close()
        message = f"{file.parent} is in use by {owner}: wait until that has ended, or give another folder"
        raise InputError(message) from None
    except (ImportError, OSError):  # a system, or a file system, that knows no locks
        return False
    return True
