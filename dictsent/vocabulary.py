"""Headwords that are one token of an encoder's vocabulary: DefSent's targets.

Before: a tokenizer and the pairs' headwords. After: dictsent.train takes the ids as labels.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable

from transformers import PreTrainedTokenizerBase

_WORD_START = "▁"


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
