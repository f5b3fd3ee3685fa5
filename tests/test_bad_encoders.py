"""Encoders that are none, are damaged, or do not fit what is asked of them: one line each, on the command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_cli import MANY, one_line

Cli = Callable[..., Any]
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    if path.is_file():
        table = json.loads(path.read_text())
        change(table)
        path.write_text(json.dumps(table))


def without_mask(folder: Path) -> None:
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        edit(folder / name, lambda table: table.pop("mask_token", None))


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no config": (lambda f: (f / "config.json").unlink(), "a folder without config.json is no model"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "the encoder cannot be loaded: "),
    "half the weights": (lambda f: cut(f / "model.safetensors"), "the encoder cannot be loaded: "),
    "half a config": (lambda f: cut(f / "config.json"), "the encoder cannot be loaded: "),
    "no known type": (
        lambda f: edit(f / "config.json", lambda c: c.update(model_type="madeup")),
        "the encoder cannot be loaded: ",
    ),
    "no tokenizer": (
        lambda f: [(f / name).unlink(missing_ok=True) for name in TOKENIZER],
        "its files are missing or of another model",
    ),
    "half a modules.json": (lambda f: (f / "modules.json").write_text('[{"type": '), "its modules.json cannot be read"),
}


@pytest.fixture
def words(run_cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text(MANY)
    assert run_cli("ingest", "words.tsv", "--lang", "en").exit_code == 0


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.usefixtures("words")
def test_a_damaged_encoder_is_one_line(run_cli: Cli, tiny_bert: Path, tmp_path: Path, fault: str) -> None:
    damage, message = FAULTS[fault]
    shutil.copytree(tiny_bert, tmp_path / "their")
    damage(tmp_path / "their")
    for method in ("defsent", "defsent-plus"):
        said = one_line(run_cli("train", "--encoder", "their", "--method", method))
        assert said.startswith("Error: their: ")
        assert message in said
    assert not list(tmp_path.glob("runs/*")), "nothing of a training that did not begin"
    assert message in one_line(run_cli("encode", "--model", "their", "words.tsv"))


@pytest.mark.usefixtures("words")
def test_what_is_no_encoder_at_all(run_cli: Cli) -> None:
    assert "a file is no model" in one_line(run_cli("train", "--encoder", "words.tsv"))
    assert "a hub name that this machine can reach" in one_line(run_cli("train", "--encoder", "nobody/nothing"))
    assert "a hub name that this machine can reach" in one_line(run_cli("train", "--encoder", "not/here/at-all"))


@pytest.mark.usefixtures("words")
def test_a_tokenizer_of_another_model(run_cli: Cli, tiny_bert: Path, tiny_roberta: Path, tmp_path: Path) -> None:
    """A larger one cannot index the embeddings; a smaller one leaves most of them without a token."""
    for name, weights, tokenizer in (("large", tiny_bert, tiny_roberta), ("small", tiny_roberta, tiny_bert)):
        shutil.copytree(weights, tmp_path / name)
        for file in (*TOKENIZER, "vocab.json", "merges.txt"):
            (tmp_path / name / file).unlink(missing_ok=True)
            if (tokenizer / file).is_file():
                shutil.copy(tokenizer / file, tmp_path / name / file)
    assert "not of one model" in one_line(run_cli("train", "--encoder", "large"))
    assert "of another model" in one_line(run_cli("train", "--encoder", "small"))


@pytest.mark.usefixtures("words")
def test_a_vocabulary_without_a_mask(run_cli: Cli, tiny_bert: Path, tmp_path: Path) -> None:
    """DefSent's probe and prompt pooling need one; DefSent+ does not."""
    shutil.copytree(tiny_bert, tmp_path / "their")
    without_mask(tmp_path / "their")
    assert "the vocabulary has no mask token; use --method defsent-plus" in one_line(
        run_cli("train", "--encoder", "their", "--method", "defsent")
    )
    assert "prompt pooling needs a mask token" in one_line(run_cli("eval", "sts", "prompt:their"))
    Path("trial.toml").write_text(
        'title = "t"\nlanguage = "en"\n[[source]]\npath = "words.tsv"\nlanguage = "en"\n[[system]]\n'
        'name = "a"\nencoder = "their"\nevaluation = "prompt"\n'
    )
    assert "prompt pooling needs a mask token" in one_line(run_cli("run", "trial.toml"))
    result = run_cli("train", "--encoder", "their", "--method", "defsent-plus", "--pst", "1", "--json")
    assert result.exit_code == 0, result.output


@pytest.mark.slow
@pytest.mark.usefixtures("words")
def test_a_hub_that_is_not_there(tmp_path: Path) -> None:
    """With a hub that refuses every connection: one line, and no traceback, for an encoder that was named."""
    told = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "dictsent", "train", "--encoder", "nobody/nothing"]
    done = subprocess.run(
        command, env=os.environ | told, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert error.startswith("Error: nobody/nothing: the encoder cannot be loaded: ")


def test_fifty_definitions_can_be_trained_on(run_cli: Cli, tiny_bert: Path, tmp_path: Path) -> None:
    """Few, but enough for an encoder that exists; not to build one, and a handful is refused."""
    rows = MANY.splitlines(keepends=True)
    (tmp_path / "few.tsv").write_text("".join(rows[:50]))
    (tmp_path / "fewer.tsv").write_text("".join(rows[:15]))
    assert run_cli("ingest", "few.tsv", "--lang", "en").exit_code == 0
    for method in ("defsent", "defsent-plus"):
        result = run_cli("train", "--encoder", tiny_bert, "--method", method, "--json")
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["steps"][-1]["definitions"] >= 30
    for kind in ("scratch", "scratch:static"):
        assert "at least 100 definitions" in one_line(run_cli("train", "--encoder", kind))
    assert run_cli("--help").exit_code == 0
    assert run_cli("ingest", "fewer.tsv", "--lang", "de", "--store", "b.db").exit_code == 0
    assert "Error: " in one_line(run_cli("train", "--encoder", tiny_bert, "--store", "b.db"))
