"""WN-LMF 1.1, the form of the Global WordNet Association: one lexicon for each language, one synset a definition.

Before: dictsent.export.writing names the place. After: the wn library, or the adapter wordnet, reads it.
Definitions that carry the same interlingual identifier and the same text share a synset. Format:
https://globalwordnet.github.io/schemas/
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import Any

from lxml import etree

from dictsent.export.choice import Senses
from dictsent.export.lines import chosen_languages
from dictsent.languages import display_name
from dictsent.store import SenseRow

_DOCTYPE = '<!DOCTYPE LexicalResource SYSTEM "http://globalwordnet.github.io/schemas/WN-LMF-1.1.dtd">'
_PARTS = (
    # how a part of speech begins in dictionaries' own words, and WN-LMF's letter for it
    *(("noun", "n"), ("proper noun", "n"), ("name", "n"), ("verb", "v"), ("adj", "a"), ("adv", "r"), ("phrase", "t")),
    *(("conj", "c"), ("adposition", "p"), ("preposition", "p"), ("postposition", "p")),
)
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Written = tuple[int, tuple[str, ...]]


def write_lmf(store: Senses, out: Path, language: str) -> Written:
    """All entries, then all synsets of each lexicon, streamed."""
    writer = _Writer()
    with out.open("wb") as stream, etree.xmlfile(stream, encoding="UTF-8") as file:
        file.write_declaration()
        file.write_doctype(_DOCTYPE)
        with file.element("LexicalResource"):
            for tag in chosen_languages(store, language):
                writer.write_lexicon(file, store, tag)
    lost = (f"{writer.lost:,} characters that XML cannot hold became U+FFFD",) if writer.lost else ()
    return writer.count, lost


class _Writer:
    def __init__(self) -> None:
        self.count = self.lost = 0

    def write_lexicon(self, file: Any, store: Senses, tag: str) -> None:
        lexicon = f"dictsent-{tag.lower()}"
        with file.element("Lexicon", **self._lexicon(store, lexicon, tag)):
            for _, group in groupby(store.senses(tag), key=lambda sense: sense.entry):
                for element in self._entries(lexicon, list(group)):
                    file.write(element)
            shared: set[str] = set()
            for sense in store.senses(tag):
                synset = _synset(lexicon, sense)
                if sense.ili and synset in shared:
                    continue
                if sense.ili:
                    shared.add(synset)
                file.write(self._synset(synset, sense))

    def _lexicon(self, store: Senses, lexicon: str, tag: str) -> dict[str, str]:
        sources = [s for s in store.sources() if s.language in (tag, "mul", "")]
        values = {
            "id": lexicon,
            "label": f"{display_name(tag)} dictionaries: {', '.join(s.title or s.name for s in sources)}",
            "language": tag,
            "email": "",
            "license": "; ".join(dict.fromkeys(s.licence for s in sources if s.licence)) or "unknown",
            "version": "1",
        }
        return {key: self._text(value) for key, value in values.items()}

    def _entries(self, lexicon: str, senses: list[SenseRow]) -> Iterator[Any]:
        by_part: dict[str, list[SenseRow]] = {}
        for sense in senses:
            by_part.setdefault(_part(sense), []).append(sense)
        for part, group in by_part.items():
            entry = etree.Element("LexicalEntry", id=f"{lexicon}-w{group[0].entry}-{part}")
            etree.SubElement(entry, "Lemma", writtenForm=self._text(group[0].headword), partOfSpeech=part)
            for sense in group:
                values = {"id": f"{lexicon}-s{sense.definition}", "synset": _synset(lexicon, sense)}
                element = etree.SubElement(entry, "Sense", values)
                for example in sense.examples:
                    etree.SubElement(element, "Example").text = self._text(example)
                self.count += 1
            yield entry

    def _synset(self, synset: str, sense: SenseRow) -> Any:
        element = etree.Element("Synset", id=synset, ili=sense.ili, partOfSpeech=_part(sense))
        etree.SubElement(element, "Definition", language=sense.language).text = self._text(sense.text)
        return element

    def _text(self, text: str) -> str:
        clean, lost = _NOT_XML.subn("\ufffd", text)
        self.lost += lost
        return clean


def _part(sense: SenseRow) -> str:
    return next((letter for word, letter in _PARTS if sense.part_of_speech.startswith(word)), "u")


def _synset(lexicon: str, sense: SenseRow) -> str:
    part = _part(sense)
    if not sense.ili:
        return f"{lexicon}-{sense.definition}-{part}"
    digest = blake2b(f"{sense.ili}\n{sense.language}\n{sense.text}".encode(), digest_size=8).hexdigest()
    return f"{lexicon}-{sense.ili}.{digest}-{part}"
