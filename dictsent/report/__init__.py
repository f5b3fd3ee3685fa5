"""Pages and tables about runs: one self-contained HTML file, Markdown, LaTeX.

Before: finished runs' records, dictsent.tasks.overlap. After: a reader.
"""

from dictsent.report.overlap import write_overlap
from dictsent.report.runs import write_report

__all__ = ["write_overlap", "write_report"]
