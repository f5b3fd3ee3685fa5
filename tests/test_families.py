"""Every encoder family: the head as a function of a vector, and the layer DefSent+'s pooler is copied from."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForMaskedLM, PreTrainedModel

from dictsent.dropout import cheap_masks, dropout
from dictsent.encoder import Encoder
from dictsent.heads import MaskedLMHead, make_pooler, probe_head

SIZES: dict[str, Any] = {
    "vocab_size": 60,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 40,
    "bos_token_id": 0,
    "cls_token_id": 0,
    "pad_token_id": 1,
    "eos_token_id": 2,
    "sep_token_id": 2,
    "mask_token_id": 4,
}
OTHER_NAMES: dict[str, dict[str, Any]] = {
    "albert": {"embedding_size": 16},
    "distilbert": {"dim": 24, "n_layers": 2, "n_heads": 2, "hidden_dim": 32},
    "electra": {"embedding_size": 16},
    "convbert": {"embedding_size": 24},
    "eurobert": {"num_key_value_heads": 2, "head_dim": 12},
    "flaubert": {"emb_dim": 24, "n_layers": 2, "n_heads": 2, "n_words": 60},
    "modernbert": {"global_attn_every_n_layers": 2, "local_attention": 8},
    "rembert": {"input_embedding_size": 16, "output_embedding_size": 20},
    "xlm": {"emb_dim": 24, "n_layers": 2, "n_heads": 2, "n_words": 60},
}
TRANSFORM = {
    # Families whose head has a square dense layer; the others get the identity.
    **dict.fromkeys(["bert", "ernie", "megatron-bert", "deberta", "deberta-v2", "nomic_bert"], "mlm"),
    **dict.fromkeys(["roberta", "xlm-roberta", "camembert", "mpnet", "modernbert", "distilbert"], "mlm"),
    **dict.fromkeys(["albert", "electra", "rembert", "eurobert", "xlm", "flaubert", "convbert"], "identity"),
}


def tiny(family: str) -> PreTrainedModel:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = AutoConfig.for_model(family, **{**SIZES, **OTHER_NAMES.get(family, {})})
        return AutoModelForMaskedLM.from_config(config).eval()


@pytest.mark.parametrize("family", TRANSFORM)
def test_head_of_the_states_gives_the_whole_models_logits(family: str) -> None:
    model = tiny(family)
    ids = torch.randint(5, 60, (3, 9), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[1, 6:] = 0
    with torch.no_grad():
        expected = model(input_ids=ids, attention_mask=mask).logits
        states = model.base_model(input_ids=ids, attention_mask=mask).last_hidden_state
        got = MaskedLMHead(model)(states.flatten(0, 1)).view_as(expected)
    torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("family", "taken"), TRANSFORM.items())
def test_pooler_of_each_family(family: str, taken: str) -> None:
    pooler, word = make_pooler("auto", dim=24, masked_lm=tiny(family), native=None)
    assert word == taken
    assert pooler(torch.ones(2, 24)).shape == (2, 24)
    assert all(p.requires_grad for p in pooler.parameters())


PACKED = {
    "bert",
    "ernie",
    "roberta",
    "xlm-roberta",
    "camembert",
    "distilbert",
    "electra",
    "albert",
    "eurobert",
    "nomic_bert",
}
"""Families whose sentences are trained end to end; the others' in padded batches of like length."""


@pytest.mark.parametrize("family", TRANSFORM)
def test_sentences_end_to_end_where_the_vectors_are_the_same(family: str, tiny_bert: Path) -> None:
    encoder = Encoder.load(tiny_bert)
    encoder.backbone = tiny(family).base_model
    generator = torch.Generator().manual_seed(0)
    ids = [torch.randint(5, 60, (length,), generator=generator).tolist() for length in (3, 4, 4, 9, 12, 20)]
    assert encoder.can_pack(ids) == (family in PACKED)
    before = encoder.pooled(**encoder.padded(ids))
    encoder.can_pack(ids)
    assert torch.equal(encoder.pooled(**encoder.padded(ids)), before)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_dropout_of_cheap_masks(share: float) -> None:
    torch.manual_seed(0)
    states = torch.ones(301, 997)
    found = dropout(states, share)
    assert (found == 0).float().mean().item() == pytest.approx(share, abs=0.003)
    assert found.mean().item() == pytest.approx(1, abs=0.003)
    assert found.unique().numel() == 2
    layers = torch.nn.Sequential(torch.nn.Dropout(share))
    with cheap_masks(layers):
        assert torch.equal(layers.eval()(states), states)
        assert (layers.train()(states) == 0).float().mean().item() == pytest.approx(share, abs=0.003)
    assert dropout(states, 0.0) is states


def test_gradients_reach_the_vectors_and_not_the_head() -> None:
    model = tiny("roberta").requires_grad_(False)
    vectors = torch.randn(2, 24, requires_grad=True)
    MaskedLMHead(model)(vectors).sum().backward()
    assert vectors.grad is not None
    assert all(p.grad is None for p in model.parameters())


def test_a_random_head_is_told_from_a_trained_one() -> None:
    model = tiny("bert").train()
    texts = [[0, a, a + 1, a + 2, 2] for a in range(5, 55)] * 4
    rank, least = probe_head(model.eval(), texts, mask=4, special={0, 2})
    assert rank < least
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    ids = torch.tensor(texts[:50])
    for step in range(150):
        masked = ids.clone()
        masked[:, 1 + step % 3] = 4
        loss = torch.nn.functional.cross_entropy(model(input_ids=masked).logits.flatten(0, 1), ids.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    rank, least = probe_head(model.eval(), texts, mask=4, special={0, 2})
    assert rank > least
