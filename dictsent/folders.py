"""Folders that appear whole or not at all.

Before: dictsent.errors. After: model folders, checkpoints and built encoders are written through here.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dictsent.errors import TrainingError


def require_free(folder: Path) -> None:
    """Raise TrainingError where the folder holds something already."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        hint = "name another with --out, or remove it"
        raise TrainingError("the output folder is in use", where=str(folder), hint=hint)


@contextmanager
def appearing(folder: Path) -> Iterator[Path]:
    """A folder to write into that takes its name only when all is written; on any error nothing stays.

    Raises:
        TrainingError: the folder is in use, or cannot be written.
    """
    require_free(folder)
    partial = folder.with_name(f".{folder.name}.partial-{os.getpid()}")
    try:
        partial.mkdir(parents=True)
        yield partial
        if folder.exists():
            folder.rmdir()
        partial.rename(folder)
    except OSError as error:
        raise TrainingError(f"cannot be written: {error.strerror or error}", where=str(folder)) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def prune(folder: Path, pattern: str, *, kept: int) -> None:
    """Remove all but the last used of the folders that match: they were kept to save time."""
    found = sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in found[kept:]:
        shutil.rmtree(path, ignore_errors=True)
