"""Articles in HTML, Pango, XDXF or PowerWord markup as plain text, paragraphs kept.

Before: stardict.py fetches the article. After: article.py takes the text apart. lxml's HTML parser reads all four; it
resolves no entity but HTML's own and opens nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

_TAG = re.compile(r"</?[a-zA-Z][^<>]*>|<!--")
_BLOCKS = frozenset(("br", "li", "tr", "dt", "dd", "hr", "def", "ex", "co", "article", "ar"))
_PARAGRAPHS = frozenset(("p", "div", "blockquote", "table", "ul", "ol", "dl", "h1", "h2", "h3", "h4", "h5", "h6"))
_LEFT_OUT = frozenset(("script", "style", "head", "k", "phonetic", "rref", "iref"))
_LINE, _PARAGRAPH = "\x01", "\x02"
_LINE_EDGES = re.compile(r"[ \t]*\x01[\x01 \t]*\n?[\x01 \t]*")
_PARAGRAPH_EDGES = re.compile(r"[\x01\s]*\x02[\x01\x02\s]*")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_SPACE = re.compile(r"\s+")
_BLANKS = re.compile(r"[ \t\r\f\v\xa0]+")


def has_markup(text: str) -> bool:
    """Whether tags stand in the text."""
    return bool(_TAG.search(text))


def markup_to_text(text: str, *, lines_matter: bool = True) -> str:
    """Text without tags and entities; blocks become lines, paragraphs are set off by blank lines.

    Args:
        lines_matter: a line break in the text is one in the article (Pango), not a space (HTML).
    """
    if not has_markup(text):
        return unescape(text)
    from lxml import html

    if not lines_matter:
        text = _SPACE.sub(" ", text)
    root = html.fragment_fromstring(_CONTROLS.sub("", text), create_parent="div")
    plain = _PARAGRAPH_EDGES.sub("\n\n", "".join(_texts(root)))
    lines = _LINE_EDGES.sub("\n", plain).split("\n")
    return "\n".join(_BLANKS.sub(" ", line).strip() for line in lines).strip()


def _texts(element: Any) -> Iterator[str]:
    name = element.tag if isinstance(element.tag, str) else ""
    if name and name not in _LEFT_OUT:
        edge = _PARAGRAPH if name in _PARAGRAPHS else _LINE if name in _BLOCKS else ""
        yield edge + (element.text or "")
        for child in element:
            yield from _texts(child)
        yield edge
    yield element.tail or ""
