"""What are the scratch encoders worth? Sentence similarity, fill-mask and time, from a store alone.

Usage: python benchmarks/scratch_quality.py STORE DATA [LANGUAGE] [SETTING=VALUE ...]; settings as in ScratchSettings.

Choose by the dev column only; test columns are for the report. Fill-mask is set beside the best guess without context
(tokens by frequency); both are mean reciprocal ranks on one masked token of each of 1,000 definitions.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from transformers import AutoModelForMaskedLM, AutoTokenizer

from dictsent.encoder import quiet
from dictsent.evaluate import available, evaluate, main_scores
from dictsent.pairs import PairSettings, glosses, select
from dictsent.scratch import ScratchSettings, build_encoder, build_static
from dictsent.store import Store
from dictsent.tasks.data import Choice


def read_settings(words):
    """ScratchSettings from `name=value` words."""
    told = dict(word.split("=", 1) for word in words)
    return ScratchSettings(**{name: type(getattr(ScratchSettings(), name))(value) for name, value in told.items()})


def fill_mask(folder, texts):
    """Mean reciprocal ranks of the model and of the tokens by frequency."""
    with quiet():
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForMaskedLM.from_pretrained(folder).eval()
    draws = np.random.default_rng(0)
    rows = [ids for ids in tokenizer(texts, add_special_tokens=False)["input_ids"] if ids]
    counts = Counter(i for ids in rows for i in ids)
    ranks, guesses = [], []
    for row in draws.permutation(len(rows))[:1000]:
        place = int(draws.integers(len(rows[row]))) + 1
        ids = torch.tensor([[tokenizer.cls_token_id, *rows[row], tokenizer.sep_token_id]])
        wanted = int(ids[0, place])
        ids[0, place] = tokenizer.mask_token_id
        with torch.no_grad():
            scores = model(input_ids=ids).logits[0, place]
        ranks.append(1 / (1 + int((scores > scores[wanted]).sum())))
        guesses.append(1 / (1 + sum(count > counts[wanted] for count in counts.values())))
    return float(np.mean(ranks)), float(np.mean(guesses))


def score(folder, sets):
    """The main figure of every set."""
    with quiet():
        encoder = SentenceTransformer(str(folder), device="cpu")

    class Quietly:
        def encode(self, texts):
            return encoder.encode(texts, batch_size=128, show_progress_bar=False)

    scores = main_scores(evaluate(Quietly(), sets))
    return {f"{s.task} {s.split}": None if s.value is None else round(s.value, 2) for s in scores}


def main():
    """Build both encoders, print a JSON line for each."""
    store, data, *rest = sys.argv[1:]
    language = rest.pop(0) if rest and "=" not in rest[0] else "en"
    settings = read_settings(rest)
    opened = Store(Path(store))
    pairs = select(opened, PairSettings(language=language))
    text = glosses(pairs.train, opened.examples(language))
    dev, _ = available(Choice(languages=(language,), names=("STS-B",), split="dev"), [Path(data)])
    test, _ = available(Choice(languages=(language,)), [Path(data)])
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    for name, build in (("static", build_static), ("encoder", build_encoder)):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            with quiet():
                build(text, Path(folder), settings)
            row = {"encoder": name, "glosses": len(text), "seconds": round(time.perf_counter() - start, 1)}
            row |= score(folder, dev) | score(folder, test)
            if name == "encoder":
                row["fill-mask"], row["by frequency"] = (round(v, 4) for v in fill_mask(folder, [g.text for g in text]))
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
