"""The contract of a dictionary reader, and which reader a file belongs to.

Before: dictsent.records. After: dictsent_adapters implement it; the command line hands what they yield to the store.
A stranger's adapter registers under the entry-point group "dictsent.adapters", exactly as the built-in ones do
(adapters/README.md shows how).
"""

from __future__ import annotations

import difflib
import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, ClassVar

from dictsent.errors import AmbiguousFormatError, SourceError, UnknownFormatError
from dictsent.records import Dictionary, Entry, Rejected

GROUP = "dictsent.adapters"
_BLOCK = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Options:
    """What every adapter can be told; an adapter with more subclasses it and adds fields made by `option`.

    Attributes:
        language: what the user said of the headwords' language (`--lang`), a BCP-47 tag, or "" for what the file says.
    """

    language: str = ""


def option(help: str, *, default: Any, choices: Sequence[str] = (), name: str = "") -> Any:
    """A field of an Options record from which the command line's option is derived.

    `name` overrides the option's spelling, which is the field's name with dashes. A bool default makes a flag.
    """
    return field(default=default, metadata={"help": help, "choices": tuple(choices), "name": name})


@dataclass(slots=True)
class Reading:
    """How far a reading adapter is, and what it has to say; whoever called it draws it.

    Attributes:
        done, total: bytes of the file read so far and in all, compressed ones where it is compressed; total 0: unknown.
        counts: things met that are neither entries nor rejects ("pages", "redirects", "other languages").
        notes: one-line remarks for the user ("read as ISO-8859-1", "holds translations only").
    """

    done: int = 0
    total: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


class Adapter(ABC):
    """Reads one dictionary format. One instance reads one source once.

    Class attributes:
        name: the word for `--adapter`.
        summary: one line for `dictsent adapters`.
        generic: claims a file only when no specific adapter does (tsv, csv, jsonl).
        prefix: a source that is no path is recognised by it ("wn:" for wn:oewn:2025).
        Options: the record of what the adapter can be told.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    generic: ClassVar[bool] = False
    prefix: ClassVar[str] = ""
    Options: ClassVar[type[Options]] = Options

    def __init__(self, options: Any = None) -> None:
        self.options: Any = options if options is not None else self.Options()
        self.reading = Reading()

    @abstractmethod
    def matches(self, path: Path) -> bool:
        """Whether this file (or folder) looks like the format: cheap, by content, never raises for a readable file."""

    @abstractmethod
    def describe(self, source: str) -> Dictionary:
        """What can be said of the source before reading it. Raises SourceError."""

    @abstractmethod
    def read(self, source: str) -> Iterator[Entry | Rejected]:
        """Stream the source's records in its order.

        Raises:
            SourceError: the source as a whole cannot be used (truncated, another encoding); a single bad record
                is yielded as Rejected instead.
        """

    def files(self, path: Path) -> list[Path]:
        """The files the source at `path` consists of: its checksum covers them, a folder's walk counts them as read."""
        return sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]

    def parts(self, source: str) -> list[str]:
        """The sources in one file, as `describe` and `read` take them: itself, for formats that hold one dictionary."""
        return [source]

    def checksum(self, source: str) -> str:
        """sha256 of the source's files, by which a second ingest of the same source is recognised."""
        digest = hashlib.sha256()
        for path in self.files(Path(source)):
            with path.open("rb") as file:
                while block := file.read(_BLOCK):
                    digest.update(block)
        return digest.hexdigest()


def installed() -> dict[str, type[Adapter]]:
    """All adapters by name, from the entry points of every installed package.

    Raises:
        SourceError: two packages register one name, or an entry point cannot be loaded.
    """
    adapters: dict[str, type[Adapter]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda p: p.name):
        try:
            adapter = point.load()
        except Exception as error:
            raise SourceError(
                f"adapter {point.name!r} cannot be loaded: {error}",
                where=point.value,
                hint="reinstall or remove its package",
            ) from error
        if point.name in adapters and adapters[point.name] is not adapter:
            raise SourceError(f"two installed packages register an adapter named {point.name!r}", where=point.value)
        adapters[point.name] = adapter
    return adapters


def named(name: str, adapters: Mapping[str, type[Adapter]]) -> type[Adapter]:
    """The adapter of that name. Raises UnknownFormatError with the nearest name."""
    if name in adapters:
        return adapters[name]
    near = difflib.get_close_matches(name, adapters, n=1)
    hint = f"did you mean {near[0]}?" if near else f"installed: {', '.join(adapters)}"
    raise UnknownFormatError(f"no adapter is named {name!r}", where="--adapter", hint=hint)


def identify(source: str, adapters: Mapping[str, type[Adapter]]) -> type[Adapter]:
    """The one adapter that reads `source`, told by its content.

    Raises:
        UnknownFormatError: none does. AmbiguousFormatError: several do. SourceError: it cannot be read at all.
    """
    by_prefix = [a for a in adapters.values() if a.prefix and source.startswith(a.prefix)]
    path = Path(source)
    if by_prefix and not path.exists():
        return by_prefix[0]
    check_readable(path)
    claims = [a for a in adapters.values() if a().matches(path)]
    claims = [a for a in claims if not a.generic] or claims
    if not claims:
        raise UnknownFormatError(
            "no adapter recognises this",
            where=source,
            hint="`dictsent adapters` lists the formats; --adapter names one",
        )
    if len(claims) > 1:
        names = " and ".join(a.name for a in claims)
        raise AmbiguousFormatError(
            f"both {names} claim this", where=source, hint=f"choose with --adapter {claims[0].name}"
        )
    return claims[0]


def check_readable(path: Path) -> None:
    """Raise SourceError where the path is missing, empty or cannot be opened."""
    if not path.exists():
        raise SourceError("no such file or folder", where=str(path))
    try:
        if path.is_dir():
            next(path.iterdir(), None)
        elif path.stat().st_size == 0:
            raise SourceError("the file is empty", where=str(path))
        else:
            path.open("rb").close()
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", where=str(path)) from error


def option_fields(adapter: type[Adapter]) -> list[Any]:
    """The dataclass fields of the adapter's own options, without the ones every adapter has."""
    return [f for f in fields(adapter.Options) if f.name != "language"]
