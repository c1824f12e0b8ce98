"""Files in and out: the formats of labs to data sets, answers to folders."""

from cobic.io.files import write_folder, write_text
from cobic.io.table import read_groups, table_text

__all__ = ["read_groups", "table_text", "write_folder", "write_text"]
