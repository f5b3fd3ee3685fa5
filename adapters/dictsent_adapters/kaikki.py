"""The JSON lines of wiktextract (kaikki.org), of any Wiktionary edition: a second, independent door to the same words.

Before: streams gives the lines. After: entries go to the store.
Two layouts: the English edition's (`raw_glosses`, `english`) and that of all others (`pos_title`, `raw_tags`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from dictsent.adapter import Adapter, Options, option
from dictsent.errors import SourceError
from dictsent.languages import SEVERAL, key_language
from dictsent.records import Definition, Dictionary, Entry, Example, Rejected, fold_space
from dictsent_adapters.streams import beginning, read_lines, sample_lines
from dictsent_adapters.tags import tag_of_code
from dictsent_adapters.wiktionary.layout import editions
from dictsent_adapters.wiktionary.pages import entry_tag, joined_glosses, tag_key
from dictsent_adapters.wiktionary.wikitext import holds_markup

SAMPLE = 1 << 18
"""Bytes from which the edition and the languages are told."""
LONGEST_LINE = 1 << 24
"""Characters; a word with all its translations and inflections can take a few million."""
_NAMED = re.compile(r"(?:^|[^a-z])([a-z]{2,3}|simple)-extract\b|^raw-wiktextract-data|kaikki\.org-dictionary-")
_DATE = re.compile(r"(?<!\d)(20\d{2}-?\d{2}-?\d{2})(?!\d)")
_SPELLING = frozenset(("alternative", "kanji", "hiragana", "Traditional-Chinese", "Simplified-Chinese", "hanja"))
_NOT_SPELLING = frozenset(
    ("romanization", "canonical", "inflected", "transliteration", "table-tags", "inflection-template")
)


@dataclass(frozen=True, kw_only=True)
class KaikkiOptions(Options):
    """What the adapter can be told."""

    edition: str = option("code of the Wiktionary edition the definitions are from", default="")


class Kaikki(Adapter):
    """Reads wiktextract's JSON lines, one word and part of speech each."""

    name = "kaikki"
    summary = "wiktextract's JSON lines as kaikki.org offers them, of any edition (.jsonl, .gz)"
    Options = KaikkiOptions

    def matches(self, path: Path) -> bool:
        """Lines that are JSON objects with a word, a language code and senses."""
        return path.is_file() and any(_is_word(record) for record in _sample(path))

    def describe(self, source: str) -> Dictionary:
        """The edition the definitions come from, and the language of the words where the file has one only."""
        records = [record for record in _sample(Path(source)) if _is_word(record)]
        if not records:
            hint = "give a .jsonl file from kaikki.org, as it is"
            raise SourceError("no line is a word of wiktextract", where=source, hint=hint)
        edition = self._edition(Path(source), records)
        codes = {str(record["lang_code"]) for record in records}
        own = entry_tag(codes.pop()) if len(codes) == 1 else SEVERAL
        date = _DATE.search(Path(source).name)
        return Dictionary(
            name=f"{edition.replace('-', '_')}wiktionary-kaikki",
            language=self.options.language or (own if own != "und" else SEVERAL),
            title=f"Wiktionary ({edition}) as extracted by wiktextract",
            version=date[1] if date else "",
            licence="CC BY-SA 4.0",
            attribution="contributors to Wiktionary; wiktextract, kaikki.org",
            address="https://kaikki.org/",
        )

    def read(self, source: str) -> Iterator[Entry | Rejected]:
        """One entry a line, in the file's order."""
        path = Path(source)
        self.describe(source)
        edition = self._edition(path, [record for record in _sample(path) if _is_word(record)])
        language = tag_of_code("en" if edition == "simple" else edition) or "und"
        wanted = key_language(self.options.language) if self.options.language else ""
        for number, text, fault in read_lines(path, "utf-8-sig", self.reading, limit=LONGEST_LINE):
            if not text.strip():
                continue
            place = f"line {number}"
            record = None if fault else _parsed(text)
            if record is None:
                yield Rejected(fault or "not JSON", place, text[:200])
            elif "word" not in record and ("redirect" in record or "redirects" in record):
                self.reading.counts["redirects"] += 1
            elif not _is_word(record):
                yield Rejected("no word, language or senses", place, text[:200])
            elif wanted and tag_key(str(record["lang_code"])) != wanted:
                self.reading.counts["other languages"] += 1
            else:
                yield from self._entry(record, language, place)

    def _edition(self, path: Path, records: list[dict[str, Any]]) -> str:
        """The edition: as given, as wiktextract names its files, or the one in whose words the languages are named."""
        if self.options.edition:
            return str(self.options.edition).lower().removesuffix("wiktionary")
        named = _NAMED.search(path.name)
        if named:
            return named[1] or "en"
        return edition_of_names(tuple(sorted({(str(r.get("lang", "")), str(r["lang_code"])) for r in records}))) or "en"

    def _entry(self, record: dict[str, Any], language: str, place: str) -> Iterator[Entry | Rejected]:
        headword = fold_space(str(record["word"]))
        tag = entry_tag(str(record["lang_code"]))
        definitions = []
        for sense in record["senses"]:
            glosses = _texts(sense.get("glosses"))
            if not glosses:
                self.reading.counts["senses without a gloss"] += 1
            elif any(holds_markup(gloss) for gloss in glosses):
                yield Rejected("markup left", place, glosses[-1][:200])
            else:
                definitions.append(_definition(record, sense, glosses, language))
        if tag == "und" or not headword:
            yield Rejected("language not known" if headword else "no headword", place, str(record)[:200])
        elif definitions:
            yield Entry(
                headword=headword,
                language=tag,
                definitions=tuple(definitions),
                spellings=_spellings(record, headword),
                place=place,
            )


def _definition(record: dict[str, Any], sense: dict[str, Any], glosses: list[str], language: str) -> Definition:
    lemmas = _words(sense.get("form_of")) or _words(sense.get("alt_of"))
    labels = [label for key in ("topics", "tags", "raw_tags") for label in _texts(sense.get(key))]
    number = record.get("etymology_number")
    speech = str(record.get("pos") or "")
    return Definition(
        text=joined_glosses(glosses),
        language=language,
        part_of_speech="" if speech == "unknown" else speech,
        sense=str(sense.get("sense_index") or (_texts(sense.get("senseid")) or [""])[0]),
        examples=tuple(filter(None, map(_example, sense.get("examples") or ()))),
        labels=tuple(dict.fromkeys(label for label in labels if label not in ("form-of", "alt-of"))),
        form_of=lemmas[0] if lemmas else "",
        etymology=number if isinstance(number, int) else 0,
    )


def _example(value: Any) -> Example | None:
    if not isinstance(value, dict) or not str(value.get("text") or "").strip():
        return None
    translation = value.get("translation") or value.get("english") or ""
    return Example(
        fold_space(str(value["text"])), fold_space(str(translation)), fold_space(str(value.get("ref") or ""))
    )


def _spellings(record: dict[str, Any], headword: str) -> tuple[str, ...]:
    """Forms that are other spellings of the word, not inflections or romanisations."""
    found = []
    for form in record.get("forms") or ():
        tags = set(_texts(form.get("tags"))) if isinstance(form, dict) else set()
        if tags & _SPELLING and not tags & _NOT_SPELLING and "source" not in form:
            found.append(fold_space(str(form.get("form") or "")))
    return tuple(dict.fromkeys(spelling for spelling in found if spelling and spelling != headword))


def _texts(value: Any) -> list[str]:
    """The strings of a list, folded; none where it is no list."""
    found = [fold_space(item) for item in value if isinstance(item, str)] if isinstance(value, list) else []
    return [text for text in found if text]


def _words(value: Any) -> list[str]:
    """The words of a list of `{"word": ...}`."""
    return _texts([item.get("word") for item in value if isinstance(item, dict)]) if isinstance(value, list) else []


def _is_word(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and isinstance(record.get("word"), str)
        and isinstance(record.get("lang_code"), str)
        and isinstance(record.get("senses"), list)
        and all(isinstance(sense, dict) for sense in record["senses"])
    )


def _parsed(text: str) -> Any:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _sample(path: Path) -> list[Any]:
    lines = sample_lines(path, "utf-8-sig", SAMPLE)
    if not lines and _begins_a_word(beginning(path, SAMPLE)):
        lines = sample_lines(path, "utf-8-sig", LONGEST_LINE)
    return [record for record in map(_parsed, (x for x in lines[:400] if x.startswith("{"))) if record is not None]


def _begins_a_word(start: bytes) -> bool:
    """Whether a file whose first line is a long one may be ours."""
    keys = (b'"lang_code"', b'"senses"', b'"pos"')
    return start.removeprefix(b"\xef\xbb\xbf").startswith(b'{"') and any(key in start for key in keys)


@lru_cache(maxsize=64)
def edition_of_names(names: tuple[tuple[str, str], ...]) -> str:
    """The edition in whose language most of the (language name, code) pairs are written, English first; "" for none."""
    from langcodes import Language

    known = ("en", *(edition for edition in editions() if edition not in ("en", "simple")))
    votes: Counter[str] = Counter()
    for name, code in names:
        for edition in known:
            shown = Language.get(tag_of_code(code) or "und").display_name("nb" if edition == "no" else edition)
            votes[edition] += shown.casefold() in (name.casefold(), name.casefold().rsplit(" ", 1)[-1])
    codes = {code for _, code in names}
    best = max(known, key=lambda edition: (votes[edition], edition in codes))
    return best if votes[best] else ""
