"""Prompt pooling takes the state at its own mask, whatever the text holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from dictsent.encoder import Encoder
from dictsent.errors import EncoderError
from dictsent.tasks.prompting import Prompted, with_pooling
from dictsent.tasks.systems import load_system


def by_hand(encoder: Encoder, text: str) -> np.ndarray:
    """One prompt, no batch, the mask found from the end."""
    mask = encoder.tokenizer.mask_token
    ids = encoder.tokenizer(f'This sentence : "{text}" means {mask} . ')["input_ids"]
    place = max(i for i, token in enumerate(ids) if token == encoder.tokenizer.mask_token_id)
    with torch.no_grad():
        states = encoder.backbone(input_ids=torch.tensor([ids])).last_hidden_state
    vector: np.ndarray = states[0, place].numpy()
    return vector


@pytest.mark.parametrize("family", ["tiny_bert", "tiny_roberta"])
def test_prompted_is_the_state_at_the_prompts_mask(family: str, request: pytest.FixtureRequest) -> None:
    encoder = Encoder.load(request.getfixturevalue(family))
    mask = encoder.tokenizer.mask_token
    texts = ["a large cat", "", f"{mask} cat", "a dog"]
    expected = np.stack([by_hand(encoder, text) for text in texts])
    np.testing.assert_allclose(Prompted(encoder).encode(texts), expected, atol=1e-5)
    name = f"prompt:{request.getfixturevalue(family)}"
    np.testing.assert_allclose(load_system(name).encode(texts), expected, atol=1e-5)


def test_the_mask_survives_truncation(tiny_bert: Path) -> None:
    encoder = Encoder.load(tiny_bert)
    prompted = Prompted(encoder)
    short = prompted._fitted(prompted._ids(["cat"])[0])
    long = prompted._fitted(prompted._ids(["cat " * 2000])[0])
    assert len(long) == encoder.max_tokens
    assert long[-prompted._tail :] == short[-prompted._tail :]
    assert long[prompted._place(long)] == encoder.tokenizer.mask_token_id
    assert np.isfinite(prompted.encode(["cat " * 2000])).all()


def test_other_poolings_and_a_vocabulary_without_mask(tiny_bert: Path) -> None:
    encoder = Encoder.load(tiny_bert, pooling="mean")
    texts = ["a large cat", "a dog"]
    assert with_pooling(encoder, "") is encoder
    np.testing.assert_array_equal(
        with_pooling(encoder, "cls").encode(texts), Encoder.load(tiny_bert, pooling="cls").encode(texts)
    )
    encoder.tokenizer.mask_token = None
    with pytest.raises(EncoderError, match="mask token"):
        with_pooling(encoder, "prompt")
