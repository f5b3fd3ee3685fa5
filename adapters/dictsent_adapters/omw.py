"""Tab files of the Open Multilingual Wordnet: lemmas, definitions and examples by Princeton 3.0 synset.

Before: a wn-data-xxx.tab file. After: entries with interlingual ids. Format: https://omwn.org/ (a header line
`# name, language, address, licence`; rows `offset-pos, xxx:lemma, word` and `offset-pos, xxx:def|exe, order, text`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dictsent.adapter import Adapter
from dictsent.errors import SourceError
from dictsent.records import Definition, Dictionary, Entry, Example, Rejected
from dictsent_adapters.interlingual import interlingual_id
from dictsent_adapters.streams import Line, read_lines, sample_lines, text_encoding
from dictsent_adapters.tags import tag_of_code
from dictsent_adapters.wordnet.lmf import PARTS_OF_SPEECH

_ROW = re.compile(r"\d{8}-[a-z]\t(?:\w+:)?(?:lemma|def|exe)\b")
_GAPS = ("GAP!", "PSEUDOGAP!")


@dataclass(slots=True)
class _Synset:
    """What the rows of one synset say; `lemmas` maps words to the line they stand on."""

    definitions: list[tuple[str, str]] = field(default_factory=list)
    examples: list[Example] = field(default_factory=list)
    lemmas: dict[str, int] = field(default_factory=dict)
    line: int = 0


class Omw(Adapter):
    """Reads wn-data-*.tab files."""

    name = "omw"
    summary = "Open Multilingual Wordnet tab files (wn-data-xxx.tab), with interlingual ids by WordNet 3.0 offsets"

    def matches(self, path: Path) -> bool:
        """Whether its first rows, after a header, are offset-pos and a lemma, def or exe."""
        lines = [line for line in sample_lines(path) if line.strip() and not line.startswith("#")]
        return bool(lines) and 5 * sum(bool(_ROW.match(line)) for line in lines) >= 4 * len(lines)

    def describe(self, source: str) -> Dictionary:
        """Name, language, address and licence from the header line."""
        path = Path(source)
        header = next((line for line in sample_lines(path) if line.startswith("#")), "#")
        title, code, address, licence = [cell.strip() for cell in (header[1:] + "\t\t\t").split("\t")[:4]]
        slug = "-".join(re.findall(r"\w+", title.split(" (")[0].lower()))
        return Dictionary(
            name="-".join(filter(None, ("omw", code, slug))) if title else path.stem,
            language=self.options.language or tag_of_code(code),
            title=title or path.name,
            licence=licence,
            attribution=title,
            address=address,
        )

    def read(self, source: str) -> Iterator[Entry | Rejected]:
        """One entry a lemma, its senses in the order of the file.

        Raises:
            SourceError: no definitions in the file, or nothing tells the language.
        """
        language = self.describe(source).language
        if not language:
            raise SourceError("nothing tells the language", where=source, hint="give --lang")
        path, synsets = Path(source), dict[str, _Synset]()
        for line in read_lines(path, text_encoding(path), self.reading):
            if line.text.startswith("#") or not (line.text.strip() or line.fault):
                continue
            if reason := self._take(line, synsets, language):
                text = line.text[:200].encode("utf-8", "replace").decode()
                yield Rejected(reason, f"{path.name}, line {line.number}", text)
        if not any(synset.definitions for synset in synsets.values()):
            raise SourceError(
                "no definitions in this file", where=source, hint="this wordnet has words only: take another source"
            )
        yield from self._entries(synsets, language, path.name)

    def _take(self, line: Line, synsets: dict[str, _Synset], language: str) -> str:
        """Add a row to its synset; why it cannot be used, "" if it can."""
        cells = [cell.strip() for cell in line.text.split("\t")]
        if line.fault or len(cells) < 3 or not _ROW.match(line.text):
            return line.fault or ("too few columns" if len(cells) < 3 else "no row of this format")
        code, _, kind = cells[1].rpartition(":") if not cells[1].startswith("lemma:") else ("", "", cells[1])
        synset = synsets.setdefault(cells[0], _Synset(line=line.number))
        text = cells[3] if len(cells) > 3 else cells[2]
        if kind == "lemma":
            word = cells[2].replace("_", " ").strip()
            if word in _GAPS:
                self.reading.counts["lexical gaps"] += 1
            elif word:
                synset.lemmas.setdefault(word, line.number)
            return "" if word else "empty lemma"
        if kind == "def":
            self.reading.counts["definition rows"] += 1
            synset.definitions += [(text, tag_of_code(code) or language)] if text else []
            return "" if text else "empty definition"
        if kind == "exe":
            synset.examples += [Example(text)] if text else []
            return "" if text else "empty example"
        self.reading.counts["rows of other kinds"] += 1
        return ""

    def _entries(self, synsets: dict[str, _Synset], language: str, file: str) -> Iterator[Entry | Rejected]:
        senses: dict[str, list[Definition]] = {}
        lines: dict[str, int] = {}
        for key, synset in synsets.items():
            definitions = _definitions(key, synset)
            if definitions and not synset.lemmas:
                yield Rejected("definition without a lemma", f"{file}, line {synset.line}", definitions[0].text[:200])
            if not definitions:
                self.reading.counts["senses without a definition"] += len(synset.lemmas)
                continue
            for word, number in synset.lemmas.items():
                senses.setdefault(word, []).extend(definitions)
                lines.setdefault(word, number)
        for word, found in senses.items():
            place = f"{file}, line {lines[word]}"
            yield Entry(headword=word, language=language, definitions=tuple(found), place=place)


def _definitions(key: str, synset: _Synset) -> list[Definition]:
    offset, _, part = key.partition("-")
    ili, examples = interlingual_id(int(offset), part), tuple(synset.examples)
    return [
        Definition(
            text=text,
            language=language,
            part_of_speech=PARTS_OF_SPEECH.get(part, ""),
            sense=key,
            ili=ili,
            examples=examples,
        )
        for text, language in synset.definitions
    ]
