"""Packages that want a Python of their own: a process that is asked about folds, one line of JSON each."""

import atexit
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.data import Fold
from benchmarks.accuracy.protocol import Size


class Elsewhere:
    """A package in the Python that an environment variable names, as ``/…/bin/python``.

    `script` reads lines of JSON, each with the ``file`` of a fold (``X``, ``y`` as numbers, ``new``) and the ``sizes``
    asked for, and prints a line with a list of pairs of a size and its answer.
    """

    def __init__(self, variable: str, package: str, script: str) -> None:
        self.variable, self.package, self._script = variable, package, script
        self._worker: Any = None

    def at_hand(self) -> bool:
        """Whether there is a Python that has the package; a word if there is none."""
        python = os.environ.get(self.variable)
        found = bool(python) and subprocess.run([python, "-c", f"import {self.package}"], capture_output=True)
        if not found or found.returncode != 0:
            print(f"{self.package} is left out: {self.variable} names no Python that has it", flush=True)
            return False
        return True

    def ask(self, fold: Fold, sizes: Sequence[Size]) -> dict[Size, Any]:
        """The answers to a fold; none if the process died of it, and a new one for the next."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "fold.npz"
            np.savez(file, X=fold.X, y=np.unique(fold.y, return_inverse=True)[1], new=fold.new)
            worker = self._started()
            worker.stdin.write(json.dumps({"file": str(file), "sizes": list(sizes)}) + "\n")
            worker.stdin.flush()
            line = worker.stdout.readline()
        if not line:
            self._worker = None
            return {}
        return {size: answer for size, answer in json.loads(line)}  # noqa: C416

    def _started(self) -> Any:
        """The process that is asked; it ends with this one."""
        if self._worker is None:
            command, pipe = [os.environ[self.variable], "-c", self._script], subprocess.PIPE
            self._worker = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
            atexit.register(self._worker.kill)
        return self._worker
