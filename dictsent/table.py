"""Training data that lies in no store: an exported file or folder, or a set of the hub, read into a store of its own.

Before: `dictsent export`, or anybody's columns. After: the same selection, cleaning and split as from any store, with
the same pairs. The store is kept beside the runs by what it was made of; a machine that has no other takes part so.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from dictsent import ranks
from dictsent.adapter import installed
from dictsent.errors import DictsentError, SourceError, TrainingError
from dictsent.folders import appearing, prune
from dictsent.sources import Request, find, ingest
from dictsent.store import Store

KEPT = 2
"""Stores made of tables that stay on disk; the ones used longest ago go."""
_ROWS = 2_000

Notify = Callable[[str], None]


def table_store(source: str, cache: Path, *, language: str = "", notify: Notify = lambda _: None) -> Path:
    """The file of a store that holds what `source` holds.

    Where several processes train, the first of each machine makes it and the others wait.

    Args:
        source: a path that `dictsent ingest` reads (Parquet, a folder of the datasets library, ...), or the name of a
            data set of the hub, "owner/name" or "owner/name:configuration"; all its splits are read, since training
            splits by headword itself.
        cache: the folder to keep the store in.
        language: of the headwords, where the source does not say.

    Raises:
        SourceError, LanguageError, StoreError: it cannot be read.
    """
    with ranks.together():
        made: Path | None = None
        if ranks.first_here():
            made = _made(source, cache, language, notify)
    ranks.wait()
    with ranks.together():
        return made or _made(source, cache, language, notify)


def _made(source: str, cache: Path, language: str, notify: Notify) -> Path:
    local = Path(source).exists()
    key = _state(Path(source)) if local else _hub_state(source)
    digest = blake2b(f"{key}\n{language}".encode(), digest_size=12).hexdigest()
    place = cache / f"table-{digest}"
    if not place.is_dir():
        notify(f"reading {source}")
        try:
            with appearing(place) as partial:
                if local:
                    _read(source, partial / "store.db", language)
                else:
                    with _downloaded(source, partial) as file:
                        _read(str(file), partial / "store.db", language)
        except TrainingError:
            if not place.is_dir():  # else another machine, or another training, was quicker
                raise
        prune(cache, "table-*", kept=KEPT)
    place.touch()
    return place / "store.db"


def _read(path: str, target: Path, language: str) -> None:
    """Every dictionary below the path. One that cannot be read is an error: half of the data is not the data."""
    found = find([path], installed())
    if found.faults:
        raise found.faults[0]
    if not found.sources:
        raise SourceError("nothing here is a dictionary", where=path, hint="see `dictsent adapters`")
    with Store(target, create=True) as store:
        for name, adapter in found.sources:
            ingest(store, name, adapter, Request(language=language))


def _state(path: Path) -> str:
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    return "\n".join(f"{p.resolve()} {p.stat().st_size} {p.stat().st_mtime_ns}" for p in files)


def _hub_state(name: str) -> str:
    builder = _reported(name, lambda datasets: datasets.load_dataset_builder(*_parts(name)))
    return f"{name} {builder.config_id} {builder.hash}"


@contextmanager
def _downloaded(name: str, folder: Path) -> Iterator[Path]:
    """The data set's rows as one Parquet file, streamed: neither memory nor the library's cache holds them."""
    splits = _reported(name, lambda datasets: datasets.load_dataset(*_parts(name), streaming=True))
    with tempfile.TemporaryDirectory(dir=folder) as place:
        target = Path(place) / f"{name.replace('/', '--').replace(':', '--')}.parquet"
        _reported(name, lambda _: _write(splits, target))
        yield target


def _write(splits: Any, target: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    writer: Any = None
    try:
        for rows in splits.values():
            for batch in rows.with_format("arrow").iter(batch_size=_ROWS):
                table = batch if isinstance(batch, pyarrow.Table) else pyarrow.Table.from_batches([batch])
                writer = writer or pyarrow.parquet.ParquetWriter(target, table.schema)
                writer.write_table(table.cast(writer.schema))
    finally:
        if writer is not None:
            writer.close()
    if writer is None:
        raise SourceError("the data set holds no rows", where=str(target.stem))


def _parts(name: str) -> tuple[str, ...]:
    owner, _, configuration = name.partition(":")
    return (owner, configuration) if configuration else (owner,)


def _reported(name: str, work: Callable[[Any], Any]) -> Any:
    """What `work` makes of the datasets library; its many errors become one of ours."""
    import datasets

    bars = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        return work(datasets)
    except DictsentError:
        raise
    except Exception as error:
        first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        hint = "give a file or folder, or the name of a data set that this machine can reach"
        raise SourceError(f"the data set cannot be read: {first[:200]}", where=name, hint=hint) from error
    finally:
        if not bars:
            datasets.enable_progress_bars()
