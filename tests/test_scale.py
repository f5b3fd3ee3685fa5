"""Two processes give what one gives; nothing hangs; memory that is full is one line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_training import MANY, settings_for

from dictsent.encoder import Encoder
from dictsent.errors import TrainingError
from dictsent.memory import enough_memory
from dictsent.objective import EntryLoss
from dictsent.train import train
from dictsent.train.batches import Shares
from dictsent.train.flags import parse_flags

JOB = Path(__file__).with_name("scale_job.py")


@given(
    rows=st.integers(1, 70),
    each=st.integers(1, 5),
    parts=st.sampled_from([(1, 1), (2, 1), (2, 2), (3, 1), (1, 4)]),
    epoch=st.integers(0, 2),
)
@settings(max_examples=60, deadline=None)
def test_shares_of_all_processes_are_the_effective_batches(
    rows: int, each: int, parts: tuple[int, int], epoch: int
) -> None:
    ranks, passes = parts
    lengths = np.random.default_rng(rows).integers(1, 30, rows)
    how = {"batch": each * ranks * passes, "seed": 5, "parts": ranks * passes}
    whole = Shares(lengths, batch=how["batch"], seed=5, parts=1, rank=0, ranks=1)
    shared = [Shares(lengths, **how, rank=rank, ranks=ranks) for rank in range(ranks)]
    for part in (whole, *shared):
        part.set_epoch(epoch)
    assert sorted(row for batch in whole for row, _ in batch) == list(range(rows))
    losses = np.random.default_rng(1).random(rows)
    columns = [list(part) for part in shared]
    assert {len(column) for column in columns} == {len(part) for part in shared} == {len(whole) * passes}
    for number, batch in enumerate(whole):
        mine = [column[number * passes + i] for i in range(passes) for column in columns]
        means = [share[0][1] * np.mean([losses[row] for row, _ in share]) for share in mine]
        assert np.mean(means) == pytest.approx(np.mean([losses[row] for row, _ in batch]))
        assert sorted(row for share in mine for row, weight in share if weight) == sorted(row for row, _ in batch)


@pytest.fixture(scope="session")
def still_bert(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny BERT without dropout, whose draws would differ between processes."""
    folder = tmp_path_factory.mktemp("still") / "bert"
    shutil.copytree(tiny_bert, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def together(*arguments: str, processes: int = 2, launcher: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    command = [sys.executable, *(launcher or torchrun), *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=180, env=environment)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["defsent", "defsent-plus"])
def test_two_processes_train_what_one_trains(method: str, still_bert: Path, tmp_path: Path) -> None:
    # With Adam's own epsilon, gradients that are zero but for rounding (of key biases) make whole steps.
    told = [
        "batch_size=8",
        "epochs=2",
        "epsilon=1e-3",
        *(["pst=2", 'isotropy="zca"'] if method == "defsent-plus" else []),
    ]
    done = together(str(JOB), str(still_bert), method, str(tmp_path), *told)
    assert done.returncode == 0, done.stderr
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1))
    more = {"pst": 2, "isotropy": "zca"} if method == "defsent-plus" else {}
    alone = train(Encoder.load(still_bert), MANY, settings_for(method, batch_size=8, epochs=2, epsilon=1e-3, **more))
    assert all(torch.equal(first["state"][name], second["state"][name]) for name in first["state"])
    for name, value in alone.encoder.backbone.state_dict().items():
        torch.testing.assert_close(first["state"][name], value, atol=1e-4, rtol=1e-3, msg=name)
    if alone.space is not None and alone.pooler is not None:
        torch.testing.assert_close(first["state"]["matrix"], alone.space.matrix, atol=2e-3, rtol=1e-2)
        for name, value in alone.pooler.state_dict().items():
            torch.testing.assert_close(first["state"][f"pooler.{name}"], value, atol=1e-4, rtol=1e-3)
    for log, plain in zip(first["log"], alone.log, strict=True):
        assert (log["processes"], log["updates"], log["definitions"]) == (2, plain.updates, plain.definitions)
        assert log["loss_last"] == pytest.approx(plain.loss_last, rel=1e-3)


def test_accumulated_passes_train_what_one_pass_trains(still_bert: Path) -> None:
    start = Encoder.load(still_bert)
    plain, passes = (
        train(start, MANY, settings_for("defsent-plus", pst=1, batch_size=8, epsilon=1e-3, trainer=told))
        for told in ((), ("gradient_accumulation_steps=4",))
    )
    for name, value in plain.encoder.backbone.state_dict().items():
        torch.testing.assert_close(passes.encoder.backbone.state_dict()[name], value, atol=1e-5, rtol=1e-4, msg=name)
    assert passes.log[0].updates == plain.log[0].updates


def test_trainers_own_arguments_are_checked(tiny_bert: Path) -> None:
    assert parse_flags(["bf16=true", "report-to=none", 'fsdp_config={"min_num_params": 3}']) == {
        "bf16": True,
        "report_to": "none",
        "fsdp_config": {"min_num_params": 3},
    }
    for text, said in (
        ("torch_compil=true", "did you mean torch_compile"),
        ("learning_rate=1", "use --learning-rate"),
        ("adam_epsilon=1", "follows from the method"),
        ("bf16", "not KEY=VALUE"),
    ):
        with pytest.raises(TrainingError, match=said):
            parse_flags([text])
    start = Encoder.load(tiny_bert)
    for text, said in (
        ("optim=none-such", "Trainer refuses its arguments"),
        ("gradient_accumulation_steps=5", r"cannot be shared by 1 processes times 5.*multiple of 5, such as 15"),
        ("gradient_accumulation_steps=0", "whole number"),
    ):
        with pytest.raises(TrainingError, match=said):
            train(start, MANY, settings_for("defsent", trainer=(text,)))


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has"),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:119] DefaultCPUAllocator: can't allocate memory: you tried to"
            " allocate 4294967296 bytes. Error code 12 (Cannot allocate memory)"
        ),
    ],
)
def test_full_memory_is_one_line(error: Exception, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> torch.Tensor:
        raise error

    monkeypatch.setattr(EntryLoss, "forward", fail)
    with pytest.raises(TrainingError, match=r"the memory .*is full.*lower --batch-size") as caught:
        train(Encoder.load(tiny_bert), MANY, settings_for("defsent-plus", pst=1))
    assert "\n" not in str(caught.value)


def test_entries_that_do_not_fit_are_one_line(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> torch.Tensor:
        raise np._core._exceptions._ArrayMemoryError((1000, 1000), np.dtype("f4"))

    monkeypatch.setattr(Encoder, "pooled", fail)
    with pytest.raises(TrainingError, match=r"the memory is full.*lower --limit"):
        train(Encoder.load(tiny_bert), MANY, settings_for("defsent-plus", pst=1))


def test_other_errors_are_left_alone() -> None:
    with pytest.raises(RuntimeError, match="shape"), enough_memory("--limit"):
        raise RuntimeError("shape mismatch")
