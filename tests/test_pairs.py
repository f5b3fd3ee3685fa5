"""Pairs: split by headword, free of leaks, every exclusion counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dictsent.errors import PairsError
from dictsent.pairs import PairSettings, glosses, letters, select, split_of
from dictsent.records import Definition, Dictionary, Entry, Gloss, Pair
from dictsent.store import Origin, Store


def fill(path: Path, meanings: list[tuple[str, str]], **more: object) -> Store:
    store = Store(path / "store.db", create=True)
    entries = [
        Entry(headword=word, language="en", definitions=(Definition(**{"text": text, "language": "en", **more}),))
        for word, text in meanings
    ]
    store.ingest(
        Dictionary(name=f"d{len(store.sources())}", language="en"),
        entries,
        origin=Origin(adapter="tsv", location="x", checksum=repr((meanings, more))),
    )
    return store


MEANINGS = [(f"word{i}", f"meaning number {i}") for i in range(1000)]


def test_split_is_eight_one_one_by_headword_alone() -> None:
    counts = {"train": 0, "dev": 0, "test": 0}
    for word, _ in MEANINGS:
        counts[split_of(word)] += 1
    assert counts == {"train": 790, "dev": 108, "test": 102}


@given(st.text(max_size=12))
def test_case_never_parts_a_word(word: str) -> None:
    if word.upper().casefold() == word.casefold():
        assert split_of(word) == split_of(word.upper())


def test_adding_a_dictionary_moves_no_word(tmp_path: Path) -> None:
    with fill(tmp_path, MEANINGS) as store:
        before = {p.headword: p.split for p in select(store, PairSettings(language="en")).all()}
    with fill(tmp_path, [(f"other{i}", "x") for i in range(50)]) as store:
        after = {p.headword: p.split for p in select(store, PairSettings(language="en")).all()}
    assert before.items() <= after.items()


def test_a_definition_of_a_held_out_word_leaves_train(tmp_path: Path) -> None:
    held = next(word for word, _ in MEANINGS if split_of(word) == "test")
    kept = next(word for word, _ in MEANINGS if split_of(word) == "train")
    with fill(tmp_path, [*MEANINGS, (held, "Shared, by two!"), (kept, "shared by two")]) as store:
        pairs = select(store, PairSettings(language="en"))
        everything = select(store, PairSettings(language="en", split="none"))
    assert (kept, "shared by two") not in {(p.headword, p.definition) for p in pairs.train}
    assert pairs.left_out["also defining a dev or test word"] == 1
    assert len(everything.train) == 1002
    assert everything.dev == everything.test == ()


def test_forms_and_translations_are_left_out_and_counted(tmp_path: Path) -> None:
    fill(tmp_path, MEANINGS).close()
    fill(tmp_path, [("cats", "plural of cat")], form_of="cat").close()
    fill(tmp_path, [("cat", "Katze")], language="de").close()
    with fill(tmp_path, [("cat", "chat")], translation=True) as store:
        pairs = select(store, PairSettings(language="en"))
        every = select(store, PairSettings(language="en", form_of=True, translations=True))
    assert pairs.left_out["only forms of other words"] == 1
    assert pairs.left_out["in another language"] == 2
    assert len(every.all()) + sum(every.left_out.values()) == 1003


def test_limit_takes_whole_entries_and_the_same_ones(tmp_path: Path) -> None:
    two_each = [*MEANINGS, *((w, f"{t} again") for w, t in MEANINGS)]
    with fill(tmp_path, two_each) as store:
        small, large = (select(store, PairSettings(language="en", limit=n)) for n in (100, 301))
    assert len(small.all()) == 100
    assert len(large.all()) == 300
    assert {p.headword for p in small.all()} < {p.headword for p in large.all()}
    assert large.left_out["beyond --limit"] == 1700


def test_merging_case_makes_one_entry(tmp_path: Path) -> None:
    with fill(tmp_path, [("Polish", "from Poland"), ("polish", "to make shine")]) as store:
        plain = select(store, PairSettings(language="en"))
        merged = select(store, PairSettings(language="en", merge_case=True))
    assert len({p.entry for p in plain.all()}) == 2
    assert len({p.entry for p in merged.all()}) == 1


def test_texts_to_leave_out_are_compared_by_letters(tmp_path: Path) -> None:
    with fill(tmp_path, MEANINGS) as store:
        pairs = select(store, PairSettings(language="en"), exclude={letters("Meaning, number 7.")})
    assert pairs.left_out["excluded by text"] == 1
    assert len(pairs.all()) == 999


def test_glosses_gather_headwords_and_examples() -> None:
    pairs = [Pair(1, "car", "a vehicle"), Pair(2, "auto", "a vehicle"), Pair(1, "car", "a wagon")]
    found = glosses(pairs, {"a vehicle": ("my car",)})
    assert found == [Gloss("a vehicle", ("car", "auto"), ("my car",)), Gloss("a wagon", ("car",), ())]


def test_too_few_says_how_many_why_and_what_to_do(tmp_path: Path) -> None:
    fill(tmp_path, [("cats", "plural of cat")], form_of="cat").close()
    with fill(tmp_path, MEANINGS[:5]) as store:
        pairs = select(store, PairSettings(language="en", split="none"))
    with pytest.raises(PairsError, match=r"only 5 definitions.*1 only forms of other words.*--form-of"):
        pairs.require_training()
