"""Cross-lingual gloss retrieval: does a definition find the definition of the same concept in another language?

Before: a store's definitions by interlingual id, any TextEncoder. After: `dictsent eval glosses`.
No sentence was scored by people for it: it needs two wordnets of one interlingual index (https://github.com/globalwordnet/cili).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dictsent.errors import TaskError
from dictsent.pairs import letters
from dictsent.tasks.embedding import Progress, TextEncoder, embed, normalised
from dictsent.tasks.scores import Score
from dictsent.tasks.words import chance, ranks, summarise

Ranks = NDArray[np.float64]

MOST = 2000
"""Concepts of a pair of languages that are taken unless told otherwise: with equal numbers, figures compare."""

FEWEST = 20
"""A pair of languages with fewer concepts says nothing."""

METRICS = ("mrr", "top1", "top10")


@dataclass(frozen=True, slots=True)
class GlossPairs:
    """The first definition of each of n concepts in two languages.

    Attributes:
        shared: concepts that both languages define; more than n where a sample was drawn.
        copied: concepts left out because both definitions are the same text.
    """

    languages: tuple[str, str]
    first: tuple[str, ...]
    second: tuple[str, ...]
    shared: int
    copied: int


def first_glosses(rows: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Concept -> the first definition a source gives it, from Store.glosses."""
    found: dict[str, str] = {}
    for concept, text in rows:
        found.setdefault(concept, text)
    return found


def pair_glosses(
    first: Mapping[str, str], second: Mapping[str, str], *, languages: tuple[str, str], most: int = MOST
) -> GlossPairs:
    """The concepts that both define; of more than `most`, those with the smallest digests, the same for all languages.

    A concept whose two definitions are one text (on letters and digits) would be found by any system and is left out.

    Raises:
        TaskError: fewer than FEWEST are left.
    """
    shared = [concept for concept in first if concept in second]
    told_apart = [c for c in shared if letters(first[c]) != letters(second[c])]
    if len(told_apart) < FEWEST:
        raise TaskError(
            f"{len(told_apart)} concepts are defined in both {' and '.join(languages)}, at least {FEWEST} are needed",
            hint="ingest wordnets with interlingual ids: Open Multilingual Wordnet tabs, WN-LMF, Princeton's WordNet",
        )
    drawn = sorted(told_apart, key=_digest)[:most]
    return GlossPairs(
        languages,
        tuple(first[c] for c in drawn),
        tuple(second[c] for c in drawn),
        len(shared),
        len(shared) - len(told_apart),
    )


def _digest(concept: str) -> bytes:
    return hashlib.blake2b(concept.encode(), digest_size=8).digest()


def gloss_scores(encoder: TextEncoder, pairs: GlossPairs, *, progress: Progress | None = None) -> list[Score]:
    """Both directions: each definition of one language ranks all n of the other by cosine.

    A score's language is "it-en" where Italian definitions ask and English ones answer. Equal candidates share their
    mean rank, so that a constant encoder stands at chance.
    """
    vectors = embed(encoder, (*pairs.first, *pairs.second), progress)
    sides = [normalised(vectors.rows(texts)) for texts in (pairs.first, pairs.second)]
    targets, (one, two) = np.arange(len(pairs.first)), pairs.languages
    scores = []
    for asking, answering, language in ((0, 1, f"{one}-{two}"), (1, 0, f"{two}-{one}")):
        scores += _figures(ranks(sides[asking], sides[answering], targets), language, pairs)
    return scores


def _figures(found: Ranks, language: str, pairs: GlossPairs) -> list[Score]:
    left_out = f", {pairs.copied:,} of them with one text for both left out" if pairs.copied else ""
    figures = summarise(found)
    return [
        Score(
            task="glosses",
            language=language,
            split="all",
            protocol="interlingual",
            variant="first definitions",
            metric=metric,
            value=figures[metric],
            n=len(found),
            note=f"{language}: {pairs.shared:,} concepts are defined in both{left_out}",
            chance=chance(metric, len(found)),
        )
        for metric in METRICS
    ]
