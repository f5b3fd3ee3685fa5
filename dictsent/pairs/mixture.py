"""Several languages in one training: their pairs together, each language sampled by temperature.

Before: dictsent.pairs.selection chose each language's pairs. After: dictsent.train trains one encoder on them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

from dictsent.errors import PairsError
from dictsent.pairs.columns import Rows
from dictsent.pairs.selection import Pairs
from dictsent.records import Pair


def shares(sizes: Mapping[str, int], temperature: float) -> dict[str, float]:
    """How much of an epoch each language gets: in proportion to size ** (1 / temperature).

    Temperature 1 leaves the languages as they are, higher ones give small languages more (multilingual BERT's exponent
    0.7 is a temperature of 1.43).

    Raises:
        PairsError: the temperature is not positive.
    """
    if temperature <= 0:
        raise PairsError("a sampling temperature is more than 0", where="--temperature")
    weights = {language: size ** (1 / temperature) if size else 0.0 for language, size in sizes.items()}
    whole = sum(weights.values()) or 1.0
    return {language: weight / whole for language, weight in weights.items()}


def mixed(parts: Mapping[str, Pairs], *, temperature: float = 1.0, seed: int = 0) -> Pairs:
    """The pairs of several languages as one: an epoch has as many definitions as all languages have together.

    A language that gets more than it has repeats definitions, every one equally often but for a seeded remainder; one
    that gets less is sampled without replacement. Dev and test hold everything once.
    """
    total = sum(len(part.train) for part in parts.values())
    share = shares({language: len(part.train) for language, part in parts.items()}, temperature)
    train: list[Pair] = []
    left_out: Counter[str] = Counter()
    changed: Counter[str] = Counter()
    for language, part in parts.items():
        train += _drawn(part.train, round(share[language] * total), f"{seed} {language}")
        left_out.update(part.left_out)
        changed.update(part.changed)
    dev, test = (
        list(chain.from_iterable(getattr(part, split) for part in parts.values())) for split in ("dev", "test")
    )
    return Pairs(Rows.of(train), Rows.of(dev), Rows.of(test), dict(left_out), dict(changed))


def _drawn(pairs: Sequence[Pair], count: int, seed: str) -> list[Pair]:
    if not pairs:
        return []
    whole, rest = divmod(count, len(pairs))
    extra = set(random.Random(seed).sample(range(len(pairs)), rest))
    return [pair for row, pair in enumerate(pairs) for _ in range(whole + (row in extra))]
