"""Encoder: backbone, tokenizer and pooling; sentences in, vectors out.

Before: a checkpoint folder or hub name. After: dictsent.entryspace embeds with it, dictsent.train trains it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging as transformers_logging

from dictsent.errors import EncoderError, HeadError
from dictsent.heads import MaskedLMHead, missing_head_keys, probe_head
from dictsent.hub import must_stay_local
from dictsent.packing import ATTENTION, Layout, packed, unpacked
from dictsent.precision import Used, computing
from dictsent.settings import Pooling
from dictsent.tokens import Tokens, batches_by_length, cached, encode, tokenise

MAX_TOKENS = 512
PROBES = 200
"""Definitions that a head is tried on."""
_TOKENS_PER_BATCH = {"cpu": 8_192}
_TOKENS_PER_BATCH_GPU = 65_536
_WAITING = 32
"""Batches whose vectors stay on a GPU before they are fetched: it need not wait for us after each."""


@dataclass(slots=True)
class Encoder:
    """A transformer with its tokenizer and the way its token states become one vector.

    Attributes:
        backbone: the transformer without head; where `masked_lm` is set, it is that model's own base.
        masked_lm: the whole masked-LM model, None where the checkpoint has no such head.
        native_pooler: the checkpoint's own pooling layer (Google's BERTs), None where it has none.
        token_weights: `(vocabulary,)`, for weighted pooling.
        no_head: why `masked_lm` is None.
        finished: a sentence encoder whose vectors were trained as they are: no layer stood behind its pooling, and a
            pooler that its checkpoint holds all the same was left as it was before.
        precision: of `embed`.
        cache: the folder where token ids are kept between trainings; None keeps none.
    """

    backbone: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    pooling: Pooling
    name: str
    masked_lm: PreTrainedModel | None = None
    native_pooler: nn.Linear | None = None
    token_weights: Tensor | None = None
    no_head: str = ""
    max_tokens: int = MAX_TOKENS
    finished: bool = False
    precision: Used = "float32"
    cache: Path | None = None
    _head: MaskedLMHead | None = field(default=None, repr=False)

    @classmethod
    def load(cls, name: str | Path, *, pooling: Pooling | None = None, prefix_space: bool = False) -> Self:
        """Load a local folder or a hub name.

        `pooling` None takes what the folder's sentence-transformers modules say, else the mean. `prefix_space` sets
        add_prefix_space on byte-level BPE tokenizers (DefSent's RoBERTa).

        Raises:
            EncoderError: it cannot be loaded, or its tokenizer does not fit.
        """
        name = str(name)
        _require_model(Path(name))
        try:
            kept = _kept_pooling(Path(name))
        except (ValueError, KeyError, TypeError) as error:
            raise EncoderError(f"its modules.json cannot be read: {error}", where=name) from error
        with quiet():
            local = must_stay_local(name)
            tokenizer = _load_tokenizer(name, prefix_space=prefix_space, local=local)
            backbone, masked_lm, reason = _load_model(name, local=local)
            bert = masked_lm is None or _is_bert(backbone)
            native = _load_native_pooler(name, backbone, local=local) if bert else None
        _check_tokenizer(tokenizer, backbone, name)
        weights = torch.tensor(kept.weights) if kept.weights is not None else None
        encoder = cls(
            backbone=backbone,
            tokenizer=tokenizer,
            pooling=pooling or kept.pooling or "mean",
            name=name,
            masked_lm=masked_lm,
            native_pooler=native,
            token_weights=weights,
            no_head=reason,
            max_tokens=_longest(tokenizer, backbone),
            finished=kept.pooling is not None and masked_lm is None,
        )
        encoder.backbone.eval()
        whole: torch.nn.Module = masked_lm if masked_lm is not None else backbone
        whole.to(best_device())
        return encoder

    @property
    def dim(self) -> int:
        """Width of the vectors."""
        return int(self.backbone.config.hidden_size)

    @property
    def device(self) -> torch.device:
        """Where the backbone is."""
        return self.backbone.device

    def head(self) -> MaskedLMHead:
        """The frozen masked-LM head. Raises HeadError where the encoder has none."""
        if self.masked_lm is None:
            raise HeadError(
                f"the encoder has no usable masked-LM head ({self.no_head}), which DefSent needs",
                where=self.name,
                hint="use --method defsent-plus, or another --encoder",
            )
        if self._head is None:
            self._head = MaskedLMHead(self.masked_lm)
        return self._head

    def check_head(self, texts: Sequence[str], *, seed: int = 0) -> float:
        """Fill masks in a sample of `texts`; returns the mean reciprocal rank.

        Raises:
            HeadError: there is no head, or it fills them no better than chance (random or badly loaded weights).
        """
        self.head()
        mask = self.tokenizer.mask_token_id
        if mask is None:
            raise HeadError("the vocabulary has no mask token", where=self.name, hint="use --method defsent-plus")
        assert self.masked_lm is not None
        ids = self.tokenise(texts[:PROBES])
        special = set(self.tokenizer.all_special_ids)
        rank, least = probe_head(self.masked_lm, ids, mask=mask, special=special, seed=seed)
        if rank < least:
            raise HeadError(
                f"the masked-LM head fills masks no better than chance (MRR {rank:.4f} on {len(ids)} definitions,"
                f" chance is below {least:.4f}): its weights are random or of another vocabulary",
                where=self.name,
                hint="use --method defsent-plus, or another --encoder",
            )
        return rank

    def tokenise(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids with the special ones, cut at `max_tokens`."""
        return encode(self.tokenizer, texts, longest=self.max_tokens)

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """The same as flat arrays, kept in `cache`."""
        if self.cache is None:
            return tokenise(self.tokenizer, texts, longest=self.max_tokens)
        return cached(self.tokenizer, texts, self.cache, longest=self.max_tokens)

    def padded(self, ids: Sequence[Sequence[int] | NDArray[np.int32]]) -> dict[str, Tensor]:
        """input_ids and attention_mask `(batch, longest)`, on the CPU."""
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        real = np.arange(lengths.max()) < lengths[:, None]
        tokens = np.full(real.shape, self.tokenizer.pad_token_id or 0, dtype=np.int64)
        tokens[real] = np.concatenate(ids)
        return {"input_ids": torch.from_numpy(tokens), "attention_mask": torch.from_numpy(real.astype(np.int64))}

    def pooled(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Sentence vectors `(batch, dim)` of one padded batch; token types are left at zero."""
        states = self.backbone(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return pool(states, attention_mask, self.pooling, weights=self._weights_of(input_ids))

    def pooled_packed(self, input_ids: Tensor, position_ids: Tensor, layout: Layout) -> Tensor:
        """Sentence vectors `(batch, dim)` of sentences end to end (dictsent.packing), while `packing` is on."""
        states = self.backbone(input_ids=input_ids, position_ids=position_ids, layout=layout).last_hidden_state
        weights = self._weights_of(input_ids)
        padded, mask = unpacked(states, layout.lengths)
        if weights is not None:
            weights = unpacked(weights.unsqueeze(-1), layout.lengths)[0].squeeze(-1)
        return pool(padded, mask, self.pooling, weights=weights)

    def packed(self, ids: Sequence[Sequence[int] | NDArray[np.int32]]) -> dict[str, Any]:
        """What `pooled_packed` takes, of token ids in ascending order of length."""
        return packed(ids, first_position=_first_position(self.backbone))

    @contextmanager
    def packing(self) -> Iterator[None]:
        """Within it the backbone takes sentences end to end, and no padded ones."""
        before = self.backbone.config._attn_implementation
        self.backbone.set_attn_implementation(ATTENTION)
        try:
            yield
        finally:
            self.backbone.set_attn_implementation(before)

    @torch.no_grad()
    def can_pack(self, ids: Sequence[Sequence[int] | NDArray[np.int32]]) -> bool:
        """Whether sentences end to end give the vectors that padded ones do, tried on `ids`.

        Families differ in how positions are numbered and whether attention can be replaced at all: what one does is
        not looked up but tried.
        """
        if self.device.type != "cpu":
            return False
        training = self.backbone.training
        self.backbone.eval()
        try:
            expected = self.pooled(**self.padded(ids))
            with quiet(), self.packing():
                found = self.pooled_packed(**self.packed(ids))
        except (TypeError, ValueError, RuntimeError, AttributeError, KeyError, IndexError):
            return False
        finally:
            self.backbone.train(training)
        scale = float(expected.nan_to_num().abs().max())
        return torch.allclose(found, expected, rtol=1e-3, atol=1e-5 * scale, equal_nan=True)

    def _weights_of(self, input_ids: Tensor) -> Tensor | None:
        if self.pooling != "weighted":
            return None
        if self.token_weights is None:
            raise EncoderError("weighted pooling needs token weights", where=self.name, hint="use another --pooling")
        return self.token_weights.to(input_ids.device)[input_ids]

    @torch.no_grad()
    def embed(self, texts: Sequence[str], *, progress: Callable[[int], None] = lambda _: None) -> Tensor:
        """Sentence vectors `(n, dim)` on the CPU in evaluation mode: batches by length, in the order given.

        `progress` is told how many texts each batch held.
        """
        training = self.backbone.training
        self.backbone.eval()
        tokens = self.tokens(texts)
        vectors = torch.empty((len(tokens), self.dim), dtype=torch.float32)
        waiting: list[tuple[list[int], Tensor]] = []
        size = _TOKENS_PER_BATCH.get(self.device.type, _TOKENS_PER_BATCH_GPU)
        with computing(self.precision, self.device):
            for rows in batches_by_length(tokens.lengths, tokens=size):
                batch = {k: v.to(self.device) for k, v in self.padded([tokens[r] for r in rows]).items()}
                waiting.append((rows, self.pooled(**batch).float()))
                if self.device.type == "cpu" or len(waiting) == _WAITING:
                    _fetch(waiting, vectors)
                progress(len(rows))
            _fetch(waiting, vectors)
        self.backbone.train(training)
        return vectors

    def encode(self, sentences: Sequence[str]) -> NDArray[np.float32]:
        """Sentence vectors `(n, dim)`; each distinct sentence is computed once. (The TextEncoder protocol.)"""
        distinct = list(dict.fromkeys(sentences))
        rows = {text: i for i, text in enumerate(distinct)}
        vectors: NDArray[np.float32] = self.embed(distinct).numpy()
        return vectors[[rows[text] for text in sentences]]


def best_device() -> torch.device:
    """The GPU of this process where there is one, else the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", torch.cuda.current_device())


def pool(states: Tensor, mask: Tensor, pooling: Pooling, *, weights: Tensor | None = None) -> Tensor:
    """Sentence vectors `(batch, dim)` from token states `(batch, tokens, dim)` and mask `(batch, tokens)`.

    Mean and max cover all tokens of the mask, the special ones included (METHODS). `weighted` is the mean under
    per-token `weights` `(batch, tokens)`: our own, not the papers'.
    """
    if pooling == "cls":
        return states[:, 0]
    if pooling == "max":
        return states.masked_fill(mask.unsqueeze(-1) == 0, torch.finfo(states.dtype).min).amax(dim=1)
    amounts = mask.to(states.dtype) if weights is None else mask.to(states.dtype) * weights.to(states.dtype)
    total = amounts.sum(dim=1, keepdim=True).clamp(min=1e-9)
    return (states * amounts.unsqueeze(-1)).sum(dim=1) / total


def _fetch(waiting: list[tuple[list[int], Tensor]], vectors: Tensor) -> None:
    if waiting:
        rows = torch.tensor([row for part, _ in waiting for row in part])
        vectors[rows] = torch.cat([found for _, found in waiting]).cpu()
        waiting.clear()


def base_of(model: PreTrainedModel) -> PreTrainedModel:
    """The model without its head: the same object, so that training the one trains the other."""
    base = model.base_model
    assert isinstance(base, PreTrainedModel)
    return base


@dataclass(frozen=True, slots=True)
class _Kept:
    pooling: Pooling | None = None
    weights: list[float] | None = None


def _kept_pooling(folder: Path) -> _Kept:
    """The pooling that a sentence-transformers folder's modules.json asks for."""
    modules = folder / "modules.json"
    if not modules.is_file():
        return _Kept()
    weights: list[float] | None = None
    pooling: Pooling | None = None
    for module in json.loads(modules.read_text(encoding="utf-8")):
        kind = str(module["type"]).rpartition(".")[2]
        config = folder / module["path"] / "config.json"
        settings = json.loads(config.read_text(encoding="utf-8")) if module["path"] and config.is_file() else {}
        if kind == "WordWeights":
            default = settings.get("unknown_word_weight", 1.0)
            weights = [settings["word_weights"].get(token, default) for token in settings["vocab"]]
        elif kind == "Pooling":
            pooling = _pooling_mode(settings)
    return _Kept("weighted" if weights is not None and pooling == "mean" else pooling, weights)


def _pooling_mode(settings: dict[str, Any]) -> Pooling | None:
    mode = settings.get("pooling_mode")
    if isinstance(mode, str):
        return {"cls": "cls", "mean": "mean", "max": "max"}.get(mode)  # type: ignore[return-value]
    flags: dict[str, Pooling] = {"cls_token": "cls", "mean_tokens": "mean", "max_tokens": "max"}
    return next((p for key, p in flags.items() if settings.get(f"pooling_mode_{key}")), None)


class quiet:
    """Keep the loader's report of unused and missing weights to ourselves: what matters of it becomes an error."""

    def __enter__(self) -> None:
        self.level = transformers_logging.get_verbosity()
        self.bar = transformers_logging.is_progress_bar_enabled()
        transformers_logging.set_verbosity_error()
        transformers_logging.disable_progress_bar()

    def __exit__(self, *_: object) -> None:
        transformers_logging.set_verbosity(self.level)
        if self.bar:
            transformers_logging.enable_progress_bar()


def _require_model(path: Path) -> None:
    """Raise EncoderError for a file or folder that cannot be a model; a name that is neither may be a hub's."""
    hint = "a transformers folder holds config.json, weights and a tokenizer"
    if path.is_file():
        raise EncoderError("a file is no model", where=str(path), hint=hint)
    if path.is_dir() and not (path / "config.json").is_file():
        raise EncoderError("a folder without config.json is no model", where=str(path), hint=hint)


def _load_tokenizer(name: str, *, prefix_space: bool, local: bool) -> PreTrainedTokenizerBase:
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(name, local_files_only=local)
        if prefix_space and getattr(tokenizer, "add_prefix_space", None) is False:
            tokenizer = AutoTokenizer.from_pretrained(name, add_prefix_space=True, local_files_only=local)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise _unloadable(name, error) from error
    if tokenizer.pad_token_id is None:
        raise EncoderError("the tokenizer has no padding token", where=name, hint="use another --encoder")
    return tokenizer


def _load_model(name: str, *, local: bool) -> tuple[PreTrainedModel, PreTrainedModel | None, str]:
    """The backbone, the masked-LM model it belongs to or None, and why there is none."""
    try:
        config = AutoConfig.from_pretrained(name, local_files_only=local)
        if type(config) not in AutoModelForMaskedLM._model_mapping:
            return AutoModel.from_pretrained(name, local_files_only=local), None, f"{config.model_type} has none"
        model, info = AutoModelForMaskedLM.from_pretrained(name, output_loading_info=True, local_files_only=local)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise _unloadable(name, error) from error
    base = base_of(model)
    absent = [key for key in info["missing_keys"] if key.startswith(f"{model.base_model_prefix}.")]
    if absent:
        raise EncoderError(f"the checkpoint lacks weights of the encoder ({absent[0]}, ...)", where=name)
    missing = missing_head_keys(info["missing_keys"], model)
    if missing:
        return base, None, f"the checkpoint does not hold {missing[0]}"
    return base, model, ""


def _load_native_pooler(name: str, backbone: PreTrainedModel, *, local: bool) -> nn.Linear | None:
    """The checkpoint's own pooler where it holds one: a random one made by the loader is not taken."""
    if not _is_bert(backbone):
        return None
    model, info = AutoModel.from_pretrained(name, output_loading_info=True, local_files_only=local)
    pooler = getattr(model, "pooler", None)
    if pooler is None or any("pooler" in key for key in info["missing_keys"]):
        return None
    dense = getattr(pooler, "dense", None)
    return dense if isinstance(dense, nn.Linear) else None


def _is_bert(backbone: PreTrainedModel) -> bool:
    return str(backbone.config.model_type) == "bert"


def _unloadable(name: str, error: Exception) -> EncoderError:
    first = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
    return EncoderError(
        f"the encoder cannot be loaded: {first}",
        where=name,
        hint="give a local transformers folder or a hub name that this machine can reach",
    )


def _check_tokenizer(tokenizer: PreTrainedTokenizerBase, backbone: PreTrainedModel, name: str) -> None:
    embeddings = backbone.get_input_embeddings()
    assert isinstance(embeddings, nn.Embedding)
    rows = embeddings.num_embeddings
    if len(tokenizer) > rows:
        raise EncoderError(
            f"the tokenizer has {len(tokenizer)} tokens, the encoder only {rows} embeddings: not of one model",
            where=name,
        )
    # Embeddings are padded by a few rows, never to twice; without its files a tokenizer knows only special tokens.
    if 2 * len(tokenizer) < rows:
        raise EncoderError(
            f"the tokenizer has {len(tokenizer)} tokens, the encoder {rows} embeddings: its files are missing or of"
            " another model",
            where=name,
        )


def _longest(tokenizer: PreTrainedTokenizerBase, backbone: PreTrainedModel) -> int:
    config = backbone.config
    positions = getattr(config, "max_position_embeddings", None) or MAX_TOKENS
    return int(min(MAX_TOKENS, positions - _first_position(backbone), tokenizer.model_max_length))


def _first_position(backbone: PreTrainedModel) -> int:
    """RoBERTa's position numbers begin behind the padding index."""
    config = backbone.config
    return (config.pad_token_id or 0) + 1 if str(config.model_type) in _OFFSET_POSITIONS else 0


_OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert", "xmod", "xlm-roberta-xl", "mpnet", "data2vec-text"}
