"""Headwords as targets: one token, the mean of several, how many there are; token ids kept by content."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from test_training import MANY, pairs_of, settings_for
from torch.nn import functional as F
from transformers import AutoModelForMaskedLM

from dictsent.encoder import Encoder
from dictsent.errors import TrainingError
from dictsent.folders import prune
from dictsent.objective import HeadLoss
from dictsent.precision import has_bf16, used_precision
from dictsent.records import Pair
from dictsent.tokens import Tokens, cached, tokenise
from dictsent.train import train
from dictsent.vocabulary import coverage, pieces, single_tokens

TEXTS = ["a small animal that purrs", "water", "", "the king who rules the city near the river"]


def test_a_word_of_several_tokens_has_the_mean_of_their_output_embeddings(tiny_bert: Path) -> None:
    encoder = Encoder.load(tiny_bert)
    found = pieces(encoder.tokenizer, ["river bank", "stone bridge", "king", "zzz", "[MASK]"])
    ids = encoder.tokenizer.convert_tokens_to_ids
    # bank and bridge are no words of this vocabulary, and words it does not know give no piece.
    assert found == {"king": (ids("king"),)}
    found = pieces(encoder.tokenizer, ["river stone", "old king queen"])
    assert found == {
        "river stone": (ids("river"), ids("stone")),
        "old king queen": (ids("old"), ids("king"), ids("queen")),
    }
    whole = AutoModelForMaskedLM.from_pretrained(tiny_bert).eval()
    decoder = whole.get_output_embeddings()
    vectors = torch.randn(3, 24, generator=torch.Generator().manual_seed(0), requires_grad=True)
    weights = torch.stack([decoder.weight[list(word)].mean(0) for word in found.values()])
    biases = torch.stack([decoder.bias[list(word)].mean(0) for word in found.values()])
    states = whole.cls.predictions.transform(vectors)
    expected = torch.cat([decoder(states), states @ weights.T + biases], dim=1)
    loss = HeadLoss(encoder.head(), list(found.values()))
    torch.testing.assert_close(loss.logits(vectors), expected, atol=1e-5, rtol=1e-5)
    labels = torch.tensor([2, decoder.out_features, decoder.out_features + 1])
    (wanted,) = torch.autograd.grad(F.cross_entropy(expected, labels), vectors)
    (got,) = torch.autograd.grad(loss(vectors, labels), vectors)
    torch.testing.assert_close(got, wanted, atol=1e-6, rtol=1e-5)


def test_pieces_of_byte_level_words_begin_words(tiny_roberta: Path) -> None:
    tokenizer = Encoder.load(tiny_roberta).tokenizer
    found = pieces(tokenizer, ["water stone", "zebra"])
    assert tokenizer.convert_ids_to_tokens(list(found["water stone"])) == ["Ġwater", "Ġstone"]
    assert tokenizer.convert_ids_to_tokens(list(found["zebra"]))[0].startswith("Ġ")


def test_words_of_several_tokens_take_part_when_asked(tiny_bert: Path) -> None:
    start = Encoder.load(tiny_bert)
    more = pairs_of([(p.headword, p.definition) for p in MANY.train] + [("river stone", "a hard piece of rock")] * 3)
    left, taken = (train(start, more, settings_for("defsent", oov=oov)) for oov in ("leave", "mean"))
    assert (left.log[0].definitions, taken.log[0].definitions) == (30, 33)
    assert left.coverage["headwords"] == 7
    assert taken.coverage == {
        "definitions": 33, "of_definitions": 33,
        "headwords": 8, "of_headwords": 8, "headwords_of_several_tokens": 1,
    }  # fmt: skip


def test_coverage_is_counted_and_thin_coverage_warns(tiny_bert: Path) -> None:
    tokenizer = Encoder.load(tiny_bert).tokenizer
    pairs = [Pair(0, "cat", "x y"), Pair(0, "cat", "z"), Pair(1, "unknown thing", "z")]
    found = coverage(single_tokens(tokenizer, (p.headword for p in pairs)), pairs)
    assert (found.headwords, found.of_headwords, found.definitions, found.of_definitions) == (1, 2, 2, 3)
    assert str(found) == "1 of 2 headwords are one token of this encoder, 2 of 3 definitions (66.7 %)"
    assert found.warning == ""
    thin = coverage({"cat": 1}, [Pair(0, "cat", "x"), *(Pair(i, f"w{i}", "x") for i in range(1, 10))])
    assert "only 10.0 %" in thin.warning
    assert "--method defsent-plus" in thin.warning


@given(st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=9), max_size=9))
def test_flat_tokens_are_the_lists(lists: list[list[int]]) -> None:
    tokens = Tokens.of(lists)
    assert [ids.tolist() for ids in tokens] == lists
    assert tokens.lengths.tolist() == [len(ids) for ids in lists]
    assert [ids.tolist() for ids in tokens[1:3]] == lists[1:3]


def test_tokens_are_kept_by_content(tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dictsent import tokens as module

    encoder = Encoder.load(tiny_bert)
    expected = encoder.tokenise(TEXTS)
    encoder.cache = tmp_path / "cache"
    assert [ids.tolist() for ids in encoder.tokens(TEXTS)] == expected
    monkeypatch.setattr(module, "tokenise", lambda *_, **__: pytest.fail("tokenised again"))
    again = encoder.tokens(TEXTS)
    assert [ids.tolist() for ids in again] == expected
    assert isinstance(again.ids, np.memmap)
    # A call with other padding or truncation changes the backend's state, not the tokenizer.
    encoder.tokenizer(["a"], padding="max_length", max_length=5, truncation=True)
    assert len(encoder.tokens(TEXTS)) == 4
    monkeypatch.undo()
    assert len(list((tmp_path / "cache").iterdir())) == 1
    cached(encoder.tokenizer, TEXTS, tmp_path / "cache", longest=4)
    cached(encoder.tokenizer, TEXTS[:2], tmp_path / "cache", longest=40)
    assert len(list((tmp_path / "cache").iterdir())) == 3


def test_what_was_used_longest_ago_goes(tmp_path: Path) -> None:
    for age, name in enumerate(("tokens-a", "tokens-b", "tokens-c", "entries-d")):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    prune(tmp_path, "tokens-*", kept=2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["entries-d", "tokens-a", "tokens-b"]


def test_tokenising_in_parts_is_tokenising(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dictsent.tokens._PART", 2)
    encoder = Encoder.load(tiny_bert)
    assert [ids.tolist() for ids in tokenise(encoder.tokenizer, TEXTS, longest=6)] == [
        encoder.tokenizer(text, truncation=True, max_length=6)["input_ids"] for text in TEXTS
    ]


def test_precision_is_what_the_processor_has(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = torch.device("cpu")
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": False, "amx_bf16": False}, raising=False)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    assert not has_bf16(cpu)
    assert used_precision("auto", cpu) == used_precision("float32", cpu) == "float32"
    with pytest.raises(TrainingError, match="no bfloat16"):
        used_precision("bf16", cpu)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True}, raising=False)
    assert has_bf16(cpu)
    assert used_precision("auto", cpu) == "float32"
    assert used_precision("bf16", cpu) == "bf16"
