"""Does our logistic regression agree with SentEval's own classifier? Both on one fixed matrix of embeddings.

Usage: python benchmarks/senteval_agreement.py DATA MODEL [TASK...]; MODEL as `dictsent eval` takes it.

The peer is SentEval's classifier as its papers describe it, done again: a linear layer, Adam (1e-3, L2 coupled),
batches of 64, checks every 4 epochs on 5 % held-out training data, stops after 5 checks without gain, strength chosen
from 1e-5..1e-2 by an inner 10-fold cross-validation. All folds and strengths train side by side as one batched tensor.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import torch
from sklearn.model_selection import StratifiedKFold

from dictsent.tasks.embedding import embed
from dictsent.tasks.senteval import TransferSettings, accuracy, features, find_transfer
from dictsent.tasks.systems import load_system

DECAYS = (1e-5, 1e-4, 1e-3, 1e-2)
BATCH, EPOCHS, TENACITY, MOST = 64, 4, 5, 200


def train_side_by_side(x, y, splits, decays, classes, seed):
    """Accuracy on each split's test part of one model a (train, test, decay)."""
    draws = torch.Generator().manual_seed(seed)
    held, train = [], []
    for rows, _ in splits:
        order = torch.tensor(rows)[torch.randperm(len(rows), generator=draws)]
        cut = int(0.05 * len(order))
        held.append(order[:cut])
        train.append(order[cut:])
    size = min(map(len, train))
    models, width = len(splits), x.shape[1]
    bound = 1 / width**0.5
    weight = (torch.rand(models, width, classes, generator=draws) * 2 - 1) * bound
    bias = (torch.rand(models, 1, classes, generator=draws) * 2 - 1) * bound
    decay = torch.tensor(decays).view(-1, 1, 1)
    state = [(p, torch.zeros_like(p), torch.zeros_like(p)) for p in (weight, bias)]
    best, best_weight, best_bias = torch.full((models,), -1.0), weight.clone(), bias.clone()
    misses, running, step = torch.zeros(models), torch.ones(models, dtype=torch.bool), 0
    for _ in range(0, MOST, EPOCHS):
        for _ in range(EPOCHS):
            order = torch.stack([t[torch.randperm(len(t), generator=draws)][:size] for t in train])
            for at in range(0, size, BATCH):
                step += 1
                rows = order[:, at : at + BATCH]
                inputs, labels = x[rows], y[rows]
                chances = torch.softmax(inputs @ weight + bias, dim=2)
                chances.scatter_add_(2, labels[..., None], torch.full((*labels.shape, 1), -1.0))
                chances /= rows.shape[1]
                for (p, first, second), grad in zip(
                    state, (inputs.transpose(1, 2) @ chances, chances.sum(1, keepdim=True)), strict=True
                ):
                    grad = grad + decay * p
                    first.mul_(0.9).add_(grad, alpha=0.1)
                    second.mul_(0.999).addcmul_(grad, grad, value=0.001)
                    p.addcdiv_(first / (1 - 0.9**step), (second / (1 - 0.999**step)).sqrt_().add_(1e-8), value=-1e-3)
        for m in torch.nonzero(running).flatten().tolist():
            score = ((x[held[m]] @ weight[m] + bias[m]).argmax(1) == y[held[m]]).float().mean()
            if score > best[m]:
                best[m], best_weight[m], best_bias[m] = score, weight[m], bias[m]
            elif misses[m] >= TENACITY:
                running[m] = False
            else:
                misses[m] += 1
        if not running.any():
            break
    return [
        float(((x[test] @ best_weight[m] + best_bias[m]).argmax(1) == y[test]).float().mean())
        for m, (_, test) in enumerate(splits)
    ]


def choose(x, y, rows, classes, seed):
    """The decay with the best mean accuracy over 10 inner folds of `rows`."""
    folds = StratifiedKFold(10, shuffle=True, random_state=seed)
    inner = [(rows[a], rows[b]) for a, b in folds.split(rows, y[rows])]
    splits = [split for split in inner for _ in DECAYS]
    found = np.array(train_side_by_side(x, y, splits, DECAYS * len(inner), classes, seed)).reshape(-1, len(DECAYS))
    return DECAYS[int(found.mean(0).argmax())]


def reference(task, x, seed=1111):
    """Accuracy of the peer on one task."""
    labels = {name: torch.tensor(part.labels) for name, part in task.parts.items()}
    if "all" in x:
        data, y = torch.tensor(x["all"]), labels["all"]
        found = []
        for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(data, y):
            decay = choose(data, y, train, task.classes, seed)
            found += train_side_by_side(data, y, [(train, test)], [decay], task.classes, seed)
        return float(np.mean(found))
    data = torch.tensor(np.concatenate([x["train"], x["test"]]))
    y = torch.cat([labels["train"], labels["test"]])
    train, test = np.arange(len(x["train"])), np.arange(len(x["train"]), len(data))
    decay = choose(data, y, train, task.classes, seed)
    return train_side_by_side(data, y, [(train, test)], [decay], task.classes, seed)[0]


def main() -> None:
    """Print one line a task."""
    folder, name, *names = sys.argv[1:]
    tasks, _ = find_transfer([Path(folder)], names or ("CR", "TREC", "MRPC", "MR"))
    parts = [part for task in tasks for part in task.parts.values()]
    vectors = embed(load_system(name), (text for part in parts for text in (*part.first, *part.second)))
    for task in tasks:
        x = {part: np.asarray(features(texts, vectors), np.float32) for part, texts in task.parts.items()}
        start = time.perf_counter()
        ours = 100 * accuracy(task, x, TransferSettings())
        middle = time.perf_counter()
        theirs = 100 * reference(task, x)
        end = time.perf_counter()
        print(
            f"{task.name}: ours {ours:.2f} in {middle - start:.0f} s, SentEval's {theirs:.2f} in {end - middle:.0f} s, "
            f"difference {ours - theirs:+.2f} (n = {task.n})",
            flush=True,
        )


if __name__ == "__main__":
    main()
