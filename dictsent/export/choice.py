"""What of the store is written where a form holds definitions once: all of them, or the best of near-duplicates.

Before: dictsent.store, and dictsent.pairs' rule for near-duplicates. After: lines.py and lmf.py write the senses.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dictsent.errors import PairsError
from dictsent.pairs.duplicates import without_near
from dictsent.store import DefinitionRow, SenseRow, SourceRow, Store


class Senses(Protocol):
    """What the writers of senses ask of a store."""

    def languages(self) -> dict[str, dict[str, int]]:
        """Counts by language tag."""

    def sources(self) -> list[SourceRow]:
        """All sources."""

    def senses(self, language: str) -> Iterator[SenseRow]:
        """Each definition once, in the order of their entries."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A store seen without the lesser ones of near-duplicates under one headword (see dictsent.pairs).

    Attributes:
        near: similarity from 0 to 1 from which definitions are near-duplicates; 0 keeps all.
        prefer: names of sources whose wording wins.
        left_out: how many definitions a language lost.
    """

    store: Store
    near: float = 0.0
    prefer: Sequence[str] = ()
    left_out: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.near <= 1:
            raise PairsError("a similarity lies between 0 and 1", where="--near")
        self.store.require_sources(self.prefer)

    def languages(self) -> dict[str, dict[str, int]]:
        """Counts by language tag, near-duplicates included."""
        return self.store.languages()

    def sources(self) -> list[SourceRow]:
        """All sources."""
        return self.store.sources()

    def senses(self, language: str) -> Iterator[SenseRow]:
        """The senses that are left of the language, in the order of their entries."""
        if not self.near:
            yield from self.store.senses(language)
            return
        waiting: deque[tuple[DefinitionRow, SenseRow]] = deque()

        def rows() -> Iterator[DefinitionRow]:
            # The two queries give the same definitions in the same order.
            both = zip(self.store.definitions(language, prefer=self.prefer), self.store.senses(language), strict=True)
            for pair in both:
                waiting.append(pair)
                yield pair[0]

        left_out: Counter[str] = Counter()
        for kept in without_near(rows(), self.near, left_out, preferred=len(self.prefer)):
            row, sense = waiting.popleft()
            while row is not kept:
                row, sense = waiting.popleft()
            yield sense
        self.left_out[language] = left_out.total()
