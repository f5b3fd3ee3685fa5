"""The template pages of a dump, kept on disk: what `templates` expands that no rule of the edition knows.

Before: dump gives the blocks of the first reading. After: pages opens the file (one connection per process).
"""

from __future__ import annotations

import shutil
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path

from dictsent.adapter import Reading
from dictsent.errors import SourceError
from dictsent_adapters.streams import is_compressed
from dictsent_adapters.wiktionary.dump import Block, Head, blocks, is_bzip2, is_multistream, page_elements, unpack
from dictsent_adapters.wiktionary.templates import LONGEST_BODY, Bodies

SPARE_ROOM = 40
"""A bz2 dump, which grows tenfold, is unpacked on the first reading where this many times its size is free on disk."""
TEMPLATE_NAMESPACE = 10
MOST_REMEMBERED = 4_000


@dataclass(frozen=True, slots=True)
class Collected:
    """What the first reading of a dump left on disk.

    Attributes:
        templates: file of template bodies, "" where the dump has none.
        text: the dump unpacked, where that spares the second reading the work; else the dump itself.
    """

    templates: str
    text: Path


def first_share(path: Path) -> float:
    """How much of a dump's two readings the first one is: nearly nothing, unless it has to unpack bz2."""
    return 0.3 if is_bzip2(path) else 0.1 if is_compressed(path) else 0.02


def collect(path: Path, head: Head, folder: Path, *, jobs: int, progress: Callable[[int], None]) -> Collected:
    """Read a dump once for its plain template bodies; a bz2 file is unpacked on the way where the disk has room.

    Bodies that call Lua are left out: nothing here could expand them. `progress` is told the bytes of the file read.

    Raises:
        SourceError: the dump is damaged.
    """
    file = folder / "templates.db"
    spare = is_bzip2(path) and shutil.disk_usage(folder).free > SPARE_ROOM * path.stat().st_size
    text = folder / "dump.xml" if spare else path
    names = tuple(name for name, number in head.namespaces.items() if number == TEMPLATE_NAMESPACE)
    database = sqlite3.connect(file)
    database.execute("PRAGMA synchronous = OFF")
    database.execute("PRAGMA journal_mode = MEMORY")
    database.execute("CREATE TABLE template (name TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID")
    count, reading = 0, Reading()
    with closing(database), text.open("wb") if spare else nullcontext() as spool:
        for data in unpacked(path, blocks(path, reading, packed=True), jobs):
            rows = list(_templates(data, names))
            with database:
                database.executemany("INSERT OR REPLACE INTO template VALUES (?, ?)", rows)
            count += len(rows)
            progress(reading.done)
            if spool is not None:
                spool.write(data)
    if spare and not is_multistream(path):
        with text.open("ab") as spool:
            spool.write(b"</mediawiki>")
    return Collected(str(file) if count else "", text)


def unpacked(path: Path, found: Iterator[Block], jobs: int) -> Iterator[bytes]:
    """The blocks' XML in order; bz2 streams are unpacked by `jobs` threads (the decompressor lets go of the lock).

    Raises:
        SourceError: a stream is damaged.
    """
    waiting: deque[Future[bytes]] = deque()
    try:
        with ThreadPoolExecutor(jobs) as pool:
            for block in found:
                if not block.packed:
                    yield block.data
                    continue
                waiting.append(pool.submit(unpack, block.data))
                if len(waiting) > jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
    except (OSError, EOFError) as error:
        raise SourceError(f"truncated or damaged ({error})", where=str(path), hint="get the file again") from error


def _templates(data: bytes, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    marks = [b"<ns>10</ns>"]
    if b"<ns>" not in data:
        marks = [b"<title>" + spelled.encode() + b":" for name in names for spelled in (name.capitalize(), name)]
    for mark in marks:
        position = data.find(mark)
        while position >= 0:
            start, end = data.rfind(b"<page>", 0, position), data.find(b"</page>", position)
            if start < 0 or end < 0:
                return
            yield from _bodies(data[start : end + len(b"</page>")])
            position = data.find(mark, end)


def _bodies(page: bytes) -> Iterator[tuple[str, str]]:
    for fields in page_elements(page):
        if isinstance(fields, bytes) or fields["model"] not in ("", "wikitext"):
            continue
        name, body = fields["title"].split(":", 1)[-1].strip(), fields["text"]
        if name and body and len(body) <= LONGEST_BODY and "#invoke:" not in body:
            yield name, body


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
