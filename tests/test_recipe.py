"""Recipes: their form is checked to the key, and one runs from a dictionary to its table."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from test_cli import MANY, one_line

from dictsent.adapter import identify, installed
from dictsent.errors import AmbiguousFormatError, DictsentError, RecipeError
from dictsent.recipe.settings import STEP, grid_points, load_recipe, own_recipes
from dictsent.settings import TrainSettings, defaults

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


@pytest.mark.parametrize("name", own_recipes())
def test_own_recipes_have_the_right_form(name: str) -> None:
    recipe = load_recipe(name)
    for system in recipe.system:
        assert system.points
        for point in system.points if system.method else ():
            TrainSettings(**{"method": system.method, "pooling": "mean", **defaults(system.method), **point})  # type: ignore[arg-type]
    if recipe.paper:
        assert recipe.expect, "a paper's recipe says what the paper scored"
        rated = [system for system in recipe.system if system.method]
        assert all(any(key.split(STEP)[0] == s.name for key in recipe.expect) for s in rated if not s.grid)


def test_the_package_has_the_papers_recipes() -> None:
    names = set(own_recipes())
    backbones = {"bert-base", "bert-large", "roberta-base", "roberta-large"}
    assert {"quickstart", "wordnet-full"} <= names
    assert {f"defsent/{backbone}" for backbone in backbones} <= names
    assert {f"defsent-plus/{start}{b}" for start in ("", "simcse-", "sncse-") for b in backbones} <= names
    folder = Path(str(files("dictsent").joinpath("recipes")))
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert {name for name in names if f"`{name}`" not in readme} == set()


def test_what_may_be_in_a_grid() -> None:
    grid = {"combination": ["cls-amp", "mean-ac"], "learning_rates": [1e-5, [3e-5, 2e-5]], "isotropy": ["none", "ica"]}
    points = grid_points(grid)
    assert len(points) == 8
    assert points[0] == {"pooling": "cls", "entries": "amp", "learning_rates": (1e-5,), "isotropy": "none"}
    assert points[-1] == {"pooling": "mean", "entries": "ac", "learning_rates": (3e-5, 2e-5), "isotropy": "ica"}
    assert grid_points({}) == ({},)


GRID = "train = {{ pst = 2 }}\ngrid = {{ {} }}"
TRAIN = "train = { pst = 2, learning_rates = [1e-3] }"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("title =", "titel =", "unknown key 'titel'; did you mean title?"),
        ("pst = 2", "pts = 2", "unknown key 'pts'; did you mean pst?"),
        ("pst = 2", "pst = 0", "at least 1"),
        ("pst = 2", 'pst = "two"', "pst must be a whole number, not 'two'"),
        ("pst = 2", "pst = true", "pst must be a whole number, not True"),
        ("pst = 2", "seed = 2", "unknown key 'seed'; seeds stand at the top of the recipe"),
        ("pst = 2", 'pooling = "clss"', 'pooling must be "cls" or "mean" or "max" or "weighted", not \'clss\''),
        ('language = "en"\n\n', 'language = "qwertyish"\n\n', "qwertyish"),
        ('language = "en"\n\n', 'language = "en"\nseed = 1\n\n', "unknown key 'seed'; it is seeds = [0] now"),
        ('language = "en"\n\n', 'language = "en"\nseeds = []\n\n', "different whole numbers from 0 on"),
        ('language = "en"\n\n', 'language = "en"\nseeds = [1, 1]\n\n', "different whole numbers from 0 on"),
        ('language = "en"\n\n', 'language = "en"\nseeds = 3\n\n', "seeds must be a list, each a whole number, not 3"),
        ('language = "en"\n\n', 'language = "en"\nlimit = 0\n\n', "limit is at least 1"),
        ('language = "en"\n\n', 'language = "en"\ntransfer = 2\n\n', "how many of the 1 seeds, not 2"),
        ('language = "en"\n\n', 'language = "en"\nsplit = "half"\n\n', 'split must be "hash" or "none", not \'half\''),
        ("title = ", "dedup = 1\ntitle = ", 'dedup must be "exact" or "paper", not 1'),
        ('baseline = "tfidf"', 'baseline = "bm25"', "unknown baseline 'bm25'; known: tfidf"),
        ('baseline = "tfidf"', 'baseline = "tfidf"\nevaluation = "cls"', "evaluation is the pooling of an encoder"),
        ('baseline = "tfidf"', 'baseline = "tfidf"\ntrain = { pst = 1 }', "train needs a method"),
        ('baseline = "tfidf"', 'baseline = "tfidf"\ncriterion = "sts"', "criterion needs a method"),
        ('method = "defsent-plus"', 'method = "defsent+"', "unknown method 'defsent+'; did you mean defsent"),
        ('method = "defsent-plus"', 'method = "defsent"', "--pst and --isotropy belong to DefSent+"),
        ('path = "words.tsv"', "", "a source has either a path or find"),
        ('path = "words.tsv"', 'find = "wordnet"', "unknown find 'wordnet'; did you mean wordnet-3.0?"),
        ('path = "words.tsv"', 'find = "wordnet-3.0"\nask = "it"', "ask belongs to a path"),
        ('name = "tf-idf"', 'name = "DefSent+"', "two systems are named 'DefSent+'"),
        ('[expect."DefSent+"]', "[expect.Other]", "a system that is not there: 'Other'"),
        ('[expect."DefSent+"]', '[expect."DefSent+ step 3"]', "a system that is not there: 'DefSent+ step 3'"),
        ("[0, 100]", "[100, 0]", "must be [least, most]"),
        ("[0, 100]", '["low", "high"]', "must be [least, most]"),
        ('"mini-sts" = [0, 100]', '"STSB" = [0, 100]', "unknown score 'STSB'; did you mean STS-B?"),
        ('"mini-sts" = [0, 100]', '"TREC" = [0, 100]', "unknown score 'TREC'"),
        ("[[system]]", "[[system]", "not TOML"),
        (
            TRAIN,
            GRID.format("learning_rates = [1e-5]"),
            "a grid has at least two points, learning_rates has 1; put the",
        ),
        (TRAIN, GRID.format("batch_size = 16"), "grid must be a table, not"),
        (TRAIN, GRID.format("lr = [1e-5, 2e-5]"), "unknown key 'lr'; did you mean learning_rates?"),
        (TRAIN, GRID.format("batch_sizes = [1, 2]"), "unknown key 'batch_sizes'; did you mean batch_size?"),
        (TRAIN, GRID.format("pst = [1, 2]"), "pst stands in train and in grid"),
        (TRAIN, GRID.format("batch_size = [16, 16]"), "grid batch_size holds a value twice"),
        (TRAIN, GRID.format("learning_rates = [1e-5, 2.0]"), "learning rates lie between 0 and 1"),
        (TRAIN, GRID.format('batch_size = [16, "32"]'), "grid batch_size holds '32', which is not a whole number"),
        (TRAIN, GRID.format('combination = ["cls-amp", "cls"]'), "'cls' is no combination; cls or mean or max or"),
        (TRAIN, GRID.format('combination = ["cls-amp", 3]'), "3 is no combination"),
        (
            TRAIN,
            GRID.format('combination = ["cls-amp", "cls-ac"], pooling = ["cls", "mean"]'),
            "combination is pooling and entries together",
        ),
        (TRAIN, f'{TRAIN}\nevaluation = "prompts"', 'evaluation must be "cls" or "mean" or "max" or "prompt", not'),
        (TRAIN, f'{TRAIN}\ncriterion = "mrr"', 'criterion must be "words" or "sts", not \'mrr\''),
    ],
)
def test_a_wrong_recipe_is_one_line(tmp_path: Path, before: str, after: str, message: str) -> None:
    text = GOOD.format(encoder="x", least=0)
    assert before in text
    path = tmp_path / "trial.toml"
    path.write_text(text.replace(before, after.replace("{{", "{").replace("}}", "}"), 1))
    with pytest.raises(DictsentError) as caught:
        load_recipe(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_dev_criterion_needs_dev_headwords(tmp_path: Path) -> None:
    text = GOOD.format(encoder="x", least=0).replace(TRAIN, f'{TRAIN}\ncriterion = "words"')
    (tmp_path / "trial.toml").write_text(text.replace('language = "en"\n', 'language = "en"\nsplit = "none"\n', 1))
    with pytest.raises(RecipeError, match='criterion = "words" needs dev headwords: split = "hash"'):
        load_recipe(str(tmp_path / "trial.toml"))


def test_data_that_is_not_public_is_asked_for(run_cli: Callable[..., Any]) -> None:
    """All that is missing in one line, before anything is begun."""
    text = GOOD.format(encoder="their-encoder", least=0)
    text = text.replace('path = "words.tsv"', 'path = "words.tsv"\nask = "the word list"')
    text = text.replace('encoder = "their-encoder"', 'encoder = "their-encoder"\nask = "the checkpoint"')
    Path("trial.toml").write_text(text)
    assert run_cli("run", "trial.toml", "--dry-run").exit_code == 0
    message = one_line(run_cli("run", "trial.toml"))
    assert "put at words.tsv: the word list; put at their-encoder: the checkpoint" in message
    assert not Path("dictsent.db").exists()
    Path("words.tsv").write_text(MANY)
    message = one_line(run_cli("run", "trial.toml"))
    assert "words.tsv" not in message


def test_the_list_of_recipes(run_cli: Callable[..., Any]) -> None:
    rows = json.loads(run_cli("run", "--list", "--json").stdout)["recipes"]
    assert [row["recipe"] for row in rows] == list(own_recipes())
    assert next(row for row in rows if row["recipe"] == "defsent/bert-base")["needs"] == ["oxford"]
    shown = run_cli("run", "--list").stdout
    assert all(name in shown for name in own_recipes())
    assert "did you mean defsent/bert-base?" in one_line(run_cli("run", "defsent/bertbase"))
    assert run_cli("run").exit_code == 2


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
    record = json.loads(Path(rows[-1]["folders"][0], "record.json").read_text())
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
