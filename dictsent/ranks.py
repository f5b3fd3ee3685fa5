"""Several processes that are one training: what each does, what only the first does, and how all know of it.

Before: torchrun or accelerate launch starts them. After: dictsent.entryspace shares the embedding of definitions out,
dictsent.train the batches. In a single process everything here is the plain call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch import distributed as dist

from dictsent.errors import DictsentError, TrainingError

T = TypeVar("T")
Embed = Callable[[Sequence[str]], Tensor]

_PATIENCE = timedelta(days=7)
"""What the others wait while the first builds an encoder, transforms a matrix or scores: any of it may take hours."""
_IMPATIENCE = timedelta(seconds=10)
"""What a process that ends with an error waits for the others to end with the same."""
_GROUPS: dict[Any, Any] = {}


def join() -> None:
    """Become one of the processes that were started together, where there are several."""
    from accelerate import PartialState

    PartialState(cpu=not torch.cuda.is_available())
    if count() > 1:
        _GROUPS["ending"] = dist.new_group(backend="gloo", timeout=_IMPATIENCE)


def leave() -> None:
    """Part from the others."""
    _GROUPS.clear()
    if dist.is_initialized():
        dist.destroy_process_group()


def rank() -> int:
    """The number of this process, 0 for the first or only one."""
    return dist.get_rank() if dist.is_initialized() else 0


def count() -> int:
    """How many processes there are."""
    return dist.get_world_size() if dist.is_initialized() else 1


def first_here() -> bool:
    """Whether this is the first process of its machine."""
    if count() == 1:
        return True
    from accelerate import PartialState

    return bool(PartialState().is_local_main_process)


def wait() -> None:
    """Until all are here."""
    if count() > 1:
        _exchanged(None)


def any_of(flag: bool) -> bool:
    """Whether it is so in any of the processes."""
    if count() == 1:
        return flag
    found = torch.tensor([int(flag)])
    with _talking():
        dist.all_reduce(found, op=dist.ReduceOp.MAX, group=_group())
    return bool(found)


def first(work: Callable[[], T]) -> T:
    """What the first process makes of `work`, told to all; the others wait. Its error is everyone's."""
    if count() == 1:
        return work()
    said: list[Any] = [None, None]
    if rank() == 0:
        try:
            said[0] = work()
        except DictsentError as error:
            said[1] = error
    with _talking():
        dist.broadcast_object_list(said, src=0, group=_group())
    if said[1] is not None:
        raise _of_another(said[1]) if rank() else said[1]
    value: T = said[0]
    return value


@contextmanager
def together() -> Iterator[None]:
    """What every process does by itself, without a word to the others: an error of one becomes everyone's."""
    if count() == 1:
        yield
        return
    mine: DictsentError | None = None
    try:
        yield
    except DictsentError as error:
        mine = error
    found = [(number, said) for number, said in enumerate(_exchanged(mine)) if said is not None]
    if found:
        number, said = found[0]
        raise mine if mine is not None and number == rank() else _of_another(said)


def ending(error: DictsentError) -> DictsentError:
    """The error a process ends with; `elsewhere` where an earlier one ends with the same, which they all find."""
    if count() == 1:
        return error
    found: list[Any] = [None] * count()
    try:
        dist.all_gather_object(found, str(error), group=_GROUPS.get("ending"))
    except RuntimeError:
        return error  # the others have ended, or wait for this one: what starts them ends them
    error.elsewhere = error.elsewhere or str(error) in found[: rank()]
    return error


def sharded(embed: Embed, texts: Sequence[str]) -> Tensor:
    """`embed(texts)` `(len(texts), dim)`, each process having embedded its share of texts of all lengths."""
    if count() == 1 or len(texts) < count():
        return embed(texts)
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    shares = [order[number :: count()] for number in range(count())]
    longest = len(shares[0])
    vectors: Tensor | None = None
    with together():
        vectors = embed([texts[row] for row in shares[rank()]])
    assert vectors is not None
    padded = torch.zeros((longest, vectors.shape[1]), dtype=vectors.dtype)
    padded[: len(vectors)] = vectors
    found = [torch.empty_like(padded) for _ in shares]
    with _talking():
        dist.all_gather(found, padded, group=_group())
    whole = torch.empty((len(texts), vectors.shape[1]), dtype=vectors.dtype)
    for share, part in zip(shares, found, strict=True):
        whole[torch.tensor(share)] = part[: len(share)]
    return whole


def gone(error: RuntimeError) -> TrainingError | None:
    """The error to show where `error` says that another process has ended; None where it says anything else."""
    text = str(error)
    if count() > 1 and any(word in text for word in ("onnection closed", "onnection reset", "gloo", "NCCL", "Gloo")):
        return TrainingError("another process of this training has ended", elsewhere=True)
    return None


def _exchanged(value: Any) -> list[Any]:
    found: list[Any] = [None] * count()
    with _talking():
        dist.all_gather_object(found, value, group=_group())
    return found


def _of_another(error: DictsentError) -> DictsentError:
    return type(error)(error.what, where=error.where, hint=error.hint, elsewhere=True)


@contextmanager
def _talking() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise gone(error) or error from error


def _group() -> Any:
    """Processes of GPUs talk about Python values and CPU tensors by gloo, beside their own way for gradients."""
    world = dist.group.WORLD
    if world not in _GROUPS:
        _GROUPS[world] = dist.new_group(backend="gloo", timeout=_PATIENCE)
    return _GROUPS[world]
