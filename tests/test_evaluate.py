"""`dictsent eval` and `compare` from the shell's side: JSON, tables, bad input, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dictsent.cli import cli
from dictsent.errors import EncoderError, ExpectationError, TaskError
from dictsent.evaluate import check_expected, read_expected
from dictsent.tasks.own import own_pairs
from dictsent.tasks.scores import Score
from dictsent.tasks.systems import load_system, short_names

PAIRS = [
    (5.0, "A man plays the guitar.", "A man is playing a guitar."),
    (4.0, "Two dogs run on the grass.", "Dogs are running on grass."),
    (0.5, "The sun is a star.", "He bought a train ticket."),
    (1.0, "A cat sleeps.", "The cat food is empty."),
    (0.0, "It rains in Oslo.", "Music has rhythm."),
    (3.0, "A child reads a book.", "The child holds a book."),
]


def tsv(rows=PAIRS, header="") -> str:
    return header + "".join(f"{score}\t{a}\t{b}\n" for score, a, b in rows)


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    folder = tmp_path / "sets"
    (folder / "2013").mkdir(parents=True)
    for name in ("FNWN", "headlines", "OnWN"):
        (folder / "2013" / f"{name}.test.tsv").write_text(tsv(), "utf-8")
    return folder


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("DICTSENT_DATA", "DICTSENT_STORE", "DICTSENT_RUNS"):
        monkeypatch.delenv(name, raising=False)

    def call(*words: object):
        return CliRunner().invoke(cli, [str(word) for word in words])

    return call


def test_json_is_one_object_with_the_promised_keys(run, sets):
    found = run("eval", "sts", "tfidf", "--data", sets, "--json")
    record = json.loads(found.stdout)
    assert found.exit_code == 0
    assert (record["schema_version"], record["model"]) == (1, "tfidf")
    promised = {"task", "language", "split", "protocol", "variant", "metric", "value", "n"}
    assert all(set(score) == promised for score in record["scores"])
    by_task = {(s["task"], s["variant"]): s for s in record["scores"]}
    assert by_task["STS13", "raw"]["n"] == 18
    assert 50 < by_task["STS13", "raw"]["value"] <= 100
    assert by_task["Avg", "raw"]["value"] is None
    assert by_task["mini-sts", ""]["protocol"] == "smoke"
    assert "STS12, STS14" in found.stderr


def test_several_models_stand_in_one_table(run, sets, tmp_path):
    np.save(tmp_path / "m.npy", np.eye(12))
    (tmp_path / "m.txt").write_text("\n".join(t for _, a, b in PAIRS for t in (a, b)), "utf-8")
    found = run("eval", "sts", "tfidf", "m.npy", "--data", sets, "--set", "STS13", "--detail", "--intervals")
    assert found.exit_code == 0
    assert "tfidf" in found.stdout
    assert "m.npy" in found.stdout
    assert "STS13/OnWN" in found.stdout
    assert "without exposed pairs" in found.stdout
    assert "undefined: all pairs get the same similarity" in found.stderr
    assert "nan" not in found.stdout.lower()


def test_without_sets_mini_sts_is_scored_and_called_a_smoke_set(run):
    found = run("eval", "sts", "tfidf", "--lang", "Japanese")
    assert found.exit_code == 0
    assert "mini-sts (smoke set)" in found.stdout
    assert "left out:" in found.stderr


def test_a_language_without_any_set_is_told_what_there_is_instead(run):
    found = run("eval", "sts", "tfidf", "--lang", "cs")
    assert found.exit_code == 1
    assert "no similarity set for Czech" in found.stderr
    assert "dictsent eval language" in found.stderr
    assert "compare --overlap" in found.stderr


def test_own_pairs(run, tmp_path):
    own = tmp_path / "mine.csv"
    own.write_text("sentence1,sentence2,score\n" + "".join(f'"{a}","{b}",{s}\n' for s, a, b in PAIRS), "utf-8")
    record = json.loads(run("eval", "sts", "tfidf", "--pairs", own, "--lang", "en", "--json").stdout)
    assert [(s["task"], s["variant"], s["n"]) for s in record["scores"]] == [("mine", "own", 6)]


@pytest.mark.parametrize(
    "text",
    [
        tsv(),
        tsv(header="score\tsentence1\tsentence2\n"),
        "".join(f"{a}\t{b}\t{s}\n" for s, a, b in PAIRS),
        "\ufeff" + tsv().replace("\n", "\r\n"),
        json.dumps([{"label": s, "text1": a, "text2": b} for s, a, b in PAIRS]),
        "".join(json.dumps({"similarity": s, "s1": a, "s2": b}) + "\n" for s, a, b in PAIRS),
    ],
)
def test_forms_of_own_files(tmp_path, text):
    path = tmp_path / "own.txt"
    path.write_text(text, "utf-8")
    pairs = own_pairs(path, language="en")
    assert pairs.gold.tolist() == [score for score, _, _ in PAIRS]
    assert pairs.second == [b for _, _, b in PAIRS]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("only words here\n", "has no columns"),
        ("a\tb\tc\n", "cannot be told"),
        ('{"a": 1}\n', "no keys for score"),
        ("{broken\n", "not JSON"),
    ],
)
def test_own_files_that_cannot_be_read(tmp_path, text, said):
    path = tmp_path / "own.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(TaskError, match=said):
        own_pairs(path, language="en")


def test_expectations(run, sets, tmp_path):
    bounds = tmp_path / "expect.toml"
    bounds.write_text('STS13 = 10\n"STS13 raw-unexposed" = [10, 100]\n', "utf-8")
    assert run("eval", "sts", "tfidf", "--data", sets, "--expect", bounds).exit_code == 0
    bounds.write_text('STS13 = 101\n"Avg" = 5\n', "utf-8")
    found = run("eval", "sts", "tfidf", "--data", sets, "--expect", bounds)
    assert found.exit_code == 1
    assert "STS13 is" in found.stderr
    assert "expected 101" in found.stderr
    assert "Avg was not scored (no average" in found.stderr


def test_expected_keys_and_malformed_files(tmp_path):
    score = Score(
        task="words", language="ja", split="test", protocol="leave-one-out", variant="entries", metric="mrr",
        value=0.2, n=5,
    )  # fmt: skip
    check_expected([score], {"words mrr": (0.1, 0.3), "words ja mrr": (0.1, 0.3)})
    with pytest.raises(ExpectationError, match=r"words mrr is 0\.2, expected 0\.3"):
        check_expected([score], {"words mrr": (0.3, float("inf"))})
    path = tmp_path / "e.toml"
    for text, said in (("x = 'a'\n", "needs a number"), ("= 1", "not TOML")):
        path.write_text(text, "utf-8")
        with pytest.raises(TaskError, match=said):
            read_expected(path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["eval", "sts", "no/such model"], "no such model"),
        (["eval", "sts", "nowhere.npy"], "no such model"),
        (["eval", "sts", "tfidf", "--set", "STS99"], "no set is named 'STS99'"),
        (["eval", "sts", "tfidf", "--set", "STS12", "--set", "STS12"], "named twice"),
        (["eval", "sts", "tfidf", "--data", "nowhere"], "no such folder"),
        (["eval", "sts", "tfidf", "--lang", "Elbonian"], "is no language"),
        (["eval", "sts"], "there is no finished run"),
        (["eval", "senteval", "tfidf"], "no transfer task found"),
        (["eval", "senteval", "tfidf", "--task", "X"], "no transfer task is named 'X'"),
        (["compare", "tfidf", "cls:x", "--overlap", "--corpus", "nowhere"], "no such file"),
        (["eval", "sts", "python:no.such"], "cannot be imported"),
    ],
)
def test_bad_input_is_one_line(run, words, said):
    found = run(*words)
    assert found.exit_code == 1
    assert said in found.stderr
    assert found.stderr.strip().split("\n")[-1].startswith("Error: ")
    assert "Traceback" not in found.stderr


def test_list_says_what_is_there(run, sets):
    rows = json.loads(run("eval", "list", "--data", sets, "--lang", "en", "--json").stdout)["sets"]
    states = {row["set"]: row["state"] for row in rows}
    assert states["STS13"] == "found raw"
    assert states["STS12"].startswith("not found")
    assert "mini-sts" in run("eval", "list").stdout


def test_compare_gives_difference_interval_and_p(run, sets, tmp_path):
    (tmp_path / "letters.py").write_text(
        "import numpy as np\n"
        "def count(texts):\n"
        "    return np.array([[t.count(c) + .1 for c in 'aeiou'] for t in texts])\n"
    )
    words = ["compare", "tfidf", "python:letters.count", "--data", sets, "--set", "STS13", "--resamples", "200"]
    row = json.loads(run(*words, "--json").stdout)["comparisons"][0]["sets"][0]
    assert row["difference"] == pytest.approx(row["first"] - row["second"])
    assert row["interval"][0] <= row["difference"] <= row["interval"][1]
    assert 0 < row["p"] <= 1
    assert "95 % interval" in run(*words).stdout


def test_overlap_of_systems(run, tmp_path):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(f"sentence number {i} about {i % 7} things" for i in range(60)), "utf-8")
    words = ["compare", "tfidf", "tfidf", "--overlap", "--corpus", corpus, "--queries", "5", "-k", "3", "--lang", "de"]
    assert "named twice" in run(*words).stderr
    (tmp_path / "hashing.py").write_text(
        "import numpy as np\nimport zlib\n"
        "def encode(texts):\n"
        "    return np.stack([np.random.default_rng(zlib.crc32(t.encode())).normal(size=8) for t in texts])\n"
    )
    words[2] = "python:hashing.encode"
    record = json.loads(run(*words, "--json").stdout)
    assert record["models"] == ["tfidf", "python:hashing.encode"]
    assert record["overlap"]["3"]["mean"][0][0] == 1.0
    assert record["overlap"]["3"]["mean"][0][1] < 0.4
    assert "N2O, k = 3" in run(*words).stdout


# gensim leaves the file open after it looked for a header.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_word_vector_files(tmp_path):
    pytest.importorskip("gensim", reason="the `vectors` extra is not installed")
    glove, word2vec = tmp_path / "glove.txt", tmp_path / "w2v.vec"
    glove.write_text("cat 1 0\ndog 0 1\n", "utf-8")
    word2vec.write_text("2 2\ncat 1 0\ndog 0 1\n", "utf-8")
    for path in (glove, word2vec):
        vectors = load_system(str(path)).encode(["Cat dog", "cat!", "unknown"])
        assert vectors.tolist() == [[0.5, 0.5], [1.0, 0.0], [0.0, 0.0]]


def test_matrices_and_callables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("v.npy", np.array([[1.0, 2.0], [3.0, 4.0]]))
    Path("v.txt").write_text("a\nb\n", "utf-8")
    assert load_system("v.npy").encode(["b"]).tolist() == [[3.0, 4.0]]
    with pytest.raises(EncoderError, match="holds no vector for 'c'"):
        load_system("v.npy").encode(["c"])
    Path("mine_too.py").write_text("class Two:\n    def encode(self, texts):\n        return [[1, 2]] * len(texts)\n")
    assert load_system("python:mine_too.Two").encode(["x"]) == [[1, 2]]


def test_short_names_tell_systems_apart():
    assert short_names(["tfidf", "runs/a/model", "runs/b/model", "cls:x/y", "mean:x/y"]) == [
        "tfidf",
        "a/model",
        "b/model",
        "cls:y",
        "mean:y",
    ]


def test_models_as_seeds_of_one_system(run, sets, tmp_path):
    for name, shift in (("s1", 0.1), ("s2", 0.9)):
        (tmp_path / f"{name}.py").write_text(
            "import numpy as np\n"
            "def count(texts):\n"
            f"    return np.array([[t.count(c) + {shift} for c in 'aeiou'] for t in texts])\n"
        )
    words = ["eval", "sts", "python:s1.count", "python:s2.count", "--data", sets, "--set", "STS13", "--seeds"]
    record = json.loads(run(*words, "--json").stdout)
    values = [model["scores"][0]["value"] for model in record["models"]]
    assert record["seeds"][0]["mean"] == pytest.approx(np.mean(values))
    assert record["seeds"][0]["deviation"] == pytest.approx(np.std(values, ddof=1))
    assert " ± " in run(*words).stdout


def test_isotropy_and_senteval_from_the_shell(run, tmp_path):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(f"line {i} of {i % 3}" for i in range(30)), "utf-8")
    (tmp_path / "norm.py").write_text(
        "import numpy as np\ndef encode(texts):\n    return np.random.default_rng(0).normal(size=(len(texts), 4))\n"
    )
    record = json.loads(run("eval", "isotropy", "python:norm.encode", "--corpus", corpus, "--json").stdout)
    found = {score["metric"]: score["value"] for score in record["scores"]}
    assert found["isoscore"] > 0.5
    assert abs(found["average_cosine"]) < 0.2
    assert "dense vectors" in run("eval", "isotropy", "tfidf", "--corpus", corpus).stderr
    for name, word in (("rt-polarity.pos", "good"), ("rt-polarity.neg", "dull")):
        (tmp_path / name).write_text("".join(f"{word} film {i}\n" for i in range(20)), "utf-8")
    found = run("eval", "senteval", "tfidf", "--data", tmp_path, "--fast")
    assert found.exit_code == 0
    assert "fast: lbfgs, 5 folds, not nested" in found.stdout
    assert "100.00" in found.stdout
    assert "left out: CR: no file custrev.pos" in found.stderr


def test_words_and_exposure_from_a_store(run, tmp_path):
    rows = "".join(
        f"word{i}\tmeaning {i} of kind {i % 4}\nword{i}\tkind {i % 4} meaning number {i}\n" for i in range(60)
    )
    (tmp_path / "d.tsv").write_text(rows, "utf-8")
    assert run("ingest", "d.tsv", "--lang", "en", "--store", "s.db").exit_code == 0
    record = json.loads(run("eval", "words", "tfidf", "--store", "s.db", "--lang", "en", "--json").stdout)
    found = {score["metric"]: score for score in record["scores"]}
    assert list(found) == ["mrr", "mrr@10", "top1", "top3", "top10", "median_rank"]
    assert found["mrr"]["protocol"] == "leave-one-out"
    assert 0.2 < found["mrr"]["value"] <= 1
    assert "60 candidates" in record["notes"][0]
    (tmp_path / "2013").mkdir()
    (tmp_path / "2013" / "OnWN.test.tsv").write_text("3\tMeaning 1, of kind 1!\tother\n1\ta\tb\n", "utf-8")
    record = json.loads(
        run("eval", "exposure", "--store", "s.db", "--data", tmp_path, "--set", "STS13", "--json").stdout
    )
    assert (record["exact"], record["sets"][0]["pairs"]) == (1, 2)
