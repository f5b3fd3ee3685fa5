"""Which rows each process trains on, update by update, and the batches made of them.

Before: tokens and labels of the pairs. After: dictsent.train.fitting hands them to transformers.Trainer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Dataset

from dictsent.encoder import Encoder
from dictsent.tokens import Tokens, micro_batches

Row = tuple[Sequence[int] | NDArray[np.int32], int, float]
"""Token ids, label, and the weight of its loss."""
Place = tuple[int, float]


class Rows(Dataset[Row]):
    """Tokens and labels, asked for by (row, weight)."""

    def __init__(self, tokens: Tokens, labels: Sequence[int]) -> None:
        self.tokens, self.labels = tokens, np.asarray(labels, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, place: Place) -> Row:
        row, weight = place
        return self.tokens[row], int(self.labels[row]), weight


class Shares:
    """The effective batches of each epoch, shuffled by seed and epoch alone, cut into `parts` shares.

    A share is what one process computes before gradients are added up: there are as many for each update as processes
    times accumulated passes. Rows of all lengths are dealt out in turn, so that shares take equally long. A row's
    weight makes the mean over shares of their mean losses the mean over the effective batch, also where shares differ
    in size; a share of a last, small batch that got no row holds one with weight 0.
    """

    def __init__(self, lengths: NDArray[np.int64], *, batch: int, seed: int, parts: int, rank: int, ranks: int) -> None:
        self.lengths, self.batch, self.seed = lengths, batch, seed
        self.parts, self.rank, self.ranks = parts, rank, ranks
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Epoch 0, 1, ...: each has its own order."""
        self.epoch = epoch

    @property
    def updates(self) -> int:
        """Effective batches of an epoch; the last one may be smaller."""
        return -(-len(self.lengths) // self.batch)

    def __len__(self) -> int:
        return self.updates * self.parts // self.ranks

    def __iter__(self) -> Iterator[list[Place]]:
        order = np.random.default_rng([self.seed, self.epoch]).permutation(len(self.lengths))
        for start in range(0, len(order), self.batch):
            batch = order[start : start + self.batch]
            batch = batch[np.argsort(self.lengths[batch], kind="stable")]
            for number in range(self.rank, self.parts, self.ranks):
                yield self._share(batch, number)

    def _share(self, batch: NDArray[np.int64], number: int) -> list[Place]:
        rows = batch[number :: self.parts].tolist()
        weight = self.parts * len(rows) / len(batch)
        return [(row, weight) for row in rows] or [(int(batch[0]), 0.0)]


class Loader(DataLoader[Row]):
    """A loader whose epochs Trainer counts."""

    def set_epoch(self, epoch: int) -> None:
        """Epoch 0, 1, ..."""
        assert isinstance(self.batch_sampler, Shares)
        self.batch_sampler.set_epoch(epoch)


class Collator:
    """Makes what an encoder computes of a share: sentences end to end, or padded.

    On a CPU, sentences end to end where the encoder can, else micro-batches of like length; on a GPU one padded batch
    is quicker than several small ones.
    """

    def __init__(self, encoder: Encoder, *, packed: bool = False) -> None:
        self.encoder, self.packed = encoder, packed
        self.split = encoder.device.type == "cpu"

    def __call__(self, rows: list[Row]) -> dict[str, Any]:
        """The parts of a share, labels in their order, the share's weight."""
        lengths = [len(ids) for ids, _, _ in rows]
        make: Callable[[list[Any]], dict[str, Any]] = self.encoder.padded
        if self.packed:
            make, orders = self.encoder.packed, [sorted(range(len(rows)), key=lengths.__getitem__)]
        elif self.split:
            orders = list(micro_batches(lengths))
        else:
            orders = [list(range(len(rows)))]
        return {
            "parts": [make([rows[row][0] for row in order]) for order in orders],
            "labels": torch.tensor([rows[row][1] for order in orders for row in order]),
            "weight": torch.tensor(rows[0][2]),
        }
