"""Files as the adapters see them: compressed or not, with a known encoding, line by line with a bound on the line.

Before: a path. After: every adapter of a text or XML format reads through here.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from dictsent.adapter import Reading
from dictsent.errors import SourceError

LINE_LIMIT = 1 << 20
"""The longest line, in bytes, that is taken for a record."""

_DAMAGE = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, tarfile.TarError)
_COMPRESSED: tuple[tuple[bytes, Callable[..., Any]], ...] = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def open_plain(path: Path) -> BinaryIO:
    """The file's bytes, decompressed where its first bytes are those of gzip (dictzip too), bzip2 or xz."""
    with path.open("rb") as file:
        magic = file.read(6)
    for mark, opener in _COMPRESSED:
        if magic.startswith(mark):
            return cast(BinaryIO, opener(path, "rb"))
    return path.open("rb")


def is_compressed(path: Path) -> bool:
    """Whether `open_plain` would decompress the file."""
    with path.open("rb") as file:
        return file.read(6).startswith(tuple(mark for mark, _ in _COMPRESSED))


def beginning(path: Path, size: int = 1 << 16) -> bytes:
    """The first `size` bytes, decompressed; fewer where the file is short or damaged."""
    if not path.is_file():
        return b""
    found = bytearray()
    try:
        with open_plain(path) as stream:
            while len(found) < size and (block := stream.read(min(4096, size - len(found)))):
                found += block
    except (*_DAMAGE, OSError):
        pass
    return bytes(found)


@contextmanager
def damage_as_source_error(path: Path) -> Iterator[None]:
    """Turn what the decompressors and the disk raise into one SourceError."""
    try:
        yield
    except _DAMAGE as error:
        raise SourceError("truncated or damaged", where=str(path), hint="get the file again") from error
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}", where=str(path)) from error


def detect_encoding(start: bytes, *, otherwise: str = "utf-8") -> str:
    """The encoding that a byte-order mark names, else UTF-8 where the bytes are UTF-8, else `otherwise`."""
    for mark, name in _BOMS:
        if start.startswith(mark):
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return otherwise
    return "utf-8"


def compressed_size(path: Path) -> int:
    """Bytes on disk, the measure of Reading.total."""
    return path.stat().st_size


def count_done(stream: BinaryIO, reading: Reading) -> None:
    """Set Reading.done to the bytes of the file on disk that have been read through `stream`."""
    raw = getattr(stream, "fileobj", None) or getattr(stream, "_fp", None) or stream
    reading.done = min(raw.tell(), reading.total)
