"""Encoder, heads, vocabulary: what goes into a model is what the library says of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import WORDS, word_tokenizer
from transformers import AutoModel, AutoModelForMaskedLM, BertConfig, BertModel

from dictsent.encoder import Encoder, pool
from dictsent.errors import EncoderError, HeadError
from dictsent.heads import MaskedLMHead, make_pooler
from dictsent.tokens import batches_by_length, micro_batches
from dictsent.vocabulary import single_tokens

SENTENCES = ["a small animal that purrs", "water", "the king who rules the city near the river", "", "a small animal"]


@pytest.mark.parametrize("family", ["tiny_bert", "tiny_roberta"])
def test_head_of_token_states_gives_the_whole_models_logits(family: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(family)
    encoder = Encoder.load(folder)
    whole = AutoModelForMaskedLM.from_pretrained(folder).eval()
    batch = encoder.padded(encoder.tokenise(SENTENCES))
    with torch.no_grad():
        expected = whole(**batch).logits
        states = encoder.backbone(**batch).last_hidden_state
        got = MaskedLMHead(encoder.masked_lm)(states.flatten(0, 1)).view_as(expected)
    torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("family", ["tiny_bert", "tiny_roberta"])
@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_batched_vectors_equal_one_sentence_at_a_time(
    family: str, pooling: str, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(family)
    encoder = Encoder.load(folder, pooling=pooling)
    model = AutoModel.from_pretrained(folder).eval()
    for sentence, vector in zip(SENTENCES, encoder.encode(SENTENCES), strict=True):
        ids = torch.tensor([encoder.tokenizer(sentence)["input_ids"]])
        with torch.no_grad():
            states = model(input_ids=ids).last_hidden_state[0]
        expected = {"cls": states[0], "mean": states.mean(0), "max": states.amax(0)}[pooling]
        np.testing.assert_allclose(vector, expected.numpy(), atol=1e-5)


def test_weighted_pooling_is_the_weighted_mean() -> None:
    states = torch.arange(12.0).view(1, 4, 3)
    mask, weights = torch.tensor([[1, 1, 1, 0]]), torch.tensor([[0.0, 1.0, 3.0, 5.0]])
    got = pool(states, mask, "weighted", weights=weights)
    torch.testing.assert_close(got[0], (states[0, 1] + 3 * states[0, 2]) / 4)


def test_long_texts_are_cut_and_keep_their_last_special_token(tiny_bert: Path, tiny_roberta: Path) -> None:
    for folder, longest in ((tiny_bert, 40), (tiny_roberta, 36)):
        encoder = Encoder.load(folder)
        (ids,) = encoder.tokenise(["water " * 600])
        assert len(ids) == longest
        assert ids[-1] == encoder.tokenizer.sep_token_id
        assert encoder.encode(["water " * 600]).shape == (1, 24)


def test_headword_is_one_token_in_its_word_initial_form(tiny_bert: Path, tiny_roberta: Path) -> None:
    bert = Encoder.load(tiny_bert).tokenizer
    found = single_tokens(bert, ["cat", "Cat", "cats", "a cat", "unknownword", "[MASK]"])
    assert found == {"cat": bert.convert_tokens_to_ids("cat"), "Cat": bert.convert_tokens_to_ids("cat")}
    roberta = Encoder.load(tiny_roberta).tokenizer
    found = single_tokens(roberta, ["water", "zebra", "<mask>"])
    assert {w: roberta.convert_ids_to_tokens(i) for w, i in found.items()} == {"water": "Ġwater"}


def test_prefix_space_makes_bare_words_word_initial(tiny_roberta: Path) -> None:
    plain, prefixed = (Encoder.load(tiny_roberta, prefix_space=flag) for flag in (False, True))
    assert plain.tokenise(["water"]) != prefixed.tokenise(["water"])
    assert prefixed.tokenise(["water"]) == plain.tokenise([" water"])


@pytest.fixture(scope="session")
def headless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("headless")
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(WORDS) + 5, hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    BertModel(config).save_pretrained(folder)
    word_tokenizer(folder, WORDS)
    return folder


def test_a_checkpoint_without_head_is_refused_for_defsent_only(headless: Path) -> None:
    encoder = Encoder.load(headless)
    assert encoder.encode(["water"]).shape == (1, 24)
    with pytest.raises(HeadError, match=r"cls\.predictions.*defsent-plus"):
        encoder.head()


def test_pooler_is_the_checkpoints_own_else_the_heads_dense_else_nothing(
    tiny_bert: Path, tiny_roberta: Path, headless: Path
) -> None:
    def taken(folder: Path, kind: str = "auto") -> tuple[str, str, torch.Tensor | None]:
        encoder = Encoder.load(folder)
        pooler, word = make_pooler(kind, dim=encoder.dim, masked_lm=encoder.masked_lm, native=encoder.native_pooler)
        return word, pooler.activation, None if pooler.dense is None else pooler.dense.weight

    assert taken(headless)[:2] == ("native", "tanh")
    word, activation, weight = taken(tiny_roberta)
    assert (word, activation) == ("mlm", "gelu")
    head = AutoModelForMaskedLM.from_pretrained(tiny_roberta).lm_head
    torch.testing.assert_close(weight, head.dense.weight)
    assert taken(tiny_bert)[:2] == ("mlm", "gelu")
    assert taken(tiny_bert, "identity") == ("identity", "identity", None)
    with pytest.raises(EncoderError, match="native"):
        taken(tiny_bert, "native")


@pytest.mark.parametrize("name", ["no/such-model", "missing-folder"])
def test_what_cannot_be_loaded_is_one_clear_error(name: str) -> None:
    with pytest.raises(EncoderError, match="cannot be loaded") as caught:
        Encoder.load(name)
    assert "\n" not in str(caught.value)


def test_a_tokenizer_of_another_model_is_refused(tiny_bert: Path, tmp_path: Path) -> None:
    AutoModelForMaskedLM.from_pretrained(tiny_bert).save_pretrained(tmp_path)
    word_tokenizer(tmp_path, [*WORDS, "more", "words"])
    with pytest.raises(EncoderError, match="not of one model"):
        Encoder.load(tmp_path)


def test_batches_hold_every_index_once() -> None:
    lengths = [3, 9, 1, 4, 4, 30, 2, 2, 2, 7]
    assert sorted(i for part in micro_batches(lengths) for i in part) == list(range(10))
    parts = list(batches_by_length(lengths, tokens=32))
    assert sorted(i for part in parts for i in part) == list(range(10))
    assert all(len(part) * max(lengths[i] for i in part) <= 32 for part in parts)
