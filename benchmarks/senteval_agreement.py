"""Do our classifiers agree with SentEval's own? All on one fixed matrix of embeddings.

Usage: python benchmarks/senteval_agreement.py DATA MODEL [--seeds N] [--lbfgs] [TASK...]; MODEL as `eval` takes it.

The peer is SentEval's procedure (its tools/validation.py and tools/classifier.py) done again one classifier after the
other, with torch.nn.Linear, torch.optim.Adam and cross_entropy: an inner 10-fold cross-validation that chooses the
penalty, in which the judging fold also stops the training, then a training that 5 % of its own rows stop. Its figures
change with the seed, so it is run with several; ours is run with the same ones. The draws are not the same.
"""

from __future__ import annotations

import argparse
import copy
import time
from pathlib import Path

import numpy as np
import torch
from sklearn.model_selection import StratifiedKFold

from dictsent.tasks.embedding import embed
from dictsent.tasks.senteval import LBFGS, TransferSettings, accuracy, features, find_transfer
from dictsent.tasks.systems import load_system


class Peer:
    """Logistic regression as SentEval trains it."""

    def __init__(self, width, classes, decay, seed):
        torch.manual_seed(seed)
        self.draws = np.random.RandomState(seed)
        self.model = torch.nn.Linear(width, classes)
        self.adam = torch.optim.Adam(self.model.parameters(), weight_decay=decay)

    def fit(self, x, y, held=None):
        """Train until the held-out accuracy has not risen for more than five checks."""
        if held is None:
            order = self.draws.permutation(len(x))
            cut = int(0.05 * len(x))
            held, x, y = (x[order[:cut]], y[order[:cut]]), x[order[cut:]], y[order[cut:]]
        best, missed, passes, kept = -1.0, 0, 0, None
        while passes <= 200:
            for _ in range(4):
                self.one_pass(x, y)
            passes += 4
            found = self.score(*held)
            if found > best:
                best, kept = found, copy.deepcopy(self.model)
            else:
                missed += 1
                if missed > 5:
                    break
        self.model = kept
        return self

    def one_pass(self, x, y):
        """Batches of 64 in a new order."""
        order = torch.from_numpy(self.draws.permutation(len(x)))
        for rows in order.split(64):
            self.adam.zero_grad()
            torch.nn.functional.cross_entropy(self.model(x[rows]), y[rows]).backward()
            self.adam.step()

    @torch.no_grad()
    def score(self, x, y):
        """Share of right answers."""
        return float((self.model(x).argmax(1) == y).double().mean())


def chosen_and_tested(x, y, train, test, classes, seed):
    """Choose the penalty by 10 inner folds, train on all, score."""
    scores = []
    inner = list(StratifiedKFold(10, shuffle=True, random_state=seed).split(train, y[train]))
    decays = (1e-5, 1e-4, 1e-3, 1e-2)
    for decay in decays:
        found = []
        for a, b in inner:
            held = x[train[b]], y[train[b]]
            found.append(Peer(x.shape[1], classes, decay, seed).fit(x[train[a]], y[train[a]], held).score(*held))
        scores.append(round(100 * float(np.mean(found)), 2))
    decay = decays[int(np.argmax(scores))]
    return Peer(x.shape[1], classes, decay, seed).fit(x[train], y[train]).score(x[test], y[test])


def reference(task, x, seed):
    """Accuracy of the peer on one task."""
    data = torch.from_numpy(np.concatenate(list(x.values())))
    y = torch.from_numpy(np.concatenate([task.parts[name].labels for name in x]))
    if "all" in x:
        folds = StratifiedKFold(10, shuffle=True, random_state=seed).split(data, y)
    else:
        folds = [(np.arange(len(x["train"])), np.arange(len(x["train"]), len(data)))]
    return float(np.mean([chosen_and_tested(data, y, a, b, task.classes, seed) for a, b in folds]))


def said(values):
    """Mean, deviation and number."""
    spread = f" ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
    return f"{np.mean(values):.2f}{spread}"


def main() -> None:
    """Print one line a task."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("model")
    parser.add_argument("tasks", nargs="*", default=["TREC", "MRPC", "CR", "MR"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--lbfgs", action="store_true", help="also scikit-learn's")
    told = parser.parse_args()
    tasks, _ = find_transfer([told.data], told.tasks)
    parts = [part for task in tasks for part in task.parts.values()]
    vectors = embed(load_system(told.model), (text for part in parts for text in (*part.first, *part.second)))
    for task in tasks:
        x = {name: np.asarray(features(part, vectors), np.float32) for name, part in task.parts.items()}
        ours, theirs, spent = [], [], [0.0, 0.0]
        for seed in (1111, *range(1, told.seeds)):
            start = time.perf_counter()
            ours.append(100 * accuracy(task, x, TransferSettings(seed=seed)))
            middle = time.perf_counter()
            theirs.append(100 * reference(task, x, seed))
            spent = [spent[0] + middle - start, spent[1] + time.perf_counter() - middle]
        line = f"{task.name}: ours {said(ours)} in {spent[0]:.0f} s, SentEval's {said(theirs)} in {spent[1]:.0f} s, "
        line += f"difference {np.mean(ours) - np.mean(theirs):+.2f} (n = {task.n}, {len(ours)} seeds)"
        if told.lbfgs:
            line += f"; lbfgs {100 * accuracy(task, x, LBFGS):.2f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
