"""Rows of cells as entries: which column is what, with or without a header. What tsv and csv share.

Before: a reader of rows. After: Entry and Rejected values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from dictsent.adapter import Options, option
from dictsent.errors import SourceError
from dictsent.languages import find_tag
from dictsent.records import Definition, Dictionary, Entry, Example, Rejected

_HEADWORDS = ("headword", "word", "entry", "lemma", "term", "title", "expression", "lexeme")
_DEFINITIONS = ("definition", "definitions", "gloss", "meaning", "def", "description", "explanation", "sense")
_PARTS = ("part_of_speech", "part of speech", "pos", "part-of-speech", "wordclass", "word class")
_EXAMPLES = ("example", "examples", "usage", "example sentence", "sentence")
_LANGUAGES = ("language", "lang", "language code", "lang_code")
EARLY = 1000
"""After so many lines, and every so many, a reader gives up a file whose lines it cannot use."""


@dataclass(frozen=True, kw_only=True)
class TableOptions(Options):
    """What a table's reader can be told; a column is a 1-based number or a name of the header."""

    headword: str = option("column of the headword: a number or a header name", default="")
    definition: str = option("column of the definition: a number or a header name", default="")
    part_of_speech: str = option("column of the part of speech, if any", default="")
    example: str = option("column of an example, if any", default="")
    language_column: str = option("column of the headword's language tag, if any", default="")
    definition_language: str = option("language of the definitions, if not the headwords'", default="")
    header: str = option("whether the first row names the columns", default="auto", choices=("auto", "yes", "no"))
    encoding: str = option("the file's encoding, such as latin-1; found out if not given", default="")


@dataclass(frozen=True, slots=True)
class Columns:
    """0-based positions; None for a column there is not."""

    headword: int
    definition: int
    part_of_speech: int | None = None
    example: int | None = None
    language: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one record and where it stands; `fault` says why it cannot be used, "" if it can."""

    cells: Sequence[str]
    place: str
    text: str
    fault: str = ""


def has_header(cells: Sequence[str]) -> bool:
    """Whether a first row names a headword and a definition column."""
    names = [cell.strip().casefold() for cell in cells]
    return any(name in _HEADWORDS for name in names) and any(name in _DEFINITIONS for name in names)


def find_columns(first: Sequence[str], options: TableOptions, where: str) -> tuple[Columns, bool]:
    """The columns, and whether the first row is a header.

    Raises:
        SourceError: a column that the table does not have.
    """
    asked = (options.headword, options.definition, options.part_of_speech, options.example, options.language_column)
    by_name = any(name and not name.isdecimal() for name in asked)
    header = options.header == "yes" or (options.header == "auto" and (by_name or has_header(first)))
    names = [cell.strip().casefold() for cell in first] if header else []

    def place(given: str, known: Sequence[str], otherwise: int | None) -> int | None:
        if given.isdecimal() and int(given):
            return int(given) - 1
        if given and given.casefold() in names:
            return names.index(given.casefold())
        if given:
            held = ", ".join(first) if header else f"{len(first)} columns"
            raise SourceError(f"no column {given!r}", where=where, hint=f"its first row has {held}")
        return next((names.index(name) for name in known if name in names), otherwise)

    headword, definition = place(options.headword, _HEADWORDS, 0), place(options.definition, _DEFINITIONS, None)
    if definition is None:
        definition = 1 if headword != 1 else 0
    columns = Columns(
        headword or 0,
        definition,
        place(options.part_of_speech, _PARTS, None),
        place(options.example, _EXAMPLES, None),
        place(options.language_column, _LANGUAGES, None),
    )
    return columns, header


def describe_table(source: str, options: TableOptions) -> Dictionary:
    """A table tells its name only: its language is the user's to say."""
    name = Path(source).name
    for suffix in reversed(Path(source).suffixes[-2:]):
        name = name.removesuffix(suffix)
    return Dictionary(name=name or Path(source).name, language=options.language, title=Path(source).name)


def read_table(rows: Iterable[Row], options: TableOptions, source: str) -> Iterator[Entry | Rejected]:
    """One entry a row.

    Raises:
        SourceError: most rows cannot be used, no language is known, or a column is not there.
    """
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        raise SourceError("holds no rows", where=source)
    columns, header = find_columns(first.cells, options, source)
    if not options.language and columns.language is None:
        raise SourceError("the language of its headwords is not known", where=source, hint="give --lang")
    spoilt, count = dict[str, int](), 0
    for count, row in enumerate(rows if header else chain((first,), rows), start=1):
        record = _read_row(row, columns, options)
        if isinstance(record, Rejected):
            spoilt[record.reason] = spoilt.get(record.reason, 0) + 1
            if not count % EARLY:
                check_spoilt(spoilt, count, source)
        yield record
    check_spoilt(spoilt, count, source)
    if not count:
        raise SourceError("holds a header and nothing else", where=source)


def check_spoilt(spoilt: dict[str, int], count: int, source: str) -> None:
    """Raise SourceError where more than half of the lines were rejected."""
    if 2 * sum(spoilt.values()) > count:
        reason = max(spoilt, key=lambda reason: spoilt[reason])
        raise SourceError(
            f"{sum(spoilt.values())} of {count} lines cannot be used, most because of: {reason}",
            where=source,
            hint="is it the right adapter, and are the columns right?",
        )


def _read_row(row: Row, columns: Columns, options: TableOptions) -> Entry | Rejected:
    def cell(column: int | None) -> str:
        return row.cells[column].replace("\n", " ").strip() if column is not None and column < len(row.cells) else ""

    fault, headword, text = row.fault, cell(columns.headword), cell(columns.definition)
    if not fault and not headword:
        fault = "empty headword"
    elif not fault and not text:
        fault = "empty definition" if columns.definition < len(row.cells) else "too few columns"
    if fault:
        return Rejected(fault, row.place, row.text[:200])
    language = cell(columns.language) or options.language
    if not language:
        return Rejected("no language", row.place, row.text[:200])
    example = cell(columns.example)
    definition = Definition(
        text=text,
        language=find_tag(options.definition_language) if options.definition_language else language,
        part_of_speech=cell(columns.part_of_speech).lower(),
        examples=(Example(example),) if example else (),
    )
    return Entry(headword=headword, language=language, definitions=(definition,), place=row.place)
