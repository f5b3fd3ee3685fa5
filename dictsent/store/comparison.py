"""Two stores held against each other: what is only in one of them.

Before: two stores. After: `dictsent diff`, and the tests that an export, ingested again, gives an equal store.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

# What makes two stores equal. How a source was read (adapter, location, checksum, time) does not.
_DEFINED = "{db}.definition d JOIN {db}.entry e ON e.id = d.entry_id"
_SEEN = (
    "e.language, e.headword, d.language, d.key, s.name, a.tag, a.part_of_speech, a.sense, a.ili, a.labels, a.form_of,"
    " a.etymology, a.translation, a.place, a.definition_tag,"
    " coalesce(a.text, d.text)"
)
_KINDS = {
    "sources": "SELECT name, language, title, version, licence, attribution, address FROM {db}.source",
    "entries": "SELECT language, headword FROM {db}.entry",
    "definitions": f"SELECT e.language, e.headword, d.text, d.language FROM {_DEFINED}",
    "attestations": (
        f"SELECT {_SEEN}, row_number() OVER (PARTITION BY a.source_id, d.id ORDER BY a.id) FROM {_DEFINED}"
        " JOIN {db}.attestation a ON a.definition_id = d.id JOIN {db}.source s ON s.id = a.source_id"
    ),
    "examples": (
        f"SELECT {_SEEN}, x.position, x.text, x.translation, x.source FROM {_DEFINED}"
        " JOIN {db}.attestation a ON a.definition_id = d.id JOIN {db}.source s ON s.id = a.source_id"
        " JOIN {db}.example x ON x.attestation_id = a.id"
    ),
    "spellings": (
        "SELECT e.language, e.headword, p.text, s.name FROM {db}.spelling p JOIN {db}.entry e ON e.id = p.entry_id"
        " JOIN {db}.source s ON s.id = p.source_id"
    ),
}
_SHOWN = {"sources": 1, "entries": 2, "definitions": 3, "attestations": 2, "examples": 2, "spellings": 3}


@dataclass(frozen=True, slots=True)
class Difference:
    """What of one kind is in only one of two stores.

    Attributes:
        common: in both. left, right: how many are only there. left_sample, right_sample: the first of them.
    """

    common: int
    left: int
    right: int
    left_sample: tuple[tuple[str, ...], ...]
    right_sample: tuple[tuple[str, ...], ...]


def compare_stores(connection: sqlite3.Connection, *, sample: int) -> Mapping[str, Difference]:
    """The differences by kind: sources, entries, definitions, attestations, examples, spellings.

    Args:
        connection: on one store, the other attached as `other`.
    """
    return {kind: _compare(connection, kind, sample) for kind in _KINDS}


def _compare(connection: sqlite3.Connection, kind: str, sample: int) -> Difference:
    ours, theirs = (_KINDS[kind].format(db=db) for db in ("main", "other"))
    left, left_sample = _only(connection, ours, theirs, kind, sample)
    right, right_sample = _only(connection, theirs, ours, kind, sample)
    held = int(connection.execute(f"SELECT count(*) FROM (SELECT DISTINCT * FROM ({ours}))").fetchone()[0])
    return Difference(held - left, left, right, left_sample, right_sample)


def _only(
    connection: sqlite3.Connection, these: str, those: str, kind: str, sample: int
) -> tuple[int, tuple[tuple[str, ...], ...]]:
    rows = connection.execute(f"SELECT * FROM ({these}) EXCEPT SELECT * FROM ({those})")
    count = 0
    first: list[tuple[str, ...]] = []
    for row in rows:
        count += 1
        if len(first) < sample:
            first.append(tuple(str(cell) for cell in row[: _SHOWN[kind]]))
    return count, tuple(first)
