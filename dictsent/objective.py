"""The one training objective: a frozen matrix is the answer sheet of a softmax over sentence vectors.

Before: dictsent.heads (DefSent) or dictsent.entryspace (DefSent+) give the scorer. After: dictsent.train minimises it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dictsent.encoder import Encoder
from dictsent.heads import MaskedLMHead, Pooler

CHUNK = 8_192
"""Rows of the matrix per pass of the softmax: logits of one chunk, not of all entries, are in memory."""


class HeadLoss(nn.Module):
    """DefSent: cross-entropy of the frozen masked-LM head's logits with the headword's token id (section 2.1).

    With `words`, the token ids of headwords of several tokens, the vocabulary grows by them: word i is label
    `vocabulary + i`, and its output embedding is the mean of its tokens' (footnote 1). The last layer is linear, so its
    logit is the mean of theirs.
    """

    tokens: Tensor
    starts: Tensor

    def __init__(self, head: MaskedLMHead, words: Sequence[Sequence[int]] = ()) -> None:
        super().__init__()
        self.head = head
        starts = list(accumulate((len(word) for word in words), initial=0))[:-1]
        self.register_buffer("tokens", torch.tensor([t for word in words for t in word], dtype=torch.long), False)
        self.register_buffer("starts", torch.tensor(starts, dtype=torch.long), False)

    def forward(self, vectors: Tensor, labels: Tensor) -> Tensor:
        """Mean loss, a scalar, of `(batch, dim)` vectors and `(batch,)` labels."""
        return F.cross_entropy(self.logits(vectors), labels)

    def logits(self, vectors: Tensor) -> Tensor:
        """`(batch, vocabulary + words)`."""
        logits: Tensor = self.head(vectors).float()
        if not len(self.starts):
            return logits
        means = F.embedding_bag(self.tokens, logits.T.contiguous(), self.starts, mode="mean")
        return torch.cat([logits, means.T], dim=1)


class EntryLoss(nn.Module):
    """DefSent+: cross-entropy over ALL entries of pooler(vector) @ matrix.T, no bias, no temperature (section 3)."""

    matrix: Tensor

    def __init__(self, pooler: Pooler, matrix: Tensor) -> None:
        super().__init__()
        self.pooler = pooler
        self.register_buffer("matrix", matrix, persistent=False)
        self._rounded: Tensor | None = None

    def forward(self, vectors: Tensor, labels: Tensor) -> Tensor:
        """Mean loss, a scalar, of `(batch, dim)` vectors and `(batch,)` row numbers.

        Under bf16 on a CPU the products with the matrix are made in bf16, the softmax in float32: they are the larger
        part of a step there. On a GPU all of it is float32.
        """
        device = vectors.device.type
        fast = device == "cpu" and torch.is_autocast_enabled(device)
        with torch.autocast(device, enabled=False):
            return frozen_cross_entropy(
                self.pooler(vectors.float()).float(), self.matrix, labels, factors=self._factors() if fast else None
            )

    def _factors(self) -> Tensor:
        if self._rounded is None:
            self._rounded = self.matrix.bfloat16()
        return self._rounded


class Objective(nn.Module):
    """Encoder and loss as the module that a trainer sees."""

    def __init__(self, encoder: Encoder, loss: HeadLoss | EntryLoss) -> None:
        super().__init__()
        self._encoder = (encoder,)
        self.backbone = encoder.backbone
        self.loss = loss

    def forward(self, parts: list[dict[str, Any]], labels: Tensor, weight: Tensor | None = None) -> dict[str, Tensor]:
        """The loss of one batch, given as padded parts or sentences end to end; `labels` in their order.

        `weight`, a scalar, is what this share of an effective batch counts for (dictsent.train.batches).
        """
        encoder = self._encoder[0]
        vectors = torch.cat([encoder.pooled_packed(**p) if "layout" in p else encoder.pooled(**p) for p in parts])
        loss = self.loss(vectors, labels)
        return {"loss": loss if weight is None else loss * weight}


def frozen_cross_entropy(
    vectors: Tensor, matrix: Tensor, labels: Tensor, *, chunk: int = CHUNK, factors: Tensor | None = None
) -> Tensor:
    """Mean cross-entropy of `vectors @ matrix.T` `(batch, n)` without holding it: memory is batch x chunk.

    The matrix gets no gradient, so the gradient of the vectors is known once the softmax is: both come out of one
    pass with a running maximum.

    Args:
        factors: the matrix in the format that the products are to be made in; None for its own.
    """
    if len(matrix) <= chunk and factors is None:
        return F.cross_entropy(vectors @ matrix.T, labels)
    factors = matrix if factors is None else factors
    loss: Tensor = _ChunkedCrossEntropy.apply(vectors, matrix, factors, labels, chunk)  # type: ignore[no-untyped-call]
    return loss


class _ChunkedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, matrix: Tensor, factors: Tensor, labels: Tensor, chunk: int) -> Tensor:
        batch = len(vectors)
        peak = vectors.new_full((batch, 1), -torch.inf)
        total = vectors.new_zeros((batch, 1))
        mean_row = torch.zeros_like(vectors)
        asked = vectors.to(factors.dtype)
        for rows in factors.split(chunk):
            logits = (asked @ rows.T).to(vectors.dtype)
            higher = torch.maximum(peak, logits.amax(dim=1, keepdim=True))
            shrink = torch.exp(peak - higher)
            weights = logits.sub_(higher).exp_()
            total = total * shrink + weights.sum(dim=1, keepdim=True)
            mean_row = mean_row * shrink + weights.to(rows.dtype) @ rows
            peak = higher
        answers = matrix[labels]
        own = (vectors * answers).sum(dim=1, keepdim=True)
        ctx.save_for_backward((mean_row / total - answers) / batch)
        return (peak + total.log() - own).mean()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * gradients[0], None, None, None, None
