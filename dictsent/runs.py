"""The folder of runs: names for new ones, the newest finished one.

Before: dictsent.model writes a model folder. After: the command line finds it again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dictsent.checkpoints import PLAN
from dictsent.errors import TrainingError
from dictsent.model import RECORD, read_record

_WORK = ".work"
CACHE = ".cache"
"""The folder among the runs of what is kept to save time: token ids, entry matrices, stores made of tables."""


def next_folder(runs: Path, *, language: str, method: str) -> Path:
    """runs/<lang>-<method>-<n> with the first n that no run, finished or not, has taken."""
    stem = f"{language}-{method}"
    taken = {_run_name(path) for path in runs.iterdir()} if runs.is_dir() else set()
    number = 1
    while f"{stem}-{number}" in taken:
        number += 1
    return runs / f"{stem}-{number}"


def _run_name(path: Path) -> str:
    """The run a folder belongs to: en-defsent-1, .en-defsent-1.work, .en-defsent-1.partial-4711."""
    return path.name.removeprefix(".").partition(".")[0]


def work_folder(folder: Path) -> Path:
    """Where the unfinished work of the run at `folder` is kept."""
    return folder.with_name(f".{folder.name}{_WORK}")


def protocol_file(folder: Path) -> Path:
    """Where the summary of several runs is kept whose common name `folder` is."""
    return folder.with_name(f"{folder.name}.protocol.json")


def unfinished(runs: Path) -> list[Path]:
    """The model folders that unfinished runs would have, oldest first."""
    works = sorted(runs.glob(f".*{_WORK}/{PLAN}"), key=lambda path: path.stat().st_mtime)
    return [runs / path.parent.name.removeprefix(".").removesuffix(_WORK) for path in works]


def finished(runs: Path) -> list[Path]:
    """Folders of finished runs, oldest first by the time their record was made."""
    folders = [p.parent for p in runs.glob(f"*/{RECORD}") if not p.parent.name.startswith(".")]
    return sorted(folders, key=lambda p: (str(read_record(p).get("created", "")), p.stat().st_mtime))


def _eligible(record: dict[str, Any], language: str) -> bool:
    chosen = bool(record.get("protocol", {}).get("chosen", True))
    return chosen and (not language or language in str(record.get("language", "")).split(","))


def newest(runs: Path, *, language: str = "") -> Path:
    """The newest finished run, of one language if given. Raises TrainingError where there is none.

    Of a grid only the runs of the chosen point count.
    """
    folders = [p for p in finished(runs) if _eligible(read_record(p), language)]
    if not folders:
        of = f" of language {language}" if language else ""
        raise TrainingError(f"there is no finished run{of}", where=str(runs), hint="train one, or name a model folder")
    return folders[-1]
