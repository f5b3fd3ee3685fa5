"""Token vectors from the text's co-occurrence statistics: PPMI, then a truncated SVD.

Before: vocabulary cuts the text into pieces. After: static fits the vectors; transformer starts from the fitted ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from dictsent.errors import EncoderError
from dictsent.scratch.settings import WIDTH_UNIT, ScratchSettings
from dictsent.scratch.vocabulary import SPECIAL

Floats = NDArray[np.float32]
_SMOOTHING = 0.75
_DOCUMENTS_AT_ONCE = 100_000


def count_tokens(documents: Sequence[Sequence[int]], size: int) -> NDArray[np.int64]:
    """How often each of `size` tokens occurs, (size,)."""
    ids, _ = flatten(documents)
    return np.bincount(ids, minlength=size)


def flatten(documents: Sequence[Sequence[int]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """All ids in a row, and each document's length."""
    lengths = np.fromiter((len(document) for document in documents), dtype=np.int64, count=len(documents))
    ids = np.fromiter((i for document in documents for i in document), dtype=np.int32, count=int(lengths.sum()))
    return ids, lengths


def frequency_weights(counts: NDArray[np.int64], a: float) -> Floats:
    """Smooth inverse frequency a / (a + p) (Arora, Liang and Ma 2017, section 3), (tokens,)."""
    share = counts / max(1, counts.sum())
    return np.asarray(a / (a + share), dtype=np.float32)


def build_vectors(documents: Sequence[Sequence[int]], size: int, settings: ScratchSettings) -> Floats:
    """Unit token vectors, (size, width); tokens that were never met are zero. The width shrinks with the text.

    Raises:
        EncoderError: too few distinct tokens for even the smallest width.
    """
    information = ppmi(cooccurrences(documents, size, settings.window))
    seen = int((information.getnnz(axis=1) > 0).sum())
    if seen < 2 * WIDTH_UNIT:
        raise EncoderError(
            f"the definitions hold only {seen} different words or pieces that recur",
            hint="ingest more dictionaries, or name a pretrained encoder with --encoder",
        )
    width = min(settings.width, max(WIDTH_UNIT, seen // 8 // WIDTH_UNIT * WIDTH_UNIT))
    left, values, _ = randomized_svd(
        information, n_components=width, n_oversamples=16, n_iter=3, random_state=settings.seed
    )
    vectors = left * np.sqrt(values)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-6), dtype=np.float32)


def cooccurrences(documents: Sequence[Sequence[int]], size: int, window: int) -> sparse.csr_matrix:
    """Symmetric counts within a document, each weighted by 1/distance, (size, size); special tokens are left out."""
    total = sparse.csr_matrix((size, size), dtype=np.float32)
    for start in range(0, len(documents), _DOCUMENTS_AT_ONCE):
        ids, lengths = flatten(documents[start : start + _DOCUMENTS_AT_ONCE])
        owner = np.repeat(np.arange(len(lengths)), lengths)
        for distance in range(1, window + 1):
            left, right = ids[:-distance], ids[distance:]
            pairs = (owner[:-distance] == owner[distance:]) & (left >= len(SPECIAL)) & (right >= len(SPECIAL))
            weight = np.full(int(pairs.sum()), 1 / distance, dtype=np.float32)
            total = total + sparse.coo_matrix((weight, (left[pairs], right[pairs])), shape=total.shape).tocsr()
    return (total + total.T).tocsr()


def ppmi(counts: sparse.csr_matrix) -> sparse.csr_matrix:
    """Positive pointwise mutual information with smoothed context counts (Levy, Goldberg and Dagan 2015, section 3)."""
    rows = np.asarray(counts.sum(axis=1)).ravel()
    contexts = rows**_SMOOTHING
    contexts = contexts / max(contexts.sum(), 1e-12)
    cells = counts.tocoo()
    information = np.log(cells.data / rows[cells.row] / contexts[cells.col])
    positive = information > 0
    places = (cells.row[positive], cells.col[positive])
    return sparse.csr_matrix((information[positive].astype(np.float32), places), shape=counts.shape)
