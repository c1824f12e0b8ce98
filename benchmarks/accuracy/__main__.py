"""Print the tables of the answers in a folder, as far as they are there: ``python -m benchmarks.accuracy FOLDER``."""

import sys
from pathlib import Path

from benchmarks.accuracy import tables
from benchmarks.accuracy.protocol import Cache

print(tables.everything(Cache(Path(sys.argv[1])).records))
