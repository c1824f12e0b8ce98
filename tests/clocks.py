"""Clocks of the tests: no answer depends on how fast or how busy the machine is."""

import signal
from contextlib import contextmanager

from cobic.search.budget import Budget

_DEFAULTS = Budget.__init__.__kwdefaults__


class Ticking:
    """A clock that goes on by a second each time somebody looks: a limit binds after the same work everywhere."""

    def __init__(self, tick=1.0):
        self.tick, self.looks = tick, 0

    def __call__(self):
        self.looks += 1
        return self.tick * self.looks


class CtrlC(Ticking):
    """A clock at which Ctrl-C is pressed when somebody looks for the n-th time."""

    def __init__(self, at):
        super().__init__()
        self.at = at

    def __call__(self):
        if self.looks == self.at:
            signal.raise_signal(signal.SIGINT)
        return super().__call__()


def let_time_stand():
    """For every budget without a clock of its own, but for an instant at each look: later is later."""
    _DEFAULTS["clock"] = Ticking(1e-9)


@contextmanager
def time_by(clock):
    """Every budget without a clock of its own goes by this one."""
    before, _DEFAULTS["clock"] = _DEFAULTS["clock"], clock
    try:
        yield clock
    finally:
        _DEFAULTS["clock"] = before
