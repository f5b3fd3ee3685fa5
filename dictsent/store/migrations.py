"""Bringing an older store to the schema of today, with all its data and a backup beside it.

Before: dictsent.store.database finds an older user_version. After: the store is as if schema.sql had made it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

Migration = Callable[[sqlite3.Connection], None]

_SEARCH = (
    "CREATE INDEX definition_entry ON definition (entry_id)",
    "CREATE INDEX spelling_text ON spelling (text)",
    """CREATE VIRTUAL TABLE headword_text USING fts5 (
    text, content = '', tokenize = "unicode61 remove_diacritics 2 categories 'L* M* N* Co'"
)""",
    """CREATE VIRTUAL TABLE definition_text USING fts5 (
    text, content = '', tokenize = "unicode61 remove_diacritics 2 categories 'L* M* N* Co'"
)""",
    "INSERT INTO headword_text (rowid, text) SELECT id, search_form(headword) FROM entry",
    "INSERT INTO definition_text (rowid, text) SELECT id, search_form(text) FROM definition",
)


def add_search(connection: sqlite3.Connection) -> None:
    """1 to 2: full-text indexes over headwords and definitions; indexes for spellings and entries."""
    for statement in _SEARCH:
        connection.execute(statement)


def add_definition_tag(connection: sqlite3.Connection) -> None:
    """2 to 3: where a definition's language has a region (pt-BR), the attestation keeps it."""
    connection.execute("ALTER TABLE attestation ADD COLUMN definition_tag TEXT")


MIGRATIONS: Mapping[int, Migration] = {1: add_search, 2: add_definition_tag}
"""By the version they start from; each leads to the next version."""


def migrate(connection: sqlite3.Connection, path: Path, *, to: int) -> None:
    """Lead the store step by step to version `to` in one transaction, after a backup `<name>.v<old>.bak`.

    Another process may have been quicker: the version is read again once the write lock is held.

    Raises:
        sqlite3.Error: the disk is full, the store is being written or read-only; the store is then as it was.
    """
    old = _version(connection)
    back_up(connection, backup_path(path, old))
    connection.execute("BEGIN IMMEDIATE")
    try:
        for version in range(_version(connection), to):
            MIGRATIONS[version](connection)
        connection.execute(f"PRAGMA user_version = {to}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def backup_path(path: Path, version: int) -> Path:
    """The first free name beside the store: an earlier backup is never overwritten."""
    first = path.with_name(f"{path.name}.v{version}.bak")
    number, free = 2, first
    while free.exists():
        free = first.with_name(f"{first.name}.{number}")
        number += 1
    return free


def back_up(connection: sqlite3.Connection, target: Path) -> None:
    """A whole copy of the store as it is now, or nothing at all."""
    partial = target.with_name(f"{target.name}.partial")
    try:
        copy = sqlite3.connect(partial)
        try:
            connection.backup(copy)
        finally:
            copy.close()
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
