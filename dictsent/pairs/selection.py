"""Choosing what to train on: (entry, definition) pairs, split by headword, free of leaks.

Before: dictsent.store streams definitions. After: dictsent.entryspace builds entries, dictsent.train trains.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from dictsent.errors import PairsError
from dictsent.pairs.cleaning import holds_headword, is_reference, without_html, without_labels
from dictsent.pairs.duplicates import Words, letters, without_near, without_variants
from dictsent.records import Gloss, Pair
from dictsent.store import DefinitionRow, Store

MINIMUM = 20
"""Fewer training definitions than this cannot train anything."""

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
        references: keep definitions that only point to another word ("See dog").
        html: keep HTML tags and entities in the text.
        labels: keep labels in brackets before the text.
        circular: keep definitions that hold their headword.
        shortest, longest: characters that a definition has at least and at most; 0 for no bound.
        near: of definitions of an entry that are as similar as this (0 to 1), keep the best; 0 keeps all.
        variants: keep the same definition under several spellings of one word.
        dedup: "exact" as the store has it; "paper": entries that differ in case only are one, and the same definition
            stands once in it (DefSent+: "duplicate entries from different resources combined, duplicate definitions
            of an entry removed").
        prefer: names of sources whose wording wins among near-duplicates.
    """

    language: str
    split: Literal["hash", "none"] = "hash"
    limit: int | None = None
    merge_case: bool = False
    form_of: bool = False
    translations: bool = False
    licences: tuple[str, ...] = ()
    references: bool = False
    html: bool = False
    labels: bool = True
    circular: bool = True
    shortest: int = 0
    longest: int = 0
    near: float = 0.0
    variants: bool = True
    dedup: Literal["exact", "paper"] = "exact"
    prefer: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.near <= 1:
            raise PairsError("a similarity lies between 0 and 1", where="--near")
        if self.longest and self.longest < self.shortest:
            raise PairsError("the longest definition is shorter than the shortest", where="--longest")


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of each split, how many definitions were left out, and how many texts were changed, by reason."""

    train: tuple[Pair, ...]
    dev: tuple[Pair, ...]
    test: tuple[Pair, ...]
    left_out: dict[str, int] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)

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
    changed: Counter[str] = Counter()
    rows = store.definitions(settings.language, licences=settings.licences, prefer=settings.prefer)
    rows = _cleaned(_usable(rows, settings, left_out), settings, left_out, changed)
    if settings.near:
        rows = without_near(rows, settings.near, left_out, preferred=len(settings.prefer))
    if not settings.variants:
        rows = without_variants(rows, Words(store.spellings(settings.language)), left_out)
    pairs = list(_limited(_paired(rows, settings, left_out), settings, left_out))
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
    return Pairs(tuple(train), tuple(by_split["dev"]), tuple(by_split["test"]), dict(left_out), dict(changed))


def glosses(pairs: Iterable[Pair], examples: dict[str, tuple[str, ...]]) -> list[Gloss]:
    """The distinct definitions of the pairs with all their headwords, in order of first appearance."""
    headwords: dict[str, dict[str, None]] = {}
    for pair in pairs:
        headwords.setdefault(pair.definition, {})[pair.headword] = None
    return [Gloss(text, tuple(words), examples.get(text, ())) for text, words in headwords.items()]


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


def _cleaned(
    rows: Iterable[DefinitionRow], settings: PairSettings, left_out: Counter[str], changed: Counter[str]
) -> Iterator[DefinitionRow]:
    for row in rows:
        text = row.text
        if not settings.html and (plain := without_html(text)) != text:
            changed["HTML taken out"] += 1
            text = plain
        if not settings.labels and (plain := without_labels(text)) != text:
            changed["labels taken off"] += 1
            text = plain
        if reason := _useless(text, row.headword, settings):
            left_out[reason] += 1
        else:
            yield row if text == row.text else replace(row, text=text)


def _useless(text: str, headword: str, settings: PairSettings) -> str:
    """Why a cleaned text is not trained on, "" where it is."""
    if not settings.references and is_reference(text):
        return "only pointing to another word"
    if not text:
        return "nothing but markup"
    if not settings.circular and holds_headword(text, headword):
        return "holding their headword"
    if len(text) < settings.shortest:
        return "too short"
    return "too long" if settings.longest and len(text) > settings.longest else ""


def _paired(rows: Iterable[DefinitionRow], settings: PairSettings, left_out: Counter[str]) -> Iterator[Pair]:
    paper = settings.dedup == "paper"
    merged: dict[str, tuple[int, str]] = {}
    said: set[tuple[int, str]] = set()
    for row in rows:
        entry, headword = row.entry, row.headword
        if settings.merge_case or paper:
            entry, headword = merged.setdefault(headword.casefold(), (entry, headword))
        if paper:
            if (entry, row.text) in said:
                left_out["the same definition of the entry"] += 1
                continue
            said.add((entry, row.text))
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
