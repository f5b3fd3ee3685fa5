"""Seconds and peak memory of reading WordNet: Princeton's files, and a WN-LMF file against `wn.add` of the same file.

    python benchmarks/wordnet_reading.py --princeton /usr/share/wordnet --lmf oewn.xml.xz [--repeat 3]

Each measurement runs in a process of its own, in turn; `wn.add` writes into a fresh folder. The ratio is the result.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time


def read(source: str) -> dict[str, float]:
    """Read a source with the adapter and count what it yields."""
    from dictsent.records import Entry
    from dictsent_adapters.wordnet import WordNet

    start = time.perf_counter()
    entries = definitions = 0
    for record in WordNet().read(source):
        if isinstance(record, Entry):
            entries, definitions = entries + 1, definitions + len(record.definitions)
    return measured(start) | {"entries": entries, "definitions": definitions}


def add(source: str) -> dict[str, float]:
    """Add a WN-LMF file to a fresh wn database."""
    import wn

    with tempfile.TemporaryDirectory() as folder:
        wn.config.data_directory = folder
        start = time.perf_counter()
        wn.add(source, progress_handler=None)
        return measured(start)


def measured(start: float) -> dict[str, float]:
    """Seconds since the start, and this process's peak memory in MB."""
    return {
        "seconds": round(time.perf_counter() - start, 2),
        "MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def in_process(what: str, source: str) -> dict[str, float]:
    """One measurement in a process of its own."""
    command = [sys.executable, __file__, "--only", what, source]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def report(name: str, runs: list[dict[str, float]]) -> float:
    """Print the median of several runs; the median seconds."""
    seconds = statistics.median(run["seconds"] for run in runs)
    counts = {key: value for key, value in runs[0].items() if key not in ("seconds", "MB")}
    print(f"{name:<12} {seconds:7.2f} s  {max(run['MB'] for run in runs):5.0f} MB  n={len(runs)}  {counts or ''}")
    return seconds


def main() -> None:
    """Run the measurements in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--princeton")
    parser.add_argument("--lmf")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", nargs=2)
    arguments = parser.parse_args()
    if arguments.only:
        what, source = arguments.only
        print(json.dumps(add(source) if what == "add" else read(source)))
        return
    if arguments.princeton:
        report("princeton", [in_process("read", arguments.princeton) for _ in range(arguments.repeat)])
    if arguments.lmf:
        pairs = [(in_process("read", arguments.lmf), in_process("add", arguments.lmf)) for _ in range(arguments.repeat)]
        ours, theirs = report("wn-lmf", [p[0] for p in pairs]), report("wn.add", [p[1] for p in pairs])
        print(f"ours / wn.add: {ours / theirs:.2f}")


if __name__ == "__main__":
    main()
