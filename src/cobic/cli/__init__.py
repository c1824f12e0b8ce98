"""The command line: arguments in, words and exit codes out; everything else happens elsewhere."""

from cobic.cli.main import main

__all__ = ["main"]
