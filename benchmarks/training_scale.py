"""Memory of a DefSent+ step with very many entries, and FastICA on entry matrices: measured, beside arithmetic.

Usage: python benchmarks/training_scale.py memory [--entries 1000,150518,1000000] [--width 768] [--layers 12]
       python benchmarks/training_scale.py softmax [--entries 150518] [--batch 32,128]
       python benchmarks/training_scale.py ica --matrix FOLDER|RANDOM [--rows 30000] [--columns 256] [--doubles]

memory: each number of entries in a process of its own; the peak of the process is the kernel's (getrusage); the few
entries are there to tell what does not grow. softmax: the chunked one against the plain one, times and peaks.
ica: FOLDER is a trained model's (its dictsent/entries.safetensors), cut to --rows and --columns (principal components,
so that the matrix stays one that an encoder made); RANDOM mixes Laplace sources. --doubles fits in float64 too and
matches the components: the least and mean |correlation| of pairs.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from dictsent.objective import CHUNK, frozen_cross_entropy

MIB = 2**20


def resident() -> float:
    """MiB that this process holds now."""
    gc.collect()
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def peak() -> float:
    """MiB that this process held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def step_memory(entries: int, width: int, layers: int, batch: int) -> dict[str, float]:
    """What each part of a training of a few steps adds, through dictsent.train.fitting."""
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    from dictsent.encoder import Encoder
    from dictsent.heads import Pooler
    from dictsent.objective import EntryLoss
    from dictsent.records import Pair
    from dictsent.settings import TrainSettings, defaults
    from dictsent.train.fitting import fit
    from dictsent.train.records import Hooks

    found = {"libraries": resident()}
    with tempfile.TemporaryDirectory() as folder:
        words = [f"word{i}" for i in range(3_000)]
        trained = BertWordPieceTokenizer()
        trained.train_from_iterator(words, vocab_size=4_000, show_progress=False)
        trained.save_model(folder)
        tokenizer = BertTokenizerFast(vocab=f"{folder}/vocab.txt")
    config = BertConfig(
        hidden_size=width, num_hidden_layers=layers, num_attention_heads=width // 64, intermediate_size=4 * width
    )
    backbone = BertModel(config, add_pooling_layer=False)
    encoder = Encoder(backbone=backbone, tokenizer=tokenizer, pooling="mean", name="random")
    parameters = sum(p.numel() for p in backbone.parameters())
    found["weights"] = resident() - found["libraries"]
    matrix = torch.randn(entries, width)
    found["matrix"] = resident() - found["libraries"] - found["weights"]
    loss = EntryLoss(Pooler(width, "tanh"), matrix)
    pairs = [Pair(i, words[i], " ".join(words[i : i + 12])) for i in range(4 * batch)]
    how = TrainSettings(
        method="defsent-plus", **{**defaults("defsent-plus"), "pst": 1, "batch_size": batch}, pooling="mean"
    )
    fit(encoder, loss, pairs, [i % entries for i in range(len(pairs))], settings=how, step=1, hooks=Hooks())
    found["training"] = peak() - found["libraries"] - found["weights"] - found["matrix"]
    found["peak"] = peak()
    found["parameters"] = parameters
    return found


def part_memory(options) -> None:
    """Each number of entries in a process of its own."""
    for entries in options.entries:
        told = ["--width", options.width, "--layers", options.layers, "--batch", options.batch[0]]
        command = [sys.executable, __file__, "one", "--entries", entries, *told]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        weights = 4 * found["parameters"] / MIB
        print(f"{entries:,} entries, {options.width} wide, {options.layers} layers, batch {options.batch[0]}")
        rows = (
            ("weights", found["weights"], weights, f"{found['parameters'] / 1e6:.1f} million parameters x 4 bytes"),
            ("matrix", found["matrix"], 4 * entries * options.width / MIB, "entries x width x 4 bytes"),
            (
                "training",
                found["training"],
                3 * weights + 2 * 4 * options.batch[0] * CHUNK / MIB,
                f"gradients and Adam's two averages, and logits of a chunk of {CHUNK:,} twice; the rest is activations",
            ),
        )
        for name, measured, reckoned, why in rows:
            print(f"  {name:10} {measured:8.0f} MiB measured, {reckoned:8.0f} MiB reckoned: {why}")
        print(f"  {'peak':10} {found['peak']:8.0f} MiB, of which libraries {found['libraries']:.0f}", flush=True)


def part_one(options) -> None:
    """A single measurement, as JSON."""
    print(json.dumps(step_memory(options.entries[0], options.width, options.layers, options.batch[0])))


def part_softmax(options) -> None:
    """Chunked against plain: seconds of forward and backward, and what they add to the peak."""
    for entries in options.entries:
        matrix = torch.randn(entries, options.width)
        for batch in options.batch:
            vectors = torch.randn(batch, options.width, requires_grad=True)
            labels = torch.randint(entries, (batch,))
            ways = {
                "chunked": lambda v=vectors, m=matrix, y=labels: frozen_cross_entropy(v, m, y),
                "plain": lambda v=vectors, m=matrix, y=labels: F.cross_entropy(v @ m.T, y),
            }
            for name, way in ways.items():
                before, seconds = peak(), []
                for _ in range(7):
                    started = time.perf_counter()
                    torch.autograd.grad(way(), vectors)
                    seconds.append(time.perf_counter() - started)
                print(
                    f"{entries:,} entries, batch {batch:4}, {name:8} {1000 * statistics.median(seconds):7.0f} ms,"
                    f" peak +{peak() - before:.0f} MiB",
                    flush=True,
                )


def entry_rows(source: str, rows: int, columns: int) -> np.ndarray:
    """A matrix to be made isotropic."""
    draws = np.random.default_rng(0)
    if source == "RANDOM":
        sources = draws.laplace(size=(rows, columns)).astype(np.float32)
        return sources @ draws.normal(size=(columns, columns)).astype(np.float32)
    from safetensors.numpy import load_file

    matrix = load_file(Path(source) / "dictsent" / "entries.safetensors")["matrix"]
    matrix = matrix[draws.permutation(len(matrix))[:rows]]
    if columns < matrix.shape[1]:
        centred = matrix - matrix.mean(0)
        matrix = centred @ np.linalg.svd(centred, full_matrices=False)[2][:columns].T
    return matrix


def part_ica(options) -> None:
    """Seconds, iterations, convergence, factor; with --doubles, how equal float32 and float64 are."""
    from dictsent.entryspace import fit_isotropy

    rows = entry_rows(options.matrix, options.rows, options.columns)
    print(f"{rows.shape[0]:,} x {rows.shape[1]}, {torch.get_num_threads()} threads")
    started = time.perf_counter()
    single = fit_isotropy(rows, "ica")
    print(f"float32: {time.perf_counter() - started:.0f} s, {single.note}", flush=True)
    if not options.doubles:
        return
    started = time.perf_counter()
    double = fit_isotropy(rows, "ica", dtype=np.float64)
    print(f"float64: {time.perf_counter() - started:.0f} s, {double.note}")
    from scipy.optimize import linear_sum_assignment

    one, two = (fitted.apply(rows).astype(np.float64) for fitted in (single, double))
    width = rows.shape[1]
    correlations = np.abs(np.corrcoef(one, two, rowvar=False)[:width, width:])
    pairs = correlations[linear_sum_assignment(-correlations)]
    print(
        f"|correlation| of matched components: least {pairs.min():.6f}, 1 % below {np.quantile(pairs, 0.01):.6f},"
        f" mean {pairs.mean():.6f}; above 0.99: {(pairs > 0.99).mean():.1%}"
    )
    # What training sees of a matrix are its products, which a rotation of all rows does not change.
    sample = np.random.default_rng(1).permutation(len(one))[:1_000]
    products = [(part[sample] @ part[sample].T).ravel() for part in (one, two)]
    print(f"correlation of products of rows: {np.corrcoef(*products)[0, 1]:.8f}")


def numbers(text: str) -> list[int]:
    """1,2,3."""
    return [int(part.replace("_", "")) for part in text.split(",")]


def main() -> None:
    """Read the options, run the part."""
    parts = {"memory": part_memory, "one": part_one, "softmax": part_softmax, "ica": part_ica}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=[*parts])
    parser.add_argument("--entries", type=numbers, default=[1_000, 150_518, 1_000_000])
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--batch", type=numbers, default=[32])
    parser.add_argument("--matrix", default="RANDOM")
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--columns", type=int, default=256)
    parser.add_argument("--doubles", action="store_true")
    options = parser.parse_args()
    parts[options.part](options)


if __name__ == "__main__":
    main()
