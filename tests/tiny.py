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


# Sentences of a few patterns over the words: enough for a head that fills masks better than chance.
SENTENCES = [
    text
    for i, word in enumerate(WORDS)
    for text in (
        f"a {WORDS[i - 1]} that lives near the {WORDS[i - 2]}",
        f"a {WORDS[i - 3]} made from {WORDS[i - 5]}",
        f"the place where the {word} grows",
    )
]


def train_masked(folder: Path, *, steps: int = 80) -> None:
    """A short masked-LM training in place: DefSent refuses a head that knows nothing."""
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForMaskedLM.from_pretrained(folder).train()
    generator = torch.Generator().manual_seed(0)
    batch = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    real = (batch["attention_mask"] == 1) & (batch["input_ids"] > 4)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        hidden = real & (torch.rand(real.shape, generator=generator) < 0.25)
        ids = batch["input_ids"].masked_fill(hidden, tokenizer.mask_token_id)
        logits = model(input_ids=ids, attention_mask=batch["attention_mask"]).logits
        loss = torch.nn.functional.cross_entropy(logits[hidden], batch["input_ids"][hidden])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.save_pretrained(folder)
