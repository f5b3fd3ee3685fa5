"""Word prediction: where does the headword stand when an encoder ranks all candidates for a definition?

Before: definitions as records.Pair, any TextEncoder or a trained model's own scores. After: dictsent.evaluate, train's
dev criterion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dictsent.errors import TaskError
from dictsent.records import Pair
from dictsent.tasks.embedding import Matrix, Progress, TextEncoder, encode_blocks, fit, normalised, stack
from dictsent.tasks.scores import Score

TOLERANCE = 1e-6
"""Scores this near (relative to the larger of 1 and the target's score) are ties: matrix products in single precision
differ in their last bits with the size of a block."""

CELLS = 1 << 24
"""Scores held at once: 64 MB."""


METRICS = ("mrr", "mrr@10", "top1", "top3", "top10", "median_rank")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The ranks of the true headwords.

    Attributes:
        ranks: (q,) from 1; ties take their mean rank.
        candidates: headwords or vocabulary items that were ranked.
        single: queries left out because their entry has no other definition to build its row from.
        unknown: queries left out because their headword is no candidate.
    """

    ranks: NDArray[np.float64]
    candidates: int
    single: int = 0
    unknown: int = 0


def ranks(
    queries: Matrix, rows: Matrix, targets: NDArray[np.int64], *, own: Matrix | None = None, same: Matrix | None = None
) -> NDArray[np.float64]:
    """Rank of each query's target among all rows by dot product, in blocks of CELLS scores.

    Args:
        queries: (q, d) vectors; at length 1, like the rows, for the cosine.
        rows: (n, d), one row a candidate (DefSent+'s entry matrix; the mean vectors of `entry_rows`).
        targets: (q,) row numbers of the true headwords.
        own: (q, d) rows that stand in for the targets' own: built without the queried definition (leave one out).
        same: (q, n) sparse, non-zero where a candidate is left out of a query's ranking: another right answer.

    Returns:
        (q,) ranks: 1 + candidates that score higher + half of those that score the same.
    """
    found = np.ones(len(targets))
    size, width = _block_shape(rows.shape[0])
    for start in range(0, len(targets), size):
        block = slice(start, min(start + size, len(targets)))
        mine = rows[targets[block]] if own is None else own[block]
        aim = _row_products(queries[block], mine)
        for left in range(0, rows.shape[0], width):
            right = min(left + width, rows.shape[0])
            scores = _products(queries[block], rows[left:right])
            _silence(scores, targets[block], left, None if same is None else same[block, left:right])
            found[block] += _beaten(scores, aim)
    return found


def rank_scores(scores: NDArray[np.floating], targets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Ranks from scores that somebody else computed, e.g. a masked-LM head's logits (q, vocabulary)."""
    picked = np.arange(len(targets))
    aim = scores[picked, targets].astype(np.float64)
    others = np.array(scores, dtype=np.float32)
    others[picked, targets] = -np.inf
    return 1.0 + _beaten(others, aim)


def _block_shape(candidates: int) -> tuple[int, int]:
    width = min(max(candidates, 1), CELLS // 64)
    return max(1, CELLS // width // 4), width


def _products(queries: Matrix, rows: Matrix) -> NDArray[np.float32]:
    product = queries @ rows.T
    return np.asarray(product.toarray() if hasattr(product, "toarray") else product, dtype=np.float32)


def _row_products(queries: Matrix, rows: Matrix) -> NDArray[np.float64]:
    if hasattr(queries, "tocsr"):
        return np.asarray(queries.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", queries, rows, dtype=np.float64))


def _silence(scores: NDArray[np.float32], targets: NDArray[np.int64], left: int, same: Matrix | None) -> None:
    """Take the target itself, and other right answers, out of the comparison."""
    inside = np.flatnonzero((targets >= left) & (targets < left + scores.shape[1]))
    scores[inside, targets[inside] - left] = -np.inf
    if same is not None:
        others = same.tocoo()
        scores[others.row, others.col] = -np.inf


def _beaten(scores: NDArray[np.float32], aim: NDArray[np.float64]) -> NDArray[np.float64]:
    margin = TOLERANCE * np.maximum(1.0, np.abs(aim))
    low, high = (aim - margin).astype(np.float32)[:, None], (aim + margin).astype(np.float32)[:, None]
    higher = np.count_nonzero(scores > high, axis=1)
    at_least = np.count_nonzero(scores >= low, axis=1)
    return np.asarray((higher + at_least) / 2, dtype=np.float64)


def summarise(ranking: NDArray[np.float64]) -> dict[str, float]:
    """MRR over full ranks, MRR@10 (0 beyond rank 10), shares at rank 1, 3 and 10, and the median rank.

    Proportions, as the DefSent paper's Table 2 prints them. Raises TaskError without ranks.
    """
    if not len(ranking):
        raise TaskError("no query is left to rank", hint="entries need two definitions or more")
    reciprocal = 1.0 / ranking
    return {
        "mrr": float(reciprocal.mean()),
        "mrr@10": float(np.where(ranking <= 10, reciprocal, 0.0).mean()),
        "top1": float((ranking <= 1).mean()),
        "top3": float((ranking <= 3).mean()),
        "top10": float((ranking <= 10).mean()),
        "median_rank": float(np.median(ranking)),
    }


def chance(metric: str, candidates: int) -> float | None:
    """What a random order of the candidates would get on average; None for the median rank."""
    if candidates < 1 or metric == "median_rank":
        return None
    reciprocal = 1 / np.arange(1, (min(candidates, 10) if metric == "mrr@10" else candidates) + 1)
    if metric.startswith("mrr"):
        return float(reciprocal.sum() / candidates)
    return min(1.0, int(metric.removeprefix("top")) / candidates)


@dataclass(frozen=True, slots=True)
class EntryRows:
    """Candidates as mean definition vectors.

    Attributes:
        entries: row number of each entry, by its id (`Pair.entry`).
        definitions: number of each distinct definition.
        holds: (n, t) sparse, 1 where an entry has a definition.
        rows: (n, d) mean vector of each entry's distinct definitions.
        queried: (k, d) vectors of the queried definitions, and their row numbers by definition number.
    """

    entries: dict[int, int]
    definitions: dict[str, int]
    holds: Matrix
    rows: Matrix
    queried: Matrix
    queried_row: dict[int, int]


def entry_scores(
    encoder: TextEncoder,
    queries: Sequence[Pair],
    entries: Sequence[Pair],
    *,
    filtered: bool = False,
    progress: Progress | None = None,
) -> Ranking:
    """Rank every query's headword among all entries by cosine with the entries' mean definition vectors.

    An entry's row is the mean over its distinct definitions. The row of a queried entry is built without the queried
    definition, so that the answer does not hold the question; entries with a single definition are left out and
    counted. Ties take their mean rank.

    Args:
        queries: held-out (headword, definition) pairs; each must also be among `entries`.
        entries: all pairs whose headwords are candidates.
        filtered: other headwords that have the queried definition too (synonyms) are right answers and not counted
            against it; by default they are wrong ones.

    Raises:
        EncoderError: see `dictsent.tasks.embedding.embed`.
    """
    asked = list(dict.fromkeys((pair.entry, pair.definition) for pair in queries))
    space = entry_rows(encoder, entries, {definition for _, definition in asked}, progress)
    known = [(space.entries[e], space.definitions[d]) for e, d in asked if _holds(space, e, d)]
    counts = np.asarray(space.holds.sum(axis=1)).ravel()
    ranked = [(entry, text) for entry, text in known if counts[entry] > 1]
    result = Ranking(
        ranks=np.zeros(0),
        candidates=len(space.entries),
        single=len(known) - len(ranked),
        unknown=len(asked) - len(known),
    )
    return replace(result, ranks=_leave_one_out(space, ranked, counts, filtered)) if ranked else result


def _holds(space: EntryRows, entry: int, definition: str) -> bool:
    row, text = space.entries.get(entry), space.definitions.get(definition)
    return row is not None and text is not None and bool(space.holds[row, text])


def _leave_one_out(
    space: EntryRows, ranked: list[tuple[int, int]], counts: NDArray[np.float64], filtered: bool
) -> NDArray[np.float64]:
    rows = normalised(space.rows)
    size = _block_shape(rows.shape[0])[0]
    found = []
    for start in range(0, len(ranked), size):
        targets, texts = (np.array(column) for column in zip(*ranked[start : start + size], strict=True))
        vectors = space.queried[[space.queried_row[text] for text in texts.tolist()]]
        own = _without(space.rows[targets], vectors, counts[targets])
        same = space.holds.T.tocsr()[texts] if filtered else None
        found.append(ranks(normalised(vectors), rows, targets, own=normalised(own), same=same))
    return np.concatenate(found)


def _without(rows: Matrix, vectors: Matrix, counts: NDArray[np.float64]) -> Matrix:
    """Means of the entries' other definitions: (m * mean - vector) / (m - 1)."""
    if hasattr(rows, "tocsr"):
        from scipy.sparse import diags

        return (diags(counts / (counts - 1)) @ rows - diags(1 / (counts - 1)) @ vectors).tocsr()
    scaled = rows.astype(np.float64) * counts[:, None] - vectors
    return scaled / (counts - 1)[:, None]


def entry_rows(
    encoder: TextEncoder, entries: Sequence[Pair], keep: set[str], progress: Progress | None = None
) -> EntryRows:
    """Encode each distinct definition once and add it to the entries that have it; vectors are kept only for `keep`."""
    if not entries:
        raise TaskError("no entries to rank", hint="ingest a dictionary first")
    numbers = {entry: i for i, entry in enumerate(dict.fromkeys(pair.entry for pair in entries))}
    texts = sorted(dict.fromkeys(pair.definition for pair in entries), key=len)
    definitions = {text: i for i, text in enumerate(texts)}
    holds = _incidence(entries, numbers, definitions)
    fit(encoder, texts)
    wanted = np.array([text in keep for text in texts])
    sums, kept, start = None, [], 0
    for block in encode_blocks(encoder, texts, progress):
        end = start + block.shape[0]
        sums = _add(sums, holds[:, start:end], block)
        kept.append(block[np.flatnonzero(wanted[start:end])])
        start = end
    queried_row = {int(number): row for row, number in enumerate(np.flatnonzero(wanted))}
    rows = _divided(sums, np.asarray(holds.sum(axis=1)).ravel())
    return EntryRows(numbers, definitions, holds.tocsr(), rows, stack(kept), queried_row)


def _incidence(entries: Sequence[Pair], numbers: dict[int, int], definitions: dict[str, int]) -> Matrix:
    """(n, t) sparse, 1 where an entry has a definition; the same definition twice under an entry counts once."""
    from scipy.sparse import csc_matrix

    cells = np.array([(numbers[pair.entry], definitions[pair.definition]) for pair in entries])
    ones = np.ones(len(cells), dtype=np.float32)
    holds = csc_matrix((ones, (cells[:, 0], cells[:, 1])), shape=(len(numbers), len(definitions)))
    holds.data[:] = 1.0
    return holds


def _add(sums: Matrix | None, part: Matrix, block: Matrix) -> Matrix:
    """Add a block of definitions to the entries that have them; only those rows are touched."""
    if hasattr(block, "tocsr"):
        return part @ block if sums is None else sums + part @ block
    if sums is None:
        sums = np.zeros((part.shape[0], block.shape[1]), dtype=np.float32)
    touched = np.unique(part.indices)
    sums[touched] += part.tocsr()[touched] @ block
    return sums


def _divided(sums: Matrix, counts: NDArray[np.float64]) -> Matrix:
    if hasattr(sums, "tocsr"):
        from scipy.sparse import diags

        return (diags(1 / counts) @ sums).tocsr()
    sums /= counts[:, None]
    return sums


def word_scores(
    ranking: Ranking, *, language: str, split: str, variant: str = "entries", protocol: str = "leave-one-out"
) -> list[Score]:
    """The ranking as figures: one Score for each of `summarise`; None, with the reason, where no query was ranked."""
    metrics = summarise(ranking.ranks) if len(ranking.ranks) else dict.fromkeys(METRICS)
    left_out = [
        f"{ranking.single} queries left out: their entry has no other definition" if ranking.single else "",
        f"{ranking.unknown} queries left out: their headword is no candidate" if ranking.unknown else "",
        "" if len(ranking.ranks) else "undefined: no query is left",
    ]
    return [
        Score(
            task="words",
            language=language,
            split=split,
            protocol=protocol,
            variant=variant,
            metric=metric,
            value=value,
            n=len(ranking.ranks),
            note="; ".join(filter(None, [f"{ranking.candidates} candidates", *left_out])),
            chance=chance(metric, ranking.candidates) if value is not None else None,
        )
        for metric, value in metrics.items()
    ]
