"""Forms of columns, by the datasets library: a Parquet file, or a folder that datasets.load_from_disk reads.

Before: dictsent.export.writing names the place. After: the adapter parquet reads both.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dictsent.records import Dictionary
from dictsent.store import Store, dictionary_of

_BATCH = 10_000

Written = tuple[int, tuple[str, ...]]


def write_parquet(store: Store, out: Path, language: str) -> Written:
    """One row for each place a definition was seen at, with all fields of dictsent.records and of its source."""
    with _dataset(store, out, language) as dataset:
        dataset.to_parquet(out, batch_size=_BATCH)
        return len(dataset), ()


def write_dataset(store: Store, out: Path, language: str) -> Written:
    """The same rows as a folder for datasets.load_from_disk."""
    with _dataset(store, out, language) as dataset:
        dataset.save_to_disk(out)
        return len(dataset), ()


@contextmanager
def _dataset(store: Store, out: Path, language: str) -> Iterator[Any]:
    """The rows as a data set in an Arrow file beside the target, which goes away afterwards; memory stays flat."""
    import datasets

    bars = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        with TemporaryDirectory(dir=out.parent, prefix=".dictsent-") as folder:
            yield datasets.Dataset.from_generator(
                lambda: _rows(store, language),
                features=_features(datasets),
                cache_dir=folder,
                fingerprint="dictsent",
                writer_batch_size=_BATCH,
            )
    finally:
        if not bars:
            datasets.enable_progress_bars()


def _features(datasets: Any) -> Any:
    text, texts = datasets.Value("string"), datasets.List(datasets.Value("string"))
    example = {"text": text, "translation": text, "source": text}
    names = ("headword", "language", "definition", "definition_language", "part_of_speech", "sense", "ili", "form_of")
    return datasets.Features(
        {
            **dict.fromkeys(names, text),
            "etymology": datasets.Value("int64"),
            "translation": datasets.Value("bool"),
            "examples": datasets.List(example),
            "labels": texts,
            "spellings": texts,
            "place": text,
            **{f"source_{field.name}": text for field in fields(Dictionary)},
        }
    )


def _rows(store: Store, language: str) -> Iterator[dict[str, Any]]:
    for source in store.sources():
        told = {f"source_{key}": value for key, value in asdict(dictionary_of(source)).items()}
        for entry in store.records(source, language=language):
            for definition in entry.definitions:
                row = asdict(definition)
                yield {
                    "headword": entry.headword,
                    "language": entry.language,
                    "definition": row.pop("text"),
                    "definition_language": row.pop("language"),
                    **row,
                    "spellings": entry.spellings,
                    "place": entry.place,
                    **told,
                }
