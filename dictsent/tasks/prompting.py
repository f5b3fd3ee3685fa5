"""Prompt pooling: a sentence's vector is the hidden state at the mask of `This sentence : "X" means [MASK] . `.

Before: dictsent.encoder. After: STS and SentEval under DefSent+'s evaluation pooling (its Table 7; METHODS).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from dictsent.encoder import Encoder
from dictsent.errors import EncoderError
from dictsent.settings import Pooling
from dictsent.tasks.embedding import TextEncoder
from dictsent.tokens import batches_by_length

_BEFORE, _AFTER = 'This sentence : "', '" means {mask} . '
_TOKENS_PER_BATCH = 8_192


class Prompted:
    """An encoder under prompt pooling (PromptBERT, as DefSent+ evaluates).

    Raises:
        EncoderError: the vocabulary has no mask token.
    """

    def __init__(self, encoder: Encoder) -> None:
        mask = encoder.tokenizer.mask_token
        if mask is None:
            raise EncoderError(
                "prompt pooling needs a mask token, which the vocabulary has not",
                where=encoder.name,
                hint="evaluate with cls or mean",
            )
        self._encoder = encoder
        self._mask = int(encoder.tokenizer.mask_token_id)
        self._after = _AFTER.format(mask=mask)
        self._tail = self._after_text(self._ids([""])[0])

    def encode(self, texts: list[str], /) -> NDArray[np.float32]:
        """(n, d)."""
        rows = [self._fitted(ids) for ids in self._ids(texts)]
        vectors = np.empty((len(rows), self._encoder.dim), dtype=np.float32)
        encoder = self._encoder
        for part in batches_by_length([len(row) for row in rows], tokens=_TOKENS_PER_BATCH):
            batch = {k: v.to(encoder.device) for k, v in encoder.padded([rows[i] for i in part]).items()}
            places = torch.tensor([self._place(rows[i]) for i in part], device=encoder.device)
            with torch.no_grad():
                states = encoder.backbone(**batch).last_hidden_state
            vectors[part] = states[torch.arange(len(part)), places].float().cpu().numpy()
        return vectors

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        if not texts:
            return []
        whole = [f"{_BEFORE}{text}{self._after}" for text in texts]
        found = self._encoder.tokenizer(whole, truncation=False, return_attention_mask=False, verbose=False)
        return list(found["input_ids"])

    def _place(self, ids: Sequence[int]) -> int:
        """Of the prompt's own mask: the last one, since a mask in the text stands before it."""
        return len(ids) - 1 - list(reversed(ids)).index(self._mask)

    def _after_text(self, ids: Sequence[int]) -> int:
        """How many tokens stand behind the text: quotation mark and verb, the mask, and what follows it."""
        plain = self._encoder.tokenizer(_AFTER.partition("{")[0], add_special_tokens=False)["input_ids"]
        return len(ids) - self._place(ids) + len(plain)

    def _fitted(self, ids: list[int]) -> list[int]:
        """A prompt that is too long loses the end of its text, never its mask."""
        over = len(ids) - self._encoder.max_tokens
        return ids if over <= 0 else ids[: len(ids) - self._tail - over] + ids[len(ids) - self._tail :]


def with_pooling(encoder: Encoder, pooling: str) -> TextEncoder:
    """The encoder under another pooling at evaluation: cls, mean, max, prompt; "" for its own."""
    if not pooling:
        return encoder
    if pooling == "prompt":
        return Prompted(encoder)
    chosen: Pooling = pooling  # type: ignore[assignment]
    return replace(encoder, pooling=chosen)
