"""The list shapes of the editions: a section's text to a tree of definition lines with their example lines.

Before: extract cuts the page into sections. After: senses turns each item into records.
Shapes: hash (`#`, most editions), german (`:[1]`), polish (`: (1.1)`), spanish (`;1:`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from dictsent_adapters.wiktionary.layout import Layout

DEEPEST_LIST = 8
"""Sub-definitions below this hang on the same level."""

_PREFIX = re.compile(r"([#*:;]*)[ \t]*(.*)", re.DOTALL)
_LIST_MARKS = frozenset("#*:;")
_BRACES = re.compile(r"\{\{|\}\}|\n")
_GERMAN = re.compile(r"([*:]*)\s*\[([^\[\]\n]{1,20})\]\s*(.*)", re.DOTALL)
_GERMAN_DASH = re.compile(r"([*:]+)\s*[—–-]\s*(.*)", re.DOTALL)
_POLISH = re.compile(r"\s*:?\s*\((\d+(?:\.\d+)?[^()]{0,20})\)\s*(.*)", re.DOTALL)
_SPANISH = re.compile(r"([:*]*);\s*([0-9]+|[a-z](?![\w]))\s*\)?\s*(.*)", re.DOTALL)
_KOREAN = re.compile(r"[*:]\s*'''\s*[\d-]+\s*\.?\s*'''\s*\.?\s*(.*)", re.DOTALL)
_NUMBERED = re.compile(r"\(?\d{1,2}[.)]\s+(.*)", re.DOTALL)


@dataclass(slots=True)
class Item:
    """A definition line: its wikitext, depth, number in the source, sub-definitions and the lines that belong to it."""

    text: str
    depth: int = 1
    index: str = ""
    label: str = ""
    children: list[Item] = field(default_factory=list)
    lines: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Group:
    """The items below one heading, or below one part-of-speech line of the Polish shape (`title`)."""

    items: list[Item] = field(default_factory=list)
    title: str = ""
    before: list[str] = field(default_factory=list)
    paragraphs: list[str] = field(default_factory=list)


Shape = Callable[[str, Layout], list[Group]]


def logical_lines(text: str) -> list[str]:
    """The lines of a section; a line break inside a template call does not end a line."""
    lines = text.split("\n")
    if "{{" not in text:
        return lines
    for line in lines:
        if ("{" in line or "}" in line) and line.count("{{") != line.count("}}"):
            break
    else:
        return lines
    inside = _template_ranges(text)
    made: list[str] = []
    start = 0
    for match in re.finditer("\n", text):
        while inside and inside[-1][1] <= match.start():
            inside.pop()
        if not inside or inside[-1][0] > match.start():
            made.append(text[start : match.start()])
            start = match.end()
    made.append(text[start:])
    return made


def _template_ranges(text: str) -> list[tuple[int, int]]:
    """Outermost balanced template calls, the last first."""
    opened: list[int] = []
    ranges: list[tuple[int, int]] = []
    for match in _BRACES.finditer(text):
        if match[0] == "{{":
            opened.append(match.start())
        elif match[0] == "}}" and opened:
            ranges.append((opened.pop(), match.end()))
    outermost: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if not outermost or start >= outermost[-1][1]:
            outermost.append((start, end))
    return outermost[::-1]


def prefixed(line: str) -> tuple[str, str]:
    """A line's list marks and the rest of it."""
    match = _PREFIX.match(line)
    return (match[1], match[2]) if match else ("", line)


def place(items: list[Item], item: Item) -> None:
    """Hang an item below the last one that is less deep."""
    above = items
    while above and above[-1].depth < item.depth:
        above = above[-1].children
    above.append(item)


def last_item(items: list[Item], depth: int = 99) -> Item | None:
    """The last item no deeper than `depth`."""
    found = None
    while items and items[-1].depth <= depth:
        found = items[-1]
        items = found.children
    return found


def read_hash(text: str, layout: Layout) -> list[Group]:
    """`#` lists: `##` below `#`; `#:` and `#*` lines belong to the item above."""
    group = Group()
    for line in logical_lines(text):
        if line[:1] not in _LIST_MARKS:
            if line and not line.isspace():
                _plain_line(group, line.strip(), layout)
            continue
        marks, rest = prefixed(line)
        depth = len(marks) - len(marks.lstrip("#"))
        if depth and len(marks) == depth:
            place(group.items, Item(rest, min(depth, DEEPEST_LIST)))
        elif depth:
            _belong(group, depth, marks[depth:], rest)
        else:
            _loose(group, marks, rest, line, layout)
    return [group]


def _belong(group: Group, depth: int, marks: str, rest: str) -> None:
    item = last_item(group.items, depth) or last_item(group.items)
    if item is not None:
        item.lines.append((marks, rest))


def _loose(group: Group, marks: str, rest: str, line: str, layout: Layout) -> None:
    """A `*` or `:` line outside the list: a definition in old Korean pages, an example in some editions."""
    korean = _KOREAN.match(line) if layout.shape == "korean" else None
    if korean:
        group.items.append(Item(korean[1]))
        return
    german = _GERMAN.match(line) if layout.option("bracket_numbers") else None
    if german:
        group.items.append(Item(german[3], len(german[1]), german[2]))
        return
    item = last_item(group.items)
    if item is None:
        group.before.append(rest)
    elif layout.option("loose_examples"):
        item.lines.append((marks, rest))


def _plain_line(group: Group, line: str, layout: Layout) -> None:
    if line[0] in "|!{" and not line.startswith("{{"):
        return
    item = last_item(group.items)
    if item is None:
        group.paragraphs.append(line)
    elif line.startswith("{{"):
        item.lines.append(("", line))


def read_stars(group: Group, text: str, layout: Layout) -> None:
    """Use the `*` lines of a section as definitions, where an edition does so and there is no `#`."""
    for line in logical_lines(text):
        marks, rest = prefixed(line)
        if marks and not marks.strip("*"):
            place(group.items, Item(rest, len(marks)))
        elif marks.startswith("*"):
            item = last_item(group.items)
            if item is not None:
                item.lines.append((marks.lstrip("*"), rest))


def numbered_paragraphs(paragraphs: list[str]) -> list[Item]:
    """Items of a section without a list: its paragraphs, hand-written numbers taken off."""
    items = []
    for line in paragraphs:
        match = _NUMBERED.match(line)
        items.append(Item(match[1] if match else line))
    return items


def read_german(text: str, layout: Layout) -> list[Group]:
    """`:[1] text`, `::[a] text`; a `*` or unnumbered `:` line is a label for the items after it, or a form's text."""
    group = Group()
    label = ""
    for line in logical_lines(text):
        match = _GERMAN.match(line)
        if match and (match[1] or match[2].strip()[:1].isdigit()):
            depth = max(1, len(match[1]))
            item = Item(match[3], depth, match[2].strip(), label)
            place(group.items, item)
            if depth > 1 and item.index.isalpha():
                item.index = _parent_index(group.items) + item.index
            continue
        dash = _GERMAN_DASH.match(line)
        marks, rest = prefixed(line)
        if dash and len(dash[1]) > 1 and group.items:
            place(group.items, Item(dash[2], len(dash[1])))
        elif marks and rest.strip():
            if marks == "*" or rest.rstrip().endswith((":", ":''")):
                label = rest
            group.before.append(rest)
        elif rest.strip() and not rest.startswith(("{|", "|", "!", "[[Datei:", "[[Bild:", "[[File:")):
            group.paragraphs.append(rest.strip())
    if not group.items:
        group.items = [Item(line) for line in group.before if not line.rstrip(" '").endswith(":")]
    return [group]


def _parent_index(items: list[Item]) -> str:
    return items[-1].index if items else ""


def read_polish(text: str, layout: Layout) -> list[Group]:
    """`''part of speech''`, then `: (1.1) text`; each italic line opens a group."""
    groups = [Group()]
    for line in logical_lines(text):
        match = _POLISH.match(line)
        if match:
            rest = match[2].lstrip()
            groups[-1].items.append(Item(rest.removeprefix("=").lstrip(), 1, match[1]))
            continue
        marks, rest = prefixed(line)
        if not marks and rest.startswith("''"):
            groups.append(Group(title=rest))
        elif marks and groups[-1].items:
            groups[-1].items[-1].lines.append((marks, rest))
    return [group for group in groups if group.items]


def read_spanish(text: str, layout: Layout) -> list[Group]:
    """`;1 {{csem|…}}: text`, sub-items `:;a: text`; other `:` lines go on with the item above."""
    group = Group()
    for line in logical_lines(text):
        match = _SPANISH.match(line)
        if match:
            label, definition = _split_colon(match[3])
            depth = 1 if match[2].isdigit() else 2
            place(group.items, Item(definition, depth, match[2], label))
            continue
        marks, rest = prefixed(line)
        item = last_item(group.items)
        if marks.startswith("#") and not marks.strip("#"):
            place(group.items, Item(rest, len(marks)))
        elif item is None:
            if rest.strip():
                _plain_line(group, rest.strip(), layout)
        elif marks == ":" and not rest.startswith(("{{", "'''")):
            item.children.append(Item(rest, item.depth + 1))
        elif rest.strip():
            item.lines.append((marks, rest))
    return [group]


def _split_colon(text: str) -> tuple[str, str]:
    """The text left and right of the first colon that stands outside braces and brackets."""
    depth = 0
    for match in re.finditer(r"\{\{|\[\[|\]\]|\}\}|:", text):
        if match[0] == ":":
            if depth == 0:
                return text[: match.start()], text[match.end() :]
        else:
            depth = max(0, depth + (1 if match[0] in ("{{", "[[") else -1))
    return "", text


SHAPES: dict[str, Shape] = {
    "hash": read_hash,
    "korean": read_hash,
    "russian": read_hash,
    "german": read_german,
    "polish": read_polish,
    "spanish": read_spanish,
}


def walk(items: list[Item]) -> Iterator[Item]:
    """All items, parents before their children."""
    for item in items:
        yield item
        yield from walk(item.children)
