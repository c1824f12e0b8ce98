"""Repeated cross-validation that can be stopped at any time: every answer is a line of a file.

An answer belongs to a data set, a repeat, a fold, a method and a size. What is in the file is not computed again. The
work is ordered so that one repeat of everything is there before the next one begins.
"""

import json
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from benchmarks.accuracy.data import Data, Floats, Fold, Labels, load
from cobic.analyses.folds import margins_of

FOLDS = 5
INNER_FOLDS = 3
SIZES = (4, 10, 20, 50, 200)
# The size is tuned inside the training part, as the frontier does or by the least shortfall; all features are used.
CHOSEN, LEAST, ALL = "chosen", "least shortfall", "all"
HELD_OUT = "held out"  # no size: margins in cross-validation inside the training part, from which sizes are chosen

Size = int | str
Answer = tuple[Labels, NDArray[Any] | None]  # predicted classes; features by number, None if all of them
Fit = Callable[[Fold, int], tuple[Answer, Floats] | None]  # with the means of the classes in the new samples
Key = tuple[str, int, int, str, str]


@dataclass(frozen=True)
class Method:
    """A way to classify: for each size that is possible, predictions and features."""

    name: str
    answers: Callable[[Fold, Sequence[Size]], dict[Size, Answer]]
    sizes: tuple[Size, ...] = (*SIZES, CHOSEN)
    suits: Callable[[Data], bool] = field(default=lambda data: True)  # noqa: ARG005
    held_out: Callable[[Fold], dict[int, list[float]]] | None = None  # margins inside, if its size is chosen from them

    @property
    def parts(self) -> tuple[Size, ...]:
        """What there is to answer for a fold."""
        return self.sizes if self.held_out is None else (*self.sizes, HELD_OUT)


class Cache:
    """The answers so far, in a file of lines."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / "answers.jsonl"
        self.records: list[dict[str, Any]] = []
        if self._file.exists():
            text = self._file.read_text()
            self.records = list(_whole_lines(text))
            if text and not text.endswith("\n"):  # what was cut off stays alone on its line
                self._file.write_text(text + "\n")
        self._known = {_key(record) for record in self.records}

    def __contains__(self, key: Key) -> bool:
        return key in self._known

    def add(self, records: Iterable[dict[str, Any]]) -> None:
        """Append some answers."""
        for record in records:
            with self._file.open("a") as stream:
                stream.write(json.dumps(record) + "\n")
            self.records.append(record)
            self._known.add(_key(record))


def _whole_lines(text: str) -> Iterator[dict[str, Any]]:
    """The records of a file; a line that was cut off is left out."""
    for line in text.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _key(record: dict[str, Any]) -> Key:
    return record["data"], record["repeat"], record["fold"], record["method"], str(record["size"])


def measure(cache: Cache, names: Sequence[str], methods: Sequence[Method], repeat: int, folds: int = FOLDS) -> None:
    """Fill in what is missing of one repeat; only the first folds if so asked."""
    for method in methods:
        for name in names:
            data = load(name)
            if method.suits(data):
                _measure_one(cache, data, method, repeat, folds)


def _measure_one(cache: Cache, data: Data, method: Method, repeat: int, folds: int) -> None:
    parts = StratifiedKFold(FOLDS, shuffle=True, random_state=repeat)
    begin, places = time.process_time(), 0
    for number, (train, test) in enumerate(split(parts, data.X, data.y)):
        missing = [size for size in method.parts if (data.name, repeat, number, method.name, str(size)) not in cache]
        if number >= folds or not missing:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # features that are constant in a fold, classes of few samples
            records = answered(method, Fold.of(data, train, test), missing, data.y[test])
        place = {"data": data.name, "repeat": repeat, "fold": number, "method": method.name}
        cache.add({**place, **record} for record in records)
        places += 1
    if places:
        print(f"repeat {repeat}, {data.name}, {method.name}: {time.process_time() - begin:.1f} s", flush=True)


def answered(method: Method, fold: Fold, sizes: Sequence[Size], truth: Labels) -> Iterator[dict[str, Any]]:
    """The answers of a method to one fold as records; a size that is not possible has an empty one."""
    begin = time.process_time()
    found = method.answers(fold, [size for size in sizes if size != HELD_OUT])
    seconds = (time.process_time() - begin) / max(len(found), 1)
    classes = np.unique(np.concatenate([fold.y, truth]))
    for size in sizes:
        record: dict[str, Any] = {"size": size}
        if size in found:
            predicted, features = found[size]
            right = [int((predicted[truth == cls] == cls).sum()) for cls in classes]
            record |= {"right": right, "of": [int((truth == cls).sum()) for cls in classes]}
            record |= {"features": None if features is None else np.sort(features).tolist()}
            record |= {"columns": fold.X.shape[1] * (2 if fold.few else 1), "seconds": round(seconds, 3)}
        elif size == HELD_OUT and method.held_out is not None:
            record["margins"] = method.held_out(fold)
        yield record


def split(folds: StratifiedKFold, X: Any, y: Labels) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """The folds; a class with fewer samples than folds is in some of them only, which is said nowhere else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from folds.split(X, y)


def by_size(fit: Fit) -> Callable[[Fold, Sequence[Size]], dict[Size, Answer]]:
    """A method from a fit at a given size: each of the sizes asked for that is possible."""

    def answers(fold: Fold, sizes: Sequence[Size]) -> dict[Size, Answer]:
        tried = {size: fit(fold, int(size)) for size in sizes}
        return {size: answer[0] for size, answer in tried.items() if answer is not None}

    return answers


def inner_margins(fit: Fit) -> Callable[[Fold], dict[int, list[float]]]:
    """The margin of each training sample when it is held out, by folds inside the training part, for each size."""

    def held_out(fold: Fold) -> dict[int, list[float]]:
        found = {size: np.zeros(fold.y.size) for size in SIZES}
        for train, test in inner_folds(fold.X, fold.y):
            inside = fold.inner(train, test)
            for size in list(found):
                answer = fit(inside, size)
                if answer is None:
                    del found[size]
                else:
                    found[size][test] = margins_of(answer[1], np.searchsorted(np.unique(inside.y), fold.y[test]))
        return {size: [float(f"{margin:.5g}") for margin in each] for size, each in found.items()}

    return held_out


def inner_folds(X: Any, y: Labels) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """The folds inside the training part, the same for all panels."""
    return split(StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=0), X, y)
