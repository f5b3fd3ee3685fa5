"""StarDict dictionaries: .ifo, .idx or .idx.gz, .dict or .dict.dz, .syn.

Before: streams.py unpacks the .dict.dz. After: articles of the text types (m, l, g, x, h, y, t, w, k) as plain text.
Format: https://github.com/huzheng001/stardict-3/blob/master/dict/doc/StarDictFileFormat
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from dictsent.adapter import Adapter, Options, option
from dictsent.errors import SourceError
from dictsent.languages import find_tag, key_language
from dictsent.records import Definition, Dictionary, Entry, Rejected
from dictsent_adapters.article import Sense, parse_article
from dictsent_adapters.markup import has_markup, markup_to_text
from dictsent_adapters.streams import LINE_LIMIT, beginning, damage_as_source_error, open_plain, open_seekable

_MAGIC = (b"StarDict's dict ifo file", b"StarDict's treedict ifo file")
_PLAIN, _MARKED = "mlnw", "ghxk"
_WORD_LIMIT = 4096  # the format allows 256 bytes; some tools write more


@dataclass(frozen=True, kw_only=True)
class StarDictOptions(Options):
    """What the StarDict reader can be told."""

    definition_language: str = option("language of the definitions, if not the headwords'", default="")
    whole: bool = option("keep whole articles, not only the first paragraph of each sense", default=False)


@dataclass(frozen=True, slots=True)
class _Place:
    """One record of the .idx."""

    word: str
    offset: int
    size: int


class StarDict(Adapter):
    """Reads a StarDict dictionary by its .ifo file."""

    name = "stardict"
    summary = "StarDict dictionaries (.ifo with .idx, .dict or .dict.dz, .syn)"
    Options = StarDictOptions

    def matches(self, path: Path) -> bool:
        """Whether the file begins as every .ifo does."""
        return beginning(path, 64).removeprefix(b"\xef\xbb\xbf").startswith(_MAGIC)

    def describe(self, source: str) -> Dictionary:
        """Title, author, date and address from the .ifo."""
        path = Path(source)
        told = _read_ifo(path)
        return Dictionary(
            name=path.stem,
            language=self.options.language,
            title=told.get("bookname", path.stem),
            version=told.get("date", ""),
            attribution=told.get("author", ""),
            address=told.get("website", ""),
            licence=told["description"][:200] if "licen" in told.get("description", "").lower() else "",
        )

    def read(self, source: str) -> Iterator[Entry | Rejected]:
        """One entry a record of the .idx, its synonyms from the .syn as other spellings.

        Raises:
            SourceError: a file is missing or damaged, the .idx ends within a record, or nothing tells the language.
        """
        path = Path(source)
        told = _read_ifo(path)
        language = self.options.language
        if not language:
            raise SourceError("nothing tells the language", where=source, hint="give --lang")
        index = _part(path, ".idx")
        wide = told.get("idxoffsetbits") == "64"
        synonyms = _read_synonyms(path)
        self.reading.total = index.stat().st_size
        number = -1
        with open_seekable(_part(path, ".dict")) as text:
            for number, record in enumerate(_read_index(index, wide)):
                yield self._read_record(record, text, told.get("sametypesequence", ""), synonyms.get(number, ()))
        self.reading.done = self.reading.total
        self._check_counts(told, number + 1, index)

    def files(self, path: Path) -> list[Path]:
        """The .ifo and the files beside it."""
        parts = [_find(path, suffix) for suffix in (".idx", ".dict", ".syn")]
        return [path, *(part for part in parts if part)]

    def _check_counts(self, told: dict[str, str], number: int, index: Path) -> None:
        said, size = told.get("wordcount", ""), told.get("idxfilesize", "")
        if size.isdecimal() and index.suffix == ".idx" and int(size) != index.stat().st_size:
            self.reading.notes.append(f"the .ifo speaks of an .idx of {size} bytes, it has {index.stat().st_size}")
        if said.isdecimal() and int(said) != number:
            self.reading.notes.append(f"the .ifo speaks of {said} words, the .idx holds {number}")

    def _read_record(self, record: _Place, text: BinaryIO, types: str, synonyms: tuple[str, ...]) -> Entry | Rejected:
        place = f"{record.word!r}, offset {record.offset}"
        if not record.word.strip():
            return Rejected("empty headword", place)
        if record.size > LINE_LIMIT:
            return Rejected("article too long", place)
        text.seek(record.offset)
        content = text.read(record.size)
        if len(content) < record.size:
            return Rejected("offset beyond the file", place)
        try:
            senses = [s for kind, data in _split_types(content, types) for s in self._senses(kind, data, record.word)]
        except (UnicodeDecodeError, struct.error, IndexError):
            return Rejected("malformed article", place, content[:200].decode("utf-8", "replace"))
        if not senses:
            return Rejected("no text", place)
        given = self.options.definition_language
        target = find_tag(given) if given else self.options.language
        definitions = tuple(
            Definition(
                text=sense.text,
                language=target,
                part_of_speech=sense.part_of_speech,
                examples=sense.examples,
                labels=sense.labels,
                translation=key_language(target) != key_language(self.options.language),
            )
            for sense in senses
        )
        word = record.word.strip()
        return Entry(
            headword=word,
            language=self.options.language,
            definitions=definitions,
            spellings=tuple(dict.fromkeys(s for s in synonyms if s.strip() and s != word)),
            place=place,
        )

    def _senses(self, kind: str, data: bytes, word: str) -> tuple[Sense, ...]:
        if kind not in _PLAIN + _MARKED:
            return ()
        text = data.decode("utf-8")
        if kind in _MARKED or has_markup(text):
            text = markup_to_text(text, lines_matter=kind not in "hk")
        return parse_article(text, word, whole=self.options.whole).senses


def _read_ifo(path: Path) -> dict[str, str]:
    content = beginning(path, 1 << 16).decode("utf-8-sig", "replace")
    if not content.startswith("StarDict's"):
        raise SourceError("is no .ifo file", where=str(path), hint="give the .ifo of the dictionary")
    pairs = (line.split("=", 1) for line in content.splitlines() if "=" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def _find(ifo: Path, suffix: str) -> Path | None:
    """The file of that suffix beside the .ifo, packed or not; never one elsewhere."""
    for packed in (".gz", "") if suffix == ".idx" else (".dz", ""):
        if (found := ifo.with_suffix(suffix + packed)).is_file():
            return found
    return None


def _part(ifo: Path, suffix: str) -> Path:
    found = _find(ifo, suffix)
    if not found:
        raise SourceError(f"its {suffix} file is missing", where=str(ifo), hint=f"{ifo.stem}{suffix} belongs beside it")
    return found


def _read_index(index: Path, wide: bool) -> Iterator[_Place]:
    """word, NUL, offset (32 or 64 bits), size (32 bits), numbers in network byte order."""
    form = struct.Struct(">QI" if wide else ">II")
    for word, numbers in _read_words(index, form.size):
        offset, size = form.unpack(numbers)
        yield _Place(word, offset, size)


def _read_synonyms(ifo: Path) -> dict[int, tuple[str, ...]]:
    """The .syn's words by the number of the .idx record they stand for."""
    synonyms: dict[int, tuple[str, ...]] = {}
    if file := _find(ifo, ".syn"):
        for word, number in _read_words(file, 4):
            place = int.from_bytes(number, "big")
            synonyms[place] = (*synonyms.get(place, ()), word.strip())
    return synonyms


def _read_words(file: Path, size: int) -> Iterator[tuple[str, bytes]]:
    """A file of words, each ended by NUL and followed by `size` bytes."""
    rest = b""
    with damage_as_source_error(file), open_plain(file) as stream:
        while block := stream.read(1 << 16):
            rest += block
            start = 0
            while (end := rest.find(b"\0", start)) >= 0 and len(rest) >= end + 1 + size:
                yield rest[start:end].decode("utf-8", "replace"), rest[end + 1 : end + 1 + size]
                start = end + 1 + size
            rest = rest[start:]
            if rest.find(b"\0") < 0 and len(rest) > _WORD_LIMIT:
                raise SourceError("is no index: a word without an end", where=str(file))
    if rest:
        raise SourceError("truncated within a record", where=str(file), hint="get the file again")


def _split_types(content: bytes, types: str) -> Iterator[tuple[str, bytes]]:
    """(type, data) fields of an article; lower-case types end at NUL, upper-case ones begin with their size."""
    start = 0
    for place in range(len(types) or len(content)):
        if start >= len(content):
            return
        last = bool(types) and place == len(types) - 1
        kind = types[place] if types else chr(content[start])
        start += not types
        if last:
            end = following = len(content)
        elif kind.isupper():
            (size,) = struct.unpack_from(">I", content, start)
            start, end = start + 4, start + 4 + size
            following = end
        else:
            end = content.find(b"\0", start)
            end = len(content) if end < 0 else end
            following = end + 1
        yield kind, content[start:end]
        start = following
