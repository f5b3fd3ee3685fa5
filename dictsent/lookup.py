"""Reverse dictionary over a model folder: from a description to the words it describes.

Before: dictsent.model. After: `dictsent lookup`, `dictsent.load(...).lookup`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dictsent.errors import EncoderError, LanguageError
from dictsent.model import Model


@dataclass(frozen=True, slots=True)
class Hit:
    """A word that a description may mean; `score` is the model's own logit, comparable within one answer only.

    `language` is set where the model's entries are of several.
    """

    headwords: tuple[str, ...]
    score: float
    definitions: tuple[str, ...] = ()
    language: str = ""


class Dictionary:
    """A trained model as what it is for: `encode` sentences, `predict_words`, `lookup` entries."""

    def __init__(self, folder: str | Path) -> None:
        """Load a model folder. Raises EncoderError."""
        self.model = Model.load(folder)

    def encode(self, sentences: Sequence[str]) -> NDArray[np.float32]:
        """Sentence vectors `(n, dim)`."""
        return self.model.encode(sentences)

    def predict_words(self, texts: Sequence[str], k: int = 10) -> list[list[Hit]]:
        """The k tokens of the vocabulary that the frozen masked-LM head puts first (DefSent). Raises HeadError."""
        values, tokens = self.model.vocabulary_logits(texts).topk(k, dim=1)
        tokenizer = self.model.encoder.tokenizer
        return [
            [Hit((str(tokenizer.decode([t])).strip(),), v) for t, v in zip(row.tolist(), scores.tolist(), strict=True)]
            for row, scores in zip(tokens, values, strict=True)
        ]

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the model's words."""
        return tuple(str(self.model.record.get("language", "")).split(","))

    def lookup(self, texts: Sequence[str], k: int = 10, *, language: str = "") -> list[list[Hit]]:
        """The k entries whose rows answer best (DefSent+), or the k vocabulary items (DefSent).

        Args:
            language: answers in this one only, where the entries are of several; texts may be in any of them.

        Raises:
            EncoderError: the folder holds neither entries nor a masked-LM head that was trained against.
            LanguageError: no entry is of that language.
        """
        if language and language not in self.languages:
            raise LanguageError(
                f"the model has no {language} words",
                where=self.model.encoder.name,
                hint=f"it has {', '.join(self.languages)}",
            )
        space = self.model.space
        if space is None and self.model.method == "defsent":
            return self.predict_words(texts, k)
        if space is None:
            raise EncoderError(
                "the model predicts no words", where=self.model.encoder.name, hint="train one with `dictsent train`"
            )
        found = space.nearest(self.model.entry_vectors(texts), k, language=language)
        tags = space.languages or ("",) * len(space.names)
        return [
            [Hit(space.names[row], score, space.definitions[row], tags[row]) for row, score in hits] for hits in found
        ]
