"""Definitions that say the same: near-duplicates under one headword, one definition under spellings of one word.

Before: dictsent.pairs.selection reads rows, entry by entry. After: the better of them; the store keeps all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby

from dictsent.store import DefinitionRow

_NOT_LETTERS = re.compile(r"[\W_]+")


def letters(text: str) -> str:
    """Letters and digits only, lower-cased: the form in which leaks and near-duplicates are looked for."""
    return _NOT_LETTERS.sub(" ", text.lower()).strip()


def without_near(
    rows: Iterable[DefinitionRow], least: float, left_out: Counter[str], *, preferred: int = 0
) -> Iterator[DefinitionRow]:
    """Of definitions of an entry that are as similar as `least` (0 to 1), only the best.

    Similarity is rapidfuzz's ratio of their letters. The best is the one from a preferred source, then the longer, then
    the one with more examples, then the one from the older source. `preferred` is how many sources are preferred: the
    ranks below it are theirs.
    """
    from rapidfuzz import fuzz, process

    for _, group in groupby(rows, key=lambda row: row.entry):
        held = list(group)
        if len(held) == 1:
            yield held[0]
            continue
        kept: dict[int, str] = {}
        for index in sorted(range(len(held)), key=lambda i: _badness(held[i], i, preferred)):
            form = f"{held[index].language} {letters(held[index].text)}"
            if process.extractOne(form, kept, scorer=fuzz.ratio, score_cutoff=100 * least) is None:
                kept[index] = form
        left_out["nearly the same as another"] += len(held) - len(kept)
        yield from (held[index] for index in sorted(kept))


def _badness(row: DefinitionRow, index: int, preferred: int) -> tuple[int, int, int, int, int]:
    return (min(row.rank, preferred), -len(row.text), -row.examples, row.rank, index)


class Words:
    """Entries that are spellings of one word, as one group each."""

    def __init__(self, spellings: Iterable[tuple[int, str]]) -> None:
        self._of_spelling: dict[str, int] = {}
        self._first: dict[int, int] = {}
        for entry, spelling in spellings:
            word = self._root(self._of_spelling.setdefault(spelling, entry))
            self._first[self._root(entry)] = word

    def group(self, entry: int, headword: str) -> int | None:
        """The id of the first entry of the word, None where it has one spelling only."""
        other = self._of_spelling.get(headword)
        if other is not None and self._root(other) != self._root(entry):
            self._first[self._root(entry)] = self._root(other)
        return self._root(entry) if entry in self._first or other is not None else None

    def _root(self, entry: int) -> int:
        while (first := self._first.get(entry, entry)) != entry:
            entry = first
        return entry


def without_variants(rows: Iterable[DefinitionRow], words: Words, left_out: Counter[str]) -> Iterator[DefinitionRow]:
    """The same definition once for all spellings of a word: it stays with the first of them."""
    said: dict[int, set[tuple[str, str]]] = {}
    for row in rows:
        word = words.group(row.entry, row.headword)
        if word is not None:
            texts = said.setdefault(word, set())
            if (row.language, row.text) in texts:
                left_out["under another spelling of the word"] += 1
                continue
            texts.add((row.language, row.text))
        yield row
