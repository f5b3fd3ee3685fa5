"""Arguments of transformers.Trainer: those that follow from the settings, and those the user adds.

Before: dictsent.settings. After: dictsent.train.fitting trains with them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

import torch
from transformers import TrainingArguments

from dictsent import ranks
from dictsent.errors import TrainingError
from dictsent.precision import used_precision
from dictsent.settings import TrainSettings

_OURS = {
    # what an option of ours decides: the option
    "learning_rate": "--learning-rate",
    "per_device_train_batch_size": "--batch-size",
    "auto_find_batch_size": "--batch-size",
    "num_train_epochs": "--epochs",
    "max_steps": "--epochs",
    "seed": "--seed",
    "data_seed": "--seed",
    "output_dir": "--out",
    "resume_from_checkpoint": "--resume",
    "save_steps": "--checkpoint-minutes",
    "save_strategy": "--checkpoint-minutes",
}
_METHODS = {
    # what the method's paper decides (dictsent.settings.defaults)
    *("lr_scheduler_type", "lr_scheduler_kwargs", "warmup_steps", "warmup_ratio", "adam_epsilon", "max_grad_norm"),
    # what the loop here is built on
    *("remove_unused_columns", "save_total_limit", "save_only_model", "logging_nan_inf_filter", "disable_tqdm"),
    *("do_train", "do_eval", "eval_strategy", "load_best_model_at_end", "push_to_hub", "group_by_length"),
    *("label_smoothing_factor", "train_sampling_strategy", "ignore_data_skip", "average_tokens_across_devices"),
}


def parse_flags(told: Sequence[str]) -> dict[str, Any]:
    """KEY=VALUE texts as arguments; a value is JSON (true, 2, {"a": 1}) or, where it is none, text.

    Raises:
        TrainingError: no such argument, or one that is decided elsewhere.
    """
    known = {field.name for field in fields(TrainingArguments) if field.init}
    found: dict[str, Any] = {}
    for text in told:
        key, equals, value = text.partition("=")
        key = key.strip().lstrip("-").replace("-", "_")
        if not equals:
            raise TrainingError(
                f"not KEY=VALUE: {text}", where="--trainer", hint="e.g. --trainer gradient_accumulation_steps=2"
            )
        if key not in known:
            near = get_close_matches(key, known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else "see transformers.TrainingArguments"
            raise TrainingError(f"Trainer has no argument {key}", where="--trainer", hint=hint)
        if key in _OURS:
            raise TrainingError(f"{key} is set by {_OURS[key]}", where="--trainer", hint=f"use {_OURS[key]}")
        if key in _METHODS:
            raise TrainingError(f"{key} follows from the method", where="--trainer", hint="leave it out")
        found[key] = _value(value.strip())
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {"True": True, "False": False, "None": None}.get(text, text)


def accumulated(settings: TrainSettings) -> int:
    """Passes whose gradients are added up for one update."""
    passes = parse_flags(settings.trainer).get("gradient_accumulation_steps", 1)
    if not isinstance(passes, int) or passes < 1:
        raise TrainingError("gradient_accumulation_steps is a whole number from 1 on", where="--trainer")
    return passes


def shares_of(settings: TrainSettings) -> int:
    """Into how many shares an effective batch is cut: processes times accumulated passes.

    Raises:
        TrainingError: the batch cannot be cut into that many equal ones.
    """
    passes = accumulated(settings)
    parts = ranks.count() * passes
    if settings.batch_size % parts:
        times = f"{ranks.count()} processes" + (f" times {passes} accumulated passes" if passes > 1 else "")
        nearest = max(1, round(settings.batch_size / parts)) * parts
        raise TrainingError(
            f"a batch of {settings.batch_size} is all processes' together and cannot be shared by {times}",
            where="--batch-size",
            hint=f"use a multiple of {parts}, such as {nearest}",
        )
    return parts


def check_settings(settings: TrainSettings, device: torch.device) -> None:
    """Find what cannot be trained with before anything is computed. Raises TrainingError."""
    shares_of(settings)
    used_precision(settings.precision, device)
    arguments(settings, step=1, updates=100, folder="unused", device=device)


def arguments(
    settings: TrainSettings, *, step: int, updates: int, folder: str, device: torch.device
) -> TrainingArguments:
    """Trainer's arguments for one step of `updates` updates. Raises TrainingError where it refuses the user's."""
    flags = parse_flags(settings.trainer)
    ours: dict[str, Any] = {
        "output_dir": folder,
        "num_train_epochs": settings.epochs,
        "per_device_train_batch_size": settings.batch_size // shares_of(settings),
        "learning_rate": settings.rate(step),
        "lr_scheduler_type": "linear" if settings.decay else "constant_with_warmup",
        "warmup_steps": math.ceil(settings.warmup * updates),
        "adam_epsilon": settings.epsilon,
        "weight_decay": 0.0,
        "max_grad_norm": settings.clip,
        "seed": settings.seed + step - 1,
        "data_seed": settings.seed + step - 1,
        "save_strategy": "no",
        "save_total_limit": 2,
        "logging_steps": max(1, min(20, updates // 50)),
        "logging_first_step": True,
        "logging_nan_inf_filter": False,
        "disable_tqdm": True,
        "report_to": [],
        "remove_unused_columns": False,
        "use_cpu": device.type == "cpu",
        "bf16": used_precision(settings.precision, device) == "bf16" and not flags.get("fp16", False),
        "dataloader_pin_memory": device.type == "cuda",
    }
    try:
        return TrainingArguments(**{**ours, **flags})
    except (ValueError, TypeError, ImportError, RuntimeError, OSError) as error:
        first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise TrainingError(f"Trainer refuses its arguments: {first[:200]}", where="--trainer") from error
