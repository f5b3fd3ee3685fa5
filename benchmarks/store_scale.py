"""A store of millions of synthetic definitions: does it stay as quick, and its memory as small, as it grows?

    python benchmarks/store_scale.py [--millions 5] [--folder DIR]

Each million is a source of its own: half of its headwords are in the store already, and a tenth of its definitions. The
ratio of the last million's speed to the first's is the result; then the time of `show`, of `search`, and until
`Store.definitions` gives its first row and its last, each by a store opened anew.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from dictsent.records import Definition, Dictionary, Entry
from dictsent.store import Origin, Store

MILLION = 1_000_000
_EACH = 2  # definitions of an entry in one source
_SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in ("a", "e", "i", "o", "u", "an", "er")]


def word(number: int) -> str:
    """A word that is the same whenever its number is."""
    parts = []
    number += len(_SYLLABLES)
    while number:
        number, rest = divmod(number, len(_SYLLABLES))
        parts.append(_SYLLABLES[rest])
    return "".join(parts)


def entries(source: int, count: int) -> Iterator[Entry]:
    """A source of `count` definitions."""
    draw = random.Random(source)
    vocabulary = [word(int(draw.paretovariate(1.1)) % 50_000) for _ in range(200_000)]
    half = count // _EACH // 2
    for number in range(count // _EACH):
        texts = [" ".join(draw.choices(vocabulary, k=9)) for _ in range(_EACH)]
        if not number % 5:
            texts[0] = f"what every source says of number {number}"
        yield Entry(
            headword=word(number if number < half else source * MILLION + number),
            language="en",
            definitions=tuple(Definition(text=text, language="en", part_of_speech="noun") for text in texts),
            place=f"line {number}",
        )


def memory() -> int:
    """Peak memory of this process in MB."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def fill(path: Path, millions: int) -> list[tuple[float, float]]:
    """Ingest the sources; definitions a second of each, by the clock and by this process's processor time."""
    speeds: list[tuple[float, float]] = []
    with Store(path, create=True) as store:
        for source in range(millions):
            start = time.perf_counter(), time.process_time()
            origin = Origin(adapter="tsv", location=f"{source}", checksum=f"{source}")
            store.ingest(Dictionary(name=f"s{source}", language="en"), entries(source, MILLION), origin=origin)
            clock, processor = time.perf_counter() - start[0], time.process_time() - start[1]
            speeds.append((MILLION / clock, MILLION / processor))
            print(
                f"million {source + 1}: {MILLION / clock:,.0f} definitions a second,"
                f" {MILLION / processor:,.0f} a second of processor time, peak {memory()} MB",
                flush=True,
            )
    return speeds


def generation(count: int = 100_000) -> float:
    """Definitions a second of making the entries alone."""
    start = time.perf_counter()
    made = sum(len(entry.definitions) for entry in entries(0, count))
    return made / (time.perf_counter() - start)


def seconds_of_reading(path: Path) -> dict[str, float]:
    """Median of showing and searching words, and the time to the first and the last definition."""
    draw = random.Random(7)
    words = [word(draw.randrange(MILLION // _EACH)) for _ in range(50)]
    timed: dict[str, list[float]] = {"show": [], "search": []}
    with Store(path) as store:
        for one in words:
            for kind, call in (("show", store.entries), ("search", store.search)):
                start = time.perf_counter()
                found = call(one)
                timed[kind].append(time.perf_counter() - start)
                assert found, one
    start = time.perf_counter()
    with Store(path) as store:
        rows = store.definitions("en")
        next(rows)
        first = time.perf_counter() - start
        count = 1 + sum(1 for _ in rows)
    medians = {kind: statistics.median(values) for kind, values in timed.items()}
    worst = {f"{kind} (slowest)": max(values) for kind, values in timed.items()}
    return medians | worst | {"first definition": first, f"all {count:,} definitions": time.perf_counter() - start}


def main() -> None:
    """Print the speeds, their ratio and the times of reading."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        path = Path(folder) / "store.db"
        print(f"making the entries alone: {generation():,.0f} definitions a second")
        speeds = fill(path, asked.millions)
        print(
            f"last million at {speeds[-1][0] / speeds[0][0]:.2f} of the first one's speed,"
            f" {speeds[-1][1] / speeds[0][1]:.2f} by processor time; {path.stat().st_size / 1e9:.2f} GB"
        )
        print(json.dumps({kind: round(value, 4) for kind, value in seconds_of_reading(path).items()}))
        print(f"peak memory {memory()} MB")


if __name__ == "__main__":
    main()
