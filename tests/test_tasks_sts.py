"""Scoring of sentence similarity: agreement with scipy, aggregation, what is undefined."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.sparse import csr_matrix

from dictsent.errors import EncoderError
from dictsent.evaluate import available, evaluate, main_scores, paper_row
from dictsent.tasks.baselines import Tfidf
from dictsent.tasks.data import SEVEN, Choice
from dictsent.tasks.statistics import interval, paired_difference, pearson, spearman
from dictsent.tasks.sts import Scoring, averages, cosine

few = st.sampled_from([0.0, 0.25, 1.0, 3.5, -2.0]) | st.floats(-1e3, 1e3)


@given(arrays(np.float64, st.just(20), elements=few), arrays(np.float64, st.just(20), elements=few))
def test_correlations_are_scipys(x, y):
    if np.ptp(x) < 1e-6 or np.ptp(y) < 1e-6:
        return
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-9)


def test_constant_and_short_input_is_undefined():
    assert spearman(np.ones(5), np.arange(5.0)) is None
    assert pearson(np.array([1.0]), np.array([2.0])) is None


def test_cosine_of_dense_sparse_equal_and_zero_rows():
    draws = np.random.default_rng(0)
    first, second = draws.normal(size=(50, 8)).astype(np.float32), draws.normal(size=(50, 8)).astype(np.float32)
    second[3] = 7 * first[3]
    first[4] = 0
    expected = [
        0.0 if not a.any() else a @ b / np.linalg.norm(a) / np.linalg.norm(b)
        for a, b in zip(first.astype(np.float64), second.astype(np.float64), strict=True)
    ]
    np.testing.assert_allclose(cosine(first, second), expected, atol=1e-12)
    np.testing.assert_allclose(cosine(csr_matrix(first), csr_matrix(second)), expected, atol=1e-6)
    assert cosine(first, first)[[0, 1, 2, 4]].tolist() == [1.0, 1.0, 1.0, 0.0]


class Letters:
    """An encoder that counts letters, and how often it was asked for each text."""

    def __init__(self):
        self.seen: list[str] = []

    def encode(self, texts, /):
        self.seen += texts
        return np.array([[text.lower().count(letter) for letter in "abcdefghij"] for text in texts], dtype=np.float32)


class Constant:
    def encode(self, texts, /):
        return np.ones((len(texts), 3))


def lines(seed: int, n: int = 30) -> str:
    draws = np.random.default_rng(seed)
    words = ["abacus", "badge", "cabbage", "decade", "facade", "hedge", "jade", "gig"]
    pairs = (" ".join(draws.choice(words, 3)) + "\t" + " ".join(draws.choice(words, 3)) for _ in range(n))
    return "".join(f"{score:.2f}\t{pair}\n" for score, pair in zip(draws.uniform(0, 5, n), pairs, strict=True))


@pytest.fixture
def seven(tmp_path: Path) -> Path:
    """All seven sets, in small, with the names of their files."""
    files = {
        "2012": ["MSRpar", "MSRvid", "SMTeuroparl", "OnWN", "SMTnews"],
        "2013": ["FNWN", "headlines", "OnWN"],
        "2014": ["deft-forum", "deft-news", "headlines", "images", "OnWN", "tweet-news"],
        "2015": ["answers-forums", "answers-students", "belief", "headlines", "images"],
        "2016": ["answer-answer", "headlines", "plagiarism", "postediting", "question-question"],
    }
    for seed, (year, name) in enumerate((y, n) for y, names in files.items() for n in names):
        path = tmp_path / year / f"{name}.test.tsv"
        path.parent.mkdir(exist_ok=True)
        path.write_text(lines(seed).title(), "utf-8")
    rows = [line.split("\t") for line in lines(100).splitlines()]
    stsb = "".join(f"g\tf\ty\ti\t{s}\t{a.title()}\t{b}\n" for s, a, b in rows)
    (tmp_path / "sts-test.csv").write_text(stsb, "utf-8")
    sick = "".join(f"1\t{a}\t{b}\t{1 + float(s) * 0.8}\tNEUTRAL\n" for s, a, b in rows)
    (tmp_path / "SICK_test_annotated.txt").write_text(
        "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n" + sick, "utf-8"
    )
    return tmp_path


def english(folder: Path, **choice):
    return available(Choice(names=SEVEN, **choice), [folder])[0]


def test_all_is_one_correlation_over_the_concatenated_subsets(seven):
    sets = english(seven)
    scores = evaluate(Letters(), sets, scoring=Scoring(detail=True))
    pairs = sets[1]
    similarity = [
        float(np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b))
        for a, b in zip(Letters().encode(pairs.first), Letters().encode(pairs.second), strict=True)
    ]
    found = {(score.task, score.metric, score.variant): score for score in scores}
    whole = stats.spearmanr(np.round(similarity, 6), pairs.gold).statistic
    assert found["STS13", "spearman", "raw"].value == pytest.approx(100 * whole, abs=1e-6)
    assert found["STS13", "spearman", "raw"].n == 90
    parts = [found[f"STS13/{name}", "spearman", "raw"].value for name in ("FNWN", "headlines", "OnWN")]
    assert found["STS13", "spearman_mean", "raw"].value == pytest.approx(np.mean(parts))
    assert found["STS13", "spearman_wmean", "raw"].value == pytest.approx(np.mean(parts))
    assert found["STS13", "spearman", "raw-unexposed"].value == pytest.approx(parts[1])
    assert found["STS13", "spearman", "raw-unexposed"].n == 30


def test_averages_with_and_without_the_exposed_files(seven):
    scores = evaluate(Letters(), english(seven))
    main = {score.task: score.value for score in main_scores(scores)}
    unexposed = {score.task: score.value for score in scores if score.variant == "raw-unexposed"}
    assert list(main) == [*SEVEN, "Avg"]
    assert main["Avg"] == pytest.approx(np.mean([main[name] for name in SEVEN]))
    assert set(unexposed) == {"STS12", "STS13", "STS14", "Avg"}
    assert unexposed["Avg"] == pytest.approx(np.mean([unexposed.get(name, main[name]) for name in SEVEN]))
    assert list(paper_row(scores)) == ["STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R", "Avg"]


def test_there_is_no_average_where_a_set_is_missing_or_incomplete(seven):
    (seven / "2012" / "MSRvid.test.tsv").unlink()
    (seven / "sts-test.csv").unlink()
    scores = evaluate(Letters(), english(seven))
    average = next(score for score in scores if score.task == "Avg")
    assert average.value is None
    assert average.note == "no average: STS-B missing; no average: STS12 incomplete or undefined"
    assert averages([]) == []


def test_each_distinct_sentence_is_embedded_once(seven):
    encoder = Letters()
    steps: list[tuple[int, int]] = []
    sets = english(seven)
    evaluate(encoder, sets, progress=lambda done, total: steps.append((done, total)))
    distinct = {text for pairs in sets for text in (*pairs.first, *pairs.second)}
    assert sorted(encoder.seen) == sorted(distinct)
    assert steps[-1] == (len(distinct), len(distinct))


def test_a_constant_model_is_undefined_and_never_nan(seven):
    scores = evaluate(Constant(), english(seven), scoring=Scoring(detail=True, resamples=20))
    assert {score.value for score in scores} == {None}
    assert "undefined: all pairs get the same similarity" in scores[0].note
    assert "NaN" not in json.dumps([score.to_json() for score in scores])


def test_json_has_exactly_the_promised_keys(seven):
    scores = evaluate(Letters(), english(seven), scoring=Scoring(resamples=50))
    promised = ["task", "language", "split", "protocol", "variant", "metric", "value", "n"]
    assert list(scores[-1].to_json()) == promised
    assert list(scores[0].to_json()) == [*promised, "interval"]
    low, high = scores[0].interval
    assert low < scores[0].value < high
    assert all(math.isfinite(bound) for bound in (low, high))


def test_tfidf_is_fitted_on_the_sentences_it_compares(seven):
    scores = main_scores(evaluate(Tfidf(), english(seven)))
    assert all(score.value is not None for score in scores)
    fitted = evaluate(Tfidf(corpus=["an abacus", "some jade and a hedge"]), english(seven))
    assert main_scores(fitted)[0].value != scores[0].value


def test_the_smoke_set_is_in_no_average(tmp_path):
    sets, _ = available(Choice(names=("mini-sts",)), [tmp_path])
    scores = evaluate(Tfidf(), sets)
    assert {(score.task, score.protocol, score.n) for score in scores} == {("mini-sts", "smoke", 40)}
    assert len(scores) == 6


@pytest.mark.parametrize("vectors", [np.ones((3, 2)), np.ones(5), np.array([[np.nan, 1.0]] * 5)])
def test_an_encoder_that_gives_something_else_is_named(vectors, seven):
    class Broken:
        def encode(self, texts, /):
            return vectors[:1].repeat(len(texts), 0) if np.isnan(vectors).any() else vectors

    with pytest.raises(EncoderError, match="the encoder gave"):
        evaluate(Broken(), english(seven))


def test_bootstrap_finds_what_is_there():
    draws = np.random.default_rng(1)
    gold = draws.normal(size=400)
    good, bad = gold + draws.normal(size=400), gold + 5 * draws.normal(size=400)
    low, high = interval(spearman, good, gold)
    assert low < spearman(good, gold) < high
    assert 0.02 < high - low < 0.3

    def both(items):
        return spearman(good[items], gold[items]), spearman(bad[items], gold[items])

    clear = paired_difference(both, 400)
    assert clear.low > 0
    assert clear.p < 0.01
    none = paired_difference(lambda items: (spearman(good[items], gold[items]),) * 2, 400, resamples=100)
    assert (none.value, none.low, none.high, none.p) == (0.0, 0.0, 0.0, 1.0)
