"""The `cobic` command."""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from importlib.metadata import version
from typing import Any, NoReturn, TextIO, cast

from cobic.cli import (
    classify,
    completion,
    datasets,
    demo,
    export,
    inspect,
    path,
    report,
    reproduce,
    select,
    stability,
    verify,
)
from cobic.cli.common import EXIT_DOES_NOT_CHECK, EXIT_INPUT, EXIT_INTERRUPTED
from cobic.errors import InputError, ModelError
from cobic.methods.memory import out_of_memory

_COMMANDS = (demo, inspect, select, report, classify, verify, path, stability, export, reproduce, datasets, completion)


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_INPUT, f"{self.prog}: {message} (see {self.prog} --help)\n")


def build_parser() -> argparse.ArgumentParser:
    """Make the parser of the whole command line."""
    parser = _Parser(
        prog="cobic",
        description="Feature selection by consistent biclustering: which features agree with my classes?",
        epilog="example: cobic demo",
    )
    parser.add_argument("--version", action="version", version=f"cobic {version('cobic')}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_parser(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    output = _Output(sys.stdout)
    with redirect_stdout(cast("TextIO", output)):
        try:
            code = _run(argv)
        finally:
            output.flush()
    if output.error is None or isinstance(output.error, BrokenPipeError):
        return code  # a reader that has gone (`cobic … | head`) is no fault; other tools say nothing, either
    print(f"cobic: cannot write to standard output: {output.error.strerror or output.error}", file=sys.stderr)
    return code or EXIT_INPUT


def _run(argv: Sequence[str] | None) -> int:
    arguments = build_parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except ModelError as error:
        print(f"cobic: {error}", file=sys.stderr)
        return EXIT_DOES_NOT_CHECK
    except InputError as error:
        print(f"cobic: {error}", file=sys.stderr)
        return EXIT_INPUT
    except MemoryError:
        print(f"cobic: {out_of_memory()}", file=sys.stderr)
        return EXIT_INPUT
    except KeyboardInterrupt:
        print("cobic: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


class _Output:
    """Standard output that never stops the work: the first error is kept, and what follows goes nowhere."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = io.StringIO() if stream is None else stream
        self.error: OSError | None = None

    def write(self, text: str) -> int:
        if self.error is None:
            try:
                self._stream.write(text)
            except OSError as error:
                self._give_up(error)
        return len(text)

    def flush(self) -> None:
        if self.error is None:
            try:
                self._stream.flush()
            except OSError as error:
                self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self.error = error
        with suppress(OSError):  # what is still in its buffer must not fail again when the process ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
