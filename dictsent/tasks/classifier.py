"""SentEval's own classifier: a linear layer, Adam, early stopping; many of them trained side by side.

Before: (n, d) features and labels. After: dictsent.tasks.senteval scores transfer tasks with it.
Conneau and Kiela, "SentEval", LREC 2018: nhid 0, Adam, batch 64, tenacity 5, epoch size 4, the settings of both papers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

BATCH, PASSES, TENACITY, MOST_PASSES = 64, 4, 5, 200
"""Rows of an update; passes over the training rows between two checks; checks without gain that are forgiven; the
number of passes after which no other begins."""

RATE, BETAS, EPSILON = 1e-3, (0.9, 0.999), 1e-8

DECAYS = (1e-5, 1e-4, 1e-3, 1e-2)
"""L2 penalties that are chosen from."""

HELD_OUT = 0.05
"""Part of the training rows that tells when to stop where a task has no rows for that."""

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Fit:
    """One classifier to train: the rows it learns from, those that tell when to stop, and its L2 penalty."""

    train: Numbers
    held_out: Numbers
    decay: float


@dataclass(slots=True)
class _Group:
    """Classifiers under training, side by side: weights (m, d, c), biases (m, 1, c), their Adam moments, their draws.

    Attributes:
        at: (m,) each one's number among all fits.
        updates: (m,) Adam's step count.
        best: (m,) best held-out accuracy so far; misses: checks without gain.
    """

    at: list[int]
    fits: list[Fit]
    draws: list[torch.Generator]
    values: list[Tensor]
    first: list[Tensor]
    second: list[Tensor]
    updates: Tensor
    best: list[float]
    misses: list[int]

    def keep(self, alive: Sequence[int]) -> _Group:
        """Only these: those that have stopped cost nothing more."""
        rows = torch.tensor(alive, dtype=torch.long, device=self.updates.device)
        return replace(
            self,
            **{name: [getattr(self, name)[i] for i in alive] for name in ("at", "fits", "draws", "best", "misses")},
            **{name: [t[rows] for t in getattr(self, name)] for name in ("values", "first", "second")},
            updates=self.updates[rows],
        )


def train_linear(
    x: Tensor, y: Tensor, fits: Sequence[Fit], *, classes: int, seed: int
) -> tuple[Tensor, Tensor, list[float]]:
    """Train every fit; each draws its start and its orders from `seed` by itself, as if it were alone.

    Args:
        x: (n, d) features. y: (n,) labels from 0.

    Returns:
        (m, d, c) weights and (m, 1, c) biases at each one's best check, and its held-out accuracy there.
    """
    group = _start(x, fits, classes, seed)
    weights, biases = group.values[0].clone(), group.values[1].clone()
    best = [-1.0] * len(fits)
    for _ in range(0, MOST_PASSES + 1, PASSES):
        for _ in range(PASSES):
            _pass_over(group, x, y)
        alive = []
        for row, at in enumerate(group.at):
            found = _accuracy(x, y, group.fits[row].held_out, group.values[0][row], group.values[1][row])
            if found > group.best[row]:
                group.best[row] = best[at] = found
                weights[at], biases[at] = group.values[0][row], group.values[1][row]
            elif group.misses[row] >= TENACITY:
                continue
            else:
                group.misses[row] += 1
            alive.append(row)
        if not alive:
            break
        group = group.keep(alive) if len(alive) < len(group.at) else group
    return weights, biases, best


def _start(x: Tensor, fits: Sequence[Fit], classes: int, seed: int) -> _Group:
    """torch's own start of a linear layer: uniform within 1 / sqrt(d)."""
    draws = [torch.Generator().manual_seed(seed) for _ in fits]
    bound = 1 / x.shape[1] ** 0.5
    values = []
    for shape in ((x.shape[1], classes), (1, classes)):
        drawn = torch.stack([torch.rand(shape, generator=draw) for draw in draws])
        values.append(((2 * drawn - 1) * bound).to(x.device))
    return _Group(
        at=list(range(len(fits))),
        fits=list(fits),
        draws=draws,
        values=values,
        first=[torch.zeros_like(v) for v in values],
        second=[torch.zeros_like(v) for v in values],
        updates=torch.zeros(len(fits), device=x.device),
        best=[-1.0] * len(fits),
        misses=[0] * len(fits),
    )


def _pass_over(group: _Group, x: Tensor, y: Tensor) -> None:
    """One pass over each one's training rows in an order of its own; the last batch may be short."""
    sizes = [len(fit.train) for fit in group.fits]
    rows = np.zeros((len(sizes), max(sizes)), dtype=np.int64)
    for number, (fit, draw) in enumerate(zip(group.fits, group.draws, strict=True)):
        rows[number, : sizes[number]] = fit.train[torch.randperm(sizes[number], generator=draw).numpy()]
    orders = torch.from_numpy(rows).to(x.device)
    ends = torch.tensor(sizes, device=x.device)[:, None]
    decay = torch.tensor([fit.decay for fit in group.fits], device=x.device)[:, None, None]
    for start in range(0, max(sizes), BATCH):
        chosen = orders[:, start : start + BATCH]
        real = (torch.arange(start, start + chosen.shape[1], device=x.device)[None, :] < ends).to(x.dtype)
        _update(group, x[chosen], y[chosen], real, decay)


def _update(group: _Group, inputs: Tensor, labels: Tensor, real: Tensor, decay: Tensor) -> None:
    """One step of Adam with the penalty in the gradient; (m, b, d) inputs, (m, b) labels, (m, b) 1 for real rows."""
    counts = real.sum(1)
    active = (counts > 0).to(inputs.dtype)
    group.updates += active
    slopes = torch.softmax(torch.baddbmm(group.values[1], inputs, group.values[0]), dim=2)
    slopes.scatter_add_(2, labels[..., None], torch.full_like(labels[..., None], -1.0, dtype=slopes.dtype))
    slopes *= (real / counts.clamp(min=1)[:, None])[..., None]
    gradients = (inputs.transpose(1, 2) @ slopes, slopes.sum(1, keepdim=True))
    steps, whole = group.updates[:, None, None].clamp(min=1), bool(active.all())
    for value, first, second, gradient in zip(group.values, group.first, group.second, gradients, strict=True):
        total = gradient + decay * value
        moved = first.lerp(total, 1 - BETAS[0]), second.lerp(total * total, 1 - BETAS[1])
        spread = (moved[1] / (1 - BETAS[1] ** steps)).sqrt_().add_(EPSILON)
        change = RATE * (moved[0] / (1 - BETAS[0] ** steps)) / spread
        if whole:
            value -= change
            first.copy_(moved[0])
            second.copy_(moved[1])
        else:
            kept = active[:, None, None]
            value -= kept * change
            first.lerp_(moved[0], kept)
            second.lerp_(moved[1], kept)


def _accuracy(x: Tensor, y: Tensor, rows: Numbers, weight: Tensor, bias: Tensor) -> float:
    at = torch.from_numpy(rows).to(x.device)
    return float(((x[at] @ weight + bias).argmax(1) == y[at]).float().mean())


def choose_decay(x: Tensor, y: Tensor, folds: Sequence[tuple[Numbers, Numbers]], *, classes: int, seed: int) -> float:
    """The penalty with the best mean accuracy over the folds, the weakest of equals.

    As in SentEval, the rows that judge a fold also tell when to stop, and means are compared at two decimals.
    """
    fits = [Fit(train, test, decay) for train, test in folds for decay in DECAYS]
    best = np.array(train_linear(x, y, fits, classes=classes, seed=seed)[2]).reshape(-1, len(DECAYS))
    return DECAYS[int(np.argmax(np.round(100 * best.mean(axis=0), 2)))]


def tested(x: Tensor, y: Tensor, train: Numbers, test: Numbers, *, decay: float, classes: int, seed: int) -> float:
    """Accuracy on `test` of a classifier trained on `train`, of which HELD_OUT tells when to stop."""
    order = train[np.random.default_rng(seed).permutation(len(train))]
    cut = max(1, int(HELD_OUT * len(order)))
    weights, biases, _ = train_linear(x, y, [Fit(order[cut:], order[:cut], decay)], classes=classes, seed=seed)
    return _accuracy(x, y, test, weights[0], biases[0])


def dev_tested(x: Tensor, y: Tensor, parts: tuple[Numbers, Numbers, Numbers], *, classes: int, seed: int) -> float:
    """Accuracy on the last of (train, dev, test); dev tells when to stop and chooses the penalty."""
    train, dev, test = parts
    fits = [Fit(train, dev, decay) for decay in DECAYS]
    weights, biases, best = train_linear(x, y, fits, classes=classes, seed=seed)
    chosen = int(np.argmax(np.round(100 * np.array(best), 2)))
    return _accuracy(x, y, test, weights[chosen], biases[chosen])
