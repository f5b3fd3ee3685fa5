"""What a training starts from: a checkpoint, or a small encoder built from the store's own text.

Before: a name, the pairs. After: dictsent.recipe.training trains it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from dictsent.encoder import Encoder, quiet
from dictsent.errors import EncoderError
from dictsent.folders import appearing
from dictsent.records import Gloss
from dictsent.scratch import ScratchSettings, build_encoder, build_static

DEFAULT = "xlm-roberta-base"
SCRATCH, STATIC = "scratch", "scratch:static"

Notify = Callable[[str], None]
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Start:
    """A starting point: `folder` or hub name to load, what it is, and a note for the record."""

    name: str
    kind: str
    note: str = ""

    @property
    def is_scratch(self) -> bool:
        """Built from the store's own text."""
        return self.kind in (SCRATCH, STATIC)


def choose_start(
    name: str | None,
    glosses: Callable[[], Sequence[Gloss]],
    *,
    folder: Path,
    language: str,
    seed: int = 0,
    fallback: bool = True,
    notify: Notify = lambda _: None,
    progress: Progress = lambda *_: None,
) -> Start:
    """The starting point that `name` asks for.

    None means xlm-roberta-base from the hub or its cache and, where neither has it, the scratch encoder (unless
    `fallback` is off). An encoder that was named never falls back.

    Args:
        glosses: gives the text a scratch encoder is built from; called only where one is.
        folder: built encoders are kept below it and used again for the same text and settings.

    Raises:
        EncoderError: a checkpoint cannot be loaded; too little text for a scratch encoder.
    """
    if name is None:
        try:
            Encoder.load(DEFAULT)
            return Start(DEFAULT, "checkpoint")
        except EncoderError as error:
            if not fallback:
                raise
            note = (
                f"{DEFAULT} is neither in the cache nor on a hub this machine reaches, so the encoder was built"
                f" from the store's own text"
            )
            notify(f"{note} (--no-fallback makes this an error): {error.what[:120]}")
        return _build(SCRATCH, glosses(), folder, language, seed, notify, progress, note=note)
    if name in (SCRATCH, STATIC):
        return _build(name, glosses(), folder, language, seed, notify, progress)
    return Start(name, "checkpoint")


def _build(
    kind: str,
    glosses: Sequence[Gloss],
    folder: Path,
    language: str,
    seed: int,
    notify: Notify,
    progress: Progress,
    *,
    note: str = "",
) -> Start:
    settings = ScratchSettings(seed=seed)
    stem = "static" if kind == STATIC else "scratch"
    target = folder / f"{language}-{stem}-{_digest(glosses, settings)}"
    if target.is_dir():
        notify(f"the encoder built before from the same text is used again: {target}")
        return Start(str(target), kind, note)
    build = build_static if kind == STATIC else build_encoder
    with quiet(), appearing(target) as partial:
        build(glosses, partial, settings, progress=lambda stage, done, total: progress(done, total, stage))
    return Start(str(target), kind, note)


def _digest(glosses: Sequence[Gloss], settings: ScratchSettings) -> str:
    digest = hashlib.blake2b(json.dumps(asdict(settings), sort_keys=True).encode(), digest_size=6)
    for gloss in glosses:
        digest.update(repr((gloss.text, gloss.headwords, gloss.examples)).encode())
    return digest.hexdigest()
