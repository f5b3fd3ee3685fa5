"""Ctrl-C and SIGTERM while a training runs.

Before: the shell. After: the training saves what there is and ends.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dictsent.cli.show import note


class Stopping:
    """The first signal asks the training to save and stop; anywhere else, and the second time, it acts at once."""

    def __init__(self) -> None:
        from dictsent import ranks
        from dictsent.checkpoints import Stop

        self.stop = Stop()
        self.several = ranks.count() > 1
        self.signal = 0
        self.before: dict[int, Any] = {}

    def on_signal(self, number: int, frame: Any) -> None:
        """A signal arrived."""
        self.signal = number
        if self.stop.armed and not self.stop.requested:
            self.stop.requested = True
            note("stopping after this update; once more to stop at once")
        elif self.stop.requested and self.several:
            pass  # torchrun passes on what each process got already; what it does not wait for, it kills
        else:
            before = self.before[number]
            if not callable(before):
                raise SystemExit(128 + number)
            before(number, frame)


@contextmanager
def stopping() -> Iterator[Stopping]:
    """Signals are heeded so within."""
    found = Stopping()
    if threading.current_thread() is not threading.main_thread():
        yield found
        return
    for number in (int(signal.SIGINT), int(signal.SIGTERM)):
        found.before[number] = signal.signal(number, found.on_signal)
    try:
        yield found
    finally:
        for number, handler in found.before.items():
            signal.signal(number, handler)
