"""Identifiers of the Collaborative Interlingual Index for synsets that are named by their offset in WordNet 3.0.

Before: an offset and a part of speech (Open Multilingual Wordnet tabs, Princeton's own files). After: Definition.ili.

The index numbered the 117,659 synsets of WordNet 3.0 in the order of its data files: adjectives, adverbs, verbs,
nouns, each by offset. interlingual.bin holds these offsets (WordNet 3.0, Copyright 2006 by Princeton University) in
that order: differences, seven bits a byte, low bits first, a zero difference between two parts of speech; xz.
"""

from __future__ import annotations

import lzma
from functools import lru_cache
from importlib import resources

_PARTS = "arvn"


def interlingual_id(offset: int, part: str) -> str:
    """ "i35545" for offset 1740 and "n"; "" where WordNet 3.0 has no such synset. Satellites ("s") are adjectives."""
    number = _numbers().get((offset, "a" if part == "s" else part))
    return f"i{number}" if number else ""


def unpack_offsets(packed: bytes) -> list[tuple[int, str]]:
    """(offset, part of speech) of every synset in the index's order, from the contents of interlingual.bin."""
    found: list[tuple[int, str]] = []
    parts = iter(_PARTS)
    part = next(parts)
    offset = value = shift = 0
    for byte in lzma.decompress(packed):
        value |= (byte & 127) << shift
        shift += 7
        if byte & 128:
            continue
        if value:
            offset += value
            found.append((offset, part))
        else:
            part, offset = next(parts), 0
        value = shift = 0
    return found


def pack_offsets(offsets: dict[str, list[int]]) -> bytes:
    """The contents of interlingual.bin for the ascending offsets of each part of speech."""
    packed = bytearray()
    for place, part in enumerate(_PARTS):
        before = 0
        for offset in offsets[part]:
            value, before = offset - before, offset
            while value >= 128:
                packed.append(value & 127 | 128)
                value >>= 7
            packed.append(value)
        if place < len(_PARTS) - 1:
            packed.append(0)
    return lzma.compress(bytes(packed), preset=9 | lzma.PRESET_EXTREME)


@lru_cache(maxsize=1)
def _numbers() -> dict[tuple[int, str], int]:
    packed = resources.files("dictsent_adapters").joinpath("interlingual.bin").read_bytes()
    return {synset: number for number, synset in enumerate(unpack_offsets(packed), start=1)}
