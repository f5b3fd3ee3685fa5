"""A small BERT over the fitted token vectors, with a trained masked-LM head.

Before: static fits the vectors. After: the folder loads in transformers (with head) and in sentence-transformers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer, WordWeights
from torch.nn import functional
from transformers import BertConfig, BertForMaskedLM

from dictsent.records import Gloss
from dictsent.scratch.corpus import length_batches
from dictsent.scratch.settings import Progress, ScratchSettings
from dictsent.scratch.static import FittedText, fit_text
from dictsent.scratch.vectors import Floats
from dictsent.scratch.vocabulary import CLS, LONGEST_TEXT, MASK, PAD, SEP, SPECIAL, UNK, wrap_tokenizer

_IDS = {token: number for number, token in enumerate(SPECIAL)}
_WEIGHT_SHARE = 0.1
_UNHEARD = 8.0
_LONGEST_LINE = 128


def build_encoder(
    glosses: Sequence[Gloss], folder: Path, settings: ScratchSettings, *, progress: Progress | None = None
) -> None:
    """Build a small masked LM from the glosses and save it as a folder for transformers and sentence-transformers.

    `AutoModel` and `AutoModelForMaskedLM` load it with equal token states; `SentenceTransformer` gives their mean
    weighted by token ("weighted" pooling). Its [CLS] state and plain mean are sentence vectors too: the first attention
    layer starts as the weighted mean of the text (see `initialise`).

    Raises:
        EncoderError: too little text.
    """
    fitted = fit_text(glosses, settings, progress=progress)
    layout = lay_out(fitted.vectors, fitted.counts)
    model = initialise(layout, fitted.counts, settings)
    train_head(model, fitted, settings, progress=progress)
    save_encoder(model, layout, fitted, folder)


@dataclass(frozen=True, slots=True)
class Layout:
    """Token vectors as the transformer holds them.

    Layer normalisation makes every token state the same length, so a token's weight, its fitted vector's length, is
    kept apart: for the pooling, and as one direction of the state that attention can read.

    Attributes:
        vectors: unit vectors whose components sum to 0 (layer normalisation keeps their direction), (tokens, width).
        weights: tokens' weights in a sentence, (tokens,).
        axis: the unit direction that carries the logarithm of the weight, (width,).
        slope: change of the logarithm per unit along the axis.
    """

    vectors: Floats
    weights: Floats
    axis: Floats
    slope: float


def lay_out(fitted: Floats, counts: NDArray[np.int64]) -> Layout:
    """Give up the two directions that carry least: one for the zero sum, one for the logarithm of the weight."""
    width = fitted.shape[1]
    share = counts / counts.sum()
    _, directions = np.linalg.eigh((fitted * share[:, None]).T @ fitted)
    content = fitted @ directions[:, 2:]
    weights = np.linalg.norm(content, axis=1)
    used = weights > 0
    logarithm = np.log(np.maximum(weights, np.median(weights[used]) / 100))
    mean = np.average(logarithm, weights=share)
    spread = math.sqrt(np.average((logarithm - mean) ** 2, weights=share))
    carried = _WEIGHT_SHARE * np.clip((logarithm - mean) / spread, -4, 4)
    state = np.column_stack([content / np.maximum(weights, 1e-9)[:, None], carried])
    state /= np.linalg.norm(state, axis=1, keepdims=True)
    basis = _zero_sum_basis(width)
    weights[: len(SPECIAL)] = 0
    # Next to nothing, but not nothing: a text of unknown pieces alone still has a vector.
    weights[_IDS[UNK]] = 0.01 * np.median(weights[used])
    return Layout(
        vectors=(state @ basis.T).astype(np.float32),
        weights=weights.astype(np.float32),
        axis=basis[:, -1].astype(np.float32),
        slope=spread / _WEIGHT_SHARE,
    )


def _zero_sum_basis(width: int) -> NDArray[np.float64]:
    """An orthonormal basis of the vectors whose components sum to 0, (width, width - 1)."""
    noise = np.random.default_rng(0).normal(size=(width, width - 1))
    basis, _ = np.linalg.qr(np.column_stack([np.ones(width), noise]))
    return np.asarray(basis[:, 1:])


def initialise(layout: Layout, counts: NDArray[np.int64], settings: ScratchSettings) -> BertForMaskedLM:
    """A BERT whose token states begin as the fitted vectors.

    The first attention layer adds to each state the text's mean under softmax(log weight): the frequency-weighted mean,
    which is then also what [CLS] and [MASK], whose own vectors are unheard, hold. Every other block begins as nothing
    (its last matrix is zero), so training departs from the static encoder instead of from noise.
    """
    tokens, width = layout.vectors.shape
    config = BertConfig(
        vocab_size=tokens,
        hidden_size=width,
        num_hidden_layers=settings.layers,
        num_attention_heads=math.gcd(settings.heads, width),
        intermediate_size=settings.feed_forward * width // settings.width,
        max_position_embeddings=LONGEST_TEXT,
        hidden_dropout_prob=settings.dropout,
        attention_probs_dropout_prob=settings.dropout,
        pad_token_id=_IDS[PAD],
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        model = BertForMaskedLM(config)
        weights = model.state_dict()
        _set_embeddings(weights, layout)
        for layer in range(settings.layers):
            for block in ("attention.output", "output"):
                weights[f"bert.encoder.layer.{layer}.{block}.dense.weight"].zero_()
        _set_first_attention(weights, layout, heads=config.num_attention_heads, context=settings.context)
        _set_head(weights, counts)
    return model


Weights = dict[str, torch.Tensor]


def _set_embeddings(weights: Weights, layout: Layout) -> None:
    tokens = weights["bert.embeddings.word_embeddings.weight"]
    tokens.copy_(torch.from_numpy(layout.vectors))
    unheard = -torch.from_numpy(layout.axis) * _UNHEARD / layout.slope
    for token in (CLS, SEP, MASK):
        noise = torch.randn(tokens.shape[1]) * 1e-3
        tokens[_IDS[token]] = unheard + noise - noise.mean()
    tokens[_IDS[PAD]] = 0
    weights["bert.embeddings.position_embeddings.weight"].normal_(0, 0.02 / math.sqrt(tokens.shape[1]))
    weights["bert.embeddings.token_type_embeddings.weight"].zero_()


def _set_first_attention(weights: Weights, layout: Layout, *, heads: int, context: float) -> None:
    """Keys read the log weight from its axis, queries ask for nothing else; states have length sqrt(width)."""
    width = layout.vectors.shape[1]
    size = width // heads
    attention = "bert.encoder.layer.0.attention."
    weights[attention + "self.query.bias"][::size] = math.sqrt(size)
    reader = torch.from_numpy(layout.axis) * layout.slope / math.sqrt(width)
    weights[attention + "self.key.weight"][::size] = reader
    weights[attention + "self.value.weight"].copy_(torch.eye(width))
    weights[attention + "output.dense.weight"].copy_(context * torch.eye(width))


def _set_head(weights: Weights, counts: NDArray[np.int64]) -> None:
    """Begin with scaled cosines to the token vectors, over the tokens' frequencies."""
    dense = weights["cls.predictions.transform.dense.weight"]
    dense.add_(torch.eye(len(dense)))
    weights["cls.predictions.transform.LayerNorm.weight"].fill_(20 / math.sqrt(len(dense)))
    smoothed = (counts + 0.5) / (counts.sum() + 0.5 * len(counts))
    weights["cls.predictions.bias"].copy_(torch.from_numpy(np.log(smoothed)))


def train_head(
    model: BertForMaskedLM, fitted: FittedText, settings: ScratchSettings, *, progress: Progress | None = None
) -> None:
    """Train the masked-LM head on the dictionary's lines, a headword before its definition; the layers stay.

    The first layer already gathers the context at [MASK]. Training the layers too was tried on WordNet. Alone it cost
    the sentence vectors much (STS-B dev 76 against 80). Held to the sentence vectors by a second loss it filled a few
    more masks (MRR 13 against 11, and 11 for tokens by frequency), but DefSent then started far lower and ended at a
    dev MRR of 3.6 against 8.6.
    """
    rows = fitted.corpus.lines
    batch = min(settings.masked_batch, max(8, len(rows) // 8))
    steps = min(settings.masked_steps, settings.masked_passes * (len(rows) // batch))
    generator = np.random.default_rng(settings.seed)
    model.eval()
    head = [weight for weight in model.cls.parameters() if weight is not model.get_input_embeddings().weight]
    optimizer = torch.optim.Adam(head, lr=settings.masked_rate)
    done = 0
    while done < steps:
        for chosen in length_batches(rows.lengths, batch, generator)[: steps - done]:
            optimizer.param_groups[0]["lr"] = settings.masked_rate * (1 - done / steps)
            ids = rows.pad(chosen, first=_IDS[CLS], last=_IDS[SEP], fill=_IDS[PAD], longest=_LONGEST_LINE)
            loss = _masked_loss(model, ids, _draw_masked(ids, settings.masked_share, generator))
            for weight, gradient in zip(head, torch.autograd.grad(loss, head), strict=True):
                weight.grad = gradient
            optimizer.step()
            done += 1
            if progress:
                progress("masked LM", done, steps)
    model.zero_grad()


def _draw_masked(ids: torch.Tensor, share: float, generator: np.random.Generator) -> torch.Tensor:
    """Which tokens to hide, at least one of each text, never a special one, (batch, tokens)."""
    masked = torch.from_numpy(generator.random(tuple(ids.shape)) < share)
    masked[:, 1] |= ~(masked & (ids >= len(SPECIAL))).any(dim=1)
    return masked & (ids >= len(SPECIAL))


def _masked_loss(model: BertForMaskedLM, ids: torch.Tensor, masked: torch.Tensor) -> torch.Tensor:
    """Cross-entropy at the masked places."""
    with torch.no_grad():
        visible = ids.masked_fill(masked, _IDS[MASK])
        states = model.bert(input_ids=visible, attention_mask=(ids != _IDS[PAD]).long()).last_hidden_state
    return functional.cross_entropy(model.cls(states[masked]), ids[masked])


def save_encoder(model: BertForMaskedLM, layout: Layout, fitted: FittedText, folder: Path) -> None:
    """Write checkpoint, tokenizer and the sentence-transformers modules into one folder."""
    model.save_pretrained(folder)
    wrap_tokenizer(fitted.tokenizer).save_pretrained(folder)
    words = fitted.tokenizer.get_vocab()
    vocabulary = sorted(words, key=words.__getitem__)
    weights = dict(zip(vocabulary, (float(weight) for weight in layout.weights), strict=True))
    modules = [
        Transformer(str(folder)),
        WordWeights(vocabulary, weights),
        Pooling(layout.vectors.shape[1], "mean"),
    ]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder), create_model_card=False)
    # sentence-transformers has just written the backbone alone over the checkpoint.
    model.save_pretrained(folder)
