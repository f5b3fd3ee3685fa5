"""How things are shown: results to stdout, everything else to stderr; progress for people and for logs.

Before: the commands. After: a terminal, a log file, or a script that reads JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

SCHEMA_VERSION = 1
"""Of every JSON object on stdout. Keys are only ever added."""

_LOG_EVERY = 15.0


def emit(value: dict[str, Any]) -> None:
    """One JSON object on stdout."""
    click.echo(json.dumps({"schema_version": SCHEMA_VERSION, **value}, ensure_ascii=False))


def note(text: str) -> None:
    """One line for people, on stderr."""
    click.echo(text, err=True)


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str = "", left: int = 1) -> None:
    """A table on stdout; the first `left` columns are text, the others figures. Never cut in a pipe."""
    shown = Table(title=title or None, title_justify="left", header_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for number, column in enumerate(columns):
        shown.add_column(column, justify="left" if number < left else "right", overflow="fold")
    for row in rows:
        shown.add_row(*("" if cell is None else str(cell) for cell in row))
    terminal = sys.stdout.isatty()
    Console(file=sys.stdout, width=None if terminal else 400, soft_wrap=not terminal).print(shown)


@dataclass(slots=True)
class Bar:
    """A running piece of work: call `update` as often as you like."""

    label: str
    _progress: Progress | None = None
    _task: Any = None
    _last: float = field(default_factory=time.monotonic)

    def update(self, done: float, total: float, text: str = "") -> None:
        """Say how much is done of how much (0: unknown), and a few words."""
        if self._progress is not None:
            self._progress.update(self._task, completed=done, total=total or None, text=text)
        elif time.monotonic() - self._last >= _LOG_EVERY:
            self._last = time.monotonic()
            share = f"{100 * done / total:.0f} %" if total else f"{done:.0f}"
            note(f"{self.label}: {share} {text}".rstrip())


class _TwoLines(Progress):
    """A bar with its words on a line of their own, so that neither is cut in a terminal of 80 columns."""

    def get_renderables(self) -> Iterable[RenderableType]:
        """The bar, then the words."""
        yield from super().get_renderables()
        yield from (Text(f"  {task.fields['text']}") for task in self.tasks if task.fields["text"])


@contextmanager
def working(label: str) -> Iterator[Bar]:
    """A progress bar in a terminal; in a log, a line every quarter of a minute."""
    if not sys.stderr.isatty():
        yield Bar(label)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with _TwoLines(*columns, console=Console(stderr=True), transient=True) as progress:
        yield Bar(label, progress, progress.add_task(label, total=None, text=""))
