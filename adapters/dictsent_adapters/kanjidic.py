"""KANJIDIC: what each kanji means, in English and other languages; KANJIDIC2 (XML) and the older text form.

Before: elements.py or streams.py. After: an entry for each kanji, its meanings in one language as one translation.
Formats: https://www.edrdg.org/wiki/index.php/KANJIDIC_Project and the DTD in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dictsent.adapter import Adapter
from dictsent.errors import SourceError
from dictsent.records import Definition, Dictionary, Entry, Rejected
from dictsent_adapters.elements import iterate_elements, plain_text
from dictsent_adapters.streams import beginning, read_lines
from dictsent_adapters.tags import tag_of_code

_ROOT = re.compile(rb"<!DOCTYPE\s+kanjidic2\b|<kanjidic2[\s>]")
_DATE = re.compile(rb"<date_of_creation>\s*(\d{4}-\d\d-\d\d)|# KANJIDIC[^\n]*?(\d{4}-\d\d-\d\d)")
_LINE = re.compile(r"(?P<kanji>\S) [0-9A-Fa-f]{4} U[0-9a-fA-F]{4,6} .*?(?P<meanings>(?:\{[^{}]*\}\s*)*)")
_MEANING = re.compile(r"\{([^{}]*)\}")
_ENCODINGS = ("utf-8", "euc-jp")
_LICENCE = "https://www.edrdg.org/edrdg/licence.html"


class Kanjidic(Adapter):
    """Reads KANJIDIC2 and KANJIDIC."""

    name = "kanjidic"
    summary = "KANJIDIC: the meanings of kanji (KANJIDIC2 XML, or the text form in EUC-JP or UTF-8)"

    def matches(self, path: Path) -> bool:
        """Whether it is XML with the root kanjidic2, or lines of KANJIDIC's form."""
        start = beginning(path, 1 << 15)
        return bool(_ROOT.search(start) or _encoding(start))

    def describe(self, source: str) -> Dictionary:
        """Name, and the date that the file gives."""
        date = _DATE.search(beginning(Path(source), 1 << 16))
        return Dictionary(
            name="kanjidic",
            language=self.options.language or "ja",
            title="KANJIDIC",
            version=(date[1] or date[2]).decode() if date else "",
            licence=_LICENCE,
            attribution="Electronic Dictionary Research and Development Group",
            address="https://www.edrdg.org/",
        )

    def read(self, source: str) -> Iterator[Entry | Rejected]:
        """One entry a kanji. Raises SourceError for damaged XML or another encoding."""
        path = Path(source)
        if _ROOT.search(beginning(path, 1 << 15)):
            for element in iterate_elements(path, ["character"], self.reading):
                yield _read_character(element)
            return
        encoding = _encoding(beginning(path, 1 << 15))
        if not encoding:
            raise SourceError("no lines of KANJIDIC's in EUC-JP or UTF-8", where=source)
        for line in read_lines(path, encoding, self.reading):
            if line.text.startswith("#") or not (line.text.strip() or line.fault):
                continue
            found = None if line.fault else _LINE.fullmatch(line.text.strip())
            place = f"{path.name}, line {line.number}"
            if found is None:
                yield Rejected(line.fault or "not of KANJIDIC's form", place, line.text[:200])
                continue
            yield _entry(found["kanji"], {"en": _MEANING.findall(found["meanings"])}, place)


def _encoding(start: bytes) -> str:
    """The encoding in which most of the first lines are of KANJIDIC's form, "" for none."""
    lines = [line for line in start.split(b"\n")[:20] if not line.startswith(b"#")][:-1]
    for encoding in _ENCODINGS:
        try:
            texts = [line.decode(encoding).strip() for line in lines]
        except UnicodeDecodeError:
            continue
        if texts and 2 * sum(bool(_LINE.fullmatch(text)) for text in texts) > len(texts):
            return encoding
    return ""


def _read_character(character: Any) -> Entry | Rejected:
    kanji = (character.findtext("literal") or "").strip()
    code = next((plain_text(value) for value in character.iterfind("codepoint/cp_value")), "?")
    if not kanji:
        return Rejected("no headword", f"code point {code}", plain_text(character)[:200])
    meanings: dict[str, list[str]] = {}
    for meaning in character.iterfind("reading_meaning/rmgroup/meaning"):
        language = tag_of_code(meaning.get("m_lang", "en")) or "und"
        meanings.setdefault(language, []).append(plain_text(meaning))
    return _entry(kanji, meanings, f"code point {code}")


def _entry(kanji: str, meanings: dict[str, list[str]], place: str) -> Entry | Rejected:
    definitions = tuple(
        Definition(text=text, language=language, translation=True)
        for language, texts in meanings.items()
        if (text := "; ".join(dict.fromkeys(one.strip() for one in texts if one.strip())))
    )
    if not definitions:
        return Rejected("no meaning", place, kanji)
    return Entry(headword=kanji, language="ja", definitions=definitions, place=place)
