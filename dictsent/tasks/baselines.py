"""What needs no training and stands in the same tables: tf-idf and averaged token embeddings.

Before: scikit-learn; a transformers folder. After: dictsent.evaluate, words and neighbours take them as TextEncoders.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dictsent.errors import EncoderError
from dictsent.tasks.embedding import Matrix

UNSPACED = ("ja", "zh", "th", "lo", "km", "my", "bo")
"""Languages written without spaces between words: tf-idf counts runs of one to three characters there."""


class Tfidf:
    """Sparse tf-idf vectors (scikit-learn's TfidfVectorizer, smoothed idf, length 1) of lowercased words.

    Fitted on `corpus` where one is given, else on the distinct texts that it is asked to compare.
    """

    def __init__(self, *, corpus: Iterable[str] | None = None, language: str = "en") -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        unspaced = language.split("-")[0] in UNSPACED
        shape: dict[str, Any] = {"analyzer": "char", "ngram_range": (1, 3)} if unspaced else {"token_pattern": r"\w+"}
        self._vectorizer = TfidfVectorizer(lowercase=True, dtype=np.float32, **shape)
        self._fixed = corpus is not None
        if corpus is not None:
            self._fit(corpus)

    def fit_texts(self, texts: Sequence[str], /) -> None:
        """Learn vocabulary and document frequencies from an evaluation's texts unless a corpus was given."""
        if not self._fixed:
            self._fit(texts)

    def _fit(self, texts: Iterable[str]) -> None:
        try:
            self._vectorizer.fit(texts)
        except ValueError as error:
            raise EncoderError(f"tf-idf cannot be fitted: {error}") from None

    def encode(self, texts: list[str], /) -> Matrix:
        """(n, vocabulary) sparse rows; words outside the vocabulary are not counted."""
        return self._vectorizer.transform(texts).tocsr()


class AverageEmbeddings:
    """The mean of an encoder's input token embeddings, special tokens left out: no context, no layers.

    Args:
        folder: a transformers folder or hub name.

    Raises:
        EncoderError: it cannot be loaded.
    """

    def __init__(self, folder: str) -> None:
        from transformers import AutoModel, AutoTokenizer

        from dictsent.encoder import quiet

        try:
            with quiet():
                self._tokenizer = AutoTokenizer.from_pretrained(folder)
                table = AutoModel.from_pretrained(folder).get_input_embeddings().weight
        except (OSError, ValueError) as error:
            raise EncoderError(f"no transformers encoder: {str(error).splitlines()[0]}", where=folder) from None
        self._table: NDArray[np.float32] = table.detach().float().numpy()

    def encode(self, texts: list[str], /) -> NDArray[np.float32]:
        """(n, d); a text without tokens gives zeros."""
        from scipy.sparse import csr_matrix

        ids = self._tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
        lengths = np.array([len(row) for row in ids])
        columns = np.fromiter((token for row in ids for token in row), dtype=np.int64, count=int(lengths.sum()))
        starts = np.concatenate([[0], np.cumsum(lengths)])
        weights = np.repeat(1.0 / np.maximum(lengths, 1), lengths).astype(np.float32)
        counts = csr_matrix((weights, columns, starts), shape=(len(texts), self._table.shape[0]))
        return np.asarray(counts @ self._table, dtype=np.float32)
