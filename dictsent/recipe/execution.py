"""execute(): a recipe from its dictionaries to its table. The page to read first.

Before: dictsent.recipe.settings read the file. After: the command line shows the rows and checks [expect].
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from dictsent.adapter import identify, installed
from dictsent.encoder import Encoder
from dictsent.evaluate import available
from dictsent.languages import find_language
from dictsent.model import Model, keep_scores, text_encoder
from dictsent.pairs import Pairs, PairSettings, select
from dictsent.recipe.criterion import DevScorer, sts_dev
from dictsent.recipe.protocol import Outcome, run_training
from dictsent.recipe.scoring import Bench, Row, mean_row
from dictsent.recipe.settings import Recipe, System, require_supplied
from dictsent.recipe.start import STATIC
from dictsent.recipe.training import Chosen, Plan, Unit, Watch, start_of
from dictsent.recipe.wordnet import Places, find_wordnet
from dictsent.sources import Request, ingest, remarks, watching
from dictsent.store import Store
from dictsent.tasks.baselines import Tfidf
from dictsent.tasks.data import Choice
from dictsent.tasks.scores import Score
from dictsent.tasks.senteval import find_transfer


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a recipe works: its store, its runs, where evaluation sets lie, where WordNet may be."""

    store: Path
    runs: Path
    wordnet: Places
    data: tuple[Path, ...] = ()


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
    dev_scorer = sts_dev([language], place.data)
    rows: list[Row] = []
    with Store(place.store, create=True) as store, _shared_steps(place.runs) as shared:
        for source in recipe.source:
            _ingest(store, source.path or find_wordnet(place.wordnet, watch.notify), source.language, watch)
        bench = _bench(recipe, place, select(store, settings), language, watch)
        for system in recipe.system:
            watch.notify(f"-- {system.name}")
            plan = Plan(
                pairs=settings,
                runs=place.runs,
                encoder=system.encoder or None,
                method=system.method or None,  # type: ignore[arg-type]
                told=replace(system, grid={}).points[0],
                grid=system.grid,
                criterion=system.criterion,
                seeds=recipe.seeds,
                shared=shared,
            )
            rows += _run_system(store, system, plan, _Scoring(bench, recipe, system, dev_scorer), watch)
    return rows


@dataclass(frozen=True, slots=True)
class _Scoring:
    """How one system is scored."""

    bench: Bench
    recipe: Recipe
    system: System
    dev_scorer: DevScorer | None

    def of_model(self, model: Model, seed: int) -> list[Score]:
        """All scores of one model; SentEval's for the first seeds only."""
        transfer = seed in self.recipe.seeds[: self.recipe.transfer]
        return self.bench.score_trained(model, evaluation=self.system.evaluation, transfer=transfer)


@contextmanager
def _shared_steps(runs: Path) -> Iterator[Path]:
    """A folder for the steps that systems of one recipe have in common, gone with it."""
    runs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".steps-", dir=runs) as folder:
        yield Path(folder)


def _bench(recipe: Recipe, place: Place, pairs: Pairs, language: str, watch: Watch) -> Bench:
    folders = list(place.data)
    sets, left_out = available(Choice(languages=(language,)), folders)
    for row in left_out:
        watch.notify(f"not scored: {row.set.label}: {row.reason}")
    transfer, missing = find_transfer(folders) if recipe.transfer else ([], {})
    for name, reason in missing.items():
        watch.notify(f"not scored: {name}: {reason}")
    return Bench(sets, pairs, language, transfer)


def _ingest(store: Store, source: str, language: str, watch: Watch) -> None:
    adapter = identify(source, installed())
    request = Request(language=find_language(language) if language else "")
    with watching(watch.progress) as told:
        outcome = ingest(store, source, adapter, request, watch=told)
    for line in remarks(outcome):
        watch.notify(line)


def _run_system(store: Store, system: System, plan: Plan, scoring: _Scoring, watch: Watch) -> list[Row]:
    """A baseline, an encoder as it is, or a training with a row for each of its steps."""
    bench = scoring.bench
    if system.baseline:
        return [Row(name=system.name, scores=tuple(bench.score(Tfidf(language=bench.language))))]
    if system.method:
        return _run_training(store, system, plan, scoring, watch)
    plan = replace(plan, seeds=plan.seeds[:1])
    if system.encoder == STATIC:
        run = run_training(store, plan, watch, chosen=Chosen(bench.pairs)).best
        scores = bench.score(text_encoder(str(run.folder)))
        keep_scores(run.folder, [score.to_json() for score in scores])
        return [Row(name=system.name, scores=tuple(scores), folders=(str(run.folder),))]
    name = start_of(store, plan, watch).name
    if system.evaluation:
        scores = bench.score_untrained(Encoder.load(name), system.evaluation)
    else:
        scores = bench.score(text_encoder(name))
    return [Row(name=system.name, scores=tuple(scores), folders=(name,))]


def _run_training(store: Store, system: System, plan: Plan, scoring: _Scoring, watch: Watch) -> list[Row]:
    """A row for each step, means over the seeds; of a grid the chosen point's last step only, the one that is kept.

    Scores on test sets are computed after the choice or have no part in it.
    """
    found: dict[int, dict[int, list[Score]]] = {}

    def on_step(model: Model, unit: Unit) -> None:
        if not system.grid:
            found.setdefault(unit.step, {})[unit.seed] = scoring.of_model(model, unit.seed)

    watch = replace(watch, on_step=on_step)
    outcome = run_training(store, plan, watch, chosen=Chosen(scoring.bench.pairs), dev_scorer=scoring.dev_scorer)
    logs = outcome.best.record["steps"]
    if system.grid:
        seeds = {run.record["seed"]: run for run in outcome.chosen}
        found[len(logs)] = {seed: scoring.of_model(Model.load(run.folder), seed) for seed, run in seeds.items()}
    _keep(outcome, found[len(logs)])
    folders = tuple(str(run.folder) for run in outcome.chosen)
    rows = []
    for step, by_seed in found.items():
        log = logs[step - 1]
        row = Row(name=system.name, scores=(), step=step, definitions=log["definitions"], seconds=log["seconds"])
        row = replace(row, folders=folders if step == len(logs) else ())
        rows.append(mean_row(row, list(by_seed.values())))
    return rows


def _keep(outcome: Outcome, by_seed: dict[int, list[Score]]) -> None:
    """Write the scores into the records and cards of the chosen runs."""
    for run in outcome.chosen:
        keep_scores(run.folder, [score.to_json() for score in by_seed[run.record["seed"]]])
