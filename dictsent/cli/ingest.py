"""`dictsent ingest`: dictionary files into the store.

Before: the shell. After: dictsent.sources reads them, each whole or not at all.
"""

from __future__ import annotations

import json
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import click

from dictsent.adapter import installed, option_fields
from dictsent.cli.options import json_option, store_option
from dictsent.cli.show import emit, note, working
from dictsent.errors import DictsentError, UnknownFormatError
from dictsent.languages import find_tag
from dictsent.records import Rejected
from dictsent.sources import AdapterBugError, Found, Request, find, ingest, remarks, summary, watching
from dictsent.store import Store

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
    request = Request(
        adapter=adapter,
        language=find_tag(language) if language else "",
        limit=limit,
        dry_run=dry_run,
        told={name: value for name, value in told.items() if value is not None},
    )
    with ExitStack() as stack:
        file = stack.enter_context(_rejects_file(rejects)) if rejects else None
        read = [stack.enter_context(_spooled()) if path == _STDIN else path for path in paths]
        found = find(read, installed(), adapter=adapter)
        rows = [_failed(fault.where, fault) for fault in found.faults]
        rows += _ingest_all(found, request, store, file)
    for path in found.unknown:
        note(f"not a dictionary: {path}")
    if not rows:
        hint = "`dictsent adapters` lists formats"
        raise UnknownFormatError("nothing here is a dictionary", where=" ".join(paths), hint=hint)
    if as_json:
        emit({"sources": rows, "unknown": found.unknown})
    if any(row["error"] for row in rows):
        ctx.exit(1)


@contextmanager
def _spooled() -> Iterator[str]:
    """Standard input as a file: some formats are read twice."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stdin.txt"
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


def _ingest_all(found: Found, request: Request, path: Path, rejects: IO[str] | None) -> list[dict[str, Any]]:
    """Every source in a transaction of its own. A store that was not there and got nothing is not left behind."""
    if not found.sources:
        return []
    was_there = path.exists()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "dry-run.db" if request.dry_run and not was_there else path
        empty = True
        try:
            with Store(target, create=True) as store:
                try:
                    return [_ingest_one(store, *pair, request=request, rejects=rejects) for pair in found.sources]
                finally:
                    empty = not store.source_names()
        finally:
            if empty and not was_there:
                for suffix in ("", "-wal", "-shm"):
                    Path(f"{target}{suffix}").unlink(missing_ok=True)


def _ingest_one(
    store: Store, source: str, adapter: Any, *, request: Request, rejects: IO[str] | None
) -> dict[str, Any]:
    """One source; whatever goes wrong with it is a row of the summary, and the others go on."""

    def on_reject(record: Rejected) -> None:
        if rejects is not None:
            row = {"source": source, "reason": record.reason, "place": record.place, "text": record.text}
            rejects.write(json.dumps(row, ensure_ascii=False) + "\n")

    try:
        with working(f"{Path(source).name} [{adapter.name}]") as bar, watching(bar.update) as watch:
            outcome = ingest(store, source, adapter, request, on_reject=on_reject, watch=watch)
    except AdapterBugError as error:
        traceback.print_exception(error.__cause__, file=sys.stderr)
        return _failed(source, error, adapter=adapter.name)
    except DictsentError as error:
        return _failed(source, error, adapter=adapter.name)
    for line in remarks(outcome, dry_run=request.dry_run):
        note(line)
    return summary(outcome)


def _failed(source: str, error: DictsentError, *, adapter: str = "") -> dict[str, Any]:
    note(f"Error: {error}")
    counts = dict.fromkeys(("entries", "definitions", "duplicates", "rejected"), 0)
    return {"source": source, "adapter": adapter, "new": False, **counts, "error": str(error)}
