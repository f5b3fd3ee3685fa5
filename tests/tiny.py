"""Tiny tokenizers for tiny random models."""

from __future__ import annotations

from pathlib import Path

_TEXT = (
    "cat dog tree river mountain house city bread water stone bird fish king queen road ship horse field "
    "cloud rain animal that lives near the with a of in small large purrs barks grows flows old young "
    "white black red person who rules place where people live food made from flour liquid drink hard "
    "piece rock feathers wings swims sea way boat "
)
WORDS = _TEXT.split()


def word_tokenizer(folder: Path, vocabulary: list[str]) -> None:
    """A WordPiece tokenizer of whole words, saved."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece({w: i for i, w in enumerate(specials + vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    ).save_pretrained(folder)


def byte_tokenizer(folder: Path, text: list[str]) -> int:
    """A byte-level BPE tokenizer without prefix space, saved; its size."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaTokenizerFast

    trained = ByteLevelBPETokenizer()
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator(text, vocab_size=600, special_tokens=specials, show_progress=False)
    trained.save_model(str(folder))
    tokenizer = RobertaTokenizerFast(
        vocab=str(folder / "vocab.json"), merges=str(folder / "merges.txt"), model_max_length=36
    )
    tokenizer.save_pretrained(folder)
    return len(tokenizer)
