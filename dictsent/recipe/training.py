"""What stands before a training: the plan, the pairs it asks for, the encoder it starts from, the settings, the record.

Before: a store. After: dictsent.recipe.protocol trains and saves runs.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dictsent import __version__
from dictsent.card import model_card
from dictsent.checkpoints import Stop
from dictsent.encoder import Encoder
from dictsent.errors import PairsError, TrainingError
from dictsent.folders import appearing
from dictsent.model import Model, write_json
from dictsent.pairs import Pairs, PairSettings, glosses, select
from dictsent.pairs.mixture import mixed
from dictsent.recipe.settings import Criterion
from dictsent.recipe.start import STATIC, Notify, Start, choose_start
from dictsent.records import Gloss
from dictsent.settings import Method, Pooling, TrainSettings, defaults
from dictsent.store import Store
from dictsent.tasks.prediction import own_ranking
from dictsent.tasks.words import summarise
from dictsent.vocabulary import coverage, single_tokens

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
        seeds: of every random choice; each is a run. The first one builds the scratch encoder and mixes languages.
        grid: fields of TrainSettings, or "combination", each with the values to try.
        languages: more than one: a single encoder on the entries of all; `pairs.language` is the first.
        temperature: how languages are sampled (dictsent.pairs.mixture).
        criterion: what chooses among points and seeds: word prediction on dev headwords, or an STS dev set; "" for the
            first where headwords are held out.
        out: the model folder; None for the next free name among the runs.
        exclude: normalised texts (dictsent.pairs.letters) that no definition may be: evaluation sentences.
        asked: what the caller wants to find again when the training is resumed (a command line's options).
        resume: go on with the unfinished training of the run at `out`.
        minutes: between two checkpoints.
        shared: a folder for finished steps, kept for further plans whose trainings begin alike; None for none.
    """

    pairs: PairSettings
    runs: Path
    encoder: str | None = None
    method: Method | None = None
    told: dict[str, Any] = field(default_factory=dict)
    out: Path | None = None
    fallback: bool = True
    seeds: tuple[int, ...] = (0,)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    languages: tuple[str, ...] = ()
    temperature: float = 1.0
    criterion: Criterion = ""
    exclude: frozenset[str] = frozenset()
    asked: dict[str, Any] = field(default_factory=dict)
    resume: bool = False
    minutes: float = 10.0
    shared: Path | None = None

    @property
    def seed(self) -> int:
        """The seed of what all runs share."""
        return self.seeds[0]

    @property
    def tags(self) -> tuple[str, ...]:
        """The languages."""
        return self.languages or (self.pairs.language,)

    def of_language(self, language: str) -> PairSettings:
        """What to take from the store in one of the languages."""
        return replace(self.pairs, language=language)


@dataclass(frozen=True, slots=True)
class Unit:
    """One step of one training: its point of the grid (0, 1, ...), its seed, the step (1, 2, ...)."""

    point: int
    seed: int
    step: int


@dataclass(frozen=True, slots=True)
class Watch:
    """How a training tells what it does: a line, progress (done, of how much, a few words), events with their fields
    (dictsent.cli.events); how it is stopped.
    """

    notify: Notify = lambda _: None
    progress: Callable[[int, int, str], None] = lambda *_: None
    on_step: Callable[[Model, Unit], None] = lambda *_: None
    tell: Callable[[str, Mapping[str, Any]], None] = lambda *_: None
    stop: Stop = field(default_factory=Stop)


@dataclass(frozen=True, slots=True)
class Run:
    """A finished training: the model folder and its record."""

    folder: Path
    record: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The pairs of a training; by language, where there are several, the entries."""

    pairs: Pairs
    entries: dict[str, frozenset[int]] = field(default_factory=dict)


def choose(store: Store, plan: Plan) -> Chosen:
    """The pairs of every language of the plan, mixed. Raises EmptyStoreError, LanguageError, PairsError."""
    parts = {tag: select(store, plan.of_language(tag), exclude=plan.exclude) for tag in plan.tags}
    if len(parts) == 1:
        return Chosen(parts[plan.tags[0]])
    for tag, part in parts.items():
        if not part.train:
            raise PairsError("there is nothing to train on in this language", where=tag, hint="leave it out of --lang")
    entries = {tag: frozenset(p.entry for p in part.all()) for tag, part in parts.items()}
    return Chosen(mixed(parts, temperature=plan.temperature, seed=plan.seed), entries)


def digest(pairs: Pairs) -> str:
    """SHA-256 of all pairs in their order, so that only the very same training is resumed."""
    found = hashlib.sha256()
    for pair in pairs.all():
        found.update(f"{pair.entry}\t{pair.headword}\t{pair.definition}\t{pair.split}\n".encode())
    return found.hexdigest()


def start_of(store: Store, plan: Plan, watch: Watch) -> Start:
    """The starting point; a scratch encoder sees the training headwords' definitions of the whole store only."""

    def text() -> Any:
        found: list[Gloss] = []
        for tag in plan.tags:
            every = select(store, replace(plan.of_language(tag), limit=None), exclude=plan.exclude)
            every.require_training()
            found += glosses(every.train, store.examples(tag))
        return found

    return choose_start(
        plan.encoder,
        text,
        folder=plan.runs / "encoders",
        language="-".join(plan.tags),
        seed=plan.seed,
        fallback=plan.fallback,
        notify=watch.notify,
        progress=watch.progress,
    )


def load_start(start: Start, plan: Plan) -> Encoder:
    """The starting encoder. DefSent's RoBERTa reads every text behind a space (METHODS)."""
    return Encoder.load(start.name, prefix_space=plan.method == "defsent")


def resolve(plan: Plan, encoder: Encoder, start: Start, *, point: Mapping[str, Any], seed: int) -> TrainSettings:
    """The settings of one training: the grid's point, then the user's, the encoder's and the method's own."""
    method: Method = plan.method or "defsent-plus"
    told = {key: value for key, value in plan.told.items() if value is not None} | dict(point)
    pooling: Pooling = told.get("pooling") or encoder.pooling
    rates = SCRATCH_RATES[method] if start.is_scratch else _rates(method, str(encoder.backbone.config.model_type))
    suggested = {
        "pooling": pooling,
        "entries": {"weighted": "awp", "cls": "ac"}.get(pooling, "amp"),
        "learning_rates": rates,
        "seed": seed,
    }
    return TrainSettings(method=method, **{**defaults(method), **suggested, **told})


def _rates(method: Method, family: str) -> tuple[float, ...]:
    rates = _RATES[method]
    return rates.get(family, rates[""])


def method_name(plan: Plan) -> str:
    """The method, or "static". Raises TrainingError for a method on static vectors."""
    if plan.encoder == STATIC:
        if plan.method is not None:
            raise TrainingError(
                f"there is no {plan.method} on static vectors",
                where="--encoder",
                hint="leave --method out, or use --encoder scratch",
            )
        return "static"
    return plan.method or "defsent-plus"


def dev_mrr(model: Model, chosen: Chosen) -> dict[str, float]:
    """Word prediction on dev headwords, by language; empty where none can be asked."""
    found: dict[str, float] = {}
    asked: Mapping[str, frozenset[int] | None] = chosen.entries or {"": None}
    for tag, entries in asked.items():
        ranking, _ = own_ranking(model, chosen.pairs.dev, "dev", entries=entries)
        if len(ranking.ranks):
            found[tag] = summarise(ranking.ranks)["mrr"]
    return found


def say_coverage(encoder: Encoder, chosen: Chosen, watch: Watch) -> None:
    """For DefSent: how many headwords and definitions of each language have a target, in a line each."""
    train = chosen.pairs.train
    targets = single_tokens(encoder.tokenizer, (p.headword for p in train))
    asked: Mapping[str, frozenset[int] | None] = chosen.entries or {"": None}
    for tag, entries in asked.items():
        found = coverage(targets, train if entries is None else [p for p in train if p.entry in entries])
        before = f"{tag}: " if tag else ""
        watch.notify(f"{before}{found}")
        watch.tell("coverage", {"language": tag, **asdict(found), "thin": bool(found.warning)})
        if found.warning:
            watch.notify(f"{before}{found.warning}")


def say_pairs(pairs: Pairs, watch: Watch) -> None:
    """How many definitions there are, were left out and changed, in one line."""
    left = ", ".join(f"{n:,} {reason}" for reason, n in pairs.left_out.items() if n)
    watch.notify(
        f"{len(pairs.train):,} definitions to train on, {len(pairs.dev):,} dev, {len(pairs.test):,} test"
        + (f"; left out: {left}" if left else "")
        + "".join(f"; {n:,} {what}" for what, n in pairs.changed.items() if n)
    )
    sizes = {"train": len(pairs.train), "dev": len(pairs.dev), "test": len(pairs.test)}
    watch.tell("pairs", {**sizes, "left_out": pairs.left_out, "changed": pairs.changed})


def base_record(store: Store, plan: Plan, pairs: Pairs, start: Start) -> dict[str, Any]:
    """What the records of all runs of a plan have in common."""
    allowed = plan.pairs.licences
    sources = [
        s for s in store.sources() if s.language in (*plan.tags, "mul") and (not allowed or s.licence in allowed)
    ]
    keys = ("name", "adapter", "version", "licence", "attribution", "address", "checksum", "definitions")
    return {
        "schema_version": 1,
        "dictsent": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "method": method_name(plan),
        "language": ",".join(plan.tags),
        "encoder": {"name": start.name, "kind": start.kind},
        "notes": [start.note] if start.note else [],
        "seed": plan.seed,
        "pairs": {
            "settings": asdict(plan.pairs),
            **({"temperature": plan.temperature} if plan.languages else {}),
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


def settings_record(settings: TrainSettings) -> dict[str, Any]:
    """The settings and their digest, for the record of one run."""
    return _hashed(asdict(settings))


def _hashed(settings: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(settings, sort_keys=True, default=list)
    return {"settings": settings, "settings_hash": hashlib.sha256(text.encode()).hexdigest()}


def keep_static(start: Start, folder: Path, record: dict[str, Any]) -> Run:
    """The run of static vectors, which are not trained further."""
    import shutil

    with appearing(folder) as partial:
        shutil.copytree(start.name, partial, dirs_exist_ok=True)
        write_json(partial / "record.json", record)
        (partial / "README.md").write_text(model_card(record), encoding="utf-8")
    return Run(folder, record)
