"""Files in and out: the formats of labs to data sets, answers to folders."""

from cobic.io.files import table_text, write_folder, write_text
from cobic.io.labels import read_groups

__all__ = ["read_groups", "table_text", "write_folder", "write_text"]
