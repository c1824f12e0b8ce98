"""The `cobic` command."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import NoReturn

from cobic.cli import classify, completion, datasets, demo, export, inspect, path, report, reproduce, select, verify
from cobic.cli.common import EXIT_DOES_NOT_CHECK, EXIT_INPUT, EXIT_INTERRUPTED
from cobic.errors import InputError, ModelError

_COMMANDS = (demo, inspect, select, report, classify, verify, path, export, reproduce, datasets, completion)


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
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; those of the process by default.

    Returns
    -------
    int
        The exit code: 0 done, 2 bad usage or input, 3 proven infeasible, 4 a certificate or model that
        does not check,
        130 interrupted.
    """
    arguments = build_parser().parse_args(argv)
    try:
        code = int(arguments.run(arguments))
        sys.stdout.flush()
    except ModelError as error:
        print(f"cobic: {error}", file=sys.stderr)
        return EXIT_DOES_NOT_CHECK
    except InputError as error:
        print(f"cobic: {error}", file=sys.stderr)
        return EXIT_INPUT
    except KeyboardInterrupt:
        print("cobic: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone (`cobic … | head`); leave without a word, as other tools do.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code
