"""What an answer looks like on paper: tables."""

from cobic.report.tables import feature_table, run_document, selection_table, summary_document, violation_table

__all__ = ["feature_table", "run_document", "selection_table", "summary_document", "violation_table"]
