"""Is one system better than another, or was it luck? Paired bootstrap over the pairs of each set.

Before: dictsent.evaluate.similarities of both systems on the same sets. After: `dictsent compare`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dictsent.tasks.data import SEVEN
from dictsent.tasks.readers import SentencePairs
from dictsent.tasks.statistics import Difference, Floats, spearman, stratified_difference
from dictsent.tasks.sts import AVERAGE

Items = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two systems on one set, or on the average of the seven (task "Avg").

    Attributes:
        first, second: Spearman x100, None where undefined.
        difference: first minus second, x100, with its 95 % interval and p; None where one is undefined.
    """

    task: str
    language: str
    variant: str
    n: int
    first: float | None
    second: float | None
    difference: Difference | None

    def to_json(self) -> dict[str, object]:
        """The same with the difference's parts as keys of their own."""
        gap = self.difference
        return {
            "task": self.task,
            "language": self.language,
            "variant": self.variant,
            "n": self.n,
            "first": self.first,
            "second": self.second,
            "difference": gap.value if gap else None,
            "interval": [gap.low, gap.high] if gap else None,
            "p": gap.p if gap else None,
        }


@dataclass(frozen=True, slots=True)
class Judged:
    """One set with both systems' (n,) cosines."""

    pairs: SentencePairs
    first: Floats
    second: Floats


def compare(judged: Sequence[Judged], *, resamples: int = 1000, seed: int = 0) -> list[Comparison]:
    """Each set by itself, then the average of the seven English sets where all are there.

    The same resample of a set's pairs scores both systems; for the average every set is resampled within itself.
    """
    rows = [_compared([one], one.pairs.copy.set.name, resamples, seed) for one in judged]
    seven = [one for one in judged if one.pairs.copy.set.name in SEVEN and one.pairs.copy.set.language == "en"]
    whole = len(seven) == len(SEVEN) and not any(one.pairs.copy.missing for one in seven)
    return [*rows, _compared(seven, AVERAGE, resamples, seed)] if whole else rows


def _compared(sets: Sequence[Judged], task: str, resamples: int, seed: int) -> Comparison:
    gold = [one.pairs.gold for one in sets]

    def figures(samples: list[Items]) -> tuple[float | None, float | None]:
        return (
            _mean([spearman(one.first[i], g[i]) for one, g, i in zip(sets, gold, samples, strict=True)]),
            _mean([spearman(one.second[i], g[i]) for one, g, i in zip(sets, gold, samples, strict=True)]),
        )

    first, second = figures([np.arange(len(g)) for g in gold])
    gap = stratified_difference(figures, [len(g) for g in gold], resamples=resamples, seed=seed)
    copy = sets[0].pairs.copy
    return Comparison(
        task=task,
        language=copy.set.language,
        variant=copy.variant,
        n=sum(map(len, gold)),
        first=first,
        second=second,
        difference=gap,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return 100 * float(np.mean(known)) if len(known) == len(values) else None
