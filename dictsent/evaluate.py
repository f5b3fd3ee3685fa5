"""Score an encoder on sentence similarity sets: every distinct sentence is embedded once across all of them.

Before: dictsent.tasks (sets, readers, scorers) and any TextEncoder. After: tables, --json, dictsent.report.
"""

from __future__ import annotations

import math
import statistics
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dictsent.errors import ExpectationError, TaskError
from dictsent.tasks.data import SEVEN, Choice, LeftOut, find
from dictsent.tasks.embedding import Fitted, Progress, Remembered, TextEncoder, embed
from dictsent.tasks.exposure import unexposed
from dictsent.tasks.readers import SentencePairs, load
from dictsent.tasks.scores import Score
from dictsent.tasks.statistics import Floats
from dictsent.tasks.sts import AVERAGE, UNEXPOSED, Scoring, averages, cosine, score_set

NOT_IN_STORE = "-not-in-store"
"""Ends the variant of scores without the pairs that a store holds."""


def available(choice: Choice, folders: Sequence[Path]) -> tuple[list[SentencePairs], list[LeftOut]]:
    """The chosen sets that lie below the folders, read, and those left out with the reason.

    Raises:
        TaskError: a folder is missing, or a set that was named cannot be read.
    """
    copies, left_out = find(choice, folders)
    sets: list[SentencePairs] = []
    for copy in copies:
        try:
            sets.append(load(copy))
        except TaskError as error:
            if choice.names:
                raise
            left_out.append(LeftOut(copy.set, str(error)))
    return sets, left_out


def evaluate(
    encoder: TextEncoder,
    sets: Sequence[SentencePairs],
    *,
    scoring: Scoring | None = None,
    progress: Progress | None = None,
) -> list[Score]:
    """Figures of all sets in their order, then the seven-set averages.

    Args:
        encoder: gives (n, d) vectors; one with `fit_texts` is fitted on each set first.
        progress: called with the number of distinct sentences embedded and in all.

    Raises:
        EncoderError: the encoder's vectors are unusable.
    """
    scoring = scoring or Scoring()
    scores: list[Score] = []
    for pairs, values in similarities(encoder, sets, progress=progress):
        scores += score_set(pairs, values, scoring)
    return scores + averages(scores)


def evaluate_unexposed(
    encoder: TextEncoder,
    sets: Sequence[SentencePairs],
    texts: Collection[str],
    *,
    scoring: Scoring | None = None,
    progress: Progress | None = None,
) -> list[Score]:
    """`evaluate`, and again without the pairs of which a sentence is one of the texts (a store's definitions).

    The second figures carry "-not-in-store" in their variant; sets that hold no such pair have none.
    """
    remembered = encoder if isinstance(encoder, Fitted) else Remembered(encoder)
    scores = evaluate(remembered, sets, scoring=scoring, progress=progress)
    cut = [(pairs, unexposed(pairs, texts)) for pairs in sets]
    changed = [kept for pairs, kept in cut if kept.subsets and len(kept.gold) < len(pairs.gold)]
    again = main_scores(evaluate(remembered, changed, scoring=scoring))
    return scores + [
        replace(score, variant=score.variant + NOT_IN_STORE, note="") for score in again if score.task != AVERAGE
    ]


def similarities(
    encoder: TextEncoder, sets: Sequence[SentencePairs], *, progress: Progress | None = None
) -> Iterator[tuple[SentencePairs, Floats]]:
    """Each set with the (n,) cosines of its pairs.

    An encoder with `fit_texts` is fitted on each set by itself, so that a set's figure does not hang on the others.
    """
    shared = None if isinstance(encoder, Fitted) else embed(encoder, sentences(sets), progress)
    for pairs in sets:
        vectors = shared or embed(encoder, sentences([pairs]), progress)
        yield pairs, cosine(vectors.rows(pairs.first), vectors.rows(pairs.second))


def sentences(sets: Iterable[SentencePairs]) -> list[str]:
    """All sentences of the sets, with repetitions."""
    return [text for pairs in sets for text in (*pairs.first, *pairs.second)]


@dataclass(frozen=True, slots=True)
class Seeded:
    """One figure over several seeds: `score` is the first seed's, `deviation` the sample standard deviation."""

    score: Score
    runs: int
    mean: float | None
    deviation: float | None

    @property
    def printed(self) -> str:
        """As the papers print it: 75.09 ± 0.31."""
        if self.mean is None:
            return "-"
        return f"{self.mean:.2f}" + (f" ± {self.deviation:.2f}" if self.deviation is not None else "")

    def to_json(self) -> dict[str, object]:
        """The score's keys without its value, and the figures over seeds."""
        kept = {key: value for key, value in self.score.to_json().items() if key not in ("value", "interval")}
        return kept | {"seeds": self.runs, "mean": self.mean, "deviation": self.deviation}


def over_seeds(seeds: Sequence[Sequence[Score]]) -> list[Seeded]:
    """Mean and deviation of every figure of the first seed; None where a seed has no such figure."""
    rows = []
    for score in seeds[0]:
        found = [next((other.value for other in scores if _kind(other) == _kind(score)), None) for scores in seeds]
        values = [value for value in found if value is not None]
        whole = len(values) == len(seeds)
        deviation = statistics.stdev(values) if whole and len(values) > 1 else None
        rows.append(Seeded(score, len(seeds), statistics.fmean(values) if whole else None, deviation))
    return rows


def _kind(score: Score) -> tuple[str, ...]:
    return (score.task, score.language, score.split, score.protocol, score.variant, score.metric)


def main_scores(scores: Iterable[Score]) -> list[Score]:
    """One figure a set: Spearman over all pairs, without subsets and without the unexposed variants."""
    return [
        score
        for score in scores
        if score.metric == "spearman"
        and "/" not in score.task
        and not score.variant.endswith((UNEXPOSED, NOT_IN_STORE))
    ]


def paper_row(scores: Iterable[Score]) -> dict[str, float | None]:
    """The row of the papers' tables: STS12 STS13 STS14 STS15 STS16 STS-B SICK-R Avg; None where there is no figure."""
    found = {score.task: score.value for score in main_scores(scores) if score.language == "en"}
    return {column: found.get(column) for column in (*SEVEN, AVERAGE)}


def read_expected(path: Path) -> dict[str, tuple[float, float]]:
    """Bounds by score from TOML lines: "STS-B" = 70.0 (at least) or "words mrr" = [0.05, 0.2] (between).

    Raises:
        TaskError: not TOML, or a bound that is no number or pair of numbers.
    """
    try:
        with path.open("rb") as file:
            table = tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"not TOML: {error}", where=str(path)) from None
    return {key: _bounds(value, key, path) for key, value in table.items()}


def _bounds(value: object, key: str, path: Path) -> tuple[float, float]:
    bounds = [float(v) for v in (value if isinstance(value, list) else [value]) if isinstance(v, int | float)]
    if len(bounds) != (len(value) if isinstance(value, list) else 1) or len(bounds) not in (1, 2):
        raise TaskError(f"{key!r} needs a number or two, not {value!r}", where=str(path))
    return bounds[0], bounds[1] if len(bounds) > 1 else math.inf


def check_expected(scores: Sequence[Score], expected: Mapping[str, tuple[float, float]], *, where: str = "") -> None:
    """Compare scores with their bounds.

    A key is a task ("STS-B"), with the metric where it is not Spearman ("words mrr"), with the language where several
    have the task ("STSb-multi-mt de"), with the text's kind for another than the first ("Avg raw-unexposed").

    Raises:
        ExpectationError: names every score that is outside, undefined or not there.
    """
    faults = []
    for key, (low, high) in expected.items():
        found = next((score for score in scores if key in _keys(score)), None)
        if found is None or found.value is None:
            faults.append(f"{key} was not scored" + (f" ({found.note})" if found and found.note else ""))
        elif not low <= found.value <= high:
            faults.append(
                f"{key} is {found.value:.4g}, expected {low:g}" + (f" to {high:g}" if high < math.inf else "")
            )
    if faults:
        raise ExpectationError("; ".join(faults), where=where)


def _keys(score: Score) -> set[str]:
    task, metric = score.task, score.metric
    names = {f"{task} {metric}", f"{task} {score.language} {metric}", f"{task} {score.variant} {metric}"}
    return names | {name.removesuffix(" spearman") for name in names}
