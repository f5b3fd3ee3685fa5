"""Correlations and bootstrap intervals, without a word about sentences.

Before: nothing of dictsent. After: dictsent.tasks.sts and dictsent.evaluate score with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Correlation = Callable[[Floats, Floats], float | None]


def pearson(x: Floats, y: Floats) -> float | None:
    """Pearson's r of two (n,) arrays; None where it is undefined (n < 2, or one of them constant)."""
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    dx, dy = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((dx @ dx) * (dy @ dy)))
    return float(np.clip(dx @ dy / scale, -1.0, 1.0)) if scale else None


def spearman(x: Floats, y: Floats) -> float | None:
    """Spearman's rho: Pearson's r of the ranks, tied values taking their mean rank; None where undefined."""
    from scipy.stats import rankdata

    return pearson(rankdata(x), rankdata(y))


@dataclass(frozen=True, slots=True)
class Difference:
    """What a paired bootstrap says of two systems on the same items.

    Attributes:
        value: statistic of the first minus that of the second.
        low, high: bounds of the 95 % percentile interval of the difference.
        p: two-sided: twice the share of resamples on the other side of zero (or on it), at least 1 / (resamples + 1).
    """

    value: float
    low: float
    high: float
    p: float


def interval(
    statistic: Correlation, x: Floats, y: Floats, *, resamples: int = 1000, seed: int = 0
) -> tuple[float, float] | None:
    """95 % percentile bootstrap interval of a statistic over the pairs (Efron); None where it is undefined."""
    draws = np.random.default_rng(seed)
    values = [statistic(x[i], y[i]) for i in (draws.integers(0, len(x), len(x)) for _ in range(resamples))]
    return _bounds([value for value in values if value is not None])


def _bounds(values: Sequence[float]) -> tuple[float, float] | None:
    if not values:
        return None
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def paired_difference(
    statistic: Callable[[NDArray[np.int64]], tuple[float | None, float | None]],
    n: int,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> Difference | None:
    """Paired bootstrap: `statistic` gives both systems' figures for one resample of the item numbers 0..n-1.

    Returns None where one system's figure is undefined.
    """
    return stratified_difference(lambda samples: statistic(samples[0]), [n], resamples=resamples, seed=seed)


def stratified_difference(
    statistic: Callable[[list[NDArray[np.int64]]], tuple[float | None, float | None]],
    sizes: Sequence[int],
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> Difference | None:
    """Paired bootstrap over several sets at once: each is resampled within itself (an average over sets)."""
    whole = statistic([np.arange(n) for n in sizes])
    if whole[0] is None or whole[1] is None:
        return None
    draws = np.random.default_rng(seed)
    found = (statistic([draws.integers(0, n, n) for n in sizes]) for _ in range(resamples))
    gaps = np.array([a - b for a, b in found if a is not None and b is not None])
    bounds = _bounds(list(gaps))
    if bounds is None:
        return None
    tail = (min(np.sum(gaps <= 0), np.sum(gaps >= 0)) + 1) / (len(gaps) + 1)
    return Difference(whole[0] - whole[1], *bounds, float(min(1.0, 2 * tail)))
