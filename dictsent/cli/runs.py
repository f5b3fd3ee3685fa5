"""`dictsent runs`: finished and unfinished trainings.

Before: dictsent.runs. After: a table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dictsent.cli.options import json_option, runs_option
from dictsent.cli.show import emit, note, table


@click.command("runs")
@runs_option
@json_option
def runs_command(runs: Path, as_json: bool) -> None:
    """List runs: their state, how far they are, their scores."""
    from dictsent.checkpoints import Checkpoints
    from dictsent.model import read_record
    from dictsent.runs import finished, unfinished, work_folder

    rows = [_finished(folder, read_record(folder)) for folder in finished(runs)]
    rows += [_unfinished(folder, Checkpoints(work_folder(folder))) for folder in unfinished(runs)]
    if as_json:
        emit({"runs": rows})
    elif not rows:
        note(f"No runs in {runs}.")
    else:
        columns = ("run", "state", "language", "method", "encoder", "progress", "dev", "scores")
        table(columns, [tuple(_cell(row, column) for column in columns) for row in rows], left=len(columns))


def _finished(folder: Path, record: dict[str, Any]) -> dict[str, Any]:
    steps = record.get("steps", [])
    scores = {
        s["task"]: s["value"] for s in record.get("scores", []) if s["metric"] == "spearman" and "/" not in s["task"]
    }
    return {
        "run": str(folder),
        "state": "finished",
        "language": record.get("language", ""),
        "method": record.get("method", ""),
        "encoder": record.get("encoder", {}).get("name", ""),
        "progress": f"{len(steps)} steps" if steps else "",
        "dev": steps[-1]["dev"] if steps else None,
        "scores": scores,
    }


def _unfinished(folder: Path, checkpoints: Any) -> dict[str, Any]:
    plan = checkpoints.plan()
    trainings = plan.get("settings", [])
    settings = trainings[0] if trainings else {}
    total = sum(training.get("pst", 1) for training in trainings)
    done, newest = checkpoints.steps_done(), checkpoints.newest_of_all()
    at = f", update {newest.name.rpartition('-')[2]}" if newest is not None else ""
    return {
        "run": str(folder),
        "state": "unfinished",
        "language": plan.get("asked", {}).get("language", ""),
        "method": settings.get("method", ""),
        "encoder": plan.get("start", {}).get("name", ""),
        "progress": f"{done} of {total} steps{at}",
        "dev": None,
        "scores": {},
    }


def _cell(row: dict[str, Any], column: str) -> object:
    value = row[column]
    if isinstance(value, dict):
        return " ".join(f"{task} {score:.1f}" for task, score in value.items() if score is not None)
    return f"{value:.4f}" if isinstance(value, float) else value
