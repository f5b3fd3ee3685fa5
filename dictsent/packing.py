"""Sentences end to end in one row, without padding: what training on a CPU computes.

Before: dictsent.tokens. After: dictsent.encoder pools what comes out.

Linear layers, normalisations and dropout look at one token at a time, so only attention has to know where a sentence
ends. It is registered with transformers under a name of ours; an encoder that does not pass its tokens through it, or
numbers its positions otherwise, is found out by comparison (Encoder.can_pack) and trained on padded batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import AttentionInterface

from dictsent.dropout import dropout as leave_out
from dictsent.tokens import micro_batches

ATTENTION = "dictsent_packed"
"""The name under which transformers knows it."""
_LEAST = 128
"""Tokens of a group of sentences that attention pads to one length: more groups cost calls, fewer cost padding."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where sentences lie end to end, and how attention pads them: in a few groups of like length.

    Attributes:
        lengths: of the sentences, in tokens, ascending.
        groups: sentences and longest length of each group.
        slots: the token in each padded place (any, where there is none).
        places: the padded place of each token.
        masks: of each group `(sentences, 1, 1, longest)`, True at padding; None where there is none.
    """

    lengths: tuple[int, ...]
    groups: tuple[tuple[int, int], ...]
    slots: Tensor
    places: Tensor
    masks: tuple[Tensor | None, ...]

    @classmethod
    def of(cls, lengths: Sequence[int]) -> Layout:
        """Of sentences in ascending order of length."""
        starts = np.cumsum([0, *lengths[:-1]])
        groups: list[tuple[int, int]] = []
        slots: list[NDArray[np.int64]] = []
        places: list[NDArray[np.int64]] = []
        masks: list[Tensor | None] = []
        for rows in micro_batches(lengths, least=_LEAST):
            length = np.asarray([lengths[row] for row in rows])[:, None]
            steps = np.arange(length.max())
            real = steps < length
            groups.append((len(rows), len(steps)))
            first = sum(len(group) for group in slots)
            slots.append(np.where(real, starts[rows][:, None] + steps, 0).ravel())
            places.append(first + np.flatnonzero(real))
            masks.append(None if real.all() else torch.from_numpy(~real)[:, None, None, :])
        there, back = torch.from_numpy(np.concatenate(slots)), torch.from_numpy(np.concatenate(places))
        return cls(tuple(lengths), tuple(groups), there, back, tuple(masks))


class _Padded(torch.autograd.Function):
    """Tokens in padded places. Padding has no gradient, so that of the tokens is fetched from their places."""

    @staticmethod
    def forward(ctx: Any, tokens: Tensor, layout: Layout) -> Tensor:
        ctx.layout = layout
        return tokens.index_select(0, layout.slots)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0].index_select(0, ctx.layout.places), None


class _Unpadded(torch.autograd.Function):
    """Tokens out of their padded places, each of which is fetched once or never."""

    @staticmethod
    def forward(ctx: Any, padded: Tensor, layout: Layout) -> Tensor:
        ctx.layout = layout
        return padded.index_select(0, layout.places)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (given,) = gradients
        return given.new_zeros(len(ctx.layout.slots), given.shape[1]).index_copy_(0, ctx.layout.places, given), None


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    layout: Layout,
    dropout: float = 0.0,
    scaling: float | None = None,
    sliding_window: int | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Attention within each sentence.

    Args:
        query, key, value: `(1, heads, tokens, width)`, all sentences end to end.

    Returns:
        `(1, tokens, heads, width)`, and no weights.
    """
    if sliding_window is not None or getattr(module, "is_causal", False):
        raise ValueError("attention within a window, or to earlier tokens only, is not packed")
    heads, tokens, width = query.shape[1:]
    sizes = [sentences * longest for sentences, longest in layout.groups]
    # A padded place holds some token: it is masked as a key, and what comes of it as a query is not fetched.
    padded = [
        _Padded.apply(tensor.transpose(1, 2).reshape(tokens, heads * width), layout).split(sizes)  # type: ignore[no-untyped-call]
        for tensor in (query, key, value)
    ]
    found = []
    for (sentences, longest), mask, *group in zip(layout.groups, layout.masks, *padded, strict=True):
        q, k, v = (tensor.view(sentences, longest, heads, width).transpose(1, 2) for tensor in group)
        scores = (q * (width**-0.5 if scaling is None else scaling)) @ k.transpose(2, 3)
        if mask is not None:
            scores = scores.masked_fill(mask, -torch.inf)
        weights = leave_out(scores.softmax(dim=-1), dropout)
        found.append((weights.to(v.dtype) @ v).transpose(1, 2).reshape(sentences * longest, heads * width))
    moved: Tensor = _Unpadded.apply(torch.cat(found), layout)  # type: ignore[no-untyped-call]
    return moved.view(1, tokens, heads, width), None


AttentionInterface.register(ATTENTION, attention)


def packed(ids: Sequence[Sequence[int] | NDArray[np.int32]], *, first_position: int) -> dict[str, Any]:
    """What an encoder computes for token ids in ascending order of length: input_ids, position_ids `(1, tokens)`."""
    layout = Layout.of([len(sentence) for sentence in ids])
    positions = np.concatenate([np.arange(length) for length in layout.lengths]) + first_position
    tokens = np.concatenate(ids).astype(np.int64)
    return {
        "input_ids": torch.from_numpy(tokens).unsqueeze(0),
        "position_ids": torch.from_numpy(positions).unsqueeze(0),
        "layout": layout,
    }


def unpacked(states: Tensor, lengths: Sequence[int]) -> tuple[Tensor, Tensor]:
    """States `(sentences, longest, width)` and their mask `(sentences, longest)`, of states `(1, tokens, width)`."""
    padded = pad_sequence(list(states[0].split(list(lengths))), batch_first=True)
    mask = torch.arange(padded.shape[1]) < torch.tensor(lengths).unsqueeze(1)
    return padded, mask.long()
