"""What can be said of an encoder in a language that has no similarity set: figures, and what each of them means.

Before: a store's definitions, dictsent.tasks.words, glosses, neighbours, isotropy. After: `dictsent eval language`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dictsent.records import Pair
from dictsent.tasks.embedding import Fitted, Progress, Remembered, TextEncoder, dense, encode_blocks, fit
from dictsent.tasks.glosses import GlossPairs, gloss_scores
from dictsent.tasks.isotropy import isotropy, isotropy_scores
from dictsent.tasks.neighbours import Ids, corpus_neighbours, draw_queries, overlaps
from dictsent.tasks.scores import Score
from dictsent.tasks.words import entry_scores, word_scores

SHOWN = (("words", "mrr"), ("words", "top10"), ("glosses", "top1"), ("glosses", "mrr"), ("n2o", "n2o"),
         ("isotropy", "average_cosine"))  # fmt: skip
"""What the table shows of the figures, in its order."""

_MEANINGS = {
    (
        "words",
        "mrr",
    ): "A held-out definition asks for its headword among all headwords of the dictionary: mean of 1/rank. "
    "It says how well definitions of one word lie together; 1 is perfect.",
    ("words", "top10"): "The share of held-out definitions whose headword is among the first ten.",
    ("glosses", "top1"): "The share of definitions whose nearest definition in the other language is of the same "
    "concept. It says whether the two languages share one space; definitions that were trained on count too.",
    ("glosses", "mrr"): "The same as mean of 1/rank, for encoders that are near but seldom first.",
    (
        "n2o",
        "n2o",
    ): "The share of a definition's nearest neighbours that the reference finds too. It says how alike the "
    "two are, not which is better: worth as much as the reference is in this language.",
    ("isotropy", "average_cosine"): "The mean cosine of two definitions. Near 1, all texts look alike to the encoder; "
    "it says nothing of meaning.",
}


def meaning(task: str, metric: str) -> str:
    """One or two sentences on what a figure of this kind says, "" for kinds that no table explains."""
    return _MEANINGS.get((task, metric), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What there is of a language.

    Attributes:
        queries: held-out pairs of `split`; entries: all pairs, whose headwords are the candidates.
        glosses: concepts shared with other languages, a pair of languages each.
        ranked: what `entries` are, for the scores' variant: "entries", or a part of them.
        corpus: distinct definitions; queried: (samples, q) numbers of those whose neighbours are compared.
    """

    language: str
    split: str
    queries: Sequence[Pair]
    entries: Sequence[Pair]
    glosses: Sequence[GlossPairs]
    corpus: Sequence[str]
    queried: Ids
    k: int
    ranked: str = "entries"


def corpus_queries(corpus: int, *, k: int, seed: int = 0) -> tuple[Ids, int]:
    """The paper's five samples of 100 queries and its k, smaller where the corpus is: at most a tenth of it each."""
    part = max(1, corpus // 10)
    return draw_queries(corpus, queries=min(100, part), samples=5, seed=seed), min(k, part)


def reference_neighbours(system: TextEncoder, material: Material, progress: Progress | None = None) -> Ids:
    """(samples, q, k) neighbours of the queried definitions in the corpus."""
    fit(system, material.corpus)
    blocks = list(encode_blocks(system, material.corpus, progress))
    return corpus_neighbours(blocks, material.queried, material.k)


def unscored(
    system: TextEncoder,
    material: Material,
    references: Mapping[str, Ids],
    *,
    progress: Progress | None = None,
) -> list[Score]:
    """All figures of one encoder; each distinct text is encoded once.

    Args:
        references: name -> `reference_neighbours`.
    """
    encoder = system if isinstance(system, Fitted) else Remembered(system)
    ranking = entry_scores(encoder, material.queries, material.entries, progress=progress)
    scores = word_scores(ranking, language=material.language, split=material.split, variant=material.ranked)
    for pairs in material.glosses:
        scores += gloss_scores(encoder, pairs, progress=progress)
    fit(encoder, material.corpus)
    blocks = list(encode_blocks(encoder, material.corpus))
    if references:
        own = corpus_neighbours(blocks, material.queried, material.k)
        scores += [_overlap(own, theirs, name, material) for name, theirs in references.items()]
    if not hasattr(blocks[0], "tocsr"):
        vectors = np.concatenate([dense(block) for block in blocks])
        scores += isotropy_scores(isotropy(vectors), language=material.language, n=len(vectors), variant="definitions")
    return scores


def _overlap(own: Ids, theirs: Ids, name: str, material: Material) -> Score:
    samples, queries = material.queried.shape
    return Score(
        task="n2o",
        language=material.language,
        split="all",
        protocol=f"k = {material.k}, {samples} x {queries} queries",
        variant=f"with {name}",
        metric="n2o",
        value=float(overlaps(own, theirs).mean()),
        n=len(material.corpus),
        chance=material.k / (len(material.corpus) - 1),
    )
