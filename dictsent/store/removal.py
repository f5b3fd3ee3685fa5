"""Taking a source out of the store without touching what others attest.

Before: dictsent.store.store decides that a source goes. After: nothing of it is left.
"""

from __future__ import annotations

from sqlalchemy import Connection

# A definition keeps the wording of a source that is gone only until here: the first wording still attested replaces it.
_STATEMENTS = (
    "CREATE TEMP TABLE touched AS SELECT DISTINCT definition_id AS id FROM attestation WHERE source_id = :source",
    "DELETE FROM source WHERE id = :source",
    "DELETE FROM definition WHERE id IN (SELECT id FROM touched)"
    " AND id NOT IN (SELECT definition_id FROM attestation WHERE definition_id IN (SELECT id FROM touched))",
    "DELETE FROM entry WHERE id NOT IN (SELECT entry_id FROM definition)",
    """
    UPDATE definition SET text = (
        SELECT a.text FROM attestation a WHERE a.definition_id = definition.id ORDER BY a.id LIMIT 1)
    WHERE id IN (SELECT id FROM touched)
      AND NOT EXISTS (SELECT 1 FROM attestation a WHERE a.definition_id = definition.id AND a.text IS NULL)""",
    """
    UPDATE attestation SET text = NULL WHERE definition_id IN (SELECT id FROM touched)
      AND text = (SELECT d.text FROM definition d WHERE d.id = definition_id)""",
    "DROP TABLE touched",
)

_REMEMBER = """
CREATE TEMP TABLE before AS
SELECT DISTINCT e.language, e.headword, d.language AS def_language, d.key
FROM attestation a JOIN definition d ON d.id = a.definition_id JOIN entry e ON e.id = d.entry_id
WHERE a.source_id = :source"""
_AFTER = """
SELECT DISTINCT e.language, e.headword, d.language, d.key
FROM attestation a JOIN definition d ON d.id = a.definition_id JOIN entry e ON e.id = d.entry_id
WHERE a.source_id = :source"""


def delete_source(connection: Connection, source: int) -> None:
    """Remove the source, its attestations, and the definitions and entries that nobody else attests."""
    for statement in _STATEMENTS:
        connection.exec_driver_sql(statement, {"source": source} if ":source" in statement else {})


def remember(connection: Connection, source: int) -> None:
    """Note what the source attests before it is replaced; `differences` compares."""
    connection.exec_driver_sql(_REMEMBER, {"source": source})


def differences(connection: Connection, source: int) -> tuple[int, int]:
    """Definitions that came and definitions that went since `remember`."""
    count = connection.exec_driver_sql
    added = count(f"SELECT count(*) FROM ({_AFTER} EXCEPT SELECT * FROM before)", {"source": source}).scalar_one()
    lost = count(f"SELECT count(*) FROM (SELECT * FROM before EXCEPT {_AFTER})", {"source": source}).scalar_one()
    count("DROP TABLE before")
    return int(added), int(lost)
