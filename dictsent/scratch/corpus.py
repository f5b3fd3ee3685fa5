"""The glosses as token ids: definitions, what each is matched with, and documents for counting.

Before: vocabulary. After: vectors counts the documents; static and transformer draw batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from dictsent.records import Gloss
from dictsent.scratch.vectors import flatten
from dictsent.scratch.vocabulary import encode

Integers = NDArray[np.int64]


class TokenRows:
    """Many texts as one array of ids: rows of unequal length without padding."""

    def __init__(self, texts: Sequence[Sequence[int]]) -> None:
        ids, self.lengths = flatten(texts)
        self._ids = torch.from_numpy(ids.astype(np.int64))
        self._starts = torch.from_numpy(np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64))

    def __len__(self) -> int:
        return len(self.lengths)

    def take(self, rows: Integers) -> tuple[torch.Tensor, torch.Tensor]:
        """The rows' ids one after the other, (tokens,), and where each row begins, (rows,)."""
        chosen = torch.from_numpy(rows)
        starts = self._starts[chosen]
        lengths = self._starts[chosen + 1] - starts
        offsets = torch.cumsum(lengths, 0) - lengths
        places = torch.arange(int(lengths.sum())) + torch.repeat_interleave(starts - offsets, lengths)
        return self._ids[places], offsets

    def pad(self, rows: Integers, *, first: int, last: int, fill: int, longest: int) -> torch.Tensor:
        """The rows between two tokens, padded to the longest of them, (rows, tokens); rows are cut at `longest`."""
        ids, offsets = self.take(rows)
        ends = torch.cat([offsets[1:], torch.tensor([len(ids)])])
        width = min(int((ends - offsets).max()) + 2, longest)
        batch = torch.full((len(rows), width), fill)
        for row, (start, end) in enumerate(zip(offsets.tolist(), ends.tolist(), strict=True)):
            kept = min(end - start, longest - 2)
            batch[row, 0], batch[row, kept + 1] = first, last
            batch[row, 1 : kept + 1] = ids[start : start + kept]
        return batch


@dataclass(frozen=True, slots=True)
class Corpus:
    """The glosses' text as ids.

    Attributes:
        glosses: one row per definition.
        partners: one row per headword or example.
        owned: for each definition, the first of its partners' rows and the row after the last, (glosses + 1,).
        lines: one row per gloss as a dictionary prints it: a headword, then the definition.
        documents: headwords, definition and examples of each gloss in a row.
    """

    glosses: TokenRows
    partners: TokenRows
    owned: Integers
    lines: TokenRows
    documents: list[list[int]]

    def draw_partners(self, rows: Integers, generator: np.random.Generator) -> Integers:
        """A partner's row for each definition, drawn uniformly from its own."""
        first, count = self.owned[rows], self.owned[rows + 1] - self.owned[rows]
        return np.asarray(first + (generator.random(len(rows)) * count).astype(np.int64))


def read_corpus(glosses: Sequence[Gloss], tokenizer: Tokenizer) -> Corpus:
    """Cut the glosses' texts into ids; a gloss or partner of which nothing is left in the vocabulary is left out."""
    definitions = encode(tokenizer, [gloss.text for gloss in glosses])
    partners = [(*gloss.headwords, *gloss.examples) for gloss in glosses]
    encoded = iter(encode(tokenizer, [text for texts in partners for text in texts]))
    grouped = [[ids for ids in (next(encoded) for _ in texts) if ids] for texts in partners]
    kept = [(ids, group) for ids, group in zip(definitions, grouped, strict=True) if ids and group]
    return Corpus(
        glosses=TokenRows([ids for ids, _ in kept]),
        partners=TokenRows([ids for _, group in kept for ids in group]),
        owned=np.cumsum([0] + [len(group) for _, group in kept], dtype=np.int64),
        lines=TokenRows([[*group[0], *definition] for definition, group in kept]),
        documents=[[i for ids in (*group[:1], definition, *group[1:]) for i in ids] for definition, group in kept],
    )


def shuffled_batches(rows: int, batch: int, generator: np.random.Generator) -> list[Integers]:
    """One pass over the rows in random order, in batches; a last one that is not full is left out."""
    order = generator.permutation(rows)
    return [order[start : start + batch] for start in range(0, rows - batch + 1, batch)]


def length_batches(lengths: Integers, batch: int, generator: np.random.Generator) -> list[Integers]:
    """One pass over the rows in batches of like length, in random order."""
    noisy = lengths + generator.random(len(lengths)) * 2
    order = np.argsort(noisy, kind="stable")
    batches = [order[start : start + batch] for start in range(0, len(order) - batch + 1, batch)]
    return [batches[i] for i in generator.permutation(len(batches))]
