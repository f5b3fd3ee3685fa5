"""Figures without annotated data: gloss retrieval by interlingual id, and the one table of a language."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dictsent.errors import TaskError
from dictsent.tasks.glosses import first_glosses, gloss_scores, pair_glosses
from dictsent.tasks.words import chance

ENGLISH = {f"i{n}": f"thing number {n} of its kind" for n in range(60)}
ITALIAN = {f"i{n}": f"cosa numero {n} del suo genere" for n in range(10, 80)}


class Numbers:
    """Knows the number a text holds, in any language."""

    def encode(self, texts, /):
        return np.stack([np.eye(100)[int(next(w for w in text.split() if w.isdigit()))] for text in texts])


class Constant:
    def encode(self, texts, /):
        return np.ones((len(texts), 3))


def test_an_encoder_that_knows_finds_all_and_a_constant_one_stands_at_chance():
    pairs = pair_glosses(ITALIAN, ENGLISH, languages=("it", "en"))
    assert (pairs.shared, pairs.copied, len(pairs.first)) == (50, 0, 50)
    found = {(s.language, s.metric): s for s in gloss_scores(Numbers(), pairs)}
    assert {key: score.value for key, score in found.items()} == {
        (language, metric): 1.0 for language in ("it-en", "en-it") for metric in ("mrr", "top1", "top10")
    }
    assert found["it-en", "top1"].chance == 1 / 50
    constant = {s.metric: s.value for s in gloss_scores(Constant(), pairs)}
    assert constant == {"mrr": pytest.approx(1 / 25.5), "top1": 0.0, "top10": 0.0}


def test_copies_are_left_out_and_samples_are_the_same_for_all_languages():
    copied = ENGLISH | {"i11": ITALIAN["i11"].upper()}
    pairs = pair_glosses(ITALIAN, copied, languages=("it", "en"))
    assert (pairs.copied, len(pairs.first)) == (1, 49)
    some = pair_glosses(ITALIAN, ENGLISH, languages=("it", "en"), most=20)
    again = pair_glosses(dict(reversed(ITALIAN.items())), ENGLISH, languages=("it", "en"), most=20)
    assert (some.first, some.second) == (again.first, again.second)
    assert first_glosses([("i1", "a"), ("i1", "b"), ("i2", "c")]) == {"i1": "a", "i2": "c"}


def test_too_few_concepts_are_said():
    with pytest.raises(TaskError, match="0 concepts are defined in both xx and en"):
        pair_glosses({}, ENGLISH, languages=("xx", "en"))


def test_chance_is_what_random_vectors_get():
    draws = np.random.default_rng(0)
    ranks = np.array([draws.integers(1, 51) for _ in range(20_000)])
    assert chance("mrr", 50) == pytest.approx((1 / ranks).mean(), abs=0.005)
    assert chance("mrr@10", 50) == pytest.approx(np.where(ranks <= 10, 1 / ranks, 0).mean(), abs=0.005)
    assert chance("top10", 50) == 0.2
    assert chance("top10", 5) == 1.0
    assert chance("median_rank", 5) is None


@pytest.fixture
def store(run_cli):
    """English and Italian definitions with interlingual ids, two a word."""
    for language, glosses in (("en", ENGLISH), ("it", ITALIAN)):
        rows = [
            {
                "headword": f"{language}word{n // 2}",
                "language": language,
                "definitions": [{"text": text, "language": language, "ili": concept}],
            }
            for n, (concept, text) in enumerate(glosses.items())
        ]
        Path(f"{language}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        done = run_cli("ingest", f"{language}.jsonl", "--lang", language)
        assert done.exit_code == 0, done.stderr
    return run_cli


def test_glosses_from_the_shell(store):
    done = store("eval", "glosses", "tfidf", "--lang", "it", "--json")
    assert done.exit_code == 0, done.stderr
    scores = json.loads(done.stdout)["scores"]
    assert {(s["task"], s["language"], s["n"]) for s in scores} == {("glosses", "it-en", 50), ("glosses", "en-it", 50)}
    assert all(score["value"] == 1.0 for score in scores)
    assert "mrr by chance" in store("eval", "glosses", "tfidf", "--lang", "it").stdout


def test_glosses_without_ids_say_what_is_needed(run_cli):
    rows = "".join(f"word{n}\tmeaning number {n}\n" for n in range(40))
    Path("d.tsv").write_text(rows, encoding="utf-8")
    run_cli("ingest", "d.tsv", "--lang", "sl")
    done = run_cli("eval", "glosses", "tfidf", "--lang", "sl")
    assert done.exit_code == 1
    assert "no other language shares interlingual ids with sl" in done.stderr
    assert "ingest wordnets" in done.stderr
    assert "Traceback" not in done.stderr


def test_one_table_for_a_language_says_what_each_figure_means(store):
    Path("digits_of.py").write_text(
        "import numpy as np\n"
        "def encode(texts):\n"
        "    found = [[int(w) for w in t.split() if w.isdigit()] for t in texts]\n"
        "    return np.eye(100)[[n[0] for n in found]] + .01\n"
    )
    words = ["eval", "language", "python:digits_of.encode", "tfidf", "--lang", "it"]
    done = store(*words, "--json")
    assert done.exit_code == 0, done.stderr
    figures = {(row["task"], row["metric"], row["language"]): row for row in json.loads(done.stdout)["figures"]}
    assert set(figures) == {
        ("words", "mrr", "it"),
        ("words", "top10", "it"),
        ("glosses", "top1", "it-en"),
        ("glosses", "top1", "en-it"),
        ("glosses", "mrr", "it-en"),
        ("glosses", "mrr", "en-it"),
        ("n2o", "n2o", "it"),
        ("isotropy", "average_cosine", "it"),
    }
    assert figures["n2o", "n2o", "it"]["values"]["tfidf"] == 1.0
    assert figures["isotropy", "average_cosine", "it"]["values"]["tfidf"] is None
    assert all(row["meaning"].endswith(".") for row in figures.values())
    shown = store(*words)
    assert "Italian: figures that need no annotated data" in shown.stdout
    assert "not which is better" in shown.stderr


def test_a_language_the_store_lacks(store):
    done = store("eval", "language", "tfidf", "--lang", "cs")
    assert done.exit_code == 1
    assert "the store holds no Czech entries" in done.stderr.strip().split("\n")[-1]


@pytest.mark.data
def test_real_wordnets_share_concepts(run_cli, data_folder):
    """Slovenian and Basque tabs, keyed by WordNet 3.0 offsets: concepts that both define, counted by offset."""
    definitions = {}
    for code, folder in (("slv", "slv"), ("eus", "mcr")):
        path = data_folder / "dict" / "omw" / folder / f"wn-data-{code}.tab"
        assert run_cli("ingest", path).exit_code == 0
        rows = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n") if not line.startswith("#")]
        lemmas = {row[0] for row in rows if len(row) > 2 and row[1].endswith("lemma")}
        definitions[code] = {row[0] for row in rows if len(row) > 2 and row[1].endswith(":def")} & lemmas
    done = run_cli("eval", "glosses", "tfidf", "--lang", "sl", "--json")
    record = json.loads(done.stdout)
    assert record["scores"][0]["n"] == len(definitions["slv"] & definitions["eus"])
