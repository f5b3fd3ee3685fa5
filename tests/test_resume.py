"""Interrupted trainings go on to the very same weights."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from test_cli import MANY, one_line
from test_training import MANY as PAIRS
from test_training import settings_for

from dictsent.checkpoints import COMPLETE, Checkpoints, TrainingStopped
from dictsent.encoder import Encoder
from dictsent.errors import TrainingError
from dictsent.settings import TrainSettings
from dictsent.train import Hooks, Trained, train


def same(first: Trained, second: Trained) -> bool:
    one, two = first.encoder.backbone.state_dict(), second.encoder.backbone.state_dict()
    poolers = [t.pooler.state_dict() if t.pooler else {} for t in (first, second)]
    return all(torch.equal(one[k], two[k]) for k in one) and all(
        torch.equal(poolers[0][k], poolers[1][k]) for k in poolers[0]
    )


def stop_at(update: int, folder: Path) -> Hooks:
    hooks = Hooks(checkpoints=Checkpoints(folder), minutes=0)

    def progress(done: int, total: int, loss: float) -> None:
        hooks.stop.requested = done >= update

    object.__setattr__(hooks, "progress", progress)
    return hooks


@pytest.mark.parametrize("method", ["defsent", "defsent-plus"])
@pytest.mark.parametrize("update", [1, 3])
def test_a_stopped_training_resumes_exactly(method: str, update: int, tiny_bert: Path, tmp_path: Path) -> None:
    start = Encoder.load(tiny_bert)
    how: TrainSettings = settings_for(
        method, epochs=3, batch_size=8, **({"pst": 2} if method == "defsent-plus" else {})
    )
    whole = train(start, PAIRS, how)
    with pytest.raises(TrainingStopped, match=r"stopped after update \d+ of"):
        train(start, PAIRS, how, stop_at(update, tmp_path))
    again = train(start, PAIRS, how, Hooks(checkpoints=Checkpoints(tmp_path)))
    assert same(whole, again)
    plain = [{**log.as_dict(), "seconds": 0} for log in whole.log]
    assert [{**log.as_dict(), "seconds": 0} for log in again.log] == plain


def test_a_finished_step_is_never_trained_again(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dictsent.train import methods as module

    start, how = Encoder.load(tiny_bert), settings_for("defsent-plus", pst=3, epochs=2, batch_size=8)
    whole = train(start, PAIRS, how)
    with pytest.raises(TrainingStopped):
        train(start, PAIRS, how, stop_at(whole.log[0].updates + 2, tmp_path))
    trained_steps: list[int] = []
    plain = module.fit
    monkeypatch.setattr(module, "fit", lambda *a, **k: (trained_steps.append(k["step"]), plain(*a, **k))[1])
    again = train(start, PAIRS, how, Hooks(checkpoints=Checkpoints(tmp_path)))
    assert trained_steps == [2, 3]
    assert same(whole, again)


def test_a_checkpoint_that_was_cut_off_is_not_used(tiny_bert: Path, tmp_path: Path) -> None:
    start, how = Encoder.load(tiny_bert), settings_for("defsent", epochs=3, batch_size=8)
    whole = train(start, PAIRS, how)
    with pytest.raises(TrainingStopped):
        train(start, PAIRS, how, stop_at(3, tmp_path))
    checkpoints = Checkpoints(tmp_path)
    newest = checkpoints.newest_update(1)
    (newest / COMPLETE).unlink()
    (newest / "model.safetensors").write_bytes(b"half")
    older = checkpoints.newest_update(1)
    assert older is None or older != newest
    assert not newest.exists()
    assert same(whole, train(start, PAIRS, how, Hooks(checkpoints=checkpoints)))


def command(tiny_bert: Path, *more: str) -> list[str]:
    fixed = ["--encoder", str(tiny_bert), "--pst", "2", "--epochs", "40", "--checkpoint-minutes", "0"]
    return [sys.executable, "-m", "dictsent", "train", *fixed, *more]


def start_and(stop: signal.Signals, tiny_bert: Path, *, wait_for: str) -> subprocess.CompletedProcess[str]:
    """Start a training here and send it a signal once a file matching `wait_for` exists."""
    process = subprocess.Popen(command(tiny_bert), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    while not list(Path("runs").glob(wait_for)) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(stop)
    out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@pytest.mark.slow
def test_killed_interrupted_terminated_and_resumed(run_cli: Callable[..., Any], tiny_bert: Path) -> None:
    os.environ.update(HF_HUB_OFFLINE="1", OMP_NUM_THREADS="1")
    Path("words.tsv").write_text(MANY)
    assert run_cli("ingest", "words.tsv", "--lang", "en").exit_code == 0
    done = subprocess.run(command(tiny_bert, "--out", "whole"), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    killed = start_and(signal.SIGKILL, tiny_bert, wait_for=f".*.work/*/step-1/*/{COMPLETE}")
    assert killed.returncode == -signal.SIGKILL
    for stop, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        process = subprocess.Popen(command(tiny_bert, "--resume"), stderr=subprocess.PIPE, text=True)
        before = len(list(Path("runs").glob(f".*.work/*/step-*/*/{COMPLETE}")))
        assert before
        time.sleep(9)
        process.send_signal(stop)
        _, err = process.communicate(timeout=120)
        assert process.returncode in (code, 0), err
        assert "Traceback" not in err
        if process.returncode == 0:
            break
    else:
        rest = subprocess.run(command(tiny_bert, "--resume"), capture_output=True, text=True, check=False)
        assert rest.returncode == 0, rest.stderr
    (run,) = [p for p in Path("runs").iterdir() if not p.name.startswith(".")]
    one, two = load_file("whole/model.safetensors"), load_file(run / "model.safetensors")
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not list(Path("runs").glob(".*.work"))


def test_resume_says_what_it_cannot(run_cli: Callable[..., Any], tiny_bert: Path) -> None:
    Path("words.tsv").write_text(MANY)
    run_cli("ingest", "words.tsv", "--lang", "en")
    assert "there is no unfinished run" in one_line(run_cli("train", "--resume"))
    assert "no unfinished training" in one_line(run_cli("train", "--resume", "elsewhere"))
    work = Path("runs/.en-defsent-plus-1.work")
    work.mkdir(parents=True)
    asked = {
        "language": "en",
        "pst": 2,
        "split": "hash",
        "limit": None,
        "encoder": str(tiny_bert),
        "no_fallback": False,
    }
    asked |= dict.fromkeys(("merge_case", "form_of", "translations"), False)
    asked |= {"method": None, "seed": 0, "out": None, "minutes": 10.0}
    plan = {
        "asked": asked,
        "start": {"name": str(tiny_bert), "kind": "checkpoint", "note": ""},
        "settings": {},
        "pairs": "",
    }
    (work / "plan.json").write_text(json.dumps(plan))
    assert "it was started with --pst 2, not with --pst 3" in one_line(run_cli("train", "--resume", "--pst", "3"))
    assert "had other settings and pairs" in one_line(run_cli("train", "--resume"))
    with pytest.raises(TrainingError, match="unfinished training lies here"):
        Checkpoints(work).begin({})


def test_runs_are_listed(run_cli: Callable[..., Any], tiny_bert: Path) -> None:
    Path("words.tsv").write_text(MANY)
    run_cli("ingest", "words.tsv", "--lang", "en")
    assert "No runs" in run_cli("runs").stderr
    assert run_cli("train", "--encoder", tiny_bert, "--pst", "1").exit_code == 0
    work = Checkpoints(Path("runs/.en-defsent-1.work"))
    work.begin({"asked": {"language": "en"}, "settings": [{"method": "defsent", "pst": 2}], "start": {"name": "x"}})
    work.unit("abc", "def").save_step(1, weights={"w": torch.zeros(1)}, pooler={}, log={})
    rows = json.loads(run_cli("runs", "--json").stdout)["runs"]
    assert [(r["run"], r["state"], r["progress"]) for r in rows] == [
        ("runs/en-defsent-plus-1", "finished", "1 steps"),
        ("runs/en-defsent-1", "unfinished", "1 of 2 steps"),
    ]
    assert "unfinished" in run_cli("runs").stdout
