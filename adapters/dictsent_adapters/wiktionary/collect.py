"""The template pages of a dump, kept on disk: what `templates` expands that no rule of the edition knows.

Before: dump gives the blocks of the first reading. After: pages opens the file (one connection per process).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from dictsent_adapters.wiktionary.dump import Block, Head, page_elements, unpack
from dictsent_adapters.wiktionary.templates import LONGEST_BODY, Bodies

TEMPLATE_NAMESPACE = 10
MOST_REMEMBERED = 4_000



def collect_templates(blocks: Iterable[Block], head: Head, file: Path) -> int:
    """Write the plain template bodies of a dump to a SQLite file; returns how many there are.

    Bodies that call Lua are left out: nothing here could expand them.
    """
    database = sqlite3.connect(file)
    database.execute("PRAGMA synchronous = OFF")
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("CREATE TABLE template (name TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID")
    names = tuple(name for name, number in head.namespaces.items() if number == TEMPLATE_NAMESPACE)
    count = 0
    with database:
        for block in blocks:
            rows = list(_templates(block, names))
            database.executemany("INSERT OR REPLACE INTO template VALUES (?, ?)", rows)
            count += len(rows)
    database.close()
    return count


def _templates(block: Block, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    data = _unpacked(block)
    titled = [b"<title>" + name.capitalize().encode() + b":" for name in names] if b"<ns>" not in data else []
    if b"<ns>10</ns>" not in data and not any(title in data for title in titled):
        return
    for piece in data.split(b"</page>"):
        if b"<ns>10</ns>" not in piece and not any(title in piece for title in titled):
            continue
        for page in page_elements(piece + b"</page>"):
            if isinstance(page, bytes) or page["model"] not in ("", "wikitext"):
                continue
            name, body = page["title"].split(":", 1)[-1].strip(), page["text"]
            if name and body and len(body) <= LONGEST_BODY and "#invoke:" not in body:
                yield name, body


def _unpacked(block: Block) -> bytes:
    if not block.packed:
        return block.data
    try:
        return unpack(block.data)
    except (OSError, EOFError):
        return b""


class StoredBodies(Bodies):
    """Template bodies in a file that `collect_templates` wrote, the latest ones remembered."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self._database = sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)
        self._remembered: dict[str, str | None] = {}

    def __bool__(self) -> bool:
        return True

    def find(self, name: str) -> str | None:
        """The body of a template, its first letter in either case."""
        if name not in self._remembered:
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[name] = self._read(name)
        return self._remembered[name]

    def _read(self, name: str) -> str | None:
        spellings = (name, name[:1].upper() + name[1:], name[:1].lower() + name[1:])
        query = "SELECT body FROM template WHERE name IN (?, ?, ?) LIMIT 1"
        row = self._database.execute(query, spellings).fetchone()
        return str(row[0]) if row else None

    def close(self) -> None:
        """Close the file."""
        self._database.close()
