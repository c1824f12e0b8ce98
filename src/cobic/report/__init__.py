"""What an answer looks like on paper: tables."""

from cobic.report.tables import run_document, selection_table, summary_document

__all__ = ["run_document", "selection_table", "summary_document"]
