"""Dropout on a CPU whose masks cost a third: 16 random bits for each figure, four at once, in place of a float.

The share left out is thereby a multiple of 1/65,536 (0.1 becomes 0.100006); what is kept is scaled by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import MethodType

import torch
from torch import Tensor, nn

_LEVELS = 2**16


def dropout(states: Tensor, share: float) -> Tensor:
    """`states` with each figure set to 0 at probability `share` (0 to below 1), the others scaled up."""
    least = round(share * _LEVELS)
    if not least:
        return states
    draws = torch.empty(-(-states.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    kept = draws.view(torch.int16)[: states.numel()].view(states.shape) >= least - _LEVELS // 2
    return torch.where(kept, states * (_LEVELS / (_LEVELS - least)), 0)


@contextmanager
def cheap_masks(model: nn.Module) -> Iterator[None]:
    """Within it the model's dropout layers draw their masks so."""
    layers = [layer for layer in model.modules() if type(layer) is nn.Dropout and layer.p < 1]
    for layer in layers:
        layer.forward = MethodType(_forward, layer)  # type: ignore[method-assign]
    try:
        yield
    finally:
        for layer in layers:
            del layer.forward


def _forward(layer: nn.Dropout, states: Tensor) -> Tensor:
    return dropout(states, layer.p) if layer.training else states
