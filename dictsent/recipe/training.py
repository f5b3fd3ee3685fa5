"""One training as users mean it: choose pairs and a starting point, train, save a run with its record and card.

Before: a store. After: a model folder among the runs, which `eval` scores.
"""

from __future__ import annotations

import hashlib
import json
import platform
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dictsent import __version__
from dictsent.card import model_card
from dictsent.checkpoints import Checkpoints, Stop
from dictsent.encoder import PROBES, Encoder
from dictsent.errors import TrainingError
from dictsent.folders import appearing, require_free
from dictsent.model import Model, save, write_json
from dictsent.pairs import Pairs, PairSettings, glosses, select
from dictsent.recipe.start import STATIC, Notify, Start, choose_start
from dictsent.runs import next_folder, work_folder
from dictsent.settings import Method, Pooling, TrainSettings, defaults
from dictsent.store import Store
from dictsent.tasks.prediction import own_ranking
from dictsent.tasks.words import summarise
from dictsent.train import Hooks, Trained, train

_PACKAGES = ("torch", "transformers", "sentence-transformers", "tokenizers", "scikit-learn", "numpy")
_RATES: dict[str, dict[str, tuple[float, ...]]] = {
    # DefSent: within the range of its Table 5. DefSent+: Table 5, BERT-base and RoBERTa-base.
    "defsent": {"": (2e-5,)},
    "defsent-plus": {"bert": (5e-5, 4e-5, 3e-5), "": (3e-5, 2e-5, 1e-5)},
}
SCRATCH_RATES: dict[str, tuple[float, ...]] = {"defsent": (1e-4,), "defsent-plus": (1e-4,)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a training is asked for.

    Attributes:
        encoder: a folder, a hub name, "scratch", "scratch:static", or None for the default with its fallback.
        method: None for the encoder's usual one.
        told: fields of TrainSettings that the user set; the others follow method and encoder.
        out: the model folder; None for the next free name among the runs.
        exclude: normalised texts (dictsent.pairs.letters) that no definition may be: evaluation sentences.
        asked: what the caller wants to find again when the training is resumed (a command line's options).
        resume: go on with the unfinished training of the run at `out`.
        minutes: between two checkpoints.
    """

    pairs: PairSettings
    runs: Path
    encoder: str | None = None
    method: Method | None = None
    told: dict[str, Any] = field(default_factory=dict)
    out: Path | None = None
    fallback: bool = True
    seed: int = 0
    exclude: frozenset[str] = frozenset()
    asked: dict[str, Any] = field(default_factory=dict)
    resume: bool = False
    minutes: float = 10.0


@dataclass(frozen=True, slots=True)
class Watch:
    """How a training tells what it does: a line, and progress (done, of how much, a few words); how it is stopped."""

    notify: Notify = lambda _: None
    progress: Callable[[int, int, str], None] = lambda *_: None
    on_step: Callable[[Model, int], None] = lambda *_: None
    stop: Stop = field(default_factory=Stop)


@dataclass(frozen=True, slots=True)
class Run:
    """A finished training: the model folder and its record."""

    folder: Path
    record: dict[str, Any]


def run_training(
    store: Store,
    plan: Plan,
    watch: Watch,
    *,
    chosen: Pairs | None = None,
    dev_scorer: Callable[[Model], float | None] | None = None,
) -> Run:
    """Train as planned and save the run.

    Args:
        chosen: the pairs, where the caller selected them already.
        dev_scorer: the dev criterion where no headwords are held out (an STS dev set).

    Raises:
        PairsError, EncoderError, HeadError, TrainingError: whatever is wrong with store, encoder or plan.
    """
    pairs = chosen if chosen is not None else select(store, plan.pairs, exclude=plan.exclude)
    pairs.require_training()
    folder = plan.out or next_folder(plan.runs, language=plan.pairs.language, method=_method_name(plan))
    require_free(folder)
    checkpoints = Checkpoints(work_folder(folder))
    start = Start(**checkpoints.plan()["start"]) if plan.resume else start_of(store, plan, watch)
    record = _record(store, plan, pairs, start)
    if start.kind == STATIC:
        return _keep_static(start, folder, record)
    encoder = load_start(start, plan)
    settings = resolve(plan, encoder, start)
    record |= _settings_record(settings)
    _say_pairs(pairs, watch)
    if settings.method == "defsent":
        sample = random.Random(settings.seed).sample(pairs.train, min(PROBES, len(pairs.train)))
        record["head_mrr"] = encoder.check_head([p.definition for p in sample], seed=settings.seed)
    with _unfinished(checkpoints, plan, start, settings=settings, pairs=pairs):
        trained = train(encoder, pairs, settings, _hooks(plan, watch, pairs, checkpoints, dev_scorer))
        record |= {"steps": [log.as_dict() for log in trained.log], "coverage": trained.coverage}
        record["dev_criterion"] = _criterion(pairs, dev_scorer)
        save(trained, folder, record=record, card=model_card(record))
    checkpoints.remove()
    return Run(folder, record)


def _hooks(
    plan: Plan,
    watch: Watch,
    pairs: Pairs,
    checkpoints: Checkpoints,
    dev_scorer: Callable[[Model], float | None] | None,
) -> Hooks:
    def scorer(trained: Trained) -> float | None:
        model = Model.of(trained)
        return _dev_mrr(model, pairs) if pairs.dev else dev_scorer(model) if dev_scorer else None

    return Hooks(
        progress=lambda done, total, loss: watch.progress(done, total, f"loss {loss:.3f}"),
        scorer=scorer,
        on_step=lambda trained: watch.on_step(Model.of(trained), trained.log[-1].step),
        stop=watch.stop,
        checkpoints=checkpoints,
        minutes=plan.minutes,
    )


def _criterion(pairs: Pairs, dev_scorer: object) -> str:
    if pairs.dev:
        return "word prediction MRR on dev headwords"
    return "STS-B dev" if dev_scorer else "none"


@contextmanager
def _unfinished(
    checkpoints: Checkpoints, plan: Plan, start: Start, *, settings: TrainSettings, pairs: Pairs
) -> Iterator[None]:
    """Keep a training that is interrupted, if there is anything to keep; refuse to resume another one than this."""
    asked = json.loads(
        json.dumps({"settings": asdict(settings), "start": asdict(start), "pairs": _digest(pairs), "asked": plan.asked})
    )
    if plan.resume:
        before = checkpoints.plan()
        other = [key for key in ("settings", "pairs") if before[key] != asked[key]]
        if other:
            raise TrainingError(
                f"the unfinished training had other {' and '.join(other)}",
                where=str(checkpoints.folder),
                hint="resume with the options and the store it was started with, or start anew without --resume",
            )
    else:
        checkpoints.begin(asked)
    try:
        yield
    except BaseException:
        if checkpoints.is_empty():
            checkpoints.remove()
        raise


def _digest(pairs: Pairs) -> str:
    digest = hashlib.sha256()
    for pair in pairs.all():
        digest.update(f"{pair.entry}\t{pair.headword}\t{pair.definition}\t{pair.split}\n".encode())
    return digest.hexdigest()


def start_of(store: Store, plan: Plan, watch: Watch) -> Start:
    """The starting point; a scratch encoder sees the training headwords' definitions of the whole store only."""

    def text() -> Any:
        every = select(store, replace(plan.pairs, limit=None), exclude=plan.exclude)
        every.require_training()
        return glosses(every.train, store.examples(plan.pairs.language))

    return choose_start(
        plan.encoder,
        text,
        folder=plan.runs / "encoders",
        language=plan.pairs.language,
        seed=plan.seed,
        fallback=plan.fallback,
        notify=watch.notify,
        progress=watch.progress,
    )


def load_start(start: Start, plan: Plan) -> Encoder:
    """The starting encoder. DefSent's RoBERTa reads every text behind a space (METHODS)."""
    return Encoder.load(start.name, prefix_space=plan.method == "defsent")


def resolve(plan: Plan, encoder: Encoder, start: Start) -> TrainSettings:
    """The settings: what the user said, then what the encoder suggests, then the method's own."""
    method: Method = plan.method or "defsent-plus"
    told = {key: value for key, value in plan.told.items() if value is not None}
    pooling: Pooling = told.get("pooling") or encoder.pooling
    rates = SCRATCH_RATES[method] if start.is_scratch else _rates(method, str(encoder.backbone.config.model_type))
    suggested = {
        "pooling": pooling,
        "entries": {"weighted": "awp", "cls": "ac"}.get(pooling, "amp"),
        "learning_rates": rates,
        "seed": plan.seed,
    }
    return TrainSettings(method=method, **{**defaults(method), **suggested, **told})


def _rates(method: Method, family: str) -> tuple[float, ...]:
    rates = _RATES[method]
    return rates.get(family, rates[""])


def _method_name(plan: Plan) -> str:
    if plan.encoder == STATIC:
        if plan.method is not None:
            raise TrainingError(
                f"there is no {plan.method} on static vectors",
                where="--encoder",
                hint="leave --method out, or use --encoder scratch",
            )
        return "static"
    return plan.method or "defsent-plus"


def _dev_mrr(model: Model, pairs: Pairs) -> float | None:
    ranking, _ = own_ranking(model, pairs.dev, "dev")
    return summarise(ranking.ranks)["mrr"] if len(ranking.ranks) else None


def _say_pairs(pairs: Pairs, watch: Watch) -> None:
    left = ", ".join(f"{n:,} {reason}" for reason, n in pairs.left_out.items() if n)
    watch.notify(
        f"{len(pairs.train):,} definitions to train on, {len(pairs.dev):,} dev, {len(pairs.test):,} test"
        + (f"; left out: {left}" if left else "")
        + "".join(f"; {n:,} {what}" for what, n in pairs.changed.items() if n)
    )


def _record(store: Store, plan: Plan, pairs: Pairs, start: Start) -> dict[str, Any]:
    allowed = plan.pairs.licences
    sources = [
        s
        for s in store.sources()
        if s.language in (plan.pairs.language, "mul") and (not allowed or s.licence in allowed)
    ]
    keys = ("name", "adapter", "version", "licence", "attribution", "address", "checksum", "definitions")
    return {
        "schema_version": 1,
        "dictsent": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "method": _method_name(plan),
        "language": plan.pairs.language,
        "encoder": {"name": start.name, "kind": start.kind},
        "notes": [start.note] if start.note else [],
        "seed": plan.seed,
        "pairs": {
            "settings": asdict(plan.pairs),
            "train": len(pairs.train),
            "dev": len(pairs.dev),
            "test": len(pairs.test),
            "left_out": pairs.left_out,
            "changed": pairs.changed,
        },
        "sources": [{key: getattr(source, key) for key in keys} for source in sources],
        "packages": {name: version(name) for name in _PACKAGES} | {"python": platform.python_version()},
        "scores": [],
        **_hashed({"pairs": asdict(plan.pairs), "encoder": start.name}),
    }


def _settings_record(settings: TrainSettings) -> dict[str, Any]:
    return _hashed(asdict(settings))


def _hashed(settings: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(settings, sort_keys=True, default=list)
    return {"settings": settings, "settings_hash": hashlib.sha256(text.encode()).hexdigest()}


def _keep_static(start: Start, folder: Path, record: dict[str, Any]) -> Run:
    import shutil

    with appearing(folder) as partial:
        shutil.copytree(start.name, partial, dirs_exist_ok=True)
        write_json(partial / "record.json", record)
        (partial / "README.md").write_text(model_card(record), encoding="utf-8")
    return Run(folder, record)
