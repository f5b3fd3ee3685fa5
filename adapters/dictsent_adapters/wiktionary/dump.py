"""A MediaWiki XML export as blocks of whole pages: any compression, any export version, cut off or not.

Before: streams opens the file. After: pages parses the blocks (in worker processes where there are several); adapter.
Format: https://www.mediawiki.org/wiki/Help:Export, versions 0.3 to 0.11.
"""

from __future__ import annotations

import bz2
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from lxml import etree

from dictsent.adapter import Reading
from dictsent.errors import SourceError
from dictsent_adapters.streams import beginning, count_done, damage_as_source_error, is_compressed, open_plain

BLOCK = 1 << 19
"""Bytes read at a time."""
BLOCK_OF_PAGES = 1 << 19
"""Bytes of XML, at least, that are handed on together."""
STREAMS = 12
"""Streams of a multistream file that are handed on together: some 1,200 pages."""
LONGEST_HEAD = 1 << 20
LONGEST_PAGE = 1 << 28

_ROOT = re.compile(rb"<(?![?!])([^\s<>/]+)")
_PAGE_END = b"</page>"
_STREAM = re.compile(rb"BZh[1-9]1AY&SY")
_ZIM = b"ZIM\x04"
_OTHERS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    (
        "an SQL dump",
        re.compile(rb"\s*(?:--[^\n]*(?:MySQL|MariaDB|SQL) dump|/\*!\d+ |DROP TABLE|INSERT INTO|CREATE TABLE)"),
    ),
    ("a JSON dump", re.compile(rb'\s*\{"(?:index|create)":\s*\{"_')),
    ("a ZIM file", re.compile(_ZIM)),
    ("an HTML page", re.compile(rb"\s*<(?:!doctype html|html)", re.IGNORECASE)),
)
MISTAKEN = ("an SQL dump", "a JSON dump")
"""Files given for the export by mistake that are claimed, to say what they are; a ZIM file has a reader of its own."""
HINT = "give the pages-articles XML dump (…-pages-articles.xml.bz2) as it is"


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before the first page.

    Attributes:
        dbname: "jawiktionary"; made from the wiki's address where the export does not say.
        edition: "ja"; "" where nothing tells.
        site: the wiki's own name for itself.
        namespaces: namespace names, case-folded, to their numbers.
    """

    dbname: str = ""
    edition: str = ""
    site: str = ""
    namespaces: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Block:
    """Whole pages as bytes: XML, or bz2 streams of XML.

    Attributes:
        done: how far the file has been read.
        packed: whether these are streams.
        start: where the bytes stand in the file; -1 where they do not, because the file is compressed as a whole.
    """

    data: bytes
    done: int
    packed: bool = False
    start: int = -1


def looks_like_dump(path: Path) -> bool:
    """Whether the file is an export, or one of the other dumps that are offered beside it (read_head tells which)."""
    start = beginning(path, 1 << 15)
    root = _ROOT.search(start)
    if root is not None and root[1] == b"mediawiki" and start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return True
    other = any(name in MISTAKEN and pattern.match(start) for name, pattern in _OTHERS)
    return other and (b"wik" in start[:4096].lower() or "wik" in path.name.lower())


def read_head(path: Path) -> Head:
    """The export's siteinfo.

    Raises:
        SourceError: no MediaWiki export (says what it is instead), or one that declares a document type.
    """
    start = _first_bytes(path).removeprefix(b"\xef\xbb\xbf")
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise SourceError("not UTF-8: MediaWiki exports always are", where=str(path), hint=HINT)
    for name, pattern in _OTHERS:
        if pattern.match(start):
            raise SourceError(f"this is {name}, not an XML export of Wiktionary", where=str(path), hint=HINT)
    if re.search(rb"<!(?:DOCTYPE|ENTITY)", start):
        raise SourceError("declares a document type, which no export does", where=str(path), hint=HINT)
    root = _ROOT.search(start)
    if root is None or not start.lstrip().startswith(b"<"):
        raise SourceError("this is not XML", where=str(path), hint=HINT)
    if root[1].rsplit(b":", 1)[-1] != b"mediawiki":
        shown = root[1][:40].decode("utf-8", "replace")
        raise SourceError(f"the root element is <{shown}>, not <mediawiki>", where=str(path), hint=HINT)
    return _head(start[: start.find(b"<page>") if b"<page>" in start else len(start)], path)


def _first_bytes(path: Path) -> bytes:
    """The file up to its first page; of a damaged one, what can be read."""
    start = b""
    with open_plain(path) as stream:
        while b"<page>" not in start and len(start) < LONGEST_HEAD:
            try:
                block = _read(stream, path)
            except SourceError:
                if not start:
                    raise
                break
            if not block:
                break
            start += block
    return start


def _head(start: bytes, path: Path) -> Head:
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, load_dtd=False)
    root = etree.fromstring(start + b"</mediawiki>" if b"</mediawiki>" not in start else start, parser)
    if root is None:
        raise SourceError("the export's first element cannot be read", where=str(path), hint=HINT)
    texts: dict[str, str] = {}
    namespaces: dict[str, int] = {}
    for element in root.iter():
        name = etree.QName(element).localname if isinstance(element.tag, str) else ""
        if name == "namespace" and element.text and element.get("key", "").lstrip("-").isdigit():
            namespaces[element.text.strip().casefold()] = int(element.get("key", "0"))
        elif name in ("dbname", "base", "sitename"):
            texts.setdefault(name, (element.text or "").strip())
    language = root.get("{http://www.w3.org/XML/1998/namespace}lang", "")
    return _described(texts, language, namespaces, path)


def _described(texts: dict[str, str], language: str, namespaces: dict[str, int], path: Path) -> Head:
    dbname, address = texts.get("dbname", ""), texts.get("base", "")
    host = re.match(r"https?://([a-z-]+)\.(?:m\.)?(\w+)\.org", address)
    if not dbname and host:
        dbname = host[1].replace("-", "_") + (host[2] if host[2] != "wikipedia" else "wiki")
    if dbname and not dbname.endswith("wiktionary"):
        raise SourceError(f"this is an export of {dbname}, not of a Wiktionary", where=str(path), hint=HINT)
    edition = dbname.removesuffix("wiktionary").replace("_", "-") or language.split("-")[0]
    return Head(dbname, edition, texts.get("sitename", ""), namespaces)


def blocks(path: Path, reading: Reading, *, packed: bool = False, keep_going: bool = False) -> Iterator[Block]:
    """The pages of an export in blocks, in their order; `packed` leaves multistream files for others to unpack.

    Args:
        keep_going: end with a note where the file is damaged, instead of raising.

    Raises:
        SourceError: the file is damaged or ends in the middle.
    """
    reading.total = path.stat().st_size
    try:
        if packed and is_multistream(path):
            yield from _packed_blocks(path, reading)
        else:
            yield from _plain_blocks(path, reading)
    except SourceError as error:
        if not keep_going:
            raise
        reading.notes.append(f"{error.what}: what follows byte {reading.done:,} of {reading.total:,} was not read")


def _plain_blocks(path: Path, reading: Reading) -> Iterator[Block]:
    held: list[bytes] = []
    size, enough = 0, BLOCK_OF_PAGES
    start = -1 if is_compressed(path) else 0
    fault: SourceError | None = None
    with open_plain(path) as stream:
        while fault is None:
            try:
                block = _read(stream, path)
            except SourceError as error:
                fault, block = error, b""
            count_done(stream, reading)
            held.append(block)
            size += len(block)
            if block and size < enough:
                continue
            data = b"".join(held)
            cut = data.rfind(_PAGE_END) + len(_PAGE_END)
            if cut >= len(_PAGE_END):
                yield Block(data[:cut], reading.done, start=start)
                data, enough = data[cut:], BLOCK_OF_PAGES
                start += cut if start >= 0 else 0
            elif size > LONGEST_PAGE:
                raise SourceError(f"a page of more than {LONGEST_PAGE >> 20} MB, or no page at all", where=str(path))
            else:
                enough = 2 * max(size, BLOCK_OF_PAGES)
            held, size = [data], len(data)
            if not block:
                break
    if fault is not None:
        raise fault
    _check_end(held[0], path, reading)
    reading.done = reading.total


def _read(stream: BinaryIO, path: Path) -> bytes:
    """The next bytes: what is there before a damaged place, and only then the error."""
    with damage_as_source_error(path):
        some: bytes = getattr(stream, "read1", stream.read)(BLOCK)
        return some


def _check_end(tail: bytes, path: Path, reading: Reading) -> None:
    """The closing tag of the root must follow the last page."""
    if re.search(rb"</(?:\w+:)?mediawiki\s*>", tail) is None:
        where = f"{path}, byte {reading.done:,}"
        raise SourceError("truncated: the export ends before its closing tag", where=where, hint="get the file again")


def is_bzip2(path: Path) -> bool:
    """Whether the file is bzip2."""
    with path.open("rb") as file:
        return file.read(3) == b"BZh"


def is_multistream(path: Path) -> bool:
    """Whether the file is bz2 in several streams of which the second begins with a page, as Wikimedia makes them."""
    with path.open("rb") as file:
        start = file.read(4 * BLOCK)
    found = _STREAM.search(start, 1)
    if not start.startswith(b"BZh") or found is None:
        return False
    try:
        return bz2.BZ2Decompressor().decompress(start[found.start() :], 4096).lstrip().startswith(b"<page>")
    except OSError:
        return False


def _packed_blocks(path: Path, reading: Reading) -> Iterator[Block]:
    """Groups of bz2 streams, not unpacked; the first and the last, which hold the frame, come with the others."""
    held = bytearray()
    done = 0
    last = b""
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            held += block
            starts = [match.start() for match in _STREAM.finditer(held)]
            while len(starts) > STREAMS + 1:
                cut = starts[STREAMS]
                last = bytes(held[:cut])
                yield Block(last, done + cut, packed=True, start=done)
                done += cut
                del held[:cut]
                starts = [start - cut for start in starts[STREAMS:]]
            reading.done = done
    last = bytes(held)
    yield Block(last, reading.total, packed=True, start=done)
    with damage_as_source_error(path):
        _check_end(unpack(last)[-(1 << 16) :], path, reading)
    reading.done = reading.total


def unpack(data: bytes) -> bytes:
    """The text of one or more whole bz2 streams. Raises OSError or EOFError where they are damaged."""
    made = []
    while data:
        decompressor = bz2.BZ2Decompressor()
        made.append(decompressor.decompress(data))
        if not decompressor.eof:
            raise EOFError("a stream ends in its middle")
        data = decompressor.unused_data
    return b"".join(made)


def page_elements(data: bytes) -> Iterator[dict[str, Any] | bytes]:
    """The pages of a block as their fields; a page that is no XML comes as its bytes.

    Fields: title, ns ("" where there is none), redirect (whether), revision, timestamp, model, text.
    """
    start, end = data.find(b"<page>"), data.rfind(_PAGE_END)
    if start < 0 or end < 0:
        return
    try:
        yield from _parsed(data[start : end + len(_PAGE_END)])
    except etree.XMLSyntaxError:
        for piece in data[start:end].split(_PAGE_END):
            yield from _one_by_one(piece + _PAGE_END)


def _one_by_one(piece: bytes) -> Iterator[dict[str, Any] | bytes]:
    try:
        yield from _parsed(piece)
    except etree.XMLSyntaxError:
        yield piece


def _parsed(data: bytes) -> list[dict[str, Any]]:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True, collect_ids=False)
    root = etree.fromstring(b"<pages>" + data + b"</pages>", parser)
    return [_fields(page) for page in root]


def _fields(page: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "title": "",
        "ns": "",
        "redirect": False,
        "revision": "",
        "timestamp": "",
        "model": "",
        "text": "",
    }
    for element in page:
        tag = element.tag
        if tag == "revision":
            for inner in element:
                name = {"id": "revision"}.get(inner.tag, inner.tag)
                if name in fields and isinstance(name, str):
                    fields[name] = inner.text or ""
        elif tag == "redirect":
            fields["redirect"] = True
        elif tag in ("title", "ns"):
            fields[tag] = element.text or ""
    return fields
