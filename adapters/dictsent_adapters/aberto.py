"""Dicionário Aberto's plain text of Cândido de Figueiredo's Portuguese dictionary (1913): a zip of letters, or one.

Before: a zip or a text file. After: one entry a block. A block is `*Word*,^1`, `_f. Prov._` (part of speech and
labels), then one sense a line; `*` and `}` mark additions, `(De _x_)` is the origin, `_word_` is emphasis.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from dictsent.adapter import Adapter
from dictsent.errors import SourceError
from dictsent.records import Definition, Dictionary, Entry, Rejected
from dictsent_adapters.streams import LINE_LIMIT, beginning, damage_as_source_error

_HEAD = re.compile(r"(?:[*@}&] ?)*\*(?P<word>[^*\n]+)\*(?:\^?(?P<homonym>\d))?,?(?:\^(?P<number>\d+))?(?P<rest>.*)")
_LABELS = re.compile(r"(?:\* ?)?_(?P<labels>[^_]+\.)_(?: e _(?P<more>[^_]+\.)_)?,?(?P<rest>.*)")
_PART = re.compile(r"^(?:m|f|adj|adv|v|loc|prep|conj|pron|interj|art|pref|suf|pl|num|n)\.")
_PART_ONLY = re.compile(r"(?:(?:m|f|adj|adv|v|t|i|p|loc|prep|conj|pron|interj|art|pref|suf|pl|num|n)\. ?)+")
_ORIGIN = re.compile(r"\((?:De|Do|Da|Lat|Fr|Cp|Cast|It|Ingl|Gr|Ár|Al|T|Or|Mal|B|Contr|Alter|Cf|Por)\b.*\)?\.?$")
_EMPHASIS = re.compile(r"_([^_]+)_")


class Aberto(Adapter):
    """Reads Dicionário Aberto's plain text."""

    name = "aberto"
    summary = "Dicionário Aberto: the Portuguese dictionary of 1913 as plain text (.zip of letters, or a .txt)"

    def matches(self, path: Path) -> bool:
        """Whether the text, or the zip's first text, begins with a block `*Word*,` and its part of speech."""
        if not path.is_file():
            return False
        if beginning(path, 4) != b"PK\x03\x04":
            return _is_aberto(beginning(path, 4096))
        try:
            with zipfile.ZipFile(path) as archive:
                texts = [name for name in archive.namelist() if name.endswith(".txt")]
                return bool(texts) and _is_aberto(archive.open(texts[0]).read(4096))
        except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError):
            return False

    def describe(self, source: str) -> Dictionary:
        """What is known of this dictionary; the files do not tell."""
        return Dictionary(
            name="dicionario-aberto",
            language=self.options.language or "pt",
            title="Novo Diccionário da Língua Portuguesa, Cândido de Figueiredo (1913)",
            version="1913",
            licence="public domain",
            attribution="Dicionário Aberto",
            address="https://dicionario-aberto.net/",
        )

    def read(self, source: str) -> Iterator[Entry | Rejected]:
        """One entry a block, the letters in order. Raises SourceError for a damaged zip or none of these texts."""
        path = Path(source)
        self.reading.total = path.stat().st_size
        language = self.options.language or "pt"
        with damage_as_source_error(path), ExitStack() as stack:
            try:
                for name, text in _texts(path, stack):
                    for number, block in _blocks(text):
                        record = self._read_block(block, f"{name}, line {number}", language)
                        if record is None:
                            self.reading.counts["cross-references only"] += 1
                        else:
                            yield record
                    self.reading.done = min(self.reading.done + (1 << 18), self.reading.total)
            except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
                raise SourceError(f"damaged zip: {error}", where=source, hint="get the file again") from error
        self.reading.done = self.reading.total

    def _read_block(self, block: list[str], place: str, language: str) -> Entry | Rejected | None:
        head = _HEAD.match(block[0])
        shown = " ".join(block)[:200]
        if not head or "\ufffd" in shown:
            return Rejected("not UTF-8" if head else "no headword", place, shown)
        homonym = int(head["homonym"] or head["number"] or 0)
        definitions = tuple(_senses([head["rest"], *block[1:]], language, homonym))
        if not definitions and any(line.startswith("(") for line in block):  # `(V. _advocacia_)`
            return None
        if not definitions:
            return Rejected("no definition", place, shown)
        return Entry(headword=_plain(head["word"]), language=language, definitions=definitions, place=place)


def _is_aberto(start: bytes) -> bool:
    lines = start.decode("utf-8-sig", "replace").lstrip().split("\n")
    return len(lines) > 2 and bool(re.fullmatch(r"(?:[*@}&] ?)*\*[^*\n]+\*,.*", lines[0].strip())) and "_" in lines[1]


def _texts(path: Path, stack: ExitStack) -> Iterator[tuple[str, IO[str]]]:
    """The texts of a zip in the order of their names, or the file itself."""
    if not zipfile.is_zipfile(path):
        yield path.name, stack.enter_context(path.open(encoding="utf-8-sig", errors="replace"))
        return
    archive = stack.enter_context(zipfile.ZipFile(path))
    for name in sorted(n for n in archive.namelist() if n.endswith(".txt")):
        with archive.open(name) as member:
            yield Path(name).name, io.TextIOWrapper(member, encoding="utf-8-sig", errors="replace")


def _blocks(text: IO[str]) -> Iterator[tuple[int, list[str]]]:
    """The lines between blank lines, with the number of the first."""
    block: list[str] = []
    number = 0
    while line := text.readline(LINE_LIMIT):
        number += 1
        if line.strip():
            block.append(line.strip())
        elif block:
            yield number - len(block), block
            block = []
    if block:
        yield number - len(block) + 1, block


def _senses(lines: list[str], language: str, homonym: int) -> Iterator[Definition]:
    part, common, own = "", tuple[str, ...](), tuple[str, ...]()
    first = True
    for line in lines:
        rest = line.strip().lstrip("*@}&").strip()
        if (match := _LABELS.fullmatch(rest)) and not match["rest"].strip(" ,"):
            said = " ".join(filter(None, match.group("labels", "more")))
            if _PART.match(said):
                grammar = _PART_ONLY.match(said)
                part = grammar[0].strip() if grammar else said
                said, common, own = said[len(part) :].strip(), (), ()
                common = (said,) if said else ()
            else:
                own = (said,)
            continue
        if first and rest.startswith("(") and rest.rstrip(",").endswith(")"):  # pronunciation behind the headword
            first = False
            continue
        text = _plain(rest)
        if not text or _ORIGIN.match(text) or not any(map(str.isalnum, text)):
            continue
        first = False
        yield Definition(
            text=text,
            language=language,
            part_of_speech=part.lower().rstrip("."),
            labels=common + own,
            etymology=homonym,
        )
        own = ()


def _plain(text: str) -> str:
    return _EMPHASIS.sub(r"\1", text).replace("^", "").strip(" ,")
