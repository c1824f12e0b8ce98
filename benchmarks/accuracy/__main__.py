"""Print the tables of the answers in a folder: ``python -m benchmarks.accuracy FOLDER [REPEATS]``.

Give the number of repeats that all methods have: only over the same ones they can be compared.
"""

import sys
from pathlib import Path

from benchmarks.accuracy import REPEATS, tables
from benchmarks.accuracy.protocol import Cache

folder, *repeats = sys.argv[1:]
print(tables.everything(tables.first(Cache(Path(folder)).records, int(repeats[0]) if repeats else REPEATS)))
