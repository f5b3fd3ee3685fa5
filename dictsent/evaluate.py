"""Score an encoder on sentence similarity sets: every distinct sentence is embedded once across all of them.

Before: dictsent.tasks (sets, readers, scorers) and any TextEncoder. After: tables, --json, dictsent.report.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from dictsent.errors import TaskError
from dictsent.tasks.data import SEVEN, Choice, LeftOut, find
from dictsent.tasks.embedding import Embeddings, Progress, TextEncoder, embed
from dictsent.tasks.readers import SentencePairs, load
from dictsent.tasks.scores import Score
from dictsent.tasks.statistics import Floats
from dictsent.tasks.sts import AVERAGE, UNEXPOSED, Scoring, averages, cosine, score_set


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
        encoder: gives (n, d) vectors; one with `fit_texts` is fitted on all distinct sentences of the sets first.
        progress: called with the number of distinct sentences embedded and in all.

    Raises:
        EncoderError: the encoder's vectors are unusable.
    """
    scoring = scoring or Scoring()
    vectors = embed(encoder, sentences(sets), progress)
    scores = [score for pairs in sets for score in score_set(pairs, similarity(pairs, vectors), scoring)]
    return scores + averages(scores)


def sentences(sets: Iterable[SentencePairs]) -> list[str]:
    """All sentences of the sets, with repetitions."""
    return [text for pairs in sets for text in (*pairs.first, *pairs.second)]


def similarity(pairs: SentencePairs, vectors: Embeddings) -> Floats:
    """(n,) cosine of each pair."""
    return cosine(vectors.rows(pairs.first), vectors.rows(pairs.second))


def main_scores(scores: Iterable[Score]) -> list[Score]:
    """One figure a set: Spearman over all pairs, without subsets and without the unexposed variants."""
    return [
        score
        for score in scores
        if score.metric == "spearman" and "/" not in score.task and not score.variant.endswith(UNEXPOSED)
    ]


def paper_row(scores: Iterable[Score]) -> dict[str, float | None]:
    """The row of the papers' tables: STS12 STS13 STS14 STS15 STS16 STS-B SICK-R Avg; None where there is no figure."""
    found = {score.task: score.value for score in main_scores(scores) if score.language == "en"}
    return {column: found.get(column) for column in (*SEVEN, AVERAGE)}
