"""The frozen masked-LM head of any encoder, and the pooler DefSent+ trains.

Before: a checkpoint. After: dictsent.objective puts a head or a pooler behind the encoder.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.activations import ACT2FN
from transformers.modeling_outputs import BaseModelOutputWithPoolingAndCrossAttentions

from dictsent.errors import EncoderError
from dictsent.settings import PoolerKind

_TRANSFORMS = (
    # Where each family keeps the dense layer of its head, and the activation behind it ("" : the config's hidden_act).
    ("cls.predictions.transform.dense", ""),  # bert, ernie, megatron-bert, deberta, nomic_bert
    ("lm_head.dense", "gelu"),  # roberta, xlm-roberta, camembert, mpnet, xmod
    ("head.dense", ""),  # modernbert
    ("vocab_transform", "gelu"),  # distilbert
)


class MaskedLMHead(nn.Module):
    """The encoder's own masked-LM head as a function of a sentence vector (DefSent, section 2.1).

    The checkpoint's whole model runs with its base replaced by a pass-through: every family's head is thereby exactly
    the one its authors wrote. Frozen; it shares its weights with the model it was taken from.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        # In a tuple, so that neither optimiser nor checkpoint sees weights that are tied to the encoder's.
        self._model = (model,)

    @property
    def vocabulary(self) -> int:
        """Logits of one vector."""
        return int(self._model[0].get_output_embeddings().weight.shape[0])

    def forward(self, vectors: Tensor) -> Tensor:
        """Logits over the vocabulary `(batch, vocabulary)` for vectors `(batch, dim)`."""
        model = self._model[0]
        name = model.base_model_prefix
        base = getattr(model, name)
        shell = _PassThrough(vectors.unsqueeze(1), base)
        model._modules[name] = shell
        try:
            logits: Tensor = model(input_ids=vectors.new_zeros((len(vectors), 1), dtype=torch.long)).logits
        finally:
            model._modules[name] = base
        return logits.squeeze(1)


class _States(BaseModelOutputWithPoolingAndCrossAttentions):
    """An output with nothing but states: fields that only one family's base returns are None."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


class _PassThrough(nn.Module):
    """Stands in for the base model and returns the given states `(batch, 1, dim)` as its last hidden state."""

    def __init__(self, states: Tensor, base: nn.Module) -> None:
        super().__init__()
        self.states = states
        self._base = (base,)

    def forward(self, *_: object, **__: object) -> _States:
        return _States(last_hidden_state=self.states)

    def __getattr__(self, name: str) -> Any:
        # Some heads read their tied weights through the base ("self.bert.embeddings").
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.__dict__["_base"][0], name)


class Pooler(nn.Module):
    """Dense layer and activation between pooled states and the entry matrix (DefSent+, section 3).

    It trains with the encoder and is not used to encode sentences afterwards; reverse lookup needs it.
    """

    def __init__(self, dim: int, activation: str) -> None:
        super().__init__()
        self.dense = nn.Linear(dim, dim) if activation != "identity" else None
        self.activation = activation

    def forward(self, vectors: Tensor) -> Tensor:
        """`(batch, dim)` to `(batch, dim)`."""
        if self.dense is None:
            return vectors
        return ACT2FN[self.activation](self.dense(vectors))  # type: ignore[no-any-return]

    @classmethod
    def copied(cls, dense: nn.Linear, activation: str) -> Pooler:
        """A trainable copy of a checkpoint's layer; a missing bias starts at zero."""
        pooler = cls(dense.out_features, activation)
        assert pooler.dense is not None
        with torch.no_grad():
            pooler.dense.weight.copy_(dense.weight)
            pooler.dense.bias.copy_(dense.bias if dense.bias is not None else torch.zeros(dense.out_features))
        return pooler


def make_pooler(
    kind: PoolerKind, *, dim: int, masked_lm: PreTrainedModel | None, native: nn.Linear | None
) -> tuple[Pooler, str]:
    """The pooler that `kind` asks for and the word for what was taken.

    auto: the checkpoint's own pooler (BERT: dense + tanh), else the dense layer of its head without LayerNorm
    (RoBERTa: with the exact GELU), else none. METHODS, "Pooler".

    Raises:
        EncoderError: the encoder has no such layer.
    """
    transform = _transform(masked_lm) if masked_lm is not None else None
    if kind in ("auto", "native") and native is not None:
        return Pooler.copied(native, "tanh"), "native"
    if kind in ("auto", "mlm") and transform is not None:
        return Pooler.copied(*transform), "mlm"
    if kind in ("auto", "identity"):
        return Pooler(dim, "identity"), "identity"
    raise EncoderError(f"the encoder has no {kind} pooler", hint="use --pooler auto")


def probe_head(
    model: PreTrainedModel, ids: Sequence[list[int]], *, mask: int, special: Container[int], seed: int = 0
) -> tuple[float, float]:
    """How well a masked-LM head fills masks: (mean reciprocal rank, the least that is not chance).

    In each text one token, chosen by the seed, is masked. The bound is what a random head gives plus four standard
    errors: a uniform rank among v words has mean reciprocal H(v)/v and second moment pi^2/6v at most.
    """
    generator = torch.Generator().manual_seed(seed)
    found: list[float] = []
    for sequence in ids:
        places = [i for i, token in enumerate(sequence) if token not in special]
        if not places:
            continue
        place = places[int(torch.randint(len(places), (1,), generator=generator))]
        tokens = torch.tensor([sequence], device=model.device)
        answer = int(tokens[0, place])
        tokens[0, place] = mask
        with torch.no_grad():
            logits = model(input_ids=tokens).logits[0, place].float()
        found.append(1.0 / (1.0 + float((logits > logits[answer]).sum())))
    words = model.get_output_embeddings().weight.shape[0]
    chance = sum(1.0 / rank for rank in range(1, words + 1)) / words
    error = math.sqrt(math.pi**2 / 6 / words / max(1, len(found)))
    return sum(found) / max(1, len(found)), chance + 4 * error


def missing_head_keys(missing: Iterable[str], model: PreTrainedModel) -> list[str]:
    """The weights of the head, tied ones aside, that a checkpoint did not hold."""
    prefix = f"{model.base_model_prefix}."
    tied = set(getattr(model, "all_tied_weights_keys", None) or {})
    return sorted(key for key in missing if not key.startswith(prefix) and key not in tied)


def _transform(model: PreTrainedModel) -> tuple[nn.Linear, str] | None:
    for path, activation in _TRANSFORMS:
        try:
            dense = model.get_submodule(path)
        except AttributeError:
            continue
        if isinstance(dense, nn.Linear) and dense.in_features == dense.out_features:
            config = model.config
            default = getattr(config, "hidden_act", None) or getattr(config, "hidden_activation", None) or "gelu"
            return dense, activation or str(default)
    return None
