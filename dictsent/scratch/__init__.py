"""Encoders built only from a store's own text, for languages and machines without a pretrained one.

Before: pairs hands over glosses. After: encoder loads the folder like any other.
"""

from dictsent.scratch.settings import Progress, ScratchSettings
from dictsent.scratch.static import build_static
from dictsent.scratch.transformer import build_encoder

__all__ = ["Progress", "ScratchSettings", "build_encoder", "build_static"]
