"""Work on the parts of a matrix with several threads, and take the results in the order of the parts."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import copy_context
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")

# Below this, the threads of a BLAS spend their time waiting for each other; with other work on the machine they wait
# long. Two threads on 38 × 7129 took 1.0 to 3.7 times as long as one.
_WORTH_THREADS = 1 << 24

_here = threading.local()


@cache
def _blas() -> ThreadpoolController:
    """The BLAS of numpy, the only one here; to look for it costs a thousand times as much as to set its threads."""
    return ThreadpoolController().select(user_api="blas")


def n_threads() -> int:
    """As many threads as linear algebra may use here: who limits these, by whatever means, limits ours."""
    if getattr(_here, "is_part", False):
        return 1
    return max((library.num_threads for library in _blas().lib_controllers), default=1)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Start no threads from the present one: others like it are at work."""
    before = getattr(_here, "is_part", False)
    _here.is_part = True
    try:
        yield
    finally:
        _here.is_part = before


class _OneThread:
    """The limit of one thread, which holds for the whole process: the first who wants it sets it, the last lifts it."""

    def __init__(self) -> None:
        self._lock, self._wanted, self._limits = threading.Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if not self._wanted:
                self._limits.enter_context(_blas().limit(limits=1))
            self._wanted += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._wanted -= 1
            if not self._wanted:
                self._limits.close()


_one_thread = _OneThread()


def one_blas_thread() -> AbstractContextManager[object]:
    """One thread for each call of the BLAS, because several calls are under way, or the work is small."""
    return _one_thread


def fitting_threads(shape: tuple[int, int]) -> AbstractContextManager[object]:
    """One thread for as long as a small matrix is worked on."""
    return one_blas_thread() if shape[0] * shape[1] < _WORTH_THREADS else nullcontext()


class Room:
    """Memory for the numbers of a part, one piece for each thread: to get it anew each time costs as much as the work.

    What it gives is overwritten the next time that the same thread asks.
    """

    def __init__(self) -> None:
        self._of_thread = threading.local()

    def of(self, size: int) -> NDArray[np.float64]:
        """So many numbers, in one piece."""
        buffer: NDArray[np.float64] | None = getattr(self._of_thread, "buffer", None)
        if buffer is None or buffer.size < size:
            buffer = self._of_thread.buffer = np.empty(size)
        return buffer[:size]


def in_order(work: Callable[[Item], Result], items: Sequence[Item], ahead: int = 2) -> Iterator[Result]:
    """Results of a function for some items, in their order, whoever computes them."""
    threads = min(n_threads(), len(items))
    if threads < 2:
        yield from map(work, items)
        return
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(copy_context().run, work, item))  # what numpy is told to ignore holds, too
                if len(waiting) > ahead * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
