"""The two objectives, PST and the model folder, against slow and obvious formulations."""

from __future__ import annotations

import copy
import dataclasses
import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import FastICA
from torch.nn import functional as F
from transformers import AutoModel, AutoModelForMaskedLM

from dictsent import model as model_module
from dictsent.encoder import Encoder
from dictsent.entryspace import build, fit_isotropy
from dictsent.errors import HeadError, PairsError, TrainingError
from dictsent.folders import appearing
from dictsent.heads import make_pooler
from dictsent.model import Model
from dictsent.objective import EntryLoss, HeadLoss, Objective, frozen_cross_entropy
from dictsent.pairs import Pairs
from dictsent.records import Pair
from dictsent.settings import TrainSettings, defaults
from dictsent.train import Hooks, fresh_copy, train, train_step
from dictsent.train.batches import Collator
from dictsent.train.quick import quick

MEANINGS = [
    ("cat", "a small animal that purrs"),
    ("cat", "an animal that lives in a house"),
    ("dog", "an animal that barks"),
    ("dog", "a large animal that lives with people"),
    ("river", "water that flows in a place"),
    ("river", "flows near the city"),
    ("king", "a person who rules"),
    ("queen", "a person who rules"),
    ("bread", "food made from flour"),
    ("stone", "a hard piece of rock"),
]
TEXTS = [text for _, text in MEANINGS]


def pairs_of(meanings: list[tuple[str, str]], *, dev: tuple[str, ...] = (), test: tuple[str, ...] = ()) -> Pairs:
    ids = {word: i for i, word in enumerate(dict.fromkeys(word for word, _ in meanings))}
    parts: dict[str, list[Pair]] = {"train": [], "dev": [], "test": []}
    for word, text in meanings:
        split = "dev" if word in dev else "test" if word in test else "train"
        parts[split].append(Pair(ids[word], word, text, split))
    return Pairs(tuple(parts["train"]), tuple(parts["dev"]), tuple(parts["test"]))


MANY = pairs_of(
    MEANINGS * 1 + [(w, f"{t} near the road") for w, t in MEANINGS] + [(w, f"old {t}") for w, t in MEANINGS]
)


def settings_for(method: str, **more: object) -> TrainSettings:
    base = {"pooling": "mean", "learning_rates": (1e-3,), **defaults(method)}
    return TrainSettings(method=method, **{**base, **more})


@given(
    batch=st.integers(1, 5),
    rows=st.integers(2, 60),
    chunk=st.integers(1, 20),
    seed=st.integers(0, 99),
    scale=st.floats(0.1, 30),
)
@settings(max_examples=40, deadline=None)
def test_chunked_softmax_equals_the_plain_one(batch: int, rows: int, chunk: int, seed: int, scale: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(batch, 7, generator=generator, dtype=torch.float64).mul(scale).requires_grad_()
    matrix = torch.randn(rows, 7, generator=generator, dtype=torch.float64)
    labels = torch.randint(rows, (batch,), generator=generator)
    plain = F.cross_entropy(vectors @ matrix.T, labels)
    (expected,) = torch.autograd.grad(plain, vectors)
    chunked = frozen_cross_entropy(vectors, matrix, labels, chunk=chunk)
    (got,) = torch.autograd.grad(chunked, vectors)
    torch.testing.assert_close(chunked, plain, atol=1e-9, rtol=1e-9)
    torch.testing.assert_close(got, expected, atol=1e-9, rtol=1e-9)


def slow_vector(model: torch.nn.Module, encoder: Encoder, text: str, pooling: str) -> torch.Tensor:
    ids = torch.tensor([encoder.tokenizer(text)["input_ids"]])
    states = model(input_ids=ids).last_hidden_state[0]
    return {"cls": states[0], "mean": states.mean(0), "max": states.amax(0)}[pooling]


def backward(encoder: Encoder, loss: HeadLoss | EntryLoss, labels: list[int], *, packed: bool) -> torch.Tensor:
    """The loss of TEXTS in training without dropout, its gradients left in the parameters."""
    rows = [(ids, label, 1.0) for ids, label in zip(encoder.tokenise(TEXTS), labels, strict=True)]
    batch = Collator(encoder, packed=packed)(rows)
    objective = Objective(encoder, loss).train()
    for module in objective.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    words = encoder.backbone.get_input_embeddings()
    with quick(objective, words, encoder.device), encoder.packing() if packed else nullcontext():
        found: torch.Tensor = objective(**batch)["loss"]
        found.backward()
    return found


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("family", ["tiny_bert", "tiny_roberta"])
@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_defsent_loss_and_gradients(family: str, pooling: str, packed: bool, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(family)
    encoder = fresh_copy(Encoder.load(folder), pooling)
    labels = [5 + i for i in range(len(TEXTS))]
    got = backward(encoder, HeadLoss(encoder.head()), labels, packed=packed)

    whole = AutoModelForMaskedLM.from_pretrained(folder).eval()
    head = whole.cls if family == "tiny_bert" else whole.lm_head
    losses = [
        F.cross_entropy(
            head(slow_vector(whole.base_model, encoder, text, pooling)[None, None]).view(1, -1), torch.tensor([label])
        )
        for text, label in zip(TEXTS, labels, strict=True)
    ]
    torch.stack(losses).mean().backward()
    torch.testing.assert_close(got, torch.stack(losses).mean(), atol=1e-5, rtol=1e-5)
    for (name, ours), theirs in zip(encoder.backbone.named_parameters(), whole.base_model.parameters(), strict=True):
        if theirs.grad is not None and "word_embeddings" not in name:
            torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-5, rtol=1e-4, msg=name)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("family", ["tiny_bert", "tiny_roberta"])
@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("entries", ["cls", "mean"])
def test_defsent_plus_loss_and_gradients(
    family: str, pooling: str, entries: str, packed: bool, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(family)
    builder = Encoder.load(folder, pooling=entries)
    pairs = pairs_of(MEANINGS)
    space = build(pairs.train, embed=builder.embed)
    pooler, _ = make_pooler("auto", dim=24, masked_lm=builder.masked_lm, native=None)
    encoder = fresh_copy(builder, pooling)
    labels = space.rows([p.entry for p in pairs.train]).tolist()
    got = backward(encoder, EntryLoss(pooler, space.matrix), labels, packed=packed)

    plain = AutoModel.from_pretrained(folder).eval()
    words = list(dict.fromkeys(word for word, _ in MEANINGS))
    with torch.no_grad():
        rows = [
            torch.stack([slow_vector(plain, builder, t, entries) for w, t in MEANINGS if w == word]).mean(0)
            for word in words
        ]
    matrix = torch.stack(rows)
    torch.testing.assert_close(space.matrix, matrix, atol=1e-5, rtol=1e-5)
    slow_pooler = copy.deepcopy(pooler)
    slow_pooler.zero_grad()
    losses = [
        F.cross_entropy(
            (matrix @ slow_pooler(slow_vector(plain, encoder, t, pooling)))[None], torch.tensor([words.index(w)])
        )
        for w, t in MEANINGS
    ]
    torch.stack(losses).mean().backward()
    torch.testing.assert_close(got, torch.stack(losses).mean(), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(pooler.dense.weight.grad, slow_pooler.dense.weight.grad, atol=1e-5, rtol=1e-4)
    theirs = dict(plain.named_parameters())
    for name, ours in encoder.backbone.named_parameters():
        if theirs[name].grad is not None:
            torch.testing.assert_close(ours.grad, theirs[name].grad, atol=1e-5, rtol=1e-4, msg=name)


def test_held_out_rows_are_built_without_the_queried_definition(tiny_bert: Path) -> None:
    encoder = Encoder.load(tiny_bert)
    pairs = pairs_of(MEANINGS, dev=("cat", "bread"))
    space = build(pairs.all(), embed=encoder.embed, held_out=pairs.dev)
    assert [q.headword for q in space.queries] == ["cat", "cat"]
    assert space.circular == {"dev": 1}
    other = encoder.encode([MEANINGS[1][1]])[0]
    np.testing.assert_allclose(space.own_rows[0].numpy(), other, atol=1e-5)


@pytest.mark.parametrize("block", [1, 3, 100])
def test_an_entry_space_is_the_same_in_blocks(block: int, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, pairs = Encoder.load(tiny_bert), pairs_of(MEANINGS, dev=("cat", "river", "king"))
    monkeypatch.setattr("dictsent.entryspace._TEXTS", block)
    space = build(pairs.all(), embed=encoder.embed, held_out=pairs.dev)
    vectors = {text: encoder.encode([text])[0] for text in TEXTS}
    for (name,), row, texts in zip(space.names, space.matrix.numpy(), space.definitions, strict=True):
        mine = [text for word, text in MEANINGS if word == name]
        assert sorted(texts) == sorted(mine)
        np.testing.assert_allclose(row, np.mean([vectors[text] for text in mine], axis=0), atol=1e-5)
    for query, row in zip(space.queries, space.own_rows.numpy(), strict=True):
        rest = [vectors[t] for word, t in MEANINGS if word == query.headword and t != query.definition]
        np.testing.assert_allclose(row, np.mean(rest, axis=0), atol=1e-5)


def test_synonyms_share_a_row_only_when_asked(tiny_bert: Path) -> None:
    encoder, pairs = Encoder.load(tiny_bert), pairs_of(MEANINGS)
    assert len(build(pairs.train, embed=encoder.embed).names) == 7
    merged = build(pairs.train, embed=encoder.embed, merge_synonyms=True)
    assert len(merged.names) == 6
    assert ("king", "queen") in merged.names


@pytest.mark.parametrize("isotropy", ["ica", "zca"])
def test_isotropy_decorrelates_and_keeps_the_scale(isotropy: str) -> None:
    generator = torch.Generator().manual_seed(0)
    mixing = torch.randn(6, 6, generator=generator)
    rows = torch.rand(800, 6, generator=generator) @ mixing + 3
    texts = [str(i) for i in range(len(rows))]
    pairs = [Pair(i, f"w{i}", text) for i, text in enumerate(texts)]
    space = build(pairs, embed=lambda asked: rows[[int(t) for t in asked]])
    moved = space.transformed(isotropy)
    covariance = np.cov(moved.matrix.numpy(), rowvar=False)
    np.testing.assert_allclose(covariance / covariance[0, 0], np.eye(6), atol=0.02)
    assert moved.matrix.std().item() == pytest.approx(space.matrix.std().item(), rel=1e-3)
    assert moved.note.startswith(isotropy)


def test_ica_that_overflows_in_float32_is_fitted_in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    # As at 150,518 x 768: an update of so many almost Gaussian rows is all but singular. That takes minutes to show.
    rows = np.random.default_rng(0).laplace(size=(400, 5)).astype(np.float32)
    expected = fit_isotropy(rows, "ica", dtype=np.float64)
    plain = FastICA.fit

    def fit(self: FastICA, given: np.ndarray) -> FastICA:
        if given.dtype == np.float32:
            raise ValueError("array must not contain infs or NaNs")
        return plain(self, given)

    monkeypatch.setattr(FastICA, "fit", fit)
    found = fit_isotropy(rows, "ica")
    np.testing.assert_array_equal(found.matrix, expected.matrix)
    assert "float64" in found.note
    monkeypatch.setattr(FastICA, "fit", lambda self, given: plain(self, given * np.nan))
    with pytest.raises(TrainingError, match="overflows") as caught:
        fit_isotropy(rows, "ica")
    assert "zca" in str(caught.value.hint)


def test_training_leaves_the_start_and_head_alone_and_repeats_exactly(tiny_bert: Path) -> None:
    for method in ("defsent", "defsent-plus"):
        start = Encoder.load(tiny_bert)
        before = copy.deepcopy(start.backbone.state_dict())
        runs = [
            train(start, MANY, settings_for(method, **({"pst": 2} if method == "defsent-plus" else {})))
            for _ in range(2)
        ]
        for name, value in before.items():
            torch.testing.assert_close(start.backbone.state_dict()[name], value)
        first, second = (run.encoder.backbone.state_dict() for run in runs)
        assert all(torch.equal(first[name], second[name]) for name in first)
        changed = {name for name in before if not torch.equal(before[name], first[name])}
        assert any("layer.0" in name for name in changed)
        embeddings_moved = any("embeddings" in name for name in changed)
        assert embeddings_moved == (method == "defsent-plus")
        assert len(runs[0].log) == (1 if method == "defsent" else 2)


def test_pst_restarts_from_the_original_encoder(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dictsent.train import methods as module

    starts, builders = [], []
    plain_fit, plain_space = module.fit, module._space_of_step

    def fit(encoder: Encoder, *rest: object, **more: object) -> object:
        starts.append(copy.deepcopy(encoder.backbone.state_dict()))
        return plain_fit(encoder, *rest, **more)

    def space(builder: Encoder, *rest: object) -> object:
        builders.append(builder)
        return plain_space(builder, *rest)

    monkeypatch.setattr(module, "fit", fit)
    monkeypatch.setattr(module, "_space_of_step", space)
    steps = []
    start = Encoder.load(tiny_bert)
    train(start, MANY, settings_for("defsent-plus", pst=3, isotropy="zca"), Hooks(on_step=steps.append))
    assert all(torch.equal(starts[0][name], s[name]) for s in starts for name in s)
    assert builders[0] is start
    assert builders[1] is steps[0].encoder
    assert builders[2] is steps[1].encoder
    assert [log.matrix[:5] for log in steps[-1].log] == ["plain", "plain", "zca, "]


@pytest.mark.parametrize("family", ["tiny_bert", "tiny_roberta"])
@pytest.mark.parametrize("method", ["defsent", "defsent-plus"])
@pytest.mark.parametrize("pooling", ["cls", "mean", "max", "weighted"])
def test_model_folder_loads_everywhere(
    family: str, method: str, pooling: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    from sentence_transformers import SentenceTransformer

    start = Encoder.load(request.getfixturevalue(family), prefix_space=method == "defsent")
    start.token_weights = torch.linspace(0.1, 1.0, start.backbone.config.vocab_size)
    if pooling == "weighted":
        start.pooling = "weighted"
    trained = train(
        start, MANY, settings_for(method, pooling=pooling, **({"pst": 1} if method == "defsent-plus" else {}))
    )
    folder = tmp_path / "model"
    model_module.save(trained, folder, record={"method": method, "language": "en"}, card="# card\n")
    expected = trained.encoder.encode(TEXTS)
    np.testing.assert_allclose(SentenceTransformer(str(folder), device="cpu").encode(TEXTS), expected, atol=1e-5)
    again = Model.load(folder)
    np.testing.assert_allclose(again.encode(TEXTS), expected, atol=1e-6)
    batch = again.encoder.padded(again.encoder.tokenise(TEXTS))
    with torch.no_grad():
        states = AutoModel.from_pretrained(folder).eval()(**batch).last_hidden_state
        masked = AutoModelForMaskedLM.from_pretrained(folder).eval()
        torch.testing.assert_close(masked.base_model(**batch).last_hidden_state, states)
    if method == "defsent":
        torch.testing.assert_close(again.vocabulary_logits(TEXTS), Model.of(trained).vocabulary_logits(TEXTS))
    else:
        torch.testing.assert_close(again.entry_vectors(TEXTS), Model.of(trained).entry_vectors(TEXTS))
        assert again.space.names == trained.space.names
        assert again.space.queries == trained.space.queries
        torch.testing.assert_close(again.space.matrix, trained.space.matrix)
    assert {p.name for p in folder.iterdir()} >= {"README.md", "record.json", "modules.json", "dictsent"}
    assert all("sentence_transformers." in m["type"] for m in json.loads((folder / "modules.json").read_text()))


def test_what_cannot_be_trained_is_said(tiny_bert: Path, tmp_path: Path) -> None:
    start = Encoder.load(tiny_bert)
    few = Pairs(MANY.train[:5], (), (), {"only forms of other words": 90})
    with pytest.raises(PairsError, match=r"only 5 definitions.*90 only forms"):
        train(start, few, settings_for("defsent"))
    unknown = Pairs(tuple(Pair(i, f"zzz{i}", "a b") for i in range(40)), (), ())
    with pytest.raises(PairsError, match=r"only 0 of 40.*defsent-plus"):
        train(start, unknown, settings_for("defsent"))
    start.masked_lm, start.no_head = None, "none in the file"
    with pytest.raises(HeadError, match="none in the file"):
        train(start, MANY, settings_for("defsent"))
    with pytest.raises(TrainingError, match="--pst"):
        TrainSettings(method="defsent", pooling="mean", pst=3)


def test_a_loss_that_is_not_finite_stops(tiny_bert: Path) -> None:
    start = Encoder.load(tiny_bert)
    with torch.no_grad():
        start.backbone.embeddings.LayerNorm.weight.fill_(float("nan"))
    with pytest.raises(TrainingError, match="not finite"):
        train(start, MANY, settings_for("defsent"))


def test_an_output_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "runs" / "model"

    def interrupted() -> None:
        with appearing(target) as partial:
            (partial / "half").write_text("x")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list((tmp_path / "runs").iterdir()) == []
    with appearing(target) as partial:
        (partial / "whole").write_text("x")
    assert [p.name for p in target.iterdir()] == ["whole"]
    with pytest.raises(TrainingError, match="in use"), appearing(target):
        pass


def test_the_pooler_of_another_checkpoint(tiny_roberta: Path, tmp_path: Path) -> None:
    """DefSent+ on SimCSE-RoBERTa takes the vanilla checkpoint's dense (METHODS); the encoder stays the start's own."""
    start, other = Encoder.load(tiny_roberta), AutoModelForMaskedLM.from_pretrained(tiny_roberta)
    with torch.no_grad():
        other.lm_head.dense.weight.mul_(3.0)
    other.save_pretrained(tmp_path / "vanilla")
    start.tokenizer.save_pretrained(tmp_path / "vanilla")
    how = settings_for("defsent-plus", pst=1, learning_rates=(1e-12,), batch_size=8, precision="float32")
    own = train(start, MANY, how)
    given = train(start, MANY, dataclasses.replace(how, pooler_from=str(tmp_path / "vanilla")))
    assert own.pooler is not None
    assert given.pooler is not None
    torch.testing.assert_close(given.pooler.dense.weight, 3.0 * own.pooler.dense.weight, atol=1e-6, rtol=1e-5)
    for one, two in zip(own.encoder.backbone.parameters(), given.encoder.backbone.parameters(), strict=True):
        torch.testing.assert_close(one, two, atol=1e-8, rtol=0)


def test_a_pooling_for_each_step(tiny_bert: Path) -> None:
    """SNCSE-RoBERTa-large trains with CLS, then with the mean: each step is what it is with that pooling alone."""
    start = Encoder.load(tiny_bert)
    how = settings_for("defsent-plus", pst=2, batch_size=8, pooling="mean", precision="float32")
    seen: list[str] = []
    hooks = Hooks(on_step=lambda trained: seen.append(trained.encoder.pooling))
    both = train(start, MANY, dataclasses.replace(how, poolings=("cls", "mean")), hooks)
    assert seen == ["cls", "mean"]
    first = train_step(start, start, MANY, dataclasses.replace(how, pooling="cls"), 1)
    second = train_step(start, first.encoder, MANY, how, 2)
    for one, two in zip(both.encoder.backbone.parameters(), second.encoder.backbone.parameters(), strict=True):
        assert torch.equal(one, two)


def test_products_in_bf16_leave_the_loss_and_its_direction() -> None:
    generator = torch.Generator().manual_seed(3)
    matrix = torch.randn((20_000, 64), generator=generator)
    labels = torch.randint(20_000, (16,), generator=generator)
    found = []
    for fast in (False, True):
        vectors = torch.randn((16, 64), generator=torch.Generator().manual_seed(4)).requires_grad_()
        loss = EntryLoss(make_pooler("identity", dim=64, masked_lm=None, native=None)[0], matrix)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=fast):
            value = loss(vectors, labels)
        value.backward()
        assert value.dtype == torch.float32
        found.append((value.item(), vectors.grad))
    (plain, exact), (rounded, near) = found
    assert rounded == pytest.approx(plain, rel=2e-3)
    assert rounded != plain
    assert torch.nn.functional.cosine_similarity(exact.flatten(), near.flatten(), dim=0) > 0.999


def test_a_finished_sentence_encoder_gets_no_pooler_by_itself(tiny_bert: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    module = Transformer(str(tiny_bert))
    SentenceTransformer(modules=[module, Pooling(24, pooling_mode="mean")], device="cpu").save(str(tmp_path / "st"))
    start = Encoder.load(tmp_path / "st")
    assert start.finished
    assert start.masked_lm is None
    how = settings_for("defsent-plus", pst=1, batch_size=8)
    assert train(start, MANY, how).log[0].pooler == "identity"
    assert not Encoder.load(tiny_bert).finished
    assert start.native_pooler is not None
    assert train(start, MANY, dataclasses.replace(how, pooler="native")).log[0].pooler == "native"
