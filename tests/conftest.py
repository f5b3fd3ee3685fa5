"""Fixtures that every test file may use, and the count of tests that needed real data."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny import WORDS, byte_tokenizer, train_masked, word_tokenizer

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# Several test processes with a thread for each core get in one another's way.
os.environ.setdefault("OMP_NUM_THREADS", "1")
for name in ("DICTSENT_STORE", "DICTSENT_RUNS", "DICTSENT_DATA", "DICTSENT_WORDNET"):
    os.environ.pop(name, None)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data files, which are not part of the project."""
    folder = os.environ.get("DICTSENT_TEST_DATA", "")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs real data: set DICTSENT_TEST_DATA")
    return Path(folder)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many tests needed real data, and how many of them were skipped for want of it."""
    ran = [r for key in ("passed", "failed") for r in terminalreporter.getreports(key) if "data" in r.keywords]
    skipped = [r for r in terminalreporter.getreports("skipped") if "data" in r.keywords]
    terminalreporter.write_line(
        f"real data: {len(ran) + len(skipped)} tests need it, {len(ran)} ran, {len(skipped)} were skipped"
    )


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT with masked-LM head over the words of WORDS, trained for a second."""
    import torch
    from transformers import BertConfig, BertForMaskedLM

    folder = tmp_path_factory.mktemp("tiny-bert")
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(WORDS) + 5,
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=40,
        initializer_range=0.2,
    )
    BertForMaskedLM(config).save_pretrained(folder)
    word_tokenizer(folder, WORDS)
    train_masked(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random RoBERTa with masked-LM head and a byte-level BPE tokenizer without prefix space."""
    import torch
    from transformers import RobertaConfig, RobertaForMaskedLM

    folder = tmp_path_factory.mktemp("tiny-roberta")
    size = byte_tokenizer(folder, [" " + " ".join(WORDS)] * 20)
    torch.manual_seed(2)
    config = RobertaConfig(
        vocab_size=size,
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=40,
        initializer_range=0.2,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
    )
    RobertaForMaskedLM(config).save_pretrained(folder)
    return folder


@pytest.fixture
def run_cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run `dictsent ARGS` in an empty folder: result.exit_code, .stdout, .stderr."""
    from click.testing import CliRunner

    from dictsent.cli import cli

    monkeypatch.chdir(tmp_path)
    return lambda *arguments, **more: CliRunner().invoke(cli, [str(a) for a in arguments], **more)
