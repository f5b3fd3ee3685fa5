"""execute(): a recipe from its dictionaries to its table. The page to read first.

Before: dictsent.recipe.settings read the file. After: the command line shows the rows and checks [expect].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dictsent.adapter import identify, installed
from dictsent.errors import ExpectationError
from dictsent.evaluate import available, evaluate
from dictsent.languages import find_language
from dictsent.model import Model, keep_scores, text_encoder
from dictsent.pairs import Pairs, PairSettings, select
from dictsent.recipe.settings import STEP, Recipe, System, require_supplied
from dictsent.recipe.start import STATIC
from dictsent.recipe.training import Plan, Watch, run_training, start_of
from dictsent.recipe.wordnet import Places, find_wordnet
from dictsent.sources import Request, ingest, remarks
from dictsent.store import Store
from dictsent.tasks.baselines import Tfidf
from dictsent.tasks.data import Choice
from dictsent.tasks.embedding import TextEncoder
from dictsent.tasks.prediction import own_ranking
from dictsent.tasks.readers import SentencePairs
from dictsent.tasks.scores import Score
from dictsent.tasks.words import entry_scores, word_scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a recipe works: its store, its runs, where evaluation sets lie, where WordNet may be."""

    store: Path
    runs: Path
    wordnet: Places
    data: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: a system, or one step of its training, with its scores."""

    name: str
    step: int
    definitions: int
    scores: tuple[Score, ...]
    folder: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _Bench:
    """What every system is scored on: the sets, and the pairs whose headwords it must predict."""

    sets: Sequence[SentencePairs]
    pairs: Pairs
    language: str

    def score(self, encoder: TextEncoder) -> list[Score]:
        """Similarity on every set; word prediction by cosine with entries' mean definition vectors."""
        scores = evaluate(encoder, self.sets)
        if self.pairs.test:
            ranking = entry_scores(encoder, self.pairs.test, self.pairs.all())
            scores += word_scores(ranking, language=self.language, split="test")
        return scores

    def score_trained(self, model: Model) -> list[Score]:
        """The same, and word prediction the way the model was trained to do it."""
        scores = self.score(model)
        if self.pairs.test:
            ranking, variant = own_ranking(model, self.pairs.test, "test")
            scores += word_scores(ranking, language=self.language, split="test", variant=variant)
        return scores


def execute(recipe: Recipe, place: Place, watch: Watch) -> list[Row]:
    """Ingest, choose pairs, then start, train and score each system in the recipe's order.

    Raises:
        DictsentError: whatever a step raises; what earlier steps finished stays in store and runs.
    """
    require_supplied(recipe)
    language = find_language(recipe.language)
    settings = PairSettings(
        language=language, split=recipe.split, limit=recipe.limit, form_of=recipe.form_of, dedup=recipe.dedup
    )
    rows: list[Row] = []
    with Store(place.store, create=True) as store:
        for source in recipe.source:
            _ingest(store, source.path or find_wordnet(place.wordnet, watch.notify), source.language, watch)
        pairs = select(store, settings)
        sets, left_out = available(Choice(languages=(language,)), list(place.data))
        for row in left_out:
            watch.notify(f"not scored: {row.set.label}: {row.reason}")
        bench = _Bench(sets, pairs, language)
        for system in recipe.system:
            watch.notify(f"-- {system.name}")
            plan = Plan(
                pairs=settings,
                runs=place.runs,
                encoder=system.encoder or None,
                method=system.method or None,  # type: ignore[arg-type]
                told=system.points[0],
                seed=recipe.seed,
            )
            rows += _run_system(store, system, plan, bench, watch)
    return rows


def _ingest(store: Store, source: str, language: str, watch: Watch) -> None:
    adapter = identify(source, installed())
    outcome = ingest(
        store,
        source,
        adapter,
        Request(language=find_language(language) if language else ""),
        progress=lambda reading, entries: watch.progress(reading.done, reading.total, f"{entries:,} entries"),
    )
    for line in remarks(outcome):
        watch.notify(line)


def _run_system(store: Store, system: System, plan: Plan, bench: _Bench, watch: Watch) -> list[Row]:
    """A baseline, an encoder as it is, or a training with a row for each of its steps."""
    if system.baseline:
        return [Row(system.name, 0, 0, tuple(bench.score(Tfidf(language=bench.language))))]
    if not system.method:
        if system.encoder == STATIC:
            run = run_training(store, plan, watch, chosen=bench.pairs)
            return [_kept(Row(system.name, 0, 0, tuple(bench.score(text_encoder(str(run.folder)))), str(run.folder)))]
        start = start_of(store, plan, watch)
        return [Row(system.name, 0, 0, tuple(bench.score(text_encoder(start.name))), start.name)]
    rows: list[Row] = []

    def on_step(model: Model, step: int) -> None:
        rows.append(Row(system.name, step, len(bench.pairs.train), tuple(bench.score_trained(model))))

    run = run_training(store, plan, replace(watch, on_step=on_step), chosen=bench.pairs)
    logs = run.record["steps"]
    rows = [
        replace(r, seconds=log["seconds"], definitions=log["definitions"]) for r, log in zip(rows, logs, strict=True)
    ]
    rows[-1] = _kept(replace(rows[-1], folder=str(run.folder)))
    return rows


def _kept(row: Row) -> Row:
    """The row, its scores written into the run's record and card."""
    keep_scores(Path(row.folder), [score.to_json() for score in row.scores])
    return row


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


def columns(row: Row) -> dict[str, float | None]:
    """The row's figures by column: each set's Spearman, averages, word prediction x100."""
    found: dict[str, float | None] = {}
    for score in row.scores:
        if score.metric == "spearman" and "/" not in score.task:
            found.setdefault(_set_column(score), score.value)
        elif score.task == "words" and score.metric in _RANKED:
            name = _RANKED[score.metric]
            own = score.variant != "entries"
            found[f"{name} own" if own else name] = None if score.value is None else 100 * score.value
    return found


def _set_column(score: Score) -> str:
    return f"{score.task} unexposed" if score.variant.endswith("-unexposed") else score.task
