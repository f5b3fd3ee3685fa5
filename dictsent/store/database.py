"""Opening and creating the SQLite file; its schema is schema.sql, reflected, never declared again.

Before: a path. After: dictsent.store.ingest and dictsent.store.read work on the engine and the tables.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from sqlalchemy import Connection, Engine, MetaData, QueuePool, create_engine, event
from sqlalchemy.exc import DatabaseError

from dictsent.errors import SchemaError, StoreError
from dictsent.store.migrations import migrate
from dictsent.store.search import search_form

APPLICATION_ID = 1685286516
VERSION = 3
TABLES = ("source", "entry", "definition", "attestation", "example", "spelling")
_BUSY_SECONDS = 10.0


def schema() -> str:
    """The text of schema.sql."""
    return files("dictsent").joinpath("schema.sql").read_text(encoding="utf-8")


def open_engine(path: Path, *, create: bool) -> Engine:
    """An engine on the store at `path`, created where `create` allows it and nothing is there.

    A store of an older version is migrated, with a backup beside it. One that cannot be written can be read.

    Raises:
        StoreError: missing, or not readable. SchemaError: no store, or one of a newer version.
    """
    is_new = not path.exists() or path.stat().st_size == 0
    if is_new and not create:
        raise StoreError("there is no store here", where=str(path), hint="make one with `dictsent ingest PATH`")
    if is_new and not path.parent.is_dir():
        raise StoreError("its folder does not exist", where=str(path), hint="create the folder or name another --store")
    engine = create_engine("sqlite://", creator=lambda: _connect(path), poolclass=QueuePool)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    with reported(path):
        if is_new:
            _create(engine)
        else:
            _check(engine, path)
    return engine


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(_address(path), timeout=_BUSY_SECONDS, check_same_thread=False, uri=True)


def _address(path: Path) -> str:
    address = path.resolve().as_uri()
    if path.exists() and not is_writable(path):
        # Even to read a store in WAL mode SQLite writes beside it, unless it is told that nobody does.
        wal = Path(f"{path}-wal")
        return f"{address}?mode=ro" if wal.exists() and wal.stat().st_size else f"{address}?mode=ro&immutable=1"
    return address


@contextmanager
def side_by_side(path: Path, other: Path) -> Iterator[sqlite3.Connection]:
    """A connection on the store at `path` with the one at `other` attached as `other`; for reading only."""
    connection = _connect(path)
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("ATTACH DATABASE ? AS other", (_address(other),))
        yield connection
    finally:
        connection.close()


def is_writable(path: Path) -> bool:
    """Whether the store's file and its folder can be written."""
    return os.access(path, os.W_OK) and os.access(path.resolve().parent, os.W_OK)


def reflect(engine: Engine) -> MetaData:
    """The tables of schema.sql as SQLAlchemy Core objects."""
    metadata = MetaData()
    metadata.reflect(engine, only=TABLES)
    return metadata


@contextmanager
def reported(path: Path) -> Iterator[None]:
    """Turn SQLite's own errors into one line that names the store and what to do."""
    try:
        yield
    except (DatabaseError, sqlite3.DatabaseError) as error:
        raise _explained(str(getattr(error, "orig", error)), path) from error
    except OSError as error:
        raise StoreError(f"cannot be opened: {error.strerror}", where=str(path)) from error


def _explained(message: str, path: Path) -> StoreError:
    where = str(path)
    if "locked" in message:
        return StoreError("another process is writing to this store", where=where, hint="wait for it, then try again")
    if "readonly" in message:
        return StoreError("the store is read-only", where=where, hint="change its permissions or name another --store")
    if "full" in message:
        return StoreError("the disk is full; nothing of this source was kept", where=where, hint="make room, try again")
    if "disk I/O error" in message:
        what = "the disk cannot be read or takes no more (disk I/O error); nothing of this source was kept"
        return StoreError(what, where=where, hint="look at the disk, its room and any limit on file sizes")
    if "not a database" in message or "malformed" in message:
        return SchemaError(f"this is no dictsent store ({message})", where=where, hint="name another file with --store")
    if "unable to open" in message:
        return StoreError("the store cannot be opened", where=where, hint="check the path and its permissions")
    return StoreError(f"SQLite says: {message}", where=where)


def _prepare(connection: sqlite3.Connection, _record: object) -> None:
    # Transactions are begun by `_begin`: the driver's own implicit ones start too late to guard a read-then-write.
    connection.isolation_level = None
    connection.create_function("search_form", 1, search_form, deterministic=True)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA cache_size = -65536")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _create(engine: Engine) -> None:
    raw = engine.raw_connection()
    try:
        raw.driver_connection.execute("PRAGMA journal_mode = WAL")  # type: ignore[union-attr]
        raw.driver_connection.executescript(f"BEGIN IMMEDIATE; {schema()}; COMMIT;")  # type: ignore[union-attr]
    except sqlite3.OperationalError as error:
        if "already exists" not in str(error):  # else another process made the store in this very moment
            raise
    finally:
        raw.close()


def _check(engine: Engine, path: Path) -> None:
    with engine.connect() as connection:
        application = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
        version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    if application != APPLICATION_ID:
        raise SchemaError("this is no dictsent store", where=str(path), hint="name another file with --store")
    if version > VERSION:
        raise SchemaError(
            f"the store has schema version {version}, this dictsent knows up to {VERSION}",
            where=str(path),
            hint="update dictsent",
        )
    if version < VERSION:
        _migrate(engine, path, version)


def _migrate(engine: Engine, path: Path, version: int) -> None:
    if not is_writable(path):
        what = f"the store has schema version {version}, must be brought to {VERSION}, and is read-only"
        raise SchemaError(what, where=str(path), hint="make it writable, or copy it to where it is")
    raw = engine.raw_connection()
    try:
        migrate(raw.driver_connection, path, to=VERSION)  # type: ignore[arg-type]
    finally:
        raw.close()
