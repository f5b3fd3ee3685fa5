"""Training: DefSent in one stage, DefSent+ by Progressive Separate Training, on transformers.Trainer.

Before: dictsent.pairs, an Encoder. After: dictsent.model saves what comes out.
"""

from __future__ import annotations

import copy
import math
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed
from transformers.trainer_callback import PrinterCallback, ProgressCallback

from dictsent.checkpoints import COMPLETE, Checkpoints, Stop, TrainingStopped
from dictsent.encoder import Encoder, base_of, micro_batches
from dictsent.entryspace import EntrySpace, build, load_space, save_space
from dictsent.errors import PairsError, TrainingError
from dictsent.folders import appearing
from dictsent.heads import Pooler, make_pooler
from dictsent.objective import EntryLoss, HeadLoss, Objective
from dictsent.pairs import MINIMUM, Pairs
from dictsent.records import Pair
from dictsent.settings import ENTRY_POOLING, Method, Pooling, TrainSettings
from dictsent.vocabulary import single_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLog:
    """What happened in one PST step; `dev` is the criterion's value, None where there is none."""

    step: int
    learning_rate: float
    definitions: int
    entries: int
    updates: int
    loss_first: float
    loss_last: float
    seconds: float
    pooler: str
    matrix: str
    dev: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """For the record."""
        return asdict(self)


@dataclass(slots=True, kw_only=True)
class Trained:
    """A trained encoder with what predicts words: the head inside it (DefSent) or pooler and entries (DefSent+).

    `coverage` counts, for DefSent, the definitions and headwords that had a target token.
    """

    encoder: Encoder
    method: Method
    pooler: Pooler | None = None
    space: EntrySpace | None = None
    log: tuple[StepLog, ...] = ()
    coverage: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """How a training speaks with its caller.

    Attributes:
        progress: told (update, updates in all steps together, loss).
        scorer: the dev criterion, handed in because evaluation lies above training; its value is logged.
        on_step: given the result of each PST step.
        stop: asked after each update; a training that is stopped saves what there is first.
        checkpoints: where unfinished work is kept; None keeps nothing. What lies there already is not done again.
        minutes: between two checkpoints of one step.
    """

    progress: Callable[[int, int, float], None] = lambda *_: None
    scorer: Callable[[Trained], float | None] = lambda _: None
    on_step: Callable[[Trained], None] = lambda _: None
    stop: Stop = field(default_factory=Stop)
    checkpoints: Checkpoints | None = None
    minutes: float = 10.0


def train(start: Encoder, pairs: Pairs, settings: TrainSettings, hooks: Hooks | None = None) -> Trained:
    """Train from `start`, which is left as it was.

    Raises:
        HeadError: DefSent without a masked-LM head. PairsError: too little to train on. TrainingError: a loss that is
            not finite. TrainingStopped: asked to stop; the checkpoints hold all there was.
    """
    pairs.require_training()
    method = _train_defsent if settings.method == "defsent" else _train_defsent_plus
    return method(start, pairs, settings, hooks or Hooks())


def _train_defsent(start: Encoder, pairs: Pairs, settings: TrainSettings, hooks: Hooks) -> Trained:
    start.head()
    targets = single_tokens(start.tokenizer, (p.headword for p in pairs.train))
    usable = [p for p in pairs.train if p.headword in targets]
    if len(usable) < MINIMUM:
        raise PairsError(
            f"only {len(usable)} of {len(pairs.train)} definitions have a headword that is one token of this encoder",
            where=start.name,
            hint="use --method defsent-plus, which takes every headword",
        )
    coverage = {
        "definitions": len(usable),
        "of_definitions": len(pairs.train),
        "headwords": len(targets),
        "of_headwords": len({p.headword for p in pairs.train}),
    }
    encoder = fresh_copy(start, settings.pooling)
    trained = Trained(encoder=encoder, method="defsent", coverage=coverage)
    if _restored(trained, 1, hooks):
        return trained
    labels = [targets[p.headword] for p in usable]
    log = _fit(encoder, HeadLoss(encoder.head()), usable, labels, settings=settings, step=1, hooks=hooks)
    _finish(trained, StepLog(**log, entries=len(targets), pooler="", matrix="masked-LM head"), hooks)
    return trained


def _train_defsent_plus(start: Encoder, pairs: Pairs, settings: TrainSettings, hooks: Hooks) -> Trained:
    set_seed(settings.seed)
    pooler, taken = make_pooler(settings.pooler, dim=start.dim, masked_lm=start.masked_lm, native=start.native_pooler)
    builder = start
    logs: tuple[StepLog, ...] = ()
    for step in range(1, settings.pst + 1):
        trained = Trained(
            encoder=fresh_copy(start, settings.pooling), method="defsent-plus", pooler=copy.deepcopy(pooler), log=logs
        )
        restored = _restored(trained, step, hooks)
        if not restored or step == settings.pst:
            trained.space = _space_of_step(builder, pairs, settings, step, hooks)
        if not restored:
            _train_step(trained, pairs, settings, step, taken, hooks)
        builder, logs = trained.encoder, trained.log
    return trained


def _train_step(
    trained: Trained, pairs: Pairs, settings: TrainSettings, step: int, pooler_kind: str, hooks: Hooks
) -> None:
    """One PST step: the original encoder's fresh copy against the matrix of the step before."""
    assert trained.space is not None
    assert trained.pooler is not None
    rows, labels = _training_rows(trained.space, pairs.train)
    loss = EntryLoss(trained.pooler, trained.space.matrix[rows])
    log = _fit(trained.encoder, loss, pairs.train, labels, settings=settings, step=step, hooks=hooks)
    trained.pooler.eval()
    note = trained.space.note or "plain"
    _finish(trained, StepLog(**log, entries=len(rows), pooler=pooler_kind, matrix=note), hooks)


def _finish(trained: Trained, log: StepLog, hooks: Hooks) -> None:
    """Score and keep a finished step."""
    log = replace(log, dev=hooks.scorer(trained))
    trained.log = (*trained.log, log)
    if hooks.checkpoints is not None:
        pooler = trained.pooler.state_dict() if trained.pooler is not None else {}
        weights = trained.encoder.backbone.state_dict()
        hooks.checkpoints.save_step(log.step, weights=weights, pooler=pooler, log=log.as_dict())
    hooks.on_step(trained)


def _restored(trained: Trained, step: int, hooks: Hooks) -> bool:
    """Take over a step that was finished before the training was interrupted."""
    if hooks.checkpoints is None or not hooks.checkpoints.has_step(step):
        return False
    weights, pooler, log = hooks.checkpoints.load_step(step)
    trained.encoder.backbone.load_state_dict(weights)
    trained.encoder.backbone.eval()
    if trained.pooler is not None:
        trained.pooler.load_state_dict(pooler)
        trained.pooler.eval()
    trained.log = (*trained.log, StepLog(**log))
    return True


def _space_of_step(builder: Encoder, pairs: Pairs, settings: TrainSettings, step: int, hooks: Hooks) -> EntrySpace:
    """The step's entry space, built by the encoder of the step before, or kept from before an interruption."""
    folder = hooks.checkpoints.space_folder(step) if hooks.checkpoints is not None else None
    kept = load_space(folder) if folder is not None else None
    if kept is not None:
        return kept
    pooling = builder.pooling
    builder.pooling = ENTRY_POOLING[settings.entries]
    try:
        held_out, merge = pairs.dev + pairs.test, settings.merge_synonyms
        space = build(pairs.all(), embed=builder.embed, held_out=held_out, merge_synonyms=merge)
    finally:
        builder.pooling = pooling
    if step == settings.pst:
        space = space.transformed(settings.isotropy)
    if folder is not None:
        with appearing(folder) as partial:
            save_space(space, partial)
    return space


def _training_rows(space: EntrySpace, train: Sequence[Pair]) -> tuple[Tensor, list[int]]:
    """Rows of the training entries, and each pair's label among them: held-out entries are no rows of the softmax."""
    of_pair = space.rows([p.entry for p in train])
    rows, labels = of_pair.unique(return_inverse=True)
    return rows, labels.tolist()


def fresh_copy(encoder: Encoder, pooling: Pooling) -> Encoder:
    """A copy to be trained, whose masked-LM model still owns the backbone."""
    whole = copy.deepcopy(encoder.masked_lm)
    backbone = base_of(whole) if whole is not None else copy.deepcopy(encoder.backbone)
    return Encoder(
        backbone=backbone,
        tokenizer=encoder.tokenizer,
        pooling=pooling,
        name=encoder.name,
        masked_lm=whole,
        token_weights=encoder.token_weights,
        no_head=encoder.no_head,
        max_tokens=encoder.max_tokens,
    )


class _Rows(Dataset[tuple[list[int], int]]):
    def __init__(self, ids: list[list[int]], labels: Sequence[int]) -> None:
        self.ids, self.labels = ids, labels

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, row: int) -> tuple[list[int], int]:
        return self.ids[row], self.labels[row]


class _Watch(TrainerCallback):
    """Between updates: progress, checkpoints by the clock, a wish to stop, a loss that is not finite."""

    def __init__(self, hooks: Hooks, *, done: int, total: int) -> None:
        self.hooks, self.done, self.total = hooks, done, total
        self.saved = time.monotonic()
        self.stopped = False

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        if logs is None or "loss" not in logs:
            return
        loss = float(logs["loss"])
        if not math.isfinite(loss):
            raise TrainingError(
                f"the loss is not finite at update {state.global_step}", hint="lower --learning-rate or the entry scale"
            )
        self.hooks.progress(self.done + state.global_step, self.total, loss)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.stopped = self.hooks.stop.requested
        control.should_training_stop |= self.stopped
        if self.hooks.checkpoints is not None:
            due = time.monotonic() - self.saved >= 60 * self.hooks.minutes
            control.should_save |= due or self.stopped

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.saved = time.monotonic()
        # Written last, so that a checkpoint that was cut off is known.
        (Path(args.output_dir) / f"checkpoint-{state.global_step}" / COMPLETE).touch()


def _fit(
    encoder: Encoder,
    loss: HeadLoss | EntryLoss,
    pairs: Sequence[Pair],
    labels: Sequence[int],
    *,
    settings: TrainSettings,
    step: int,
    hooks: Hooks,
) -> dict[str, Any]:
    """One stage of updates in place. Returns StepLog's fields about it."""
    started = time.monotonic()
    _set_trainable(encoder, loss, settings)
    objective = Objective(encoder, loss)
    rows = _Rows(encoder.tokenise([p.definition for p in pairs]), labels)
    updates = math.ceil(len(rows) / settings.batch_size) * settings.epochs
    watch = _Watch(hooks, done=(step - 1) * updates, total=settings.pst * updates)
    with tempfile.TemporaryDirectory() as temporary:
        kept = hooks.checkpoints
        trainer = Trainer(
            model=objective,
            args=_arguments(
                settings, step=step, updates=updates, folder=str(kept.updates(step)) if kept else temporary
            ),
            train_dataset=rows,
            data_collator=_Collator(encoder),
            callbacks=[watch],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.remove_callback(ProgressCallback)
        losses = _run(trainer, watch, resume=kept.newest_update(step) if kept else None)
    objective.eval()
    return {
        "step": step,
        "learning_rate": settings.rate(step),
        "definitions": len(rows),
        "updates": updates,
        "loss_first": losses[0],
        "loss_last": losses[-1],
        "seconds": round(time.monotonic() - started, 1),
    }


def _run(trainer: Trainer, watch: _Watch, *, resume: Path | None) -> list[float]:
    """The updates, from the beginning or a checkpoint. Returns the logged losses. Raises TrainingStopped."""
    watch.hooks.stop.armed = True
    try:
        trainer.train(resume_from_checkpoint=str(resume) if resume is not None else None)
    finally:
        watch.hooks.stop.armed = False
    if watch.stopped:
        raise TrainingStopped(f"stopped after update {watch.done + trainer.state.global_step} of {watch.total}")
    return [row["loss"] for row in trainer.state.log_history if "loss" in row]


def _set_trainable(encoder: Encoder, loss: HeadLoss | EntryLoss, settings: TrainSettings) -> None:
    """DefSent keeps head and embedding block as they are; DefSent+ trains everything but the masked-LM head."""
    if encoder.masked_lm is not None:
        encoder.masked_lm.requires_grad_(False)
    encoder.backbone.requires_grad_(True)
    if settings.freeze_embeddings:
        block = getattr(encoder.backbone, "embeddings", None) or encoder.backbone.get_input_embeddings()
        block.requires_grad_(False)
    if isinstance(loss, EntryLoss):
        loss.pooler.requires_grad_(True)


def _arguments(settings: TrainSettings, *, step: int, updates: int, folder: str) -> TrainingArguments:
    return TrainingArguments(
        output_dir=folder,
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch_size,
        learning_rate=settings.rate(step),
        lr_scheduler_type="linear" if settings.decay else "constant_with_warmup",
        warmup_steps=math.ceil(settings.warmup * updates),
        adam_epsilon=settings.epsilon,
        weight_decay=0.0,
        max_grad_norm=settings.clip,
        seed=settings.seed + step - 1,
        data_seed=settings.seed + step - 1,
        save_strategy="no",
        save_total_limit=2,
        logging_steps=max(1, min(20, updates // 50)),
        logging_first_step=True,
        logging_nan_inf_filter=False,
        disable_tqdm=True,
        report_to=[],
        remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(),
    )


class _Collator:
    """Makes the micro-batches of a batch. On a GPU one padded batch is quicker than several small ones."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.split = not torch.cuda.is_available()

    def __call__(self, rows: list[tuple[list[int], int]]) -> dict[str, Any]:
        lengths = [len(ids) for ids, _ in rows]
        parts = list(micro_batches(lengths)) if self.split else [list(range(len(rows)))]
        order = [row for part in parts for row in part]
        return {
            "parts": [self.encoder.padded([rows[row][0] for row in part]) for part in parts],
            "labels": torch.tensor([rows[row][1] for row in order]),
        }
