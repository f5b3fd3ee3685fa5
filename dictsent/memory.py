"""Running out of memory, said in one line that names what to lower.

Before: torch, numpy and Python each say it in their own way. After: dictsent.train and dictsent.entryspace guard their
large pieces of work with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from dictsent.errors import TrainingError

_WORDS = re.compile(r"can.?t allocate memory|not enough memory|out of memory|std::bad_alloc|DefaultCPUAllocator", re.I)
_AMOUNT = re.compile(r"tried to allocate (?:about )?([\d.]+ ?\w+|\d+)", re.I)


@contextmanager
def enough_memory(options: str) -> Iterator[None]:
    """Turn any way of running out of memory into a TrainingError that names the options to lower."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        full = isinstance(error, (MemoryError, torch.OutOfMemoryError)) or _WORDS.search(str(error))
        if not full:
            raise
        place = "of the GPU " if isinstance(error, torch.OutOfMemoryError) else ""
        raise TrainingError(f"the memory {place}is full{_amount(str(error))}", hint=f"lower {options}") from error


def _amount(text: str) -> str:
    found = _AMOUNT.search(text)
    if found is None:
        return ""
    amount = found[1]
    return f": {int(amount) / 2**30:.1f} GiB more were wanted" if amount.isdigit() else f": {amount} more were wanted"
