"""A whole N2O study: neighbours, overlaps, words in common, popular and outlier neighbours, paraphrases.

Before: systems, a corpus and drawn queries. After: `dictsent compare --overlap` as table, JSON or page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dictsent.tasks.embedding import Progress, TextEncoder, encode_blocks, fit
from dictsent.tasks.neighbours import (
    N2O,
    Ids,
    Shared,
    TokenOverlap,
    corpus_neighbours,
    n2o,
    popularity,
    token_overlap,
)
from dictsent.tasks.paraphrases import Found, paraphrase_ranks, summarise_paraphrases
from dictsent.tasks.projected import projectable, projected_neighbours


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What N2O says of some systems on one corpus.

    Attributes:
        queries: (samples, q) sentence numbers.
        neighbours: system -> (samples, q, largest k).
        tokens: words that queries share with their neighbours, by system.
        paraphrases: the query-paraphrase test, by system; empty where it was not taken.
        recall: the part of the true neighbours that an approximate search finds, by system searched so.
    """

    corpus: Sequence[str]
    queries: Ids
    overlap: N2O
    neighbours: dict[str, Ids]
    tokens: dict[str, TokenOverlap]
    paraphrases: dict[str, Found]
    recall: dict[str, float] = field(default_factory=dict)

    def shared(self, *, near: int = 5) -> list[Shared]:
        """Popular and outlier neighbours of the first sample's queries."""
        return popularity(self.queries[0], {name: ids[0] for name, ids in self.neighbours.items()}, near=near)

    def to_json(self) -> dict[str, object]:
        """Overlaps at every k as lists in the order of `models`, and the rest by model."""
        tables = {
            str(k): {"mean": self.overlap.mean(k).tolist(), "deviation": self.overlap.deviation(k).tolist()}
            for k in self.overlap.ks
        }
        stability = self.overlap.stability(self.overlap.ks[-1])
        return {
            "models": list(self.overlap.names),
            "sentences": len(self.corpus),
            "samples": self.queries.shape[0],
            "queries": self.queries.shape[1],
            "overlap": tables,
            "stability": {kind: list(found) if found else None for kind, found in stability.items()},
            "token_overlap": {n: {"mean": t.mean, "interval": [t.low, t.high]} for n, t in self.tokens.items()},
            "paraphrases": {
                name: {"mrr": f.mrr, "top1": f.top, "top5": f.top5, "n": f.n} for name, f in self.paraphrases.items()
            },
            "recall": self.recall,
        }


def study(
    systems: Iterable[tuple[str, TextEncoder, Progress]],
    corpus: Sequence[str],
    queries: Ids,
    *,
    ks: Sequence[int],
    paraphrases: Sequence[tuple[str, str]] = (),
    approximate: bool = False,
) -> Study:
    """Run it: each system encodes the corpus once; one system and its (n, d) vectors are in memory at a time.

    Args:
        approximate: search projected vectors (dictsent.tasks.projected) where a system's are dense and wide.

    Raises:
        TaskError: the corpus is too small for the queries or the largest k.
    """
    neighbours: dict[str, Ids] = {}
    found: dict[str, Found] = {}
    recall: dict[str, float] = {}
    for name, system, progress in systems:
        fit(system, corpus)
        blocks = list(encode_blocks(system, corpus, progress))
        if approximate and projectable(blocks):
            neighbours[name], recall[name] = projected_neighbours(blocks, queries, max(ks))
        else:
            neighbours[name] = corpus_neighbours(blocks, queries, max(ks))
        if paraphrases:
            found[name] = summarise_paraphrases(paraphrase_ranks(system, corpus, blocks, paraphrases))
    return Study(
        corpus=corpus,
        queries=queries,
        overlap=n2o(neighbours, ks),
        neighbours=neighbours,
        tokens={name: token_overlap(corpus, queries, ids) for name, ids in neighbours.items()},
        paraphrases=found,
        recall=recall,
    )
