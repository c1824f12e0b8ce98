"""Bytes and lines of a file, unpacked, within bounds: no file may fill the memory or keep us busy for ever."""

import bz2
import csv
import gzip
import importlib
import io
import lzma
import stat
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from cobic.checks import require
from cobic.errors import InputError

LONGEST_LINE = 1 << 26  # characters: a few million numbers
_BLOCK = 1 << 24  # characters of a text that are read at once: enough to be fast, little beside the numbers
MOST_LINES = 1 << 21  # no lab has so many samples or features as text
MOST_CELLS = 1 << 28  # 2 GiB of numbers; larger data belong into a sparse format
_ALWAYS_UNPACKED = 1 << 26  # bytes, 64 MB, that fill no memory
_MOST_EXPANSION = 200  # measurements as text shrink to a fifth or a tenth, hardly ever to less than a hundredth

PACKED_ENDINGS = (".gz", ".bz2", ".xz", ".zst")
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstandard"}


def unpacked_name(name: str) -> str:
    """The name of a file without the endings of what is packed."""
    for packed in PACKED_ENDINGS:
        name = name.removesuffix(packed)
    return name


def ending_of(path: Path) -> str:
    """The ending of a name in lower case, whether it is packed or not."""
    return unpacked_name(path.name.lower()).rpartition(".")[2]


def zip_names(path: Path) -> list[str]:
    """What is in a zip archive."""
    with foreign(path, "a zip archive"), zipfile.ZipFile(path) as archive:
        return archive.namelist()


def first_bytes(path: Path, size: int = 1 << 16) -> bytes:
    """The first bytes of a file, unpacked; fewer if it is short."""
    with open_bytes(path) as stream:
        return stream.read(size)


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading; what is gzip, bzip2, xz or zstandard is unpacked on the way, whatever it is called."""
    with readable(path):
        require_ordinary(path)
        return io.BufferedReader(_Unpacked(path, path.open("rb")))


def unpacked_size(path: Path, stream: Any, read: int) -> int:
    """How large a packed file is unpacked, as far as its beginning tells, of which so many bytes were read."""
    taken = stream.raw.packed_bytes
    return int(path.stat().st_size * read / max(1, taken))


class _Unpacked(io.RawIOBase):
    """The unpacked bytes of a file, counted."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path, self._file = path, file
        start = self._file.read(6)
        self._file.seek(0)
        self._name = next((name for magic, name in _PACKED.items() if start.startswith(magic)), None)
        self._stream = _unpacking(self._name, self._file)
        self._left = max(_ALWAYS_UNPACKED, _MOST_EXPANSION * path.stat().st_size)

    def readable(self) -> bool:
        return True

    @property
    def packed_bytes(self) -> int:
        """How much of the file was read."""
        return self._file.tell()

    def readinto(self, buffer: Any) -> int:
        with readable(self._path, self._name):
            data = self._stream.read(len(buffer))
        if self._name is not None:
            self._left -= len(data)
        if self._left < 0:
            message = f"{self._path} unpacks to more than {_MOST_EXPANSION} times its size, as no measurements do"
            raise InputError(message + ": if it is good, unpack it first")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def _unpacking(name: str | None, file: IO[bytes]) -> Any:
    if name == "zstandard":
        return needed("zstandard", "zstd").ZstdDecompressor().stream_reader(file, read_across_frames=True)
    openers: dict[str | None, Any] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
    return openers[name](file) if name in openers else file


def require_ordinary(path: Path) -> None:
    """Refuse what gives bytes only once, or without end."""
    kind = path.stat().st_mode
    message = f"{path} is a pipe or a device: save what it gives as a file first"
    require(stat.S_ISREG(kind) or stat.S_ISDIR(kind), message)


@contextmanager
def readable(path: Path, packed: str | None = None) -> Iterator[None]:
    """Turn what the operating system and the unpackers complain about into one line."""
    damaged = f"{path} is not a whole {packed} file: it seems cut short or damaged"
    try:
        yield
        return
    except InputError:
        raise
    except FileNotFoundError:
        message = f"there is no file {path}"
    except (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError):
        message = damaged
    except OSError as error:
        cut_short = packed is not None and error.errno is None
        message = damaged if cut_short else f"cannot read {path}: {error.strerror or error}"
    except Exception as error:
        if packed != "zstandard":
            raise
        message = f"{path} is not a whole zstandard file ({error}): it seems cut short or damaged"
    raise InputError(message)


@contextmanager
def foreign(path: Path, what: str) -> Iterator[None]:
    """Turn whatever somebody else's parser raises on a damaged file into one line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
        return
    except InputError:
        raise
    except MemoryError:
        message = f"{path} does not fit into memory"
    except Exception as error:  # a parser that meets garbage raises anything
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        message = f"{path} cannot be read as {what} ({reason}): it seems damaged, or is something else"
    raise InputError(message)


def needed(module: str, extra: str) -> Any:
    """Import a library that only some formats need."""
    try:
        return importlib.import_module(module)
    except ImportError:
        message = f"this file needs the library {module}: pip install 'cobic[{extra}]'"
        raise InputError(message) from None


def text_lines(path: Path, encoding: str | None = None) -> Iterator[str]:
    """The lines of a text file with their ends; UTF-8, or UTF-16 with a byte order mark, unless said otherwise."""
    encoding = encoding or _encoding(first_bytes(path, 4))
    number = 0
    with _open_text(path, encoding) as stream:
        try:
            while line := stream.readline(LONGEST_LINE):
                number += 1
                _require_bounded(path, number, line)
                yield line
        except UnicodeError:
            name = "UTF-8" if encoding == "utf-8-sig" else encoding
            message = (
                f"{path}, line {number + 1} or after: not text in {name}: save it as text in UTF-8, or name its "
                "encoding with --encoding (latin-1, say)"
            )
            raise InputError(message) from None


def text_blocks(path: Path, encoding: str | None, n_above: int) -> Iterator[bytes]:
    """Some megabytes of a text file at a time in UTF-8, whole lines, without the first ones."""
    encoding = encoding or _encoding(first_bytes(path, 4))
    opened: Any = open_bytes(path) if encoding == "utf-8-sig" else _open_text(path, encoding)
    with opened as stream:
        above = [stream.readline(LONGEST_LINE) for _ in range(n_above)]
        lone_returns = [line for line in above if isinstance(line, bytes) and b"\r" in line.removesuffix(b"\r\n")]
        yield from lone_returns[:1]  # they end lines, too, so that others would have to be left out: nobody reads such
        while block := stream.read(_BLOCK):
            block += stream.readline(LONGEST_LINE)
            yield block if isinstance(block, bytes) else block.encode()


@contextmanager
def _open_text(path: Path, encoding: str) -> Iterator[io.TextIOWrapper]:
    with open_bytes(path) as raw:
        try:
            stream = io.TextIOWrapper(raw, encoding=encoding, newline="")
        except LookupError:
            message = f"there is no encoding {encoding!r}: try utf-8, latin-1 or utf-16"
            raise InputError(message) from None
        yield stream


def _encoding(start: bytes) -> str:
    return "utf-16" if start[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def _require_bounded(path: Path, number: int, line: str) -> None:
    if len(line) >= LONGEST_LINE and not line.endswith(("\n", "\r")):
        message = f"{path}, line {number} has more than {LONGEST_LINE} characters: is this a table?"
        raise InputError(message)
    if number > MOST_LINES:
        message = f"{path} has more than {MOST_LINES} lines: use a sparse format such as h5ad for so large a table"
        raise InputError(message)


def cells_of(path: Path, lines: Iterator[str], delimiter: str, first: int = 1) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each line that is not blank."""
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == " ")
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield reader.line_num + first - 1, cells
    except csv.Error as error:
        unclosed = "; is a quotation mark not closed?" if "limit" in str(error) else ""
        message = f"{path}, line {reader.line_num + first - 1}: not a table of text ({error}{unclosed})"
        raise InputError(message) from None


def require_unpacked(path: Path, size: int, most: int = _MOST_EXPANSION, always: int = _ALWAYS_UNPACKED) -> None:
    """Refuse a file that says it unpacks to far more than it holds: more than `most` times, and `always` bytes."""
    message = f"{path} unpacks to {size} bytes, more than {most} times its size, as no measurements do"
    require(size <= max(always, most * path.stat().st_size), message)


def require_cells(path: Path, n_rows: int, n_columns: int) -> None:
    """Refuse a dense table that does not fit into memory for certain."""
    message = f"{path} has {n_rows} × {n_columns} cells: use a sparse format such as h5ad for so large a table"
    require(n_rows * n_columns <= MOST_CELLS, message)


def require_width(path: Path, number: int, cells: Sequence[str], width: int, whose: str = "the first line has") -> None:
    """Refuse a line that has not as many cells as it should."""
    if len(cells) != width:
        message = f"{path}, line {number}: {len(cells)} cells where {whose} {width}"
        raise InputError(message)
