"""WN-LMF files of any wordnet, read by the `wn` library: .xml, packed in any way streams.py knows, or in a tar file.

Before: a path. After: the WordNet adapter yields the entries. Format: https://globalwordnet.github.io/schemas/
"""

from __future__ import annotations

import re
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dictsent.adapter import Reading
from dictsent.errors import LanguageError, SourceError
from dictsent.languages import SEVERAL, key_language
from dictsent.records import Definition, Dictionary, Entry, Example, Rejected
from dictsent_adapters.streams import beginning, damage_as_source_error, is_compressed, open_plain

PARTS_OF_SPEECH = {
    "n": "noun",
    "v": "verb",
    "a": "adjective",
    "s": "adjective",
    "r": "adverb",
    "t": "phrase",
    "c": "conjunction",
    "p": "adposition",
}
POSITIONS = {"a": ("attributive",), "p": ("predicative",), "ip": ("postpositive",)}
_ROOT = re.compile(rb"<!DOCTYPE\s+LexicalResource\b|<LexicalResource[\s>]")
_LEXICON = re.compile(r"""<Lexicon(?:Extension)?\s((?:[^>"']|"[^"]*"|'[^']*')*)>""")
_ATTRIBUTE = re.compile(r"""(\w+)\s*=\s*("[^"]*"|'[^']*')""")
_ILI = re.compile(r"i\d+")
_BLOCK = 1 << 20
_TAG_LIMIT = 1 << 14


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a synset says of its senses; `definitions` holds (text, language, the sense it is limited to or "")."""

    ili: str
    part_of_speech: str
    definitions: tuple[tuple[str, str, str], ...]
    examples: tuple[Example, ...]

    def define(self, sense: str, examples: tuple[Example, ...], labels: tuple[str, ...]) -> tuple[Definition, ...]:
        """The definitions of one sense, its own examples first."""
        return tuple(
            Definition(
                text=text,
                language=language,
                part_of_speech=self.part_of_speech,
                sense=sense,
                ili=self.ili,
                examples=examples + self.examples,
                labels=labels,
            )
            for text, language, only in self.definitions
            if only in ("", sense)
        )


def is_lmf(path: Path) -> bool:
    """Whether the file's root element is a LexicalResource, or it is a tar archive that holds such a file."""
    start = beginning(path, 8192)
    if start[257:262] != b"ustar":
        return bool(_ROOT.search(start))
    try:
        with open_plain(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            files = (archive.extractfile(m) for m in archive if m.isfile() and m.name.endswith(".xml"))
            first = next((file for file in files if file), None)
            return bool(first and _ROOT.search(first.read(8192)))
    except (tarfile.TarError, EOFError, OSError):
        return False


def describe_file(path: Path) -> Dictionary:
    """Name, version, licence and so on, from the start tags of the lexicons, without loading them."""
    with _plain_files(path) as files:
        tags = [attributes for file in files for attributes in _lexicon_tags(file)]
    if not tags:
        raise SourceError("holds no lexicon", where=str(path), hint="a WN-LMF file has <Lexicon> elements")
    if len(tags) == 1:
        return describe_lexicon(tags[0])
    languages = {tag.get("language", "") for tag in tags}
    return Dictionary(
        name=path.name.split(".xml")[0].split(".tar")[0],
        language=languages.pop() if len(languages) == 1 else SEVERAL,
        title="; ".join(tag.get("label", tag.get("id", "")) for tag in tags),
        licence="; ".join(dict.fromkeys(tag["license"] for tag in tags if tag.get("license"))),
        attribution="; ".join(dict.fromkeys(tag["citation"] for tag in tags if tag.get("citation"))),
        address="; ".join(dict.fromkeys(tag["url"] for tag in tags if tag.get("url"))),
    )


def describe_lexicon(lexicon: Mapping[str, str]) -> Dictionary:
    """The attributes of one lexicon as a Dictionary; its id is the name, so that a newer version replaces it."""
    return Dictionary(
        name=lexicon.get("id") or "wordnet",
        language=lexicon.get("language", ""),
        title=lexicon.get("label", ""),
        version=lexicon.get("version", ""),
        licence=lexicon.get("license", ""),
        attribution=lexicon.get("citation") or lexicon.get("label", ""),
        address=lexicon.get("url", ""),
    )


def read_file(path: Path, language: str, reading: Reading) -> Iterator[Entry | Rejected]:
    """The lexical entries of every lexicon in the file; `language`, if given, picks among several.

    Raises:
        SourceError: no WN-LMF, truncated, without definitions, or without a lexicon of that language.
    """
    reading.total = path.stat().st_size
    defined = False
    with _plain_files(path) as files:
        for file in files:
            resource = _load(file, path)
            if file != path:
                file.unlink()
            reading.done = reading.total
            lexicons = _choose(resource.pop("lexicons"), language, path)
            meanings: dict[str, Meaning] = {}
            for lexicon in lexicons:
                _take_meanings(lexicon, meanings)
            for lexicon in lexicons:
                for record in _read_lexicon(lexicon, meanings, reading):
                    defined = defined or isinstance(record, Entry)
                    yield record
    if not defined:
        raise SourceError(
            "no definitions in this file", where=str(path), hint="this wordnet has words only: take another source"
        )


@contextmanager
def _plain_files(path: Path) -> Iterator[list[Path]]:
    """The XML files at a path: itself, or what it unpacks to, which is gone afterwards."""
    with damage_as_source_error(path), TemporaryDirectory(prefix="dictsent-") as folder:
        if beginning(path, 512)[257:262] == b"ustar":
            _unpack(path, folder)
            yield sorted(f for f in Path(folder).rglob("*.xml") if _ROOT.search(beginning(f, 8192)))
        elif not is_compressed(path):
            yield [path]
        else:
            plain = Path(folder) / "lexicon.xml"
            with open_plain(path) as packed, plain.open("wb") as unpacked:
                shutil.copyfileobj(packed, unpacked, _BLOCK)
            yield [plain]


def _unpack(path: Path, folder: str) -> None:
    """Unpack a tar archive; no member may leave the folder, be a device or a link out of it."""
    try:
        with open_plain(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            archive.extractall(folder, filter="data")
    except tarfile.FilterError as error:
        raise SourceError(f"an archive that reaches out of its folder: {error}", where=str(path)) from error


def _lexicon_tags(file: Path) -> Iterator[dict[str, str]]:
    """The attributes of the file's lexicon start tags; a tag may lie across two blocks."""
    rest = ""
    with file.open(encoding="utf-8", errors="replace") as stream:
        while block := stream.read(_BLOCK):
            text = rest + block
            end = 0
            for tag in _LEXICON.finditer(text):
                end = tag.end()
                yield {name: unescape(value[1:-1]) for name, value in _ATTRIBUTE.findall(tag[1])}
            rest = text[max(end, len(text) - _TAG_LIMIT) :]


def _load(file: Path, path: Path) -> dict[str, Any]:
    """The whole resource as wn's nested dictionaries (about five times the size of the file)."""
    from wn import Error, lmf

    try:
        return dict(lmf.load(file, progress_handler=None))
    except (Error, AssertionError, KeyError, ValueError) as error:
        cause = error.__cause__ or error
        raise SourceError(f"no well-formed WN-LMF: {cause}", where=str(path), hint="get the file again") from error


def _choose(lexicons: list[dict[str, Any]], language: str, path: Path) -> list[dict[str, Any]]:
    if not language or len(lexicons) == 1:
        return lexicons
    chosen = [lexicon for lexicon in lexicons if _same_language(lexicon["language"], language)]
    if not chosen:
        held = ", ".join(dict.fromkeys(lexicon["language"] for lexicon in lexicons))
        raise SourceError(f"holds no lexicon of the language {language}", where=str(path), hint=f"it holds {held}")
    return chosen


def _same_language(one: str, other: str) -> bool:
    try:
        return key_language(one) == key_language(other)
    except LanguageError:
        return one == other


def _take_meanings(lexicon: dict[str, Any], meanings: dict[str, Meaning]) -> None:
    """Move the synsets out of a lexicon, so that their relations are released before the entries are read."""
    synsets = lexicon.pop("synsets", [])
    while synsets:
        synset = synsets.pop()
        definitions = tuple(
            (
                " ".join(definition["text"].split()),
                definition.get("language") or lexicon["language"],
                definition.get("sourceSense", ""),
            )
            for definition in synset.get("definitions", ())
            if definition["text"].strip()
        )
        if synset.get("external") and synset["id"] in meanings:
            continue
        meanings[synset["id"]] = Meaning(
            interlingual(synset.get("ili")),
            PARTS_OF_SPEECH.get(synset.get("partOfSpeech", ""), ""),
            definitions,
            tuple(_examples(synset)),
        )


def _examples(element: Mapping[str, Any]) -> Iterator[Example]:
    for example in element.get("examples", ()):
        if text := unquoted(example["text"]):
            yield Example(text, source=(example.get("meta") or {}).get("source", ""))


def interlingual(ili: str | None) -> str:
    """An identifier of the interlingual index, "" for a proposed one ("in") or none."""
    return ili if ili and _ILI.fullmatch(ili) else ""


def unquoted(text: str) -> str:
    """An example without the quotes that some wordnets put around it."""
    text = text.strip()
    return text[1:-1].strip() if len(text) > 2 and text[0] == text[-1] == '"' and '"' not in text[1:-1] else text


def _read_lexicon(
    lexicon: dict[str, Any], meanings: Mapping[str, Meaning], reading: Reading
) -> Iterator[Entry | Rejected]:
    entries = lexicon.pop("entries", [])
    entries.reverse()
    while entries:
        entry = entries.pop()
        lemma = entry.get("lemma") or {}
        place = f"{lexicon['id']}:{lexicon['version']}, {entry['id']}"
        definitions: list[Definition] = []
        for sense in entry.get("senses", ()):
            if sense.get("external"):
                continue
            if "writtenForm" not in lemma:
                yield Rejected("headword in another lexicon", place, sense["id"])
            elif (meaning := meanings.get(sense["synset"])) is None:
                yield Rejected("synset in no lexicon of this file", place, sense["synset"])
            else:
                labels = POSITIONS.get(sense.get("adjposition", ""), ())
                found = meaning.define(sense["id"], tuple(_examples(sense)), labels)
                definitions += found
                if not found:
                    reading.counts["senses without a definition"] += 1
        if definitions and lemma["writtenForm"].strip():
            yield Entry(
                headword=lemma["writtenForm"],
                language=lexicon["language"],
                definitions=tuple(definitions),
                spellings=tuple(f["writtenForm"] for f in entry.get("forms", ()) if f.get("script")),
                place=place,
            )
