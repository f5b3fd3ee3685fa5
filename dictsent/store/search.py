"""Full-text search over headwords and definitions, in every script.

Before: dictsent.store.ingest and removal keep the two indexes in step with the rows. After: `Store.search`.
SQLite's FTS5 splits text at spaces, so it finds nothing inside Chinese, Japanese or Thai, and its trigram tokenizer
nothing shorter than three characters. Here characters of such scripts stand apart in what is indexed and in what is
looked for; a run of them is a phrase, whatever its length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from dictsent.errors import StoreError
from dictsent.records import comparison_form, fold_space

# Thai, Lao, Tibetan, Myanmar, Khmer with the marks on a letter; kana, bopomofo, ideographs; Hangul syllables, since
# Korean words carry particles.
_APART = re.compile(
    "([\u0e01-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff][\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc"
    "\u0ec8-\u0ece\u0f18\u0f19\u0f35\u0f37\u0f39\u0f71-\u0fbc\u102b-\u103e\u1056-\u1059\u17b4-\u17d3]*"
    "|[\u3005-\u3007\u3041-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff])"
)
_POINTS = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0640]"
)

_INDEX = (
    "INSERT INTO headword_text (rowid, text) SELECT id, search_form(headword) FROM entry WHERE id > :entry",
    "INSERT INTO definition_text (rowid, text) SELECT id, search_form(text) FROM definition WHERE id > :definition",
)
# One step in the index for each language, where DISTINCT would read every entry.
LANGUAGES = """
WITH RECURSIVE held (tag) AS (
    SELECT min(language) FROM entry
    UNION ALL SELECT (SELECT min(language) FROM entry WHERE language > tag) FROM held WHERE tag IS NOT NULL)
SELECT tag FROM held WHERE tag IS NOT NULL"""
_LAST = "SELECT (SELECT coalesce(max(id), 0) FROM entry), (SELECT coalesce(max(id), 0) FROM definition)"
_COLUMNS = """
e.headword, e.language, d.text, d.language,
(SELECT group_concat(name, char(31)) FROM (
    SELECT DISTINCT s.name FROM attestation a JOIN source s ON s.id = a.source_id WHERE a.definition_id = d.id
    ORDER BY s.id))"""
_OF_ENTRIES = f"""
WITH found AS ({{found}})
SELECT {_COLUMNS} FROM found f JOIN entry e ON e.id = f.id JOIN definition d ON d.entry_id = e.id
WHERE :language IN ('', e.language) ORDER BY f.place, length(e.headword), e.id, d.id LIMIT :limit"""
_WRITTEN_SO = f"""
SELECT id, 0 AS place FROM entry WHERE headword = :text AND language IN ({LANGUAGES})
UNION SELECT entry_id, 1 FROM spelling WHERE text = :text"""
_WITH_WORDS = "SELECT rowid AS id, 2 AS place FROM headword_text WHERE headword_text MATCH :query"
_OF_DEFINITIONS = f"""
SELECT {_COLUMNS} FROM definition_text t JOIN definition d ON d.id = t.rowid JOIN entry e ON e.id = d.entry_id
WHERE definition_text MATCH :query AND :language IN ('', e.language) ORDER BY t.rank, d.id LIMIT :limit"""


@dataclass(frozen=True, slots=True)
class Hit:
    """A definition that was found; `where` is "headword" or "definition"."""

    headword: str
    language: str
    text: str
    definition_language: str
    sources: tuple[str, ...]
    where: str


def search_form(text: str) -> str:
    """The text as it is indexed: comparison form, characters of scripts without spaces apart, no vowel points.

    A change here asks for a new schema version whose migration indexes everything anew.
    """
    if text.isascii():
        return text
    return _APART.sub(r" \1 ", _POINTS.sub("", comparison_form(text)))


def last_rows(connection: Connection) -> tuple[int, int]:
    """The highest ids of entry and definition: what lies beyond them later is new."""
    entry, definition = connection.exec_driver_sql(_LAST).one()
    return int(entry), int(definition)


def index_rows(connection: Connection, beyond: tuple[int, int]) -> None:
    """Index the entries and definitions with ids beyond the given ones."""
    for statement, key, last in zip(_INDEX, ("entry", "definition"), beyond, strict=True):
        connection.exec_driver_sql(statement, {key: last})


def find_definitions(connection: Connection, text: str, *, language: str, limit: int) -> list[Hit]:
    """Definitions of the words written so, then of headwords that hold all words of the text, then ones that hold them.

    Words may end in * for every ending. Case, width, accents and vowel points do not matter.

    Raises:
        StoreError: there is no letter or digit in the text.
    """
    values: dict[str, Any] = {"text": fold_space(text), "query": _query(text), "language": language, "limit": limit}
    found: dict[tuple[str, str, str, str], Hit] = {}
    steps = (
        (_OF_ENTRIES.format(found=_WRITTEN_SO), "headword"),
        (_OF_ENTRIES.format(found=_WITH_WORDS), "headword"),
        (_OF_DEFINITIONS, "definition"),
    )
    for statement, where in steps:
        # A row may have been found by an earlier step: ask for so many that enough new ones are left.
        wanted = {**values, "limit": limit + len(found)}
        for row in connection.exec_driver_sql(statement, {k: v for k, v in wanted.items() if f":{k}" in statement}):
            key = (row[0], row[1], row[2], row[3])
            found.setdefault(key, Hit(*key, tuple((row[4] or "").split("\x1f")), where))
        if len(found) >= limit:
            break
    return list(found.values())[:limit]


def _query(text: str) -> str:
    """The text as an FTS5 query: each word a phrase, all of them wanted."""
    phrases = []
    for word in fold_space(text).split():
        if any(c.isalnum() for c in word):
            form = search_form(word.rstrip("*")).replace('"', " ")
            phrases.append(f'"{form}"' + ("*" if word.endswith("*") else ""))
    if not phrases:
        raise StoreError("there is no letter or digit in what is looked for", where=repr(text))
    return " ".join(phrases)
