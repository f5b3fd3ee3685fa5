"""Sets as users bring them: each fault is a note or one line, never a traceback, never nan as a score."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROWS = [(float(n % 6), f"A sentence about {n} cats", f"One about {n + n % 3} cats and dogs") for n in range(40)]


def tsv(rows=ROWS, end="\n") -> str:
    return "".join(f"{score}\t{first}\t{second}{end}" for score, first, second in rows)


@pytest.fixture
def score(run_cli: Callable[..., Any]) -> Callable[..., Any]:
    """`eval sts tfidf --pairs` on a file with this content: (exit code, scores, everything on stderr)."""

    def call(content: str | bytes, *more: object) -> tuple[int, list[dict[str, Any]], str]:
        raw = content if isinstance(content, bytes) else content.encode()
        Path("own.tsv").write_bytes(raw)
        done = run_cli("eval", "sts", "tfidf", "--pairs", "own.tsv", "--lang", "en", "--json", *more)
        assert "Traceback" not in done.stderr
        assert "nan" not in done.stdout.lower()
        record = json.loads(done.stdout) if done.stdout else {"scores": [], "notes": []}
        return done.exit_code, record["scores"], done.stderr + "".join(record["notes"])

    return call


def test_clean(score):
    code, scores, said = score(tsv())
    assert (code, scores[0]["n"], said) == (0, 40, "")


def test_blank_gold_is_no_score_and_never_0(score):
    code, scores, _ = score(tsv().replace("0.0\tA sentence about 12 ", "\tA sentence about 12 "))
    assert (code, scores[0]["n"]) == (0, 39)


def test_bom_crlf_and_form_feeds_change_nothing(score):
    plain = score(tsv())[1][0]["value"]
    assert score(b"\xef\xbb\xbf" + tsv(end="\r\n").encode())[1][0]["value"] == plain
    assert score(tsv().encode("utf-16"))[1][0]["value"] == plain
    code, scores, _ = score(tsv().replace("cats and", "cats\x0c\u2028 and"))
    assert (code, scores[0]["n"]) == (0, 40)


def test_quoted_newlines(score):
    lines = "".join(f'"{first}","{second}\nand more ""so""",{gold}\n' for gold, first, second in ROWS)
    code, scores, _ = score("sentence1,sentence2,score\n" + lines)
    assert (code, scores[0]["n"]) == (0, 40)


def test_a_quote_that_is_never_closed_in_tabs_is_text(score):
    code, scores, _ = score(tsv().replace("A sentence about 3 ", '"A sentence about 3 '))
    assert (code, scores[0]["n"]) == (0, 40)


def test_one_empty_sentence_is_left_out_and_said(score):
    code, scores, said = score(tsv().replace("A sentence about 5 cats", ""))
    assert code == 0
    assert scores[0]["n"] == 39
    assert "own.tsv:6: empty sentence" in said


def test_one_row_of_shifted_columns_is_left_out_and_said(score):
    code, scores, said = score(tsv([*ROWS[:-1], ("A sentence", "5", "moved")]))
    assert (code, scores[0]["n"]) == (0, 39)
    assert "own.tsv:40: score is not a number" in said


def test_a_file_of_shifted_columns_is_no_score(score):
    shifted = "".join(f"x\t{first}\t{second}\n" for _, first, second in ROWS)
    code, scores, said = score(shifted)
    assert (code, scores) == (1, [])
    assert "cannot be told" in said


def test_columns_that_shift_midway_are_an_error(score):
    mixed = tsv(ROWS[:20]) + "".join(f"{first}\t{second}\t{gold}\n" for gold, first, second in ROWS[20:])
    code, scores, said = score(mixed)
    assert (code, scores) == (1, [])
    assert "own.tsv" in said


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff"])
def test_an_empty_file(score, text):
    code, _, said = score(text)
    assert code == 1
    assert "own.tsv" in said


def test_another_encoding(score):
    code, _, said = score(tsv().replace("cats", "chats félins").encode("latin-1"))
    assert code == 1
    assert "is not UTF-8" in said


@pytest.mark.parametrize("word", ["nan", "inf", "1e999"])
def test_scores_that_are_no_numbers(score, word):
    code, scores, _ = score(tsv().replace("5.0\tA sentence about 11 ", f"{word}\tA sentence about 11 "))
    assert (code, scores[0]["n"]) == (0, 39)


def test_a_constant_model_is_undefined_not_nan(run_cli):
    Path("own.tsv").write_text(tsv(), encoding="utf-8")
    Path("same.py").write_text("def encode(texts):\n    return [[1.0, 2.0]] * len(texts)\n")
    done = run_cli("eval", "sts", "python:same.encode", "--pairs", "own.tsv", "--lang", "en", "--json")
    record = json.loads(done.stdout)
    assert record["scores"][0]["value"] is None
    assert "undefined: all pairs get the same similarity" in record["notes"][0]
    shown = run_cli("eval", "sts", "python:same.encode", "--pairs", "own.tsv", "--lang", "en")
    assert "nan" not in shown.stdout.lower()


def test_a_model_that_gives_nan(run_cli):
    Path("own.tsv").write_text(tsv(), encoding="utf-8")
    Path("broken.py").write_text("def encode(texts):\n    return [[float('nan')]] * len(texts)\n")
    done = run_cli("eval", "sts", "python:broken.encode", "--pairs", "own.tsv", "--lang", "en")
    assert done.exit_code == 1
    assert "not finite" in done.stderr


def test_constant_gold_is_undefined(score):
    code, scores, _ = score(tsv([(3.0, first, second) for _, first, second in ROWS]))
    assert (code, scores[0]["value"]) == (0, None)


@pytest.fixture
def sets() -> Path:
    """A folder with STS13's three subsets, given a scale of 0 to 5 by the registry."""
    folder = Path("sets/2013")
    folder.mkdir(parents=True)
    for name in ("FNWN", "headlines", "OnWN"):
        (folder / f"{name}.test.tsv").write_text(tsv(), encoding="utf-8")
    return folder


def test_scores_outside_the_range(run_cli, sets):
    (sets / "OnWN.test.tsv").write_text(tsv([*ROWS, (7.0, "Too", "much")]), encoding="utf-8")
    record = json.loads(run_cli("eval", "sts", "tfidf", "--data", "sets", "--set", "STS13", "--json").stdout)
    assert record["scores"][0]["n"] == 120
    assert any("OnWN.test.tsv:41" in text for text in record["notes"])


def test_a_set_of_another_scale_is_no_score(run_cli, sets):
    (sets / "OnWN.test.tsv").write_text(tsv([(20 * gold + 10, a, b) for gold, a, b in ROWS]), encoding="utf-8")
    done = run_cli("eval", "sts", "tfidf", "--data", "sets", "--set", "STS13")
    assert done.exit_code == 1
    assert "OnWN.test.tsv" in done.stderr


def test_a_set_named_twice_and_a_language_it_lacks(run_cli, sets):
    done = run_cli("eval", "sts", "tfidf", "--data", "sets", "--set", "STS13", "--set", "sts13")
    assert (done.exit_code, "named twice" in done.stderr) == (1, True)
    done = run_cli("eval", "sts", "tfidf", "--data", "sets", "--lang", "xh")
    assert done.exit_code == 1
    assert "no similarity set for Xhosa" in done.stderr
    assert "dictsent eval language" in done.stderr


def test_a_set_of_another_language_than_the_model_s(run_cli):
    rows = [{"sentence1": a, "sentence2": b, "label": gold} for gold, a, b in ROWS]
    folder = Path("sets/jsts-v1.1")
    folder.mkdir(parents=True)
    (folder / "valid-v1.1.json").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = run_cli("eval", "sts", "tfidf", "--data", "sets", "--set", "JSTS", "--lang", "de", "--split", "dev")
    assert done.exit_code == 0
    assert "JSTS (ja) is in Japanese, the model or --lang says German" in done.stderr
