"""The entry space of a training step: built by an encoder, or the one that the same encoder built before.

Before: an encoder, pairs. After: dictsent.train.methods trains against its rows.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import torch

from dictsent import ranks
from dictsent.encoder import Encoder
from dictsent.entryspace import EntrySpace, build, load_space, save_space
from dictsent.errors import TrainingError
from dictsent.folders import appearing, prune
from dictsent.memory import enough_memory
from dictsent.pairs import Pairs
from dictsent.precision import used_precision
from dictsent.settings import ENTRY_POOLING, Isotropy, TrainSettings
from dictsent.tokens import tokenizer_state

KEPT = 4
"""Entry spaces that stay on disk; the ones used longest ago go."""


def entry_space(builder: Encoder, pairs: Pairs, settings: TrainSettings, *, isotropy: Isotropy) -> EntrySpace:
    """The entries of `pairs` as `builder` sees them, its pooling being what `settings.entries` says.

    Where `builder.cache` is a folder, a space is kept there under a digest of everything it follows from: weights,
    tokenizer, pooling, precision, pairs, isotropy.
    """
    before = builder.pooling, builder.precision
    builder.pooling = ENTRY_POOLING[settings.entries]
    builder.precision = used_precision(settings.precision, builder.device)
    try:
        if builder.cache is None:
            return _built(builder, pairs, settings, isotropy)
        place = builder.cache / f"entries-{_digest(builder, pairs, settings, isotropy)}"
        if not ranks.any_of(not place.is_dir()):
            place.touch()
            kept = load_space(place)
            if kept is not None:
                return kept
        space = _built(builder, pairs, settings, isotropy)
    finally:
        builder.pooling, builder.precision = before
    if ranks.rank() == 0:
        _keep(space, place)
    return space


def _built(builder: Encoder, pairs: Pairs, settings: TrainSettings, isotropy: Isotropy) -> EntrySpace:
    with enough_memory("--limit"):
        space = build(
            pairs.all(),
            embed=builder.embed,
            held_out=pairs.dev + pairs.test,
            merge_synonyms=settings.merge_synonyms,
        )
        return space.transformed(isotropy)


def _keep(space: EntrySpace, place: Path) -> None:
    try:
        with appearing(place) as partial:
            save_space(space, partial)
    except TrainingError:
        return  # another training keeps the same one, or the disk is full: it is a cache
    prune(place.parent, "entries-*", kept=KEPT)


def state_of(encoder: Encoder) -> str:
    """A digest of the encoder's weights and tokenizer."""
    digest = blake2b(tokenizer_state(encoder.tokenizer).encode(), digest_size=12)
    tensors = dict(encoder.backbone.state_dict())
    if encoder.token_weights is not None:
        tensors["weights of tokens"] = encoder.token_weights
    for name, tensor in sorted(tensors.items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy())
    return digest.hexdigest()


def _digest(builder: Encoder, pairs: Pairs, settings: TrainSettings, isotropy: Isotropy) -> str:
    told = (builder.pooling, builder.precision, builder.max_tokens, settings.merge_synonyms, isotropy, "1")
    digest = blake2b(repr(told).encode(), digest_size=12)
    digest.update(state_of(builder).encode())
    for pair in pairs.all():
        digest.update(f"{pair.entry}\t{pair.headword}\t{pair.definition}\t{pair.split}\n".encode())
    return digest.hexdigest()
