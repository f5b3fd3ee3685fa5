"""What decides a scratch encoder: sizes, lengths of the fittings, the seed.

Before: a recipe or the command line fills the record in. After: vocabulary, vectors, static, transformer read it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dictsent.errors import EncoderError

Progress = Callable[[str, int, int], None]
"""Called as progress(stage, steps done, steps in all)."""

WIDTH_UNIT = 32
"""Widths are multiples of this, so that every width divides into attention heads."""

MINIMUM_GLOSSES = 100
"""Below this, co-occurrence counts say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScratchSettings:
    """Settings of both scratch encoders; equal settings and equal text give equal weights.

    Steps, never the clock, decide when a fitting stops. Small dictionaries shrink vocabulary, width and batches.

    Attributes:
        vocabulary: pieces in the tokenizer at most, the five special tokens included.
        lowercase: fold case before cutting text into pieces.
        width: dimensions of token vectors and of the transformer, a multiple of 32.
        window: tokens on either side that count as co-occurring, weighted by 1/distance.
        sif: the constant a of the frequency weights a / (a + p) (Arora et al. 2017).
        fit_steps, fit_passes: steps of the contrastive fitting, and the most passes over the text that they may make.
        fit_batch, fit_rate, fit_temperature: its batch (glosses), Adam's rate (falls linearly to 0), temperature.
        layers, heads, feed_forward: sizes of the transformer.
        context: how strongly the first attention layer adds the text's weighted mean to each token.
        masked_steps, masked_passes: steps of the masked-LM training, and the most passes over the text.
        masked_batch, masked_rate: its batch (texts), Adam's rate (falls linearly to 0).
        masked_share: the share of tokens that it masks.
        dropout: in the transformer, when it is trained further.
        seed: of every random choice.
    """

    vocabulary: int = 16_000
    lowercase: bool = True
    width: int = 256
    window: int = 10
    sif: float = 1e-3
    fit_steps: int = 320
    fit_passes: int = 8
    fit_batch: int = 1024
    fit_rate: float = 1e-2
    fit_temperature: float = 0.1
    layers: int = 2
    heads: int = 4
    feed_forward: int = 512
    context: float = 3.0
    masked_steps: int = 400
    masked_passes: int = 20
    masked_batch: int = 128
    masked_rate: float = 2e-3
    masked_share: float = 0.25
    dropout: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.width % WIDTH_UNIT or self.width < WIDTH_UNIT:
            raise EncoderError(
                f"a scratch encoder cannot be {self.width} wide", hint=f"take a multiple of {WIDTH_UNIT}"
            )
        if self.width % self.heads or self.layers < 1:
            raise EncoderError(
                f"{self.layers} layers of {self.heads} heads do not fit a width of {self.width}",
                hint="the width must divide by the number of heads, and one layer is the least",
            )
        for name in ("vocabulary", "window", "fit_batch", "masked_batch", "feed_forward"):
            if getattr(self, name) < 1:
                raise EncoderError(f"{name} must be positive, not {getattr(self, name)}")
