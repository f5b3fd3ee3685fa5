"""The papers' whole protocol in one command: a grid of settings, several seeds, the best seed's encoder building the
entries of the next step; a single training is the smallest such protocol.

Before: dictsent.recipe.training's plan. After: model folders among the runs, which `eval` scores.
"""

from __future__ import annotations

import hashlib
import json
import random
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from dictsent import ranks
from dictsent.card import model_card
from dictsent.checkpoints import Checkpoints
from dictsent.encoder import PROBES, Encoder
from dictsent.entryspace import EntrySpace
from dictsent.errors import TrainingError
from dictsent.folders import require_free
from dictsent.model import Model, rewrite_record, save, write_json
from dictsent.recipe.criterion import DevScorer
from dictsent.recipe.settings import grid_points
from dictsent.recipe.start import STATIC, Start
from dictsent.recipe.training import (
    Chosen,
    Plan,
    Run,
    Unit,
    Watch,
    base_record,
    choose,
    dev_mrr,
    digest,
    keep_static,
    load_start,
    method_name,
    resolve,
    say_coverage,
    say_pairs,
    settings_record,
    start_of,
)
from dictsent.runs import CACHE, next_folder, protocol_file, work_folder
from dictsent.settings import TrainSettings
from dictsent.store import Store
from dictsent.tasks.isotropy import portrait_of
from dictsent.train import Hooks, Trained, state_of, train, train_step
from dictsent.vocabulary import single_tokens


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a protocol leaves.

    Attributes:
        runs: every point of the grid with every seed, finished.
        best: the chosen point's best seed.
        summary: what is written beside the runs; empty for a single one.
    """

    runs: tuple[Run, ...]
    best: Run
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def chosen(self) -> tuple[Run, ...]:
        """All seeds of the chosen point."""
        return tuple(run for run in self.runs if run.record.get("protocol", {}).get("chosen", True))


def run_training(
    store: Store, plan: Plan, watch: Watch, *, chosen: Chosen | None = None, dev_scorer: DevScorer | None = None
) -> Outcome:
    """Train as planned and save the runs.

    Step by step all seeds are trained; the best one by the dev criterion builds the entries of the next step (METHODS;
    the paper chooses by test average). Among points of the grid the best mean over seeds is chosen. No step is trained
    twice: points that agree on it share it, and so does a protocol that is resumed.

    Args:
        chosen: the pairs, where the caller selected them already.
        dev_scorer: the dev criterion by language where it is not word prediction (an STS dev set).

    Raises:
        PairsError, EncoderError, HeadError, TrainingError: whatever is wrong with store, encoder or plan.
    """
    with ranks.together():
        chosen = chosen if chosen is not None else choose(store, plan)
        chosen.pairs.require_training()
        method = method_name(plan)
    folder = plan.out or ranks.first(lambda: next_folder(plan.runs, language="-".join(plan.tags), method=method))
    checkpoints = Checkpoints(work_folder(folder))
    start = ranks.first(lambda: Start(**checkpoints.plan()["start"]) if plan.resume else start_of(store, plan, watch))
    record = base_record(store, plan, chosen.pairs, start)
    if start.kind == STATIC:
        run = ranks.first(lambda: keep_static(start, folder, record))
        return Outcome((run,), run)
    with ranks.together():
        encoder = load_start(start, plan)
        encoder.cache = plan.runs / CACHE
        protocol = _Protocol(plan, watch, chosen, encoder, checkpoints, folder, record, dev_scorer, state_of(encoder))
        protocol.trainings = _trainings(plan, encoder, start, folder)
    say_pairs(chosen.pairs, watch)
    if method == "defsent":
        say_coverage(encoder, chosen, watch)
    with _unfinished(protocol, start):
        return protocol.run()


@dataclass(frozen=True, slots=True)
class _Training:
    """One point of the grid with one seed, and the folder its model will have."""

    point: int
    told: dict[str, Any]
    settings: TrainSettings
    folder: Path


def _trainings(plan: Plan, encoder: Encoder, start: Start, folder: Path) -> list[_Training]:
    points = grid_points(plan.grid)
    found = []
    for number, point in enumerate(points):
        for seed in plan.seeds:
            name = folder.name
            name += f"-p{number + 1}" if len(points) > 1 else ""
            name += f"-s{seed}" if len(plan.seeds) > 1 else ""
            settings = resolve(plan, encoder, start, point=point, seed=seed)
            found.append(_Training(number, point, settings, folder.with_name(name)))
    return found


@dataclass(slots=True)
class _Protocol:
    plan: Plan
    watch: Watch
    chosen: Chosen
    start: Encoder
    checkpoints: Checkpoints
    folder: Path
    record: dict[str, Any]
    dev_scorer: DevScorer | None
    state: str
    trainings: list[_Training] = field(default_factory=list)
    units_done: int = 0

    @property
    def units(self) -> Checkpoints:
        """Where steps are kept: with the other work, or shared with plans on the same pairs and encoder."""
        if self.plan.shared is None:
            return self.checkpoints
        return Checkpoints(self.plan.shared / _named([digest(self.chosen.pairs), self.state]))

    @property
    def single(self) -> bool:
        """Whether there is nothing to choose."""
        return len(self.trainings) == 1

    @property
    def criterion(self) -> str:
        """What the dev figure is."""
        if self.plan.criterion != "sts" and self._can_ask_words():
            return "word prediction MRR on dev headwords"
        return "STS-B dev" if self.dev_scorer is not None else "none"

    def _can_ask_words(self) -> bool:
        """Whether a dev word can be asked for: it has another definition to be found by, or a token of its own."""
        dev = self.chosen.pairs.dev
        if method_name(self.plan) == "defsent":
            return bool(single_tokens(self.start.tokenizer, {pair.headword for pair in dev}))
        return any(count > 1 for count in Counter(pair.entry for pair in dev).values())

    def run(self) -> Outcome:
        """All points, the choice among them, the summary."""
        ranks.first(self._require_free)
        if not self.single and self.criterion == "none":
            raise TrainingError(
                "several seeds or settings need a dev criterion, and no dev word can be asked for",
                hint="use --split hash and more definitions, or --criterion sts with an STS-B dev set below --sets",
            )
        if self.trainings[0].settings.method == "defsent":
            self._check_head()
        runs: list[Run] = []
        for point in dict.fromkeys(t.point for t in self.trainings):
            runs += self._train_point([t for t in self.trainings if t.point == point])
        outcome = ranks.first(lambda: self._choose(runs))
        ranks.first(self.checkpoints.remove)
        return outcome

    def _require_free(self) -> None:
        for training in self.trainings:
            if not (self.plan.resume and training.folder.exists()):
                require_free(training.folder)

    def _check_head(self) -> None:
        train, seed = self.chosen.pairs.train, self.plan.seed
        sample = random.Random(seed).sample(range(len(train)), min(PROBES, len(train)))
        self.record["head_mrr"] = self.start.check_head([train[row].definition for row in sample], seed=seed)

    def _train_point(self, seeds: Sequence[_Training]) -> list[Run]:
        """All steps of one point of the grid: each step with all seeds before the next."""
        runs: list[Run] = []
        logs: list[tuple[Any, ...]] = [()] * len(seeds)
        builder, built_by = self.start, "start"
        builders: list[int] = []
        for step in range(1, seeds[0].settings.pst + 1):
            found: list[tuple[Trained, str, int]] = []
            for number, training in enumerate(seeds):
                unit = _unit_name(training.settings, step, built_by)
                trained = self._train_unit(training, step, unit, builder, built_by, logs[number])
                logs[number] = trained.log
                if step == training.settings.pst:
                    runs.append(self._save(training, trained, builders))
                found.append((trained, unit, training.settings.seed))
                # Only the best encoder so far stays in memory; the first one wins a tie.
                found = [max(found, key=lambda one: _dev(one[0]))]
            (best, built_by, seed) = found[0]
            builder = best.encoder
            builders.append(seed)
        return runs

    def _train_unit(
        self, training: _Training, step: int, unit: str, builder: Encoder, built_by: str, log: tuple[Any, ...]
    ) -> Trained:
        settings = training.settings
        checkpoints = self.units.unit(unit, _space_name(settings, step, built_by))
        hooks = self._hooks(training, step, checkpoints)
        shared = self.plan.shared is not None and checkpoints.has_step(step)
        if settings.method == "defsent":
            trained = train(self.start, self.chosen.pairs, settings, hooks)
        else:
            trained = train_step(self.start, builder, self.chosen.pairs, settings, step, hooks, log=log)
        self.units_done += 1
        if shared and step == settings.pst:
            # Another plan trained it; whoever watches this one has not seen it.
            ranks.first(lambda: hooks.on_step(trained))
        return trained

    def _hooks(self, training: _Training, step: int, checkpoints: Checkpoints) -> Hooks:
        watch, settings = self.watch, training.settings
        label = "" if self.single else f"{training.folder.name} step {step}: "
        units = sum(t.settings.pst for t in self.trainings)

        def progress(done: int, total: int, loss: float) -> None:
            updates = total // settings.pst
            so_far = self.units_done * updates + done - (step - 1) * updates
            watch.progress(so_far, units * updates, f"{label}loss {loss:.3f}")

        unit = Unit(training.point, settings.seed, step)

        def on_step(trained: Trained) -> None:
            watch.tell("step", {"point": unit.point, "seed": unit.seed, **trained.log[-1].told()})
            watch.on_step(Model.of(trained), unit)

        return Hooks(
            progress=progress,
            scorer=self._score,
            portrait=portrait_of,
            on_step=on_step,
            stop=watch.stop,
            checkpoints=checkpoints,
            minutes=self.plan.minutes,
        )

    def _score(self, trained: Trained) -> Mapping[str, float]:
        model = Model.of(trained)
        if self.chosen.pairs.dev and self.plan.criterion != "sts":
            return dev_mrr(model, self.chosen)
        return self.dev_scorer(model) if self.dev_scorer is not None else {}

    def _save(self, training: _Training, trained: Trained, builders: Sequence[int]) -> Run:
        record = self.record | settings_record(training.settings) | {"seed": training.settings.seed}
        record |= {"steps": [log.as_dict() for log in trained.log], "coverage": trained.coverage}
        record["dev_criterion"] = self.criterion
        if not self.single:
            record["protocol"] = {
                "name": self.folder.name,
                "seeds": list(self.plan.seeds),
                "point": training.told,
                "builders": list(builders),
            }
        if trained.space is not None and self.chosen.entries:
            trained.space = _tag_rows(trained.space, self.chosen.entries)
        ranks.first(lambda: _save_once(trained, training.folder, record))
        return Run(training.folder, record)

    def _choose(self, runs: Sequence[Run]) -> Outcome:
        """Mark the runs of the best point, write the summary."""
        if self.single:
            return Outcome(tuple(runs), runs[0])
        points = [self._point(number, runs) for number in dict.fromkeys(t.point for t in self.trainings)]
        best = max(points, key=lambda point: point["dev"])
        for training, run in zip(self.trainings, runs, strict=True):
            run.record["protocol"]["chosen"] = points[training.point] is best
            rewrite_record(run.folder, run.record)
        summary = {
            "schema_version": 1,
            "name": self.folder.name,
            "seeds": list(self.plan.seeds),
            "criterion": self.criterion,
            "points": points,
            "chosen": points.index(best),
        }
        write_json(protocol_file(self.folder), summary)
        champion = max((run for run in runs if run.record["protocol"]["chosen"]), key=_final_dev)
        return Outcome(tuple(runs), champion, summary)

    def _point(self, number: int, runs: Sequence[Run]) -> dict[str, Any]:
        mine = [(t, run) for t, run in zip(self.trainings, runs, strict=True) if t.point == number]
        values = [_final_dev(run) for _, run in mine]
        return {
            "settings": mine[0][0].told,
            "dev": statistics.fmean(values),
            "dev_deviation": statistics.stdev(values) if len(values) > 1 else None,
            "runs": [{"run": str(run.folder), "seed": t.settings.seed, "dev": _final_dev(run)} for t, run in mine],
        }


def _tag_rows(space: EntrySpace, entries: Mapping[str, frozenset[int]]) -> EntrySpace:
    """The space, each row knowing its language where there are several."""
    tag_of = {entry: tag for tag, of_tag in entries.items() for entry in of_tag}
    tags = [""] * len(space.names)
    for entry, row in space.row_of.items():
        tags[row] = tag_of[entry]
    return replace(space, languages=tuple(tags))


def _save_once(trained: Trained, folder: Path, record: dict[str, Any]) -> None:
    """Save a model that an interrupted protocol has not saved already."""
    if not folder.exists() or not any(folder.iterdir()):
        save(trained, folder, record=record, card=model_card(record))


def _dev(trained: Trained) -> float:
    value = trained.log[-1].dev
    return -1.0 if value is None else value


def _final_dev(run: Run) -> float:
    value = run.record["steps"][-1]["dev"]
    return -1.0 if value is None else float(value)


def _unit_name(settings: TrainSettings, step: int, built_by: str) -> str:
    """The name of all that decides what one step comes to, so that equal steps are trained once."""
    said = asdict(settings)
    for of_all_steps in ("pst", "learning_rates", "isotropy", "pooling", "poolings"):
        del said[of_all_steps]
    return _named([said, settings.rate(step), settings.pooling_of(step), step, built_by, _transform(settings, step)])


def _space_name(settings: TrainSettings, step: int, built_by: str) -> str:
    """The name of all that decides what an entry matrix is; no seed of this step's does."""
    return _named([settings.entries, settings.merge_synonyms, built_by, _transform(settings, step)])


def _transform(settings: TrainSettings, step: int) -> str:
    return settings.isotropy if step == settings.pst else "none"


def _named(said: Any) -> str:
    return hashlib.blake2b(json.dumps(said, sort_keys=True, default=list).encode(), digest_size=8).hexdigest()


@contextmanager
def _unfinished(protocol: _Protocol, start: Start) -> Iterator[None]:
    """Keep a training that is interrupted, if there is anything to keep; refuse to resume another one than this."""
    checkpoints, plan = protocol.checkpoints, protocol.plan
    asked = {
        "settings": [asdict(t.settings) for t in protocol.trainings],
        "start": asdict(start),
        "pairs": digest(protocol.chosen.pairs),
        "encoder": protocol.state,
        "asked": plan.asked,
    }
    asked = json.loads(json.dumps(asked))
    ranks.first(lambda: _resume(checkpoints, asked) if plan.resume else checkpoints.begin(asked))
    try:
        yield
    except BaseException:
        if ranks.rank() == 0 and checkpoints.is_empty():
            checkpoints.remove()
        raise


def _resume(checkpoints: Checkpoints, asked: dict[str, Any]) -> None:
    before = checkpoints.plan()
    named = {"settings": "settings", "pairs": "pairs", "encoder": "weights to start from"}
    other = [name for key, name in named.items() if before.get(key) != asked[key]]
    if other:
        raise TrainingError(
            f"the unfinished training had other {' and '.join(other)}",
            where=str(checkpoints.folder),
            hint="resume with the options and the store it was started with, or start anew without --resume",
        )
