"""Fetching similarity sets from the hub, pinned to the registry's revision.

Before: the registry's `hub` entries, the `datasets` library. After: files that dictsent.tasks.data finds in the cache.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from dictsent.errors import TaskError
from dictsent.tasks.data import PairSet
from dictsent.tasks.own import FIRST, SCORE, SECOND


def fetch(row: PairSet, cache: Path, *, revision: str = "") -> list[Path]:
    """Keep a set's splits as JSON lines below `cache`, with the hub's path and revision beside them.

    Args:
        revision: of the data set on the hub; "" takes the registry's, the one that mteb scores.

    Raises:
        TaskError: the set is not on the hub, the hub cannot be reached, or the columns cannot be told.
    """
    if not row.hub:
        raise TaskError("is not on the hub", where=row.label, hint=f"its source: {row.source}")
    path, folder = str(row.hub["path"]), cache / row.slug
    try:
        from datasets import load_dataset

        revision = revision or str(row.hub["revision"])
        loaded = {
            split: load_dataset(path, row.hub.get("config"), split=theirs, revision=revision)
            for split, theirs in row.hub["splits"].items()
        }
    except Exception as error:  # whatever the network, the hub or a data set's own script raises
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise TaskError(f"cannot be fetched: {first}", where=path) from error
    folder.mkdir(parents=True, exist_ok=True)
    facts = {"set": row.label, "hub": path, "config": row.hub.get("config", ""), "revision": revision}
    _write(folder / "source.json", json.dumps(facts, indent=2) + "\n")
    columns = tuple(row.hub.get("columns", ()))
    return [keep_split(rows, folder / f"{split}.jsonl", columns=columns) for split, rows in loaded.items()]


def keep_split(rows: Iterable[dict[str, Any]], path: Path, *, columns: Sequence[str] = ()) -> Path:
    """Write rows with score and two sentences, whatever their columns are called. Raises TaskError.

    Args:
        columns: of score, first and second sentence (dotted: a key inside a record); by default told by their names.
    """
    lines = []
    names = tuple(columns)
    for row in rows:
        names = names or _columns(row, path)
        values = zip(("score", "sentence1", "sentence2"), (_value(row, name, path) for name in names), strict=True)
        lines.append(json.dumps(dict(values), ensure_ascii=False))
    if not lines:
        raise TaskError("holds no rows", where=str(path))
    _write(path, "\n".join(lines) + "\n")
    return path


def _columns(row: dict[str, Any], path: Path) -> tuple[str, ...]:
    lowered = {name.lower(): name for name in row}
    found = [next((lowered[name] for name in names if name in lowered), "") for names in (SCORE, FIRST, SECOND)]
    if not all(found):
        raise TaskError(f"its columns cannot be told: {', '.join(row)}", where=str(path))
    return tuple(found)


def _value(row: Any, name: str, path: Path) -> Any:
    value = row
    for key in name.split(".") if name not in row else [name]:
        if not isinstance(value, dict) or key not in value:
            raise TaskError(f"has no column {name!r}: {', '.join(row)}", where=str(path))
        value = value[key]
    return value


def _write(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
