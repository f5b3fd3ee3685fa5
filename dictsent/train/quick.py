"""What makes updates on a CPU quicker and leaves what they compute.

Before: dictsent.train.fitting is about to train. After: the updates. Memory is kept, dropout's masks are cheaper
(dictsent.dropout), and the gradient of the word embeddings is added up in place.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn

from dictsent import ranks
from dictsent.dropout import cheap_masks

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
"""Of mallopt(3), in glibc's malloc.h."""


@contextmanager
def quick(model: nn.Module, words: nn.Module, device: torch.device) -> Iterator[None]:
    """On a CPU, train `model`, whose word embeddings `words` are, within this."""
    if device.type != "cpu":
        yield
        return
    keep_memory()
    # Processes that train together exchange gradients as autograd hands them out: there it must do so.
    alone = ranks.count() == 1 and type(words) is nn.Embedding and words.weight.requires_grad
    with cheap_masks(model), added_in_place(words) if alone else nullcontext():
        yield


def keep_memory() -> None:
    """Ask glibc's allocator to keep freed memory for this process: its pages are made and cleared only once.

    Elsewhere than on glibc nothing is done.
    """
    if platform.libc_ver()[0] != "glibc":
        return
    libc = ctypes.CDLL(None)
    libc.mallopt(_M_ARENA_MAX, 1)
    libc.mallopt(_M_MMAP_THRESHOLD, 2**30)
    libc.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


@contextmanager
def added_in_place(words: nn.Module) -> Iterator[None]:
    """Within it, `words` (an Embedding) adds the gradients of the rows it looked up to one kept matrix.

    Autograd makes a new matrix of zeros for each lookup, for a vocabulary of 30,522 tokens 47 MB for some 400 rows:
    with bf16 a sixth of an update went into its pages.
    """
    assert isinstance(words, nn.Embedding)
    kept = torch.zeros_like(words.weight)

    def forward(layer: nn.Embedding, ids: Tensor) -> Tensor:
        if not (layer.training and torch.is_grad_enabled()):
            return nn.Embedding.forward(layer, ids)
        found: Tensor = _LookedUp.apply(layer.weight.detach().requires_grad_(), layer, ids, kept)  # type: ignore[no-untyped-call]
        return found

    words.forward = MethodType(forward, words)  # type: ignore[method-assign]
    try:
        yield
    finally:
        del words.forward


class _LookedUp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, layer: nn.Embedding, ids: Tensor, kept: Tensor) -> Tensor:
        ctx.layer, ctx.ids, ctx.kept = layer, ids.flatten(), kept
        return weight[ids]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None, None, None]:
        weight, ids = ctx.layer.weight, ctx.ids
        rows = gradients[0].reshape(len(ids), -1).to(weight.dtype)
        if ctx.layer.padding_idx is not None:
            rows = rows.masked_fill((ids == ctx.layer.padding_idx).unsqueeze(1), 0)
        if weight.grad is None:
            weight.grad = ctx.kept.zero_()
        weight.grad.index_add_(0, ids, rows)
        return None, None, None, None
