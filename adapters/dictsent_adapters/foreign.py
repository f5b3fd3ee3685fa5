"""Which files are in formats that are read by way of pyglossary, told by how they begin.

Before: a path. After: formats.py has them converted.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dictsent_adapters.streams import beginning, sample_lines


@dataclass(frozen=True, slots=True)
class Format:
    """A format by the name people know and by pyglossary's; `holds` looks at a path, never raises."""

    title: str
    name: str
    holds: Callable[[Path], bool]


def foreign_format(path: Path) -> Format | None:
    """The format of the file or folder, None where it is none of these."""
    return next((known for known in FORMATS if known.holds(path)), None)


def _begins(*marks: bytes) -> Callable[[Path], bool]:
    return lambda path: path.is_file() and _first_bytes(path).startswith(marks)


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(64)
    except OSError:
        return b""


def _has_line(pattern: str, *suffixes: str) -> Callable[[Path], bool]:
    """Whether a text file of such a name has the line among its first ones."""
    line = re.compile(pattern)

    def holds(path: Path) -> bool:
        if not path.name.lower().endswith(suffixes) or path.stem.endswith("_abrv"):
            return False
        return any(line.match(one.lstrip("\ufeff")) for one in sample_lines(path)[:40])

    return holds


def _is_mdict(path: Path) -> bool:
    return path.suffix.lower() == ".mdx" and b"<\0D\0i\0c\0t\0" in _first_bytes(path)


def _has_root(root: bytes) -> Callable[[Path], bool]:
    element = re.compile(rb"<" + root + rb"[\s>]")
    return lambda path: bool(element.search(_uncommented(beginning(path, 8192))))


def _uncommented(start: bytes) -> bytes:
    return (
        re.sub(rb"<!--.*?-->", b"", start, flags=re.DOTALL) if start.lstrip(b"\xef\xbb\xbf \r\n")[:1] == b"<" else b""
    )


def _is_apple(path: Path) -> bool:
    return path.is_dir() and (path / "Contents" / "Body.data").is_file()


def _is_yomichan(path: Path) -> bool:
    if not _begins(b"PK\x03\x04")(path):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return {"index.json", "term_bank_1.json"} <= set(archive.namelist())
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError):
        return False


FORMATS = (
    Format(
        "ABBYY Lingvo DSL",
        "ABBYYLingvoDSL",
        _has_line(r"#(?:NAME|INDEX_LANGUAGE|CONTENTS_LANGUAGE)\b", ".dsl", ".dsl.dz"),
    ),
    Format("Babylon BGL", "BabylonBgl", _begins(b"\x12\x34\x00\x01", b"\x12\x34\x00\x02")),
    Format("MDict", "OctopusMdict", _is_mdict),
    Format("XDXF", "Xdxf", _has_root(b"xdxf")),
    Format("Aard 2 (Slob)", "Aard2Slob", _begins(b"!-1SLOB\x1f")),
    Format("Lingoes LDF", "LingoesLDF", _has_line(r"###(?:Glossary|Source|Target|Author) ?\w*:", ".ldf")),
    Format("a dictionary of Apple's", "AppleDictBin", _is_apple),
    Format("Yomichan", "Yomichan", _is_yomichan),
    Format("StarDict's textual XML", "StardictTextual", _has_root(b"stardict")),
    Format("ZIM", "Zim", _begins(b"ZIM\x04")),
)
"""Formats by the titles people know, more common ones first."""
