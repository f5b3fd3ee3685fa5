"""Taking a source out of the store without touching what others attest.

Before: dictsent.store.store decides that a source goes. After: nothing of it is left, and the text of each definition
is again the wording of the earliest place it was seen at.
"""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = (
    "CREATE TEMP TABLE touched (id INTEGER PRIMARY KEY, entry_id INTEGER, old TEXT, new TEXT)",
    """
    INSERT INTO touched SELECT d.id, d.entry_id, d.text, NULL FROM definition d
    WHERE d.id IN (SELECT definition_id FROM attestation WHERE source_id = :source)""",
    "DELETE FROM source WHERE id = :source",
    """
    UPDATE touched SET new = (
        SELECT coalesce(a.text, old) FROM attestation a WHERE a.definition_id = touched.id ORDER BY a.id LIMIT 1)""",
    # The indexes hold no text: what goes is named by the form it came in.
    """
    INSERT INTO definition_text (definition_text, rowid, text)
    SELECT 'delete', id, search_form(old) FROM touched WHERE new IS NOT old""",
    "DELETE FROM definition WHERE id IN (SELECT id FROM touched WHERE new IS NULL)",
    "CREATE TEMP TABLE bare AS SELECT DISTINCT entry_id AS id FROM touched"
    " WHERE NOT EXISTS (SELECT 1 FROM definition d WHERE d.entry_id = touched.entry_id)",
    """
    INSERT INTO headword_text (headword_text, rowid, text)
    SELECT 'delete', id, search_form(headword) FROM entry WHERE id IN (SELECT id FROM bare)""",
    "DELETE FROM entry WHERE id IN (SELECT id FROM bare)",
    "DELETE FROM touched WHERE new IS old OR new IS NULL",
    """
    UPDATE attestation SET text = (SELECT old FROM touched WHERE id = definition_id)
    WHERE text IS NULL AND definition_id IN (SELECT id FROM touched)""",
    "UPDATE definition SET text = (SELECT new FROM touched t WHERE t.id = definition.id) WHERE id IN"
    " (SELECT id FROM touched)",
    """
    UPDATE attestation SET text = NULL WHERE definition_id IN (SELECT id FROM touched)
      AND text = (SELECT d.text FROM definition d WHERE d.id = definition_id)""",
    "INSERT INTO definition_text (rowid, text) SELECT id, search_form(new) FROM touched",
    "DROP TABLE bare",
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
