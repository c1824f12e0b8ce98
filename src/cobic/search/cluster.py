"""A cluster of Dask for what runs side by side: the only module that knows dask.distributed."""

import logging
import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from typing import Any

from joblib import parallel_config

from cobic.checks import require_processes
from cobic.errors import InputError, UnfinishedError

_REACHABLE = 3.0  # seconds: a scheduler that is there answers at once
_UP = 60.0  # seconds: processes on a busy machine take long to start


@contextmanager
def cluster(where: str | None) -> Iterator[None]:
    """Let all that runs side by side inside run on a cluster; None is none."""
    if where is None:
        yield
        return
    try:
        import distributed
    except ImportError:
        message = "--cluster needs the library distributed: pip install 'cobic[cluster]'"
        raise InputError(message) from None
    with ExitStack() as stack:
        logger = logging.getLogger("distributed")  # it would tell what is handled here: that a worker died and is back
        stack.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.CRITICAL)
        client = _local(distributed, where, stack) or _remote(distributed, where, stack)
        stack.enter_context(parallel_config(backend="dask", client=client))
        try:
            yield
        except distributed.KilledWorker as error:
            message = f"the workers of {where} died again and again ({error}): they may need more memory than there is"
            raise UnfinishedError(message) from None


def _local(distributed: Any, where: str, stack: ExitStack) -> Any | None:
    """A client of new processes on this machine; None if they are not asked for."""
    given = re.fullmatch(r"local(?::(\d+))?", where)
    if given is None:
        return None
    count = int(given[1] or 0)
    if count < 1:
        message = f"--cluster {where}: say how many processes, as local:4"
        raise InputError(message)
    require_processes(f"--cluster {where}", count)
    # One thread each: more would share one interpreter, and a process can be ended and started again.
    own = distributed.LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        processes=True,
        silence_logs=logging.CRITICAL,
        dashboard_address=":0",  # any free port, for there is a server even without the dashboard
        scheduler_kwargs={"dashboard": False},
    )
    stack.enter_context(own)
    client = stack.enter_context(distributed.Client(own, timeout=_UP))

    class Deaf(distributed.WorkerPlugin):  # type: ignore[misc]
        """Keeps Ctrl-C, which a terminal sends to all processes, from ending workers before they are closed."""

        def setup(self, worker: Any) -> None:  # noqa: ARG002
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    client.register_plugin(Deaf())
    return client


def _remote(distributed: Any, where: str, stack: ExitStack) -> Any:
    """A client of a scheduler that is running somewhere."""
    if not re.fullmatch(r"[a-z]+://\S+", where):
        message = f"--cluster {where}: write local:4 for four processes here, or an address as tcp://host:8786"
        raise InputError(message)
    try:
        client = stack.enter_context(distributed.Client(where, timeout=_REACHABLE))
        client.wait_for_workers(1, timeout=_REACHABLE)
    except (OSError, ValueError, TimeoutError):
        message = f"--cluster {where}: no scheduler with workers answers there within {_REACHABLE:g} seconds"
        raise InputError(message) from None
    here = version("cobic")
    for address, there in client.run(version, "cobic", on_error="return").items():
        if there != here:
            has = f"cobic {there}" if isinstance(there, str) else "no cobic"
            message = f"--cluster {where}: worker {address} has {has}: install cobic {here} there"
            raise InputError(message)
    return client
