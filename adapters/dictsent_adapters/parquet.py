"""Parquet files and folders of the datasets library: dictsent's own export, or anybody's columns.

Before: pyarrow reads batches of rows. After: entries. The columns of the own form are those of dictsent.records, with
`definition` for a definition's text and `source_*` for the dictionary's fields; others are found as in table.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from dictsent.adapter import Adapter
from dictsent.errors import SourceError
from dictsent.records import Definition, Dictionary, Entry, Example, Rejected
from dictsent_adapters.sections import part_checksum, part_names, part_of
from dictsent_adapters.table import Row, TableOptions, describe_table, has_header, read_table

_MAGIC = b"PAR1"
_BATCH = 2_000
_DICTIONARY = tuple(f"source_{field.name}" for field in fields(Dictionary))
_OWN = {"headword", "language", "definition", "definition_language", *_DICTIONARY}


class Parquet(Adapter):
    """Reads the rows of a Parquet file, or of a folder written by Dataset.save_to_disk."""

    name = "parquet"
    summary = "Parquet files and Hugging Face datasets on disk: dictsent's own export, or anybody's columns"
    generic = True
    Options = TableOptions

    def matches(self, path: Path) -> bool:
        """Whether it is Parquet or a data set, with columns of headwords and definitions."""
        if not _is_columns(path):
            return False
        try:
            return has_header(_names(path))
        except SourceError:
            return False

    def files(self, path: Path) -> list[Path]:
        """The file, or a data set's files."""
        return sorted(p for p in path.iterdir() if p.is_file()) if path.is_dir() else [path]

    def describe(self, source: str) -> Dictionary:
        """What the own form's columns tell, else the file's name."""
        path, number = part_of(source)
        if not _is_own(path):
            return describe_table(str(path), self.options)
        told = list(_dictionaries(path))
        if len(told) < max(number, 1):
            raise SourceError("holds no rows", where=source)
        found = dict(zip((name.removeprefix("source_") for name in _DICTIONARY), told[max(number, 1) - 1], strict=True))
        return Dictionary(**{**found, "language": self.options.language or found["language"]})

    def parts(self, source: str) -> list[str]:
        """The file, or each dictionary in it where there are several."""
        path = Path(source)
        return part_names(source, sum(1 for _ in _dictionaries(path)) if _is_columns(path) and _is_own(path) else 1)

    def checksum(self, source: str) -> str:
        """Of the file and the dictionary's place in it."""
        path, number = part_of(source)
        return part_checksum(super().checksum(str(path)), number)

    def read(self, source: str) -> Iterator[Entry | Rejected]:
        """One entry a row. Raises SourceError where the file is damaged or has no such columns."""
        path, number = part_of(source)
        if not _is_columns(path):
            raise SourceError("neither Parquet nor a data set on disk", where=source)
        if not _is_own(path):
            return read_table(self._table(path), self.options, source)
        return self._read_own(path, number)

    def _read_own(self, path: Path, number: int) -> Iterator[Entry | Rejected]:
        part, told, row_number = 0, None, 0
        for batch in self._batches(path):
            for row in batch.to_pylist():
                row_number += 1
                if (dictionary := tuple(row[name] for name in _DICTIONARY)) != told:
                    part, told = part + 1, dictionary
                if number in (0, part):
                    yield _entry(row, f"{path.name}, row {row_number}", self.options.language)

    def _table(self, path: Path) -> Iterator[Row]:
        names = _names(path)
        yield Row(names, f"{path.name}, column names", "", "")
        number = 0
        for batch in self._batches(path):
            for row in batch.to_pylist():
                number += 1
                cells = ["" if row[name] is None else str(row[name]) for name in names]
                yield Row(cells, f"{path.name}, row {number}", "\t".join(cells))

    def _batches(self, path: Path) -> Iterator[Any]:
        self.reading.total = sum(p.stat().st_size for p in self.files(path))
        rows = _count(path)
        done = 0
        for batch in _batches(path):
            done += batch.num_rows
            self.reading.done = self.reading.total * done // rows if rows else 0
            yield batch
        self.reading.done = self.reading.total


def _is_columns(path: Path) -> bool:
    if path.is_dir():
        return (path / "dataset_info.json").is_file() and (path / "state.json").is_file()
    with path.open("rb") as file:
        return file.read(4) == _MAGIC


def _is_own(path: Path) -> bool:
    return set(_names(path)) >= _OWN


def _names(path: Path) -> list[str]:
    import pyarrow
    import pyarrow.parquet

    try:
        if path.is_dir():
            with pyarrow.memory_map(str(_shards(path)[0])) as stream:
                return list(pyarrow.ipc.open_stream(stream).schema.names)
        with pyarrow.parquet.ParquetFile(path) as file:
            return list(file.schema_arrow.names)
    except (pyarrow.ArrowException, OSError, IndexError) as error:
        raise _damaged(path, error) from error


def _count(path: Path) -> int:
    import pyarrow.parquet

    if path.is_dir():
        return 0
    with pyarrow.parquet.ParquetFile(path) as file:
        return int(file.metadata.num_rows)


def _shards(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.arrow"))


def _batches(path: Path, columns: list[str] | None = None) -> Iterator[Any]:
    import pyarrow
    import pyarrow.parquet

    try:
        if not path.is_dir():
            with pyarrow.parquet.ParquetFile(path) as file:
                yield from file.iter_batches(batch_size=_BATCH, columns=columns)
            return
        for shard in _shards(path):
            with pyarrow.memory_map(str(shard)) as stream:
                for batch in pyarrow.ipc.open_stream(stream):
                    chosen = batch.select(columns) if columns else batch
                    yield from (chosen.slice(start, _BATCH) for start in range(0, chosen.num_rows, _BATCH))
    except (pyarrow.ArrowException, OSError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> SourceError:
    return SourceError(f"truncated or damaged: {str(error).splitlines()[0]}", where=str(path), hint="get it again")


def _dictionaries(path: Path) -> Iterator[tuple[str, ...]]:
    """What the rows say of their dictionaries, each once: rows of one stand together."""
    told: tuple[str, ...] | None = None
    for batch in _batches(path, list(_DICTIONARY)):
        columns = [column.to_pylist() for column in batch.columns]
        for found in zip(*columns, strict=True):
            if found != told:
                told = found
                yield found


def _entry(row: Mapping[str, Any], place: str, language: str) -> Entry | Rejected:
    headword, text = row["headword"] or "", row["definition"] or ""
    tag = language or row["language"] or ""
    if not headword.strip() or not text.strip() or not tag:
        reason = "no headword" if not headword.strip() else "empty definition" if not text.strip() else "no language"
        return Rejected(reason, place, f"{headword}: {text}"[:200])
    definition = Definition(
        text=text,
        language=row["definition_language"] or tag,
        **{name: row.get(name) or "" for name in ("part_of_speech", "sense", "ili", "form_of")},
        examples=tuple(Example(**{k: v or "" for k, v in example.items()}) for example in row.get("examples") or ()),
        labels=tuple(row.get("labels") or ()),
        etymology=row.get("etymology") or 0,
        translation=bool(row.get("translation")),
    )
    return Entry(
        headword=headword,
        language=tag,
        definitions=(definition,),
        spellings=tuple(row.get("spellings") or ()),
        place=place if row.get("place") is None else row["place"],
    )
