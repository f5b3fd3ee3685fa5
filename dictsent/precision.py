"""The number format of the arithmetic: float32, or bfloat16 where the processor has it.

Before: what was asked for. After: dictsent.encoder embeds in it, dictsent.train updates in it. Weights, optimiser,
softmax and entry matrices are float32 in either case; the products of a softmax over entries are bf16 on a CPU.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Literal

import torch

from dictsent.errors import TrainingError
from dictsent.settings import Precision

Used = Literal["float32", "bf16"]


def has_bf16(device: torch.device) -> bool:
    """Whether the processor itself computes in bfloat16; where it is only imitated, float32 is faster."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu":
        return False
    capabilities: dict[str, Any] = dict(getattr(torch.cpu, "get_capabilities", dict)())
    old = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)  # torch before get_capabilities
    return bool(any(capabilities.get(key) for key in ("avx512_bf16", "amx_bf16", "bf16")) or old())


def used_precision(asked: Precision, device: torch.device) -> Used:
    """What `asked` comes to: auto is bf16 on a GPU that has it and float32 elsewhere.

    A CPU's bf16 must be asked for: with auto the same command gives the same figures on every CPU.

    Raises:
        TrainingError: bf16 where there is none.
    """
    if asked == "bf16" and not has_bf16(device):
        raise TrainingError("this processor has no bfloat16", where="--precision", hint="leave --precision out")
    if asked == "auto":
        return "bf16" if device.type != "cpu" and has_bf16(device) else "float32"
    return asked


def computing(precision: Used, device: torch.device) -> AbstractContextManager[Any]:
    """Matrix products within are made in that format."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16")
