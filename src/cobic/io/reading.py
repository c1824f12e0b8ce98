"""What is said about a file: given once, by :func:`cobic.read` or the command line, and passed on as it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cobic.checks import require_choice, require_whole


@dataclass(frozen=True)
class Reading:
    """A file and what is said about it; :func:`cobic.read` describes the parts, and the command line has the same."""

    path: Path
    labels: str | None = None
    labels_file: Path | None = None
    labels_from_names: str | None = None
    features_in_rows: bool | None = None
    ids: str | None = None
    drop: Sequence[str] = ()
    part: str | None = None
    header_row: int | None = None
    decimal: str | None = None
    encoding: str | None = None
    backed: bool = False

    def __post_init__(self) -> None:
        files = {"path": Path(self.path), "labels_file": None if self.labels_file is None else Path(self.labels_file)}
        vars(self).update(files, drop=tuple(self.drop))  # they may be given as texts, and as a list
        if self.header_row is not None:
            require_whole("header_row", self.header_row, 0)
        if self.decimal is not None:
            require_choice("decimal", self.decimal, (".", ","))

    @property
    def says_classes(self) -> bool:
        """Whether it says where the classes are."""
        return any(each is not None for each in (self.labels, self.labels_file, self.labels_from_names))

    def arguments(self, *names: str) -> list[str]:
        """Some of the parts as the command line spells them, where they are given."""
        given = [(name, getattr(self, name)) for name in names if getattr(self, name) is not None]
        return [word for name, value in given for word in (f"--{name.replace('_', '-')}", str(value))]
