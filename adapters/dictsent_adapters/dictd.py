"""Databases of the DICT server: an .index of base-64 offsets into a .dict or .dict.dz.

Before: streams.py unpacks the .dict.dz. After: article.py takes the articles apart. Formats: RFC 2229, dictfmt(1),
dictzip(1), dictd(8).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from dictsent.adapter import Adapter, Options, option
from dictsent.errors import SourceError
from dictsent.languages import find_tag, key_language
from dictsent.records import Definition, Dictionary, Entry, Rejected
from dictsent_adapters.article import Article, Sense, parse_article, parse_glossed_article
from dictsent_adapters.streams import LINE_LIMIT, beginning, known_encoding, open_seekable
from dictsent_adapters.tags import tag_of_code, tag_of_name

_DIGITS = {c: n for n, c in enumerate(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}
_LINE = re.compile(rb"[^\t\n]*\t[A-Za-z0-9+/]+\t[A-Za-z0-9+/]+(?:\t[^\t\n]*)?\r?")
_HEADER = re.compile(rb"00-?(?:database|dictionary)")
_CODES = re.compile(r"(?:^|-)([a-z]{3})-([a-z]{3})$")
_NAMES = re.compile(r"\b([A-Z][a-z]+(?: [A-Z][a-z]+)?)\s*[-–]\s*([A-Z][a-z]+(?: [A-Z][a-z]+)?)\b")
_WORDS = re.compile(r"[A-Z][a-z]+")
_VERSION = re.compile(r"\b(?:[Vv]er(?:sion|\.)?|[Vv]\.)\s*(\d[\w.]*)")
_HEAD = 1 << 20
_TITLE_LIMIT = 500


@dataclass(frozen=True, kw_only=True)
class DictdOptions(Options):
    """What the DICT reader can be told."""

    encoding: str = option("the text's encoding; UTF-8, else ISO-8859-1, if not given", default="")
    definition_language: str = option("language of the definitions, if not the headwords'", default="")
    whole: bool = option("keep whole articles, not only the first paragraph of each sense", default=False)


@dataclass(frozen=True, slots=True)
class _Told:
    """What holds for all articles; `glossed`: WikDict's layout."""

    encoding: str
    language: str
    target: str
    glossed: bool


class Dictd(Adapter):
    """Reads a DICT database by its .index file."""

    name = "dictd"
    summary = "databases of the DICT server (.index with .dict or .dict.dz)"
    Options = DictdOptions

    def matches(self, path: Path) -> bool:
        """Whether it is an .index whose lines are a headword and two base-64 numbers."""
        if path.suffix != ".index" or not path.is_file():
            return False
        lines = beginning(path, 1 << 15).split(b"\n")[:-1]
        return bool(lines) and 5 * sum(bool(_LINE.fullmatch(line)) for line in lines) >= 4 * len(lines)

    def describe(self, source: str) -> Dictionary:
        """Name from the file, the rest from the database's own 00-database entries."""
        path = Path(source)
        told = _headers(path)
        title = told.get("short", "").split("\n")[0].strip()[:_TITLE_LIMIT] or path.stem
        version = _VERSION.search(title)
        info = told.get("info", "")
        licence = next((line.strip() for line in info.split("\n") if "licen" in line.lower()), "")
        return Dictionary(
            name=path.stem,
            language=self.options.language or _languages(path, title)[0],
            title=title,
            version=version[1] if version else "",
            licence=licence[:200],
            attribution=title,
            address=told.get("url", "").split("\n")[0].strip(),
        )

    def read(self, source: str) -> Iterator[Entry | Rejected]:
        """One entry for each line of the index but the 00-database ones, in the index's order.

        Raises:
            SourceError: the .dict is missing or damaged, or nothing tells the language.
        """
        path = Path(source)
        title = self.describe(source).title
        language, target = _languages(path, title)
        language = self.options.language or language
        if not language:
            raise SourceError("nothing tells the language", where=source, hint="give --lang")
        given = self.options.definition_language
        target = find_tag(given) if given else target or language
        self.reading.total = path.stat().st_size
        with open_seekable(_text_file(path)) as text, path.open("rb") as index:
            given = self.options.encoding
            encoding = known_encoding(given) if given else _encoding(text)
            if encoding != "utf-8" and not given:
                self.reading.notes.append(f"not UTF-8: read as {encoding.upper()}")
            told = _Told(encoding, language, target, "WikDict" in title)
            number = 0
            while line := index.readline(LINE_LIMIT):
                number += 1
                self.reading.done += len(line)
                if _HEADER.match(line) or not line.strip():
                    self.reading.counts["database headers"] += bool(line.strip())
                    continue
                place = f"{path.name}, line {number}"
                yield self._read_line(line, place, text, told)

    def files(self, path: Path) -> list[Path]:
        """The index and its text file."""
        return [path, *_text_candidates(path)[:1]]

    def _read_line(self, line: bytes, place: str, text: BinaryIO, told: _Told) -> Entry | Rejected:
        fields = line.rstrip(b"\r\n").split(b"\t")
        shown = line[:200].decode(told.encoding, "replace").strip()
        if not _LINE.fullmatch(line.rstrip(b"\n")):
            return Rejected("not an index line", place, shown)
        headword = (fields[3] if len(fields) > 3 and fields[3] else fields[0]).decode(told.encoding, "replace").strip()
        offset, length = _number(fields[1]), _number(fields[2])
        text.seek(offset)
        content = text.read(min(length, LINE_LIMIT))
        if len(content) < min(length, LINE_LIMIT):
            return Rejected("offset beyond the file", place, shown)
        if length > LINE_LIMIT:
            return Rejected("article too long", place, shown)
        try:
            article = self._parse(content.decode(told.encoding), headword, told.glossed)
        except UnicodeDecodeError:
            return Rejected(f"not {told.encoding.upper()}", place, shown)
        definitions = tuple(d for sense in article.senses for d in _definitions(sense, told))
        headword = article.headword or headword
        if not definitions or not headword:
            return Rejected("empty article" if headword else "empty headword", place, shown)
        return Entry(headword=headword, language=told.language, definitions=definitions, place=place)

    def _parse(self, text: str, headword: str, glossed: bool) -> Article:
        return (
            parse_glossed_article(text, headword)
            if glossed
            else parse_article(text, headword, whole=self.options.whole)
        )


def _definitions(sense: Sense, told: _Told) -> Iterator[Definition]:
    """A sense's meanings in the headword's language, then its text, which is a translation between two languages."""
    for gloss in sense.glosses:
        yield Definition(text=gloss, language=told.language, part_of_speech=sense.part_of_speech, labels=sense.labels)
    yield Definition(
        text=sense.text,
        language=told.target,
        part_of_speech=sense.part_of_speech,
        examples=sense.examples,
        labels=sense.labels,
        translation=key_language(told.target) != key_language(told.language),
    )


def _number(digits: bytes) -> int:
    value = 0
    for digit in digits:
        value = value * 64 + _DIGITS[digit]
    return value


def _text_candidates(index: Path) -> list[Path]:
    return [p for p in (index.with_suffix(".dict.dz"), index.with_suffix(".dict")) if p.is_file()]


def _text_file(index: Path) -> Path:
    found = _text_candidates(index)
    if not found:
        raise SourceError("its text is missing", where=str(index), hint=f"{index.stem}.dict.dz belongs beside it")
    return found[0]


def _headers(index: Path) -> dict[str, str]:
    """The database's own entries (short, url, info): their text without the title line."""
    wanted: dict[str, tuple[int, int]] = {}
    with index.open("rb") as lines:
        while line := lines.readline(LINE_LIMIT):
            if _HEADER.match(line) and _LINE.fullmatch(line.rstrip(b"\n")):
                name, offset, length = line.split(b"\t")[:3]
                wanted[name.decode("ascii", "replace").rpartition("-")[2].removeprefix("00database")] = (
                    _number(offset),
                    _number(length.strip()),
                )
            elif not line.startswith(b"0") and wanted:
                break
    text = beginning(_text_file(index), _HEAD)
    found = {
        name: text[offset : offset + length].decode("utf-8", "replace") for name, (offset, length) in wanted.items()
    }
    return {name: _without_title(content) for name, content in found.items()}


def _without_title(text: str) -> str:
    lines = text.strip().split("\n")
    return "\n".join(lines[1:] if lines[0].startswith("00") else lines).strip()


def _languages(path: Path, title: str) -> tuple[str, str]:
    """The languages of headwords and text, by the file's name or the title, "" where neither tells."""
    if codes := _CODES.search(path.stem):
        return tag_of_code(codes[1]), tag_of_code(codes[2])
    for text in (path.stem.title(), title):
        for pair in _NAMES.finditer(text):
            first, second = tag_of_name(pair[1]), tag_of_name(pair[2])
            if first and second:
                return first, second
    named = [tag for word in _WORDS.findall(title) if len(word) > 4 and (tag := tag_of_name(word))]
    return (named[0], named[0]) if len(set(named)) == 1 else ("", "")


def _encoding(text: BinaryIO) -> str:
    """UTF-8 where the whole text is, else ISO-8859-1, as dictd takes it."""
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8")()
    text.seek(0)
    try:
        while block := text.read(1 << 20):
            decoder.decode(block)
    except UnicodeDecodeError:
        return "iso-8859-1"
    return "utf-8"
