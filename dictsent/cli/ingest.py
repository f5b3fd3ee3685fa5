"""`dictsent ingest`: dictionary files into the store.

Before: the shell, or a folder's walk. After: each source is in the store whole, or not at all.
"""

from __future__ import annotations

import json
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import click

from dictsent.cli.options import json_option, store_option
from dictsent.cli.show import Bar, emit, note, working
from dictsent.errors import AmbiguousFormatError, DictsentError, SourceError, UnknownFormatError
from dictsent.records import Entry, Rejected

_STDIN = "-"


class _WithAdapterOptions(click.Command):
    """Adds every installed adapter's own options to the command's."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's parameters and the adapters'."""
        if not getattr(self, "_derived", False):
            self._derived = True
            at = len(self.params) - 1
            self.params[at:at] = _adapter_parameters()
        return super().get_params(ctx)


def _adapter_parameters() -> list[click.Parameter]:
    """One option for each field of each adapter's Options record; adapters that share a name share the option."""
    from dictsent.adapter import installed, option_fields

    fields: dict[str, Any] = {}
    users: dict[str, list[str]] = {}
    for name, adapter in installed().items():
        for item in option_fields(adapter):
            fields.setdefault(item.name, item)
            users.setdefault(item.name, []).append(name)
    return [_parameter(item, users[name]) for name, item in fields.items()]


def _parameter(item: Any, users: list[str]) -> click.Option:
    spelling = item.metadata["name"] or item.name.replace("_", "-")
    help_text = f"[{', '.join(users)}] {item.metadata['help']}"
    choices = item.metadata["choices"]
    if isinstance(item.default, bool):
        return click.Option([f"--{spelling}", item.name], is_flag=True, default=None, help=help_text)
    kind: Any = click.Choice(choices) if choices else {int: int, float: float}.get(type(item.default), str)
    return click.Option([f"--{spelling}", item.name], type=kind, default=None, help=help_text)


@dataclass(slots=True)
class _Job:
    """What one call was asked for."""

    adapter: str
    language: str
    limit: int | None
    dry_run: bool
    told: dict[str, Any]
    rejects: IO[str] | None
    adapters: dict[str, Any]


@dataclass(slots=True)
class _Found:
    """The sources below the given paths, and the files that are no dictionary."""

    sources: list[tuple[str, Any]] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    faults: list[DictsentError] = field(default_factory=list)


@click.command(
    "ingest",
    cls=_WithAdapterOptions,
    epilog="Examples: dictsent ingest wiktionary-ja.xml · dictsent ingest /usr/share/wordnet · "
    "dictsent ingest --lang sw words.tsv · zcat big.xml.gz | dictsent ingest -",
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--adapter", default="", help="Read as this format; `dictsent adapters` lists them.")
@click.option("--lang", "language", default="", help="The headwords' language, a tag or name (ja, Japanese).")
@store_option
@click.option(
    "--rejects", type=click.Path(dir_okay=False, path_type=Path), help="Write unusable records here (JSON lines)."
)
@click.option("--limit", type=click.IntRange(min=1), help="At most this many entries of each source.")
@click.option("--dry-run", is_flag=True, help="Read and count, change nothing.")
@json_option
@click.pass_context
def ingest_command(
    ctx: click.Context,
    /,
    paths: tuple[str, ...],
    adapter: str,
    language: str,
    store: Path,
    rejects: Path | None,
    limit: int | None,
    dry_run: bool,
    as_json: bool,
    **told: Any,
) -> None:
    """Read dictionaries into the store.

    PATH is a file, a folder (walked), a specifier such as wn:oewn:2025, or - for standard input. The format is told
    by content. Each source is written in one step of its own; the same source twice changes nothing.
    """
    from dictsent.adapter import installed, named
    from dictsent.languages import find_language

    adapters = installed()
    if adapter:
        named(adapter, adapters)
    with ExitStack() as stack:
        file = stack.enter_context(_rejects_file(rejects)) if rejects else None
        told = {name: value for name, value in told.items() if value is not None}
        job = _Job(adapter, find_language(language) if language else "", limit, dry_run, told, file, adapters)
        spooled = [stack.enter_context(_spooled()) if path == _STDIN else path for path in paths]
        found = _find(spooled, job)
        rows = [_failed(str(f.where), f) for f in found.faults]
        rows += _ingest_all(found, job, store)
    for path in found.unknown:
        note(f"not a dictionary: {path}")
    if not found.sources and not found.faults:
        raise UnknownFormatError(
            "nothing here is a dictionary", where=" ".join(paths), hint="`dictsent adapters` lists formats"
        )
    if as_json:
        emit({"sources": rows, "unknown": found.unknown})
    if any(row["error"] for row in rows):
        ctx.exit(1)


@contextmanager
def _spooled() -> Iterator[str]:
    """Standard input as a file: some formats are read twice."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stdin"
        with path.open("wb") as file:
            while block := sys.stdin.buffer.read(1 << 20):
                file.write(block)
        yield str(path)


@contextmanager
def _rejects_file(path: Path) -> Iterator[IO[str]]:
    try:
        with path.open("w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise DictsentError(f"cannot be written: {error.strerror}", where=str(path)) from error


def _find(paths: list[str], job: _Job) -> _Found:
    """Every source below the paths with its adapter. A path that was named and is no dictionary is a fault."""
    from dictsent.adapter import identify, named

    found = _Found()
    for path in paths:
        try:
            if job.adapter:
                _claim_with(named(job.adapter, job.adapters), path, found)
            elif Path(path).is_dir():
                _walk(Path(path), job, found)
            else:
                found.sources.append((path, identify(path, job.adapters)))
        except DictsentError as error:
            found.faults.append(error)
    return found


def _claim_with(adapter: Any, path: str, found: _Found) -> None:
    from dictsent.adapter import check_readable

    if adapter.prefix and path.startswith(adapter.prefix) and not Path(path).exists():
        found.sources.append((path, adapter))
        return
    check_readable(Path(path))
    if not Path(path).is_dir() or adapter().matches(Path(path)):
        found.sources.append((path, adapter))
        return
    files = [p for p in sorted(Path(path).rglob("*")) if p.is_file() and adapter().matches(p)]
    if not files:
        raise SourceError(f"nothing here that adapter {adapter.name} reads", where=path)
    found.sources.extend((str(p), adapter) for p in files)


def _walk(folder: Path, job: _Job, found: _Found) -> None:
    """Claim the folder as one source, or its files one by one, then its sub-folders."""
    from dictsent.adapter import identify

    try:
        found.sources.append((str(folder), identify(str(folder), job.adapters)))
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
            adapter = identify(str(path), job.adapters)
        except AmbiguousFormatError as error:
            found.faults.append(error)
        except SourceError:
            unknown.append(path)
        else:
            found.sources.append((str(path), adapter))
            taken.update(p.resolve() for p in adapter().files(path))
    found.unknown.extend(str(p) for p in unknown if p.resolve() not in taken)
    for path in sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith(".")):
        _walk(path, job, found)


def _ingest_all(found: _Found, job: _Job, path: Path) -> list[dict[str, Any]]:
    from dictsent.store import Store

    if not found.sources:
        return []
    was_there = path.exists()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "dry-run.db" if job.dry_run and not was_there else path
        with Store(target, create=True) as store:
            rows = [_ingest_one(source, adapter, job, store) for source, adapter in found.sources]
            empty = not store.sources()
    if empty and not was_there and not job.dry_run:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
    return rows


def _ingest_one(source: str, adapter: Any, job: _Job, store: Any) -> dict[str, Any]:
    """One source in one transaction; whatever goes wrong with it is a row of the summary, and the others go on."""
    started = f"{source} [{adapter.name}]"
    try:
        with working(started) as bar:
            return _read_into(store, source, adapter, job, bar)
    except DictsentError as error:
        return _failed(source, error, adapter=adapter.name)


def _read_into(store: Any, source: str, adapter: Any, job: _Job, bar: Bar) -> dict[str, Any]:
    from dictsent.store import Origin
    from dictsent.store.ingest import limited

    reader = adapter(_options(adapter, job))
    dictionary = reader.describe(source)
    told = {**job.told, "language": job.language, "limit": job.limit}
    told = {k: v for k, v in told.items() if v and (k in ("language", "limit") or hasattr(reader.options, k))}
    origin = Origin(
        adapter=adapter.name,
        location=source,
        checksum=reader.checksum(source),
        options=json.dumps(told, sort_keys=True, ensure_ascii=False),
    )
    reasons: Counter[str] = Counter()

    def on_reject(record: Rejected) -> None:
        reasons[record.reason] += 1
        if job.rejects:
            row = {"source": source, "reason": record.reason, "place": record.place, "text": record.text}
            job.rejects.write(json.dumps(row, ensure_ascii=False) + "\n")

    records = limited(_watched(reader, source, bar), job.limit)
    outcome = store.ingest(dictionary, records, origin=origin, on_reject=on_reject, dry_run=job.dry_run)
    _summarise(outcome, reader, reasons, job)
    return {
        "source": outcome.source,
        "adapter": outcome.adapter,
        "new": outcome.new,
        "entries": outcome.entries,
        "definitions": outcome.definitions,
        "duplicates": outcome.duplicates,
        "rejected": outcome.rejected,
        "error": None,
        "replaced": outcome.replaced,
        "reasons": dict(reasons),
        "counts": dict(reader.reading.counts),
        "notes": list(reader.reading.notes),
    }


def _options(adapter: Any, job: _Job) -> Any:
    from dictsent.adapter import option_fields

    own = {f.name for f in option_fields(adapter)}
    return adapter.Options(language=job.language, **{k: v for k, v in job.told.items() if k in own})


def _watched(reader: Any, source: str, bar: Bar) -> Iterator[Entry | Rejected]:
    """The reader's records, with the bar kept moving; a bug in an adapter names adapter and record."""
    records = reader.read(source)
    place, entries = "its beginning", 0
    while True:
        try:
            record = next(records, None)
        except (DictsentError, KeyboardInterrupt):
            raise
        except OSError as error:
            raise SourceError(f"cannot be read: {error.strerror or error}", where=source) from error
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            raise SourceError(
                f"adapter {reader.name} failed after {place}: this is a bug in it", where=source
            ) from error
        if record is None:
            return
        place = record.place or place
        entries += isinstance(record, Entry)
        if entries % 500 == 0:
            bar.update(reader.reading.done, reader.reading.total, f"{entries:,} entries")
        yield record


def _summarise(outcome: Any, reader: Any, reasons: Counter[str], job: _Job) -> None:
    if not outcome.new:
        note(
            f"{outcome.source}: unchanged, the store holds this very source already"
            f" ({outcome.definitions:,} definitions)"
        )
        return
    done = "would give" if job.dry_run else "gave"
    note(
        f"{outcome.source} [{outcome.adapter}] {done} {outcome.definitions:,} definitions"
        f" of {outcome.entries:,} entries; {outcome.duplicates:,} more were in the store already,"
        f" {outcome.rejected:,} records rejected"
    )
    if outcome.replaced:
        note(f"  in place of an older version: {outcome.added:,} definitions added, {outcome.lost:,} lost")
    for reason, count in reasons.most_common():
        note(f"  rejected: {count:,} {reason}")
    if reader.reading.counts:
        note("  met: " + ", ".join(f"{n:,} {what}" for what, n in reader.reading.counts.most_common()))
    for text in reader.reading.notes:
        note(f"  note: {text}")


def _failed(source: str, error: DictsentError, *, adapter: str = "") -> dict[str, Any]:
    click.echo(f"Error: {error}", err=True)
    counts = dict.fromkeys(("entries", "definitions", "duplicates", "rejected"), 0)
    return {"source": source, "adapter": adapter, "new": False, **counts, "error": str(error)}
