"""Approximate nearest neighbours for corpora of millions: search in few dimensions, then rank what was found exactly.

Before: dictsent.tasks.neighbours' blocks and queries. After: dictsent.tasks.overlap, with the recall stated.

A study asks some hundred queries of a corpus: an inverted file must compare every sentence with a thousand centroids
before the first query, which costs more than the exact search (benchmarks/n2o.py; faiss: 2.5 times as much). Projecting
costs one narrow product a sentence, and saves little for 500 queries (CPU time 4.1 against 5.0 s), more for more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dictsent.tasks.embedding import Matrix, normalised
from dictsent.tasks.neighbours import Ids, corpus_neighbours, overlaps, rows_of

AXES = 96
"""Principal axes of the corpus that are searched."""

WIDE = 10
"""Candidates that are ranked exactly, as a multiple of k."""

PROBED, PROBED_ROWS = 100, 100_000
"""Queries, and sentences of the corpus, on which the recall is measured."""

_SAMPLE = 20_000


def projectable(blocks: Sequence[Matrix]) -> bool:
    """Whether the vectors are dense and so wide that projecting them saves work."""
    return not hasattr(blocks[0], "tocsr") and blocks[0].shape[1] >= 2 * AXES


def projected_neighbours(blocks: Sequence[Matrix], queries: Ids, k: int) -> tuple[Ids, float]:
    """(samples, q, k) neighbours of the drawn queries, and the recall: the part of the true ones that is found.

    The recall is that of PROBED queries in a corpus thinned to PROBED_ROWS or more, which is also searched exactly.

    Args:
        blocks: `projectable` ones.
    """
    axes = _principal_axes(blocks)
    flat = queries.ravel()
    found = _search(blocks, axes, flat, k)
    thin = [block[:: max(1, _rows(blocks) // PROBED_ROWS)] for block in blocks]
    probes = np.unique(np.linspace(0, _rows(thin) - 1, PROBED).astype(np.int64))
    exact = corpus_neighbours(thin, probes[None], k)[0]
    return found.reshape(*queries.shape, k), float(overlaps(_search(thin, axes, probes, k), exact).mean())


def _rows(blocks: Sequence[Matrix]) -> int:
    return sum(block.shape[0] for block in blocks)


def _principal_axes(blocks: Sequence[Matrix]) -> NDArray[np.float32]:
    """(d, AXES) directions of the largest second moments of unit rows, over an even sample of the corpus."""
    step = max(1, _rows(blocks) // _SAMPLE)
    rows = np.concatenate([normalised(block[::step]) for block in blocks])
    return np.asarray(np.linalg.eigh(rows.T @ rows)[1][:, -AXES:], dtype=np.float32)


def _search(blocks: Sequence[Matrix], axes: NDArray[np.float32], queries: Ids, k: int) -> Ids:
    """(q, k): the WIDE * k nearest by the cosine of the projections, ranked by their own cosines."""
    narrow = [block @ axes for block in blocks]
    candidates = corpus_neighbours(narrow, queries[None], min(WIDE * k, _rows(blocks) - 1))[0]
    return np.stack([_ranked(blocks, own, row, k) for own, row in zip(queries, candidates, strict=True)])


def _ranked(blocks: Sequence[Matrix], query: np.int64, candidates: Ids, k: int) -> Ids:
    rows = normalised(rows_of(blocks, np.concatenate([[query], candidates])))
    scores = rows[1:] @ rows[0]
    return candidates[np.lexsort((candidates, -scores))[:k]]
