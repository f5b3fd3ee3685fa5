"""A command that torchrun or accelerate launch started several times: one piece of work, and only the first speaks.

Before: a command's options. After: the command, in each process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import wraps
from typing import Any

from dictsent.errors import DictsentError


def together(command: Callable[..., None]) -> Callable[..., None]:
    """Join the processes that were started together, where there are several."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        if int(os.environ.get("WORLD_SIZE", "1")) == 1:
            command(*arguments, **options)
            return
        from dictsent import ranks

        ranks.join()
        try:
            with _silent(ranks.rank() > 0):
                command(*arguments, **options)
        except DictsentError as error:
            raise ranks.ending(error) from error.__cause__
        finally:
            ranks.leave()

    return run


@contextmanager
def _silent(really: bool) -> Iterator[None]:
    """What the first process says, the others need not. Errors of their own are shown outside of this."""
    if not really:
        yield
        return
    with open(os.devnull, "w", encoding="utf-8") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
        yield
