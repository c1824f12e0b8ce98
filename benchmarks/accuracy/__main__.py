"""Print the tables of the answers in a folder: ``python -m benchmarks.accuracy FOLDER [REPEATS [FIRST]]``.

For each data set the repeats that are whole are taken, up to a number of them, from one of them on.
"""

import sys
from pathlib import Path

from benchmarks.accuracy import REPEATS, tables
from benchmarks.accuracy.protocol import Cache

folder, *given = sys.argv[1:]
repeats, first, *_ = [*map(int, given), *(REPEATS, 0)[len(given) :]]
print(tables.everything(tables.comparable(Cache(Path(folder)).records, range(first, repeats))))
