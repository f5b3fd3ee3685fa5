"""A tokenizer cut from the dictionary's own text, for scripts with and without spaces.

Before: the glosses of a store. After: vectors counts its pieces; static and transformer save it with their folders.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from dictsent.errors import EncoderError
from dictsent.records import Gloss
from dictsent.scratch.settings import MINIMUM_GLOSSES, ScratchSettings

PAD, UNK, CLS, SEP, MASK = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
SPECIAL = (PAD, UNK, CLS, SEP, MASK)
"""The special tokens; their ids are 0 to 4."""

LONGEST_TEXT = 512
"""Tokens that an encoder takes at most, [CLS] and [SEP] included."""

_ALPHABET = 4000
_LONGEST_RUN = 1000
_SPACELESS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x0F00, 0x109F),  # Tibetan, Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x3400, 0x9FFF),  # Han
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
)


def texts(glosses: Sequence[Gloss]) -> Iterator[str]:
    """Every text of the glosses: definitions, headwords, examples."""
    for gloss in glosses:
        yield gloss.text
        yield from gloss.headwords
        yield from gloss.examples


def has_spaces(glosses: Sequence[Gloss]) -> bool:
    """Whether the definitions are in a script that puts spaces between words (fewer than 3 letters in 10 are not)."""
    letters = spaceless = 0
    for gloss in glosses[:: max(1, len(glosses) // 2000)]:
        for character in filter(str.isalpha, gloss.text):
            letters += 1
            spaceless += any(low <= ord(character) <= high for low, high in _SPACELESS)
    return spaceless < 0.3 * letters


def build_tokenizer(glosses: Sequence[Gloss], settings: ScratchSettings) -> Tokenizer:
    """Cut a vocabulary from the glosses' text by byte-pair encoding; text is then cut greedily into the longest pieces.

    Longest pieces rather than the learned merges, because pieces that are words come out whole more often (measured on
    English: +1.2 on STS-B dev). Pieces at the start of a word carry a mark where the script has spaces; elsewhere a
    word is the same piece wherever it stands.

    Raises:
        EncoderError: too little text.
    """
    if len(glosses) < MINIMUM_GLOSSES:
        raise EncoderError(
            f"a scratch encoder needs at least {MINIMUM_GLOSSES} definitions to learn from; there are {len(glosses)}",
            hint="ingest more dictionaries, or name a pretrained encoder with --encoder",
        )
    normalizer = _normalizer(lowercase=settings.lowercase)
    marked = has_spaces(glosses)
    trained = Tokenizer(models.BPE(unk_token=UNK))
    trained.normalizer = normalizer
    trained.pre_tokenizer = _pre_tokenizer(marked=marked)
    trainer = trainers.BpeTrainer(
        vocab_size=settings.vocabulary,
        min_frequency=2,
        special_tokens=list(SPECIAL),
        limit_alphabet=min(_ALPHABET, settings.vocabulary // 2),
        show_progress=False,
    )
    trained.train_from_iterator(texts(glosses), trainer)
    return _longest_match(trained, marked=marked)


def _normalizer(*, lowercase: bool) -> normalizers.Normalizer:
    fold = [normalizers.Lowercase()] if lowercase else []
    return normalizers.Sequence(
        [normalizers.NFKC(), *fold, normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    )


def _pre_tokenizer(*, marked: bool) -> pre_tokenizers.PreTokenizer:
    parts = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("isolated")]
    return pre_tokenizers.Sequence([*parts, pre_tokenizers.Metaspace(prepend_scheme="always")] if marked else parts)


def _longest_match(trained: Tokenizer, *, marked: bool) -> Tokenizer:
    vocabulary = trained.get_vocab()
    tokenizer = Tokenizer(
        models.WordPiece(
            vocab=vocabulary, unk_token=UNK, continuing_subword_prefix="", max_input_chars_per_word=_LONGEST_RUN
        )
    )
    tokenizer.normalizer = trained.normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([_pre_tokenizer(marked=marked), _unseen_alone(vocabulary)])
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always") if marked else decoders.Fuse()
    # [MASK] takes in the space before it, so that the text around it is cut as it would be without it.
    tokenizer.add_special_tokens([PAD, UNK, CLS, SEP, AddedToken(MASK, lstrip=True, special=True, normalized=False)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{CLS} $A {SEP}",
        pair=f"{CLS} $A {SEP} $B:1 {SEP}:1",
        special_tokens=[(CLS, vocabulary[CLS]), (SEP, vocabulary[SEP])],
    )
    return tokenizer


def _unseen_alone(vocabulary: Iterable[str]) -> pre_tokenizers.PreTokenizer:
    """Cut out characters the text never had: without this, one of them makes its whole run of text unknown."""
    letters = sorted({ord(piece) for piece in vocabulary if len(piece) == 1})
    known = "".join(rf"\x{{{letter:x}}}" for letter in letters)
    return pre_tokenizers.Split(Regex(f"[^{known}]"), "isolated")


def wrap_tokenizer(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    """The same tokenizer as transformers loads and saves it."""
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=LONGEST_TEXT,
        pad_token=PAD,
        unk_token=UNK,
        cls_token=CLS,
        sep_token=SEP,
        mask_token=AddedToken(MASK, lstrip=True, special=True, normalized=False),
    )


def encode(tokenizer: Tokenizer, sequence: Sequence[str]) -> list[list[int]]:
    """The pieces' ids of each text, without special tokens."""
    return [encoding.ids for encoding in tokenizer.encode_batch(list(sequence), add_special_tokens=False)]
