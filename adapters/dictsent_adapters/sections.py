"""Several dictionaries in one file of dictsent's own export: FILE#2 is the second of them.

Before: `Adapter.parts` of jsonl and parquet name them so. After: `describe`, `read` and `checksum` take the name apart.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

_NUMBERED = re.compile(r"(.+)#([1-9]\d*)", re.DOTALL)


def part_names(source: str, count: int) -> list[str]:
    """The names of `count` dictionaries in a file: the file's own where there are not several."""
    return [f"{source}#{number}" for number in range(1, count + 1)] if count > 1 else [source]


def part_of(source: str) -> tuple[Path, int]:
    """The file, and the number of the dictionary in it, 0 for all that is there."""
    found = _NUMBERED.fullmatch(source)
    if found is None or Path(source).exists():
        return Path(source), 0
    return Path(found[1]), int(found[2])


def part_checksum(file_digest: str, number: int) -> str:
    """The checksum of one dictionary of a file."""
    return hashlib.sha256(f"{file_digest}#{number}".encode()).hexdigest() if number else file_digest
