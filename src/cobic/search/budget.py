"""Time, interrupts and progress: passed down to every method, so that no algorithm reads a clock."""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any, Self

import numpy as np

from cobic.checks import is_number
from cobic.errors import InputError
from cobic.matrix import Bools
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
        self._vain_from = math.inf
        self._on_progress = on_progress
        self._interrupted = self._waits = False
        self._previous_handler: Any = None
        self._latest = Progress(elapsed=0.0, n_selected=None, upper_bound=upper_bound, lps=0)
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
        elif self.stopped_by is None and self._is_late():
            self.stopped_by = "time limit"
        return self.stopped_by is not None

    @contextmanager
    def unless_in_vain(self, part: float) -> Iterator[None]:
        """Let a search end after a part of the time that is left, if there is no selection by then; the rest stays."""
        before = self._vain_from
        self._vain_from = min(before, self._clock() + part * self.remaining)
        try:
            yield
        finally:
            self._vain_from = before
            if self.stopped_by == "time limit" and not self._is_late():
                self.stopped_by = None

    def _is_late(self) -> bool:
        now = self._clock()
        return now >= self._deadline or (now >= self._vain_from and not self._latest.n_selected)

    def report(self, *, boxes: int = 0, **news: Any) -> None:
        """Record the state of the run and tell the listener; fields of `Progress` that are not given are as before."""
        self._latest = replace(self._latest, elapsed=self.elapsed, lps=self.lps, boxes=boxes, **news)
        self.history.append(self._latest)
        if self._on_progress is not None:
            self._on_progress(self._latest)

    def report_objective(self, bound: float, boxes: int) -> None:
        """Tell the listener about a bound on the objective with soft margins, where it has fallen by a feature."""
        before = self._latest.objective_bound
        if before is None or math.floor(bound) < math.floor(before):
            self.report(objective_bound=bound, boxes=boxes)

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

    def __exit__(self, *_error: object) -> None:
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


class SilentBudget(Budget):
    """The same budget for a search whose results are not those of the run: nobody is told about them."""

    def __init__(self, whole: Budget) -> None:
        super().__init__(None, None, 0, clock=whole._clock)
        self._whole, self._spent_before = whole, whole.lps

    def exhausted(self) -> bool:
        """Whether the whole must stop."""
        self._whole.lps = self._spent_before + self.lps
        return self._whole.exhausted()

    @property
    def remaining(self) -> float:
        """Seconds left to the whole."""
        return self._whole.remaining


class Stopwatch:
    """How long each step of a command takes."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock, self._last = clock, clock()
        self.seconds: dict[str, float] = {}

    @property
    def running(self) -> float:
        """Seconds since the last step."""
        return self._clock() - self._last

    def lap(self, step: str) -> None:
        """Note the seconds since the last step under a name."""
        now = self._clock()
        self.seconds[step], self._last = round(now - self._last, 4), now


class Incumbent:
    """The best selection so far: the largest objective, then (with hard margins) the largest worst margin."""

    def __init__(self, problem: Problem, budget: Budget) -> None:
        self._problem, self._budget, self._worst_margin = problem, budget, -math.inf
        self.support: Bools | None = None
        self.n_selected = 0
        self.objective = self.ceiling = -math.inf  # the second is not below the first, whatever the rounding

    @property
    def selection(self) -> Bools:
        """The best selection; no features if there is none."""
        return np.zeros(self._problem.n_features, dtype=np.bool_) if self.support is None else self.support

    def offer(self, support: Bools) -> bool:
        """Take a selection if it is better; tell whether it is allowed, which is decided in exact arithmetic."""
        problem, size = self._problem, int(support.sum())
        objective, worst = float(size), 0.0
        if problem.soft:
            objective = problem.objective(support)
        elif not problem.constraints.admit(support) or not (worst := problem.worst_margin(support)) > 0:
            objective = -math.inf
        if objective == -math.inf:
            return False
        if (objective, worst) > (self.objective, self._worst_margin):
            news: dict[str, Any] = {"objective": objective} if problem.soft else {}
            is_larger = objective > self.objective
            self.support, self.n_selected = support.copy(), size
            self.objective, self._worst_margin = objective, worst
            self.ceiling = problem.objective_ceiling(support) if problem.soft else objective
            if is_larger:
                self._budget.report(n_selected=size, **news)
        return True
