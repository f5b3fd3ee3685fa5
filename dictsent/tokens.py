"""Texts as token ids: two flat arrays in place of a list for each text, kept on disk by their content.

Before: a tokenizer and texts. After: dictsent.encoder pads batches of them, dictsent.train draws batches from them.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from dictsent.errors import TrainingError
from dictsent.folders import appearing, prune

_PART = 20_000
"""Texts per call of the tokenizer, which works on all of them at once, by its own threads."""
_WASTE = 1.25
LEAST = 256
"""Tokens below which another part of a batch costs more than the padding it saves."""
KEPT = 8
"""Cached texts that stay on disk; the ones used longest ago go."""


@dataclass(frozen=True, slots=True)
class Tokens(Sequence[NDArray[np.int32]]):
    """The ids of each text. `ids` is all of them one after another, text i ends at `ends[i]`."""

    ids: NDArray[np.int32]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, row: int) -> NDArray[np.int32]: ...
    @overload
    def __getitem__(self, row: slice) -> Tokens: ...
    def __getitem__(self, row: int | slice) -> NDArray[np.int32] | Tokens:
        if isinstance(row, slice):
            return Tokens.of([self[i] for i in range(*row.indices(len(self)))])
        end = int(self.ends[row])
        start = int(self.ends[row - 1]) if row % len(self) else 0
        return self.ids[start:end]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each text."""
        return np.diff(self.ends, prepend=0)

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int] | NDArray[np.int32]]) -> Tokens:
        """The tokens of a few texts."""
        ends = np.cumsum([len(ids) for ids in sequences], dtype=np.int64)
        parts = [np.asarray(ids, dtype=np.int32) for ids in sequences]
        return cls(np.concatenate(parts) if parts else np.zeros(0, np.int32), ends)


def tokenise(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], *, longest: int) -> Tokens:
    """Ids with the special ones, cut at `longest`. Nothing but the two arrays stays in memory."""
    ids = array("i")
    ends = _tokenised(tokenizer, texts, longest, ids.extend)
    return Tokens(np.frombuffer(ids, np.int32), ends)


def _tokenised(
    tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], longest: int, add: Callable[[array[int]], None]
) -> NDArray[np.int64]:
    """Hand the ids of each part of the texts to `add`; returns where each text's end."""
    ends, done = array("q"), 0
    for start in range(0, len(texts), _PART):
        part = array("i")
        for sequence in encode(tokenizer, texts[start : start + _PART], longest=longest):
            part.extend(sequence)
            ends.append(done + len(part))
        done += len(part)
        add(part)
    return np.frombuffer(ends, np.int64)


def encode(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], *, longest: int) -> list[list[int]]:
    """Ids with the special ones, cut at `longest`, as lists."""
    if not texts:
        return []
    encoded = tokenizer(
        list(texts),
        add_special_tokens=True,
        truncation=True,
        max_length=longest,
        padding=False,
        return_attention_mask=False,
        return_token_type_ids=False,
    )
    return list(encoded["input_ids"])


def cached(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], folder: Path, *, longest: int) -> Tokens:
    """`tokenise`, once for the same tokenizer and texts: the arrays are kept below `folder` and read from there.

    What is read is mapped into memory, so it is not held, and processes of one machine share it.
    """
    place = folder / f"tokens-{_digest(tokenizer, texts, longest)}"
    if not place.is_dir():
        try:
            with appearing(place) as partial:
                with (partial / "ids").open("wb") as file:
                    ends = _tokenised(tokenizer, texts, longest, lambda part: part.tofile(file))
                np.save(partial / "ends.npy", ends)
        except TrainingError:
            # Another process was quicker, or there is no room.
            if not place.is_dir():
                return tokenise(tokenizer, texts, longest=longest)
        prune(folder, "tokens-*", kept=KEPT)
    try:
        place.touch()
        ends = np.load(place / "ends.npy", mmap_mode="r")
        held = len(ends) and ends[-1]
        ids = np.memmap(place / "ids", np.int32, "r") if held else np.zeros(0, np.int32)
    except FileNotFoundError:  # another process has pruned it
        return tokenise(tokenizer, texts, longest=longest)
    return Tokens(ids, ends)


def _digest(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], longest: int) -> str:
    digest = blake2b(tokenizer_state(tokenizer).encode(), digest_size=12)
    digest.update(f"{longest}\n".encode())
    for text in texts:
        digest.update(text.encode(errors="surrogatepass"))
        digest.update(b"\x00")
    return digest.hexdigest()


def tokenizer_state(tokenizer: PreTrainedTokenizerBase) -> str:
    """All that decides how a tokenizer cuts texts, as one text."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None and hasattr(backend, "to_str"):
        state = json.loads(backend.to_str())
        # What the last call asked for, which is not the tokenizer's own.
        state.pop("truncation", None), state.pop("padding", None)
        return json.dumps(state, sort_keys=True)
    words = sorted(tokenizer.get_vocab().items())
    return json.dumps([type(tokenizer).__name__, words, repr(sorted(tokenizer.init_kwargs.items(), key=str))])


def batches_by_length(lengths: Sequence[int] | NDArray[np.int64], *, tokens: int) -> Iterator[list[int]]:
    """Indexes in batches of like length, longest first, each of at most `tokens` padded tokens."""
    sizes = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable").tolist()
    start = 0
    while start < len(order):
        size = max(1, tokens // max(1, int(sizes[order[start]])))
        yield order[start : start + size]
        start += size


def micro_batches(lengths: Sequence[int], *, least: int = LEAST) -> Iterator[list[int]]:
    """One batch cut by length so that padding stays under a quarter: the same sum of losses, less arithmetic.

    A part has at least `least` tokens, but for the last: each part passes over all weights and their gradients.
    """
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    part: list[int] = []
    real = 0
    for index in order:
        if real >= least and (len(part) + 1) * lengths[index] > _WASTE * (real + lengths[index]):
            yield part
            part, real = [], 0
        part.append(index)
        real += lengths[index]
    if part:
        yield part
