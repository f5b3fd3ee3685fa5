"""Token vectors fitted on the dictionary, and the static encoder made of them.

Before: vectors gives the first token vectors. After: the folder loads in sentence-transformers; transformer goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer
from torch.nn import functional

from dictsent.errors import EncoderError
from dictsent.records import Gloss
from dictsent.scratch.corpus import Corpus, read_corpus, shuffled_batches
from dictsent.scratch.settings import MINIMUM_GLOSSES, Progress, ScratchSettings
from dictsent.scratch.vectors import Floats, build_vectors, count_tokens, frequency_weights
from dictsent.scratch.vocabulary import SPECIAL, UNK, build_tokenizer


@dataclass(frozen=True, slots=True)
class FittedText:
    """All that is learnt before a folder is written.

    Attributes:
        tokenizer: cut from the text.
        corpus: the text as ids.
        counts: how often each token occurs, (tokens,).
        vectors: fitted token vectors; their lengths are the tokens' weights in a sentence, (tokens, width).
    """

    tokenizer: Tokenizer
    corpus: Corpus
    counts: NDArray[np.int64]
    vectors: Floats


def build_static(
    glosses: Sequence[Gloss], folder: Path, settings: ScratchSettings, *, progress: Progress | None = None
) -> None:
    """Fit token vectors on the glosses and save them as a StaticEmbedding folder that SentenceTransformer loads.

    Raises:
        EncoderError: too little text.
    """
    fitted = fit_text(glosses, settings, progress=progress)
    module = StaticEmbedding(fitted.tokenizer, embedding_weights=fitted.vectors)
    SentenceTransformer(modules=[module], device="cpu").save(str(folder), create_model_card=False)


def fit_text(glosses: Sequence[Gloss], settings: ScratchSettings, *, progress: Progress | None = None) -> FittedText:
    """Cut the vocabulary, count co-occurrences, fit the token vectors.

    Raises:
        EncoderError: too little text.
    """
    report = progress or _silent
    report("vocabulary", 0, 1)
    tokenizer = build_tokenizer(glosses, settings)
    corpus = read_corpus(glosses, tokenizer)
    if len(corpus.glosses) < MINIMUM_GLOSSES:
        raise EncoderError(
            f"only {len(corpus.glosses)} of {len(glosses)} definitions hold text that recurs, not {MINIMUM_GLOSSES}",
            hint="ingest more dictionaries, or name a pretrained encoder with --encoder",
        )
    size = tokenizer.get_vocab_size()
    counts = count_tokens(corpus.documents, size)
    report("co-occurrence", 0, 1)
    unit = build_vectors(corpus.documents, size, settings)
    weighted = unit * frequency_weights(counts, settings.sif)[:, None]
    vectors = _complete(_fit(weighted, corpus, settings, report), settings.seed)
    return FittedText(tokenizer=tokenizer, corpus=corpus, counts=counts, vectors=vectors)


def _fit(start: Floats, corpus: Corpus, settings: ScratchSettings, report: Progress) -> Floats:
    """Symmetric in-batch contrastive fitting: a gloss's mean token vector against that of a headword or example."""
    rows = len(corpus.glosses)
    batch = min(settings.fit_batch, max(32, rows // 8))
    steps = min(settings.fit_steps, settings.fit_passes * (rows // batch))
    generator = np.random.default_rng(settings.seed)
    vectors = torch.nn.Parameter(torch.from_numpy(start.copy()))
    optimizer = torch.optim.Adam([vectors], lr=settings.fit_rate)
    done = 0
    while done < steps:
        for chosen in shuffled_batches(rows, batch, generator)[: steps - done]:
            optimizer.param_groups[0]["lr"] = settings.fit_rate * (1 - done / steps)
            partners = corpus.draw_partners(chosen, generator)
            left = functional.embedding_bag(corpus.glosses.take(chosen)[0], vectors, corpus.glosses.take(chosen)[1])
            right = functional.embedding_bag(
                corpus.partners.take(partners)[0], vectors, corpus.partners.take(partners)[1]
            )
            loss = contrastive_loss(left, right, settings.fit_temperature)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            done += 1
            report("fitting", done, steps)
    return vectors.detach().numpy()


def contrastive_loss(left: torch.Tensor, right: torch.Tensor, temperature: float) -> torch.Tensor:
    """Symmetric cross-entropy of cosines, each row's partner against all others of the batch; both are (batch, dim)."""
    cosines = functional.normalize(left, dim=1) @ functional.normalize(right, dim=1).T / temperature
    target = torch.arange(len(cosines))
    return (functional.cross_entropy(cosines, target) + functional.cross_entropy(cosines.T, target)) / 2


def _complete(vectors: Floats, seed: int) -> Floats:
    """Give tokens without a vector a short random one, so that no text has length 0; special ones but [UNK] stay 0."""
    lengths = np.linalg.norm(vectors, axis=1)
    missing = lengths < 1e-6
    noise = np.random.default_rng(seed).normal(size=vectors.shape).astype(np.float32)
    noise *= lengths[~missing].min() / np.linalg.norm(noise, axis=1, keepdims=True)
    special = np.isin(np.arange(len(vectors)), [i for i, token in enumerate(SPECIAL) if token != UNK])
    return np.where(special[:, None], 0, np.where(missing[:, None], noise, vectors)).astype(np.float32)


def _silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""
