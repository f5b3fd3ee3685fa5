"""Dictionaries in, sentence encoders out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from dictsent.lookup import Dictionary

__version__ = "0.1.0"
__all__ = ["__version__", "load"]


def load(folder: str | Path) -> Dictionary:
    """A trained model folder, with `.encode`, `.predict_words` and `.lookup`. Raises EncoderError."""
    from dictsent.lookup import Dictionary

    return Dictionary(folder)
