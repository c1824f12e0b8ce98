"""Lets ``python -m cobic`` stand for the `cobic` command."""

import sys

from cobic.cli import main

if __name__ == "__main__":
    sys.exit(main())
