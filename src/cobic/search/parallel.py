"""Independent pieces of work, side by side: whatever joblib knows as a backend will do.

All that is random is drawn before, so that the answer does not depend on who does what, and when. A worker that dies,
because somebody ended it or the memory ran out, takes no answer with it: what is not done is handed out again.
"""

import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from cobic.errors import UnfinishedError
from cobic.matrix.pool import one_blas_thread

Key = TypeVar("Key")
Answer = TypeVar("Answer")

_ATTEMPTS = 4  # a task that ends its worker every time is at fault itself
_LARGE = 1 << 20  # bytes: Dask sends objects of this size once, not with every task


class _Shared:
    """What all tasks need, the data above all.

    A cluster gets it once, and a worker once from there: joblib hands what is large to Dask by itself, and asks Python
    how large it is. (To processes of this machine it hands large arrays as files in memory.)
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __sizeof__(self) -> int:
        return _LARGE


def runs_alone(n_jobs: int | None) -> bool:
    """Tell whether tasks would run one after the other in this process."""
    return bool(effective_n_jobs(n_jobs) == 1)


def side_by_side(
    function: Callable[..., Answer], shared: Any, tasks: Mapping[Key, tuple[Any, ...]], n_jobs: int | None
) -> Iterator[tuple[Key, Answer]]:
    """Call ``function(shared, *task)`` for each task, as many at a time as there are workers; answers as they come."""
    if runs_alone(n_jobs):
        yield from ((key, function(shared, *task)) for key, task in tasks.items())
        return
    left = dict(tasks)
    for _ in range(_ATTEMPTS):
        try:
            for key, answer in _handed_out(function, shared, left, n_jobs):
                del left[key]
                yield key, answer
        except (BrokenExecutor, CancelledError):  # a process died, or the last worker of a cluster that had the data
            continue
        return
    message = (
        f"{len(left)} of {len(tasks)} parts are not done, because worker processes died {_ATTEMPTS} times: they may "
        "need more memory than there is, try fewer at a time"
    )
    raise UnfinishedError(message)


def _handed_out(
    function: Callable[..., Answer], shared: Any, tasks: Mapping[Key, tuple[Any, ...]], n_jobs: int | None
) -> Iterator[tuple[Key, Answer]]:
    backend, _ = get_active_backend()
    # Those that make joblib's pools of processes their own, as Ray does, have all answers at the end only.
    return_as = "generator_unordered" if backend.supports_return_generator else "list"
    everywhere = _Shared(shared)
    # The tasks are long: one at a time, so that none waits for another in the same batch.
    parallel = Parallel(n_jobs=n_jobs, return_as=return_as, batch_size=1)
    calls = [delayed(_in_worker)(function, everywhere, key, task) for key, task in tasks.items()]
    with _deaf() if return_as != "list" else nullcontext():
        answers = parallel(calls)
    try:
        for answer in answers:  # noqa: UP028 (`yield from` would close the other end before we can)
            yield answer
    except GeneratorExit:  # nobody needs the rest, and joblib would warn that it is thrown away
        with warnings.catch_warnings(action="ignore"):
            close = getattr(answers, "close", None)
            if close is not None:
                close()
        raise


@contextmanager
def _deaf() -> Iterator[None]:
    """Start processes that do not hear Ctrl-C, which a terminal sends to all: this process ends them, quietly."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)


def _in_worker(function: Callable[..., Any], shared: _Shared, key: Any, task: tuple[Any, ...]) -> tuple[Any, Any]:
    """Do one task; more threads than this one would only wait for those of the other workers."""
    with one_blas_thread():
        return key, function(shared.value, *task)
