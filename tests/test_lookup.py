"""Reverse lookup: the model's own entries answer, with their definitions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_cli import MANY, one_line

import dictsent
from dictsent.errors import EncoderError


@pytest.fixture
def trained(run_cli: Callable[..., Any], tiny_bert: Path) -> Callable[..., Any]:
    Path("words.tsv").write_text(MANY)
    run_cli("ingest", "words.tsv", "--lang", "en")
    for method, rate in (("defsent", "3e-3"), ("defsent-plus", "1e-2")):
        steps = ["--pst", "1"] if method == "defsent-plus" else []
        arguments = [
            "--method",
            method,
            "--encoder",
            tiny_bert,
            "--learning-rate",
            rate,
            "--epochs",
            "8",
            "--split",
            "none",
        ]
        assert run_cli("train", *arguments, *steps).exit_code == 0
    return run_cli


def test_lookup(trained: Callable[..., Any], tiny_bert: Path) -> None:
    answer = json.loads(trained("lookup", "a boat made from sea", "--json").stdout)
    assert answer["model"] == "runs/en-defsent-plus-1"
    assert len(answer["hits"]) == 10
    scores = [hit["score"] for hit in answer["hits"]]
    assert scores == sorted(scores, reverse=True)
    model = dictsent.load("runs/en-defsent-plus-1")
    (hits,) = model.lookup(["a boat made from sea"], 10)
    vector = model.model.entry_vectors(["a boat made from sea"]).numpy()[0]
    products = model.model.space.matrix.numpy() @ vector
    best = [model.model.space.names[row] for row in np.argsort(-products)[:10]]
    assert [hit.headwords for hit in hits] == best
    assert all(len(hit.definitions) == 2 for hit in hits)
    assert trained("lookup", "a boat made from sea").stdout.splitlines()[0].startswith("  1. ")
    words = dictsent.load("runs/en-defsent-1").predict_words(["a boat made from sea"], 3)
    assert len(words[0]) == 3
    assert dictsent.load("runs/en-defsent-1").lookup(["a boat made from sea"], 3) == words
    with pytest.raises(EncoderError, match="predicts no words"):
        dictsent.load(tiny_bert).lookup(["x"])
    assert "no finished run" in one_line(trained("lookup", "x", "--runs", "elsewhere"))
