"""Work in a process of its own, with a cap on time and memory: what hangs or fails there is a row, not the end."""

import json
import multiprocessing
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

MEMORY = 8 << 30  # bytes of address space
_STARTING = 120.0  # seconds to import everything and read the data


@dataclass(frozen=True)
class Ended:
    """How one piece of work ended.

    Attributes
    ----------
    how : str
        ``"done"``, ``"time-out"``, ``"out of memory"``, or ``"failed: …"`` with the reason.
    value : object
        What the work returned; None unless it is done.
    seconds : float
        Wall-clock time of the work alone.
    megabytes : float or None
        Largest memory of the process until then.
    """

    how: str
    value: Any
    seconds: float
    megabytes: float | None = None


def one_by_one(
    work: Callable[[Any], Any], items: Sequence[Any], seconds: float, memory: int = MEMORY
) -> Iterator[tuple[Any, Ended]]:
    """Do the same work on several items in a process apart; a new one begins where an item brought it down.

    Parameters
    ----------
    work : callable
        A function of a module, given one item.
    items : sequence
        The items.
    seconds : float
        Cap on one item.
    memory : int
        Cap on the address space, in bytes.

    Yields
    ------
    tuple of item and Ended
        In the order of the items.
    """
    left = list(items)
    while left:
        for ended in _until_it_fails(work, list(left), seconds, memory):
            yield left.pop(0), ended


def alone(work: Callable[[Any], Any], item: Any, seconds: float, memory: int = MEMORY) -> Ended:
    """Do one piece of work in a process apart."""
    return next(ended for _, ended in one_by_one(work, [item], seconds, memory))


def of_version(tree: Path, script: Path, arguments: dict[str, Any], seconds: float) -> Ended:
    """Run a script in a process that imports cobic from another place.

    Parameters
    ----------
    tree : Path
        The folder with the package in it.
    script : Path
        Gets the arguments as JSON, and prints a line of JSON at its end.
    arguments : dict
        What it gets.
    seconds : float
        Cap on the process, its imports included.

    Returns
    -------
    Ended
        With what the script printed.
    """
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    command = [sys.executable, "-P", str(script), json.dumps(arguments)]  # -P: the folder of the script is no place
    begun = time.perf_counter()
    try:
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return Ended("time-out", None, time.perf_counter() - begun)
    taken = time.perf_counter() - begun
    if ended.returncode == 0:
        return Ended("done", json.loads(ended.stdout.splitlines()[-1]), taken)
    last = (ended.stderr.strip().splitlines() or ["the process died"])[-1]
    return Ended("out of memory" if "MemoryError" in last else f"failed: {last}", None, taken)


def _until_it_fails(work: Callable[[Any], Any], items: list[Any], seconds: float, memory: int) -> Iterator[Ended]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, work, items, memory), daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(_STARTING) or ours.recv() != "ready":
            yield Ended("failed: the process did not start", None, _STARTING)
            return
        for _ in items:
            begun = time.perf_counter()
            if not ours.poll(seconds):
                yield Ended("time-out", None, time.perf_counter() - begun)
                return
            ended: Ended = ours.recv()
            yield ended
            if ended.how != "done":
                return
    except EOFError:
        yield Ended("failed: the process died", None, 0.0)
    finally:
        process.kill()
        process.join()


def _work(connection: Connection, work: Callable[[Any], Any], items: list[Any], memory: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    connection.send("ready")
    for item in items:
        begun = time.perf_counter()
        how, value = "done", None
        try:
            value = work(item)
        except MemoryError:
            how = "out of memory"
        except Exception as error:  # whatever a rival raises is its row in the table
            how = f"failed: {type(error).__name__}: {error}"
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        connection.send(Ended(how, value, time.perf_counter() - begun, used))
