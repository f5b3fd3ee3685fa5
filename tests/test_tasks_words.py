"""Word prediction: leave-one-definition-out ranks against the definition done by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from dictsent.errors import TaskError
from dictsent.records import Pair
from dictsent.tasks import words
from dictsent.tasks.baselines import Tfidf
from dictsent.tasks.words import entry_scores, rank_scores, ranks, summarise, word_scores


class Table:
    """An encoder that knows its texts."""

    def __init__(self, vectors):
        self.vectors = vectors
        self.seen = []

    def encode(self, texts, /):
        self.seen += texts
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)


def pairs(entries):
    return [Pair(entry=i, headword=w, definition=d) for i, (w, ds) in enumerate(entries.items(), 1) for d in ds]


def by_hand(encoder, queries, entries):
    """The definition in METHODS, one query and one entry at a time."""
    found = []
    for query in queries:
        others = {p.definition for p in entries if p.entry == query.entry} - {query.definition}
        if not others:
            continue
        scores = {}
        for entry in {p.entry for p in entries}:
            texts = others if entry == query.entry else {p.definition for p in entries if p.entry == entry}
            row = np.mean([encoder.vectors[t] for t in texts], axis=0)
            vector = encoder.vectors[query.definition]
            scores[entry] = float(row @ vector / np.linalg.norm(row) / np.linalg.norm(vector))
        aim = scores.pop(query.entry)
        higher = sum(s > aim + 1e-6 for s in scores.values())
        found.append(1 + higher + sum(abs(s - aim) <= 1e-6 for s in scores.values()) / 2)
    return found


def random_world(seed, entries=40, texts=60):
    draws = np.random.default_rng(seed)
    vectors = {f"d{i}": draws.normal(size=5) for i in range(texts)}
    chosen = {
        f"w{i}": [f"d{j}" for j in draws.choice(texts, draws.integers(1, 5), replace=False)] for i in range(entries)
    }
    return Table(vectors), pairs(chosen)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_ranks_are_those_of_the_definition(seed):
    encoder, entries = random_world(seed)
    queries = entries[::3]
    ranking = entry_scores(encoder, queries, entries)
    assert ranking.ranks.tolist() == by_hand(encoder, queries, entries)
    assert ranking.single + len(ranking.ranks) == len(queries)
    assert ranking.candidates == 40
    assert len(encoder.seen) == len(set(encoder.seen))


def test_small_blocks_change_nothing(monkeypatch):
    encoder, entries = random_world(7)
    whole = entry_scores(encoder, entries, entries).ranks
    monkeypatch.setattr(words, "CELLS", 128)
    monkeypatch.setattr("dictsent.tasks.embedding.BLOCK", 7)
    assert entry_scores(encoder, entries, entries).ranks.tolist() == whole.tolist()


def test_an_entry_with_one_definition_is_left_out_and_counted():
    encoder = Table({"a pet": np.array([1.0, 0.1]), "a bird": np.array([0.1, 1.0]), "it flies": np.array([0.2, 1.0])})
    entries = pairs({"cat": ["a pet"], "crow": ["a bird", "it flies"]})
    ranking = entry_scores(encoder, [*entries, Pair(entry=9, headword="x", definition="y")], entries)
    assert ranking.ranks.tolist() == [1.0, 1.0]
    assert (ranking.single, ranking.unknown) == (1, 1)
    notes = {score.note for score in word_scores(ranking, language="en", split="test")}
    assert notes == {
        "2 candidates; 1 queries left out: their entry has no other definition; "
        "1 queries left out: their headword is no candidate"
    }


def test_the_question_is_not_in_the_answer():
    """With the queried definition in its own row every rank would be 1."""
    encoder = Table({"a": np.array([1.0, 0.0, 0.0]), "b": np.array([0.0, 1.0, 0.0]), "c": np.array([0.9, 0.1, 0.0])})
    entries = pairs({"one": ["a", "b"], "two": ["c"]})
    assert entry_scores(encoder, entries[:1], entries).ranks.tolist() == [2.0]


def test_synonyms_count_against_a_query_unless_filtered():
    encoder = Table({"a": np.array([1.0, 0.0]), "b": np.array([0.0, 1.0]), "c": np.array([0.5, 0.5])})
    entries = pairs({"one": ["a", "c"], "same": ["a"], "other": ["b"]})
    assert entry_scores(encoder, entries[:1], entries).ranks.tolist() == [2.0]
    assert entry_scores(encoder, entries[:1], entries, filtered=True).ranks.tolist() == [1.0]


def test_ties_take_their_mean_rank():
    rows = np.array([[1.0, 0], [1, 0], [1, 0], [0, 1]], dtype=np.float32)
    assert ranks(np.array([[1.0, 0]], dtype=np.float32), rows, np.array([1])).tolist() == [2.0]
    assert rank_scores(np.array([[3.0, 3.0, 1.0, 9.0]]), np.array([0])).tolist() == [2.5]


def test_sparse_and_dense_rows_rank_alike():
    draws = np.random.default_rng(0)
    rows = draws.random((30, 12)).astype(np.float32) * (draws.random((30, 12)) < 0.4)
    queries, targets = rows[:9] + rows[9:18], np.arange(9)
    dense = ranks(queries, rows, targets, own=rows[20:29])
    sparse = ranks(csr_matrix(queries), csr_matrix(rows), targets, own=csr_matrix(rows[20:29]))
    assert dense.tolist() == sparse.tolist()


def test_tfidf_predicts_words_from_definitions():
    entries = pairs(
        {
            "cat": ["a small furry animal kept as a pet", "a furry pet animal that purrs"],
            "run": ["to move fast on foot", "to move on foot at a fast pace"],
            "sun": ["the star that warms the earth", "the star around which the earth turns"],
        }
    )
    ranking = entry_scores(Tfidf(), entries, entries)
    assert ranking.ranks.tolist() == [1.0] * 6


def test_summary_is_over_full_ranks():
    summary = summarise(np.array([1.0, 2.0, 20.0, 4.0]))
    assert summary["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 20 + 1 / 4) / 4)
    assert summary["mrr@10"] == pytest.approx((1 + 1 / 2 + 1 / 4) / 4)
    assert (summary["top1"], summary["top3"], summary["top10"], summary["median_rank"]) == (0.25, 0.5, 0.75, 3.0)


def test_no_query_left_is_undefined_and_said():
    encoder = Table({"a": np.array([1.0, 0.0])})
    ranking = entry_scores(encoder, pairs({"one": ["a"]}), pairs({"one": ["a"]}))
    scores = word_scores(ranking, language="ja", split="dev")
    assert {score.value for score in scores} == {None}
    assert "undefined: no query is left" in scores[0].note
    with pytest.raises(TaskError, match="no query is left"):
        summarise(ranking.ranks)
    with pytest.raises(TaskError, match="no entries"):
        entry_scores(encoder, [], [])
