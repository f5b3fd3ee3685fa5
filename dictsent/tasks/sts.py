"""Sentence similarity: rank correlation of the cosine with people's scores.

Before: dictsent.tasks.readers (pairs with gold) and embedding (vectors). After: dictsent.evaluate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dictsent.tasks.data import SEVEN, registry
from dictsent.tasks.embedding import Matrix, lengths
from dictsent.tasks.readers import SentencePairs
from dictsent.tasks.scores import Score
from dictsent.tasks.statistics import Floats, interval, pearson, spearman

AVERAGE = "Avg"
UNEXPOSED = "-unexposed"
CONSTANT = "undefined: all pairs get the same similarity"
_DECIMALS = 12
_BLOCK = 8192


def cosine(first: Matrix, second: Matrix) -> Floats:
    """(n,) cosines of the rows of two (n, d) matrices, in double precision; 0 where a row is all zeros.

    Rounded to 12 decimals so that pairs of equal sentences tie whatever the vectors' last bits are.
    """
    blocks = [_cosine(first[i : i + _BLOCK], second[i : i + _BLOCK]) for i in range(0, first.shape[0], _BLOCK)]
    return np.concatenate(blocks) if blocks else np.zeros(0)


def _cosine(first: Matrix, second: Matrix) -> Floats:
    if hasattr(first, "tocsr"):
        products = np.asarray(first.multiply(second).sum(axis=1), dtype=np.float64).ravel()
    else:
        products = np.einsum("ij,ij->i", first, second, dtype=np.float64)
    scale = lengths(first) * lengths(second)
    cosines = np.clip(products / np.where(scale == 0, 1.0, scale), -1.0, 1.0)
    return np.asarray(np.round(cosines, _DECIMALS), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """How sets are scored.

    Attributes:
        protocol: "paper" or "mteb", as the sets were chosen.
        detail: also each subset, Pearson, and the mean and weighted mean over subsets.
        resamples: bootstrap resamples for a 95 % interval, 0 for none.
        seed: of the resampling.
    """

    protocol: str = "paper"
    detail: bool = False
    resamples: int = 0
    seed: int = 0


def score_set(pairs: SentencePairs, similarity: Floats, scoring: Scoring) -> list[Score]:
    """The figures of one set; the first is Spearman x100 over all its subsets concatenated ("all", the papers' way).

    Args:
        similarity: (n,) in the order of `pairs.gold`.
    """
    record = partial(_score, pairs, scoring)
    parts = _by_subset(pairs, similarity)
    scores = [record(similarity, pairs.gold)]
    kept = [name for name in parts if name not in pairs.copy.set.exposed]
    if pairs.copy.set.exposed and kept:
        unexposed = [np.concatenate([parts[name][i] for name in kept]) for i in (0, 1)]
        scores.append(record(*unexposed, variant=pairs.copy.variant + UNEXPOSED))
    if scoring.detail:
        scores.append(record(similarity, pairs.gold, metric="pearson"))
        scores += _details(parts, record) if len(parts) > 1 else []
    return scores


def _by_subset(pairs: SentencePairs, similarity: Floats) -> dict[str, tuple[Floats, Floats]]:
    ends = np.cumsum([len(subset.gold) for subset in pairs.subsets])[:-1]
    return {s.name: (part, s.gold) for s, part in zip(pairs.subsets, np.split(similarity, ends), strict=True)}


def _details(parts: dict[str, tuple[Floats, Floats]], record: partial[Score]) -> list[Score]:
    each = [record(*part, subset=name) for name, part in parts.items()]
    values = [score.value for score in each if score.value is not None]
    sizes = [score.n for score in each if score.value is not None]
    note = "" if len(values) == len(each) else f"{len(each) - len(values)} subsets undefined"
    for metric, weights in (("spearman_mean", None), ("spearman_wmean", sizes)):
        value = float(np.average(values, weights=weights)) if values else None
        each.append(record(*_joined(parts), metric=metric, value=value, note=note))
    return each


def _joined(parts: dict[str, tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    return np.concatenate([p[0] for p in parts.values()]), np.concatenate([p[1] for p in parts.values()])


def _score(
    pairs: SentencePairs,
    scoring: Scoring,
    similarity: Floats,
    gold: Floats,
    *,
    metric: str = "spearman",
    variant: str | None = None,
    subset: str = "",
    value: float | None = None,
    note: str = "",
) -> Score:
    row = pairs.copy.set
    bounds = None
    if metric in ("spearman", "pearson"):
        statistic = spearman if metric == "spearman" else pearson
        found = statistic(similarity, gold)
        value, note = (None, _why_undefined(similarity, gold)) if found is None else (100 * found, note)
        if scoring.resamples and found is not None:
            bounds = interval(statistic, similarity, gold, resamples=scoring.resamples, seed=scoring.seed)
    return Score(
        task=f"{row.name}/{subset}" if subset else row.name,
        language=row.tag,
        split=pairs.copy.split,
        protocol="smoke" if row.protocol == "smoke" else scoring.protocol,
        variant=pairs.copy.variant if variant is None else variant,
        metric=metric,
        value=value,
        n=len(gold),
        note="; ".join(filter(None, (*pairs.notes, note))),
        interval=(100 * bounds[0], 100 * bounds[1]) if bounds else None,
    )


def _why_undefined(similarity: Floats, gold: Floats) -> str:
    if len(gold) < 2:
        return "undefined: fewer than two pairs"
    return CONSTANT if np.ptp(similarity) == 0 else "undefined: all gold scores are equal"


def averages(scores: Iterable[Score]) -> list[Score]:
    """The mean over the seven English test sets, with all pairs and without those that hold WordNet glosses.

    Where a set is missing, incomplete or undefined the value is None and the note says which.
    """
    found = {
        (score.task, score.variant.endswith(UNEXPOSED)): score
        for score in scores
        if score.metric == "spearman" and score.task in SEVEN and score.language == "en" and score.split == "test"
    }
    if not found:
        return []
    whole = {task: found[task, False] for task in SEVEN if (task, False) in found}
    exposed = {row.name for row in registry() if row.exposed}
    known = {task: found.get((task, True)) or (None if task in exposed else score) for task, score in whole.items()}
    unexposed = {task: score for task, score in known.items() if score is not None}
    variant = _common_variant(list(whole.values()))
    averages = [_average(whole, variant)]
    return averages + ([_average(unexposed, variant + UNEXPOSED)] if unexposed else [])


def _common_variant(scores: Sequence[Score]) -> str:
    """The kind of text of the sets; SICK-R has only one and does not count."""
    kinds = {score.variant for score in scores if score.task != "SICK-R"} or {"raw"}
    return kinds.pop() if len(kinds) == 1 else "mixed"


def _average(scores: dict[str, Score], variant: str) -> Score:
    some = next(iter(scores.values()))
    lacking = [task for task in SEVEN if task not in scores]
    faulty = [task for task, score in scores.items() if score.value is None or "incomplete" in score.note]
    reasons = [
        f"no average: {', '.join(lacking)} missing" if lacking else "",
        f"no average: {', '.join(faulty)} incomplete or undefined" if faulty else "",
    ]
    values = [score.value for score in scores.values() if score.value is not None]
    return Score(
        task=AVERAGE,
        language="en",
        split="test",
        protocol=some.protocol,
        variant=variant,
        metric="spearman",
        value=float(np.mean(values)) if not any(reasons) else None,
        n=sum(score.n for score in scores.values()),
        note="; ".join(filter(None, reasons)),
    )
