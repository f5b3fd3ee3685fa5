"""Pairs kept in columns, their texts on disk once they are many: some 65 bytes each in memory, where objects take 400.

Before: dictsent.pairs.selection adds them one by one. After: everything that takes a sequence of Pair, each made
when it is asked for.
"""

from __future__ import annotations

import os
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from mmap import ACCESS_READ, mmap
from typing import IO, Any, overload
from weakref import finalize

from dictsent.errors import PairsError
from dictsent.records import Pair

_SPLITS = ("train", "dev", "test")
_ENCODING = ("utf-8", "surrogatepass")
SPILL = 2**24
"""Bytes of text from which on they are on disk."""


class Texts:
    """Texts one after another, found again by where they begin and end; beyond `spill` bytes in a temporary file.

    The file has no name, so nothing of it stays however the process ends. It lies where TMPDIR says.
    """

    def __init__(self, *, spill: int | None = None) -> None:
        self._spill, self._tail, self._written = SPILL if spill is None else spill, bytearray(), 0
        self._file: IO[bytes] | None = None
        self._mapped: mmap | None = None

    def add(self, text: str) -> int:
        """Append a text; returns where it ends. Raises PairsError where there is no room."""
        self._tail += text.encode(*_ENCODING)
        end = self._written + len(self._tail)
        if len(self._tail) >= self._spill:
            self._write()
        return end

    def _write(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the texts)
                finalize(self, self._file.close)
            self._file.write(self._tail)
            self._file.flush()
        except OSError as error:
            said = error.strerror or str(error)
            raise PairsError(
                f"the texts of the definitions cannot be kept: {said}",
                where=tempfile.gettempdir(),
                hint="set TMPDIR to a folder with more room",
            ) from error
        self._written += len(self._tail)
        self._tail.clear()
        self._mapped = None

    def text(self, start: int, end: int) -> str:
        """The text that was added there."""
        if start >= self._written:
            return self._tail[start - self._written : end - self._written].decode(*_ENCODING)
        if self._mapped is None:
            assert self._file is not None
            self._mapped = mmap(self._file.fileno(), 0, access=ACCESS_READ)
        return self._mapped[start:end].decode(*_ENCODING)

    def __getstate__(self) -> tuple[int, bytes]:
        written = os.pread(self._file.fileno(), self._written, 0) if self._file is not None else b""
        return self._spill, written + bytes(self._tail)

    def __setstate__(self, state: tuple[int, bytes]) -> None:
        self.__init__(spill=state[0])  # type: ignore[misc]
        self._tail += state[1]


class Columns:
    """All pairs of a selection, in order; what is a word's own (entry, headword, split) is kept once for its run."""

    def __init__(self) -> None:
        self._texts, self._ends = Texts(), array("Q", [0])
        self._heads, self._head_ends = Texts(), array("Q", [0])
        self.entries, self.splits = array("q"), bytearray()
        self.words = array("I")
        self._last: tuple[int, str, str] | None = None

    def __len__(self) -> int:
        return len(self.words)

    def add(self, entry: int, headword: str, definition: str, split: str) -> None:
        """Append one pair."""
        if (word := (entry, headword, split)) != self._last:
            self._last = word
            self._head_ends.append(self._heads.add(headword))
            self.entries.append(entry)
            self.splits.append(_SPLITS.index(split))
        self.words.append(len(self.entries) - 1)
        self._ends.append(self._texts.add(definition))

    def headword(self, word: int) -> str:
        """The headword of a run of pairs, by the run's number."""
        return self._heads.text(self._head_ends[word], self._head_ends[word + 1])

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
            yield Pair(entry, headword, self._texts.text(self._ends[row], self._ends[row + 1]), split)


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

    @property
    def definitions(self) -> Definitions:
        """Their definitions alone."""
        return Definitions(self)

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


class Definitions(Sequence[str]):
    """The definitions of pairs, each made when it is asked for."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[str]:
        return (pair.definition for pair in self._rows)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Definitions: ...
    def __getitem__(self, index: int | slice) -> str | Definitions:
        return Definitions(self._rows[index]) if isinstance(index, slice) else self._rows[index].definition
