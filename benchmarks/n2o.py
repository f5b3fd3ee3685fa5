"""Exact nearest neighbours of 100 queries among a million sentences, after embedding: time and memory.

Usage: python benchmarks/n2o.py [SENTENCES [DIMENSIONS [QUERIES [K]]]]

The vectors stand in 2,000 clusters and their spread falls off as sentence vectors' does: the time of the exact search
does not hang on it, the recall of the projected search does.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from dictsent.tasks.neighbours import corpus_neighbours, draw_queries, n2o
from dictsent.tasks.projected import projected_neighbours

BLOCK = 1 << 16


def clustered(draws, centres, n):
    """(n, d) rows around the centres."""
    rows = draws.standard_normal((n, centres.shape[1]), dtype=np.float32)
    rows += centres[draws.integers(0, len(centres), n)]
    return rows


def main() -> None:
    """Print the figures."""
    sentences, dimensions, queries, k = (*map(int, sys.argv[1:]), *(1_000_000, 384, 100, 50)[len(sys.argv) - 1 :])
    draws = np.random.default_rng(0)
    spread = (np.arange(1, dimensions + 1) ** -0.5).astype(np.float32)
    centres = draws.standard_normal((2000, dimensions), dtype=np.float32)
    blocks = [clustered(draws, centres, min(BLOCK, sentences - at)) * spread for at in range(0, sentences, BLOCK)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    drawn = draw_queries(sentences, queries=queries, samples=1, seed=0)
    start, spent = time.perf_counter(), time.process_time()
    found = corpus_neighbours(blocks, drawn, k)
    seconds, spent = time.perf_counter() - start, time.process_time() - spent
    overlap = n2o({"a": found, "b": found}, [k]).mean(k)[0, 1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{queries} queries, {sentences:,} sentences, {dimensions} wide, k = {k}: {seconds:.1f} s (CPU {spent:.1f}), "
        f"{peak:,.0f} MB in all ({before:,.0f} MB of them vectors), N2O with itself {overlap}",
        flush=True,
    )
    start, spent = time.perf_counter(), time.process_time()
    _, recall = projected_neighbours(blocks, drawn, k)
    seconds, spent = time.perf_counter() - start, time.process_time() - spent
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"projected: {seconds:.1f} s (CPU {spent:.1f}) with its recall, {recall:.3f}; {peak:,.0f} MB in all")


if __name__ == "__main__":
    main()
