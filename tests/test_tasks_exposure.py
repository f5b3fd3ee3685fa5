"""The exposure audit: exact and near matches, scores without them, and the real count on WordNet 3.0."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dictsent.evaluate import available, evaluate_unexposed, main_scores
from dictsent.pairs import letters
from dictsent.tasks.data import Choice
from dictsent.tasks.exposure import audit, exposed_texts, unexposed
from dictsent.tasks.own import own_pairs

ROWS = (
    "5\tA  small, furry PET!\tsomething else\n"
    "3\tquite another thing\ta large bird that cannot fly at all\n"
    "1\tit rains\tthe sun shines\n"
    "0\t!!!\t???\n"
)
DEFINITIONS = ["a small furry pet", "a large bird that cannot fly", "...", "sun"]


@pytest.fixture
def pairs(tmp_path: Path):
    path = tmp_path / "own.tsv"
    path.write_text(ROWS, "utf-8")
    return own_pairs(path, language="en")


def test_exact_and_near_matches_are_told_apart(pairs):
    found = audit([pairs], DEFINITIONS)[0]
    assert (found.pairs, found.exact, found.near) == (4, 1, 0)  # 6 of 8 words: not near
    found = audit([pairs], [*DEFINITIONS, "a large bird that cannot fly at all really"])[0]
    assert (found.exact, found.near) == (1, 1)
    assert found.examples == ("A  small, furry PET!",)
    assert audit([pairs], DEFINITIONS, near=False)[0].near is None


def test_marks_alone_are_no_text(pairs):
    assert audit([pairs], ["...", "—"])[0].exact == 0


def test_near_search_finds_what_comparing_all_with_all_finds(pairs):
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    texts = [" ".join(words[i : i + 5 + i % 4]) for i in range(6)]
    for text in texts:
        mine = set(text.split())
        by_hand = any(len(mine & set(t.split())) / len(mine | set(t.split())) >= 0.8 for t in texts if t != text)
        pairs_of_one = type(pairs)(
            copy=pairs.copy, subsets=(type(pairs.subsets[0])(
                name="", first=(text,), second=("zzz",), gold=pairs.subsets[0].gold[:1]),)
        )  # fmt: skip
        others = [t for t in texts if t != text]
        assert audit([pairs_of_one], others)[0].near == int(by_hand), text


def test_pairs_are_left_out_and_texts_given_to_training(pairs):
    kept = unexposed(pairs, DEFINITIONS)
    assert kept.gold.tolist() == [3.0, 1.0, 0.0]
    assert letters("A SMALL furry pet.") in exposed_texts([pairs])
    assert "" not in exposed_texts([pairs])


@pytest.mark.data
def test_wordnet_3_0_holds_2249_pairs(data_folder):
    glosses = set()
    for part in ("noun", "verb", "adj", "adv"):
        for line in (data_folder / "dict" / "wordnet-3.0" / f"data.{part}").read_text("utf-8").split("\n"):
            if " | " in line and not line.startswith("  "):
                glosses.add(line.split(" | ", 1)[1].split('; "')[0].strip())
    sets, _ = available(Choice(names=("STS12", "STS13", "STS14")), [data_folder])
    exposed = {row.task: row.exact for row in audit(sets, glosses, near=False) if row.exact}
    assert exposed == {"STS12/OnWN": 750, "STS13/FNWN": 188, "STS13/OnWN": 561, "STS14/OnWN": 750}
    assert sum(exposed.values()) == 2249


def test_scores_with_and_without_what_a_store_holds(pairs):
    class Lengths:
        def __init__(self):
            self.seen = []

        def encode(self, texts, /):
            self.seen += texts
            return np.array([[len(text), text.count("e") + 1.0] for text in texts])

    encoder = Lengths()
    scores = evaluate_unexposed(encoder, [pairs], DEFINITIONS)
    assert [(s.variant, s.n) for s in scores] == [("own", 4), ("own-not-in-store", 3)]
    assert main_scores(scores) == scores[:1]
    assert len(encoder.seen) == len(set(encoder.seen))
    assert len(evaluate_unexposed(encoder, [pairs], ["nothing of it"])) == 1
