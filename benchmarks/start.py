"""Starting: what `import cobic` and commands that do no work take of the processor, against `import sklearn.svm`."""

import resource
import subprocess
import sys
from typing import Any

_STARTS = {
    "import sklearn.svm": ("-c", "import sklearn.svm"),
    "import cobic": ("-c", "import cobic"),
    "cobic --version": ("-m", "cobic", "--version"),
    "cobic --help": ("-m", "cobic", "--help"),
    "cobic verify --help": ("-m", "cobic", "verify", "--help"),
    "cobic select --help": ("-m", "cobic", "select", "--help"),
}


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Seconds of the processor for each, taken in turns, the best of several; and the ratio to the first."""
    seconds: dict[str, list[float]] = {name: [] for name in _STARTS}
    for _ in range(3 if quick else 10):
        for name, words in _STARTS.items():
            seconds[name].append(_of_the_processor(words))
    first = min(seconds["import sklearn.svm"])
    return [{"what": name, "s": min(each), "ratio": min(each) / first} for name, each in seconds.items()]


def _of_the_processor(words: tuple[str, ...]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
