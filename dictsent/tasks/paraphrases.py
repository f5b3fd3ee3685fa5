"""The query-paraphrase test: at what rank does an encoder find a known paraphrase in a corpus?

Before: news pairs of the STS benchmark and a corpus. After: `dictsent compare --overlap`.
Lin and Smith, "Situating Sentence Embedders with Nearest Neighbor Overlap", 2019, section 8.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dictsent.errors import TaskError
from dictsent.tasks.data import Choice, find
from dictsent.tasks.embedding import Matrix, TextEncoder, encode_blocks, normalised, stack
from dictsent.tasks.readers import load_file

PAIRS, LEAST_SCORE, MOST_OVERLAP = 75, 4.0, 0.6
_TOKEN = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Found:
    """How well paraphrases are found: mean reciprocal rank, how many at rank 1 and within 5, of n."""

    mrr: float
    top: int
    top5: int
    n: int


def news_paraphrases(folders: Sequence[Path], *, seed: int = 0) -> list[tuple[str, str]]:
    """75 news pairs of STS-B dev and test scored 4 or more that share at most 0.6 of their words.

    The overlap is |A and B| / |A or B| over lowercased words. Fewer pairs where there are no more.

    Raises:
        TaskError: STS-B is not below the folders.
    """
    chosen: dict[tuple[str, str], None] = {}
    for split in ("dev", "test"):
        copies, _ = find(Choice(names=("STS-B",), split=split), folders)
        if not copies:
            raise TaskError("the paraphrase test needs STS-B's dev and test files", hint="--data names their folder")
        news = replace(copies[0].form, keep={"0": "main-news"})
        subset = load_file(copies[0].files[""], news)
        for first, second, gold in zip(subset.first, subset.second, subset.gold, strict=True):
            if gold >= LEAST_SCORE and first != second and word_overlap(first, second) <= MOST_OVERLAP:
                chosen.setdefault((first, second))
    pairs = list(chosen)
    order = np.random.default_rng(seed).permutation(len(pairs))[:PAIRS]
    return [pairs[i] for i in sorted(order.tolist())]


def word_overlap(first: str, second: str) -> float:
    """Shared words as a part of all words of both."""
    one, two = (set(_TOKEN.findall(text.lower())) for text in (first, second))
    return len(one & two) / max(len(one | two), 1)


def paraphrase_ranks(
    encoder: TextEncoder, corpus: Sequence[str], blocks: Iterable[Matrix], pairs: Sequence[tuple[str, str]]
) -> NDArray[np.float64]:
    """(n,) rank of each second sentence among the first one's neighbours, were it added to the corpus.

    1 + sentences nearer to the query + half of those as near; the query itself, should the corpus hold it, is ignored.

    Args:
        encoder: fitted on the corpus where it needs that.
        blocks: the corpus, encoded.
    """
    first, second = (normalised(_encoded(encoder, [pair[i] for pair in pairs])) for i in (0, 1))
    aim = _row_products(first, second)
    ranks, start = np.ones(len(pairs)), 0
    numbers = {text: i for i, text in enumerate(corpus)}
    ignored = [[numbers.get(text, -1) for text in pair] for pair in pairs]
    for block in blocks:
        product = first @ normalised(block).T
        scores = np.asarray(product.toarray() if hasattr(product, "toarray") else product)
        for row, own in enumerate(ignored):
            scores[row, [i - start for i in own if start <= i < start + block.shape[0]]] = -np.inf
        ranks += (scores > aim[:, None] + 1e-6).sum(axis=1) + (abs(scores - aim[:, None]) <= 1e-6).sum(axis=1) / 2
        start += block.shape[0]
    return ranks


def _encoded(encoder: TextEncoder, texts: Sequence[str]) -> Matrix:
    return stack(list(encode_blocks(encoder, texts)))


def _row_products(first: Matrix, second: Matrix) -> NDArray[np.float64]:
    if hasattr(first, "tocsr"):
        return np.asarray(first.multiply(second).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", first, second, dtype=np.float64))


def summarise_paraphrases(ranks: NDArray[np.float64]) -> Found:
    """Table 3's columns."""
    return Found(float((1 / ranks).mean()), int((ranks <= 1).sum()), int((ranks <= 5).sum()), len(ranks))
