"""Which test sentences stand in a store as definitions: text that training has seen, though not its scores.

Before: sentence pairs; the store's definition texts. After: `dictsent eval exposure`, scores without the exposed pairs,
and the texts that training leaves out (`--exclude-exposed`).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dictsent.pairs import letters
from dictsent.tasks.readers import SentencePairs, Subset

NORMALISATION = "whole definitions compared on lowercased letters and digits"
NEAR = 0.8
"""Near: the words two texts share make up at least this part of the words of both together (Jaccard)."""

FEWEST = 4
"""Sentences of fewer words are compared exactly only: one word more or less says nothing there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """What of one subset of a set stands in a store.

    Attributes:
        exact: pairs of which a sentence is a definition after NORMALISATION.
        near: further pairs of which a sentence is nearly one; None where that was not looked for.
        examples: up to three exposed sentences.
    """

    task: str
    language: str
    split: str
    pairs: int
    exact: int
    near: int | None
    examples: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """All fields by name."""
        keys = ("task", "language", "split", "pairs", "exact", "near", "examples")
        return {key: getattr(self, key) for key in keys}


def audit(sets: Sequence[SentencePairs], texts: Iterable[str], *, near: bool = True) -> list[Exposure]:
    """Compare the sentences of every subset with the texts, each whole."""
    known = {form for form in map(letters, texts) if form}
    index = _WordIndex(known) if near else None
    nearly: dict[str, bool] = {}

    def is_near(form: str) -> bool:
        if form not in nearly:
            nearly[form] = index is not None and index.has_near(form)
        return nearly[form]

    found = []
    for pairs in sets:
        for subset in pairs.subsets:
            forms = [(letters(a), letters(b)) for a, b in zip(subset.first, subset.second, strict=True)]
            exact = [a in known or b in known for a, b in forms]
            others = [pair for pair, hit in zip(forms, exact, strict=True) if not hit] if near else []
            shown = (s for s in (*subset.first, *subset.second) if letters(s) in known)
            row = pairs.copy.set
            found.append(
                Exposure(
                    task=f"{row.name}/{subset.name}" if subset.name else row.name,
                    language=row.language,
                    split=pairs.copy.split,
                    pairs=len(forms),
                    exact=sum(exact),
                    near=sum(is_near(a) or is_near(b) for a, b in others) if near else None,
                    examples=tuple(text for text, _ in zip(dict.fromkeys(shown), range(3), strict=False)),
                )
            )
    return found


def unexposed(pairs: SentencePairs, texts: Iterable[str]) -> SentencePairs:
    """The set without the pairs of which a sentence is one of the texts (exact after NORMALISATION)."""
    known = set(map(letters, texts)) - {""}
    return replace(pairs, subsets=tuple(s for s in (_kept(s, known) for s in pairs.subsets) if len(s.gold)))


def _kept(subset: Subset, known: set[str]) -> Subset:
    couples = zip(subset.first, subset.second, strict=True)
    rows = [i for i, (a, b) in enumerate(couples) if letters(a) not in known and letters(b) not in known]
    return replace(
        subset,
        first=tuple(subset.first[i] for i in rows),
        second=tuple(subset.second[i] for i in rows),
        gold=subset.gold[np.array(rows, dtype=np.int64)],
    )


def exposed_texts(sets: Iterable[SentencePairs]) -> frozenset[str]:
    """The normalised sentences of the sets: what pairs.select(exclude=...) takes."""
    return frozenset(letters(text) for pairs in sets for text in (*pairs.first, *pairs.second)) - {""}


class _WordIndex:
    """Finds texts whose Jaccard similarity to a sentence is at least NEAR, exactly.

    Two sets of words that are so similar share one of the rarest |x| - ceil(NEAR |x|) + 1 words of each (prefix
    filtering: Bayardo, Ma and Srikant, WWW 2007); only texts that do are compared.
    """

    def __init__(self, forms: Iterable[str]) -> None:
        self._sets = [frozenset(form.split()) for form in forms]
        self._counts = Counter(word for words in self._sets for word in words)
        self._by_word: defaultdict[str, list[int]] = defaultdict(list)
        for number, words in enumerate(self._sets):
            if len(words) >= FEWEST:
                for word in self._prefix(words):
                    self._by_word[word].append(number)

    def _prefix(self, words: frozenset[str]) -> Iterator[str]:
        ordered = sorted(words, key=lambda word: (self._counts[word], word))
        return iter(ordered[: len(words) - math.ceil(NEAR * len(words)) + 1])

    def has_near(self, form: str) -> bool:
        words = frozenset(form.split())
        if len(words) < FEWEST:
            return False
        candidates = {number for word in self._prefix(words) for number in self._by_word.get(word, ())}
        return any(_jaccard(words, self._sets[number]) >= NEAR for number in candidates)


def _jaccard(one: frozenset[str], two: frozenset[str]) -> float:
    shared = len(one & two)
    return shared / (len(one) + len(two) - shared)
