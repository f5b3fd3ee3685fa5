"""What an unfinished training leaves on disk, so that it can go on to the very same weights.

Before: dictsent.train writes here between updates. After: `dictsent train --resume` reads it.

    <folder>/plan.json                     what the training was asked for, and a digest of its pairs
    <folder>/<unit>/step-1.done/           a finished PST step: encoder weights, pooler, log; never trained again
    <folder>/<unit>/step-2/checkpoint-500  transformers.Trainer's own checkpoint; complete once `complete` lies in it
    <folder>/<name>.space/                 an entry matrix, for every step that is trained against it

A unit is one step with one setting and seed; trainings of one experiment that agree on it share it.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor

from dictsent.errors import TrainingError
from dictsent.folders import appearing

COMPLETE = "complete"
PLAN = "plan.json"
Weights = dict[str, Tensor]


class Stop:
    """A wish to stop that a signal handler raises and the training honours after the update under way.

    `armed` is True only while there are updates to interrupt; at any other time a signal may act at once.
    """

    def __init__(self) -> None:
        self.armed = False
        self.requested = False


class TrainingStopped(TrainingError):
    """Training stopped when asked to; all there was is saved."""


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The folder of one unfinished training, or of a unit of it. Everything appears in it whole or not at all.

    `space` is where the entry matrix is kept, None for the folder itself.
    """

    folder: Path
    space: Path | None = None

    def unit(self, name: str, space: str) -> Checkpoints:
        """The checkpoints of one unit, and the entry matrix it trains against."""
        return Checkpoints(self.folder / name, self.folder / f"{space}.space")

    def steps_done(self) -> int:
        """How many PST steps are finished, in all units together."""
        return sum(1 for _ in self.folder.glob("*/step-*.done"))

    def has_step(self, step: int) -> bool:
        """Whether that PST step is finished."""
        return (self.folder / f"step-{step}.done").is_dir()

    def save_step(
        self, step: int, *, weights: dict[str, Tensor], pooler: dict[str, Tensor], log: dict[str, Any]
    ) -> None:
        """Keep a finished step; its updates' checkpoints go."""
        with appearing(self.folder / f"step-{step}.done") as partial:
            save_file({k: v.contiguous() for k, v in weights.items()}, partial / "encoder.safetensors")
            if pooler:
                save_file({k: v.contiguous() for k, v in pooler.items()}, partial / "pooler.safetensors")
            (partial / "log.json").write_text(json.dumps(log), encoding="utf-8")
        shutil.rmtree(self.updates(step), ignore_errors=True)

    def load_step(self, step: int) -> tuple[Weights, Weights, dict[str, Any]]:
        """Encoder weights, pooler weights (empty where there is none), log of a finished step."""
        folder = self.folder / f"step-{step}.done"
        pooler = folder / "pooler.safetensors"
        log: dict[str, Any] = json.loads((folder / "log.json").read_text(encoding="utf-8"))
        return load_file(folder / "encoder.safetensors"), load_file(pooler) if pooler.is_file() else {}, log

    def updates(self, step: int) -> Path:
        """The folder of the step's update checkpoints."""
        return self.folder / f"step-{step}"

    def newest_update(self, step: int) -> Path | None:
        """The step's newest complete checkpoint; half-written ones are removed."""
        found: list[Path] = []
        for path in self.updates(step).glob("checkpoint-*"):
            if (path / COMPLETE).is_file():
                found.append(path)
            else:
                shutil.rmtree(path, ignore_errors=True)
        return max(found, key=lambda path: int(path.name.rpartition("-")[2]), default=None)

    def newest_of_all(self) -> Path | None:
        """The newest complete checkpoint of any unit."""
        found = self.folder.glob(f"*/step-*/*/{COMPLETE}")
        newest = max(found, key=lambda path: path.stat().st_mtime, default=None)
        return newest.parent if newest is not None else None

    def space_folder(self, step: int) -> Path:
        """Where the step's entry matrix is kept."""
        return self.space or self.folder / f"step-{step}.space"

    def plan(self) -> dict[str, Any]:
        """What the training was asked for. Raises TrainingError where the folder is none of ours."""
        try:
            plan: dict[str, Any] = json.loads((self.folder / PLAN).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise TrainingError("this is no unfinished training", where=str(self.folder)) from error
        return plan

    def begin(self, plan: dict[str, Any]) -> None:
        """Note what the training is asked for. Raises TrainingError where another unfinished one lies here."""
        if self.folder.exists():
            hint = "go on with --resume, or remove that folder"
            raise TrainingError("an unfinished training lies here", where=str(self.folder), hint=hint)
        with appearing(self.folder) as partial:
            (partial / PLAN).write_text(json.dumps(plan, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")

    def is_empty(self) -> bool:
        """Whether no update of it is kept."""
        return not self.steps_done() and not any(self.folder.glob(f"*/step-*/*/{COMPLETE}"))

    def remove(self) -> None:
        """Nothing is left of it: the training is finished, or not worth going on with."""
        shutil.rmtree(self.folder, ignore_errors=True)
