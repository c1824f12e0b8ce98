"""Commands as a plain user runs them: tests often run as root, whom no permission stops."""

import ctypes
import io
import os
import signal
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from cobic.cli import main

_OVERRIDE = 0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
_VERSION = 0x20080522  # of the structures below
TRACEBACK = 99


def give_up_rights():
    """Heed permissions from now on, also as root."""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    head, data = (ctypes.c_uint32 * 2)(_VERSION, 0), (ctypes.c_uint32 * 6)()
    if libc.capget(head, data) or not data[0]:
        raise OSError(ctypes.get_errno(), "no capabilities")
    data[0] &= ~_OVERRIDE
    if libc.capset(head, data):
        raise OSError(ctypes.get_errno(), "no capabilities")


def run(arguments, told, seconds=30):
    """Exit code of a command in a process of its own, which writes what it says into a file; −14 if it hangs."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code, stream = TRACEBACK, io.StringIO()
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        give_up_rights()
        with redirect_stderr(stream), redirect_stdout(io.StringIO()):
            code = main(list(map(str, arguments)))
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc(file=stream)
        code = TRACEBACK
    finally:
        Path(told).write_text(stream.getvalue())
        os._exit(code)
