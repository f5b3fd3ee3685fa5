"""Choosing what to train on: (entry, definition) pairs, split by headword, free of leaks.

Before: dictsent.store streams definitions. After: dictsent.entryspace builds entries, dictsent.train trains.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from dictsent.errors import PairsError
from dictsent.records import Gloss, Pair
from dictsent.store import DefinitionRow, Store

MINIMUM = 20
"""Fewer training definitions than this cannot train anything."""

_NOT_LETTERS = re.compile(r"[\W_]+")
_SPLITS = ("train",) * 8 + ("dev", "test")


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSettings:
    """What to take from the store.

    Attributes:
        language: key tag of the headwords.
        split: "hash" splits 8:1:1 by a hash of the headword, "none" trains on everything.
        limit: at most this many definitions in all splits together, whole entries by hash; None for all.
        merge_case: Polish and polish are one entry.
        form_of: keep senses that only say what a word is a form of.
        translations: keep definitions written in, or equivalents in, another language.
        licences: only definitions attested by a source under one of these; empty for all.
    """

    language: str
    split: Literal["hash", "none"] = "hash"
    limit: int | None = None
    merge_case: bool = False
    form_of: bool = False
    translations: bool = False
    licences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of each split and how many definitions were left out, by reason."""

    train: tuple[Pair, ...]
    dev: tuple[Pair, ...]
    test: tuple[Pair, ...]
    left_out: dict[str, int] = field(default_factory=dict)

    def all(self) -> tuple[Pair, ...]:
        """Train, dev and test together."""
        return self.train + self.dev + self.test

    def require_training(self, *, minimum: int = MINIMUM) -> None:
        """Raise PairsError where too little is left to train on: how much, why, what to do."""
        if len(self.train) >= minimum:
            return
        reasons = ", ".join(f"{n} {reason}" for reason, n in self.left_out.items() if n) or "the store holds no more"
        raise PairsError(
            f"only {len(self.train)} definitions are left to train on, {minimum} are the least (left out: {reasons})",
            hint="ingest more, or use --split none, or keep more with --form-of and --translations",
        )


def select(
    store: Store,
    settings: PairSettings,
    *,
    exclude: Container[str] = frozenset(),
    normalise: Callable[[str], str] | None = None,
) -> Pairs:
    """The pairs the settings ask for.

    A definition whose normalised text also stands under a dev or test headword leaves train (METHODS, "Leaks"), and
    one whose normalised text is in `exclude` leaves every split. Both are counted.

    Raises:
        EmptyStoreError, LanguageError: the store lacks the language.
    """
    store.require(settings.language)
    normalise = normalise or letters
    left_out: Counter[str] = Counter()
    rows = _usable(store.definitions(settings.language, licences=settings.licences), settings, left_out)
    pairs = list(_limited(_paired(rows, settings), settings, left_out))
    if exclude:
        kept = [p for p in pairs if normalise(p.definition) not in exclude]
        left_out["excluded by text"] = len(pairs) - len(kept)
        pairs = kept
    by_split: dict[str, list[Pair]] = {"train": [], "dev": [], "test": []}
    for pair in pairs:
        by_split[pair.split].append(pair)
    held = {normalise(p.definition) for p in by_split["dev"] + by_split["test"]}
    train = [p for p in by_split["train"] if normalise(p.definition) not in held]
    left_out["also defining a dev or test word"] = len(by_split["train"]) - len(train)
    return Pairs(tuple(train), tuple(by_split["dev"]), tuple(by_split["test"]), dict(left_out))


def glosses(pairs: Iterable[Pair], examples: dict[str, tuple[str, ...]]) -> list[Gloss]:
    """The distinct definitions of the pairs with all their headwords, in order of first appearance."""
    headwords: dict[str, dict[str, None]] = {}
    for pair in pairs:
        headwords.setdefault(pair.definition, {})[pair.headword] = None
    return [Gloss(text, tuple(words), examples.get(text, ())) for text, words in headwords.items()]


def letters(text: str) -> str:
    """Letters and digits only, lower-cased: the form in which leaks are looked for."""
    return _NOT_LETTERS.sub(" ", text.lower()).strip()


def split_of(headword: str) -> str:
    """train, dev or test at 8:1:1. Only the headword decides, so adding a dictionary never moves a word.

    Case is folded first: Polish and polish fall on the same side.
    """
    return _SPLITS[_hash(headword) % 10]


def _hash(headword: str) -> int:
    return int.from_bytes(hashlib.blake2b(headword.casefold().encode(), digest_size=8).digest())


def _usable(rows: Iterable[DefinitionRow], settings: PairSettings, left_out: Counter[str]) -> Iterator[DefinitionRow]:
    for row in rows:
        if row.form_of and not settings.form_of:
            left_out["only forms of other words"] += 1
        elif (row.translation or row.language != settings.language) and not settings.translations:
            left_out["in another language"] += 1
        else:
            yield row


def _paired(rows: Iterable[DefinitionRow], settings: PairSettings) -> Iterator[Pair]:
    merged: dict[str, tuple[int, str]] = {}
    for row in rows:
        entry, headword = row.entry, row.headword
        if settings.merge_case:
            entry, headword = merged.setdefault(headword.casefold(), (entry, headword))
        split = split_of(headword) if settings.split == "hash" else "train"
        yield Pair(entry, headword, row.text, split)


def _limited(pairs: Iterable[Pair], settings: PairSettings, left_out: Counter[str]) -> list[Pair]:
    pairs = list(pairs)
    if settings.limit is None or len(pairs) <= settings.limit:
        return pairs
    sizes = Counter(p.entry for p in pairs)
    words = {p.entry: p.headword for p in pairs}
    kept: set[int] = set()
    room = settings.limit
    for entry in sorted(sizes, key=lambda e: (_hash(words[e]), e)):
        room -= sizes[entry]
        if room < 0:
            break
        kept.add(entry)
    chosen = [p for p in pairs if p.entry in kept]
    left_out["beyond --limit"] = len(pairs) - len(chosen)
    return chosen
