"""Two processes give what one gives; nothing hangs; memory that is full is one line."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file
from test_cli import MANY as WORDS_FILE
from test_training import MANY, settings_for

from dictsent.encoder import Encoder
from dictsent.errors import TrainingError
from dictsent.memory import enough_memory
from dictsent.objective import EntryLoss
from dictsent.pairs import PairSettings, select
from dictsent.precision import has_bf16
from dictsent.store import Store
from dictsent.table import table_store
from dictsent.train import Trained, train
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
        ("fsdp=full_shard", "Trainer refuses: Using fsdp only works in distributed training"),
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


def test_entries_are_built_once_while_nothing_changes(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dictsent.train import entries as module

    built: list[str] = []
    plain = module.build
    monkeypatch.setattr(module, "build", lambda *a, **k: (built.append("x"), plain(*a, **k))[1])
    start = Encoder.load(tiny_bert)
    start.cache = tmp_path

    def trained(**more: object) -> Trained:
        return train(start, MANY, settings_for("defsent-plus", pst=1, **more))

    first = trained(seed=0)
    assert len(built) == 1
    second = trained(seed=1)
    assert len(built) == 1
    assert first.space is not None
    assert second.space is not None
    assert torch.equal(first.space.matrix, second.space.matrix)
    assert first.space.row_of == second.space.row_of
    trained(entries="ac")
    trained(isotropy="zca")
    assert len(built) == 3
    with torch.no_grad():
        next(start.backbone.parameters()).add_(0.01)
    trained()
    assert len(built) == 4


@pytest.mark.skipif(not has_bf16(torch.device("cpu")), reason="this processor has no bfloat16")
def test_bfloat16_is_used_where_asked_and_said(tiny_bert: Path) -> None:
    start = Encoder.load(tiny_bert)
    plain, half = (
        train(start, MANY, settings_for("defsent-plus", pst=1, precision=name)) for name in ("float32", "bf16")
    )
    assert [run.log[0].precision for run in (plain, half)] == ["float32", "bf16"]
    assert plain.space is not None
    assert half.space is not None
    assert not torch.equal(plain.space.matrix, half.space.matrix)
    torch.testing.assert_close(plain.space.matrix, half.space.matrix, atol=0.05, rtol=0.05)
    assert all(tensor.dtype == torch.float32 for tensor in half.encoder.backbone.state_dict().values())


@pytest.mark.parametrize("form", ["parquet", "hf"])
def test_a_table_gives_the_pairs_of_the_store(form: str, run_cli: Callable[..., Any], tiny_bert: Path) -> None:
    Path("words.tsv").write_text(WORDS_FILE)
    Path("more.tsv").write_text("word\tdefinition\ncat\tA  <b>beast</b> that purrs\nCat\tanother cat of the city\n")
    for name in ("words.tsv", "more.tsv"):
        assert run_cli("ingest", name, "--lang", "en").exit_code == 0
    assert run_cli("export", "--to", form, "--out", "table").exit_code == 0
    source = table_store("table", Path("cache"))
    for settings_ in (PairSettings(language="en"), PairSettings(language="en", near=0.9, dedup="paper", limit=20)):
        with Store("dictsent.db") as one, Store(source) as two:
            expected, got = select(one, settings_), select(two, settings_)
            assert [s.name for s in one.sources()] == [s.name for s in two.sources()]
        for split in ("train", "dev", "test"):
            assert [(p.headword, p.definition, p.split) for p in getattr(got, split)] == [
                (p.headword, p.definition, p.split) for p in getattr(expected, split)
            ]
        assert (got.left_out, got.changed) == (expected.left_out, expected.changed)
    assert table_store("table", Path("cache")) == source
    told = ("train", "--encoder", tiny_bert, "--pst", "1", "--split", "none")
    results = [json.loads(run_cli(*told, *more, "--json").stdout) for more in ((), ("--data", "table"))]
    weights = [load_file(Path(result["run"]) / "model.safetensors") for result in results]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert results[0]["sources"][0]["name"] == results[1]["sources"][0]["name"]


def test_a_data_set_is_streamed_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dictsent import table

    folder = tmp_path / "owner"
    folder.mkdir()
    for split, words in (("train", ["cat", "dog"]), ("test", ["river"])):
        rows = [json.dumps({"word": word, "definition": f"the {word} of the city"}) for word in words]
        (folder / f"{split}.jsonl").write_text("\n".join(rows) + "\n")
    monkeypatch.setattr(table, "_parts", lambda name: (str(folder),))
    with Store(table.table_store("owner/set", tmp_path / "cache", language="en")) as store:
        pairs = select(store, PairSettings(language="en", split="none"))
    assert [(p.headword, p.definition) for p in pairs.train] == [
        (word, f"the {word} of the city") for word in ("cat", "dog", "river")
    ]


def test_data_that_cannot_be_had_is_one_line(run_cli: Callable[..., Any], tiny_bert: Path) -> None:
    Path("note.txt").write_text("no dictionary\n")
    for source, said in (("no/such-set", "cannot be read"), ("note.txt", "not.*recognised|no dictionary|no adapter")):
        result = run_cli("train", "--encoder", tiny_bert, "--data", source)
        assert result.exit_code == 1
        lines = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
        assert len(lines) == 1
        assert re.search(said, lines[0]), lines[0]


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["torchrun", "accelerate"])
def test_the_command_by_two_processes(launcher: str, run_cli: Callable[..., Any], still_bert: Path) -> None:
    Path("words.tsv").write_text(WORDS_FILE)
    assert run_cli("ingest", "words.tsv", "--lang", "en").exit_code == 0
    # Several processes on CPUs only by MPI; told of GPUs, it starts them as torchrun does.
    accelerate = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1"]
    accelerate += ["--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0"]
    start = accelerate if launcher == "accelerate" else ()
    told = ["-m", "dictsent", "train", "--encoder", str(still_bert), "--pst", "2", "--batch-size", "8"]
    done = together(*told, "--json", launcher=start)
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    record = json.loads(line)
    assert [step["processes"] for step in record["steps"]] == [2, 2]
    assert done.stderr.count("definitions to train on") == 1
    assert sorted(p.name for p in Path("runs").iterdir()) == [".cache", "en-defsent-plus-1"]
    alone = json.loads(run_cli(*told[2:], "--json").stdout)
    assert record["steps"][0]["loss_first"] == pytest.approx(alone["steps"][0]["loss_first"], rel=1e-3)
    assert record["steps"][1]["entries"] == alone["steps"][1]["entries"]
    # A mistake is one line, and nobody waits.
    begun = time.monotonic()
    wrong = together(*told[:-1], "9", launcher=start)
    assert wrong.returncode == 1
    lines = [line for line in wrong.stderr.splitlines() if line.startswith("Error: ")]
    assert lines == [
        "Error: --batch-size: a batch of 9 is all processes' together and cannot be shared by 2 processes;"
        " use a multiple of 2, such as 8"
    ]
    assert time.monotonic() - begun < 100


def test_ica_in_float32_finds_the_components_of_float64() -> None:
    from dictsent.entryspace import fit_isotropy

    draws = np.random.default_rng(0)
    rows = (draws.laplace(size=(4_000, 12)) @ draws.normal(size=(12, 12)) + 3).astype(np.float32)
    single, double = (fit_isotropy(rows, "ica", dtype=dtype).apply(rows) for dtype in (np.float32, np.float64))
    correlations = np.abs(np.corrcoef(single, double, rowvar=False)[:12, 12:])
    assert correlations.max(axis=1).min() > 0.9999
    assert sorted(correlations.argmax(axis=1)) == list(range(12))
