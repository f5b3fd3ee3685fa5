"""What a training came to, as tables.

Before: the record of a run, the summary of a protocol. After: a person reads them.
"""

from __future__ import annotations

from typing import Any

from dictsent.cli.show import note, table


def show_points(summary: dict[str, Any]) -> None:
    """The points of a grid and their seeds by the dev criterion, the chosen one marked."""
    if not summary:
        return
    rows = []
    for number, point in enumerate(summary["points"]):
        said = " ".join(f"{key}={_shown(value)}" for key, value in point["settings"].items()) or "all seeds"
        spread = "" if point["dev_deviation"] is None else f"{point['dev_deviation']:.4f}"
        seeds = " ".join(f"{run['dev']:.4f}" for run in point["runs"])
        rows.append(("*" if number == summary["chosen"] else "", said, f"{point['dev']:.4f}", spread, seeds))
    table(["", "setting", "dev", "deviation", "seeds"], rows, left=2)
    note(f"chosen by {summary['criterion']}; seeds {', '.join(map(str, summary['seeds']))}")


def _shown(value: Any) -> str:
    return "/".join(f"{part:g}" for part in value) if isinstance(value, tuple | list) else str(value)


def show_steps(record: dict[str, Any]) -> None:
    """The steps of one run."""
    steps = record.get("steps", [])
    if not steps:
        return
    rows = [
        (
            s["step"],
            f"{s['definitions']:,}",
            f"{s['entries']:,}",
            f"{s['learning_rate']:g}",
            f"{s['loss_first']:.3f}",
            f"{s['loss_last']:.3f}",
            "" if s["dev"] is None else f"{s['dev']:.4f}",
            f"{s['seconds']:.0f} s",
        )
        for s in steps
    ]
    columns = ["step", "definitions", "entries", "rate", "loss first", "loss last", "dev", "time"]
    table(columns, rows)
    note(f"dev: {record['dev_criterion']}")
    by_language = steps[-1].get("dev_languages") or {}
    if len(by_language) > 1:
        note("last step: " + ", ".join(f"{tag} {value:.4f}" for tag, value in by_language.items()))
