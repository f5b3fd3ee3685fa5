"""Whether the model hub can be asked for a checkpoint: known at once, where its client would try for a minute.

Before: a hub name. After: dictsent.encoder loads from the hub, or from its cache alone.
"""

from __future__ import annotations

from pathlib import Path

_SECONDS = 10.0


def must_stay_local(name: str) -> bool:
    """True for a hub name while the hub does not answer: what its cache holds can still be loaded."""
    if Path(name).exists():
        return False
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    if constants.HF_HUB_OFFLINE:
        return True
    try:
        get_hf_file_metadata(hf_hub_url(name, "config.json"), timeout=_SECONDS)
    except (HfHubHTTPError, HFValidationError, ValueError):
        return False  # it answered: the loader says what is wrong
    except Exception:
        return True
    return False
