"""SentEval's transfer tasks: its files' forms, and accuracies that are known in advance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from dictsent.errors import TaskError
from dictsent.tasks.baselines import Tfidf
from dictsent.tasks.classifier import Fit, train_linear
from dictsent.tasks.senteval import (
    FAST,
    LBFGS,
    Part,
    Transfer,
    TransferSettings,
    accuracy,
    find_transfer,
    score_transfer,
)


def put(folder: Path, name: str, text: str | bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    good, bad = "good film number {}\n", "dull film number {}\n"
    for positive, negative in (
        ("MR/rt-polarity.pos", "MR/rt-polarity.neg"),
        ("CR/custrev.pos", "CR/custrev.neg"),
        ("SUBJ/subj.objective", "SUBJ/subj.subjective"),
        ("MPQA/mpqa.pos", "MPQA/mpqa.neg"),
    ):
        put(tmp_path, positive, "".join(good.format(i) for i in range(30)))
        put(tmp_path, negative, "".join(bad.format(i) for i in range(29)) + "\n")
    for part, n in (("train", 40), ("dev", 10), ("test", 10)):
        rows = "".join(f"{'good' if i % 2 else 'dull'} thing {i}\t{i % 2}\n" for i in range(n))
        put(tmp_path, f"SST/binary/sentiment-{part}", rows)
    questions = "".join(f"{'HUM:ind Who' if i % 2 else 'LOC:city Where'} is good {i} ?\n" for i in range(60))
    put(tmp_path, "TREC/train_5500.label", questions.replace("59", "caf\xe9").encode("latin-1"))
    put(tmp_path, "TREC/TREC_10.label", questions[:200].rsplit("\n", 1)[0] + "\n")
    header = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
    rows = "".join(f'{i % 2}\t{i}\t{i}\tgood "{i}\t{"good" if i % 2 else "dull"} {i}\n' for i in range(60))
    put(tmp_path, "MRPC/msr_paraphrase_train.txt", header + rows)
    put(tmp_path, "MRPC/msr_paraphrase_test.txt", (header + rows[:400].rsplit("\n", 1)[0]).replace("\n", "\r\n"))
    return tmp_path


class Words:
    """Counts a few words: enough to tell the labels."""

    def __init__(self):
        self.seen = []

    def encode(self, texts, /):
        self.seen += texts
        known = ("good", "dull", "Who", "Where", ".")
        return np.array([[text.split().count(word) for word in known] for text in texts], dtype=np.float32)


def test_all_seven_are_found_and_learnt(folder):
    tasks, left_out = find_transfer([folder])
    assert left_out == {}
    assert [task.n for task in tasks] == [60, 60, 60, 60, 10, len(tasks[5].parts["test"].labels), tasks[6].n]
    encoder = Words()
    scores = score_transfer(encoder, tasks, replace(LBFGS, folds=3))
    assert {score.task: score.value for score in scores} == dict.fromkeys(
        ("MR", "CR", "SUBJ", "MPQA", "SST-2", "TREC", "MRPC", "Avg"), 100.0
    )
    assert {score.protocol for score in scores} == {"lbfgs, 3 folds"}
    assert len(encoder.seen) == len(set(encoder.seen))


@pytest.mark.parametrize("parts", [("all",), ("train", "test"), ("train", "dev", "test")])
def test_senteval_s_classifier_learns_each_kind_of_task(parts):
    draws = np.random.default_rng(3)
    labels = {name: draws.integers(0, 3, 1500) for name in parts}
    x = {name: draws.normal(size=(1500, 8)) + 4 * np.eye(8)[y] for name, y in labels.items()}
    task = Transfer(name="X", parts={name: Part(("x",) * 1500, y) for name, y in labels.items()}, classes=3)
    assert 0.8 < accuracy(task, x, TransferSettings(folds=3)) <= 1
    shuffled = {name: draws.permutation(rows) for name, rows in x.items()}
    assert 0.2 < accuracy(task, shuffled, TransferSettings(folds=3)) < 0.5


def alone(x, y, train, held, decay, classes, seed):
    """SentEval's classifier as its papers describe it, by torch's own layer, optimiser and loss."""
    draws = torch.Generator().manual_seed(seed)
    layer = torch.nn.Linear(x.shape[1], classes)
    bound = x.shape[1] ** -0.5
    with torch.no_grad():
        layer.weight.copy_(((2 * torch.rand((x.shape[1], classes), generator=draws) - 1) * bound).T)
        layer.bias.copy_((2 * torch.rand((1, classes), generator=draws)[0] - 1) * bound)
    adam = torch.optim.Adam(layer.parameters(), lr=1e-3, weight_decay=decay)
    best, kept, missed, passes = -1.0, None, 0, 0
    while passes <= 200 and missed <= 5:
        for _ in range(4):
            for rows in torch.from_numpy(train)[torch.randperm(len(train), generator=draws)].split(64):
                adam.zero_grad()
                torch.nn.functional.cross_entropy(layer(x[rows]), y[rows]).backward()
                adam.step()
        passes += 4
        found = (layer(x[held]).argmax(1) == y[held]).float().mean().item()
        if found > best:
            best, kept = found, layer.weight.detach().clone()
        else:
            missed += 1
    return best, kept


def test_side_by_side_is_senteval_s_classifier_one_by_one():
    """Fits of different lengths, of which some stop early, some end in a batch that others do not have."""
    draws = np.random.default_rng(0)
    y = torch.from_numpy(draws.integers(0, 3, 300))
    x = torch.from_numpy(draws.normal(size=(300, 12)).astype(np.float32)) + torch.nn.functional.one_hot(y, 12)
    fits = [
        Fit(np.arange(60, 60 + size), np.arange(at, at + 30), decay)
        for size, at, decay in ((128, 0, 1e-5), (129, 0, 1e-2), (200, 30, 1e-3), (64, 30, 1e-4))
    ]
    weights, _, best = train_linear(x, y, fits, classes=3, seed=5)
    for fit, weight, found in zip(fits, weights, best, strict=True):
        expected, kept = alone(x, y, fit.train, fit.held_out, fit.decay, 3, 5)
        assert found == pytest.approx(expected)
        assert torch.allclose(weight, kept.T, atol=1e-4)


def test_sparse_vectors_take_the_other_classifier_and_say_so(folder):
    tasks, _ = find_transfer([folder], ["MR"])
    assert [s.protocol for s in score_transfer(Tfidf(), tasks, TransferSettings(folds=3))] == ["lbfgs, 3 folds"]


def test_an_empty_sentence_counts_as_a_full_stop(folder):
    tasks, _ = find_transfer([folder], ["MPQA"])
    assert tasks[0].parts["all"].first[-1] == "."
    assert len(tasks[0].parts["all"].labels) == 60


def test_the_papers_settings_and_faster_ones_are_named():
    assert TransferSettings().protocol == "senteval"
    assert LBFGS.protocol == "lbfgs, 10 folds"
    assert FAST.protocol == "fast: lbfgs, 5 folds, not nested"


def test_chance_is_chance(folder):
    class Noise:
        def encode(self, texts, /):
            return np.random.default_rng(0).normal(size=(len(texts), 3))

    tasks, _ = find_transfer([folder], ["MR"])
    assert 25 < score_transfer(Noise(), tasks, FAST)[0].value < 75


def test_what_is_missing_or_malformed_is_said(folder, tmp_path):
    (folder / "CR" / "custrev.neg").unlink()
    assert find_transfer([folder])[1] == {"CR": "no file custrev.neg"}
    put(folder, "SST/binary/sentiment-dev", "no label here\n")
    with pytest.raises(TaskError, match=r"sentiment-dev:1"):
        find_transfer([folder], ["SST-2"])
    put(folder, "TREC/TREC_10.label", "WHAT:x is it ?\n")
    with pytest.raises(TaskError, match="'WHAT' is no question type"):
        find_transfer([folder], ["TREC"])
    put(folder, "MRPC/msr_paraphrase_test.txt", "header\n1\t2\n")
    with pytest.raises(TaskError, match="five columns"):
        find_transfer([folder], ["MRPC"])


@pytest.mark.data
def test_published_counts(data_folder):
    tasks, left_out = find_transfer([data_folder])
    counts = {task.name: {name: len(part.labels) for name, part in task.parts.items()} for task in tasks}
    positive = {task.name: int(task.parts["all"].labels.sum()) for task in tasks if "all" in task.parts}
    assert left_out == {}
    assert counts == {
        "MR": {"all": 10662},
        "CR": {"all": 3775},
        "SUBJ": {"all": 10000},
        "MPQA": {"all": 10606},
        "SST-2": {"train": 67349, "dev": 872, "test": 1821},
        "TREC": {"train": 5452, "test": 500},
        "MRPC": {"train": 4076, "test": 1725},
    }
    assert positive == {"MR": 5331, "CR": 2407, "SUBJ": 5000, "MPQA": 3312}
