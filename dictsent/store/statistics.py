"""Figures about a store: how long definitions are, what sources share.

Before: dictsent.store.ingest. After: `dictsent stats`, `dictsent licences`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from sqlalchemy import Connection

_BY_LANGUAGE = """
SELECT e.language, length(d.text), count(*) FROM definition d JOIN entry e ON e.id = d.entry_id GROUP BY 1, 2"""
_BY_SOURCE = """
SELECT a.source_id, length(coalesce(a.text, d.text)), count(DISTINCT a.definition_id)
FROM attestation a JOIN definition d ON d.id = a.definition_id GROUP BY 1, 2"""
# Each distinct set of sources once: entries are walked in the order of their ids, without a sort.
_TOGETHER = {
    "definitions": "SELECT group_concat(DISTINCT source_id) AS held FROM attestation GROUP BY definition_id",
    "entries": (
        "SELECT group_concat(DISTINCT a.source_id) AS held FROM definition d INDEXED BY definition_entry"
        " CROSS JOIN attestation a ON a.definition_id = d.id GROUP BY d.entry_id"
    ),
}


@dataclass(frozen=True, slots=True)
class Overlap:
    """What two sources share: entries that both have, definitions that both give."""

    sources: tuple[str, str]
    entries: int
    definitions: int


def median_lengths(connection: Connection) -> tuple[dict[str, float], dict[int, float]]:
    """Median characters of a definition by headword language, and by source id."""
    by_language = _medians(connection.exec_driver_sql(_BY_LANGUAGE))
    return by_language, _medians(connection.exec_driver_sql(_BY_SOURCE))


def overlaps(connection: Connection, names: Mapping[int, str]) -> list[Overlap]:
    """The pairs of sources that share an entry, those that share most first."""
    shared: dict[str, Counter[tuple[int, int]]] = {}
    for kind, query in _TOGETHER.items():
        shared[kind] = Counter()
        for held, count in connection.exec_driver_sql(f"SELECT held, count(*) FROM ({query}) GROUP BY held"):
            for pair in combinations(sorted(int(source) for source in held.split(",")), 2):
                shared[kind][pair] += count
    return [
        Overlap((names[one], names[other]), count, shared["definitions"][one, other])
        for (one, other), count in shared["entries"].most_common()
    ]


def _medians(rows: Iterable[Any]) -> dict[Any, float]:
    lengths: dict[Hashable, Counter[int]] = {}
    for key, length, count in rows:
        lengths.setdefault(key, Counter())[length] = count
    return {key: _median(counts) for key, counts in lengths.items()}


def _median(counts: Counter[int]) -> float:
    total, seen, lower = sum(counts.values()), 0, 0
    for length in sorted(counts):
        before, seen = seen, seen + counts[length]
        if before <= (total - 1) // 2 < seen:
            lower = length
        if before <= total // 2 < seen:
            return (lower + length) / 2
    return 0.0
