"""Blocks of pages read by several processes, in the dump's order: offsets cross the border, and tuples come back.

Before: dump gives the blocks, pages reads one. After: adapter yields what comes back.
"""

from __future__ import annotations

import gc
import marshal
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import fields, replace
from multiprocessing import get_context
from operator import attrgetter
from pathlib import Path
from typing import Any

from dictsent.errors import SourceError
from dictsent.records import Definition, Entry, Example, Rejected
from dictsent_adapters.wiktionary.dump import Block
from dictsent_adapters.wiktionary.layout import display_names, know_display_names, load
from dictsent_adapters.wiktionary.pages import Outcome, PageReader, Task

YOUNG_OBJECTS = 50_000
"""Objects a worker makes before Python looks for cycles among them; pages leave none behind."""

Names = tuple[str, dict[str, str]]
_Fields = tuple[Any, ...]
_worker: _Worker | None = None


class _Worker:
    """One process's reader, with the dump open."""

    def __init__(self, task: Task, dump: Path) -> None:
        self.reader, self.dump = PageReader(task), dump.open("rb")

    def read(self, block: Block, size: int) -> bytes:
        """What a block gives, as bytes; its own bytes are fetched from the file unless they came along."""
        if block.start >= 0:
            self.dump.seek(block.start)
            block = replace(block, data=self.dump.read(size))
        return _packed(self.reader.read(block))


def _start(task: Task, dump: Path, names: Names) -> None:
    global _worker
    know_display_names(*names)
    _worker = _Worker(task, dump)
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 20, 20)


def _work(block: Block, size: int) -> bytes:
    if _worker is None:
        raise RuntimeError("a worker was used before it was started")
    return _worker.read(block, size)


def read_blocks(blocks: Iterator[Block], task: Task, dump: Path, *, jobs: int) -> Iterator[Outcome]:
    """What the blocks of a dump give, in their order, by `jobs` processes (1: in this one).

    Raises:
        SourceError: the processes cannot be started.
    """
    if jobs <= 1:
        reader = PageReader(task)
        for block in blocks:
            yield reader.read(block)
        return
    language = str(load(task.edition).option("names_in", task.edition))
    started = (task, dump, (language, display_names(language)))
    with ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_start, initargs=started) as pool:
        waiting: deque[Future[bytes]] = deque()
        try:
            for block in blocks:
                waiting.append(
                    pool.submit(_work, replace(block, data=b"") if block.start >= 0 else block, len(block.data))
                )
                if len(waiting) > 4 * jobs:
                    yield _unpacked(waiting.popleft().result())
            while waiting:
                yield _unpacked(waiting.popleft().result())
        except BrokenProcessPool as error:
            hint = (
                "use fewer --jobs; a script that reads with several keeps its work below `if __name__ == '__main__':`"
            )
            raise SourceError(
                "a worker process could not be started or was ended", where="--jobs", hint=hint
            ) from error
        finally:
            for future in waiting:
                future.cancel()


def _values(record: type) -> Any:
    return attrgetter(*(field.name for field in fields(record)))


_of_entry, _of_definition, _of_example = _values(Entry), _values(Definition), _values(Example)
_of_rejected = _values(Rejected)
_ENTRY = [field.name for field in fields(Entry)]
_DEFINITION = [field.name for field in fields(Definition)]
_DEFINITIONS, _EXAMPLES = _ENTRY.index("definitions"), _DEFINITION.index("examples")


def _packed(outcome: Outcome) -> bytes:
    """An outcome as bytes: its records as tuples of their fields, which costs a third of pickling them."""
    records = [_flat_entry(r) if isinstance(r, Entry) else (False, _of_rejected(r)) for r in outcome.records]
    counters = [dict(counter) for counter in (outcome.counts, outcome.languages, outcome.unknown)]
    return marshal.dumps((records, counters, outcome.done, outcome.damage))


def _flat_entry(entry: Entry) -> tuple[bool, _Fields]:
    values = list(_of_entry(entry))
    values[_DEFINITIONS] = [_flat_definition(definition) for definition in entry.definitions]
    return True, tuple(values)


def _flat_definition(definition: Definition) -> _Fields:
    if not definition.examples:
        return _of_definition(definition)  # type: ignore[no-any-return]
    values = list(_of_definition(definition))
    values[_EXAMPLES] = tuple(map(_of_example, definition.examples))
    return tuple(values)


def _unpacked(data: bytes) -> Outcome:
    records, counters, done, damage = marshal.loads(data)
    made = [_entry(values) if is_entry else Rejected(*values) for is_entry, values in records]
    counts, languages, unknown = (Counter[str](counter) for counter in counters)
    return Outcome(made, counts, languages, unknown, done, damage)


def _entry(values: _Fields) -> Entry:
    named = dict(zip(_ENTRY, values, strict=True))
    named["definitions"] = tuple(map(_definition, named["definitions"]))
    return Entry(**named)


def _definition(values: _Fields) -> Definition:
    named = dict(zip(_DEFINITION, values, strict=True))
    if named["examples"]:
        named["examples"] = tuple(Example(*example) for example in named["examples"])
    return Definition(**named)
