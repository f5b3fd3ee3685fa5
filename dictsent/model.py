"""The folder a training leaves: loads in sentence-transformers, AutoModel and AutoModelForMaskedLM.

Before: dictsent.train. After: dictsent.tasks score it, lookup ranks with it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor

from dictsent.card import model_card
from dictsent.encoder import Encoder, quiet
from dictsent.entryspace import EntrySpace, load_space, save_space
from dictsent.errors import EncoderError
from dictsent.folders import appearing
from dictsent.heads import Pooler
from dictsent.train import Trained

OWN = "dictsent"
"""Sub-folder of what only dictsent reads: pooler, entries."""
RECORD = "record.json"


@dataclass(slots=True)
class Model:
    """A model folder, loaded.

    Attributes:
        encoder: gives the sentence vectors.
        method: "defsent" or "defsent-plus", "" for a folder that dictsent did not train.
        pooler, space: DefSent+'s, for reverse lookup.
        record: what the folder says of its making.
    """

    encoder: Encoder
    method: str
    pooler: Pooler | None
    space: EntrySpace | None
    record: dict[str, Any]

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Load a folder that `save` wrote, or any transformers folder or hub name. Raises EncoderError."""
        path = Path(folder)
        encoder = Encoder.load(folder)
        record = read_record(path)
        pooler, space = _load_pooler(path / OWN, encoder.dim), load_space(path / OWN)
        return cls(encoder, str(record.get("method", "")), pooler, space, record)

    @classmethod
    def of(cls, trained: Trained) -> Self:
        """The model as it stands after training, before it is saved."""
        return cls(trained.encoder, trained.method, trained.pooler, trained.space, {})

    def encode(self, sentences: Sequence[str]) -> NDArray[np.float32]:
        """Sentence vectors `(n, dim)`. (The TextEncoder protocol.)"""
        return self.encoder.encode(sentences)

    @torch.no_grad()
    def entry_vectors(self, texts: Sequence[str]) -> Tensor:
        """Vectors `(n, dim)` behind the pooler, to be multiplied with the entry matrix. Raises EncoderError."""
        if self.pooler is None or self.space is None:
            raise EncoderError("the model has no entries; DefSent+ models have", where=self.encoder.name)
        vectors = self.encoder.embed(texts).to(next(self.pooler.parameters(), torch.empty(0)).device)
        return self.pooler(vectors).float().cpu()  # type: ignore[no-any-return]

    @torch.no_grad()
    def vocabulary_logits(self, texts: Sequence[str]) -> Tensor:
        """Logits `(n, vocabulary)` of the frozen masked-LM head at the sentence vectors. Raises HeadError."""
        head = self.encoder.head()
        return head(self.encoder.embed(texts).to(self.encoder.device)).float().cpu()  # type: ignore[no-any-return]


class SentenceTransformerEncoder:
    """A sentence-transformers folder or hub name whose modules are more than a transformer and its pooling."""

    def __init__(self, name: str) -> None:
        from sentence_transformers import SentenceTransformer

        with quiet():
            self._model = SentenceTransformer(name, device="cpu")

    def encode(self, sentences: Sequence[str]) -> NDArray[np.float32]:
        """Sentence vectors `(n, dim)`. (The TextEncoder protocol.)"""
        vectors: NDArray[np.float32] = self._model.encode(list(sentences), show_progress_bar=False)
        return vectors


def text_encoder(name: str) -> Model | SentenceTransformerEncoder:
    """What encodes sentences with a model folder or hub name. Raises EncoderError."""
    modules = Path(name) / "modules.json"
    if modules.is_file():
        try:
            kinds = [str(m["type"]).rpartition(".")[2] for m in json.loads(modules.read_text(encoding="utf-8"))]
        except (ValueError, KeyError, TypeError) as error:
            raise EncoderError(f"its modules.json cannot be read: {error}", where=name) from error
        if kinds[0] != "Transformer" or not set(kinds) <= {"Transformer", "WordWeights", "Pooling"}:
            return SentenceTransformerEncoder(name)
    return Model.load(name)


def save(trained: Trained, folder: Path, *, record: dict[str, Any], card: str) -> None:
    """Write the model folder; `folder` must not exist or be empty. It appears whole or not at all.

    Raises:
        TrainingError: the folder is in use.
    """
    with appearing(folder) as partial:
        _save_sentence_transformer(trained.encoder, partial)
        (partial / OWN).mkdir()
        if trained.pooler is not None and trained.space is not None:
            _save_pooler(trained.pooler, partial / OWN)
            save_space(trained.space, partial / OWN)
        write_json(partial / RECORD, record)
        (partial / "README.md").write_text(card, encoding="utf-8")


def read_record(folder: Path) -> dict[str, Any]:
    """The record of a model folder, empty where there is none. Raises EncoderError where it is damaged."""
    path = folder / RECORD
    if not path.is_file():
        return {}
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise EncoderError(f"the record is damaged: {error}", where=str(path)) from error
    return record


def write_json(path: Path, value: object) -> None:
    """Write JSON for people and machines, with one line feed at the end; an older file is replaced whole."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    partial.replace(path)


def _save_sentence_transformer(encoder: Encoder, folder: Path) -> None:
    """Built-in modules only: others would need trust_remote_code. The root weights are the masked-LM model's."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer, WordWeights

    weights = encoder.masked_lm or encoder.backbone
    encoder.tokenizer.model_max_length = encoder.max_tokens
    with quiet():
        weights.save_pretrained(folder)
        encoder.tokenizer.save_pretrained(folder)
        modules = [Transformer(str(folder), max_seq_length=encoder.max_tokens)]
        if encoder.pooling == "weighted" and encoder.token_weights is not None:
            vocabulary = encoder.tokenizer.convert_ids_to_tokens(list(range(len(encoder.token_weights))))
            modules.append(WordWeights(vocabulary, dict(zip(vocabulary, encoder.token_weights.tolist(), strict=True))))
        mode = "mean" if encoder.pooling == "weighted" else encoder.pooling
        modules.append(Pooling(encoder.dim, pooling_mode=mode))
        SentenceTransformer(modules=modules, device="cpu").save(str(folder), create_model_card=False)
        weights.save_pretrained(folder)


def _save_pooler(pooler: Pooler, folder: Path) -> None:
    write_json(folder / "pooler.json", {"activation": pooler.activation})
    save_file({k: v.contiguous() for k, v in pooler.state_dict().items()}, folder / "pooler.safetensors")


def _load_pooler(folder: Path, dim: int) -> Pooler | None:
    if not (folder / "pooler.json").is_file():
        return None
    pooler = Pooler(dim, json.loads((folder / "pooler.json").read_text(encoding="utf-8"))["activation"])
    pooler.load_state_dict(load_file(folder / "pooler.safetensors"))
    return pooler.eval()


def keep_scores(folder: Path, scores: Sequence[dict[str, Any]]) -> None:
    """Write scores into a run's record and card; figures of the same kind replace older ones."""
    record = read_record(folder)
    if not record:
        return

    def kind(score: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(score[k] for k in ("task", "language", "split", "protocol", "variant", "metric"))

    merged = {kind(score): score for score in [*record.get("scores", []), *scores]}
    record["scores"] = list(merged.values())
    rewrite_record(folder, record)


def rewrite_record(folder: Path, record: dict[str, Any]) -> None:
    """Replace a run's record, and its card with it."""
    write_json(folder / RECORD, record)
    (folder / "README.md").write_text(model_card(record), encoding="utf-8")
