"""Nearest neighbour overlap (N2O): how alike two encoders see one corpus, without any annotated data.

Before: a corpus of sentences and any TextEncoders. After: `dictsent compare --overlap`, the report's heat map.
Lin and Smith, "Situating Sentence Embedders with Nearest Neighbor Overlap", 2019 (sections in the docstrings).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dictsent.errors import TaskError
from dictsent.tasks.embedding import Matrix, normalised, stack
from dictsent.tasks.statistics import spearman

Ids = NDArray[np.int64]

WIDTH = 1 << 16
"""Corpus rows searched at once."""

QUERIES, SAMPLES, NEAREST = 100, 5, 50
"""The paper's q, samples of queries, and k (section 4)."""

_TOKEN = re.compile(r"\w+")


def distinct_sentences(lines: Iterable[str]) -> list[str]:
    """The corpus: each sentence once, in order, without empty lines (23 % of the paper's Gigaword were duplicates)."""
    return list(dict.fromkeys(line for line in (text.strip() for text in lines) if line))


def draw_queries(corpus: int, *, queries: int = QUERIES, samples: int = SAMPLES, seed: int = 0) -> Ids:
    """(samples, queries) sentence numbers, each sample without replacement.

    Raises:
        TaskError: the corpus holds fewer sentences than are to be drawn.
    """
    if corpus <= queries:
        raise TaskError(f"{corpus} distinct sentences are too few for {queries} queries", hint="lower --queries")
    draws = np.random.default_rng(seed)
    return np.stack([draws.choice(corpus, queries, replace=False) for _ in range(samples)])


def nearest(blocks: Iterable[Matrix], queries: Matrix, own: Ids, k: int) -> Ids:
    """(q, k) numbers of each query's nearest corpus rows by cosine, best first; exact, one block in memory at a time.

    Args:
        blocks: the corpus, block by block, (n_i, d).
        queries: (q, d).
        own: (q,) the query's own number in the corpus, which is ignored; -1 where it is not in it.
    """
    best, ids = np.full((queries.shape[0], 0), -np.inf, dtype=np.float32), np.zeros((queries.shape[0], 0), np.int64)
    unit, start = normalised(queries), 0
    for block in blocks:
        for part in _parts(block):
            scores = _cosines(unit, part)
            inside = np.flatnonzero((own >= start) & (own < start + part.shape[0]))
            scores[inside, own[inside] - start] = -np.inf
            best, ids = _merged(best, ids, scores, start, k)
            start += part.shape[0]
    if start <= k:
        raise TaskError(f"{start} distinct sentences are too few for {k} neighbours", hint="lower -k")
    order = np.lexsort((ids, -best), axis=1)
    return np.take_along_axis(ids, order, axis=1)


def _parts(block: Matrix) -> Iterator[Matrix]:
    yield from (block[i : i + WIDTH] for i in range(0, block.shape[0], WIDTH))


def _cosines(unit: Matrix, part: Matrix) -> NDArray[np.float32]:
    product = unit @ normalised(part).T
    return np.asarray(product.toarray() if hasattr(product, "toarray") else product, dtype=np.float32)


def _merged(
    best: NDArray[np.float32], ids: Ids, scores: NDArray[np.float32], start: int, k: int
) -> tuple[NDArray[np.float32], Ids]:
    """The k best of those so far and of a new block."""
    if best.shape[1] == k:
        return _improved(best, ids, scores, start)
    if scores.shape[1] > k:
        columns = np.argpartition(-scores, k - 1, axis=1)[:, :k]
        scores = np.take_along_axis(scores, columns, axis=1)
    else:
        columns = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
    best, ids = np.hstack([best, scores]), np.hstack([ids, columns + start])
    if best.shape[1] <= k:
        return best, ids
    kept = np.argpartition(-best, k - 1, axis=1)[:, :k]
    return np.take_along_axis(best, kept, axis=1), np.take_along_axis(ids, kept, axis=1)


def _improved(
    best: NDArray[np.float32], ids: Ids, scores: NDArray[np.float32], start: int
) -> tuple[NDArray[np.float32], Ids]:
    """The same once there are k: only what beats the worst of them is sorted, which is little after a few blocks."""
    k = best.shape[1]
    for row, worst in enumerate(best.min(axis=1)):
        new = np.flatnonzero(scores[row] > worst)
        if len(new):
            values = np.concatenate([best[row], scores[row, new]])
            kept = np.argpartition(-values, k - 1)[:k]
            best[row], ids[row] = values[kept], np.concatenate([ids[row], new + start])[kept]
    return best, ids


def corpus_neighbours(blocks: Sequence[Matrix], queries: Ids, k: int) -> Ids:
    """(samples, queries, k) neighbours of the drawn queries in a corpus of encoded blocks."""
    flat = queries.ravel()
    return nearest(blocks, rows_of(blocks, flat), flat, k).reshape(*queries.shape, k)


def rows_of(blocks: Sequence[Matrix], numbers: Ids) -> Matrix:
    """The corpus rows of these numbers, in their order."""
    ends = np.cumsum([block.shape[0] for block in blocks])
    at = np.searchsorted(ends, numbers, side="right")
    order = np.argsort(at, kind="stable")
    starts = np.concatenate([[0], ends])
    parts = [blocks[b][numbers[order[at[order] == b]] - starts[b]] for b in np.unique(at).tolist()]
    return stack(parts)[np.argsort(order, kind="stable")]


def overlaps(first: Ids, second: Ids) -> NDArray[np.float64]:
    """|A and B| / k of each query: (..., k) neighbours of two encoders -> (...)."""
    k = first.shape[-1]
    flat = zip(first.reshape(-1, k), second.reshape(-1, k), strict=True)
    return np.array([len(np.intersect1d(a, b, assume_unique=True)) / k for a, b in flat]).reshape(first.shape[:-1])


@dataclass(frozen=True, slots=True)
class N2O:
    """The overlap of every two encoders.

    Attributes:
        names: the encoders.
        ks: numbers of neighbours.
        values: (ks, samples, m, m), each the mean over a sample's queries.
    """

    names: tuple[str, ...]
    ks: tuple[int, ...]
    values: NDArray[np.float64]

    def mean(self, k: int) -> NDArray[np.float64]:
        """(m, m) averaged over samples of queries: the heat map (Figure 3)."""
        return np.asarray(self.values[self.ks.index(k)].mean(axis=0))

    def deviation(self, k: int) -> NDArray[np.float64]:
        """(m, m) standard deviation over samples of queries (section 6)."""
        return np.asarray(self.values[self.ks.index(k)].std(axis=0, ddof=1 if self.values.shape[1] > 1 else 0))

    def against_others(self, k: int) -> dict[str, list[float]]:
        """Each encoder's overlaps with all others, for the distributions (Figure 6)."""
        mean = self.mean(k)
        return {
            name: [float(mean[i, j]) for j in range(len(self.names)) if j != i] for i, name in enumerate(self.names)
        }

    def stability(self, k: int) -> dict[str, tuple[float, float] | None]:
        """Mean and least Spearman between the lists of pairs, across ks and across samples (section 6).

        None with fewer than three encoders, or one k or sample: then there is nothing to rank.
        """
        by_k = [self.mean(one) for one in self.ks]
        return {"k": self._stable(by_k), "samples": self._stable(list(self.values[self.ks.index(k)]))}

    def _stable(self, tables: Sequence[NDArray[np.float64]]) -> tuple[float, float] | None:
        upper = np.triu_indices(len(self.names), 1)
        found = [spearman(a[upper], b[upper]) for a, b in combinations(tables, 2)]
        known = [value for value in found if value is not None]
        return (float(np.mean(known)), min(known)) if known and len(upper[0]) > 2 else None


def n2o(neighbours: Mapping[str, Ids], ks: Sequence[int]) -> N2O:
    """Overlaps of all pairs of encoders at every k (section 2.2); neighbours are (samples, queries, >= max k)."""
    names = tuple(neighbours)
    samples = next(iter(neighbours.values())).shape[0]
    values = np.ones((len(ks), samples, len(names), len(names)))
    for at, k in enumerate(ks):
        for i, j in combinations(range(len(names)), 2):
            pair = overlaps(neighbours[names[i]][..., :k], neighbours[names[j]][..., :k]).mean(axis=1)
            values[at, :, i, j] = values[at, :, j, i] = pair
    return N2O(names, tuple(ks), values)


@dataclass(frozen=True, slots=True)
class TokenOverlap:
    """Share of the query's words that its neighbours hold: mean over queries, 95 % interval (Figure 5)."""

    mean: float
    low: float
    high: float


def token_overlap(corpus: Sequence[str], queries: Ids, neighbours: Ids) -> TokenOverlap:
    """|words(query) and words(neighbour)| / |words(query)|, averaged over the neighbours of each query."""
    shares = []
    for query, found in zip(queries.ravel().tolist(), neighbours.reshape(-1, neighbours.shape[-1]), strict=True):
        words = _words(corpus[query])
        if words:
            shares.append(float(np.mean([len(words & _words(corpus[i])) / len(words) for i in found])))
    if not shares:
        raise TaskError("no query has a word", hint="is the corpus text?")
    spread = 1.96 * float(np.std(shares, ddof=1)) / len(shares) ** 0.5 if len(shares) > 1 else 0.0
    return TokenOverlap(float(np.mean(shares)), float(np.mean(shares)) - spread, float(np.mean(shares)) + spread)


def _words(text: str) -> set[str]:
    return set(_TOKEN.findall(text.lower()))


@dataclass(frozen=True, slots=True)
class Shared:
    """What encoders agree and disagree on for one query (section 7); numbers of sentences.

    Attributes:
        popular: within the `near` nearest of every encoder.
        outliers: encoder -> (rank from 1, sentence) within its `near` nearest, outside all neighbours of all others.
    """

    query: int
    popular: tuple[int, ...]
    outliers: dict[str, tuple[tuple[int, int], ...]]


def popularity(queries: Ids, neighbours: Mapping[str, Ids], *, near: int = 5) -> list[Shared]:
    """Popular and outlier neighbours of each query of one sample: (q,) queries, (q, k) neighbours an encoder."""
    found = []
    for row, query in enumerate(queries.tolist()):
        lists = {name: ids[row].tolist() for name, ids in neighbours.items()}
        popular = set.intersection(*(set(ids[:near]) for ids in lists.values()))
        outliers = {}
        for name, ids in lists.items():
            others = {i for other, theirs in lists.items() if other != name for i in theirs}
            outliers[name] = tuple((rank, i) for rank, i in enumerate(ids[:near], 1) if i not in others)
        found.append(Shared(query, tuple(sorted(popular)), outliers))
    return found
