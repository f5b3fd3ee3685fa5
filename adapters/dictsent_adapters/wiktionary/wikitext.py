"""Wikitext to a tree of templates, parameters and links, and a rendered string to plain text.

Before: nothing (the grammar is MediaWiki's preprocessor's). After: render walks the tree; extract uses `plain`.
Everything here is one pass over the text, whatever the text is: unbalanced braces cost no more than balanced ones.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field

DEEPEST = 40
"""Nested templates and links beyond this stay text (MediaWiki's own limit for expansion)."""

LONGEST_RUN = 10
"""More braces than this in a row open nothing."""

OPEN, SEPARATOR, CLOSE, QUALIFIER, CUT = "\ue0f1", "\ue0f2", "\ue0f3", "\ue0f4", "\ue0f5"
"""Marks that `render` leaves in a string: a label (its words), a qualifier, the end of the gloss."""

_ALL_MARKS = OPEN + SEPARATOR + CLOSE + QUALIFIER + CUT
_PRIVATE = dict.fromkeys(map(ord, _ALL_MARKS))
_TOKEN = re.compile(r"\{{2,}|\}{2,}|\[\[|\]\]|\|")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NOWIKI = re.compile(r"<nowiki\s*>(.*?)</nowiki\s*>", re.DOTALL | re.IGNORECASE)
_EMPTY_NOWIKI = re.compile(r"<(?:nowiki|noinclude|section|templatestyles|onlyinclude)\b[^<>]*/>", re.IGNORECASE)
_SPECIAL = str.maketrans({c: f"&#{ord(c)};" for c in "[]{}|'<>=*#:;"})
_SIMPLE_LINK = re.compile(r"\[\[([^\[\]{}|\n]+)(?:\|([^\[\]{}|\n]+))?\]\]")
_CLOSED_REF = re.compile(r"<ref\b[^<>]*/>", re.IGNORECASE)
_DROPPED = ("ref", "gallery", "rp", "rt", "math", "chem", "score", "timeline", "style", "imagemap", "syntaxhighlight")
_TAG_NAME = re.compile(r"<(/?)(" + "|".join(_DROPPED) + r")\b[^<>]*>", re.IGNORECASE)
_BREAK = re.compile(r"<\s*/?\s*br\b[^<>]*>", re.IGNORECASE)
_SCRIPT = re.compile(r"<(su[bp])\b[^<>]*>([^<>]*)</\1\s*>", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_LONG_QUOTES = re.compile(r"'{6,}")
_QUOTES = re.compile(r"'{2,}")
_EXTERNAL = re.compile(r"\[(?:https?:)?//[^\s\[\]]+\s*([^\[\]]*)\]")
_VARIANT = re.compile(r"-\{([^{}]*)\}-")
_MAGIC = re.compile(r"__[A-Z]{3,}__")
_INVISIBLE = re.compile("[\u200b\u200e\u200f\u2060\ufeff\u202a-\u202e\u2066-\u2069]")
_MARKUP = ("[[", "]]", "{{", "}}", "{|", "'''")
_REFERENCE = re.compile(r"<ref\b", re.IGNORECASE)
_UP = str.maketrans("0123456789+-=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ")
_DOWN = str.maketrans("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎")


@dataclass(slots=True)
class Template:
    """`{{name|argument|…}}`; parts[0] is the name. `arity` 3 is `{{{parameter|default}}}`."""

    parts: list[list[Node]]
    arity: int = 2


@dataclass(slots=True)
class Link:
    """`[[target|label]]`; parts[0] is the target."""

    parts: list[list[Node]]


Node = str | Template | Link


@dataclass(slots=True)
class _Frame:
    bracket: str
    count: int
    parts: list[list[Node]] = field(default_factory=lambda: [[]])

    def literal(self) -> list[Node]:
        """What the frame is when it never closes: its bracket and its parts as text."""
        nodes: list[Node] = [self.bracket * self.count]
        for number, part in enumerate(self.parts):
            if number:
                nodes.append("|")
            nodes.extend(part)
        return nodes


def parse(text: str) -> list[Node]:
    """The tree of a piece of wikitext; strings between the templates and links stay as they are."""
    stack = [_Frame("", 0)]
    position = skipped = 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        if match.start() > position:
            stack[-1].parts[-1].append(text[position : match.start()])
        position = match.end()
        if token == "|":
            _separate(stack)
        elif token[0] in "{[":
            if len(token) > LONGEST_RUN:
                stack[-1].parts[-1].append(token)
            elif len(stack) > DEEPEST:
                stack[-1].parts[-1].append(token)
                skipped += 1
            else:
                stack.append(_Frame(token[0], len(token) if token[0] == "{" else 2))
        elif skipped:
            stack[-1].parts[-1].append(token)
            skipped -= 1
        elif token[0] == "}":
            _close_braces(stack, len(token))
        else:
            _close_link(stack)
    if position < len(text):
        stack[-1].parts[-1].append(text[position:])
    _flatten(stack, 1)
    return stack[0].parts[0]


def _separate(stack: list[_Frame]) -> None:
    if len(stack) > 1:
        stack[-1].parts.append([])
    else:
        stack[-1].parts[-1].append("|")


def _flatten(stack: list[_Frame], keep: int) -> None:
    """Turn the frames above the first `keep` into text of the one below, each piece moved once."""
    below = stack[keep - 1].parts[-1]
    for frame in stack[keep:]:
        below.extend(frame.literal())
    del stack[keep:]


def _innermost(stack: list[_Frame], bracket: str) -> int:
    for depth in range(len(stack) - 1, 0, -1):
        if stack[depth].bracket == bracket:
            return depth
    return 0


def _close_braces(stack: list[_Frame], count: int) -> None:
    while count >= 2:
        depth = _innermost(stack, "{")
        if not depth:
            break
        _flatten(stack, depth + 1)
        frame = stack.pop()
        arity = min(3, frame.count, count)
        node = Template(frame.parts, arity)
        count -= arity
        frame.count -= arity
        if frame.count >= 2:
            frame.parts = [[node]]
            stack.append(frame)
        else:
            stack[-1].parts[-1].extend(["{", node] if frame.count else [node])
    if count > 0:
        stack[-1].parts[-1].append("}" * count)


def _close_link(stack: list[_Frame]) -> None:
    depth = _innermost(stack, "[")
    if not depth:
        stack[-1].parts[-1].append("]]")
        return
    if any(frame.bracket == "{" for frame in stack[depth + 1 :]):
        _flatten(stack, depth + 1)
    frame = stack.pop()
    stack[-1].parts[-1].append(Link(frame.parts))


def prepare(text: str) -> str:
    """A page's text without comments, with what `<nowiki>` protects written as entities."""
    if "<" in text:
        if "<!--" in text:
            text = _COMMENT.sub("", text)
        if "nowiki" in text or "NOWIKI" in text:
            closed = max(text.rfind("</nowiki"), text.rfind("</NOWIKI")) + 20
            text = _NOWIKI.sub(lambda m: m[1].translate(_SPECIAL), text[:closed]) + text[closed:]
        if "/>" in text:
            text = _EMPTY_NOWIKI.sub("", text)
    if "''''''" in text:
        text = _LONG_QUOTES.sub("'''''", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.isascii() and any(mark in text for mark in _ALL_MARKS):
        text = text.translate(_PRIVATE)
    return text


def drop_elements(text: str) -> str:
    """The text without `<ref>…</ref>`, `<gallery>` and their like, an unclosed one up to the end of its line."""
    if "<" not in text:
        return text
    text = _CLOSED_REF.sub("", text)
    pieces: list[str] = []
    position, open_name = 0, ""
    for match in _TAG_NAME.finditer(text):
        name = match[2].lower()
        if open_name:
            if match[1] and name == open_name:
                open_name, position = "", match.end()
        else:
            pieces.append(text[position : match.start()])
            position = match.end()
            if not match[1]:
                open_name = name
    if open_name:
        end = text.find("\n", position)
        position = len(text) if end < 0 else end
    pieces.append(text[position:])
    return "".join(pieces)


def unlink(text: str) -> str:
    """Plain links to their labels: the quick way for lines without templates."""
    return _SIMPLE_LINK.sub(lambda m: m[2] or m[1], text)


def plain(text: str, *, breaks: str = " ") -> str:
    """A rendered string as plain text: tags, quotes, entities and invisible marks gone, white space folded."""
    if "<" in text:
        text = drop_elements(text)
        if "<" in text:
            text = _TAG.sub("", _SCRIPT.sub(_script, _BREAK.sub(breaks, text)))
    if "''" in text:
        text = _QUOTES.sub(_surplus, text) if "''''" in text else text.replace("'''", "").replace("''", "")
    if "//" in text and "[" in text:
        text = _EXTERNAL.sub(r"\1", text)
    if "-{" in text:
        text = variants(text)
    if "__" in text:
        text = _MAGIC.sub("", text)
    if "&" in text:
        text = html.unescape(text)
    if not text.isascii():
        text = _INVISIBLE.sub("", text)
    if breaks == "\n" and "\n" in text:
        return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))
    return " ".join(text.split())


def variants(text: str) -> str:
    """`-{zh-hans:甲;zh-hant:乙}-` to its first variant, `-{word}-` to the word."""
    for _ in range(3):
        changed = _VARIANT.sub(_variant, text)
        if changed == text:
            break
        text = changed
    return text


def _variant(match: re.Match[str]) -> str:
    body = match[1].split("|", 1)[-1]
    first = body.split(";", 1)[0]
    language, colon, word = first.partition(":")
    return word if colon and language.strip().startswith("zh") else body


def _script(match: re.Match[str]) -> str:
    table = _UP if match[1].lower() == "sup" else _DOWN
    shown = match[2].translate(table)
    return shown if not set(match[2]) - set(map(chr, table)) else match[2]


def _surplus(match: re.Match[str]) -> str:
    """MediaWiki keeps the apostrophe that is one too many: 4 make a bold, more than 5 a bold italic."""
    length = len(match[0])
    return "'" if length == 4 else "'" * max(0, length - 5)


def holds_markup(text: str) -> bool:
    """Whether wikitext or HTML would be left in a text that is to be stored."""
    if any(sign in text for sign in _MARKUP) or ("<" in text and _REFERENCE.search(text)):
        return True
    return not text.isascii() and any(mark in text for mark in _ALL_MARKS)
