"""Princeton's database files: data.noun, data.verb, data.adj and data.adv, with the sense order of the index files.

Before: a folder of them, or one data file. After: the WordNet adapter yields the entries. Formats: wndb(5WN) and
senseidx(5WN).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from dictsent.adapter import Reading
from dictsent.errors import SourceError
from dictsent.records import Definition, Dictionary, Entry, Rejected
from dictsent_adapters.interlingual import interlingual_id
from dictsent_adapters.wordnet.gloss import split_gloss

PARTS = {"noun": "noun", "verb": "verb", "adj": "adjective", "adv": "adverb"}
_SYNSET_TYPES = {"n": (1, "noun"), "v": (2, "verb"), "a": (3, "adjective"), "r": (4, "adverb"), "s": (5, "adjective")}
_MARKERS = {"a": ("attributive",), "p": ("predicative",), "ip": ("postpositive",)}
_MARKER = re.compile(r"\((a|p|ip)\)$")
_VERSION = re.compile(rb"^ +\d+ (WordNet (\S+) Copyright (\d+) by [^.]+)", re.MULTILINE)
_RECORD = re.compile(rb"(?m)^\d{8} \d\d [nvasr] [0-9a-f]{2} \S+ [0-9a-f]")
_HEAD = 8192


class _Synset(NamedTuple):
    """A line of a data file: `words` are (form, lexical id) pairs, `head` the offset of a satellite's cluster head."""

    offset: int
    file_number: int
    type: str
    words: tuple[tuple[str, int], ...]
    head: int
    gloss: str


def data_files(path: Path) -> list[Path]:
    """The data files at a path, in the order noun, verb, adjective, adverb; empty where it is no WordNet database."""
    found = [path / f"data.{part}" for part in PARTS] if path.is_dir() else [path]
    return [file for file in found if file.suffix[1:] in PARTS and file.stem == "data" and file.is_file()]


def is_database(path: Path) -> bool:
    """Whether the path is a data file of WordNet's form, or a folder that holds one."""
    return any(_RECORD.search(_beginning(file)) for file in data_files(path))


def index_file(data: Path) -> Path:
    """The index that belongs to a data file."""
    return data.with_name(f"index{data.suffix}")


def describe_database(path: Path) -> Dictionary:
    """Name, version and copyright as the licence at the head of the data files tells them."""
    for file in data_files(path):
        if found := _VERSION.search(_beginning(file)):
            version = found[2].decode("ascii", "replace")
            return Dictionary(
                name=f"wordnet-{version}",
                language="en",
                title=f"WordNet {version}",
                version=version,
                licence="WordNet",
                attribution=found[1].decode("ascii", "replace"),
                address="https://wordnet.princeton.edu/",
            )
    return Dictionary(name="wordnet", language="en", title="WordNet", licence="WordNet")


def read_database(path: Path, reading: Reading) -> Iterator[Entry | Rejected]:
    """Every headword once, as written, with its senses: parts of speech in the order of PARTS, each in sense order.

    Raises:
        SourceError: a file ends in the middle of a record, or lacks records that its index names.
    """
    files = data_files(path)
    if path.is_dir():
        missing = [part for part in PARTS if path / f"data.{part}" not in files]
        reading.notes += [f"data.{part} is missing: no {PARTS[part]}s" for part in missing]
    reading.total = sum(file.stat().st_size for file in files)
    senses: dict[str, list[Definition]] = {}
    places: dict[str, str] = {}
    for file in files:
        synsets: dict[int, _Synset] = {}
        for record in _read_synsets(file, reading):
            if isinstance(record, Rejected):
                yield record
            else:
                synsets[record.offset] = record
        order = _sense_order(file, synsets, reading)
        indexed = describe_database(path).version == "3.0"
        _collect_senses(file.name, synsets, order, senses=senses, places=places, indexed=indexed)
    for headword, definitions in senses.items():
        yield Entry(headword=headword, language="en", definitions=tuple(definitions), place=places[headword])


def _beginning(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(_HEAD)


def _read_synsets(file: Path, reading: Reading) -> Iterator[_Synset | Rejected]:
    line = b"\n"
    with file.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            reading.done += len(line)
            if line.startswith(b"  ") or not line.strip():
                continue
            if not line.endswith(b"\n"):
                break
            try:
                yield _parse_synset(line.decode("utf-8"))
            except (ValueError, IndexError):
                text = line[:200].decode("utf-8", "replace").strip()
                yield Rejected("malformed record", f"{file.name}, line {number}", text)
    if not line.endswith(b"\n"):
        raise SourceError("truncated: its last record is not complete", where=str(file), hint="get the file again")


def _parse_synset(line: str) -> _Synset:
    """synset_offset lex_filenum ss_type w_cnt word lex_id [word lex_id...] p_cnt [ptr...] [frames...] | gloss."""
    head, bar, gloss = line.partition(" | ")
    offset, file_number, type_, count, rest = head.split(" ", 4)
    *words, rest = rest.split(" ", 2 * int(count, 16))
    if not bar or not gloss.strip() or len(words) != 2 * int(count, 16) or not words or type_ not in _SYNSET_TYPES:
        raise ValueError(head)
    if rest.count(" ") < 4 * int(rest[:3]):
        raise ValueError(rest)
    pointers = rest.split(" ") if type_ == "s" else []
    cluster = int(pointers[pointers.index("&") + 1]) if pointers else 0
    pairs = tuple((words[i], int(words[i + 1], 16)) for i in range(0, len(words), 2))
    return _Synset(int(offset), int(file_number), type_, pairs, cluster, gloss)


def _sense_order(data: Path, synsets: Mapping[int, _Synset], reading: Reading) -> dict[str, tuple[int, ...]]:
    """The synset offsets of each lemma in sense order, for lemmas with several senses."""
    file = index_file(data)
    if not file.is_file():
        reading.notes.append(f"{file.name} is missing: senses stand in the order of {data.name}")
        return {}
    order: dict[str, tuple[int, ...]] = {}
    lost: set[int] = set()
    with file.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            fields = line.split()
            if line.startswith("  ") or not fields:
                continue
            try:
                offsets = tuple(map(int, fields[len(fields) - int(fields[2]) :]))
            except (ValueError, IndexError):
                raise SourceError("malformed line", where=f"{file}, line {number}", hint="get the file again") from None
            if len(offsets) > 1:
                order[fields[0]] = offsets
            for offset in offsets:
                if offset not in synsets:
                    lost.add(offset)
    if lost:
        raise SourceError(
            f"truncated or of another version: {len(lost)} synsets that {file.name} names are not in it",
            where=str(data),
            hint="get both files again",
        )
    return order


def _collect_senses(
    file: str,
    synsets: Mapping[int, _Synset],
    order: Mapping[str, tuple[int, ...]],
    *,
    senses: dict[str, list[Definition]],
    places: dict[str, str],
    indexed: bool,
) -> None:
    """Add a part of speech's senses to the headwords' lists; `indexed`: the interlingual index knows the offsets."""
    found: dict[str, list[tuple[int, Definition]]] = {}
    for offset, synset in synsets.items():
        text, examples = split_gloss(synset.gloss)
        number, part = _SYNSET_TYPES[synset.type]
        ili = interlingual_id(offset, synset.type) if indexed else ""
        file_number, head = f"%{number}:{synset.file_number:02d}:", _cluster_head(synset, synsets)
        for word, lexical_id in synset.words:
            form, labels = _without_marker(word) if word[-1] == ")" else (word, ())
            definition = Definition(
                text=text,
                language="en",
                part_of_speech=part,
                sense=f"{form.lower()}{file_number}{lexical_id:02d}:{head}",
                ili=ili,
                examples=examples,
                labels=labels,
            )
            found.setdefault(form, []).append((offset, definition))
    for form, pairs in found.items():
        if len(pairs) > 1 and (ranks := order.get(form.lower(), ())):
            pairs.sort(key=lambda pair: ranks.index(pair[0]) if pair[0] in ranks else len(ranks))
        headword = form.replace("_", " ")
        places.setdefault(headword, f"{file}:{pairs[0][0]}")
        senses.setdefault(headword, []).extend(definition for _, definition in pairs)


def _cluster_head(synset: _Synset, synsets: Mapping[int, _Synset]) -> str:
    """The head_word:head_id part of a satellite's sense keys, ":" for every other synset."""
    if synset.type != "s" or (head := synsets.get(synset.head)) is None:
        return ":"
    word, lexical_id = head.words[0]
    return f"{_without_marker(word)[0].lower()}:{lexical_id:02d}"


def _without_marker(word: str) -> tuple[str, tuple[str, ...]]:
    """A word form without its syntactic marker, and the label that the marker stands for."""
    if word.endswith(")") and (marker := _MARKER.search(word)):
        return word[: marker.start()], _MARKERS[marker[1]]
    return word, ()
