"""The rows of a recipe's table: what every system is scored on, means over seeds, expectations.

Before: dictsent.recipe.execution trained a system. After: the command line shows the rows and checks [expect].
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dictsent.encoder import Encoder
from dictsent.errors import ExpectationError
from dictsent.evaluate import evaluate
from dictsent.model import Model
from dictsent.pairs import Pairs
from dictsent.recipe.settings import STEP, Evaluation, Recipe
from dictsent.tasks.embedding import TextEncoder
from dictsent.tasks.prediction import own_ranking, vocabulary_ranking
from dictsent.tasks.prompting import with_pooling
from dictsent.tasks.readers import SentencePairs
from dictsent.tasks.scores import Score
from dictsent.tasks.senteval import Transfer, score_transfer
from dictsent.tasks.words import entry_scores, word_scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of the table: a system, or one step of its training.

    Attributes:
        scores: means over the seeds; of `transfer` tasks over as many of them as the recipe says.
        deviations: by column, the standard deviation over seeds, where there are several.
        folders: of the models behind the row.
        seconds: of the training of one seed.
    """

    name: str
    scores: tuple[Score, ...]
    step: int = 0
    definitions: int = 0
    deviations: dict[str, float] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Bench:
    """What every system is scored on: the sets, and the pairs whose headwords it must predict."""

    sets: Sequence[SentencePairs]
    pairs: Pairs
    language: str
    transfer: Sequence[Transfer] = ()

    def score(self, encoder: TextEncoder, *, transfer: bool = True) -> list[Score]:
        """Similarity on every set; word prediction by cosine with entries' mean definition vectors; SentEval tasks."""
        scores = evaluate(encoder, self.sets)
        if self.pairs.test:
            ranking = entry_scores(encoder, self.pairs.test, self.pairs.all())
            scores += word_scores(ranking, language=self.language, split="test")
        if transfer and self.transfer:
            scores += score_transfer(encoder, self.transfer)
        return scores

    def score_trained(self, model: Model, *, evaluation: str = "", transfer: bool = True) -> list[Score]:
        """The same under a pooling of its own, and word prediction the way the model was trained to do it."""
        scores = self.score(with_pooling(model.encoder, evaluation), transfer=transfer)
        if self.pairs.test:
            ranking, variant = own_ranking(model, self.pairs.test, "test")
            scores += word_scores(ranking, language=self.language, split="test", variant=variant)
        return scores

    def score_untrained(self, encoder: Encoder, evaluation: Evaluation) -> list[Score]:
        """An encoder as it is under a pooling; where it has a masked-LM head, also what that head predicts."""
        pooled = with_pooling(encoder, evaluation)
        scores = self.score(pooled)
        if self.pairs.test and isinstance(pooled, Encoder) and pooled.masked_lm is not None:
            ranking = vocabulary_ranking(Model(pooled, "", None, None, {}), self.pairs.test)
            scores += word_scores(ranking, language=self.language, split="test", variant="vocabulary")
        return scores


def mean_row(row: Row, by_seed: Sequence[Sequence[Score]]) -> Row:
    """The row with the means over seeds of every figure, and their deviations by column."""
    values: dict[tuple[str, ...], list[Score]] = {}
    for scores in by_seed:
        for score in scores:
            values.setdefault((score.task, score.protocol, score.variant, score.metric), []).append(score)
    means: list[Score] = []
    deviations: dict[str, float] = {}
    for found in values.values():
        numbers = [score.value for score in found if score.value is not None]
        means.append(replace(found[0], value=statistics.fmean(numbers) if numbers else None))
        if len(numbers) > 1 and (column := column_of(found[0])):
            deviations.setdefault(column, statistics.stdev(numbers) * _scale(found[0]))
    return replace(row, scores=tuple(means), deviations=deviations)


@dataclass(frozen=True, slots=True)
class Fault:
    """A score outside its bounds."""

    system: str
    score: str
    value: float | None
    bounds: tuple[float, float] = field(default=(0.0, 0.0))

    def __str__(self) -> str:
        value = "missing" if self.value is None else f"{self.value:.4g}"
        return f"{self.system} {self.score} is {value}, expected {self.bounds[0]:g} to {self.bounds[1]:g}"


def check_expectations(recipe: Recipe, rows: Sequence[Row]) -> None:
    """Compare each system's last step, or the one named, with [expect]. Raises ExpectationError, naming every fault."""
    last = {name: columns(row) for row in rows for name in (row.name, f"{row.name}{STEP}{row.step}")}
    faults = [
        Fault(system, score, last.get(system, {}).get(score), (bound[0], bound[1]))
        for system, bounds in recipe.expect.items()
        for score, bound in bounds.items()
    ]
    outside = [f for f in faults if f.value is None or not f.bounds[0] <= f.value <= f.bounds[1]]
    if outside:
        raise ExpectationError("; ".join(map(str, outside)), where=recipe.title)


_RANKED = {"mrr": "MRR", "top1": "Top1", "top3": "Top3", "top10": "Top10"}
_TRANSFER_AVERAGE = "Avg transfer"


def columns(row: Row) -> dict[str, float | None]:
    """The row's figures by column: each set's Spearman, averages, word prediction x100, SentEval accuracies."""
    found: dict[str, float | None] = {}
    for score in row.scores:
        if column := column_of(score):
            found.setdefault(column, None if score.value is None else score.value * _scale(score))
    return found


def column_of(score: Score) -> str:
    """The column a figure stands in, "" where it stands in none."""
    if score.metric == "spearman" and "/" not in score.task:
        return f"{score.task} unexposed" if score.variant.endswith("-unexposed") else score.task
    if score.task == "words" and score.metric in _RANKED:
        own = score.variant != "entries"
        return f"{_RANKED[score.metric]} own" if own else _RANKED[score.metric]
    if score.metric == "accuracy":
        return _TRANSFER_AVERAGE if score.task == "Avg" else score.task
    return ""


def _scale(score: Score) -> float:
    return 100.0 if score.task == "words" else 1.0
