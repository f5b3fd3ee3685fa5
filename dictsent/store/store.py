"""Store: the one object through which everything else reads and writes dictionaries.

Before: dictsent.adapter's readers hand in records. After: dictsent.pairs, dictsent.scratch and the command line read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Self

from sqlalchemy import Connection

from dictsent.errors import EmptyStoreError, LanguageError, SourceError, StoreError
from dictsent.languages import display_name
from dictsent.records import Dictionary, Entry, Rejected, fold_space
from dictsent.store import comparison, ingest, read, removal, replay, search, statistics
from dictsent.store.comparison import Difference
from dictsent.store.database import open_engine, reflect, reported, side_by_side
from dictsent.store.ingest import Ingested, Origin
from dictsent.store.read import DefinitionRow, EntryView, KnownSource, SourceRow
from dictsent.store.replay import SenseRow
from dictsent.store.search import Hit
from dictsent.store.statistics import Overlap


class _DryRunError(Exception):
    """Leaves the transaction without keeping it."""


class Store:
    """A store file, opened. Use as a context manager, or call `close`."""

    def __init__(self, path: str | Path, *, create: bool = False) -> None:
        """Open the store at `path`. Raises StoreError or SchemaError (see dictsent.store.database)."""
        self.path = Path(path)
        self._engine = open_engine(self.path, create=create)
        with reported(self.path):
            self._tables = reflect(self._engine).tables

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the file."""
        self._engine.dispose()

    @contextmanager
    def _connect(self, *, write: bool = False) -> Iterator[Connection]:
        with reported(self.path), self._engine.connect().execution_options(writes=write) as connection:
            if not write:
                yield connection
                return
            with connection.begin():
                yield connection

    def ingest(
        self,
        dictionary: Dictionary,
        records: Iterable[Entry | Rejected],
        *,
        origin: Origin,
        on_reject: Callable[[Rejected], None] = lambda _: None,
        dry_run: bool = False,
    ) -> Ingested:
        """Write one source in one transaction: all of it, or, on any error, nothing.

        A source read before from the same files with the same options changes nothing; another version of it
        takes its place. `records` is not touched where nothing would change.
        """
        outcome: Ingested | None = None
        try:
            with self._connect(write=True) as connection:
                outcome = self._ingest(connection, dictionary, records, origin=origin, on_reject=on_reject)
                if dry_run:
                    raise _DryRunError
        except _DryRunError:
            pass
        assert outcome is not None
        return outcome

    def _ingest(
        self,
        connection: Connection,
        dictionary: Dictionary,
        records: Iterable[Entry | Rejected],
        *,
        origin: Origin,
        on_reject: Callable[[Rejected], None],
    ) -> Ingested:
        known = read.read_known(connection, self._tables)
        for row in known:
            if (row.checksum, row.adapter, row.options) == (origin.checksum, origin.adapter, origin.options):
                return _unchanged(read.read_source(connection, self._tables, row.id))
        older, name = _place_among(known, dictionary, origin)
        table = self._tables["source"]
        if older is not None:
            removal.remember(connection, older.id)
            removal.delete_source(connection, older.id)
        beyond = search.last_rows(connection)
        source = ingest.insert_source(connection, table, dictionary=replace(dictionary, name=name), origin=origin)
        counts = ingest.write_records(connection, records, source=source, on_reject=on_reject)
        search.index_rows(connection, beyond)
        records_read, new, rejected = counts
        if rejected and not records_read:
            what = f"none of its {rejected:,} records can be used"
            raise SourceError(what, where=origin.location, hint="--rejects FILE writes them, and why")
        ingest.finish_source(connection, table, source=source, counts=(records_read, new, rejected + origin.rejected))
        added, lost = removal.differences(connection, source) if older is not None else (0, 0)
        written = read.read_source(connection, self._tables, source)
        return replace(_unchanged(written), new=True, replaced=older is not None, added=added, lost=lost)

    def remove(self, name: str) -> SourceRow:
        """Take a source out; what other sources attest stays. Returns what it was. Raises StoreError."""
        self.require_sources([name])
        with self._connect(write=True) as connection:
            ids = {row.name: row.id for row in read.read_known(connection, self._tables)}
            removed = read.read_source(connection, self._tables, ids[name])
            removal.delete_source(connection, removed.id)
            return removed

    def merge(self, other: Store) -> list[Ingested]:
        """Take over the sources of another store, each in a transaction of its own, as if they were ingested here."""
        return [self._take(other, row) for row in other.sources()]

    def _take(self, other: Store, row: SourceRow) -> Ingested:
        origin = Origin(
            adapter=row.adapter,
            location=row.location,
            checksum=row.checksum,
            options=row.options,
            rejected=row.rejected,
        )
        return self.ingest(dictionary_of(row), other.records(row), origin=origin)

    def records(self, source: SourceRow, *, language: str = "") -> Iterator[Entry]:
        """Stream a source's entries as its adapter yielded them (see dictsent.store.replay)."""
        with self._connect() as connection:
            yield from replay.read_entries_of(connection, source.id, language=language)

    def senses(self, language: str) -> Iterator[SenseRow]:
        """Stream each definition once with what its first source says of it (see dictsent.store.replay)."""
        with self._connect() as connection:
            yield from replay.read_senses(connection, language=language)

    def differences(self, other: Store, *, sample: int = 3) -> Mapping[str, Difference]:
        """What is only in this store or only in the other (see dictsent.store.comparison)."""
        with reported(self.path), side_by_side(self.path, other.path) as connection:
            return comparison.compare_stores(connection, sample=sample)

    def sources(self) -> list[SourceRow]:
        """All sources, oldest first."""
        with self._connect() as connection:
            return read.read_sources(connection, self._tables)

    def languages(self) -> dict[str, dict[str, int]]:
        """{"en": {"entries": n, "definitions": n}, ...}, most definitions first."""
        with self._connect() as connection:
            return read.read_languages(connection, self._tables)

    def median_lengths(self) -> tuple[dict[str, float], dict[int, float]]:
        """Median characters of a definition by headword language, and by source id."""
        with self._connect() as connection:
            return statistics.median_lengths(connection)

    def overlaps(self) -> list[Overlap]:
        """What each pair of sources shares."""
        with self._connect() as connection:
            names = {row.id: row.name for row in read.read_known(connection, self._tables)}
            return statistics.overlaps(connection, names)

    def licences(self, language: str) -> tuple[str, ...]:
        """The licences, as their sources spell them, under which the language has definitions."""
        with self._connect() as connection:
            return read.read_licences(connection, language=language)

    def entries(self, headword: str, *, language: str = "") -> list[EntryView]:
        """The entries of a headword, or of a word with this spelling."""
        with self._connect() as connection:
            return read.read_entries(connection, self._tables, headword=fold_space(headword), language=language)

    def search(self, text: str, *, language: str = "", limit: int = 20) -> list[Hit]:
        """Definitions by the words of their headwords or text, the best first (see dictsent.store.search)."""
        with self._connect() as connection:
            return search.find_definitions(connection, text, language=language, limit=limit)

    def definitions(
        self, language: str, *, licences: Sequence[str] = (), prefer: Sequence[str] = ()
    ) -> Iterator[DefinitionRow]:
        """Stream a language's definitions in the order of their entries (see dictsent.store.read)."""
        with self._connect() as connection:
            yield from read.read_definitions(connection, language=language, licences=licences, prefer=prefer)

    def concepts(self) -> dict[str, int]:
        """Concepts of the interlingual index that have a definition, by its language, most first."""
        with self._connect() as connection:
            return read.read_concepts(connection)

    def glosses(self, language: str) -> Iterator[tuple[str, str]]:
        """Stream (interlingual id, definition written in the language), each once, ids in order."""
        with self._connect() as connection:
            yield from read.read_glosses(connection, language=language)

    def spellings(self, language: str) -> Iterator[tuple[int, str]]:
        """Stream (entry id, another spelling of its headword)."""
        with self._connect() as connection:
            yield from read.read_spellings(connection, language=language)

    def examples(self, language: str) -> dict[str, tuple[str, ...]]:
        """Example sentences by definition text."""
        found: dict[str, dict[str, None]] = {}
        with self._connect() as connection:
            for text, example in read.read_examples(connection, self._tables, language=language):
                found.setdefault(text, {})[example] = None
        return {text: tuple(examples) for text, examples in found.items()}

    def source_names(self) -> list[str]:
        """The names of all sources, oldest first."""
        with self._connect() as connection:
            return [row.name for row in read.read_known(connection, self._tables)]

    def require_sources(self, names: Iterable[str]) -> None:
        """Raise StoreError where one of the names is no source of the store."""
        known = self.source_names()
        for name in names:
            if name not in known:
                what = f"no source is named {name!r}"
                raise StoreError(what, where=str(self.path), hint=f"sources: {', '.join(known) or 'none'}")

    def require(self, *languages: str) -> None:
        """Raise EmptyStoreError or LanguageError, naming what there is, where the store lacks one of the languages."""
        with self._connect() as connection:
            known = read.read_tags(connection)  # the counts, which order the hint, take seconds in a large store
        if known.issuperset(languages) and known:
            return
        held = self.languages()
        if not held:
            raise EmptyStoreError(
                "the store is empty", where=str(self.path), hint="fill it with `dictsent ingest PATH`"
            )
        for language in languages:
            if language in held:
                continue
            names = ", ".join(f"{tag} ({display_name(tag)})" for tag in list(held)[:8])
            raise LanguageError(
                f"the store holds no {display_name(language)} entries", where=str(self.path), hint=f"it holds {names}"
            )


def dictionary_of(row: SourceRow) -> Dictionary:
    """What the store knows of a source, as its adapter said it."""
    return Dictionary(**{field.name: getattr(row, field.name) for field in fields(Dictionary)})


def _unchanged(row: SourceRow) -> Ingested:
    return Ingested(
        source=row.name,
        adapter=row.adapter,
        new=False,
        entries=row.entries,
        definitions=row.definitions,
        duplicates=row.duplicates,
        rejected=row.rejected,
    )


def _place_among(
    known: Sequence[KnownSource], dictionary: Dictionary, origin: Origin
) -> tuple[KnownSource | None, str]:
    """The older version that this source replaces, if any, and the name to keep it under.

    Another version of a source replaces it where both tell their versions; else only what was read from the same place
    is replaced, and a stranger of the same name gets its folders' names in front, or, in the same folder, its file's
    behind.
    """
    by_name = {row.name: row for row in known}
    older = by_name.get(dictionary.name)
    if older is None:
        return None, dictionary.name
    both_told = bool(dictionary.version and older.version) and dictionary.version != older.version
    if both_told or older.location == origin.location:
        return older, dictionary.name
    for name in _other_names(dictionary.name, Path(origin.location), Path(older.location)):
        if name not in by_name:
            return None, name
        if by_name[name].location == origin.location:
            return by_name[name], name
    return None, f"{dictionary.name}@{origin.checksum[:8]}"


def _other_names(name: str, here: Path, there: Path) -> Iterator[str]:
    here, there = here.resolve(), there.resolve()
    if here.parent == there.parent:
        yield f"{name}/{here.name.partition('.')[0]}"
        yield f"{name}/{here.name}"
        return
    for parent in here.parents:
        if not parent.name or parent in there.parents:
            return
        name = f"{parent.name}/{name}"
        yield name
