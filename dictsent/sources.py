"""From paths to sources to the store: which files are dictionaries, and one source's way into the store.

Before: dictsent.adapter tells formats apart, dictsent.store writes. After: `dictsent ingest` and recipes call this.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dictsent.adapter import Adapter, Reading, check_readable, identify, named, option_fields
from dictsent.errors import AmbiguousFormatError, DictsentError, SourceError, UnknownFormatError
from dictsent.languages import display_name
from dictsent.records import Entry, Rejected
from dictsent.store import Ingested, Origin, Store

MOST_LANGUAGES = 12
"""Languages named in a summary; the others are counted."""

Adapters = Mapping[str, type[Adapter]]


class AdapterBugError(SourceError):
    """An adapter raised something that is not ours: its name and the record before it are in the message."""


@dataclass(slots=True)
class Found:
    """The sources below the given paths, the files that are no dictionary, and what is wrong with the rest."""

    sources: list[tuple[str, type[Adapter]]] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    faults: list[DictsentError] = field(default_factory=list)

    def add(self, path: str, adapter: type[Adapter]) -> None:
        """Note every source in what stands at `path`."""
        self.sources.extend((part, adapter) for part in adapter().parts(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """How sources are to be read.

    Attributes:
        adapter: read everything as this format; "" to tell by content.
        language: key tag of the headwords, "" for what the source says.
        limit: entries of each source at most.
        told: adapters' own options by field name.
    """

    adapter: str = ""
    language: str = ""
    limit: int | None = None
    dry_run: bool = False
    told: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Tally:
    """What a reader has given so far; `languages` counts definitions by the headword's language, `reasons` rejects."""

    entries: int = 0
    definitions: int = 0
    rejects: int = 0
    languages: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One source's way into the store: what it holds of it now, what was read, what the reader had to say, how long."""

    ingested: Ingested
    tally: Tally
    reading: Reading
    seconds: float

    @property
    def reasons(self) -> Counter[str]:
        """How often a record was rejected for which reason."""
        return self.tally.reasons


def find(paths: Iterable[str], adapters: Adapters, *, adapter: str = "") -> Found:
    """Every source below the paths, with its adapter. Folders are walked; one that an adapter claims is one source.

    A path that was named and is no dictionary is a fault; a file met in a folder's walk is only listed.

    Raises:
        UnknownFormatError: no adapter has the given name.
    """
    wanted = named(adapter, adapters) if adapter else None
    found = Found()
    for path in paths:
        try:
            if wanted is not None:
                _claim(wanted, path, found)
            elif Path(path).is_dir():
                _walk(Path(path), adapters, found)
            else:
                found.add(path, identify(path, adapters))
        except DictsentError as error:
            found.faults.append(error)
    return found


def _claim(adapter: type[Adapter], path: str, found: Found) -> None:
    if adapter.prefix and path.startswith(adapter.prefix) and not Path(path).exists():
        found.add(path, adapter)
        return
    check_readable(Path(path))
    if not Path(path).is_dir() or adapter().matches(Path(path)):
        found.add(path, adapter)
        return
    files = [p for p in sorted(Path(path).rglob("*")) if p.is_file() and adapter().matches(p)]
    if not files:
        raise SourceError(f"nothing here that adapter {adapter.name} reads", where=path)
    for file in files:
        found.add(str(file), adapter)


def _walk(folder: Path, adapters: Adapters, found: Found) -> None:
    """Claim the folder as one source, or its files one by one, then its sub-folders."""
    try:
        found.add(str(folder), identify(str(folder), adapters))
        return
    except AmbiguousFormatError as error:
        found.faults.append(error)
        return
    except UnknownFormatError:
        pass
    taken: set[Path] = set()
    unknown: list[Path] = []
    for path in sorted(p for p in folder.iterdir() if p.is_file()):
        try:
            adapter = identify(str(path), adapters)
        except AmbiguousFormatError as error:
            found.faults.append(error)
        except SourceError:
            unknown.append(path)
        else:
            found.add(str(path), adapter)
            taken.update(p.resolve() for p in adapter().files(path))
    found.unknown.extend(str(p) for p in unknown if p.resolve() not in taken)
    for path in sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith(".")):
        _walk(path, adapters, found)


@contextmanager
def watching(update: Callable[[int, int, str], None]) -> Iterator[Callable[[Reading, Tally], None]]:
    """A `watch` for `ingest` that tells (done, total, a few words) four times a second: a dump may be read for minutes
    before its first entry comes."""
    over = threading.Event()
    threads: list[threading.Thread] = []

    def watch(reading: Reading, tally: Tally) -> None:
        threads.append(threading.Thread(target=_tell, args=(update, reading, tally, over), daemon=True))
        threads[-1].start()

    try:
        yield watch
    finally:
        over.set()
        for thread in threads:
            thread.join()


def _tell(update: Callable[[int, int, str], None], reading: Reading, tally: Tally, over: threading.Event) -> None:
    started = time.monotonic()
    while not over.wait(0.25):
        pages = f"{reading.counts['pages']:,} pages, " if reading.counts["pages"] else ""
        speed = reading.done / 1e6 / (time.monotonic() - started)
        words = f"{tally.entries:,} entries, {tally.definitions:,} definitions, {tally.rejects:,} rejects"
        update(reading.done, reading.total, f"{speed:.1f} MB/s, {pages}{words}")


def ingest(
    store: Store,
    source: str,
    adapter: type[Adapter],
    request: Request,
    *,
    on_reject: Callable[[Rejected], None] = lambda _: None,
    watch: Callable[[Reading, Tally], None] = lambda *_: None,
) -> Outcome:
    """Read one source into the store in one transaction.

    Args:
        watch: given, before the reading begins, the two records that tell how far it is at any time.

    Raises:
        SourceError, LanguageError, StoreError: nothing of the source is in the store.
    """
    own = {f.name for f in option_fields(adapter)}
    told = {key: value for key, value in request.told.items() if key in own}
    reader = adapter(adapter.Options(language=request.language, **told))
    dictionary = reader.describe(source)
    options = {**told, "language": request.language, "limit": request.limit}
    origin = Origin(
        adapter=adapter.name,
        location=source,
        checksum=reader.checksum(source),
        options=json.dumps({k: v for k, v in options.items() if v}, sort_keys=True, ensure_ascii=False),
    )
    tally = Tally()
    watch(reader.reading, tally)
    started = time.monotonic()

    def reject(record: Rejected) -> None:
        tally.rejects += 1
        tally.reasons[record.reason] += 1
        on_reject(record)

    records = _limited(_guarded(reader, source, tally), request.limit)
    ingested = store.ingest(dictionary, records, origin=origin, on_reject=reject, dry_run=request.dry_run)
    return Outcome(ingested, tally, reader.reading, time.monotonic() - started)


def _guarded(reader: Adapter, source: str, tally: Tally) -> Iterator[Entry | Rejected]:
    """The reader's records, counted; whatever it raises becomes one of our errors."""
    place = "its beginning"
    records = reader.read(source)
    while True:
        try:
            record = next(records, None)
        except DictsentError:
            raise
        except OSError as error:
            raise SourceError(f"cannot be read: {error.strerror or error}", where=source) from error
        except Exception as error:
            what = f"adapter {reader.name} failed behind {place} ({type(error).__name__}: {error}): a bug in it"
            raise AdapterBugError(what, where=source) from error
        if record is None:
            return
        place = record.place or place
        if isinstance(record, Entry):
            tally.entries += 1
            tally.definitions += len(record.definitions)
            tally.languages[record.language] += len(record.definitions)
        yield record


def _limited(records: Iterable[Entry | Rejected], limit: int | None) -> Iterator[Entry | Rejected]:
    entries = 0
    for record in records:
        if limit is not None and entries >= limit:
            return
        entries += isinstance(record, Entry)
        yield record


def summary(outcome: Outcome) -> dict[str, Any]:
    """The outcome under the keys that scripts rely on."""
    done = outcome.ingested
    return {
        "source": done.source,
        "adapter": done.adapter,
        "new": done.new,
        "entries": done.entries,
        "definitions": done.definitions,
        "duplicates": done.duplicates,
        "rejected": done.rejected,
        "error": None,
        "replaced": done.replaced,
        "reasons": dict(outcome.reasons),
        "languages": dict(outcome.tally.languages),
        "counts": dict(outcome.reading.counts),
        "notes": list(outcome.reading.notes),
    }


def _shown(tag: str) -> str:
    """A tag's name; a reader may have given one that is none, which the store then refused."""
    try:
        return display_name(tag)
    except ValueError:
        return tag


def _by_language(definitions: Counter[str]) -> str:
    """ "9 English, 3 French and 4 of 2 other languages"."""
    named = [f"{count:,} {_shown(tag)}" for tag, count in definitions.most_common(MOST_LANGUAGES)]
    rest = len(definitions) - len(named)
    others = definitions.total() - sum(count for _, count in definitions.most_common(MOST_LANGUAGES))
    return ", ".join(named) + (f" and {others:,} of {rest:,} other languages" if rest else "")


def remarks(outcome: Outcome, *, dry_run: bool = False) -> Sequence[str]:
    """What a person should read of it, the first line a summary."""
    done = outcome.ingested
    if not done.new:
        return [
            f"{done.source}: unchanged, the store holds this very source already ({done.definitions:,} definitions)"
        ]
    gave = "would give" if dry_run else "gave"
    lines = [
        f"{done.source} [{done.adapter}] {gave} {done.definitions:,} definitions of {done.entries:,} entries;"
        f" {done.duplicates:,} more were in the store already, {done.rejected:,} records rejected"
    ]
    if done.replaced:
        lines.append(f"  in place of an older version: {done.added:,} definitions added, {done.lost:,} lost")
    if outcome.reading.total > 0:
        size = outcome.reading.done / 1e6
        lines.append(f"  read: {size:,.1f} MB in {outcome.seconds:.1f} s, {size / max(outcome.seconds, 1e-3):.1f} MB/s")
    if len(outcome.tally.languages) > 1:
        lines.append("  definitions: " + _by_language(outcome.tally.languages))
    lines += [f"  rejected: {count:,} {reason}" for reason, count in outcome.reasons.most_common()]
    if outcome.reading.counts:
        lines.append("  met: " + ", ".join(f"{n:,} {what}" for what, n in outcome.reading.counts.most_common()))
    return lines + [f"  note: {text}" for text in outcome.reading.notes]
