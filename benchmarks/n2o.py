"""Exact nearest neighbours of 100 queries among a million sentences, after embedding: time and memory.

Usage: python benchmarks/n2o.py [SENTENCES [DIMENSIONS [QUERIES [K]]]]
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from dictsent.tasks.neighbours import corpus_neighbours, draw_queries, n2o

BLOCK = 1 << 16


def main() -> None:
    """Print the figures; the vectors are random, which costs what any others do."""
    sentences, dimensions, queries, k = (*map(int, sys.argv[1:]), *(1_000_000, 384, 100, 50)[len(sys.argv) - 1 :])
    draws = np.random.default_rng(0)
    blocks = [
        draws.standard_normal((min(BLOCK, sentences - at), dimensions), dtype=np.float32)
        for at in range(0, sentences, BLOCK)
    ]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    drawn = draw_queries(sentences, queries=queries, samples=1, seed=0)
    start = time.perf_counter()
    found = corpus_neighbours(blocks, drawn, k)
    seconds = time.perf_counter() - start
    overlap = n2o({"a": found, "b": found}, [k]).mean(k)[0, 1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{queries} queries, {sentences:,} sentences, {dimensions} wide, k = {k}: {seconds:.1f} s, "
        f"{peak:,.0f} MB in all ({before:,.0f} MB of them vectors), N2O with itself {overlap}"
    )


if __name__ == "__main__":
    main()
