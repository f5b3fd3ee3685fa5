"""Recipes: their form is checked to the key, and one runs from a dictionary to its table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_cli import MANY, one_line

from dictsent.adapter import identify, installed
from dictsent.errors import AmbiguousFormatError, DictsentError
from dictsent.recipe.settings import load_recipe, own_recipes

GOOD = """
title = "A trial"
language = "en"

[[source]]
path = "words.tsv"
language = "en"

[[system]]
name = "tf-idf"
baseline = "tfidf"

[[system]]
name = "DefSent+"
encoder = "{encoder}"
method = "defsent-plus"
train = {{ pst = 2, learning_rates = [1e-3] }}

[expect."DefSent+"]
"mini-sts" = [{least}, 100]
"""


def test_own_recipes_have_the_right_form() -> None:
    names = {path.name.removesuffix(".toml") for path in own_recipes()}
    assert {"quickstart", "wordnet-full"} <= names
    assert all(load_recipe(name).system for name in names)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("title =", "titel =", "unknown key 'titel'; did you mean title?"),
        ("pst = 2", "pts = 2", "unknown key 'pts'; did you mean pst?"),
        ("pst = 2", "pst = 0", "at least 1"),
        ('language = "en"\n\n', 'language = "qwertyish"\n\n', "qwertyish"),
        ('baseline = "tfidf"', 'baseline = "bm25"', "no baseline is named 'bm25'"),
        ('path = "words.tsv"', "", "a source has either a path or find"),
        ('[expect."DefSent+"]', "[expect.Other]", "a system that is not there: 'Other'"),
        ("[0, 100]", "[100, 0]", "must be"),
        ("[[system]]", "[[system]", "not TOML"),
    ],
)
def test_a_wrong_recipe_is_one_line(tmp_path: Path, before: str, after: str, message: str) -> None:
    text = GOOD.format(encoder="x", least=0)
    assert before in text
    path = tmp_path / "trial.toml"
    path.write_text(text.replace(before, after, 1))
    with pytest.raises(DictsentError) as caught:
        load_recipe(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_from_a_recipe_to_its_table(run_cli: Callable[..., Any], tiny_bert: Path) -> None:
    Path("words.tsv").write_text(MANY)
    for name, least in (("good", -100), ("strict", 99)):
        Path(f"{name}.toml").write_text(GOOD.format(encoder=tiny_bert, least=least))
    result = run_cli("run", "good.toml", "--check", "--json")
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["rows"]
    assert [(row["system"], row["step"]) for row in rows] == [("tf-idf", 0), ("DefSent+", 1), ("DefSent+", 2)]
    variants = {s["variant"] for s in rows[-1]["scores"] if s["task"] == "words"}
    assert variants == {"entries", "pooler"}
    record = json.loads(Path(rows[-1]["folder"], "record.json").read_text())
    assert {s["task"] for s in record["scores"]} == {"mini-sts", "words"}
    message = one_line(run_cli("run", "strict.toml", "--check"))
    assert "DefSent+ mini-sts is" in message
    assert "expected 99 to 100" in message
    shown = run_cli("run", "good.toml").stdout
    assert "Sentence similarity" in shown
    assert "Word prediction" in shown


def test_two_adapters_that_claim_one_file(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text("cat\tan animal\ndog\tit barks\n")
    tsv = installed()["tsv"]

    class Other(tsv):
        name = "other"

    assert identify(str(path), installed()) is tsv
    with pytest.raises(AmbiguousFormatError, match=r"both tsv and other claim this; choose with --adapter tsv"):
        identify(str(path), {"tsv": tsv, "other": Other})
