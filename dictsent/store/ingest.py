"""Writing one source into the store: de-duplicated, with every place a definition was seen.

Before: an adapter's records. After: dictsent.store.read gives them back.
Rows are staged in batches and moved by set-based SQL, so memory stays flat and cost grows with the number of
definitions (times the depth of two B-trees).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Table, insert, update

from dictsent.errors import LanguageError
from dictsent.languages import key_language, standard_tag
from dictsent.records import Definition, Dictionary, Entry, Rejected, comparison_form, fold_space

BATCH = 10_000
_COLUMNS = (
    "n, language, headword, def_language, text, key, tag, part_of_speech, sense, ili, labels, form_of, etymology,"
    " translation, place, definition_tag"
)
_STAGING = (
    f"CREATE TEMP TABLE IF NOT EXISTS staged ({_COLUMNS.replace('n,', 'n INTEGER PRIMARY KEY,', 1)})",
    "CREATE TEMP TABLE IF NOT EXISTS staged_example (n, position, text, translation, source)",
    "CREATE TEMP TABLE IF NOT EXISTS staged_spelling (language, headword, text)",
)
_ENTRIES = "INSERT OR IGNORE INTO entry (language, headword) SELECT language, headword FROM staged ORDER BY n"
_DEFINITIONS = """
INSERT OR IGNORE INTO definition (entry_id, language, text, key)
SELECT e.id, s.def_language, s.text, s.key
FROM staged s JOIN entry e ON e.language = s.language AND e.headword = s.headword ORDER BY s.n"""
_ATTESTATIONS = """
INSERT INTO attestation (id, definition_id, source_id, position, tag, part_of_speech, sense, ili, labels, form_of,
                         etymology, translation, place, text, definition_tag)
SELECT s.n, d.id, :source, s.n - :first, s.tag, s.part_of_speech, s.sense, s.ili, s.labels, s.form_of,
       s.etymology, s.translation, s.place, CASE WHEN s.text = d.text THEN NULL ELSE s.text END,
       s.definition_tag
FROM staged s JOIN entry e ON e.language = s.language AND e.headword = s.headword
JOIN definition d ON d.entry_id = e.id AND d.language = s.def_language AND d.key = s.key ORDER BY s.n"""
_EXAMPLES = "INSERT INTO example SELECT n, position, text, translation, source FROM staged_example"
_SPELLINGS = """
INSERT OR IGNORE INTO spelling (entry_id, source_id, text)
SELECT e.id, :source, s.text
FROM staged_spelling s JOIN entry e ON e.language = s.language AND e.headword = s.headword"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """How a source was read: enough to recognise the same reading again.

    `rejected` counts records that an earlier reading could not use, where the records come from another store.
    """

    adapter: str
    location: str
    checksum: str
    options: str = "{}"
    rejected: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What became of one source.

    Attributes:
        new: False where the store held this very source already and nothing was changed.
        replaced: True where an older version of the source made room.
        entries, definitions: distinct ones that this source attests.
        duplicates: definitions read that the store already held, from this source or another.
        rejected: records that could not be used.
        added, lost: definitions that came or went with a replacement.
    """

    source: str
    adapter: str
    new: bool
    entries: int
    definitions: int
    duplicates: int
    rejected: int
    replaced: bool = False
    added: int = 0
    lost: int = 0


def definition_key(text: str) -> int:
    """A signed 64-bit digest of the text's comparison form."""
    digest = hashlib.blake2b(comparison_form(text).encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def insert_source(connection: Connection, table: Table, *, dictionary: Dictionary, origin: Origin) -> int:
    """Add the source's own row; returns its id."""
    language = dictionary.language
    values = {
        "name": dictionary.name,
        "adapter": origin.adapter,
        "language": key_language(language) if language else "",
        "title": dictionary.title,
        "version": dictionary.version,
        "licence": dictionary.licence,
        "attribution": dictionary.attribution,
        "address": dictionary.address,
        "location": origin.location,
        "checksum": origin.checksum,
        "options": origin.options,
        "ingested_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return int(connection.scalar(insert(table).values(values).returning(table.c.id)) or 0)


def write_records(
    connection: Connection,
    records: Iterable[Entry | Rejected],
    *,
    source: int,
    on_reject: Callable[[Rejected], None],
) -> tuple[int, int, int]:
    """Stream the records into the store under the source's id.

    Returns:
        definitions read, definitions that were new, records rejected.

    Raises:
        LanguageError: an entry has no language.
    """
    for statement in _STAGING:
        connection.exec_driver_sql(statement)
    first = connection.exec_driver_sql("SELECT coalesce(max(id), 0) + 1 FROM attestation").scalar_one()
    batch = _Batch(connection, source=source, first=first)
    rejected = 0
    for record in records:
        if isinstance(record, Rejected):
            rejected += 1
            on_reject(record)
        elif fault := _language_fault(record):
            rejected += 1
            on_reject(Rejected("not a language tag", record.place, f"{fault}: {record.headword}"))
        else:
            batch.add(record)
    batch.flush()
    return batch.n - first, batch.new, rejected


def _language_fault(entry: Entry) -> str:
    """The first of the entry's tags that is none, "" where all are; a missing one is the source's fault, not its."""
    for tag in (entry.language, *(definition.language for definition in entry.definitions)):
        try:
            key_language(tag or "und")
        except LanguageError:
            return tag
    return ""


def finish_source(connection: Connection, table: Table, *, source: int, counts: tuple[int, int, int]) -> None:
    """Note the counts of a reading on the source's row."""
    records, new, rejected = counts
    values = {"records": records, "duplicates": records - new, "rejected": rejected}
    connection.execute(update(table).where(table.c.id == source).values(values))


class _Batch:
    """Staged rows of one source, flushed by set-based SQL; `n` is the id of the next attestation."""

    def __init__(self, connection: Connection, *, source: int, first: int) -> None:
        self.connection, self.source, self.first = connection, source, first
        self.n, self.new = first, 0
        self.rows: list[tuple[Any, ...]] = []
        self.examples: list[tuple[Any, ...]] = []
        self.spellings: list[tuple[str, str, str]] = []

    def add(self, entry: Entry) -> None:
        if not entry.language:
            raise LanguageError("the source does not tell its language", where=entry.place, hint="give it with --lang")
        headword = fold_space(entry.headword)
        language = key_language(entry.language)
        tag = standard_tag(entry.language)
        for definition in entry.definitions:
            self.rows.append(
                (self.n, language, headword, *_row(definition, tag if tag != language else None, entry.place))
            )
            self.examples.extend(
                (self.n, i, example.text, example.translation, example.source)
                for i, example in enumerate(definition.examples)
            )
            self.n += 1
        own = {headword}
        self.spellings.extend((language, headword, s) for s in map(fold_space, entry.spellings) if s and s not in own)
        if len(self.rows) >= BATCH:
            self.flush()

    def flush(self) -> None:
        run = self.connection.exec_driver_sql
        if self.rows:
            marks = ", ".join("?" * len(self.rows[0]))
            run(f"INSERT INTO staged ({_COLUMNS}) VALUES ({marks})", self.rows)
            run(_ENTRIES)
            self.new += run(_DEFINITIONS).rowcount
            run(_ATTESTATIONS, {"source": self.source, "first": self.first})
        if self.examples:
            run("INSERT INTO staged_example VALUES (?, ?, ?, ?, ?)", self.examples)
            run(_EXAMPLES)
        if self.spellings:
            run("INSERT INTO staged_spelling VALUES (?, ?, ?)", self.spellings)
            run(_SPELLINGS, {"source": self.source})
        for table in ("staged", "staged_example", "staged_spelling"):
            run(f"DELETE FROM {table}")
        self.rows, self.examples, self.spellings = [], [], []


def _row(definition: Definition, tag: str | None, place: str) -> tuple[Any, ...]:
    text = fold_space(definition.text)
    language, full = key_language(definition.language), standard_tag(definition.language)
    return (
        language,
        text,
        definition_key(text),
        tag,
        definition.part_of_speech,
        definition.sense,
        definition.ili,
        json.dumps(definition.labels, ensure_ascii=False) if definition.labels else None,
        definition.form_of or None,
        definition.etymology,
        int(definition.translation),
        place,
        full if full != language else None,
    )
