"""A store of every older version opens with all its data, and its backup lies beside it."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import asdict
from pathlib import Path

import pytest

from dictsent.errors import SchemaError, StoreError
from dictsent.records import Definition, Dictionary, Entry, Example
from dictsent.store import Origin, Store, migrations
from dictsent.store.database import VERSION, schema

OLD = Path(__file__).parent / "schemas"


def fill(store: Store) -> None:
    for name, words in (("one", ("猫", "犬")), ("two", ("猫", "cat"))):
        entries = [
            Entry(
                headword=word,
                language="ja",
                spellings=(f"{word}の",),
                definitions=(Definition(text=f"{word}という動物", language="ja", examples=(Example("例"),)),),
            )
            for word in words
        ]
        origin = Origin(adapter="tsv", location=name, checksum=name)
        store.ingest(Dictionary(name=name, language="ja", licence="CC0"), entries, origin=origin)


def older_store(path: Path, version: int) -> None:
    """A store made by an older schema.sql that holds what `fill` writes today."""
    with Store(path.with_name("new.db"), create=True) as store:
        fill(store)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript((OLD / f"{version}.sql").read_text(encoding="utf-8"))
    connection.execute(f"ATTACH '{path.with_name('new.db')}' AS new")
    # Full-text tables are copied by the plain tables that hold them.
    plain = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    for (table,) in connection.execute(plain).fetchall():
        columns = ", ".join(row[1] for row in connection.execute(f"PRAGMA main.table_info({table})"))
        connection.execute(f"INSERT OR REPLACE INTO main.{table} ({columns}) SELECT {columns} FROM new.{table}")
    connection.close()


def structure(path: Path) -> set[tuple[str, str, str]]:
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_schema").fetchall()
    return {(kind, name, re.sub(r"\s*([(),]|\s)\s*", r"\1", re.sub("--.*", "", sql))) for kind, name, sql in rows}


@pytest.mark.parametrize("version", range(1, VERSION))
def test_an_older_store_is_migrated_with_a_backup(tmp_path: Path, version: int) -> None:
    path = tmp_path / "old.db"
    older_store(path, version)
    with Store(path) as store:
        assert [asdict(view) for view in store.entries("猫")] == [
            asdict(view) for view in Store(tmp_path / "new.db").entries("猫")
        ]
        assert store.languages() == {"ja": {"entries": 3, "definitions": 3}}
        assert [hit.headword for hit in store.search("動物")] == ["猫", "犬", "cat"]
        assert store.remove("two").definitions == 2
        assert [hit.headword for hit in store.search("動物")] == ["猫", "犬"]
    backup = tmp_path / f"old.db.v{version}.bak"
    with sqlite3.connect(backup) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (version,)
        assert connection.execute("SELECT count(*) FROM attestation").fetchone() == (4,)
    assert structure(path) == structure(tmp_path / "new.db")
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)


def test_old_schemas_are_kept_for_every_version() -> None:
    assert sorted(p.name for p in OLD.glob("*.sql")) == [f"{n}.sql" for n in range(1, VERSION)]
    assert set(migrations.MIGRATIONS) == set(range(1, VERSION))
    assert schema() not in {p.read_text(encoding="utf-8") for p in OLD.glob("*.sql")}


def test_a_migration_that_fails_leaves_the_store_and_its_backups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "old.db"
    older_store(path, 1)
    before = structure(path)

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("DROP TABLE example")
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", {1: fail})
        with pytest.raises(StoreError, match="the disk is full"):
            Store(path)
    assert structure(path) == before
    Store(path).close()
    assert sorted(p.name for p in tmp_path.glob("*.bak*")) == ["old.db.v1.bak", "old.db.v1.bak.2"]


def test_a_read_only_store_of_an_older_version_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "old.db"
    older_store(path, 1)
    monkeypatch.setattr("dictsent.store.database.is_writable", lambda _: False)
    with pytest.raises(SchemaError, match="schema version 1, must be brought to 3, and is read-only; make it writable"):
        Store(path)
