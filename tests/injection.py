"""Operations of the file system that fail, find a full disk, are interrupted, or are the last ones of a process."""

import errno
import os
import traceback
from contextlib import contextmanager

from cobic.errors import InputError

OPERATIONS = ("open", "write", "fsync", "mkdir", "rename", "replace", "unlink", "rmdir")
FAILURES = ("fails", "disk full", "interrupted", "killed before", "killed after")
DONE, REFUSED, TRACEBACK, INTERRUPTED, KILLED = 0, 2, 3, 130, 9


@contextmanager
def injected(at, failure):
    """Let the operation of that number go wrong; the names of all that were asked for."""
    done, plain = [], {name: getattr(os, name) for name in OPERATIONS}

    def wrapped(name):
        def operation(*arguments, **options):
            done.append(name)
            if len(done) - 1 == at:
                go_wrong(name, *arguments, **options)
            return plain[name](*arguments, **options)

        return operation

    def go_wrong(name, *arguments, **options):
        if failure in ("disk full", "killed before") and name == "write":  # half of it is there
            plain[name](arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
        if failure == "killed after":
            plain[name](*arguments, **options)
        if failure.startswith("killed"):
            os._exit(KILLED)
        if failure == "interrupted":
            raise KeyboardInterrupt
        number = errno.ENOSPC if failure == "disk full" else errno.EIO
        raise OSError(number, os.strerror(number))

    try:
        for name in OPERATIONS:
            setattr(os, name, wrapped(name))
        yield done
    finally:
        for name in OPERATIONS:
            setattr(os, name, plain[name])


def in_a_process(work):
    """Do something in a process of its own; how it ended."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = TRACEBACK
    try:
        work()
        code = DONE
    except InputError:
        code = REFUSED
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def matrix(prepare, work, judge):
    """Try each operation with each failure, always from the same beginning; how many points were tried.

    `judge` is told how the process ended, and what was done.
    """
    prepare()
    with injected(-1, "") as done:
        work()
    for at, operation in enumerate(done):
        for failure in FAILURES:

            def attempt(at=at, failure=failure):
                with injected(at, failure):
                    work()

            prepare()
            code = in_a_process(attempt)
            judge(code, f"{operation} {at} {failure}")
    return len(done) * len(FAILURES)
