"""The layout of one edition: its headings, parts of speech, language names and template rules, read from its file.

Before: editions/*.toml. After: extract asks what a heading is, render what a template shows.
"""

from __future__ import annotations

import html
import re
import tomllib
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import Any

from dictsent.errors import SourceError
from dictsent_adapters.wiktionary.namespaces import HIDDEN
from dictsent_adapters.wiktionary.rules import LANGUAGE_CODE, Rule, compile_rules
from dictsent_adapters.wiktionary.wikitext import Link, Template, parse, plain, unlink

FOLDER = "editions"
FEWEST_SENSES, LEAST_RIGHT = 10, 0.95
"""What makes an edition first-class, all others being read with best effort."""
_BRACKETED = re.compile(r"\s*[(（\[][^()（）\[\]]*[)）\]]\s*")
_NUMBER = re.compile(r"[\d#.¹²³⁴⁵⁶⁷⁸⁹⁰①-⑳]+|(?<=\s)[IVX]+$|(?<![\w])[一二三四五六七八九十](?![\w])")
_SUPERSCRIPT = re.compile(r"<su[pb]\b[^<>]*>.*?</su[pb]>", re.IGNORECASE)
_SPLIT = re.compile(r"\s*[,、，・:：/;；—–]\s*|\s+(?:e|y|et|und|and|og|och|i|ja)\s+")
_CATEGORY = re.compile(r"\[\[([^\[\]|:]+):[^\[\]]*\]\]")


@dataclass(frozen=True, slots=True)
class Heading:
    """What a heading says.

    Attributes:
        kind: language, part_of_speech, definitions, etymology, spellings, other or unknown.
        value: the language's code or the part of speech, "" where it is not known.
        title: the heading's own words.
        form: whether the section describes inflected forms.
    """

    kind: str
    value: str = ""
    title: str = ""
    form: bool = False


@dataclass(slots=True)
class Layout:
    """One edition's layout. Build it with `load`.

    `measured` is how many definitions of the edition's pages in the benchmark came out as expected, and of how many.
    """

    code: str
    data: dict[str, Any]
    rules: dict[str, Rule]
    measured: tuple[int, int]
    shape: str
    language_level: int
    guessed: bool = False
    words: dict[str, Heading] = field(default_factory=dict)
    local: dict[tuple[bool, str], str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    heading: re.Pattern[str] = re.compile("")
    language_heading: re.Pattern[str] | None = None
    language_templates: tuple[re.Pattern[str], ...] = ()
    form_patterns: tuple[re.Pattern[str], ...] = ()
    readings: tuple[re.Pattern[str], ...] = ()
    not_examples: re.Pattern[str] | None = None
    subpages: re.Pattern[str] | None = None
    known: dict[tuple[int, str], Heading] = field(default_factory=dict)

    @property
    def first_class(self) -> bool:
        """Whether the benchmark has enough of the edition's definitions, and enough of them come out right."""
        right, senses = self.measured
        return senses >= FEWEST_SENSES and right >= LEAST_RIGHT * senses

    def option(self, name: str, default: Any = False) -> Any:
        """A switch of the edition's file."""
        return self.data.get(name, default)

    def rule(self, name: str) -> Rule | None:
        """The rule for a template, its first letter in either case."""
        found = self.rules.get(name)
        if found is None and name:
            first = name[0]
            found = self.rules.get((first.lower() if first.isupper() else first.upper()) + name[1:])
        return found

    def classify(self, level: int, text: str) -> Heading:
        """What a heading of that level (0: a template line) says; remembered, because headings repeat."""
        key = (level, text)
        found = self.known.get(key)
        if found is None:
            found = self._classify(level, text.rstrip("= \t").lstrip() if level else text)
            if len(self.known) < 50_000:
                self.known[key] = found
        return found

    def _classify(self, level: int, text: str) -> Heading:
        shown, candidates = _readings(text)
        title = self._title(text, shown)
        code = self._language(level, text, shown) if level <= max(2, self.language_level) else ""
        if code and level:
            return Heading("language", code, shown)
        for candidate in candidates:
            heading = self.words.get(candidate)
            if heading is not None:
                return Heading(heading.kind, heading.value, title or candidate, heading.form)
        if code and self.option("line_languages"):
            return Heading("language", code, shown)
        if 0 < level <= self.language_level and not self.option("monolingual"):
            return Heading("language", "und", shown)
        return Heading("unknown", "", title)

    def _title(self, text: str, shown: str) -> str:
        """A heading's words: templates by the edition's own word for their part of speech, nothing after a colon."""
        if "{{" in text:
            pieces = [node if isinstance(node, str) else self._local_word(node) for node in parse(text)]
            shown = plain(unlink(_SUPERSCRIPT.sub("", "".join(pieces)))).strip(" :,'") or shown
        return re.split(r"\s*[：:]", shown, maxsplit=1)[0] or shown

    def _local_word(self, node: Template | Link) -> str:
        parts = ["".join(n for n in part if isinstance(n, str)).strip() for part in node.parts]
        if isinstance(node, Link):
            return parts[-1]
        for name in (*parts[1:2], parts[0], parts[0].strip("-=")):
            heading = self.words.get(_fold(name))
            if heading is not None and heading.kind == "part_of_speech":
                local = self.local.get((heading.form, heading.value), name)
                return local if name.isascii() and not local.isascii() else name
        return ""

    def _language(self, level: int, text: str, shown: str) -> str:
        for pattern in self.language_templates:
            match = pattern.search(text)
            if match:
                return self.language_code(match[1])
        return self._named(_fold(shown)) if level > 0 and "{{" not in text else ""

    def _named(self, name: str) -> str:
        for prefix in ("", *self.option("language_prefixes", [])):
            if name.startswith(prefix) and name[len(prefix) :].strip() in self.names:
                return self.names[name[len(prefix) :].strip()]
        return ""

    def language_code(self, name: str) -> str:
        """The code of a language given by code or by its name in the edition's language; "und" for an unknown name."""
        shown = plain(unlink(name))
        key = _fold(shown)
        if (LANGUAGE_CODE.fullmatch(key) and shown[:1].islower()) or (key.upper() == shown and len(key) == 2):
            return str(self.data.get("languages", {}).get(key, key))
        return self._named(key) or (key if LANGUAGE_CODE.fullmatch(key) else "und")


def _readings(text: str) -> tuple[str, list[str]]:
    """A heading's words as shown, and the keys by which it may be known, the surest first."""
    text = _CATEGORY.sub(lambda m: "" if m[1].strip().casefold() in HIDDEN else m[0], text)
    nodes = parse(text) if "{{" in text else [text]
    templates = [node for node in nodes if isinstance(node, Template)]
    bare = "".join(node for node in nodes if isinstance(node, str))
    shown = plain(unlink(_SUPERSCRIPT.sub("", bare))).strip(" :,'")
    named: list[str] = []
    for template in reversed(templates):
        parts = ["".join(n for n in part if isinstance(n, str)).strip() for part in template.parts]
        named += [parts[1] if len(parts) > 1 else "", parts[0], parts[0].strip("-=")]
    candidates = [_fold(word) for word in (shown, _bare(shown), *named)]
    split = [_fold(word) for word in _SPLIT.split(_bare(shown))]
    words = _fold(_bare(shown)).split()
    candidates += [*split, " ".join(words[:2]), *words[:1]]
    candidates += [piece for name in named for piece in (" ".join(_fold(name).split()[:2]), _fold(name).split(" ")[0])]
    return shown or next((name for name in named if name), ""), [c for c in dict.fromkeys(candidates) if c]


def _bare(text: str) -> str:
    return _NUMBER.sub("", _BRACKETED.sub(" ", text)).strip(" :,-")


def _fold(text: str) -> str:
    return " ".join(html.unescape(text).casefold().replace("’", "'").split())


def editions() -> list[str]:
    """The codes of the editions that have a file."""
    folder = resources.files(__package__) / FOLDER
    return sorted(p.name[:-5] for p in folder.iterdir() if p.name.endswith(".toml") and not p.name.startswith("_"))


@lru_cache(maxsize=64)
def load(code: str) -> Layout:
    """The layout of an edition by its code ("en"); one without a file gets the generic rules.

    Raises:
        SourceError: an edition's file is not what it should be.
    """
    own = _file(code)
    data = own if own is not None else _file("_generic") or {}
    layers = [*(_file(name) or {} for name in data.get("base", [])), data]
    merged: dict[str, Any] = {"code": code}
    for layer in layers:
        _merge(merged, layer)
    return _build(merged, layers, guessed=own is None)


def _file(name: str) -> dict[str, Any] | None:
    path = resources.files(__package__) / FOLDER / f"{name}.toml"
    if not path.is_file():
        return None
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise SourceError(f"the edition's file is not valid: {error}", where=f"{FOLDER}/{name}.toml") from error


def _merge(into: dict[str, Any], more: dict[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        elif isinstance(value, list) and isinstance(into.get(key), list):
            into[key] = into[key] + value
        else:
            into[key] = value


def _build(data: dict[str, Any], layers: list[dict[str, Any]], *, guessed: bool) -> Layout:
    rules: dict[str, Rule] = {}
    words: dict[str, Heading] = {}
    for layer in layers:
        rules.update(compile_rules(layer.get("templates", {})))
        words.update(_words(layer))
    patterns = data.get("patterns", {})
    refuse = patterns.get("not_example", [])
    subpages = patterns.get("subpage", [])
    measured = data.get("measured", {})
    return Layout(
        code=data["code"],
        data=data,
        rules=rules,
        measured=(measured.get("right", 0), measured.get("senses", 0)),
        shape=data.get("shape", "hash"),
        language_level=data.get("language_level", 2),
        guessed=guessed,
        words=words,
        local=_local_words(layers[-1]),
        names=_language_names(data.get("names_in", data["code"]), data.get("languages", {})),
        heading=_heading_pattern(data.get("line_headings", [])),
        language_heading=None if data.get("line_languages") else _language_pattern(data.get("language_level", 2)),
        language_templates=tuple(re.compile(p, re.IGNORECASE) for p in patterns.get("language", [])),
        form_patterns=tuple(re.compile(p, re.IGNORECASE) for p in patterns.get("form_of", [])),
        readings=tuple(re.compile(p, re.MULTILINE) for p in patterns.get("reading", [])),
        not_examples=re.compile("|".join(refuse), re.IGNORECASE) if refuse else None,
        subpages=re.compile("|".join(subpages), re.IGNORECASE) if subpages else None,
    )


def _heading_pattern(lines: list[str]) -> re.Pattern[str]:
    """Matches "\\n" and a heading: `== x ==`, or a line that is one of the edition's section templates.

    Groups: 1 the equals signs, 2 the heading's text, 3 the section template with its arguments.
    """
    text = r"\n(?:(={1,6})([^\n]*=)[ \t]*(?=\n|\Z)"
    if lines:
        text += r"|[ \t]*(\{\{(?:" + "|".join(lines) + r")[ \t]*(?:\|[^{}\n]*)?\}\})"
    return re.compile(text + ")")


def _language_pattern(level: int) -> re.Pattern[str]:
    """Matches "\\n" and a heading no deeper than a language's; groups as in `_heading_pattern`."""
    return re.compile(r"\n(={1," + str(max(2, level)) + r"})(?!=)([^\n]*=)[ \t]*(?=\n|\Z)")


def _words(data: dict[str, Any]) -> dict[str, Heading]:
    words: dict[str, Heading] = {}
    for kind in ("other", "etymology", "definitions", "spellings"):
        for word in data.get("headings", {}).get(kind, []):
            words[_fold(word)] = Heading(kind)
    for form, table in ((False, "parts_of_speech"), (True, "forms")):
        for value, spelled in data.get(table, {}).items():
            for word in spelled:
                words[_fold(word)] = Heading("part_of_speech", value, form=form)
    return words


def _local_words(data: dict[str, Any]) -> dict[tuple[bool, str], str]:
    """The first word of an edition's own list for each part of speech."""
    tables = ((False, data.get("parts_of_speech", {})), (True, data.get("forms", {})))
    return {(form, value): words[0] for form, table in tables for value, words in table.items() if words}


_display_names: dict[str, dict[str, str]] = {}


def display_names(language: str) -> dict[str, str]:
    """Every language's name in `language` (in English where CLDR has none), case-folded, to its code."""
    if language not in _display_names:
        _display_names[language] = _made_names(language)
    return _display_names[language]


def know_display_names(language: str, names: dict[str, str]) -> None:
    """Take what `display_names` gave in another process, which costs a tenth of a second, for granted in this one."""
    _display_names.setdefault(language, names)


def _made_names(language: str) -> dict[str, str]:
    from langcodes import Language
    from langcodes.registry_parser import parse_registry

    rows = parse_registry()
    tags = [str(row["Subtag"]) for row in rows if _is_current(row)]
    names = {_fold(Language.get(tag).display_name("en")): tag for tag in tags}
    if language != "en" and Language.get(language).is_valid():
        names |= {_fold(Language.get(tag).display_name(language)): tag for tag in tags}
    return names


def _is_current(row: dict[str, Any]) -> bool:
    return row.get("Type") == "language" and len(row["Subtag"]) <= 3 and "Deprecated" not in row


def _language_names(language: str, more: dict[str, str]) -> dict[str, str]:
    names = dict(display_names(language))
    names.update((_fold(name), code) for name, code in more.items())
    return names
