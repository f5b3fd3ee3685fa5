"""Reading the store: what there is, one word's senses, and the definitions to train on.

Before: dictsent.store.ingest wrote them. After: dictsent.pairs and the command line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, distinct, func, select, text, true, union

from dictsent.records import Example
from dictsent.store.search import LANGUAGES

_CHUNK = 5_000
# Entries are walked by id (the + keeps SQLite from walking them by headword): rows come in order without a sort.
_DEFINITIONS = """
SELECT e.id, e.headword, d.text, d.language, min(a.form_of IS NOT NULL), min(a.translation),
       sum((SELECT count(*) FROM example x WHERE x.attestation_id = a.id)), min({rank})
FROM entry e NOT INDEXED CROSS JOIN definition d ON d.entry_id = e.id CROSS JOIN attestation a ON a.definition_id = d.id
JOIN source s ON s.id = a.source_id {licence}
WHERE +e.language = :language GROUP BY e.id, d.id ORDER BY e.id, d.id"""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSource:
    """One source as its own row tells it."""

    id: int
    name: str
    adapter: str
    language: str
    title: str
    version: str
    licence: str
    attribution: str
    address: str
    location: str
    checksum: str
    options: str
    records: int
    duplicates: int
    rejected: int
    ingested_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRow(KnownSource):
    """One source as the store holds it; `entries` and `definitions` count distinct ones it attests."""

    entries: int
    definitions: int


@dataclass(frozen=True, slots=True)
class DefinitionRow:
    """A definition with what decides whether it is trained on.

    `form_of` and `translation` hold only where every attestation says so. `examples` is their number, `rank` orders the
    sources: the smaller, the better.
    """

    entry: int
    headword: str
    text: str
    language: str
    form_of: bool
    translation: bool
    examples: int = 0
    rank: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One place where a definition was seen. `tag` and `definition_tag`: full language tags, "" for none."""

    source: str
    part_of_speech: str
    sense: str
    ili: str
    labels: tuple[str, ...]
    form_of: str
    etymology: int
    tag: str
    place: str
    text: str
    definition_tag: str
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class SenseView:
    """A definition of one headword with all places it was seen at."""

    text: str
    language: str
    seen: tuple[Seen, ...]


@dataclass(frozen=True, slots=True)
class EntryView:
    """A headword with everything the store knows of it."""

    headword: str
    language: str
    spellings: tuple[str, ...]
    senses: tuple[SenseView, ...]


Tables = Mapping[str, Table]


def read_known(connection: Connection, tables: Tables) -> list[KnownSource]:
    """All sources, oldest first, without counting: this costs nothing however much they attest."""
    source = tables["source"]
    return [KnownSource(**row) for row in connection.execute(select(source).order_by(source.c.id)).mappings()]


def read_source(connection: Connection, tables: Tables, source: int) -> SourceRow:
    """One source by its id, with counts of what it attests."""
    (row,) = read_sources(connection, tables, only=source)
    return row


def read_sources(connection: Connection, tables: Tables, *, only: int | None = None) -> list[SourceRow]:
    """All sources, oldest first, or the one with this id, with counts of what each attests."""
    source, attestation, definition = tables["source"], tables["attestation"], tables["definition"]
    counts = (
        select(
            attestation.c.source_id,
            func.count(distinct(definition.c.entry_id)).label("entries"),
            func.count(distinct(definition.c.id)).label("definitions"),
        )
        .join_from(attestation, definition)
        .where(attestation.c.source_id == only if only is not None else true())
        .group_by(attestation.c.source_id)
        .subquery()
    )
    query = (
        select(source, func.coalesce(counts.c.entries, 0), func.coalesce(counts.c.definitions, 0))
        .join_from(source, counts, isouter=True)
        .where(source.c.id == only if only is not None else true())
        .order_by(source.c.id)
    )
    names = [*(c.name for c in source.c), "entries", "definitions"]
    return [SourceRow(**dict(zip(names, row, strict=True))) for row in connection.execute(query)]


def read_tags(connection: Connection) -> set[str]:
    """The languages of the headwords, without counting: a step in an index for each."""
    return set(connection.scalars(text(LANGUAGES)))


def read_languages(connection: Connection, tables: Tables) -> dict[str, dict[str, int]]:
    """Entries and definitions of each headword language, most definitions first."""
    entry, definition = tables["entry"], tables["definition"]
    query = (
        select(entry.c.language, func.count(distinct(entry.c.id)), func.count(definition.c.id))
        .join_from(entry, definition)
        .group_by(entry.c.language)
        .order_by(func.count(definition.c.id).desc(), entry.c.language)
    )
    return {
        language: {"entries": entries, "definitions": definitions}
        for language, entries, definitions in connection.execute(query)
    }


def read_definitions(
    connection: Connection, *, language: str, licences: Sequence[str] = (), prefer: Sequence[str] = ()
) -> Iterator[DefinitionRow]:
    """Stream the language's definitions in the order of their entries.

    Args:
        licences: only what sources under one of these, spelt as the store has them, attest; empty for all.
        prefer: names of sources, the best first, for DefinitionRow.rank.
    """
    names = {f"prefer{i}": name for i, name in enumerate(prefer)}
    cases = "".join(f" WHEN s.name = :{key} THEN {i}" for i, key in enumerate(names))
    allowed = {f"licence{i}": licence for i, licence in enumerate(licences)}
    statement = _DEFINITIONS.format(
        rank=f"CASE{cases} ELSE {len(names)} + s.id END" if cases else "s.id",
        licence=f"AND s.licence IN ({', '.join(f':{key}' for key in allowed)})" if allowed else "",
    )
    query = text(statement).execution_options(yield_per=_CHUNK)
    for row in connection.execute(query, {"language": language, **names, **allowed}):
        yield DefinitionRow(row[0], row[1], row[2], row[3], bool(row[4]), bool(row[5]), row[6], row[7])


def read_concepts(connection: Connection) -> dict[str, int]:
    """Concepts of the interlingual index with a definition, by the language it is written in, most first."""
    query = text(
        "SELECT d.language, count(DISTINCT a.ili) FROM attestation a JOIN definition d ON d.id = a.definition_id"
        " WHERE a.ili <> '' AND a.translation = 0 GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    return {language: concepts for language, concepts in connection.execute(query)}


def read_glosses(connection: Connection, *, language: str) -> Iterator[tuple[str, str]]:
    """Stream (interlingual id, definition) once each, the definitions written in the language; ids in order."""
    query = text(
        "SELECT a.ili, d.text FROM attestation a JOIN definition d ON d.id = a.definition_id"
        " WHERE a.ili <> '' AND a.translation = 0 AND d.language = :language"
        " GROUP BY a.ili, d.text ORDER BY a.ili, min(a.id)"
    )
    for row in connection.execute(query.execution_options(yield_per=_CHUNK), {"language": language}):
        yield row[0], row[1]


def read_licences(connection: Connection, *, language: str) -> tuple[str, ...]:
    """The licences of the sources that attest definitions of the language's headwords."""
    query = text(
        "SELECT DISTINCT s.licence FROM source s WHERE s.language = :language OR EXISTS (SELECT 1 FROM attestation a"
        " JOIN definition d ON d.id = a.definition_id JOIN entry e ON e.id = d.entry_id"
        " WHERE a.source_id = s.id AND e.language = :language) ORDER BY 1"
    )
    return tuple(connection.scalars(query, {"language": language}))


def read_spellings(connection: Connection, *, language: str) -> Iterator[tuple[int, str]]:
    """Stream (entry id, another spelling of its headword)."""
    query = text(
        "SELECT DISTINCT p.entry_id, p.text FROM spelling p JOIN entry e ON e.id = p.entry_id"
        " WHERE e.language = :language ORDER BY p.entry_id"
    )
    for row in connection.execute(query.execution_options(yield_per=_CHUNK), {"language": language}):
        yield row[0], row[1]


def read_examples(connection: Connection, tables: Tables, *, language: str) -> Iterator[tuple[str, str]]:
    """Stream (definition text, example text) of the language's definitions."""
    entry, definition = tables["entry"], tables["definition"]
    attestation, example = tables["attestation"], tables["example"]
    query = (
        select(definition.c.text, example.c.text)
        .select_from(example)
        .join(attestation, attestation.c.id == example.c.attestation_id)
        .join(definition, definition.c.id == attestation.c.definition_id)
        .join(entry, entry.c.id == definition.c.entry_id)
        .where(entry.c.language == language)
        .order_by(example.c.attestation_id, example.c.position)
        .execution_options(yield_per=_CHUNK)
    )
    for row in connection.execute(query):
        yield row[0], row[1]


def read_entries(connection: Connection, tables: Tables, *, headword: str, language: str = "") -> list[EntryView]:
    """The entries written so, or with this as another spelling, in one language or all."""
    entry, spelling = tables["entry"], tables["spelling"]
    by_spelling = select(spelling.c.entry_id).where(spelling.c.text == headword)
    by_headword = select(entry.c.id).where(entry.c.headword == headword, entry.c.language.in_(text(LANGUAGES)))
    query = select(entry).where(entry.c.id.in_(union(by_headword, by_spelling)))
    if language:
        query = query.where(entry.c.language == language)
    rows = connection.execute(query.order_by(entry.c.language, entry.c.headword)).all()
    return [_entry_view(connection, tables, row) for row in rows]


def _entry_view(connection: Connection, tables: Tables, row: Any) -> EntryView:
    definition, spelling = tables["definition"], tables["spelling"]
    spellings = connection.scalars(select(spelling.c.text).distinct().where(spelling.c.entry_id == row.id))
    senses = connection.execute(select(definition).where(definition.c.entry_id == row.id).order_by(definition.c.id))
    views = tuple(SenseView(s.text, s.language, _seen(connection, tables, s)) for s in senses.all())
    return EntryView(row.headword, row.language, tuple(spellings), views)


def _seen(connection: Connection, tables: Tables, sense: Any) -> tuple[Seen, ...]:
    attestation, source = tables["attestation"], tables["source"]
    query = (
        select(attestation, source.c.name)
        .join_from(attestation, source)
        .where(attestation.c.definition_id == sense.id)
        .order_by(attestation.c.id)
    )
    return tuple(
        Seen(
            source=row.name,
            part_of_speech=row.part_of_speech,
            sense=row.sense,
            ili=row.ili,
            labels=tuple(json.loads(row.labels)) if row.labels else (),
            form_of=row.form_of or "",
            etymology=row.etymology,
            tag=row.tag or "",
            place=row.place,
            text=row.text or sense.text,
            definition_tag=row.definition_tag or "",
            examples=_examples(connection, tables, row.id),
        )
        for row in connection.execute(query).all()
    )


def _examples(connection: Connection, tables: Tables, attestation: int) -> tuple[Example, ...]:
    example = tables["example"]
    query = select(example).where(example.c.attestation_id == attestation).order_by(example.c.position)
    return tuple(Example(row.text, row.translation, row.source) for row in connection.execute(query))
