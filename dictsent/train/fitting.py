"""One stage of updates: an encoder, a loss, rows of tokens, on transformers.Trainer.

Before: dictsent.train.methods chose targets. After: the encoder is trained in place, its checkpoints kept.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback, ProgressCallback

from dictsent.checkpoints import COMPLETE, TrainingStopped
from dictsent.encoder import Encoder, micro_batches
from dictsent.errors import TrainingError
from dictsent.objective import EntryLoss, HeadLoss, Objective
from dictsent.records import Pair
from dictsent.settings import TrainSettings
from dictsent.train.records import Hooks


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


def fit(
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
            data_collator=Collator(encoder),
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


class Collator:
    """Makes the micro-batches of a batch. On a GPU one padded batch is quicker than several small ones."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.split = not torch.cuda.is_available()

    def __call__(self, rows: list[tuple[list[int], int]]) -> dict[str, Any]:
        """The batch as micro-batches of like length (one on a GPU), labels in their order."""
        lengths = [len(ids) for ids, _ in rows]
        parts = list(micro_batches(lengths)) if self.split else [list(range(len(rows)))]
        order = [row for part in parts for row in part]
        return {
            "parts": [self.encoder.padded([rows[row][0] for row in part]) for part in parts],
            "labels": torch.tensor([rows[row][1] for row in order]),
        }
