"""A source's entries out of the store, as its adapter once yielded them.

Before: dictsent.store.ingest wrote them. After: export and merge ingest them again, which gives an equal store.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Row, bindparam, text

from dictsent.records import Definition, Entry, Example

_CHUNK = 2_000
_TOGETHER = 100  # definitions in one Entry at most, so that none grows beyond a line that every reader takes
_ATTESTATIONS = text("""
SELECT a.id, e.id AS entry, e.headword, e.language, a.tag, a.place, coalesce(a.text, d.text) AS text,
       d.language AS definition_language, a.part_of_speech, a.sense, a.ili, a.labels, a.form_of, a.etymology,
       a.translation, a.definition_tag
FROM attestation a JOIN definition d ON d.id = a.definition_id JOIN entry e ON e.id = d.entry_id
WHERE a.source_id = :source AND a.id > :last AND :language IN ('', e.language) ORDER BY a.id LIMIT :limit""")
_EXAMPLES = text("""
SELECT attestation_id, text, translation, source FROM example
WHERE attestation_id IN :ids ORDER BY attestation_id, position""").bindparams(bindparam("ids", expanding=True))
# The bare columns are those of the row with the smallest id: the first place where the definition was seen.
_SENSES = text("""
SELECT e.id AS entry, e.headword, d.id, d.text, d.language, min(a.id) AS first, a.part_of_speech, a.ili, s.name
FROM entry e NOT INDEXED CROSS JOIN definition d ON d.entry_id = e.id CROSS JOIN attestation a ON a.definition_id = d.id
JOIN source s ON s.id = a.source_id
WHERE +e.language = :language GROUP BY e.id, d.id ORDER BY e.id, d.id""").execution_options(yield_per=_CHUNK)
_EXAMPLES_OF_SENSES = text("""
SELECT a.definition_id, x.text FROM attestation a JOIN example x ON x.attestation_id = a.id
WHERE a.definition_id IN :ids ORDER BY a.id, x.position""").bindparams(bindparam("ids", expanding=True))
_SPELLINGS = text("""
SELECT entry_id, text FROM spelling
WHERE source_id = :source AND entry_id IN :ids ORDER BY entry_id, text""").bindparams(bindparam("ids", expanding=True))


@dataclass(frozen=True, slots=True)
class SenseRow:
    """A definition, once, with what its first source says of it and the examples of all.

    `entry` and `definition` are ids: equal ones are the same entry or definition.
    """

    entry: int
    headword: str
    definition: int
    text: str
    language: str
    part_of_speech: str
    ili: str
    source: str
    examples: tuple[str, ...]


def read_senses(connection: Connection, *, language: str) -> Iterator[SenseRow]:
    """Stream each definition of the language's headwords once, in the order of their entries."""
    for rows in connection.execute(_SENSES, {"language": language}).partitions():
        examples: dict[int, dict[str, None]] = {}
        for definition, example in connection.execute(_EXAMPLES_OF_SENSES, {"ids": [row.id for row in rows]}):
            examples.setdefault(definition, {})[example] = None
        for row in rows:
            yield SenseRow(
                entry=row.entry,
                headword=row.headword,
                definition=row.id,
                text=row.text,
                language=row.language,
                part_of_speech=row.part_of_speech,
                ili=row.ili,
                source=row.name,
                examples=tuple(examples.get(row.id, ())),
            )


def read_entries_of(connection: Connection, source: int, *, language: str = "") -> Iterator[Entry]:
    """Stream what one source attests, in its order; only headwords of a language if one is given."""
    last = 0
    while True:
        values = {"source": source, "last": last, "language": language, "limit": _CHUNK}
        rows = connection.execute(_ATTESTATIONS, values).all()
        if not rows:
            return
        last = rows[-1].id
        yield from _entries(connection, source, rows)


def _entries(connection: Connection, source: int, rows: Sequence[Row[Any]]) -> Iterator[Entry]:
    examples: dict[int, list[Example]] = {}
    for attestation, *example in connection.execute(_EXAMPLES, {"ids": [row.id for row in rows]}):
        examples.setdefault(attestation, []).append(Example(*example))
    spellings: dict[int, list[str]] = {}
    values = {"source": source, "ids": list({row.entry for row in rows})}
    for entry, spelling in connection.execute(_SPELLINGS, values):
        spellings.setdefault(entry, []).append(spelling)
    for _, group in groupby(rows, key=lambda row: (row.entry, row.tag, row.place)):
        senses = list(group)
        for start in range(0, len(senses), _TOGETHER):
            part = senses[start : start + _TOGETHER]
            yield Entry(
                headword=part[0].headword,
                language=part[0].tag or part[0].language,
                definitions=tuple(_definition(row, tuple(examples.get(row.id, ()))) for row in part),
                spellings=tuple(spellings.get(part[0].entry, ())),
                place=part[0].place,
            )


def _definition(row: Row[Any], examples: tuple[Example, ...]) -> Definition:
    return Definition(
        text=row.text,
        language=row.definition_tag or row.definition_language,
        part_of_speech=row.part_of_speech,
        sense=row.sense,
        ili=row.ili,
        examples=examples,
        labels=tuple(json.loads(row.labels)) if row.labels else (),
        form_of=row.form_of or "",
        etymology=row.etymology,
        translation=bool(row.translation),
    )
