"""What every compared system must be able to do, and embedding each distinct text once.

Before: any TextEncoder. After: dictsent.tasks.sts, words, senteval and neighbours take the vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dictsent.errors import EncoderError

Matrix: TypeAlias = Any
"""A dense (n, d) numpy array or a scipy sparse matrix of that shape."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the number of texts done and in all."""

BLOCK = 2048


class TextEncoder(Protocol):
    """Anything that turns texts into vectors: (n, d) floats for n texts; a scipy sparse matrix will do."""

    def encode(self, texts: list[str], /) -> Matrix:
        """One row a text, in their order."""
        ...


@runtime_checkable
class Fitted(Protocol):
    """A TextEncoder that must see the texts of an evaluation before it encodes them (tf-idf)."""

    def fit_texts(self, texts: Sequence[str], /) -> object:
        """Learn what is needed from the texts."""
        ...


@dataclass(frozen=True, slots=True)
class Embeddings:
    """The vectors of distinct texts: row `index[text]` of `vectors` (n, d)."""

    vectors: Matrix
    index: dict[str, int]

    def rows(self, texts: Iterable[str]) -> Matrix:
        """(n, d) vectors of these texts, in their order."""
        return self.vectors[[self.index[text] for text in texts]]


class Remembered:
    """An encoder that keeps every vector it gave: for scoring several cuts of the same sets."""

    def __init__(self, encoder: TextEncoder) -> None:
        self._encoder = encoder
        self._rows: dict[str, Matrix] = {}

    def encode(self, texts: list[str], /) -> Matrix:
        """(n, d); only texts that were not asked for before are encoded."""
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if new:
            vectors = np.asarray(self._encoder.encode(new))
            self._rows |= {text: vectors[[row]] for row, text in enumerate(new)}
        return stack([self._rows[text] for text in texts])


def embed(encoder: TextEncoder, texts: Iterable[str], progress: Progress | None = None) -> Embeddings:
    """Encode each distinct text once, in order of length so that batches hold little padding.

    Raises:
        EncoderError: the encoder gives another number of rows than texts, or a value that is not finite.
    """
    distinct = sorted(dict.fromkeys(texts), key=len)
    fit(encoder, distinct)
    blocks = list(encode_blocks(encoder, distinct, progress))
    return Embeddings(stack(blocks), {text: row for row, text in enumerate(distinct)})


def fit(encoder: TextEncoder, texts: Sequence[str]) -> None:
    """Show the texts to an encoder that must see them first; others are left as they are."""
    if isinstance(encoder, Fitted):
        encoder.fit_texts(texts)


def encode_blocks(encoder: TextEncoder, texts: Sequence[str], progress: Progress | None = None) -> Iterator[Matrix]:
    """Encode texts block by block, each at most BLOCK rows; see `embed` for errors."""
    for start in range(0, len(texts), BLOCK):
        block = list(texts[start : start + BLOCK])
        yield _checked(encoder.encode(block), block)
        if progress:
            progress(start + len(block), len(texts))


def _checked(vectors: Any, texts: list[str]) -> Matrix:
    matrix = vectors.tocsr() if hasattr(vectors, "tocsr") else np.asarray(vectors)
    if matrix.ndim != 2 or matrix.shape[0] != len(texts):
        raise EncoderError(f"the encoder gave an array of shape {matrix.shape} for {len(texts)} texts")
    values = matrix.data if hasattr(vectors, "tocsr") else matrix
    if not np.isfinite(values).all():
        row = next((i for i in range(len(texts)) if not np.isfinite(dense(matrix[[i]])).all()), 0)
        raise EncoderError(f"the encoder gave a value that is not finite for {texts[row][:80]!r}")
    return matrix


def stack(blocks: Sequence[Matrix]) -> Matrix:
    """The rows of all blocks in one matrix, sparse where they are."""
    if not blocks:
        return np.zeros((0, 1), dtype=np.float32)
    if hasattr(blocks[0], "tocsr"):
        from scipy.sparse import vstack

        return vstack(blocks, format="csr")
    return np.concatenate(blocks) if len(blocks) > 1 else blocks[0]


def dense(matrix: Matrix) -> NDArray[Any]:
    """The rows as an ordinary array."""
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)


def lengths(matrix: Matrix) -> NDArray[np.float64]:
    """(n,) Euclidean lengths of the rows, in double precision."""
    if hasattr(matrix, "tocsr"):
        return np.asarray(np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1), dtype=np.float64)).ravel())
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64)))


def normalised(matrix: Matrix) -> Matrix:
    """The rows at length 1; rows of zeros stay as they are."""
    scale = lengths(matrix)
    scale[scale == 0] = 1.0
    if hasattr(matrix, "tocsr"):
        from scipy.sparse import diags

        return (diags(1 / scale) @ matrix).tocsr().astype(np.float32)
    return matrix.astype(np.float32) / scale[:, None].astype(np.float32)
