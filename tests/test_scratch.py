"""Scratch encoders: what is written loads everywhere with equal vectors, has learnt, and shrinks with the text."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

from dictsent.encoder import quiet
from dictsent.errors import EncoderError
from dictsent.records import Gloss
from dictsent.scratch import ScratchSettings, build_encoder, build_static
from dictsent.scratch.corpus import length_batches, read_corpus
from dictsent.scratch.static import fit_text
from dictsent.scratch.transformer import initialise, lay_out
from dictsent.scratch.vectors import cooccurrences, frequency_weights, ppmi
from dictsent.scratch.vocabulary import build_tokenizer, encode, has_spaces

SMALL = ScratchSettings(vocabulary=1500, width=96, fit_steps=80, masked_steps=100, masked_batch=32, seed=3)


def read_glosses() -> list[Gloss]:
    path = Path(__file__).parent / "scratch" / "wordnet-glosses.tsv"
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return [
        Gloss(text, tuple(words.split("|")), tuple(filter(None, quoted.split("|")))) for words, text, quoted in rows
    ]


def japanese_glosses() -> list[Gloss]:
    animals = ("犬", "猫", "馬", "牛", "鳥", "魚", "ライオン", "うさぎ")
    places = ("山", "海", "川", "森", "アフリカ", "日本", "北極")
    deeds = ("住んでいる動物", "見られる大きな生き物", "走り回る小さな動物", "飼われる家畜")
    return [
        Gloss(f"{place}に{deed}で、{animal}に似たもの。", (animal, f"{place}の{animal}"))
        for animal, place, deed in itertools.product(animals, places, deeds)
    ]


@pytest.fixture(scope="module")
def glosses() -> list[Gloss]:
    return read_glosses()


@pytest.fixture(scope="module")
def encoder_folder(glosses: list[Gloss], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    with quiet():
        build_encoder(glosses, folder, SMALL)
    return folder


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def reciprocal_rank(model: SentenceTransformer, glosses: list[Gloss]) -> float:
    """Mean reciprocal rank of a gloss's own first headword among those of all glosses."""
    definitions = unit(model.encode([gloss.text for gloss in glosses]))
    headwords = unit(model.encode([gloss.headwords[0] for gloss in glosses]))
    cosines = definitions @ headwords.T
    return float(np.mean(1 / (1 + (cosines > np.diag(cosines)[:, None]).sum(axis=1))))


def test_static_folder(glosses: list[Gloss], tmp_path: Path) -> None:
    stages: list[tuple[str, int, int]] = []
    before = torch.random.get_rng_state()
    build_static(glosses, tmp_path / "a", SMALL, progress=lambda *step: stages.append(step))
    build_static(glosses, tmp_path / "b", SMALL)
    assert torch.equal(before, torch.random.get_rng_state())
    for name in ("model.safetensors", "tokenizer.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert [stage for stage, _ in itertools.groupby(stages, key=lambda step: step[0])] == [
        "vocabulary",
        "co-occurrence",
        "fitting",
    ]
    assert stages[-1][1] == stages[-1][2] > 0
    model = SentenceTransformer(str(tmp_path / "a"), device="cpu")
    assert [type(module).__name__ for module in model] == ["StaticEmbedding"]
    vectors = model.encode(["a small bird", "", "ლ unknown ლ"])
    assert vectors.shape == (3, SMALL.width)
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors[[0, 2]], axis=1).min() > 0
    # Chance is sum(1/rank)/900 = 0.008.
    assert reciprocal_rank(model, glosses) > 0.3


def test_one_folder_for_every_loader(encoder_folder: Path) -> None:
    texts = ["a small bird of the forest", "a genus of fishes", "bird"]
    with quiet():
        tokenizer = AutoTokenizer.from_pretrained(encoder_folder)
        plain = AutoModel.from_pretrained(encoder_folder).eval()
        headed = AutoModelForMaskedLM.from_pretrained(encoder_folder).eval()
        sentence = SentenceTransformer(str(encoder_folder), device="cpu")
    assert headed.config.architectures == ["BertForMaskedLM"]
    assert tokenizer.convert_ids_to_tokens([0, 1, 2, 3, 4]) == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    batch = tokenizer(texts, padding=True, return_tensors="pt", return_token_type_ids=False)
    assert batch["input_ids"][:, 0].tolist() == [2, 2, 2]
    with torch.no_grad():
        states = plain(**batch).last_hidden_state
        assert torch.equal(states, headed.bert(**batch).last_hidden_state)
    weights = dict(zip(sentence[1].vocab, sentence[1].emb_layer.weight[:, 0].tolist(), strict=True))
    assert [weights[token] for token in ("[PAD]", "[CLS]", "[SEP]", "[MASK]")] == [0, 0, 0, 0]
    rows = [[weights[token] for token in tokenizer.convert_ids_to_tokens(ids)] for ids in batch["input_ids"]]
    share = torch.tensor(rows)[..., None]
    torch.testing.assert_close(
        torch.from_numpy(sentence.encode(texts)), (states * share).sum(1) / share.sum(1), rtol=1e-4, atol=1e-4
    )


def test_encoder_is_reproducible(glosses: list[Gloss], encoder_folder: Path, tmp_path: Path) -> None:
    torch.manual_seed(99)
    with quiet():
        build_encoder(glosses, tmp_path, SMALL)
    assert (tmp_path / "model.safetensors").read_bytes() == (encoder_folder / "model.safetensors").read_bytes()
    assert (tmp_path / "tokenizer.json").read_bytes() == (encoder_folder / "tokenizer.json").read_bytes()


def test_head_fills_masks(glosses: list[Gloss], encoder_folder: Path) -> None:
    """Far above chance, which is the mean of 1/rank over the vocabulary."""
    with quiet():
        tokenizer = AutoTokenizer.from_pretrained(encoder_folder)
        model = AutoModelForMaskedLM.from_pretrained(encoder_folder).eval()
    generator = np.random.default_rng(0)
    batch = tokenizer([gloss.text for gloss in glosses], padding=True, return_tensors="pt", return_token_type_ids=False)
    ids = batch["input_ids"].clone()
    lengths = batch["attention_mask"].sum(1).numpy() - 2
    places = torch.from_numpy(1 + (generator.random(len(ids)) * lengths).astype(np.int64))
    rows = torch.arange(len(ids))
    wanted = ids[rows, places]
    batch["input_ids"][rows, places] = tokenizer.mask_token_id
    with torch.no_grad():
        scores = model(**batch).logits[rows, places]
    found = (1 / (1 + (scores > scores[rows, wanted][:, None]).sum(1))).mean()
    chance = (1 / torch.arange(1, len(tokenizer) + 1)).mean()
    assert found > 10 * chance


def test_layers_begin_as_the_weighted_mean(glosses: list[Gloss]) -> None:
    """[CLS], the plain mean and the weighted mean all point where the fitted vectors' mean points."""
    fitted = fit_text(glosses, SMALL)
    layout = lay_out(fitted.vectors, fitted.counts)
    assert np.abs(layout.vectors.sum(axis=1)).max() < 1e-4
    model = initialise(layout, fitted.counts, replace(SMALL, context=3.0)).eval()
    ids = fitted.corpus.glosses.pad(np.arange(100), first=2, last=3, fill=0, longest=64)
    with torch.no_grad():
        states = model.bert(input_ids=ids, attention_mask=(ids != 0).long()).last_hidden_state
    real = ((ids >= 5).float())[..., None]
    weights = torch.from_numpy(layout.weights)[ids][..., None]
    static = (torch.from_numpy(fitted.vectors)[ids] * real).sum(1)
    wanted = unit(static.numpy()) @ unit(static.numpy()).T
    above = np.triu_indices(len(wanted), 1)
    pooled = {"cls": states[:, 0], "mean": (states * real).sum(1), "weighted": (states * weights).sum(1)}
    for pooling, least in (("cls", 0.6), ("mean", 0.95), ("weighted", 0.98)):
        vectors = unit(pooled[pooling].numpy())
        assert np.corrcoef((vectors @ vectors.T)[above], wanted[above])[0, 1] > least, pooling


def test_script_without_spaces() -> None:
    glosses = japanese_glosses()
    assert not has_spaces(glosses)
    tokenizer = build_tokenizer(glosses, ScratchSettings(vocabulary=300))
    for word in ("犬", "ライオン", "うさぎ", "アフリカ"):
        (whole,) = encode(tokenizer, [word])
        assert len(whole) == 1
        assert whole[0] in encode(tokenizer, [f"、{word}、"])[0]
    assert tokenizer.decode(encode(tokenizer, ["森に住んでいる動物"])[0]) == "森に住んでいる動物"


def test_japanese_encoder(tmp_path: Path) -> None:
    settings = replace(SMALL, vocabulary=400, fit_steps=20, masked_steps=10)
    with quiet():
        build_encoder(japanese_glosses(), tmp_path, settings)
        vectors = SentenceTransformer(str(tmp_path), device="cpu").encode(["犬に似たもの", "森のうさぎ"])
    assert vectors.shape[0] == 2
    assert vectors.shape[1] < SMALL.width
    assert np.isfinite(vectors).all()


def test_case() -> None:
    glosses = [Gloss(f"Die Arbeit Nummer {n % 7}", ("Arbeit", "arbeiten")) for n in range(200)]
    cased = build_tokenizer(glosses, ScratchSettings(lowercase=False))
    folded = build_tokenizer(glosses, ScratchSettings())
    assert len({tuple(ids) for ids in encode(cased, ["Arbeit", "arbeit"])}) == 2
    assert len({tuple(ids) for ids in encode(folded, ["Arbeit", "arbeit", "ＡＲＢＥＩＴ"])}) == 1


def test_punctuation_and_spaces_leave_words_alone(glosses: list[Gloss]) -> None:
    tokenizer = build_tokenizer(glosses, SMALL)
    plain, tight, loose = encode(tokenizer, ["( bird ) , tree", "(bird), tree", "  ( bird )\t,\u00a0tree "])
    assert plain == tight == loose
    assert set(encode(tokenizer, ["bird"])[0]) <= set(plain)


def test_small_dictionaries_shrink(glosses: list[Gloss], tmp_path: Path) -> None:
    build_static(glosses[:300], tmp_path, ScratchSettings())
    width = SentenceTransformer(str(tmp_path), device="cpu").get_embedding_dimension()
    assert width % 32 == 0
    assert 32 <= width < 256


@pytest.mark.parametrize(
    ("count", "text", "message"),
    [
        (40, "a bird number {}", "needs at least 100 definitions to learn from; there are 40"),
        (150, "bird", "hold only 0 different words"),
        (0, "", "there are 0"),
    ],
)
def test_too_little_text(count: int, text: str, message: str, tmp_path: Path) -> None:
    glosses = [Gloss(text.format(n), ("bird",)) for n in range(count)]
    with pytest.raises(EncoderError, match=message):
        build_encoder(glosses, tmp_path, ScratchSettings())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", [{"width": 100}, {"heads": 5}, {"layers": 0}, {"fit_batch": 0}, {"vocabulary": -1}])
def test_settings_that_do_not_fit(wrong: dict[str, int]) -> None:
    with pytest.raises(EncoderError):
        ScratchSettings(**wrong)


def test_information_against_the_definition() -> None:
    """PPMI with smoothed contexts, cell by cell from the formula."""
    documents = [[5, 6, 7, 5], [6, 8], [7, 7, 9, 5, 6]]
    counts = np.zeros((10, 10))
    for document in documents:
        for (i, left), (j, right) in itertools.combinations(enumerate(document), 2):
            if j - i <= 2:
                counts[left, right] += 1 / (j - i)
                counts[right, left] += 1 / (j - i)
    sparse = cooccurrences(documents, 10, 2)
    np.testing.assert_allclose(sparse.toarray(), counts, rtol=1e-6)
    contexts = counts.sum(axis=1) ** 0.75
    for left, right in itertools.product(range(10), repeat=2):
        wanted = 0.0
        if counts[left, right]:
            chance = contexts[right] / contexts.sum()
            wanted = max(0.0, math.log(counts[left, right] / counts[left].sum() / chance))
        assert ppmi(sparse)[left, right] == pytest.approx(wanted, abs=1e-5)


def test_special_tokens_in_the_text_do_not_count() -> None:
    assert cooccurrences([[5, 4, 6], [4, 4]], 8, 1).nnz == 0


def test_frequency_weights() -> None:
    weights = frequency_weights(np.array([0, 1, 99]), 0.01)
    np.testing.assert_allclose(weights, [1, 0.01 / 0.02, 0.01 / 1.0], rtol=1e-6)


def test_rows_and_batches(glosses: list[Gloss]) -> None:
    tokenizer = build_tokenizer(glosses, SMALL)
    corpus = read_corpus(glosses[:50], tokenizer)
    chosen = np.array([7, 0, 7, 31])
    ids, offsets = corpus.glosses.take(chosen)
    expected = encode(tokenizer, [glosses[i].text for i in chosen])
    assert [part.tolist() for part in torch.tensor_split(ids, offsets[1:])] == expected
    padded = corpus.glosses.pad(chosen, first=2, last=3, fill=0, longest=6)
    for row, text in zip(padded.tolist(), expected, strict=True):
        assert row[: min(len(text), 4) + 2] == [2, *text[:4], 3]
        assert not any(row[min(len(text), 4) + 2 :])
    generator = np.random.default_rng(0)
    batches = length_batches(corpus.glosses.lengths, 8, generator)
    assert len(np.unique(np.concatenate(batches))) == 48
    for row in range(50):
        partner = int(corpus.draw_partners(np.array([row]), generator)[0])
        texts = encode(tokenizer, [*glosses[row].headwords, *glosses[row].examples])
        assert corpus.partners.take(np.array([partner]))[0].tolist() in texts
