"""How much memory there is, and how much reading and solving will take, before it is taken."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cobic.certified.class_pieces import most_pieces, piece_size
from cobic.certified.effort import DEFAULT
from cobic.certified.looks import window_size
from cobic.errors import InputError, LargeDataWarning
from cobic.io.formats import stored
from cobic.io.sizes import NUMBER, Stored
from cobic.matrix import Matrix, cache, stays_where_it_is
from cobic.problem import Problem
from cobic.problem.dataset import Dataset
from cobic.search.program import BYTES_PER_ENTRY

LARGE = 1_000_000_000  # bytes; nobody needs to be told about less

# Bytes that solving takes beside the matrix, as measured: python -m benchmarks --only memory measures them anew.
_SOLVING = 40_000_000
_PER_FEATURE_AND_CLASS = 100  # orders, thresholds and scores
_PER_SAMPLE_AND_CLASS = 1000  # pieces of the model, and multipliers
_IN_PLAY = 500  # features in it, where all would be too many entries
_SHARE_OF_COLUMNS = 0.3  # features that are kept at hand

# Where control groups of the second and of the first version tell their limit, what is used, and what of that is files.
_LIMIT_USED_GIVEN_BACK = {
    "": ("memory.max", "memory.current", "inactive_file"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


@dataclass(frozen=True)
class MemoryEstimate:
    """What data will take of the memory; rough, and rather too much than too little.

    Attributes
    ----------
    shape : tuple of int or None
        Rows and columns of the matrix, where that is known.
    matrix : int
        Bytes of the matrix in memory.
    reading : int
        Bytes at the peak of reading; 0 for data that are in memory already.
    solving : int
        Bytes at the peak of solving, with the matrix.
    free : int or None
        Bytes that this process may still take; None where that cannot be found out.

    Examples
    --------
    >>> import cobic
    >>> import numpy as np
    >>> estimate = cobic.estimate_memory(np.zeros((200, 1000)))
    >>> estimate.shape, estimate.matrix, estimate.fits
    ((200, 1000), 1600000, True)
    """

    shape: tuple[int, int] | None
    matrix: int
    reading: int
    solving: int
    free: int | None

    @property
    def needed(self) -> int:
        """Bytes still to be taken: at the peak, less what is in memory already."""
        return max(self.reading, self.solving) if self.reading else self.solving - self.matrix

    @property
    def fits(self) -> bool:
        """Whether there is so much, as far as is known."""
        return self.free is None or self.needed <= self.free

    def __str__(self) -> str:
        there = "" if self.free is None else f", {gigabytes(self.free)} are free"
        return f"about {gigabytes(self.needed)} will be needed{there}"


def estimate_memory(data: Any, *, n_classes: int = 2) -> MemoryEstimate:
    """Estimate how much memory reading and solving will take.

    Parameters
    ----------
    data : Problem, Dataset, array, sparse matrix, str or Path
        What is to be solved, or the file that holds it: text, npy, h5ad, Zarr or Parquet, of at least 8 MB.
    n_classes : int, default=2
        How many classes there are, where the data do not say.

    Returns
    -------
    MemoryEstimate
        Its `needed` and `free` are bytes; as text it says both.

    Raises
    ------
    InputError
        If it is a file of which nothing can be told before it is read.

    Notes
    -----
    The constants were measured with the method ``"certified"``: see `docs/scale.md`. Other methods, which build
    programs of all features, take more.

    Examples
    --------
    >>> import cobic
    >>> import numpy as np
    >>> estimate = cobic.estimate_memory(np.zeros((200, 1000), dtype=np.float32))
    >>> estimate.matrix, estimate.fits
    (800000, True)
    """
    if isinstance(data, (str, Path)):
        found = stored(Path(data))
        if found is None:
            message = f"{data}: how much memory it needs cannot be told before it is read"
            raise InputError(message)
        return _of_file(found, n_classes)
    soft = isinstance(data, Problem) and data.soft
    if isinstance(data, Dataset):
        data, n_classes = data.X, max(n_classes, len(data.class_sizes))
    raw = 0
    if isinstance(data, Problem):
        raw = 0 if data.transformation is None else _bytes_of(data.raw)  # it is held beside the transformed values
        data, n_classes = data.matrix, len(data.classes)
    shape, size = (int(data.shape[0]), int(data.shape[1])), _bytes_of(data)
    work = _solving(*shape, n_classes, size or shape[0] * shape[1] * 4)
    if soft:  # sets of features with their means, which the small programs hold once more
        work += 2 * most_pieces(*shape, n_classes) * piece_size(*shape, n_classes)
    return MemoryEstimate(shape, size + raw, 0, size + raw + work, available())


def require_room(
    path: Path, *, solving: bool, backed: bool = False, on_disk: bool = False, transformed: bool = False
) -> MemoryEstimate | None:
    """Refuse a file that will not fit into memory, before it is read; transformed values are held beside the raw."""
    found = stored(path)
    if found is None:
        return None
    estimate = _of_file(found, 2, solving=solving, on_disk=on_disk, copies=2 if transformed else 1)
    if not estimate.fits:
        raise InputError(_refusal(path, found, estimate, backed=backed))
    return estimate if estimate.needed >= LARGE else None


def warn_if_too_large(problem: Problem) -> None:
    """Warn of a problem that takes more memory than there is; it may be solved all the same, by swapping."""
    if problem.n_samples * problem.n_features < LARGE // 50:
        return
    estimate = estimate_memory(problem)
    if estimate.needed >= LARGE and not estimate.fits:
        message = f"{estimate}: float32 or sparse data take less, and so do fewer features"
        warnings.warn(message, LargeDataWarning, stacklevel=3)


def gigabytes(size: float) -> str:
    """A number of bytes for a person."""
    if size < 1e9:
        return f"{max(size, 0) / 1e6:.0f} MB"
    return f"{size / 1e9:.1f} GB" if size < 1e10 else f"{size / 1e9:.0f} GB"


def out_of_memory() -> str:
    """What to say when it has happened."""
    free = available()
    there = "" if free is None else f" ({gigabytes(free)} are free)"
    return f"the memory does not suffice{there}: take fewer features or samples, sparse data, or a larger computer"


def available(proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Bytes that this process may still take: what is free, within its limits; None where nothing can be found out.

    Linux tells in `proc` about processes and memory, and in `groups` about control groups: containers and batch systems
    set their limits there.
    """
    found = [_physical(proc), _below_limit(proc), *_below_group_limits(proc, groups)]
    known = [max(0, size) for size in found if size is not None]
    return min(known) if known else None


def _physical(proc: Path) -> int | None:
    free = _field(proc / "meminfo", "MemAvailable:")
    if free is not None:
        return free
    for pages in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"):  # macOS knows the second only, Windows neither
        try:
            return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, ValueError, OSError):
            continue
    return None


def _below_limit(proc: Path) -> int | None:
    """What the limit of the address space leaves; shared libraries count, too."""
    try:
        import resource  # not on Windows
    except ImportError:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    return limit - (_field(proc / "self" / "status", "VmSize:") or 0)


def _below_group_limits(proc: Path, groups: Path) -> Iterator[int]:
    """What the limits of the group and of those above it leave, in both versions of control groups.

    What the group has read from files counts as used, but is given back when memory is short.
    """
    for line in _lines(proc / "self" / "cgroup"):
        _, controllers, name = line.split(":", 2)
        if controllers not in _LIMIT_USED_GIVEN_BACK:
            continue
        root, words = groups / controllers, _LIMIT_USED_GIVEN_BACK[controllers]
        place = root / name.strip("/")
        for folder in (place, *place.parents):
            limit, used = (_field(folder / word) for word in words[:2])
            if limit is not None and used is not None:
                yield limit - used + (_field(folder / "memory.stat", words[2]) or 0)
            if folder == root:
                break


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []


def _field(path: Path, name: str = "") -> int | None:
    """A number behind its name in a file, in bytes; without a name, all that is in the file ("max" is none)."""
    for line in _lines(path):
        found = re.fullmatch(rf"\s*{name}\s*(\d+)(\s+kB)?\s*", line)
        if found:
            return int(found[1]) * (1024 if found[2] else 1)
    return None


def _solving(n_samples: int, n_features: int, n_classes: int, size: int) -> int:
    comparisons, most = n_samples * (n_classes - 1), DEFAULT.starting_cells
    entries = comparisons * n_features
    entries = entries if entries <= most else min(comparisons * _IN_PLAY, most)
    columns = min(_SHARE_OF_COLUMNS * size, cache.MOST_BYTES)
    vectors = n_classes * (_PER_FEATURE_AND_CLASS * n_features + _PER_SAMPLE_AND_CLASS * n_samples)
    window = NUMBER * n_samples * window_size(n_samples, n_features, size)
    return int(_SOLVING + BYTES_PER_ENTRY * entries + columns + vectors + window)


def _bytes_of(data: Any) -> int:
    """Bytes of an array, a sparse matrix, or cobic's view of one; none of what is on disk or elsewhere."""
    if isinstance(data, Matrix):
        return 0 if data.costly else data.nbytes
    if stays_where_it_is(data):
        return 0
    if hasattr(data, "indptr"):
        return int(data.data.nbytes + data.indices.nbytes + data.indptr.nbytes)
    if hasattr(data, "nbytes"):
        return int(data.nbytes)
    return int(data.shape[0]) * int(data.shape[1]) * NUMBER


def _of_file(
    found: Stored, n_classes: int, *, solving: bool = True, on_disk: bool = False, copies: int = 1
) -> MemoryEstimate:
    # Where it is not known which side the features are on: as if there were a hundred samples.
    shape = found.shape or (min(found.cells, 100), max(1, found.cells // 100))
    held, chunks = (0, found.unpacking) if on_disk and solving else (copies * found.matrix, 0)
    peak = held + chunks + _solving(*shape, n_classes, found.matrix) if solving else 0
    return MemoryEstimate(found.shape, held, 0 if on_disk else found.reading, peak, available())


def _refusal(path: Path, found: Stored, estimate: MemoryEstimate, *, backed: bool) -> str:
    """What is needed, what is there, and what would fit."""
    free, work, cures = estimate.free or 0, max(0, estimate.solving - estimate.matrix), []
    as_array = 4 * found.cells + work
    if not found.sparse and 4 * found.cells < found.matrix and as_array <= free:
        cures.append(f"store it as float32 in .npy or .h5ad: {gigabytes(as_array)}")
    if backed and estimate.solving and work <= free:
        cures.append(f"keep it on disk, --backed with .h5ad or .zarr: {gigabytes(work)}")
    if not found.sparse:
        cures.append("store it as a sparse .h5ad if most of it is zero")
    cures.append("take fewer features or samples, or a larger computer")
    size = "" if found.shape is None else f" for {found.shape[0]} × {found.shape[1]} numbers"
    told = f"{path}: about {gigabytes(estimate.needed)} are needed{size}, {gigabytes(free)} are free"
    return f"{told}: {'; or '.join(cures)}"
