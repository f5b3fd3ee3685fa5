"""The Oxford definition data in the three forms that DefSent and its relatives use, told apart by content.

Before: a file, or a folder with train.txt, valid.txt and test.txt. After: entries; definitions are detokenised as
DefSent does (tokenised.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from dictsent.adapter import Adapter
from dictsent.errors import SourceError
from dictsent.records import Definition, Dictionary, Entry, Example, Rejected
from dictsent_adapters.streams import Line, read_lines, sample_lines, text_encoding
from dictsent_adapters.tokenised import detokenise

SPLITS = ("train.txt", "valid.txt", "test.txt")
MORE = "<|list_more_def|>"
_OURS = "dictsent"  # rows of our own export are plain text, never tokenised
_NUMBERED = re.compile(r"(?P<word>.+)%(?P<source>\w+)\.\d+")
_PARTS = ("noun", "verb", "adjective", "adverb", "pronoun", "preposition", "conjunction", "interjection", "determiner")
_NOTHING = ("", "[]", "<unk>", "none")


class Oxford(Adapter):
    """Reads the set of Ishiwatari et al. (2019), `word, example, definition` rows, and DefSent+'s published form."""

    name = "oxford"
    summary = "Oxford definition data: word%oxford.N rows, word/example/definition rows, DefSent+'s <|list_more_def|>"

    def matches(self, path: Path) -> bool:
        """Whether every file the path stands for is in one of the three forms."""
        files = source_files(path)
        return bool(files) and all(_form(sample_lines(file)) for file in files)

    def describe(self, source: str) -> Dictionary:
        """A name from the data: "oxford" for word%oxford.N rows, the file's own otherwise."""
        path = Path(source)
        lines = sample_lines(source_files(path)[0]) if source_files(path) else []
        numbered = _NUMBERED.match(lines[0].partition("\t")[0]) if lines else None
        return Dictionary(
            name=numbered["source"] if numbered else path.stem,
            language=self.options.language or "en",
            title=f"{path.name} (definition data)",
            attribution="Ishiwatari et al., NAACL 2019" if numbered else "",
        )

    def read(self, source: str) -> Iterator[Entry | Rejected]:
        """One entry a row. Raises SourceError where a file is in none of the forms, or most of its rows are not."""
        files = source_files(Path(source))
        if not files:
            raise SourceError("no train.txt, valid.txt or test.txt in it", where=source)
        for file in files:
            form = _form(sample_lines(file))
            if form is None:
                raise SourceError("in none of the three forms", where=str(file), hint="tsv reads other tables")
            rows = spoilt = 0
            for line in read_lines(file, text_encoding(file), self.reading):
                if not line.text.strip() and not line.fault:
                    continue
                record = self._read_line(line, file.name, form)
                rows, spoilt = rows + 1, spoilt + isinstance(record, Rejected)
                yield record
            if 2 * spoilt > rows:
                raise SourceError(f"{spoilt} of {rows} lines are in another form than the first", where=str(file))

    def files(self, path: Path) -> list[Path]:
        """The splits of a folder, or the file itself."""
        return source_files(path)

    def _read_line(self, line: Line, file: str, form: _Form) -> Entry | Rejected:
        place = f"{file}, line {line.number}"
        cells = line.text.split("\t")
        if line.fault or len(cells) < 2:
            return Rejected(line.fault or "no tab", place, line.text[:200].encode("utf-8", "replace").decode())
        language = self.options.language or "en"
        headword, definitions = form(cells, language)
        if not headword or not definitions:
            return Rejected("no definition" if headword else "empty headword", place, line.text[:200])
        return Entry(headword=headword, language=language, definitions=definitions, place=place)


_Form = Callable[[Sequence[str], str], tuple[str, tuple[Definition, ...]]]


def source_files(path: Path) -> list[Path]:
    """The splits with something in them of a folder that has train.txt, or the file itself."""
    if not path.is_dir():
        return [path]
    found = [path / name for name in SPLITS if (path / name).is_file()]
    return [file for file in found if file.stat().st_size] if path / SPLITS[0] in found else []


def _form(lines: Sequence[str]) -> _Form | None:
    """The reader of the rows' form, None where they are in none of the three."""
    lines = [line for line in lines if line.strip()]
    rows = [line.split("\t") for line in lines]
    if not rows:
        return None
    if _most(_NUMBERED.fullmatch(cells[0]) is not None and len(cells) >= 4 for cells in rows):
        return _read_numbered
    if any(MORE in line for line in lines) and _most(len(cells) == 2 for cells in rows):
        return _read_published
    triples = [cells for cells in rows if len(cells) == 3]
    if 5 * len(triples) >= 4 * len(rows) and _is_exemplified(triples):
        return _read_exemplified
    return None


def _is_exemplified(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the second cells use the words and the third ones, texts too, mostly do not: else a table of its own."""
    defined = sum(_shown(word, text) for word, _, text in rows)
    spoken = sum(" " in text.strip() for *_, text in rows)
    return _most(_shown(word, example) for word, example, _ in rows) and 2 * defined <= len(rows) <= 2 * spoken


def _most(tests: Iterator[bool]) -> bool:
    """Whether at least four fifths hold."""
    found = list(tests)
    return 5 * sum(found) >= 4 * len(found)


def _shown(word: str, example: str) -> bool:
    """Whether a text of several words uses the word, or a form of it that begins as it does."""
    stem = word.split()[0].casefold() if word.split() else ""
    stem = stem[: max(3, len(stem) - 2)]
    return bool(stem) and " " in example.strip() and stem in example.casefold()


def _read_numbered(cells: Sequence[str], language: str) -> tuple[str, tuple[Definition, ...]]:
    """word%oxford.N, part of speech or source, source or context marker, definition, examples ..."""
    numbered = _NUMBERED.fullmatch(cells[0].strip())
    if numbered and numbered["source"] == _OURS:
        examples = tuple(Example(cell) for cell in cells[4:] if cell.strip())
        text = cells[3].strip() if len(cells) > 3 else ""
        return numbered["word"].strip(), _definitions([text], language, examples, part=cells[1].strip())
    headword = (numbered["word"] if numbered else cells[0]).replace("_", " ").strip()
    text = detokenise(cells[3], language) if len(cells) > 3 else ""
    part = next((cell.lower() for cell in cells[1:3] if cell.lower() in _PARTS), "")
    examples = tuple(Example(detokenise(cell, language)) for cell in cells[4:] if cell.strip().lower() not in _NOTHING)
    return headword, _definitions([text], language, examples, part=part, sense=cells[0].strip() if numbered else "")


def _read_exemplified(cells: Sequence[str], language: str) -> tuple[str, tuple[Definition, ...]]:
    """word, example, definition."""
    if len(cells) < 3:
        return cells[0].strip(), ()
    example = detokenise(cells[1], language)
    examples = () if example.lower() in _NOTHING else (Example(example),)
    return cells[0].replace("_", " ").strip(), _definitions([detokenise(cells[2], language)], language, examples)


def _read_published(cells: Sequence[str], language: str) -> tuple[str, tuple[Definition, ...]]:
    """entry, definitions separated by <|list_more_def|>."""
    return cells[0].strip(), _definitions(cells[1].split(MORE), language, ())


def _definitions(
    texts: Sequence[str], language: str, examples: tuple[Example, ...], *, part: str = "", sense: str = ""
) -> tuple[Definition, ...]:
    return tuple(
        Definition(text=text.strip(), language=language, part_of_speech=part, sense=sense, examples=examples)
        for text in texts
        if text.strip()
    )
