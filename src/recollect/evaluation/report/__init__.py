"""Evaluation reports as one HTML page or as Markdown."""

from recollect.evaluation.report.content import Report, build_report
from recollect.evaluation.report.render import html_report, markdown_report, report_format, save_report, write_report

__all__ = [
    "Report",
    "build_report",
    "html_report",
    "markdown_report",
    "report_format",
    "save_report",
    "write_report",
]
