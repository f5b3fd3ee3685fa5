"""Choosing what to train on: (entry, definition) pairs, split by headword, free of leaks.

Before: dictsent.store streams definitions. After: dictsent.entryspace builds entries, dictsent.train trains.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from dictsent.errors import PairsError
from dictsent.pairs.cleaning import holds_headword, is_reference, without_html, without_labels
from dictsent.pairs.columns import Columns, Rows
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
    """The pairs of each split, how many definitions were left out, and how many texts were changed, by reason.

    Any sequence of Pair may be given; it is kept in columns (dictsent.pairs.columns), as a sequence of Pair again.
    """

    train: Rows
    dev: Rows
    test: Rows
    left_out: dict[str, int] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for split in ("train", "dev", "test"):
            object.__setattr__(self, split, Rows.of(getattr(self, split)))

    def all(self) -> Rows:
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
    gathered = _gather(_paired(rows, settings, left_out), exclude, normalise)
    chosen = _within(gathered.columns, settings.limit, left_out)
    if exclude:
        kept = array("I", (row for row in chosen if row not in gathered.excluded))
        left_out["excluded by text"] = len(chosen) - len(kept)
        chosen = kept
    by_split = {split: array("I") for split in ("train", "dev", "test")}
    for row in chosen:
        by_split[gathered.columns.split(row)].append(row)
    train_rows = _without_leaks(gathered.keys, by_split["train"], by_split["dev"] + by_split["test"])
    left_out["also defining a dev or test word"] = len(by_split["train"]) - len(train_rows)
    train, dev, test = (Rows(gathered.columns, chosen) for chosen in (train_rows, by_split["dev"], by_split["test"]))
    return Pairs(train, dev, test, dict(left_out), dict(changed))


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
    return _digest(headword.casefold())


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


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
    said: set[int] = set()
    for row in rows:
        entry, headword = row.entry, row.headword
        if settings.merge_case or paper:
            entry, headword = merged.setdefault(headword.casefold(), (entry, headword))
        if paper:
            digest = _digest(f"{entry} {row.text}")
            if digest in said:
                left_out["the same definition of the entry"] += 1
                continue
            said.add(digest)
        split = split_of(headword) if settings.split == "hash" else "train"
        yield Pair(entry, headword, row.text, split)


@dataclass(frozen=True, slots=True)
class _Gathered:
    """All pairs; a 64-bit digest of each one's normalised text; the numbers of those whose text is to be left out.

    Two of ten million different texts share a digest with a probability of 3 in a million.
    """

    columns: Columns = field(default_factory=Columns)
    keys: array[int] = field(default_factory=lambda: array("Q"))
    excluded: set[int] = field(default_factory=set)


def _gather(pairs: Iterable[Pair], exclude: Container[str], normalise: Callable[[str], str]) -> _Gathered:
    found = _Gathered()
    for row, pair in enumerate(pairs):
        found.columns.add(pair.entry, pair.headword, pair.definition, pair.split)
        text = normalise(pair.definition)
        found.keys.append(_digest(text))
        if text in exclude:
            found.excluded.add(row)
    return found


def _within(columns: Columns, limit: int | None, left_out: Counter[str]) -> Sequence[int]:
    """The rows of whole entries, by the hashes of their headwords, that are `limit` at most."""
    if limit is None or len(columns) <= limit:
        return range(len(columns))
    import numpy as np

    hashes = np.fromiter(map(_hash, map(columns.headword, range(len(columns.entries)))), np.uint64)
    entry_of = np.array(columns.entries)[np.array(columns.words)]
    entries, words = np.unique(np.array(columns.entries), return_index=True)
    sizes = np.unique(entry_of, return_counts=True)[1]
    order = np.lexsort((entries, hashes[words]))
    kept = entries[order[: int(np.searchsorted(np.cumsum(sizes[order]), limit, side="right"))]]
    rows = array("I", np.flatnonzero(np.isin(entry_of, kept)).astype(np.uint32).tobytes())
    left_out["beyond --limit"] = len(columns) - len(rows)
    return rows


def _without_leaks(keys: array[int], train: array[int], held: array[int]) -> array[int]:
    """The rows of train whose text is none of the held rows'."""
    if not held or not train:
        return train
    import numpy as np

    digests = np.frombuffer(keys, np.uint64)
    known, mine = np.unique(digests[np.array(held)]), digests[np.array(train)]
    at = np.minimum(np.searchsorted(known, mine), len(known) - 1)
    return array("I", np.array(train)[known[at] != mine].tobytes())
