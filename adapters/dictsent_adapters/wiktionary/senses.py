"""A definition line to senses: labels taken off, text made plain, examples split from their translations.

Before: lists gives the items of a section, render their text. After: extract puts them under headings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from dictsent.records import Example, Rejected
from dictsent_adapters.wiktionary.lists import Item
from dictsent_adapters.wiktionary.render import Renderer, written_out
from dictsent_adapters.wiktionary.wikitext import CLOSE, CUT, OPEN, QUALIFIER, SEPARATOR, holds_markup, plain

LONGEST_EXAMPLE = 3_000
"""Characters; longer lines are not searched for a translation behind a dash."""
MOST_LABELS = 60
"""Labels taken off the head of one definition."""

_MARK = re.compile(rf"[{OPEN}{QUALIFIER}][^{CLOSE}]*{CLOSE}")
_MARK_SPACE = re.compile(rf"\s*{OPEN}[^{CLOSE}]*{CLOSE}")
_HEAD_LABEL = re.compile(
    rf"[\s,;·†]*(?:<[a-z][^<>]*>|</[a-z]+>|'')*(?:"
    rf"[{OPEN}{QUALIFIER}](?P<mark>[^{CLOSE}]*){CLOSE}"
    r"|''+\s*[(（](?P<outer>[^()（）']{1,400})[)）]\s*:?\s*''+"
    r"|[(（]\s*''+(?P<inner>[^()（）']{1,400})''+\s*[)）]"
    r"|[(（]\s*<i>(?P<html>[^<>()（）]{1,400})</i>\s*[)）]"
    r"|(?<=<span>)[(（](?P<span>[^<>()（）]{1,400})[)）](?=</span>)"
    r")(?:''(?![^']*'')|</[a-z]+>)*[\s,;·]*(?::(?=\s|\Z))?"
)
_JOINER = re.compile(
    rf"\s*(?:и|или|y|e|o|and|or|und|oder|et|ou|og|och|eller|а также|ή|και|ve|i|lub)\s+(?=[{OPEN}{QUALIFIER}])"
)
_ITALIC_COLON = re.compile(r"\s*''+([^'\n]{1,100})''+\s*(:?)\s*")
_LABEL_PIECES = re.compile(rf"[{SEPARATOR}{OPEN}{CLOSE}{QUALIFIER}]|''+")
_LABEL_WORDS = re.compile(r"[,;]\s")
_GERMAN_SKIP = re.compile(r"(?:[\s(),;:—–·]|und\b|oder\b|''\(''|''\)?[,;:]*'')+")
_LITTER_HEAD = re.compile(r"^[\s,;:·.](?=\s)[\s,;:·]*|^[,;:·]\s*")
_LITTER_TAIL = " \n\t,;:—–-"
_NOTE_LITTER = re.compile(r"^[\s,;:]+")
_RUN = re.compile(r"\s{2,}")
_SPACED = re.compile(r"\s+([,.;])")
_EMPTY_BRACKETS = re.compile(r"\(\s*[,;]?\s*\)|\[\s*\]|（\s*）")
_SUB_LINES = re.compile(r"\n(?=[#*:])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sense:
    """One sense of a page.

    Attributes:
        language: code of the headword's language as the edition gives it ("ja", "cmn"), "und" where it is not known.
        part_of_speech: "noun", "verb", ... where it is known, else "".
        heading: the edition's own words for it ("名詞").
        glosses: the definition, its parents' texts in front: (parent, ..., child); never empty.
        examples: with translation and source where the page has them.
        labels: "transitive", "botany", ...: as the page writes them.
        form_of: the lemma, where the sense only says that the word is a form or a spelling of it.
        etymology: the number of the homonym, 0 where the page does not count.
        index: the sense's number in the page ("2a").
        spellings: other spellings of the word.
        notes: pieces of the last gloss that say nothing of the meaning ("[from 10th c.]").
        parent: whether sub-definitions follow that repeat this one's text.
    """

    language: str
    glosses: tuple[str, ...]
    part_of_speech: str = ""
    heading: str = ""
    examples: tuple[Example, ...] = ()
    labels: tuple[str, ...] = ()
    form_of: str = ""
    etymology: int = 0
    index: str = ""
    spellings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    parent: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """What the headings say of the senses below them."""

    language: str
    part_of_speech: str = ""
    heading: str = ""
    form: bool = False
    etymology: int = 0
    place: str = ""


@dataclass(slots=True)
class Found:
    """What a page gave: senses and rejects in its order, and how many blank definition lines it has."""

    senses: list[Sense | Rejected] = field(default_factory=list)
    blank: int = 0


@dataclass(slots=True)
class _Above:
    """What a sub-definition inherits."""

    glosses: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    lemma: str = ""


class SenseBuilder:
    """Turns items into senses, with one page's renderer."""

    def __init__(self, renderer: Renderer) -> None:
        self.renderer = renderer
        self.layout = renderer.layout
        self.found = Found()

    def add(self, items: list[Item], context: Context) -> None:
        """Append the senses of a section's items."""
        for item in items:
            self._item(item, context, _Above())

    def _item(self, item: Item, context: Context, above: _Above) -> None:
        rendered = self.renderer.render(item.text)
        gathered = self.renderer.gathered
        rendered, *more = _SUB_LINES.split(rendered) if "\n" in rendered else [rendered]
        own_labels = self._written_labels(item.label) if item.label else ()
        labels, text = self.detach(rendered)
        gloss = plain(text) if text else ""
        if not gloss and not item.children and "''" in rendered and OPEN not in rendered:
            labels, gloss = [], plain(written_out(rendered))
        every_label = (*above.labels, *own_labels, *labels)
        lemma = self._lemma(gathered.lemma, gathered.links, gloss, context) or above.lemma
        children = [*item.children, *_expanded_children(more, item.depth)] if more else item.children
        examples = tuple(e for e in gathered.examples if e.text) if gathered.examples else ()
        if item.lines:
            examples += self.examples(item.lines, context.language)
        notes = tuple(gathered.notes)
        if holds_markup(gloss):
            self._reject("markup left", context, item.text)
        elif gloss:
            self.found.senses.append(
                Sense(
                    language=context.language,
                    part_of_speech=context.part_of_speech,
                    heading=context.heading,
                    glosses=(*above.glosses, gloss),
                    examples=examples,
                    labels=tuple(dict.fromkeys(filter(None, every_label))) if every_label else (),
                    form_of=lemma,
                    etymology=context.etymology,
                    index=item.index,
                    notes=notes,
                    parent=bool(children),
                )
            )
        elif not gloss and not children:
            self._blank(rendered, context, item.text)
        if children:
            bare = without_notes(gloss, notes)
            below = _Above((*above.glosses, bare) if bare else above.glosses, every_label, lemma)
            for child in children:
                self._item(child, context, below)

    def _blank(self, rendered: str, context: Context, text: str) -> None:
        """A line without a definition: blank in the page, or nothing but templates that show no text."""
        if _MARK.sub("", rendered).strip(" \n\t.…?-—'") or (self.renderer.gathered.expanded and "{{" in text):
            self._reject("no text beside templates", context, text)
        else:
            self.found.blank += 1

    def _reject(self, reason: str, context: Context, text: str) -> None:
        self.found.senses.append(Rejected(reason, context.place, " ".join(text[:200].split())))

    def _lemma(self, lemma: str, links: list[str], gloss: str, context: Context) -> str:
        if lemma:
            return lemma
        if context.form and links:
            return links[-1]
        for pattern in self.layout.form_patterns:
            match = pattern.search(gloss)
            if match:
                return links[-1] if links else match[match.lastindex or 0].strip(" .")
        return ""

    def _written_labels(self, text: str) -> tuple[str, ...]:
        """The labels that stand apart from the definition (`;1 {{csem|…}}:`, a label line above)."""
        shown = plain(written_out(self.renderer.render(text)))
        return tuple(filter(None, (word.strip(" .,:()") for word in shown.split(", "))))

    def detach(self, text: str) -> tuple[list[str], str]:
        """The labels of a rendered definition, and the definition without them."""
        if CUT in text:
            text = self._before_note(text)
        labels: list[str] = []
        touched = OPEN in text or QUALIFIER in text
        if touched or "''" in text or "<i>" in text or "<span>(" in text or text[:1] == "†":
            text = self._head_labels(text, labels)
        if touched:
            text = self._inner_labels(text, labels)
        if labels or touched:
            text = _LITTER_HEAD.sub("", text) if labels else text
            text = _EMPTY_BRACKETS.sub("", text)
        return labels, text

    def _before_note(self, text: str) -> str:
        """The definition up to a note set off by a dash; a note that follows without one is shown, and known as one."""
        head, tail = text.split(CUT, 1)
        if not tail.strip() or head.rstrip()[-1:] in "-–—" or not tail[:1].isalpha():
            return head.rstrip(_LITTER_TAIL)
        self.renderer.gathered.notes.append(plain(written_out(tail)))
        return f"{head.rstrip()} {tail}"

    def _head_labels(self, text: str, labels: list[str]) -> str:
        if self.layout.shape == "german":
            return _german_labels(text, labels)
        for _ in range(MOST_LABELS):
            match = _HEAD_LABEL.match(text)
            if match is None or (text[: match.start("mark")].count("''") % 2 and "''" in text[match.end() :]):
                break
            labels += _label_words(match[match.lastgroup or 0])
            text = text[match.end() :]
            joiner = _JOINER.match(text)
            if joiner:
                text = text[joiner.end() :]
        return text[1:] if text[:1] == "†" else text

    def _inner_labels(self, text: str, labels: list[str]) -> str:
        """Labels after the head leave the text; qualifiers there are part of it and stay in brackets."""
        if self.layout.option("inner_labels_stay"):
            text = _MARK.sub(lambda m: m[0][1:-1].replace(SEPARATOR, ", "), text)
        ends = False
        if CLOSE in text:
            for mark in _MARK.findall(text):
                if mark[0] == OPEN:
                    labels += _label_words(mark[1:-1])
            ends = text.rstrip().endswith(CLOSE)
            text = written_out(_MARK_SPACE.sub(lambda m: " " if m[0][:1].isspace() else "", text))
        if "  " in text:
            text = _RUN.sub(" ", text)
        if ends:
            text = text.rstrip(_LITTER_TAIL)
        return _SPACED.sub(r"\1", text) if self.layout.code not in ("fr",) else re.sub(r"\s+([,.])", r"\1", text)

    def examples(self, lines: list[tuple[str, str]], language: str) -> tuple[Example, ...]:
        """The examples among the lines below a definition, deeper lines joined to the one they belong to."""
        made: list[Example] = []
        open_marks = 0
        quoting = False
        for marks, text in lines:
            rendered = self.renderer.render(text)
            gathered = self.renderer.gathered.examples
            if gathered:
                made += [self._quoted(made, example, quoting and len(marks) > open_marks) for example in gathered]
                open_marks, quoting = len(marks), False
                continue
            rendered = _MARK.sub("", rendered) if CLOSE in rendered else rendered
            shown = plain(rendered.replace(CUT, " "), breaks="\n").strip(" \n:")
            if not shown or holds_markup(shown) or self._refused(marks, shown):
                continue
            if made and len(marks) > open_marks > 0:
                made[-1] = _continue(made[-1], shown, quoting=quoting)
                quoting = False
            elif marks or self.layout.option("plain_examples"):
                shown = _EXAMPLE_WORD.sub("", shown)
                made.append(self._cited(self._split(rendered, shown, language), text))
                own = language == self.layout.code
                open_marks, quoting = len(marks), marks.endswith("*") and (own or _is_source(text))
        return tuple(example for example in made if example.text)

    def _cited(self, example: Example, text: str) -> Example:
        """An example with what its first `<ref>` says as its source, where the line names none itself."""
        start = -1 if example.source else text.find("<ref")
        opened, end = text.find(">", start) + 1, text.find("</ref", start)
        if start < 0 or not 0 < opened <= end or text[opened - 2] == "/":
            return example
        source = self.renderer.plain(text[opened:end])
        return example if holds_markup(source) else replace(example, source=source)

    def _quoted(self, made: list[Example], example: Example, below: bool) -> Example:
        """A quotation template below a line that names the source."""
        if below and made:
            return replace(example, source=made.pop().text)
        return example

    def _refused(self, marks: str, shown: str) -> bool:
        pattern = self.layout.not_examples
        return bool(pattern and pattern.match(shown))

    def _split(self, rendered: str, shown: str, language: str) -> Example:
        """`''text'' — translation`; in the edition's own language what follows the dash is the source."""
        match = _TRANSLATED.match(rendered) if "''" in rendered and len(rendered) < LONGEST_EXAMPLE else None
        if match is None:
            return Example(shown)
        text, rest = plain(match[1], breaks="\n"), plain(match[2] or match[3], breaks="\n").strip()
        if not text or not rest:
            return Example(shown)
        if language == self.layout.code or self.layout.option("dash_is_source"):
            return Example(text, "", rest)
        return Example(text, rest)


_EXAMPLE_WORD = re.compile(
    r"^(?:Ejemplos?|Exemples?|Esempio|Exemplos?|Beispiele?|Przykład|Примеры?|用例|例)\s*[:：]\s*"
)
_TRANSLATED = re.compile(
    r"\s*''(.+)''\s*(?:(?:<ref.*)?\s*(?:—|–|―|→|&mdash;|&ndash;|\s-\s|\s=\s)\s*(.+)|(?:<small>)?\s*\((.+)\)\s*(?:</small>)?\s*\.?)\s*$",
    re.DOTALL,
)


def _german_labels(text: str, labels: list[str]) -> str:
    """Take off marks and italic words that end with a colon, however they are joined (`{{ugs.}}, ''Kurzwort:'' …`)."""
    position = 0
    for _ in range(MOST_LABELS):
        skip = _GERMAN_SKIP.match(text, position) if position or text[:1] in "(—– '" else None
        start = skip.end() if skip else position
        mark = _MARK.match(text, start)
        italic = _ITALIC_COLON.match(text, start)
        if mark:
            labels += _label_words(mark[0][1:-1])
            position = mark.end()
        elif italic and (italic[2] or italic[1].rstrip(" )").endswith(":") or _in_brackets(text, italic)):
            labels += _label_words(italic[1])
            position = italic.end()
        else:
            break
    rest = text[position:]
    return (
        _GERMAN_SKIP.sub("", rest, count=1) if position and _GERMAN_SKIP.match(rest) and rest[:1] not in "(" else rest
    )


def _in_brackets(text: str, italic: re.Match[str]) -> bool:
    """Whether an italic run is a bracketed remark: `''(abstrakt)''`, `(''abstrakt'')`."""
    inner = italic[1].strip()
    before = text[: italic.start()].rstrip(" '")[-1:]
    return (inner.startswith("(") and inner.endswith(")")) or (
        before == "(" and text[italic.end() :].lstrip("' ")[:1] == ")"
    )


def without_notes(gloss: str, notes: tuple[str, ...]) -> str:
    """A gloss without the pieces of it that say nothing of the meaning; the gloss itself where nothing else is left."""
    bare = gloss
    for note in notes:
        bare = _SPACED.sub(r"\1", _NOTE_LITTER.sub("", bare.replace(note, " "))).strip()
    return bare or gloss


def _is_source(text: str) -> bool:
    return text.lstrip().startswith("'''") or text.rstrip().endswith(":") or bool(re.search(r"\b[12]\d{3}\b", text))


def _continue(example: Example, text: str, *, quoting: bool) -> Example:
    """An example with the line below it: the passage of a source line, else the translation."""
    if quoting:
        return Example(text, "", example.text)
    return example if example.translation else replace(example, translation=text)


def _expanded_children(lines: list[str], depth: int) -> list[Item]:
    """Sub-definitions that a template's expansion brought along (`\\n## third person`)."""
    made = []
    for line in lines:
        text = line.lstrip("#")
        if text != line and not text.startswith((":", "*")):
            made.append(Item(text, depth + 1))
    return made


def _label_words(text: str) -> list[str]:
    if not text:
        return []
    words = []
    for piece in _LABEL_PIECES.split(text):
        words += [plain(word).strip(" ,;:().") for word in _LABEL_WORDS.split(piece)]
    return [word for word in words if word]
