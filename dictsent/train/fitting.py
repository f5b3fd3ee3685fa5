"""One stage of updates: an encoder, a loss, rows of tokens, on transformers.Trainer.

Before: dictsent.train.methods chose targets. After: the encoder is trained in place, its checkpoints kept.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer, TrainerCallback
from transformers.trainer_callback import PrinterCallback, ProgressCallback

from dictsent import ranks
from dictsent.checkpoints import COMPLETE, TrainingStopped
from dictsent.encoder import Encoder
from dictsent.errors import TrainingError
from dictsent.memory import enough_memory
from dictsent.objective import EntryLoss, HeadLoss, Objective
from dictsent.pairs import Rows as PairRows
from dictsent.records import Pair
from dictsent.settings import TrainSettings
from dictsent.train.batches import Collator, Loader, Rows, Shares
from dictsent.train.flags import arguments, parse_flags, shares_of
from dictsent.train.quick import quick
from dictsent.train.records import Hooks

PROBES = 8
"""Definitions on which an encoder is tried whether it takes sentences end to end."""
_WHOLE = {"torch_compile", "torch_compile_backend", "torch_compile_mode", "fsdp", "fsdp_config", "deepspeed"}
"""Arguments of Trainer under which the model is left as it is: they rebuild or divide it."""


class _Watch(TrainerCallback):
    """Between updates: progress, checkpoints by the clock, a wish to stop, a loss that is not finite."""

    def __init__(self, hooks: Hooks, *, done: int, total: int) -> None:
        self.hooks, self.done, self.total = hooks, done, total
        self.saved = time.monotonic()
        self.last_good = 0
        self.stopped = False

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.last_good = state.global_step
        if ranks.count() > 1:
            # Each process draws its own dropout; a checkpoint's state, loaded after this, has each one's.
            torch.manual_seed(args.seed + 7919 * ranks.rank())

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        if logs is None or "loss" not in logs:
            return
        loss = float(logs["loss"])
        if not math.isfinite(loss):
            raise TrainingError(
                f"the loss is not finite at update {state.global_step} ({self._kept()})",
                hint="lower --learning-rate or the entry scale",
                elsewhere=ranks.rank() > 0,
            )
        self.hooks.progress(self.done + state.global_step, self.total, loss)

    def _kept(self) -> str:
        if self.hooks.checkpoints is None or not self.last_good:
            return "no checkpoint before it"
        return f"the last good checkpoint is of update {self.last_good}"

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        due = self.hooks.checkpoints is not None and time.monotonic() - self.saved >= 60 * self.hooks.minutes
        self.stopped = ranks.any_of(self.hooks.stop.requested)
        control.should_training_stop |= self.stopped
        if self.hooks.checkpoints is not None:
            control.should_save |= ranks.any_of(due) or self.stopped
        # A checkpoint of weights that are lost already would be none: the loss is looked at first.
        control.should_log |= control.should_save

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.saved, self.last_good = time.monotonic(), state.global_step
        ranks.wait()
        if ranks.rank() == 0:
            # Written last, so that a checkpoint that was cut off is known.
            (Path(args.output_dir) / f"checkpoint-{state.global_step}" / COMPLETE).touch()
        ranks.wait()


class _Trainer(Trainer):
    """Trainer on batches that are shared out already: it would repeat rows to fill the last one."""

    def get_train_dataloader(self) -> Any:
        """The loader of this process' shares."""
        rows = self.train_dataset
        assert isinstance(rows, Rows)
        passes = self.args.gradient_accumulation_steps
        shares = Shares(
            rows.tokens.lengths,
            batch=self.args.per_device_train_batch_size * passes * ranks.count(),
            seed=self.args.seed,
            parts=passes * ranks.count(),
            rank=ranks.rank(),
            ranks=ranks.count(),
        )
        return Loader(
            rows,
            batch_sampler=shares,
            collate_fn=self.data_collator,
            num_workers=self.args.dataloader_num_workers,
            pin_memory=self.args.dataloader_pin_memory,
        )


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
    """One stage of updates in place. Returns StepLog's fields about it.

    `settings.batch_size` is the effective batch: all processes' and accumulated passes' rows of one update.
    """
    started = time.monotonic()
    shares_of(settings)
    _set_trainable(encoder, loss, settings)
    objective = Objective(encoder, loss)
    rows = Rows(encoder.tokens(PairRows.of(pairs).definitions), labels)
    updates = math.ceil(len(rows) / settings.batch_size) * settings.epochs
    sample = sorted((rows.tokens[row] for row in range(min(len(rows), PROBES))), key=len)
    own_ways = not _WHOLE & set(parse_flags(settings.trainer))
    packed = own_ways and encoder.can_pack(sample)
    watch = _Watch(hooks, done=(step - 1) * updates, total=settings.pst * updates)
    with tempfile.TemporaryDirectory() as temporary:
        kept = hooks.checkpoints
        folder = str(kept.updates(step)) if kept else temporary
        with _own_arguments(settings):
            trainer = _Trainer(
                model=objective,
                args=arguments(settings, step=step, updates=updates, folder=folder, device=encoder.device),
                train_dataset=rows,
                data_collator=Collator(encoder, packed=packed),
                callbacks=[watch],
            )
        trainer.remove_callback(PrinterCallback)
        trainer.remove_callback(ProgressCallback)
        newest = ranks.first(lambda: kept.newest_update(step) if kept else None)
        with (
            enough_memory("--batch-size"),
            quick(objective, encoder.backbone.get_input_embeddings(), encoder.device) if own_ways else nullcontext(),
            encoder.packing() if packed else nullcontext(),
        ):
            losses = _run(trainer, watch, resume=newest)
    objective.eval()
    return {
        "step": step,
        "learning_rate": settings.rate(step),
        "definitions": len(rows),
        "updates": updates,
        "loss_first": losses[0],
        "loss_last": losses[-1],
        "precision": "bf16" if trainer.args.bf16 else "fp16" if trainer.args.fp16 else "float32",
        "processes": ranks.count(),
        "packed": packed,
        "seconds": round(time.monotonic() - started, 1),
    }


@contextmanager
def _own_arguments(settings: TrainSettings) -> Iterator[None]:
    """Where the user adds arguments, what Trainer says against them is theirs."""
    try:
        yield
    except (ValueError, RuntimeError, ImportError) as error:
        if not settings.trainer:
            raise
        first = str(error).strip().partition("\n")[0]
        hint = "change or leave out what it names"
        raise TrainingError(f"Trainer refuses: {first}", where="--trainer", hint=hint) from error


def _run(trainer: Trainer, watch: _Watch, *, resume: Path | None) -> list[float]:
    """The updates, from the beginning or a checkpoint. Returns the logged losses. Raises TrainingStopped."""
    watch.hooks.stop.armed = True
    try:
        trainer.train(resume_from_checkpoint=str(resume) if resume is not None else None)
    except RuntimeError as error:
        raise ranks.gone(error) or error from error
    finally:
        watch.hooks.stop.armed = False
    if watch.stopped:
        done = watch.done + trainer.state.global_step
        raise TrainingStopped(f"stopped after update {done} of {watch.total}", elsewhere=ranks.rank() > 0)
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
