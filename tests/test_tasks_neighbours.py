"""N2O: the paper's toy, what is known in advance, and blocks against the whole."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from dictsent.errors import TaskError
from dictsent.tasks import neighbours as module
from dictsent.tasks.baselines import Tfidf
from dictsent.tasks.neighbours import (
    corpus_neighbours,
    distinct_sentences,
    draw_queries,
    n2o,
    nearest,
    overlaps,
    popularity,
    token_overlap,
)
from dictsent.tasks.overlap import study
from dictsent.tasks.paraphrases import paraphrase_ranks, summarise_paraphrases, word_overlap
from dictsent.tasks.projected import projectable, projected_neighbours


class Table:
    def __init__(self, vectors):
        self.vectors = vectors

    def encode(self, texts, /):
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)


TOY = ["M gave the book to J", "J gave the book to M", "M gave the dictionary to J"]


def test_the_toy_of_figure_1():
    """A bag of words takes J to M for the nearest, an embedder that knows who gives takes the dictionary."""
    bag = Table({TOY[0]: [1, 0, 0], TOY[1]: [1, 0, 0], TOY[2]: [0.8, 0.6, 0]})
    roles = Table({TOY[0]: [1, 0, 0], TOY[1]: [0.2, 0, 1], TOY[2]: [0.9, 0.3, 0]})
    queries = np.array([[0]])
    found = {name: corpus_neighbours([e.encode(TOY)], queries, 1) for name, e in (("bag", bag), ("roles", roles))}
    assert found["bag"].tolist() == [[[1]]]
    assert found["roles"].tolist() == [[[2]]]
    assert n2o(found, [1]).mean(1).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def brute_force(vectors, queries, k):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = unit[queries] @ unit.T
    scores[np.arange(len(queries)), queries] = -2
    return np.argsort(-scores, axis=1)[:, :k]


@pytest.mark.parametrize("width", [7, 1 << 16])
def test_search_in_blocks_is_exact(width, monkeypatch):
    monkeypatch.setattr(module, "WIDTH", width)
    vectors = np.random.default_rng(0).normal(size=(200, 8)).astype(np.float32)
    queries = np.array([3, 17, 199])
    blocks = [vectors[:90], vectors[90:]]
    assert nearest(blocks, vectors[queries], queries, 10).tolist() == brute_force(vectors, queries, 10).tolist()
    sparse = [csr_matrix(block) for block in blocks]
    found = nearest(sparse, csr_matrix(vectors[queries]), queries, 10)
    assert found.tolist() == brute_force(vectors, queries, 10).tolist()


def test_with_itself_1_and_with_random_vectors_by_chance():
    draws = np.random.default_rng(1)
    corpus, k = 401, 40
    samples = draw_queries(corpus, queries=50, samples=4, seed=2)
    found = {}
    for name in ("a", "b"):
        vectors = draws.normal(size=(corpus, 16)).astype(np.float32)
        flat = samples.ravel()
        found[name] = nearest([vectors], vectors[flat], flat, k).reshape(4, 50, k)
    found["a again"] = found["a"]
    result = n2o(found, [10, k])
    assert result.mean(k)[0, 2] == 1.0
    assert result.mean(k)[0, 1] == pytest.approx(k / (corpus - 1), abs=0.02)
    assert result.deviation(k)[0, 2] == 0.0
    assert result.against_others(k)["b"] == [result.mean(k)[1, 0], result.mean(k)[1, 2]]
    assert set(result.stability(k)) == {"k", "samples"}


def test_queries_are_drawn_without_replacement_and_never_found():
    samples = draw_queries(60, queries=50, samples=3, seed=0)
    assert all(len(set(sample.tolist())) == 50 for sample in samples)
    assert draw_queries(60, queries=50, samples=3, seed=0).tolist() == samples.tolist()
    vectors = np.ones((60, 3), dtype=np.float32)
    found = nearest([vectors], vectors[samples[0]], samples[0], 5)
    assert not any(query in row for query, row in zip(samples[0], found, strict=True))


def test_too_small_a_corpus_is_said():
    with pytest.raises(TaskError, match="too few for 100 queries"):
        draw_queries(80)
    with pytest.raises(TaskError, match="too few for 9 neighbours"):
        nearest([np.ones((5, 2))], np.ones((1, 2)), np.array([0]), 9)


def test_corpus_is_deduplicated():
    assert distinct_sentences(["a b", "", " a b ", "c", "\n"]) == ["a b", "c"]


def test_overlap_counts_common_neighbours():
    assert overlaps(np.array([[1, 2, 3], [4, 5, 6]]), np.array([[3, 9, 1], [7, 8, 9]])).tolist() == [2 / 3, 0.0]


def test_token_overlap_popular_and_outlier_neighbours():
    corpus = ["the cat sat", "the cat ran", "a dog barked", "cat sat the", "rain"]
    queries = np.array([[0]])
    found = token_overlap(corpus, queries, np.array([[[1, 3]]]))
    assert found.mean == pytest.approx((2 / 3 + 1) / 2)
    shared = popularity(np.array([0]), {"a": np.array([[3, 1, 2]]), "b": np.array([[3, 4, 1]])}, near=2)[0]
    assert shared.popular == (3,)
    assert shared.outliers == {"a": (), "b": ((2, 4),)}


def test_paraphrases_are_ranked_as_if_added():
    vectors = {"q": [1, 0], "p": [0.9, 0.1], "near": [1, 0.01], "far": [0, 1], "tie": [0.9, 0.1]}
    corpus = ["q", "near", "far", "tie"]
    blocks = [Table(vectors).encode(corpus[:1]), Table(vectors).encode(corpus[1:])]
    ranks = paraphrase_ranks(Table(vectors), corpus, blocks, [("q", "p"), ("q", "near")])
    assert ranks.tolist() == [2.5, 1.0]
    summary = summarise_paraphrases(ranks)
    assert (summary.top, summary.top5, summary.n) == (1, 2, 2)
    assert word_overlap("a b c", "b c d") == 0.5


def test_tfidf_takes_part():
    corpus = [f"word{i} word{i + 1} shared" for i in range(40)]
    samples = draw_queries(40, queries=5, samples=2, seed=0)
    result = study([("tfidf", Tfidf(), lambda *_: None)] * 2, corpus, samples, ks=(1, 2), paraphrases=[("a", "b")])
    found = result.neighbours["tfidf"]
    assert found.shape == (2, 5, 2)
    inner = [(q, row) for q, row in zip(samples.ravel(), found.reshape(-1, 2), strict=True) if 0 < q < 39]
    assert all(set(row.tolist()) == {q - 1, q + 1} for q, row in inner)


def test_a_projected_search_states_its_recall():
    """Vectors whose spread lies in few directions, as sentence vectors': nearly all true neighbours are found."""
    draws = np.random.default_rng(4)
    spectrum = (1 / np.arange(1, 257)).astype(np.float32)
    vectors = draws.normal(size=(3000, 256)).astype(np.float32) * spectrum
    blocks, samples = [vectors[:1000], vectors[1000:]], draw_queries(3000, queries=40, samples=2, seed=0)
    found, recall = projected_neighbours(blocks, samples, 10)
    exact = corpus_neighbours(blocks, samples, 10)
    assert overlaps(found, exact).mean() > 0.97
    assert recall == pytest.approx(overlaps(found, exact).mean(), abs=0.02)
    assert not any(query in row for query, row in zip(samples.ravel(), found.reshape(-1, 10), strict=True))
    assert not projectable([vectors[:, :100]])
    assert not projectable([csr_matrix(vectors)])


def test_a_study_says_which_systems_were_searched_approximately():
    class Wide:
        def encode(self, texts, /):
            return np.stack([np.random.default_rng(len(t)).normal(size=200) for t in texts])

    corpus = ["x" * n for n in range(1, 300)]
    samples = draw_queries(len(corpus), queries=20, samples=1, seed=0)
    systems = [("wide", Wide(), lambda *_: None), ("tfidf", Tfidf(), lambda *_: None)]
    result = study(systems, corpus, samples, ks=(5,), approximate=True)
    assert list(result.recall) == ["wide"]
    assert 0.3 < result.recall["wide"] <= 1
    assert result.to_json()["recall"] == result.recall
