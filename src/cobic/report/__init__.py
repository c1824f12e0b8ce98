"""What an answer looks like: tables, words, and a page."""

from cobic.report.tables import feature_table, run_document, selection_table, summary_document, violation_table
from cobic.report.words import answer_sentence, found_line, proven_line

__all__ = [
    "answer_sentence",
    "feature_table",
    "found_line",
    "proven_line",
    "run_document",
    "selection_table",
    "summary_document",
    "violation_table",
]
