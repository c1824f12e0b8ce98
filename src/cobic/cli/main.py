"""The `cobic` command."""

import argparse
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout, suppress
from importlib import import_module
from importlib.metadata import version
from typing import Any, NoReturn, TextIO, cast

from cobic.errors import InputError, ModelError

EXIT_INPUT = 2  # something that was given is wrong, as argparse has it, too
EXIT_INFEASIBLE = 3  # there is no consistent selection
EXIT_DOES_NOT_CHECK = 4  # a certificate or a model does not hold
EXIT_NOTHING_FOUND = 5  # none was found, and nothing is proven about that
EXIT_INTERRUPTED = 130  # 128 and the number of SIGINT, as in shells

_STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # control characters, also of direction

# What each command is for; its module, of the same name, is loaded when it is asked for. The docstring of the module is
# the help text, its last paragraph the example at the end; `run` returns an exit code unless it can only be 0.
COMMANDS = {
    "demo": "see it work on built-in data",
    "inspect": "show what is understood of a file, and the command to run next",
    "split": "hold samples out: a table in two parts, to learn from and to try on",
    "select": "select features from a table",
    "panel": "choose a given number of features that separate the classes best",
    "frontier": "panels of several sizes: margin, proof, error, which size to choose",
    "report": "show an answer as a page: heatmap, margins, table, new samples, path",
    "classify": "classify new samples by a model",
    "verify": "check a certificate against the data",
    "path": "the curve over a margin: features kept, error, which margin to choose, the best features",
    "stability": "how far selections from parts of the samples agree, and how often each feature is in",
    "export": "write the problem as a linear program, for CPLEX, Gurobi, SCIP, AMPL …",
    "reproduce": "reproduce the tables of the founding paper",
    "datasets": "list the public data sets, write one as a table, or make a large one",
    "completion": "teach your shell the commands and options",
}


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_INPUT, f"{self.prog}: {message} (see {self.prog} --help)\n")


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Make the parser of the whole command line, or one that knows the options of a single command only."""
    parser = _Parser(
        prog="cobic",
        description="Feature selection by consistent biclustering: which features agree with my classes?",
        epilog="example: cobic demo",
    )
    parser.add_argument("--version", action="version", version=f"cobic {version('cobic')}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary)
        if only in (None, name):
            module = import_module(f"cobic.cli.{name}")
            command.description, _, command.epilog = (module.__doc__ or "").rpartition("\n\n")
            module.add_arguments(command)
            command.set_defaults(run=module.run)
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
    words = list(sys.argv[1:] if argv is None else argv)
    asked = next((word for word in words if not word.startswith("-")), "")
    try:
        arguments = build_parser(asked).parse_args(words, argparse.Namespace(words=words))
        return arguments.run(arguments) or 0
    except InputError as error:
        message, code = str(error), EXIT_DOES_NOT_CHECK if isinstance(error, ModelError) else EXIT_INPUT
    except OSError as error:  # a place that may not even be looked at
        message, code = f"cannot use {error.filename}: {error.strerror or error}", EXIT_INPUT
    except MemoryError:
        from cobic.methods.memory import out_of_memory

        message, code = out_of_memory(), EXIT_INPUT
    except KeyboardInterrupt:
        message, code = "interrupted", EXIT_INTERRUPTED
    print(f"cobic: {printable(message)}", file=sys.stderr)
    return code


def printable(text: str, kept: str = "") -> str:
    """A text in which what would steer a terminal is spelled out: names in data come from strangers."""
    return _STEERING.sub(lambda found: found[0] if found[0] in kept else ascii(found[0])[1:-1], text)


class _Output:
    """Standard output that never stops the work: the first error is kept, and what follows goes nowhere."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = io.StringIO() if stream is None else stream
        self._terminal = self._stream.isatty()
        self.error: OSError | None = None

    def write(self, text: str) -> int:
        shown = printable(text, kept="\n\t") if self._terminal else text
        self._unless_lost(lambda: self._stream.write(shown))
        return len(text)

    def flush(self) -> None:
        self._unless_lost(self._stream.flush)

    def _unless_lost(self, act: Callable[[], object]) -> None:
        try:
            if self.error is None:
                act()
        except OSError as error:
            self.error = error
            with suppress(OSError):  # what is still in its buffer must not fail again when the process ends
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
