"""The few things about an edition's page shape that a table cannot say: Russian and Polish parts of speech, loose text.

Before: layout, lists. After: extract calls these by the shape's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from dictsent_adapters.wiktionary.layout import Heading, Layout
from dictsent_adapters.wiktionary.lists import Group, Item, logical_lines
from dictsent_adapters.wiktionary.render import Renderer
from dictsent_adapters.wiktionary.senses import Context
from dictsent_adapters.wiktionary.templates import Expander
from dictsent_adapters.wiktionary.wikitext import Template, parse, plain, unlink

_CALL_NAME = re.compile(r"\{\{\s*([^{}|\n]+)")
_RUSSIAN_FORM = re.compile(r"\{\{\s*[Фф]орма-")
_BRACKETED = re.compile(r"(?m)^:\[\d")
_SHAPED = {
    "german": re.compile(r"(?m)^[:*]+\s*\[\d"),
    "spanish": re.compile(r"(?m)^;\s*\d"),
    "polish": re.compile(r"(?m)^:?\s*\(\d+\.\d+"),
    "korean": re.compile(r"(?m)^[*:]\s*'''\s*\d"),
}


def looks_shaped(shape: str, body: str) -> bool:
    """Whether a section holds definition lines of an edition's own shape."""
    pattern = _SHAPED.get(shape)
    return bool(pattern and pattern.search(body)) or (":[" in body and _BRACKETED.search(body) is not None)


def group_context(group: Group, context: Context, layout: Layout) -> Context:
    """The part of speech that an italic line above a group of definitions names (Polish)."""
    heading = layout.classify(0, group.title.split("''")[1] if "''" in group.title else group.title)
    words = plain(unlink(heading.title))
    form = heading.form or "forma" in group.title.lower()
    return replace(context, part_of_speech=heading.value, heading=words, form=form)


_INDEXED = {
    "german": re.compile(r"[:*]+\s*\[([^\[\]\n]{1,20})\]\s*(.+)"),
    "polish": re.compile(r":?\s*\(([^()\n]{1,20})\)\s*(.+)"),
}


def numbered_examples(body: str, layout: Layout) -> dict[str, list[tuple[str, str]]]:
    """The lines of an example section by the number of the definition they belong to: `:[1, 2] …`, `: (1.1-3) …`."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in logical_lines(body):
        match = _INDEXED[layout.shape].match(line)
        for number in _numbers(match[1]) if match else ():
            found.setdefault(number, []).append((":", match[2] if match else ""))
    return found


def _numbers(text: str) -> list[str]:
    """ "1, 2" to 1 and 2, "1–3" to 1, 2 and 3, "1.1-3" to 1.1, 1.2 and 1.3; "2a" stays."""
    numbers: list[str] = []
    for piece in re.split(r"\s*,\s*", text.strip()):
        span = re.fullmatch(r"(\d+\.)?(\d{1,3})\s*[–-]\s*(\d{1,3})", piece)
        if span:
            numbers += [f"{span[1] or ''}{n}" for n in range(int(span[2]), min(int(span[3]), int(span[2]) + 50) + 1)]
        elif numbers and piece.isdigit() and "." in numbers[0]:
            numbers.append(f"{numbers[0].split('.')[0]}.{piece}")
        else:
            numbers.append(piece)
    return numbers


def form_templates(paragraphs: list[str], renderer: Renderer) -> list[str]:
    """The lines that are nothing but a template standing for a definition (nl `{{noun-pl|hond}}`)."""
    kept = []
    for line in paragraphs:
        node = next((node for node in parse(line) if not isinstance(node, str)), None)
        if line.startswith("{{") and isinstance(node, Template) and _stands_for_gloss(node, renderer):
            kept.append(line)
    return kept


def text_paragraphs(paragraphs: list[str], title: str, renderer: Renderer) -> list[str]:
    """The lines of running text that can be a definition: not the head line, a lone template or a file."""
    kept = []
    for line in paragraphs:
        if line.startswith(("'''", "[[File:", "[[Image:", "----", "<gallery", "</")):
            continue
        shown = renderer.plain(line).strip()
        if shown and shown.casefold() != title.casefold() and not _is_head_line(line, shown, renderer):
            kept.append(line)
    return kept


def _is_head_line(line: str, shown: str, renderer: Renderer) -> bool:
    """`{{en-noun}}` alone, or the title with a gender letter behind it."""
    nodes = parse(line)
    words = [node for node in nodes if isinstance(node, str) and node.strip(" .,;:()[]'")]
    if not words and all(isinstance(node, str | Template) for node in nodes):
        return not any(isinstance(node, Template) and _stands_for_gloss(node, renderer) for node in nodes)
    return shown.startswith(renderer.title + " ") and len(shown) - len(renderer.title) < 4


def _stands_for_gloss(node: Template, renderer: Renderer) -> bool:
    """Whether a template alone is a definition: a form of another word, or a reference to one."""
    name = "".join(n for n in node.parts[0] if isinstance(n, str)).strip()
    rule = renderer.layout.rule(name)
    return (rule is not None and rule.kind == "form") or (rule is None and name.endswith((" of", "-see")))


def expand_lines(body: str, expander: Expander, layout: Layout) -> str:
    """The section with each template that begins a line, and that no rule knows, replaced by its plain body."""
    lines = [line for line in body.split("\n") if line.startswith("{{")]
    names = {name.strip() for line in lines for name in _CALL_NAME.findall(line)}
    if not any(_has_body(name, expander, layout) for name in names):
        return body
    made = []
    for line in logical_lines(body):
        made.append(_expand_line(line, expander, layout) if line.startswith("{{") else line)
    return "\n".join(made)


def _has_body(name: str, expander: Expander, layout: Layout) -> bool:
    rule = layout.rule(name)
    return (rule is None or rule.kind == "form") and expander.bodies.find(name) is not None


def _expand_line(line: str, expander: Expander, layout: Layout) -> str:
    pieces = []
    for node in parse(line):
        if isinstance(node, Template):
            name = "".join(n for n in node.parts[0] if isinstance(n, str)).strip()
            rule = layout.rule(name)
            body = expander.expand(node) if rule is None or rule.kind == "form" else None
            pieces.append(body if body is not None else source(node))
        else:
            pieces.append(node if isinstance(node, str) else source(node))
    expanded = "".join(pieces)
    return expanded if "\n" in expanded or "#" in expanded else line


def source(node: object) -> str:
    """A node as the wikitext it came from."""
    if isinstance(node, str):
        return node
    parts = getattr(node, "parts", [])
    text = "|".join("".join(source(n) for n in part) for part in parts)
    arity = getattr(node, "arity", 0)
    return "{" * arity + text + "}" * arity if arity else "[[" + text + "]]"


def russian_speech(body: str, context: Context, heading: Heading, layout: Layout) -> Context:
    """The part of speech from the template of the morphology section, or from plain words there."""
    if heading.kind not in ("other", "unknown", "language", "etymology"):
        return context
    for match in _CALL_NAME.finditer(body):
        name = match[1].strip()
        found = _russian_template(name, body[match.end() : match.end() + 200], layout)
        if found is not None:
            return replace(context, part_of_speech=found.value, heading=found.title, form=found.form)
    first = body.strip().split("\n", 1)[0]
    if first and first[0] not in "{[=#*:" and len(first) < 200:
        found = layout.classify(7, re.split(r"[.,(]", plain(unlink(first)), maxsplit=1)[0])
        if found.kind == "part_of_speech":
            return replace(context, part_of_speech=found.value, heading=found.title, form=found.form)
    return context


def russian_forms(body: str, expander: Expander, layout: Layout) -> list[Item]:
    """The definition of a form page, which is nothing but `{{Форма-…|base}}`."""
    match = _RUSSIAN_FORM.search(body)
    if match is None:
        return []
    call = next((node for node in parse(body[match.start() :]) if isinstance(node, Template)), None)
    expanded = expander.expand(call) if call is not None else None
    if expanded is None:
        return [Item(source(call))] if call is not None else []
    lines = [line.lstrip("*#: ") for line in expanded.split("\n") if line.startswith(("*", "#"))]
    return [Item(line) for line in lines if line] or [Item(expanded)]


def _russian_template(name: str, arguments: str, layout: Layout) -> Heading | None:
    form = name.lower().startswith("форма")
    words = [w for w in re.split(r"[\s-]+", name.lower().removeprefix("форма")) if w]
    for word in words:
        found = layout.words.get(word)
        if found is not None and found.kind == "part_of_speech":
            return Heading("part_of_speech", found.value, word, form or found.form)
    kind = re.search(r"\|\s*тип\s*=\s*([^|{}\n]+)", arguments)
    if kind and words[:1] == ["morph"]:
        found = layout.words.get("morph " + kind[1].strip().lower())
        return Heading("part_of_speech", found.value, "") if found else None
    return None


SPEECH: dict[str, Callable[[str, Context, Heading, Layout], Context]] = {"russian": russian_speech}
