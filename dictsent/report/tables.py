"""A table of text as HTML, Markdown or LaTeX (booktabs), in the layout of the papers' tables.

Before: rows of text. After: dictsent.report's pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

_LATEX = str.maketrans(
    {
        "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as text; the first `left` columns are set left, the others, figures, right.

    What stands behind a line feed in a cell is set smaller below it where there is room for that. `notes` stand below
    the table.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    notes: tuple[str, ...] = ()


def to_html(table: Table) -> str:
    """A figure with a caption; it scrolls sideways by itself on a small screen."""
    head = "".join(_cell("th", text, i, table.left) for i, text in enumerate(table.columns))
    body = "".join(
        "<tr>" + "".join(_cell("td", text, i, table.left) for i, text in enumerate(row)) + "</tr>\n"
        for row in table.rows
    )
    return (
        f'<div class="wide" tabindex="0"><table>\n<caption>{escape(table.caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n"
        + "".join(f'<p class="note">{escape(text)}</p>\n' for text in table.notes)
    )


def _cell(tag: str, text: str, column: int, left: int) -> str:
    kind = "" if column < left else ' class="figure"'
    first, newline, rest = text.partition("\n")
    below = f"<br><small>{escape(rest)}</small>" if newline else ""
    return f"<{tag}{kind}>{escape(first)}{below}</{tag}>"


def to_markdown(table: Table) -> str:
    """A pipe table under its caption."""
    marks = ["---" if i < table.left else "---:" for i in range(len(table.columns))]
    rows = [table.columns, tuple(marks), *table.rows]
    lines = ["| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in row) + " |" for row in rows]
    notes = "".join(f"\n{text}\n" for text in table.notes)
    return f"**{table.caption}**\n\n" + "\n".join(lines) + "\n" + notes


def to_latex(table: Table) -> str:
    """A table environment for the booktabs package."""
    layout = "l" * table.left + "r" * (len(table.columns) - table.left)

    def line(row: Sequence[str]) -> str:
        return " & ".join(text.replace("\n", " ").translate(_LATEX) for text in row) + r" \\"

    body = "\n".join(line(row) for row in table.rows)
    return (
        "\\begin{table}\n\\centering\n"
        f"\\begin{{tabular}}{{{layout}}}\n\\toprule\n{line(table.columns)}\n\\midrule\n{body}\n\\bottomrule\n"
        f"\\end{{tabular}}\n\\caption{{{'. '.join((table.caption, *table.notes)).translate(_LATEX)}}}\n\\end{{table}}\n"
    )


WRITERS: Mapping[str, Callable[[Table], str]] = {".html": to_html, ".md": to_markdown, ".tex": to_latex}
"""By the suffix of the file that is written."""
