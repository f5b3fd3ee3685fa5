"""What training, entries and encoding cost, in ratios measured within one run, alternately, medians of rounds.

Usage: python benchmarks/training.py STORE PART... [--threads N] [--rounds N] [--width 384] [--layers 6]
       python benchmarks/training.py STORE training    the reference way against ours, float32 and bf16
       python benchmarks/training.py STORE entries     the same for entry embeddings
       python benchmarks/training.py STORE loop        transformers.Trainer against a bare loop over the same batches
       python benchmarks/training.py STORE encode      our encode against sentence-transformers', and equal vectors
       python benchmarks/training.py STORE tokens      tokenising, and reading what was tokenised before

STORE holds WordNet (dictsent ingest wordnet-3.0). The encoder is a BERT with random weights and a WordPiece vocabulary
of the store's text: what is measured does not depend on weights. The reference way is that of DefSent+'s published
code: every text padded to 150 tokens, entries embedded one definition at a time, float32; the batch, the model, the
threads and the softmax over all entries are the same on both sides.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from dictsent.encoder import Encoder
from dictsent.heads import Pooler
from dictsent.objective import EntryLoss, Objective
from dictsent.pairs import PairSettings, select
from dictsent.precision import has_bf16
from dictsent.settings import TrainSettings, defaults
from dictsent.store import Store
from dictsent.tokens import cached, tokenise
from dictsent.train.batches import Collator, Rows, Shares
from dictsent.train.fitting import fit
from dictsent.train.quick import quick
from dictsent.train.records import Hooks

PADDED = 150
BATCH = 32


def read_pairs(store: Path):
    """All English pairs, shuffled by a seed."""
    with Store(store) as opened:
        pairs = list(select(opened, PairSettings(language="en", split="none")).train)
    order = np.random.default_rng(0).permutation(len(pairs))
    return [pairs[i] for i in order]


def make_encoder(folder: Path, texts, width: int, layers: int) -> Encoder:
    """A BERT with random weights and its vocabulary."""
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

    trained = BertWordPieceTokenizer(lowercase=True)
    trained.train_from_iterator(texts, vocab_size=30_522, show_progress=False)
    trained.save_model(str(folder))
    BertTokenizerFast(vocab=str(folder / "vocab.txt"), model_max_length=512).save_pretrained(folder)
    heads = max(1, width // 32 if width < 768 else width // 64)
    config = BertConfig(
        vocab_size=30_522,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
    )
    torch.manual_seed(0)
    BertForMaskedLM(config).save_pretrained(folder)
    return Encoder.load(folder, pooling="mean")


def matrix_of(pairs, width: int):
    """A frozen matrix with a row for every entry, and each pair's row."""
    rows = {entry: i for i, entry in enumerate(dict.fromkeys(p.entry for p in pairs))}
    matrix = torch.randn((len(rows), width), generator=torch.Generator().manual_seed(1)) * 0.3
    return matrix, [rows[p.entry] for p in pairs]


def settings_of(**more):
    """DefSent+'s own settings."""
    told = {**defaults("defsent-plus"), "pst": 1, "learning_rates": (5e-5,), "pooling": "mean", **more}
    return TrainSettings(method="defsent-plus", **told)


def reference_training(encoder, pairs, labels, matrix, seconds):
    """Definitions a second, the reference way: everything padded to 150, the softmax over all logits."""
    model, pooler = encoder.backbone.train(), Pooler(encoder.dim, "tanh")
    parameters = [*model.parameters(), *pooler.parameters()]
    optimiser = torch.optim.AdamW(parameters, lr=5e-5, eps=1e-6, weight_decay=0.0)
    started, done = time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        texts = [p.definition for p in pairs[done : done + BATCH]]
        batch = encoder.tokenizer(texts, padding="max_length", max_length=PADDED, truncation=True, return_tensors="pt")
        mask = batch["attention_mask"].unsqueeze(-1)
        states = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state
        vectors = pooler((states * mask).sum(1) / mask.sum(1))
        loss = F.cross_entropy(vectors @ matrix.T, torch.tensor(labels[done : done + BATCH]))
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        done += BATCH
    model.eval()
    return done / (time.perf_counter() - started)


def our_training(encoder, pairs, labels, matrix, *, precision, count):
    """Definitions a second by dictsent.train.fitting, its preparation included."""
    loss = EntryLoss(Pooler(encoder.dim, "tanh"), matrix)
    started = time.perf_counter()
    fit(
        encoder,
        loss,
        pairs[:count],
        labels[:count],
        settings=settings_of(precision=precision),
        step=1,
        hooks=Hooks(),
    )
    return count / (time.perf_counter() - started)


def bare_loop(encoder, pairs, labels, matrix, *, count):
    """Definitions a second of the same batches in a plain loop."""
    from transformers import get_linear_schedule_with_warmup

    started = time.perf_counter()
    rows = Rows(encoder.tokens([p.definition for p in pairs[:count]]), labels[:count])
    shares = Shares(rows.tokens.lengths, batch=BATCH, seed=0, parts=1, rank=0, ranks=1)
    packed = encoder.can_pack(sorted((rows.tokens[row] for row in range(8)), key=len))
    collate = Collator(encoder, packed=packed)
    objective = Objective(encoder, EntryLoss(Pooler(encoder.dim, "tanh"), matrix)).train()
    parameters = [p for p in objective.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=5e-5, eps=1e-6, weight_decay=0.0, fused=True)
    schedule = get_linear_schedule_with_warmup(optimiser, 0, len(shares))
    with (
        quick(objective, encoder.backbone.get_input_embeddings(), encoder.device),
        encoder.packing() if packed else nullcontext(),
    ):
        for places in shares:
            loss = objective(**collate([rows[place] for place in places]))["loss"]
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimiser.step()
            schedule.step()
    objective.eval()
    return count / (time.perf_counter() - started)


def reference_entries(encoder, pairs, seconds):
    """Definitions a second, one at a time, padded to 150."""
    started, done = time.perf_counter(), 0
    with torch.no_grad():
        while time.perf_counter() - started < seconds:
            batch = encoder.tokenizer(
                pairs[done].definition, padding="max_length", max_length=PADDED, truncation=True, return_tensors="pt"
            )
            states = encoder.backbone(
                input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]
            ).last_hidden_state
            mask = batch["attention_mask"].unsqueeze(-1)
            (states * mask).sum(1) / mask.sum(1)
            done += 1
    return done / (time.perf_counter() - started)


def our_entries(encoder, texts, precision):
    """Definitions a second by Encoder.embed, tokenising included."""
    encoder.precision = precision
    started = time.perf_counter()
    encoder.embed(texts)
    encoder.precision = "float32"
    return len(texts) / (time.perf_counter() - started)


def precisions(encoder):
    """What this processor computes in."""
    return ["float32", "bf16"] if has_bf16(encoder.device) else ["float32"]


def say(name: str, values, unit: str = "definitions/s") -> None:
    """The median of the rounds, and the extremes."""
    print(f"{name:46} {statistics.median(values):10.2f} {unit}  ({min(values):.2f} to {max(values):.2f})", flush=True)


def part_training(encoder, pairs, options) -> None:
    """The reference way against ours."""
    matrix, labels = matrix_of(pairs, encoder.dim)
    print(f"{len(matrix):,} entries, batch {BATCH}")
    found = {"reference": [], **{name: [] for name in precisions(encoder)}}
    ratios = {name: [] for name in precisions(encoder)}
    our_training(encoder, pairs, labels, matrix, precision="float32", count=4 * BATCH)
    for _ in range(options.rounds):
        found["reference"].append(reference_training(encoder, pairs, labels, matrix, 8))
        for name in ratios:
            found[name].append(our_training(encoder, pairs, labels, matrix, precision=name, count=60 * BATCH))
            ratios[name].append(found[name][-1] / found["reference"][-1])
    for name, values in found.items():
        say(f"training, {name}", values)
    for name, values in ratios.items():
        say(f"training, {name}, times the reference way", values, "x")


def part_entries(encoder, pairs, options) -> None:
    """The reference way against ours, and what distinct definitions save."""
    texts = [p.definition for p in pairs]
    distinct = list(dict.fromkeys(texts))
    print(f"{len(texts):,} definitions, {len(distinct):,} distinct: {len(texts) / len(distinct):.2f} times fewer")
    found = {"reference": [], **{name: [] for name in precisions(encoder)}}
    ratios = {name: [] for name in precisions(encoder)}
    for round_ in range(options.rounds):
        found["reference"].append(reference_entries(encoder, pairs, 5))
        for name in ratios:
            sample = distinct[round_ * 4_000 :][:4_000]
            found[name].append(our_entries(encoder, sample, name))
            ratios[name].append(found[name][-1] / found["reference"][-1])
    for name, values in found.items():
        say(f"entries, {name}", values)
    for name, values in ratios.items():
        say(f"entries, {name}, times the reference way", values, "x")


def part_loop(encoder, pairs, options) -> None:
    """Trainer against a bare loop."""
    matrix, labels = matrix_of(pairs, encoder.dim)
    bare, ours, ratios = [], [], []
    bare_loop(encoder, pairs, labels, matrix, count=4 * BATCH)
    for _ in range(options.rounds):
        bare.append(bare_loop(encoder, pairs, labels, matrix, count=40 * BATCH))
        ours.append(our_training(encoder, pairs, labels, matrix, precision="float32", count=40 * BATCH))
        ratios.append(ours[-1] / bare[-1])
    say("training, a bare loop over the same batches", bare)
    say("training, ours", ours)
    say("ours, times the bare loop (at least 0.9)", ratios, "x")


def part_encode(encoder, pairs, options) -> None:
    """Our encode against sentence-transformers' on the same folder."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    modules = [Transformer(encoder.name, max_seq_length=encoder.max_tokens), Pooling(encoder.dim, pooling_mode="mean")]
    other = SentenceTransformer(modules=modules, device="cpu")
    sentences = list(dict.fromkeys(p.definition for p in pairs))[:4_000]
    theirs, ours, ratios = [], [], []
    for _ in range(options.rounds):
        started = time.perf_counter()
        expected = other.encode(sentences, show_progress_bar=False)
        theirs.append(len(sentences) / (time.perf_counter() - started))
        started = time.perf_counter()
        got = encoder.encode(sentences)
        ours.append(len(sentences) / (time.perf_counter() - started))
        ratios.append(ours[-1] / theirs[-1])
    print(f"largest difference of a figure: {np.abs(expected - got).max():.1e}")
    say("encode, sentence-transformers", theirs, "sentences/s")
    say("encode, ours", ours, "sentences/s")
    say("ours, times sentence-transformers", ratios, "x")


def part_tokens(encoder, pairs, options) -> None:
    """Tokenising all definitions, and reading them again."""
    texts = [p.definition for p in pairs]
    with tempfile.TemporaryDirectory() as folder:
        for name, work in (
            ("lists of lists, as the tokenizer gives them", lambda: encoder.tokenise(texts)),
            ("flat arrays", lambda: tokenise(encoder.tokenizer, texts, longest=512)),
            ("flat arrays, written", lambda: cached(encoder.tokenizer, texts, Path(folder), longest=512)),
            ("flat arrays, read again", lambda: cached(encoder.tokenizer, texts, Path(folder), longest=512)),
        ):
            started = time.perf_counter()
            made = work()
            seconds = time.perf_counter() - started
            held = sum(sys.getsizeof(ids) for ids in made) if isinstance(made, list) else made.ids.nbytes
            print(f"{name:46} {seconds:6.2f} s, {held / 2**20:.0f} MiB")


PARTS = {
    "training": part_training,
    "entries": part_entries,
    "loop": part_loop,
    "encode": part_encode,
    "tokens": part_tokens,
}


def main() -> None:
    """Read the options, make the encoder, run the parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("parts", nargs="+", choices=[*PARTS])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--layers", type=int, default=6)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    pairs = read_pairs(options.store)
    with tempfile.TemporaryDirectory() as folder:
        texts = [p.definition for p in pairs]
        encoder = make_encoder(Path(folder), texts, options.width, options.layers)
        lengths = tokenise(encoder.tokenizer, texts, longest=512).lengths
        print(
            f"{len(pairs):,} definitions, median {np.median(lengths):.0f} and mean {lengths.mean():.1f} tokens;"
            f" {options.layers} layers, {options.width} wide, {options.threads} threads, {options.rounds} rounds,"
            f" load {os.getloadavg()[0]:.1f}"
        )
        for name in options.parts:
            PARTS[name](encoder, pairs, options)


if __name__ == "__main__":
    main()
