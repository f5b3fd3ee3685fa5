"""What a training is told, leaves and logs.

Before: dictsent.settings, an Encoder. After: dictsent.train.methods fills these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from dictsent.checkpoints import Checkpoints, Stop
from dictsent.encoder import Encoder
from dictsent.entryspace import EntrySpace
from dictsent.heads import Pooler
from dictsent.settings import Method


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLog:
    """What happened in one PST step.

    `dev` is the criterion's value, None where there is none: of several languages the mean of `dev_languages`.
    `packed` is whether sentences were computed end to end (dictsent.packing), not padded.
    `portrait` is what Hooks.portrait drew of the entry matrix.
    """

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
    precision: str = "float32"
    processes: int = 1
    packed: bool = False
    dev: float | None = None
    dev_languages: dict[str, float] = field(default_factory=dict)
    portrait: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For the record."""
        return asdict(self)

    def told(self) -> dict[str, Any]:
        """For a line about the step: without the portrait."""
        return {key: value for key, value in asdict(self).items() if key != "portrait"}


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
        scorer: the dev criterion, handed in because evaluation lies above training; its value by language is logged.
        portrait: draws a step's entry matrix for the record (the papers' scatter plots), handed in for the same reason.
        on_step: given the result of each PST step.
        stop: asked after each update; a training that is stopped saves what there is first.
        checkpoints: where unfinished work is kept; None keeps nothing. What lies there already is not done again.
        minutes: between two checkpoints of one step.
    """

    progress: Callable[[int, int, float], None] = lambda *_: None
    scorer: Callable[[Trained], Mapping[str, float]] = lambda _: {}
    portrait: Callable[[Trained], dict[str, Any]] = lambda _: {}
    on_step: Callable[[Trained], None] = lambda _: None
    stop: Stop = field(default_factory=Stop)
    checkpoints: Checkpoints | None = None
    minutes: float = 10.0
