"""Pairs kept in columns: some 90 bytes each, where objects of their own take 400.

Before: dictsent.pairs.selection adds them one by one. After: everything that takes a sequence of Pair, each made
when it is asked for.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, overload

from dictsent.records import Pair

_SPLITS = ("train", "dev", "test")
_ENCODING = ("utf-8", "surrogatepass")


class Columns:
    """All pairs of a selection, in order; what is a word's own (entry, headword, split) is kept once for its run."""

    def __init__(self) -> None:
        self._text, self._ends = bytearray(), array("Q", [0])
        self._heads, self._head_ends = bytearray(), array("Q", [0])
        self.entries, self.splits = array("q"), bytearray()
        self.words = array("I")
        self._last: tuple[int, str, str] | None = None

    def __len__(self) -> int:
        return len(self.words)

    def add(self, entry: int, headword: str, definition: str, split: str) -> None:
        """Append one pair."""
        if (word := (entry, headword, split)) != self._last:
            self._last = word
            self._heads += headword.encode(*_ENCODING)
            self._head_ends.append(len(self._heads))
            self.entries.append(entry)
            self.splits.append(_SPLITS.index(split))
        self.words.append(len(self.entries) - 1)
        self._text += definition.encode(*_ENCODING)
        self._ends.append(len(self._text))

    def headword(self, word: int) -> str:
        """The headword of a run of pairs, by the run's number."""
        return self._heads[self._head_ends[word] : self._head_ends[word + 1]].decode(*_ENCODING)

    def split(self, row: int) -> str:
        """The split of one pair."""
        return _SPLITS[self.splits[self.words[row]]]

    def pairs(self, rows: Iterable[int]) -> Iterator[Pair]:
        """The pairs of these numbers."""
        known, entry, headword, split = -1, 0, "", ""
        for row in rows:
            if (word := self.words[row]) != known:
                known, entry, headword = word, self.entries[word], self.headword(word)
                split = _SPLITS[self.splits[word]]
            yield Pair(entry, headword, self._text[self._ends[row] : self._ends[row + 1]].decode(*_ENCODING), split)


class Rows(Sequence[Pair]):
    """Some of the pairs of a selection: a sequence like a tuple of Pair, equal to one that holds the same."""

    __slots__ = ("_columns", "_rows")

    def __init__(self, columns: Columns, rows: Sequence[int]) -> None:
        self._columns, self._rows = columns, rows

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> Rows:
        """The pairs themselves where they are in columns already."""
        if isinstance(pairs, Rows):
            return pairs
        columns = Columns()
        for pair in pairs:
            columns.add(pair.entry, pair.headword, pair.definition, pair.split)
        return cls(columns, range(len(columns)))

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Pair]:
        return self._columns.pairs(self._rows)

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> Rows: ...
    def __getitem__(self, index: int | slice) -> Pair | Rows:
        if isinstance(index, slice):
            return Rows(self._columns, self._rows[index])
        return next(self._columns.pairs((self._rows[index],)))

    def __add__(self, other: Sequence[Pair]) -> Rows:
        if isinstance(other, Rows) and other._columns is self._columns:
            return Rows(self._columns, array("I", chain(self._rows, other._rows)))
        return Rows.of(chain(self, other))

    def __radd__(self, other: Sequence[Pair]) -> Rows:
        return Rows.of(chain(other, self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rows | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    __hash__: Any = None

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:3]))
        return f"Rows of {len(self)} pairs: {shown}{', ...' if len(self) > 3 else ''}"
