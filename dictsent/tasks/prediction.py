"""Word prediction along a trained model's own path: DefSent's vocabulary, DefSent+'s pooler and entry matrix.

Before: dictsent.model. After: the dev criterion of a training, `eval words`, the tables of a recipe.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

import numpy as np

from dictsent.model import Model
from dictsent.records import Pair
from dictsent.tasks.words import Ranking, rank_scores, ranks
from dictsent.vocabulary import single_tokens

_BLOCK = 512


def own_ranking(
    model: Model, pairs: Sequence[Pair], split: str, *, entries: Container[int] | None = None
) -> tuple[Ranking, str]:
    """The ranking of a split by what the model was trained to do, and the variant's name.

    "vocabulary": DefSent, over the encoder's vocabulary. "pooler": DefSent+, over all entries, the queried entry's row
    built without the queried definition (METHODS, "Word prediction over ENTRIES").

    Args:
        pairs: of that split; DefSent+ takes its own, which the entry space holds.
        entries: asks for these only (one language's); None for all.
    """
    if model.space is not None:
        return entry_ranking(model, split, entries=entries), "pooler"
    return vocabulary_ranking(model, [p for p in pairs if entries is None or p.entry in entries]), "vocabulary"


def vocabulary_ranking(model: Model, queries: Sequence[Pair]) -> Ranking:
    """Ranks of the headword's token among the whole vocabulary. Raises HeadError."""
    asked = list(dict.fromkeys((p.headword, p.definition) for p in queries))
    targets = single_tokens(model.encoder.tokenizer, (word for word, _ in asked))
    known = [(targets[word], text) for word, text in asked if word in targets]
    found = []
    for start in range(0, len(known), _BLOCK):
        ids, texts = zip(*known[start : start + _BLOCK], strict=True)
        logits = model.vocabulary_logits(list(texts)).numpy()
        found.append(rank_scores(logits, np.array(ids)))
    return Ranking(
        ranks=np.concatenate(found) if found else np.zeros(0),
        candidates=model.encoder.backbone.config.vocab_size,
        unknown=len(asked) - len(known),
    )


def entry_ranking(model: Model, split: str, *, entries: Container[int] | None = None) -> Ranking:
    """Ranks of the held-out entries of a split (of `entries` only) among all entries, by pooler(vector) @ matrix."""
    space = model.space
    assert space is not None
    asked = (i for i, query in enumerate(space.queries) if entries is None or query.entry in entries)
    picked = [i for i in asked if space.queries[i].split == split]
    if not picked:
        return Ranking(ranks=np.zeros(0), candidates=len(space.names), single=space.circular.get(split, 0))
    queries = [space.queries[i] for i in picked]
    vectors = model.entry_vectors([q.definition for q in queries]).numpy()
    targets = space.rows([q.entry for q in queries]).numpy()
    found = ranks(vectors, space.matrix.numpy(), targets, own=space.own_rows[picked].numpy())
    return Ranking(ranks=found, candidates=len(space.names), single=space.circular.get(split, 0))
