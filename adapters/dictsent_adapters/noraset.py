"""Definition-modelling data in the form of Noraset et al. (2017): word, part of speech, source, tokenised definition.

Before: a file, or a folder with train.txt, valid.txt and test.txt. After: entries in the language that the user, a
folder's name ("Japanese") or the file's ("-IT-") says; definitions are detokenised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from dictsent.adapter import Adapter
from dictsent.errors import SourceError
from dictsent.records import Definition, Dictionary, Entry, Rejected
from dictsent_adapters.oxford import source_files
from dictsent_adapters.streams import Line, read_lines, sample_lines, text_encoding
from dictsent_adapters.tags import tag_of_code, tag_of_name
from dictsent_adapters.tokenised import detokenise

_PARTS = frozenset(
    (
        *("noun", "propn", "verb", "adj", "adjective", "adv", "adverb", "pron", "pronoun", "adp", "preposition"),
        *("conj", "cconj", "sconj", "conjunction", "intj", "interjection", "num", "numeral", "det", "determiner"),
        *("part", "particle", "participle", "article", "prefix", "suffix", "phrase", "letter", "symbol", "x", "other"),
    )
)
_DEPTH, _SHORT = 4, 3  # "Dan" and "Ben" are languages too, but more often somebody's folder
_CODE = re.compile(r"(?:^|[-_.])([A-Z]{2,3})(?=[-_.])")


class Noraset(Adapter):
    """Reads the tab-separated rows of definition-modelling sets."""

    name = "noraset"
    summary = "definition-modelling data: word, part of speech, source, tokenised definition (Noraset et al. 2017)"

    def matches(self, path: Path) -> bool:
        """Whether rows have four cells, the second a part of speech, the third one of a few sources."""
        files = source_files(path)
        return bool(files) and all(_in_form(sample_lines(file)) for file in files)

    def describe(self, source: str) -> Dictionary:
        """A name from the path, since every file is called train.txt, from the language's folder on."""
        path = Path(source).resolve()
        start = _language_part(path)
        parts = path.parts[start:] if start >= 0 else path.parts[-2:]
        name = "-".join([*parts[:-1], Path(parts[-1]).stem if path.is_file() else parts[-1]])
        return Dictionary(name=name.lower(), language=self._language(path), title=" ".join(parts))

    def read(self, source: str) -> Iterator[Entry | Rejected]:
        """One entry a row. Raises SourceError where nothing tells the language or most rows are in another form."""
        path = Path(source)
        language = self._language(path.resolve())
        if not language:
            raise SourceError("nothing tells the language", where=source, hint="give --lang")
        for file in source_files(path):
            rows = spoilt = 0
            for line in read_lines(file, text_encoding(file), self.reading):
                record = _read_line(line, file.name, language)
                rows, spoilt = rows + 1, spoilt + isinstance(record, Rejected)
                yield record
            if 2 * spoilt > rows:
                raise SourceError(f"{spoilt} of {rows} lines are in another form", where=str(file))
        if not self.options.language:
            self.reading.notes.append(f"language taken from the path: {language}")
        self.reading.notes.append("the text was tokenised and mostly lowercased: detokenised, case is lost")

    def files(self, path: Path) -> list[Path]:
        """The splits of a folder, or the file itself."""
        return source_files(path)

    def _language(self, path: Path) -> str:
        if self.options.language:
            return str(self.options.language)
        if code := _CODE.search(path.name):
            return tag_of_code(code[1].lower())
        part = _language_part(path)
        return tag_of_name(path.parts[part]) if part >= 0 else ""


def _in_form(lines: list[str]) -> bool:
    rows = [line.split("\t") for line in lines if line.strip()]
    good = [cells for cells in rows if len(cells) == 4 and cells[1].casefold() in _PARTS and cells[3].strip()]
    return bool(rows) and 4 * len(good) >= 3 * len(rows) and 20 * len({cells[2] for cells in good}) <= 20 + len(good)


def _language_part(path: Path) -> int:
    """Which of the path's last parts is the English name of a language, -1 for none; the last one counts."""
    last = len(path.parts) - 1
    for place in range(last, max(last - _DEPTH, 0), -1):
        part = path.parts[place]
        if len(part) > _SHORT and part.isalpha() and part.istitle() and tag_of_name(part):
            return place
    return -1


def _read_line(line: Line, file: str, language: str) -> Entry | Rejected:
    place = f"{file}, line {line.number}"
    cells = [cell.strip() for cell in line.text.split("\t")]
    if line.fault or len(cells) < 4 or not cells[0] or not cells[3]:
        text = line.text[:200].encode("utf-8", "replace").decode()
        return Rejected(line.fault or ("too few columns" if len(cells) < 4 else "empty cell"), place, text)
    definition = Definition(text=detokenise(cells[3], language), language=language, part_of_speech=cells[1].lower())
    return Entry(headword=cells[0].replace("_", " "), language=language, definitions=(definition,), place=place)
