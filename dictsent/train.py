"""Training: DefSent in one stage, DefSent+ by Progressive Separate Training, on transformers.Trainer.

Before: dictsent.pairs, an Encoder. After: dictsent.model saves what comes out.
"""

from __future__ import annotations

import copy
import math
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed
from transformers.trainer_callback import PrinterCallback, ProgressCallback

from dictsent.encoder import Encoder, base_of, micro_batches
from dictsent.entryspace import EntrySpace, build
from dictsent.errors import PairsError, TrainingError
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


Progress = Callable[[int, int, float], None]
Scorer = Callable[[Trained], float | None]


def train(
    start: Encoder,
    pairs: Pairs,
    settings: TrainSettings,
    *,
    progress: Progress = lambda *_: None,
    scorer: Scorer = lambda _: None,
    on_step: Callable[[Trained], None] = lambda _: None,
) -> Trained:
    """Train from `start`, which is left as it was.

    Args:
        progress: told (update, updates in all steps together, loss).
        scorer: the dev criterion, handed in because evaluation lies above training; its value is logged.
        on_step: given the result of each PST step.

    Raises:
        HeadError: DefSent without a masked-LM head. PairsError: too little to train on. TrainingError: a loss that is
            not finite.
    """
    pairs.require_training()
    if settings.method == "defsent":
        return _train_defsent(start, pairs, settings, progress=progress, scorer=scorer, on_step=on_step)
    return _train_defsent_plus(start, pairs, settings, progress=progress, scorer=scorer, on_step=on_step)


def _train_defsent(
    start: Encoder,
    pairs: Pairs,
    settings: TrainSettings,
    *,
    progress: Progress,
    scorer: Scorer,
    on_step: Callable[[Trained], None],
) -> Trained:
    start.head()
    targets = single_tokens(start.tokenizer, (p.headword for p in pairs.train))
    usable = [p for p in pairs.train if p.headword in targets]
    if len(usable) < MINIMUM:
        raise PairsError(
            f"only {len(usable)} of {len(pairs.train)} definitions have a headword that is one token of this encoder",
            where=start.name,
            hint="use --method defsent-plus, which takes every headword",
        )
    encoder = fresh_copy(start, settings.pooling)
    loss = HeadLoss(encoder.head())
    labels = [targets[p.headword] for p in usable]
    log = _fit(encoder, loss, usable, labels, settings=settings, step=1, progress=progress)
    coverage = {
        "definitions": len(usable),
        "of_definitions": len(pairs.train),
        "headwords": len(targets),
        "of_headwords": len({p.headword for p in pairs.train}),
    }
    trained = Trained(encoder=encoder, method="defsent", coverage=coverage)
    _log(trained, StepLog(**log, entries=len(targets), pooler="", matrix="masked-LM head"), scorer)
    on_step(trained)
    return trained


def _train_defsent_plus(
    start: Encoder,
    pairs: Pairs,
    settings: TrainSettings,
    *,
    progress: Progress,
    scorer: Scorer,
    on_step: Callable[[Trained], None],
) -> Trained:
    set_seed(settings.seed)
    first_pooler, taken = make_pooler(
        settings.pooler, dim=start.dim, masked_lm=start.masked_lm, native=start.native_pooler
    )
    builder, logs = start, tuple[StepLog, ...]()
    trained: Trained | None = None
    for step in range(1, settings.pst + 1):
        space = _build_space(builder, pairs, settings, step)
        train_rows, labels = _training_rows(space, pairs.train)
        encoder = fresh_copy(start, settings.pooling)
        pooler = copy.deepcopy(first_pooler)
        loss = EntryLoss(pooler, space.matrix[train_rows])
        log = _fit(encoder, loss, pairs.train, labels, settings=settings, step=step, progress=progress)
        trained = Trained(encoder=encoder, method="defsent-plus", pooler=pooler.eval(), space=space, log=logs)
        note = space.note or "plain"
        _log(trained, StepLog(**log, entries=len(train_rows), pooler=taken, matrix=note), scorer)
        on_step(trained)
        builder, logs = encoder, trained.log
    assert trained is not None
    return trained


def _log(trained: Trained, log: StepLog, scorer: Scorer) -> None:
    dev = scorer(trained)
    trained.log = (*trained.log, StepLog(**{**asdict(log), "dev": dev}))


def _build_space(builder: Encoder, pairs: Pairs, settings: TrainSettings, step: int) -> EntrySpace:
    pooling = builder.pooling
    builder.pooling = ENTRY_POOLING[settings.entries]
    try:
        space = build(
            pairs.all(),
            embed=builder.embed,
            held_out=pairs.dev + pairs.test,
            merge_synonyms=settings.merge_synonyms,
        )
    finally:
        builder.pooling = pooling
    return space.transformed(settings.isotropy) if step == settings.pst else space


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
    """Hands progress to the caller and stops at a loss that is not finite."""

    def __init__(self, progress: Progress, *, done: int, total: int) -> None:
        self.progress, self.done, self.total = progress, done, total
        self.losses: list[float] = []

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        if logs is None or "loss" not in logs:
            return
        loss = float(logs["loss"])
        if not math.isfinite(loss):
            raise TrainingError(
                f"the loss is not finite at update {state.global_step}", hint="lower --learning-rate or the entry scale"
            )
        self.losses.append(loss)
        self.progress(self.done + state.global_step, self.total, loss)


def _fit(
    encoder: Encoder,
    loss: HeadLoss | EntryLoss,
    pairs: Sequence[Pair],
    labels: Sequence[int],
    *,
    settings: TrainSettings,
    step: int,
    progress: Progress,
) -> dict[str, Any]:
    """One stage of updates in place. Returns StepLog's fields about it."""
    started = time.monotonic()
    _set_trainable(encoder, loss, settings)
    objective = Objective(encoder, loss)
    rows = _Rows(encoder.tokenise([p.definition for p in pairs]), labels)
    updates = math.ceil(len(rows) / settings.batch_size) * settings.epochs
    watch = _Watch(progress, done=(step - 1) * updates, total=settings.pst * updates)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model=objective,
            args=_arguments(settings, step=step, updates=updates, folder=folder),
            train_dataset=rows,
            data_collator=_Collator(encoder),
            callbacks=[watch],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.remove_callback(ProgressCallback)
        trainer.train()
    objective.eval()
    return {
        "step": step,
        "learning_rate": settings.rate(step),
        "definitions": len(rows),
        "updates": updates,
        "loss_first": watch.losses[0],
        "loss_last": watch.losses[-1],
        "seconds": round(time.monotonic() - started, 1),
    }


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
