"""What is said about classes, with what it takes to look for them."""

import re
from dataclasses import dataclass
from typing import Self

from cobic.errors import InputError
from cobic.io.labels import LabelFile, read_label_file
from cobic.io.reading import Reading


@dataclass(frozen=True)
class LabelOptions:
    """What a user says about samples and classes, with what it takes to look for them."""

    asked: Reading
    file: LabelFile | None = None  # classes in a second file
    from_names: re.Pattern[str] | None = None  # the class is what this finds in the sample's name
    features: tuple[str, ...] | None = None  # what data should have; tells the orientation if no classes are asked for

    @classmethod
    def of(cls, asked: Reading, features: tuple[str, ...] | None = None) -> Self:
        """What is said, with the second file read and the pattern compiled."""
        file = None if asked.labels_file is None else read_label_file(asked.labels_file, asked.encoding)
        pattern = None if asked.labels_from_names is None else _pattern(asked.labels_from_names)
        if pattern is not None and (file is not None or asked.labels is not None):
            message = "classes from names and from a column or file: give one of them"
            raise InputError(message)
        return cls(asked, file, pattern, features)

    @property
    def wanted(self) -> bool:
        """Whether classes are asked for at all."""
        return self.asked.says_classes

    def names_sample(self, name: str, n_columns: int) -> bool:
        """Tell whether the file of classes, or all that the pattern finds, says that one of so many is a sample."""
        if self.file is None:
            return self.from_names is not None and self.from_names.fullmatch(name) is not None
        return name in self.file.names or len(self.file.in_order or ()) == n_columns

    def wish(self) -> str:
        """What was asked for, in words."""
        if self.from_names is not None:
            return f"the pattern {self.from_names.pattern!r}"
        return str(self.file.path) if self.file is not None else repr(self.asked.labels)


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        message = f"labels_from_names is {text!r}: not a regular expression ({error}); try '(Tumor|Normal)'"
        raise InputError(message) from None
