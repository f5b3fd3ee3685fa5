"""Compressed files: every kind reads as the plain file does, damage is one clear error, progress is counted."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd

from dictsent.adapter import Reading
from dictsent.errors import SourceError
from dictsent_adapters.streams import beginning, is_compressed, open_seekable, read_lines

TEXT = "".join(f"word{i}\tits meaning, number {i * i * i}\n" for i in range(20_000)).encode()
SKIPPABLE = b"\x5e\x2a\x4d\x18\x04\x00\x00\x00note"
Pack = Callable[[bytes], bytes]
KINDS = pytest.mark.parametrize(
    "pack",
    [gzip.compress, bz2.compress, lzma.compress, zstd.compress],
    ids=["gzip", "bzip2", "xz", "zstd"],
)


@KINDS
def test_packed_text_reads_as_plain_text_does(tmp_path: Path, pack: Pack) -> None:
    file, reading = tmp_path / "packed", Reading()
    half = len(TEXT) // 2
    file.write_bytes(pack(TEXT[:half]) + pack(TEXT[half:]))
    assert is_compressed(file)
    assert beginning(file, 1000) == TEXT[:1000]
    done = [(line.text, reading.done) for line in read_lines(file, "utf-8", reading)]
    assert [text for text, _ in done] == TEXT.decode().splitlines()
    assert 0 < done[10_000][1] < reading.total == reading.done == file.stat().st_size
    with open_seekable(file) as stream:
        stream.seek(half - 5)
        assert stream.read(10) == TEXT[half - 5 : half + 5]


@KINDS
def test_cut_or_spoilt_files_are_an_error(tmp_path: Path, pack: Pack) -> None:
    file = tmp_path / "packed"
    whole = pack(TEXT)
    middle = len(whole) // 2
    for damaged in (whole[:-20], whole[:middle] + b"\xff" * 40 + whole[middle + 40 :]):
        file.write_bytes(damaged)
        with pytest.raises(SourceError, match="truncated or damaged; get the file again"):
            list(read_lines(file, "utf-8", Reading()))
        beginning(file)


def test_zstandard_may_begin_with_a_skippable_frame(tmp_path: Path) -> None:
    file = tmp_path / "packed"
    file.write_bytes(SKIPPABLE + zstd.compress(TEXT))
    assert beginning(file, 6) == b"word0\t"
