"""Whole `dictsent ingest` runs: seconds, processor seconds and peak memory; a WN-LMF file also against `wn.add`.

    python benchmarks/ingest.py /usr/share/wordnet oewn.xml.xz

Each run is a process of its own; the pairs against wn.add take turns, so that a slow machine is slow for both.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 3
WN_ADD = "import sys, wn; wn.config.data_directory = sys.argv[1]; wn.add(sys.argv[2], progress_handler=None)"


def measure(command: list[str]) -> tuple[float, float, float]:
    """Wall seconds, processor seconds, peak MB of one process."""
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"failed: {' '.join(command)}")
    return time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def ingest(source: str, folder: str) -> tuple[float, float, float]:
    """One `dictsent ingest` into a new store."""
    store = tempfile.mktemp(suffix=".db", dir=folder)
    return measure([sys.executable, "-m", "dictsent", "ingest", source, "--store", store])


def wn_add(source: str, folder: str) -> tuple[float, float, float]:
    """One `wn.add` into a new data folder."""
    return measure([sys.executable, "-c", WN_ADD, tempfile.mkdtemp(dir=folder), source])


def line(name: str, runs: list[tuple[float, float, float]]) -> str:
    """Medians of the runs."""
    wall, processor, peak = (statistics.median(column) for column in zip(*runs, strict=True))
    return f"{name:32} {wall:7.2f} s wall {processor:7.2f} s processor {peak:7.0f} MB peak"


def main() -> None:
    """Measure each path on the command line."""
    for source in sys.argv[1:] or sys.exit(__doc__):
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = [], []
            for _ in range(RUNS):
                ours.append(ingest(source, folder))
                if Path(source).is_file():
                    theirs.append(wn_add(source, folder))
        print(line(f"ingest {Path(source).name}", ours))
        if theirs:
            print(line(f"wn.add {Path(source).name}", theirs))
            ratios = sorted(a[0] / b[0] for a, b in zip(ours, theirs, strict=True))
            print(f"ratio ingest / wn.add, pair by pair: {', '.join(f'{r:.2f}' for r in ratios)}")


if __name__ == "__main__":
    main()
