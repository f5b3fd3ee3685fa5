"""Forms of text lines: tsv, jsonl, and the data forms of DefSent and DefSent+.

Before: dictsent.export.writing names the place. After: the adapters tsv, jsonl and oxford read them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from dictsent.export.choice import Senses
from dictsent.pairs import split_of
from dictsent.store import SenseRow, Store, dictionary_of
from dictsent_adapters.jsonl import dictionary_to_json, entry_to_json

COLUMNS = ("headword", "definition", "part_of_speech", "example", "language")
_MORE = "<|list_more_def|>"
_FILES = {"train": "train.txt", "dev": "valid.txt", "test": "test.txt"}

Written = tuple[int, tuple[str, ...]]


def chosen_languages(store: Senses, language: str) -> list[str]:
    """The given language, or all of the store."""
    return [language] if language else list(store.languages())


def write_tsv(store: Senses, out: Path, language: str) -> Written:
    """A header and one definition a line; the language is the headword's. No cell holds a tab or a line's end."""
    count = 0
    with out.open("w", encoding="utf-8", newline="\n") as file:
        file.write("\t".join(COLUMNS) + "\n")
        for tag in chosen_languages(store, language):
            for sense in store.senses(tag):
                example = sense.examples[0] if sense.examples else ""
                cells = (sense.headword, sense.text, sense.part_of_speech, example, tag)
                file.write("\t".join(" ".join(cell.split()) for cell in cells) + "\n")
                count += 1
    return count, ()


def write_jsonl(store: Store, out: Path, language: str) -> Written:
    """Our own form (dictsent_adapters.jsonl): for each source a line that describes it, then its entries."""
    count = 0
    with out.open("w", encoding="utf-8", newline="\n") as file:
        for source in store.sources():
            header = dictionary_to_json(dictionary_of(source))
            for entry in store.records(source, language=language):
                if header:
                    file.write(json.dumps(header, ensure_ascii=False) + "\n")
                    header = {}
                found = entry_to_json(entry) | {"place": entry.place}  # "" too: a reader would put its own there
                file.write(json.dumps(found, ensure_ascii=False) + "\n")
                count += len(entry.definitions)
    return count, ()


def write_defsent(store: Senses, out: Path, language: str) -> Written:
    """Rows `word%dictsent.N, part of speech, source, definition, examples ...` in train.txt, valid.txt and test.txt.

    The rows are those of the Oxford set that DefSent was trained on; the split is that of training (8:1:1 by headword).
    """
    count = 0
    files = {split: (out / name).open("w", encoding="utf-8", newline="\n") for split, name in _FILES.items()}
    try:
        for tag in chosen_languages(store, language):
            for senses in _by_entry(store.senses(tag)):
                file = files[split_of(senses[0].headword)]
                for number, sense in enumerate(senses, 1):
                    word = f"{sense.headword}%dictsent.{number}"
                    examples = [" ".join(example.split()) for example in sense.examples] or [""]
                    file.write("\t".join((word, sense.part_of_speech, sense.source, sense.text, *examples)) + "\n")
                    count += 1
    finally:
        for file in files.values():
            file.close()
    return count, ()


def write_defsent_plus(store: Senses, out: Path, language: str) -> Written:
    """DefSent+'s published form: an entry, a tab, its definitions with <|list_more_def|> between them; UTF-16."""
    count, marked = 0, 0
    with out.open("w", encoding="utf-16", newline="\n") as file:
        for tag in chosen_languages(store, language):
            for senses in _by_entry(store.senses(tag)):
                texts = [sense.text for sense in senses]
                marked += sum(_MORE in text for text in texts)
                file.write(f"{senses[0].headword}\t{f' {_MORE} '.join(texts)}\n")
                count += len(texts)
    return count, (f"{marked:,} definitions hold the mark {_MORE} and will be read as several",) if marked else ()


def _by_entry(senses: Iterable[SenseRow]) -> Iterator[list[SenseRow]]:
    for _, group in groupby(senses, key=lambda sense: sense.entry):
        yield list(group)
