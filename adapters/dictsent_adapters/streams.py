"""Files as the adapters see them: compressed or not, with a known encoding, line by line with a bound on the line.

Before: a path. After: every adapter of a text or XML format reads through here.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import re
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from backports import zstd

from dictsent.adapter import Reading
from dictsent.errors import SourceError

LINE_LIMIT = 1 << 20
"""The longest line, in bytes, that is taken for a record."""

_TABLES = {".tsv", ".tab", ".csv", ".txt"}
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_BAD_BYTE = re.compile("[\udc80-\udcff]")
_DAMAGE = (EOFError, lzma.LZMAError, zlib.error, zstd.ZstdError, gzip.BadGzipFile, tarfile.TarError)
_COMPRESSED: tuple[tuple[bytes, Callable[..., Any]], ...] = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
    (b"\x28\xb5\x2f\xfd", zstd.open),
    *((bytes([0x50 + n]) + b"\x2a\x4d\x18", zstd.open) for n in range(16)),  # a skippable frame first, as pzstd writes
)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def open_plain(path: Path) -> BinaryIO:
    """The file's bytes, decompressed where its first bytes are those of gzip (dictzip too), bzip2, xz or Zstandard."""
    with path.open("rb") as file:
        magic = file.read(6)
    for mark, opener in _COMPRESSED:
        if magic.startswith(mark):
            return cast(BinaryIO, opener(path, "rb"))
    return path.open("rb")


@contextmanager
def open_seekable(path: Path) -> Iterator[BinaryIO]:
    """The file's bytes for random access: unpacked into a temporary file where it is compressed.

    Raises:
        SourceError: damaged, or no room for the temporary file.
    """
    if not is_compressed(path):
        with path.open("rb") as stream:
            yield stream
        return
    with tempfile.TemporaryFile(prefix="dictsent-") as unpacked:
        with damage_as_source_error(path), open_plain(path) as packed:
            shutil.copyfileobj(packed, unpacked, 1 << 20)
        yield cast(BinaryIO, unpacked)


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
        if error.errno is None:  # the decompressors' own: "Invalid data stream"
            raise SourceError("truncated or damaged", where=str(path), hint="get the file again") from error
        raise SourceError(f"cannot be read: {error.strerror or error}", where=str(path)) from error


def detect_encoding(start: bytes) -> str:
    """The encoding that a byte-order mark names, else UTF-16 by its zeros, else UTF-8, else "".

    UTF-8 needs half of the lines with bytes beyond ASCII to be UTF-8, which no other encoding's lines are by chance.
    """
    for mark, name in _BOMS:
        if start.startswith(mark):
            return name
    even, odd = start[::2].count(0), start[1::2].count(0)
    if 4 * max(even, odd) > len(start) > 20 * min(even, odd):
        return "utf-16-le" if odd > even else "utf-16-be"
    lines = [line for line in start.split(b"\n") if not line.isascii()]
    good = sum(_is_utf_8(line) for line in lines)
    return "utf-8" if 2 * good >= len(lines) else ""


def _is_utf_8(line: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(line)
    except UnicodeDecodeError:
        return False
    return True


def count_done(stream: BinaryIO, reading: Reading) -> None:
    """Set Reading.done to the bytes of the file on disk that have been read through `stream`."""
    raw = getattr(stream, "fileobj", None) or getattr(stream, "_fp", None) or stream
    reading.done = min(raw.tell(), reading.total)


class Line(NamedTuple):
    """A line without its end; `fault` says why its text cannot be used ("line too long", "not UTF-8"), "" if it can."""

    number: int
    text: str
    fault: str


def read_lines(path: Path, encoding: str, reading: Reading, *, limit: int = LINE_LIMIT) -> Iterator[Line]:
    """The lines of a text file, whatever their length, in memory bounded by `limit` characters a line.

    Args:
        encoding: as detect_encoding gives it. A bad byte spoils its line in UTF-8, the whole file in UTF-16 and 32.
    """
    errors = "surrogateescape" if encoding.startswith("utf-8") else "strict"
    reading.total = path.stat().st_size
    with damage_as_source_error(path), open_plain(path) as stream:
        text = io.TextIOWrapper(stream, encoding=encoding, errors=errors, newline="\n")
        number = 0
        try:
            while line := text.readline(limit):
                number += 1
                fault = "not UTF-8" if _BAD_BYTE.search(line) else ""
                if len(line) == limit and not line.endswith("\n"):
                    fault = "line too long"
                    while (rest := text.readline(limit)) and not rest.endswith("\n"):
                        pass
                if not number % 1000:
                    count_done(stream, reading)
                yield Line(number, line.rstrip("\r\n"), fault)
        except UnicodeError as error:
            name = encoding.upper().removesuffix("-SIG")
            raise SourceError(
                f"not {name}: {error.reason if isinstance(error, UnicodeDecodeError) else error}",
                where=f"{path}, after line {number}",
                hint="give --encoding",
            ) from error
        reading.done = reading.total


def text_encoding(path: Path, given: str = "") -> str:
    """The encoding to read a text file in: the given one, or the one its beginning shows.

    Raises:
        SourceError: no encoding of the given name, or the beginning is neither UTF-8 nor UTF-16 or 32.
    """
    if given:
        return "utf-8-sig" if (name := known_encoding(given)) == "utf-8" else name
    start = beginning(path)
    if found := detect_encoding(start):
        return found
    raise SourceError("neither UTF-8 nor UTF-16", where=str(path), hint="give --encoding, such as latin-1 or cp1251")


def known_encoding(name: str) -> str:
    """Python's name of an encoding. Raises SourceError where there is none of that name."""
    try:
        return codecs.lookup(name).name
    except LookupError:
        hint = "try utf-8, utf-16, latin-1, cp1252, cp1251, euc-jp, gb18030"
        raise SourceError(f"{name!r} is no encoding", where="--encoding", hint=hint) from None


def sample_lines(path: Path, encoding: str = "", size: int = 1 << 15) -> list[str]:
    """The first whole lines of a text file, none where it is no text: what `matches` looks at."""
    start = beginning(path, size)
    name = encoding or detect_encoding(start)
    if not name or not start:
        return []
    try:
        text = codecs.getincrementaldecoder(name)("replace" if name.startswith("utf-8") else "strict").decode(start)
    except (UnicodeError, LookupError):
        return []
    if "\x00" in text:
        return []
    lines = text.split("\n")
    return [line.rstrip("\r") for line in (lines if len(start) < size else lines[:-1])]


def legacy_lines(path: Path, size: int = 1 << 15) -> list[str]:
    """The first lines of a table (.tsv, .tab, .csv, .txt) in an 8-bit encoding, which only the user can name.

    Read as ISO-8859-1: tabs, commas and quotes are told right in any such encoding, letters are not.
    """
    start = beginning(path, size)
    if not _TABLES & {suffix.lower() for suffix in path.suffixes[-2:]} or _CONTROLS.search(start):
        return []
    return sample_lines(path, "latin-1", size) if not detect_encoding(start) else []
