"""Headwords as DefSent's targets: those that are one token of an encoder's vocabulary, and the pieces of the others.

Before: a tokenizer and the pairs' headwords. After: dictsent.train takes the ids as labels.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from transformers import PreTrainedTokenizerBase

from dictsent.records import Pair

_WORD_START = "▁"
THIN = 0.2
"""A smaller share of the definitions than this is thin: DefSent+ would train on five times as many."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many headwords and definitions have a target, and of how many."""

    headwords: int
    of_headwords: int
    definitions: int
    of_definitions: int

    @property
    def share(self) -> float:
        """Of the definitions."""
        return self.definitions / self.of_definitions if self.of_definitions else 0.0

    def __str__(self) -> str:
        return (
            f"{self.headwords:,} of {self.of_headwords:,} headwords are one token of this encoder,"
            f" {self.definitions:,} of {self.of_definitions:,} definitions ({100 * self.share:.1f} %)"
        )

    @property
    def warning(self) -> str:
        """What to do where it is thin, else nothing."""
        if self.share >= THIN:
            return ""
        return (
            f"only {100 * self.share:.1f} % of the definitions take part; --method defsent-plus takes all of them,"
            " --oov mean gives words of several tokens a target"
        )


def coverage(targets: dict[str, int], pairs: Sequence[Pair]) -> Coverage:
    """Of the pairs, those whose headword is among the targets."""
    return Coverage(
        headwords=len({p.headword for p in pairs if p.headword in targets}),
        of_headwords=len({p.headword for p in pairs}),
        definitions=sum(p.headword in targets for p in pairs),
        of_definitions=len(pairs),
    )


def pieces(tokenizer: PreTrainedTokenizerBase, headwords: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """The ids of the tokens of each headword in its word-initial form (DefSent, footnote 1).

    Headwords with an unknown or special token among them, or none at all, are left out. A SentencePiece word-start
    mark that stands as a token of its own is no piece.
    """
    words = list(dict.fromkeys(headwords))
    special = set(tokenizer.all_special_ids)
    mark = tokenizer.get_vocab().get(_WORD_START)
    found: dict[str, tuple[int, ...]] = {}
    for word, ids in zip(words, _encode(tokenizer, [f" {word}" for word in words]), strict=True):
        kept = tuple(token for token in ids if token != mark) or tuple(ids)
        if kept and not special.intersection(kept):
            found[word] = kept
    return found


def single_tokens(tokenizer: PreTrainedTokenizerBase, headwords: Iterable[str]) -> dict[str, int]:
    """The id of each headword that is one token (DefSent, section 2.1; METHODS, "Spelling of headwords").

    Forms are tried in this order: as written behind a space (byte-level BPE marks the beginning of a word so), as
    written, lower-cased, capitalised, NFKC. Unknown and special tokens never count; a SentencePiece word-start mark
    that stands as a token of its own is not counted.
    """
    found: dict[str, int] = {}
    left = list(dict.fromkeys(headwords))
    for form in _FORMS:
        ids = _encode(tokenizer, [form(word) for word in left])
        for word, sequence in zip(left, ids, strict=True):
            token = _only_token(tokenizer, sequence)
            if token is not None:
                found[word] = token
        left = [word for word in left if word not in found]
        if not left:
            break
    return found


_FORMS: tuple[Callable[[str], str], ...] = (
    lambda word: f" {word}",
    lambda word: word,
    str.lower,
    str.capitalize,
    lambda word: unicodedata.normalize("NFKC", word),
)


def _encode(tokenizer: PreTrainedTokenizerBase, words: list[str]) -> list[list[int]]:
    if not words:
        return []
    encoded = tokenizer(words, add_special_tokens=False, return_attention_mask=False, return_token_type_ids=False)
    return list(encoded["input_ids"])


def _only_token(tokenizer: PreTrainedTokenizerBase, ids: list[int]) -> int | None:
    if len(ids) == 2 and tokenizer.convert_ids_to_tokens(ids[0]) == _WORD_START:
        ids = ids[1:]
    if len(ids) != 1 or ids[0] in tokenizer.all_special_ids:
        return None
    token = tokenizer.convert_ids_to_tokens(ids[0])
    return None if str(token).startswith("##") else ids[0]
