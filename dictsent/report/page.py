"""One self-contained HTML page: style inline, plots inline, nothing fetched; reads on a phone and printed.

Before: sections of HTML. After: a file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from dictsent.errors import TaskError

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 60rem; margin: 0 auto;
       padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.2; } h2 { font-size: 1.2rem; margin-top: 2.2rem; } h3 { font-size: 1rem; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: #555; padding-bottom: .4rem; }
th, td { text-align: left; padding: .25rem .5rem; border-bottom: 1px solid #ddd; vertical-align: top; }
thead th { border-bottom: 2px solid #444; } .figure { text-align: right; white-space: nowrap; }
small { color: #555; font-size: .75rem; }
td:first-child { overflow-wrap: anywhere; min-width: 6rem; }
figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; }
figcaption, .note { color: #555; font-size: .9rem; }
.pair { display: flex; flex-wrap: wrap; gap: 1rem; } .pair figure { flex: 1 1 16rem; margin: 0; }
pre { overflow-x: auto; font-size: .8rem; background: #f6f6f6; padding: .8rem; }
summary { cursor: pointer; }
@media print { body { max-width: none; font-size: 11pt; } .wide { overflow: visible; }
  h2, h3, caption { break-after: avoid; }
  figure, tr, .pair, .wide { break-inside: avoid; } table { font-size: 8pt; } th, td { padding: .15rem .35rem; } }
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and HTML under it."""

    title: str
    html: str


def page(title: str, lead: str, sections: Sequence[Section]) -> str:
    """The whole file."""
    body = "".join(f"<section>\n<h2>{escape(s.title)}</h2>\n{s.html}</section>\n" for s in sections if s.html)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n<p>{escape(lead)}</p>\n{body}</body>\n</html>\n"
    )


def plot(svg: str, caption: str) -> str:
    """A plot with its caption, which also is what a screen reader says."""
    named = f'<svg role="img" aria-label="{escape(caption, quote=True)}"'
    return f"<figure>{svg.replace('<svg', named, 1)}<figcaption>{escape(caption)}</figcaption></figure>\n"


def write(out: Path, text: str) -> None:
    """Write a file whole or not at all. Raises TaskError where it cannot be written."""
    partial = out.with_name(f".{out.name}.partial-{os.getpid()}")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(out)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise TaskError(f"cannot be written: {error.strerror}", where=str(out)) from error
