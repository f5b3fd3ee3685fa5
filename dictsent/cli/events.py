"""What a training does, as JSON lines for scripts that watch it (`dictsent train --events FILE|-`).

Before: a training tells its Watch. After: one line an event, written as it happens, in a file or on stdout.

Every line has `schema_version`, `event` and `time` (UTC); keys are only ever added. The events, in their order:

    start      dictsent, language, method, encoder, seeds, resume: what was asked for, null where it was left open
    note       text: a line for people
    pairs      train, dev, test, left_out, changed: how many definitions there are, were left out, were altered
    progress   done, total, text: every few seconds; updates of all steps together, total 0 where unknown
    step       point, seed and the log of a finished step: step, learning_rate, definitions, entries, updates,
               loss_first, loss_last, seconds, pooler, matrix, dev, ...
    finished   run, runs, record: the best run, all of them, the best one's record
    stopped    text, exit_code: a signal came; what there is was saved, `--resume` goes on
    failed     error: the line that stands on stderr

The last line of a file is finished, stopped or failed, unless the process was killed.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from dictsent import __version__
from dictsent.cli.show import SCHEMA_VERSION
from dictsent.errors import DictsentError

if TYPE_CHECKING:
    from dictsent.recipe.protocol import Outcome
    from dictsent.recipe.training import Plan, Watch

EVERY = 5.0
"""Seconds between two lines of progress."""

events_option = click.option(
    "--events",
    metavar="FILE|-",
    help="Write what happens as JSON lines, as it happens: start, note, pairs, progress, step; last finished, stopped"
    " or failed.",
)


@dataclass(slots=True)
class Events:
    """Writes events; without a stream it does nothing."""

    stream: TextIO | None = None
    every: float = EVERY
    _last: float = 0.0

    def tell(self, event: str, fields: Mapping[str, Any]) -> None:
        """One line, there at once for whoever reads along."""
        if self.stream is None:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"schema_version": SCHEMA_VERSION, "event": event, "time": now, **fields}
        self.stream.write(json.dumps(line, ensure_ascii=False) + "\n")
        self.stream.flush()

    def start(self, plan: Plan) -> None:
        """What was asked for."""
        asked = {"language": ",".join(plan.tags), "method": plan.method, "encoder": plan.encoder}
        self.tell("start", {"dictsent": __version__, **asked, "seeds": list(plan.seeds), "resume": plan.resume})

    def finish(self, outcome: Outcome) -> None:
        """What came of it."""
        runs = [str(run.folder) for run in outcome.runs]
        self.tell("finished", {"run": str(outcome.best.folder), "runs": runs, "record": outcome.best.record})

    def watch(self, watch: Watch) -> Watch:
        """The same watch, which also writes what it is told."""

        def notify(text: str) -> None:
            self.tell("note", {"text": text})
            watch.notify(text)

        def progress(done: int, total: int, text: str) -> None:
            if time.monotonic() - self._last >= self.every:
                self._last = time.monotonic()
                self.tell("progress", {"done": done, "total": total, "text": text})
            watch.progress(done, total, text)

        def tell(event: str, fields: Mapping[str, Any]) -> None:
            self.tell(event, fields)
            watch.tell(event, fields)

        return replace(watch, notify=notify, progress=progress, tell=tell)


@contextmanager
def events_to(target: str | None, *, as_json: bool = False, first: bool = True) -> Iterator[Events]:
    """Events to a file, which is replaced, or to stdout ("-"); None for none. How it ends becomes the last one.

    Args:
        as_json: stdout holds one JSON object already, so events cannot go there.
        first: whether this is the first of several processes, the only one that writes.

    Raises:
        click.UsageError: both ask for stdout. click.FileError: the file cannot be written.
    """
    if target == "-" and as_json:
        raise click.UsageError("--json gives one object on stdout; write --events to a file")
    with ExitStack() as stack:
        events = Events(_opened(target, stack) if target and first else None)
        try:
            yield events
        except DictsentError as error:
            events.tell("failed", {"error": str(error)})
            raise
        except click.exceptions.Exit as ended:
            if ended.exit_code:
                events.tell("stopped", {"text": "stopped and saved", "exit_code": ended.exit_code})
            raise
        except BaseException as error:
            events.tell("failed", {"error": f"{type(error).__name__}: {error}".rstrip(": ")})
            raise


def _opened(target: str, stack: ExitStack) -> TextIO:
    if target == "-":
        return sys.stdout
    try:
        return stack.enter_context(Path(target).open("w", encoding="utf-8"))
    except OSError as error:
        raise click.FileError(target, error.strerror or str(error)) from error
