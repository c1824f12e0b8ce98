"""Time, interrupts and progress: passed down to every method, so that no algorithm reads a clock."""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cobic.checks import is_number
from cobic.errors import InputError
from cobic.problem import Problem
from cobic.search.result import Progress

OnProgress = Callable[[Progress], None]
Clock = Callable[[], float]

_NO_TIME = 1e-9  # a limit must be above 0


class Budget:
    """How long a method may go on, and whom it tells about its progress.

    As a context manager it turns Ctrl-C into a request to stop, so that the method can hand over what it has; a
    second Ctrl-C interrupts as usual. Outside the main thread, where Python delivers no signals, only the time counts.
    """

    def __init__(
        self,
        time_limit: float | None,
        on_progress: OnProgress | None,
        upper_bound: int,
        *,
        clock: Clock = time.monotonic,
    ) -> None:
        if time_limit is not None and not (is_number(time_limit) and time_limit > 0):
            message = f"time_limit is {time_limit!r}: give a number of seconds above 0, or None for no limit"
            raise InputError(message)
        self._clock = clock
        self._started = clock()
        self._deadline = self._started + time_limit if time_limit is not None else math.inf
        self._on_progress = on_progress
        self._interrupted = self._waits = False
        self._previous_handler: Any = None
        self._n_selected: int | None = None
        self._objective: float | None = None
        self._objective_bound: float | None = None
        self._upper_bound = upper_bound
        self.lps = 0
        self.stopped_by: str | None = None
        self.history: list[Progress] = []

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._started

    @property
    def remaining(self) -> float:
        """Seconds until the time limit; infinite if there is none."""
        return self._deadline - self._clock()

    @property
    def ends_at(self) -> float | None:
        """The time limit on the clock on the wall, which processes and machines share; None if there is none."""
        return None if math.isinf(self._deadline) else time.time() + self.remaining

    @classmethod
    def until(cls, ends_at: float | None, upper_bound: int) -> Self:
        """A budget for a part of the work, perhaps in another process, with the time limit of the whole."""
        seconds = None if ends_at is None else max(ends_at - time.time(), _NO_TIME)
        return cls(seconds, None, upper_bound)

    def exhausted(self) -> bool:
        """Tell whether the method must stop now; remembered as `stopped_by`."""
        if self._interrupted:
            self.stopped_by = "interrupt"
        elif self.stopped_by is None and self._clock() >= self._deadline:
            self.stopped_by = "time limit"
        return self.stopped_by is not None

    def report(
        self,
        *,
        n_selected: int | None = None,
        upper_bound: int | None = None,
        objective: float | None = None,
        objective_bound: float | None = None,
        boxes: int = 0,
    ) -> None:
        """Record the state of the run and tell the listener; what is not given is as before."""
        self._n_selected = n_selected if n_selected is not None else self._n_selected
        self._upper_bound = upper_bound if upper_bound is not None else self._upper_bound
        self._objective = objective if objective is not None else self._objective
        self._objective_bound = objective_bound if objective_bound is not None else self._objective_bound
        event = Progress(
            elapsed=self.elapsed,
            n_selected=self._n_selected,
            upper_bound=self._upper_bound,
            lps=self.lps,
            boxes=boxes,
            objective=self._objective,
            objective_bound=self._objective_bound,
        )
        self.history.append(event)
        if self._on_progress is not None:
            self._on_progress(event)

    def report_objective(self, bound: float, boxes: int) -> None:
        """Tell the listener about a bound on the objective with soft margins, where it has fallen by a feature."""
        if self._objective_bound is None or math.floor(bound) < math.floor(self._objective_bound):
            self.report(objective_bound=bound, boxes=boxes)

    def silent(self) -> "Budget":
        """The same budget for a search whose results are not those of the run: nobody is told about them."""
        return _SilentBudget(self)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let Ctrl-C raise `KeyboardInterrupt` as well, while others do the work and nobody here would look."""
        self._waits = True
        try:
            yield
        finally:
            self._waits = False

    def __enter__(self) -> Self:
        """Take over Ctrl-C."""
        if threading.current_thread() is threading.main_thread():
            current = signal.getsignal(signal.SIGINT)
            if current not in (None, signal.SIG_IGN):
                self._previous_handler = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give Ctrl-C back."""
        self._release()
        if self._interrupted:  # also where the method ended by itself before it looked again
            self.stopped_by = "interrupt"

    def _interrupt(self, _signum: int, _frame: FrameType | None) -> None:
        self._interrupted = True
        self._release()
        if self._waits:
            raise KeyboardInterrupt

    def _release(self) -> None:
        if self._previous_handler is not None:
            signal.signal(signal.SIGINT, self._previous_handler)
            self._previous_handler = None


class _SilentBudget(Budget):
    """A budget that tells nobody."""

    def __init__(self, whole: Budget) -> None:
        super().__init__(None, None, 0, clock=whole._clock)
        self._whole, self._spent_before = whole, whole.lps

    def exhausted(self) -> bool:
        self._whole.lps = self._spent_before + self.lps
        return self._whole.exhausted()

    @property
    def remaining(self) -> float:
        return self._whole.remaining


class Stopwatch:
    """How long each step of a command takes.

    Examples
    --------
    >>> watch = Stopwatch()
    >>> watch.lap("read")
    >>> list(watch.seconds)
    ['read']
    """

    def __init__(self) -> None:
        self._last = time.monotonic()
        self.seconds: dict[str, float] = {}

    def lap(self, step: str) -> None:
        """Note the seconds since the last step under a name."""
        now = time.monotonic()
        self.seconds[step], self._last = round(now - self._last, 4), now


class Incumbent:
    """The best truly consistent selection so far: the larger one, then the one with the larger worst margin."""

    def __init__(self, problem: Problem, budget: Budget) -> None:
        self._problem, self._budget = problem, budget
        self.support: NDArray[np.bool_] | None = None
        self.n_selected = 0
        self.worst_margin = -math.inf

    def offer(self, support: NDArray[np.bool_]) -> bool:
        """Take a selection if it is better and consistent in exact arithmetic; tell whether it is consistent."""
        if not self._problem.constraints.admit(support):
            return False
        size, worst = int(support.sum()), self._problem.worst_margin(support)
        if not worst > 0:
            return False
        if (size, worst) > (self.n_selected, self.worst_margin):
            grew = size > self.n_selected
            self.support, self.n_selected, self.worst_margin = support.copy(), size, worst
            if grew:
                self._budget.report(n_selected=size)
        return True


class SoftIncumbent:
    """The selection with the largest objective so far in a problem with soft margins."""

    def __init__(self, problem: Problem, budget: Budget) -> None:
        self._problem, self._budget = problem, budget
        self.support: NDArray[np.bool_] | None = None
        self.objective = self.ceiling = -math.inf

    def offer(self, support: NDArray[np.bool_]) -> float:
        """Take a selection if it is better; its objective, −∞ if it is not allowed."""
        objective = self._problem.objective(support)
        if objective > self.objective:
            self.support, self.objective = support.copy(), objective
            self.ceiling = self._problem.objective_ceiling(support)
            self._budget.report(n_selected=int(support.sum()), objective=objective)
        return objective
