"""Dictionaries in TEI (P5, and P4 as far as it is alike), as FreeDict publishes them.

Before: elements.py streams the entries. After: `<def>` is a definition, `<cit type="trans">` a translation.
Format: TEI P5 Guidelines, chapter 9 (Dictionaries); https://freedict.org/howto/ for the subset.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from dictsent.adapter import Adapter, Reading
from dictsent.errors import SourceError
from dictsent.records import Definition, Dictionary, Entry, Example, Rejected
from dictsent_adapters.elements import XML_ID, XML_LANG, children, iterate_elements, plain_text
from dictsent_adapters.streams import beginning
from dictsent_adapters.tags import tag_of_code, tag_of_name

_ROOT = re.compile(rb"<(?:\w+:)?TEI(?:\.2|CORPUS)?[\s>]", re.IGNORECASE)
_ENTRY = re.compile(rb"<(?:\w+:)?(?:entry|entryFree|superEntry)[\s>]")
_PAIR = re.compile(r"([a-z]{2,3})-([a-z]{2,3})(?=$|[-._])")
_TITLE_PAIR = re.compile(r"([\w ]+?)\s*[-–]\s*([\w ]+?) (?:\w+/)?(?:FreeDict|Dictionary|dictionary)")
_TRANSLATIONS = ("trans", "translation", "translationEquivalent")
_INFLECTED = ("infl", "plural", "sing", "conjug", "declin", "participle", "abbrev")
_TEXT = re.compile(rb"<(?:\w+:)?(?:text|body)\s[^<>]{0,200}?xml:lang=[\"']([\w-]{2,30})[\"']")
_DEEP = 1 << 20
_TITLE_LIMIT = 500


class Tei(Adapter):
    """Reads TEI dictionaries."""

    name = "tei"
    summary = "TEI dictionaries (.tei, .xml): FreeDict's and others; definitions and translations"

    def matches(self, path: Path) -> bool:
        """Whether the root element is TEI and dictionary entries follow."""
        start = beginning(path, 8192)
        return bool(_ROOT.search(start)) and bool(_ENTRY.search(beginning(path, _DEEP)))

    def describe(self, source: str) -> Dictionary:
        """Title, edition, licence, publisher and languages as the TEI header tells them."""
        path = Path(source)
        header = next(iterate_elements(path, ["teiHeader"], Reading()), None)
        if header is None:
            raise SourceError("has no teiHeader", where=source, hint="a TEI file begins with one")
        title = _first(header, "title") or path.stem
        publisher = _first(header, "publisher")
        return Dictionary(
            name=f"{publisher.lower()}-{path.stem}" if publisher and " " not in publisher else path.stem,
            language=self.options.language or _languages(path, header, title)[0],
            title=title,
            version=_first(header, "edition"),
            licence=_licence(header),
            attribution="; ".join(filter(None, dict.fromkeys([publisher, *_names(header)]))),
            address=next((t for e in header.iterfind(".//{*}sourceDesc//{*}ptr") if (t := e.get("target"))), ""),
        )

    def read(self, source: str) -> Iterator[Entry | Rejected]:
        """One entry an <entry>, its senses in order; all translations of a sense are one text.

        Raises:
            SourceError: no well-formed XML, no languages known, or nothing but headwords.
        """
        path = Path(source)
        header = next(iterate_elements(path, ["teiHeader"], Reading()), None)
        title = _first(header, "title") if header is not None else ""
        language, target = _languages(path, header, title)
        language = self.options.language or language
        defined = translated = 0
        for number, element in enumerate(iterate_elements(path, ["entry", "entryFree"], self.reading), start=1):
            record = self._read_entry(element, number, language, target)
            if isinstance(record, Entry):
                translated += all(d.translation for d in record.definitions)
                defined += 1
            if record is not None:
                yield record
        if not defined:
            raise SourceError("no definitions or translations in this file", where=source)
        if translated == defined:
            self.reading.notes.append(f"holds translations only: a bilingual dictionary, {language} to {target}")

    def _read_entry(self, element: Any, number: int, language: str, target: str) -> Entry | Rejected | None:
        place = f"entry {element.get(XML_ID) or number}"
        spellings = list(_spellings(element))
        if not spellings:
            return Rejected("no headword", place, plain_text(element)[:200])
        inherited = _inherited_language(element)
        language = _marked_language(element) or language or inherited
        target = target or inherited
        if not language:
            return Rejected("no language", place, spellings[0])
        definitions = tuple(_senses(element, language, target or language, _part_of_speech(element)))
        if not definitions:
            self.reading.counts["entries without a definition or translation"] += 1
            return None
        return Entry(
            headword=spellings[0],
            language=language,
            definitions=definitions,
            spellings=tuple(dict.fromkeys(s for s in spellings[1:] if s != spellings[0])),
            place=place,
        )


def _first(header: Any, name: str) -> str:
    found = header.find(f".//{{*}}{name}")
    return "" if found is None else plain_text(found)


def _names(header: Any) -> list[str]:
    names = (plain_text(name) for name in header.iterfind(".//{*}titleStmt/{*}respStmt/{*}name"))
    return [name for name in names if not name.startswith("[")]


def _licence(header: Any) -> str:
    """The address or name of the licence; else the paragraph that speaks of one."""
    for element in header.iterfind(".//{*}availability//*"):
        if (target := element.get("target", "")) and "licen" in (target + plain_text(element)).lower():
            return str(target)
    paragraphs = [plain_text(p) for p in header.iterfind(".//{*}availability//{*}p")]
    return next((p for p in paragraphs if "licen" in p.lower()), paragraphs[0] if paragraphs else "")


def _languages(path: Path, header: Any, title: str) -> tuple[str, str]:
    """The languages of headwords and of definitions or translations, "" where nothing tells."""
    marked = {}
    for element in () if header is None else header.iterfind(".//{*}langUsage/{*}language"):
        codes = [plain_text(i) for i in children(element, "idno") if i.get("type") == "iso639-3"]
        tag = next(filter(None, map(tag_of_code, [*codes, element.get("ident", "")])), "")
        marked[element.get("n") or element.get("role") or ""] = tag
    if {"source", "target"} <= marked.keys():
        return marked["source"], marked["target"]
    if pair := _PAIR.match(path.name):
        return tag_of_code(pair[1]), tag_of_code(pair[2])
    if pair := _TITLE_PAIR.search(title[:_TITLE_LIMIT]):
        return tag_of_name(pair[1]), tag_of_name(pair[2])
    text = _TEXT.search(beginning(path, _DEEP))
    return (tag_of_code(text[1].decode()), "") if text else ("", "")


def _marked_language(element: Any) -> str:
    """The language that the entry or its first form is marked with."""
    forms = children(element, "form")
    marked = element.get(XML_LANG) or (forms[0].get(XML_LANG) if forms else "")
    orth = forms[0].find("{*}orth") if forms else None
    return tag_of_code((orth.get(XML_LANG) if orth is not None else "") or marked or "")


def _inherited_language(element: Any) -> str:
    """The language that the text or body around the entry is marked with."""
    return next((tag for e in element.iterancestors() if (tag := tag_of_code(e.get(XML_LANG, "")))), "")


def _spellings(entry: Any) -> Iterator[str]:
    """The written forms of the headword, inflected forms left out."""
    for form in children(entry, "form"):
        if not form.get("type", "").lower().startswith(_INFLECTED):
            for orth in children(form, "orth"):
                if text := plain_text(orth):
                    yield text
            yield from _spellings(form)


def _part_of_speech(element: Any) -> str:
    """What the element's own grammar group says, "" for nothing."""
    for group in [
        *children(element, "gramGrp"),
        *(g for f in children(element, "form") for g in children(f, "gramGrp")),
    ]:
        for pos in [*children(group, "pos"), *(g for g in children(group, "gram") if g.get("type") == "pos")]:
            if text := plain_text(pos) or pos.get("value", ""):
                return text.lower()
    return ""


def _senses(element: Any, language: str, target: str, part: str) -> Iterator[Definition]:
    """The senses of an entry, a homonym or a sense, depth first."""
    for homonym, child in enumerate(children(element, "hom"), start=1):
        for definition in _senses(child, language, target, _part_of_speech(child) or part):
            yield _with_homonym(definition, homonym)
    yield from _own_definitions(element, language, target, part)
    for child in children(element, "sense"):
        yield from _senses(child, language, target, _part_of_speech(child) or part)


def _with_homonym(definition: Definition, homonym: int) -> Definition:
    return replace(definition, etymology=homonym)


def _own_definitions(element: Any, language: str, target: str, part: str) -> Iterator[Definition]:
    """The definitions that stand in the element itself, then its translations as one.

    An unmarked definition is in the target language, unless translations stand beside it: then it tells which sense
    of the headword they translate, in the headword's language.
    """
    labels = tuple(text for usage in children(element, "usg") if (text := plain_text(usage)))
    examples = tuple(_examples(element))
    sense = element.get(XML_ID, "")
    found: list[tuple[str, str, bool]] = []
    equivalents: dict[str, list[str]] = {}
    for cit in children(element, "cit"):
        for quote in children(cit, "quote", "orth", "form"):
            if (cit.get("type") or quote.get("type")) in _TRANSLATIONS:
                equivalents.setdefault(quote.get(XML_LANG) or cit.get(XML_LANG, ""), []).append(plain_text(quote))
    for definition in children(element, "def"):
        marked = definition.get(XML_LANG, "") or (language if equivalents else "")
        found.append((plain_text(definition, ("note",)), marked, False))
    found += [("; ".join(filter(None, texts)), marked, True) for marked, texts in equivalents.items()]
    for text, marked, translation in found:
        if text:
            yield Definition(
                text=text,
                language=tag_of_code(marked) or target,
                part_of_speech=part,
                sense=sense,
                examples=examples,
                labels=labels,
                translation=translation,
            )


def _examples(element: Any) -> Iterator[Example]:
    for cit in children(element, "cit"):
        if cit.get("type") == "example":
            quote = next((text for q in children(cit, "quote", "q") if (text := plain_text(q))), "")
            nested = [plain_text(q) for c in children(cit, "cit") for q in children(c, "quote", "q")]
            if quote:
                yield Example(quote, translation=next(filter(None, nested), ""), source=_source(cit))


def _source(cit: Any) -> str:
    return next((plain_text(b) for b in children(cit, "bibl")), "")
