"""One run of one version of cobic on stored data, told in a line of JSON.

`benchmarks.apart.of_version` starts it by its path. It imports nothing else from here and asks little of cobic, so that
older versions can be measured as well.
"""

import json
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import cobic

_MEGABYTE = 1 << 20


def measure(folder: str, seconds: float, goals: list[float], memory: int, *, until_goal: bool) -> dict[str, Any]:
    """Solve X.npy and y.npy of a folder.

    Parameters
    ----------
    folder : str
        Where the data are.
    seconds : float
        Limit of the run.
    goals : list of float
        Gaps, in shares of the number of features, at which the clock is read; from the problem's beginning.
    memory : int
        Limit of the address space, in bytes.
    until_goal : bool
        Whether to stop at the last of the goals.

    Returns
    -------
    dict
        What was found, when, and with how much memory.
    """
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    X, y = (np.load(Path(folder) / f"{name}.npy") for name in ("X", "y"))
    clock = _Clock([goal * X.shape[1] for goal in goals], until_goal=until_goal)
    result = cobic.solve(cobic.Problem(X, y), time_limit=seconds, on_progress=clock.hear)
    in_all = clock.seconds()
    found = result.n_selected if result.status in ("optimal", "feasible") else None
    clock.look(found, result.upper_bound)  # what was proven last may not have been told
    size, peak = X.nbytes / _MEGABYTE, _peak() / _MEGABYTE
    return {
        "cobic": cobic.__file__,
        "status": str(result.status.value),
        "selected": None if found is None else int(found),
        "bound": int(result.upper_bound),
        "s to first": clock.first,
        "s to goals": clock.reached,
        "s in all": in_all,
        "matrix MB": size,
        "peak MB": peak,
        "peak / matrix": peak / size,
    }


class _Clock:
    """Reads the clock at the first selection and where the gap is small enough."""

    def __init__(self, gaps: list[float], *, until_goal: bool) -> None:
        self._gaps, self._until_goal = gaps, until_goal
        self._started = time.perf_counter()
        self.first: float | None = None
        self.reached: list[float | None] = [None] * len(gaps)

    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self._started

    def hear(self, event: Any) -> None:
        """Look at one event of the run, and end the run where that is asked for."""
        before = self.reached[-1]
        self.look(event.n_selected, event.upper_bound)
        if self._until_goal and before is None and self.reached[-1] is not None:
            signal.raise_signal(signal.SIGINT)  # once: the run hands over what it has

    def look(self, selected: int | None, bound: int) -> None:
        """Read the clock where something is reached for the first time."""
        if selected is None:
            return
        now, gap = self.seconds(), bound - selected
        self.first = now if self.first is None else self.first
        self.reached = [
            now if at is None and gap <= goal else at for at, goal in zip(self.reached, self._gaps, strict=True)
        ]


def _peak() -> int:
    """Bytes of this process at its largest; ru_maxrss would count the process that it was started by."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) * 1024


def _main(measured: Callable[..., dict[str, Any]]) -> None:
    print(json.dumps(measured(**json.loads(sys.argv[1]))))


if __name__ == "__main__":
    _main(measure)
