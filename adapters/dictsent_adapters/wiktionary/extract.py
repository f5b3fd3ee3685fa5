"""The text of one page in, its senses out: language section, part of speech, definitions.

Before: layout, lists, render, senses. After: the adapter turns senses into entries. No XML and no store here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from dictsent.records import Rejected
from dictsent_adapters.wiktionary import shapes
from dictsent_adapters.wiktionary.layout import Heading, Layout, load
from dictsent_adapters.wiktionary.lists import SHAPES, Group, Item, numbered_paragraphs, read_stars
from dictsent_adapters.wiktionary.render import Renderer
from dictsent_adapters.wiktionary.senses import Context, Sense, SenseBuilder
from dictsent_adapters.wiktionary.templates import Bodies, Expander
from dictsent_adapters.wiktionary.wikitext import plain, prepare, unlink

LONGEST_NAME = 60
"""Characters kept of a heading that names no known language."""

_BETWEEN_READINGS = re.compile(r"[、,・\s]+")
_DIGITS = re.compile(r"\d+")
_ITEM = re.compile(r"(?:\A|\n)[ \t]*#")
_WORD_LINK = re.compile(r"\[\[([^\[\]|#:]+)(?:[|#][^\[\]]*)?\]\]")


@dataclass(slots=True)
class Page:
    """What one page gave.

    Attributes:
        senses: in the page's order, with the rejects among them.
        skipped: language sections left out, by code.
        unknown: headings that stand where a language does and name none that is known.
        blank: definition lines without a text.
    """

    senses: list[Sense | Rejected] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    blank: int = 0


class _Section(NamedTuple):
    """A heading with the text down to the next heading."""

    level: int
    title: str
    body: str


def extract(
    wikitext: str,
    *,
    title: str,
    edition: str,
    templates: Mapping[str, str] | None = None,
    all_languages: bool = True,
) -> list[Sense]:
    """The senses of one page.

    Args:
        wikitext: the page's text.
        title: its title.
        edition: code of the Wiktionary edition ("en", "ja"); one without a file of its own gets the generic rules.
        templates: bodies of template pages by title; plain ones are expanded, Lua is never run.
        all_languages: take words of every language, not only the edition's own.

    Returns:
        Senses in the page's order. Definitions that would still hold markup are left out (`read_page` tells them).
    """
    layout = load(edition)
    wanted = None if all_languages else own_language(layout)
    page = read_page(wikitext, title=title, layout=layout, bodies=Bodies(templates), language=wanted)
    return [sense for sense in page.senses if isinstance(sense, Sense)]


def own_language(layout: Layout) -> Callable[[str], bool]:
    """Tells the language sections of the edition's own language by their code."""
    own = {str(layout.option("own_language", layout.code)), *layout.option("own_languages", [])}
    return lambda code: code in own


def read_page(
    wikitext: str, *, title: str, layout: Layout, bodies: Bodies, language: Callable[[str], bool] | None
) -> Page:
    """The senses and rejects of one page; `language` tells the sections that are wanted by their code, None all."""
    return _Reader(layout, title, bodies, language).read(wikitext)


class _Reader:
    """Walks one page's sections."""

    def __init__(self, layout: Layout, title: str, bodies: Bodies, language: Callable[[str], bool] | None) -> None:
        self.layout, self.title, self.bodies, self.wanted = layout, title, bodies, language
        keep = layout.rule
        self.expander = Expander(bodies, title=title, keep=lambda name: keep(name) is not None)
        self.builder = SenseBuilder(Renderer(layout, title=title, expander=self.expander))
        self.page = Page()
        self.context = Context(layout.option("own_language", layout.code), place=f"page {title!r}")
        self.spellings: list[str] = []
        self.speech_start = 0
        self.definitions_level = 6

    def read(self, wikitext: str) -> Page:
        """All sections in order."""
        spanning = any(sign in wikitext for sign in ("<!--", "nowiki", "NOWIKI", "\r"))
        for part in self._parts(prepare(wikitext) if spanning else wikitext):
            for section in self._sections(part if spanning else prepare(part)):
                self._section(section)
        self.page.senses = self._spelled(self.builder.found.senses)
        self.page.blank = self.builder.found.blank
        return self.page

    def _parts(self, text: str) -> list[str]:
        """The language sections that are wanted, their headings included; the whole page where all are."""
        pattern = self.layout.language_heading
        if self.wanted is None or pattern is None:
            return [text]
        parts: list[str] = []
        text = "\n" + text
        start, wanted = 0, not self._left_out()
        for match in pattern.finditer(text):
            heading = self.layout.classify(len(match[1]), match[2])
            if heading.kind != "language":
                continue
            if wanted:
                parts.append(text[start + 1 : match.start()])
            start, wanted = match.start(), self.wanted(heading.value)
            if not wanted:
                self._skip(heading)
        if wanted:
            parts.append(text[start + 1 :])
        return parts

    def _sections(self, text: str) -> list[_Section]:
        text = "\n" + text
        made: list[_Section] = []
        level, title, start = 7, "", 0
        for match in self.layout.heading.finditer(text):
            made.append(_Section(level, title, text[start : match.start()]))
            level = len(match[1]) if match[1] else 0
            title = match[2] if match[1] else match[match.lastindex or 0]
            start = match.end()
        made.append(_Section(level, title, text[start:]))
        return made if made[0].body.strip() else made[1:]

    def _section(self, section: _Section) -> None:
        if section.level == 7:
            self._body(section, Heading("unknown"))
            return
        heading = self.layout.classify(section.level, section.title)
        if heading.kind == "language":
            self._language(heading)
        if self._left_out():
            return
        if self.layout.shape in shapes.SPEECH:
            self._speech(section, heading)
        if heading.kind != "unknown":
            self.definitions_level = section.level or 6 if heading.kind == "definitions" else 6
        if heading.kind == "etymology":
            self._etymology(heading)
        elif heading.kind == "part_of_speech":
            self.speech_start = len(self.builder.found.senses)
            self._set_context(heading, self.context.etymology)
        elif heading.kind == "spellings":
            self.spellings += _linked_words(section.body)
            return
        elif heading.kind == "other" or not section.body:
            self._paired_examples(section)
            return
        self._body(section, heading)

    def _paired_examples(self, section: _Section) -> None:
        """Examples that stand in a section of their own, each with the numbers of its definitions (de, pl)."""
        if not any(section.title.casefold().strip("{}") == name for name in self.layout.option("example_sections", [])):
            return
        numbered = shapes.numbered_examples(section.body, self.layout)
        senses = self.builder.found.senses
        for position in range(self.speech_start, len(senses)):
            sense = senses[position]
            if isinstance(sense, Sense) and sense.index in numbered:
                found = self.builder.examples(numbered[sense.index], sense.language)
                senses[position] = replace(sense, examples=(*sense.examples, *found))

    def _speech(self, section: _Section, heading: Heading) -> None:
        """The part of speech of an edition that has no heading for it, and its pages of mere forms."""
        read = shapes.SPEECH[self.layout.shape]
        self.context = read(section.body, self.context, heading, self.layout)
        if heading.kind != "definitions":
            items = shapes.russian_forms(section.body, self.expander, self.layout)
            self.builder.add(items, replace(self.context, form=True))

    def _left_out(self) -> bool:
        return self.wanted is not None and not self.wanted(self.context.language)

    def _language(self, heading: Heading) -> None:
        if self.spellings:
            self.builder.found.senses[:] = self._spelled(self.builder.found.senses)
        self.context = Context(heading.value, place=self.context.place)
        self.speech_start = len(self.builder.found.senses)
        if self._left_out() and self.layout.language_heading is None:
            self._skip(heading)
        elif heading.value == "und":
            self.page.unknown[heading.title[:LONGEST_NAME]] += 1

    def _skip(self, heading: Heading) -> None:
        self.page.skipped[heading.value] += 1
        if heading.value == "und":
            self.page.unknown[heading.title[:LONGEST_NAME]] += 1

    def _etymology(self, heading: Heading) -> None:
        digits = _DIGITS.search(heading.title)
        number = int(digits[0][:4]) if digits else self.context.etymology
        if number != self.context.etymology:
            self.context = replace(self.context, etymology=number)

    def _set_context(self, heading: Heading, etymology: int) -> None:
        language, place = self.context.language, self.context.place
        self.context = Context(language, heading.value, heading.title, heading.form, etymology, place)

    def _body(self, section: _Section, heading: Heading) -> None:
        """The definitions of a section, if it can hold any."""
        body = section.body
        context = self.context
        if not body.strip() or (heading.kind in ("language", "etymology") and not self._direct(body)):
            return
        if heading.kind == "part_of_speech" and self.layout.option("definitions_only"):
            return
        if heading.kind == "unknown" and not self._may_define(section, body):
            return
        if self.layout.readings and context.language == self.layout.option("own_language", self.layout.code):
            self.spellings += _readings(body, self.layout.readings)
        if heading.kind == "unknown" and heading.title and not context.heading:
            context = replace(context, heading=heading.title)
        if heading.kind == "definitions" and not context.heading:
            context = replace(context, heading=heading.title)
        body = self._expanded(body)
        if "\n=" in body and heading.kind != "unknown":
            first, *more = self._sections(body)
            self._groups(first.body, context, heading)
            for inner in more:
                self._section(inner)
            return
        self._groups(body, context, heading)

    def _direct(self, body: str) -> bool:
        """Whether text directly below a language or etymology heading can be definitions."""
        shaped = shapes.looks_shaped(self.layout.shape, body)
        return shaped or _holds_item(body) or bool(self.layout.option("direct_text"))

    def _may_define(self, section: _Section, body: str) -> bool:
        """An unknown heading can be a part of speech of its own, or divide one (pt "Brasil", es "Forma flexiva")."""
        if self.layout.option("definitions_only") and section.level <= self.definitions_level:
            return False
        shaped = self.layout.shape != "hash" or bool(self.layout.option("bracket_numbers"))
        return _holds_item(body) or (shaped and shapes.looks_shaped(self.layout.shape, body))

    def _expanded(self, body: str) -> str:
        """The section with the templates that stand alone on a line expanded, where they bring lists or headings."""
        if not self.bodies or not ("\n{{" in body or body.startswith("{{")):
            return body
        return shapes.expand_lines(body, self.expander, self.layout)

    def _groups(self, body: str, context: Context, heading: Heading) -> None:
        for group in SHAPES[self.layout.shape](body, self.layout):
            inner = shapes.group_context(group, context, self.layout) if group.title else context
            items = group.items
            if not items and heading.kind in ("part_of_speech", "definitions", "unknown"):
                items = self._without_list(group, body, context, heading)
            elif not items and self.layout.option("direct_text"):
                items = numbered_paragraphs(shapes.text_paragraphs(group.paragraphs, self.title, self.builder.renderer))
            self.builder.add(items, inner)

    def _without_list(self, group: Group, body: str, context: Context, heading: Heading) -> list[Item]:
        if self.layout.option("star_lists") or context.form:
            read_stars(group, body, self.layout)
            if group.items:
                return group.items
        if heading.kind == "unknown" and heading.title:
            return []
        if heading.kind == "part_of_speech" and not self.layout.option("paragraphs"):
            return [Item(line) for line in shapes.form_templates(group.paragraphs, self.builder.renderer)]
        return numbered_paragraphs(shapes.text_paragraphs(group.paragraphs, self.title, self.builder.renderer))

    def _spelled(self, senses: list[Sense | Rejected]) -> list[Sense | Rejected]:
        """The senses of the language section just read, with the spellings it gives."""
        if not self.spellings:
            return senses
        spellings = tuple(dict.fromkeys(s for s in self.spellings if s != self.title))[:20]
        language = self.context.language
        self.spellings = []
        return [
            replace(sense, spellings=spellings) if isinstance(sense, Sense) and sense.language == language else sense
            for sense in senses
        ]


def _holds_item(body: str) -> bool:
    return "#" in body and _ITEM.search(body) is not None


def _readings(body: str, patterns: tuple[re.Pattern[str], ...]) -> list[str]:
    """The word in its other scripts as the line above the definitions gives it: `'''氷'''（こおり）`."""
    head = unlink(body.split("\n#", 1)[0])
    found = [match[1] for pattern in patterns for match in pattern.finditer(head)]
    return [word for words in found for word in _BETWEEN_READINGS.split(words) if word]


def _linked_words(body: str) -> list[str]:
    """The words that the list of an alternative-forms section links to."""
    words = [plain(match[1]) for match in _WORD_LINK.finditer(body)]
    for call in re.finditer(r"\{\{(?:l|alter|link|lien|ll|m)\|[a-z-]{2,12}\|([^{}|=]+)", body):
        words.append(plain(call[1]))
    return words
