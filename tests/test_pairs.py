"""Pairs: split by headword, free of leaks, every exclusion counted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dictsent.errors import PairsError
from dictsent.pairs import PairSettings, glosses, letters, select, split_of
from dictsent.pairs.cleaning import holds_headword, is_reference, without_html, without_labels
from dictsent.pairs.duplicates import without_near
from dictsent.records import Definition, Dictionary, Entry, Gloss, Pair
from dictsent.store import DefinitionRow, Origin, Store


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


def row(text: str, entry: int = 1, **more: object) -> DefinitionRow:
    return DefinitionRow(entry, "word", text, **{"language": "en", "form_of": False, "translation": False, **more})


def test_the_best_of_near_duplicates_stays() -> None:
    rows = [
        row("a large cat."),
        row("A large cat"),
        row("a small dog", examples=1),
        row("a small dog,", examples=0),
        row("A large cat!", entry=2),
        row("a large cat", language="de"),
    ]
    left_out: Counter[str] = Counter()
    kept = list(without_near(rows, 0.9, left_out))
    assert [(r.entry, r.text, r.language) for r in kept] == [
        (1, "a large cat.", "en"),
        (1, "a small dog,", "en"),
        (2, "A large cat!", "en"),
        (1, "a large cat", "de"),
    ]
    assert left_out == {"nearly the same as another": 2}


def test_a_preferred_source_wins_over_a_longer_text() -> None:
    rows = [row("a very large cat", rank=3), row("a very large cat!", rank=2), row("A very large cat", rank=0)]
    assert [r.rank for r in without_near(rows, 0.9, Counter(), preferred=1)] == [0]
    assert [r.rank for r in without_near(rows, 0.9, Counter())] == [2]
    assert list(without_near(rows, 1.0, Counter())) == [rows[1]]
    different = [row("a cat"), row("a dog")]
    assert list(without_near(different, 0.9, Counter())) == different


def test_near_and_preference_by_the_store(tmp_path: Path) -> None:
    for texts in (["a large cat. "], ["A large cat", "something else"]):
        fill(tmp_path, [("cat", text) for text in texts]).close()
    with fill(tmp_path, MEANINGS) as store:
        for prefer, kept in (((), "a large cat."), (("d1",), "A large cat")):
            near = select(store, PairSettings(language="en", near=0.9, split="none", prefer=prefer))
            cats = [p.definition for p in near.train if p.headword == "cat"]
            assert cats == [kept, "something else"] or cats == ["something else", kept]
            assert near.left_out["nearly the same as another"] == 1
        assert len(select(store, PairSettings(language="en", split="none")).train) == 1003
        assert len(content_of(store)) == 1003


def content_of(store: Store) -> list[str]:
    return [row.text for row in store.definitions("en")]


def test_one_definition_under_spellings_of_a_word(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.db", create=True)
    entries = [
        Entry(headword=word, language="en", spellings=also, definitions=(Definition(text=text, language="en"),))
        for word, also, text in [
            ("grey", (), "between black and white"),
            ("gray", ("grey", "grai"), "between black and white"),
            ("gray", (), "a unit of radiation"),
            ("grai", (), "between black and white"),
            ("dun", (), "between black and white"),
        ]
    ]
    store.ingest(
        Dictionary(name="one", language="en"), entries, origin=Origin(adapter="tsv", location="x", checksum="x")
    )
    every = select(store, PairSettings(language="en", split="none"))
    once = select(store, PairSettings(language="en", split="none", variants=False))
    assert len(every.train) == 5
    assert [(p.headword, p.definition) for p in once.train] == [
        ("grey", "between black and white"),
        ("gray", "a unit of radiation"),
        ("dun", "between black and white"),
    ]
    assert once.left_out["under another spelling of the word"] == 2


def test_the_papers_rule_joins_case_and_drops_what_is_twice(tmp_path: Path) -> None:
    with fill(tmp_path, [("Polish", "a language"), ("polish", "to make shine"), ("polish", "a language")]) as store:
        exact = select(store, PairSettings(language="en", split="none"))
        paper = select(store, PairSettings(language="en", split="none", dedup="paper"))
    assert (len({p.entry for p in exact.train}), len(exact.train)) == (2, 3)
    assert (len({p.entry for p in paper.train}), len(paper.train)) == (1, 2)
    assert paper.left_out["the same definition of the entry"] == 1


REFERENCES = [
    *(
        "See dog",
        "See also dog.",
        "see also “dog”",
        "Cf. dog",
        "= dog",
        "→ dog",
        "plural of dog",
        "Plural of dog.",
        "vide dog",
    ),
    *(
        "past tense of go",
        "simple past and past participle of walk",
        "alternative spelling of colour",
        "comparative of late",
    ),
    *("third-person singular simple present indicative of go", "obsolete form of shew", "misspelling of receive"),
    *(
        "siehe Hund",
        "vgl. Hund",
        "Voir chien.",
        "pluriel de chien",
        "pluriel d’oiseau",
        "Véase perro",
        "plural de perro",
    ),
    *("Vedi cane", "plurale di cane", "zie hond", "meervoud van hond", "см. собака", "zob. pies", "viz pes"),
    *(
        "Genitiv Singular des Substantivs Hund",
        "犬を参照",
        "「犬」に同じ。",
        "→犬",
        "见“狗”",
        "同「狗」",
        "「犬」の複数形",
        "→ 개",
    ),
]
MEANINGFUL = [
    *(
        "ziel eines forschungsvorhabens",
        "ziekte door een virus",
        "vizcachas.",
        "Videira do Brasil.",
        "variante del idioma",
    ),
    *(
        "see or hear something",
        "see a movie",
        "voir avec attention",
        "ver de lejos",
        "compare prices for an item",
        "a dog",
    ),
    *(
        "a form of government in which the people rule",
        "the plural number",
        "past the time of youth",
        "more than one dog",
    ),
    *(
        "a common form of entertainment in the villages of the north",
        "equal to four quarters",
        "犬の一種",
        "见到某人的时候",
        "同意",
    ),
    *(
        "See of a bishop who lives in the capital and its neighbourhood",
        "plural of majesty is used by kings, who say we",
    ),
    *("spelling of words, and the study of it", "", "x = y for all x in the set"),
]


@pytest.mark.parametrize("text", REFERENCES)
def test_references_are_told(text: str) -> None:
    assert is_reference(text)


@pytest.mark.parametrize("text", MEANINGFUL)
def test_meanings_are_no_references(text: str) -> None:
    assert not is_reference(text)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a <b>big</b> dog<br/>that barks", "a big dog that barks"),
        ("<!-- x -->a &amp; b&nbsp;&#39;c&#x27;", "a & b 'c'"),
        ("a < b and c > d", "a < b and c > d"),
        ("AT&T; the <unknown> thing & more", "AT&T; the <unknown> thing & more"),
        ('<a href="x">dog</a>', "dog"),
        ("<i></i>", ""),
    ],
)
def test_html_is_taken_out(text: str, plain: str) -> None:
    assert without_html(text) == plain


def test_labels_and_headwords() -> None:
    assert without_labels("(botany) [rare] a plant (or tree)") == "a plant (or tree)"
    assert without_labels("（植物）木") == "木"
    assert without_labels("(a dog)") == "(a dog)"
    assert holds_headword("A dog that barks", "dog")
    assert not holds_headword("dogged", "dog")
    assert holds_headword("小さな犬小屋", "犬小屋")
    assert not holds_headword("a b", "b")


def test_cleaning_is_counted_and_optional(tmp_path: Path) -> None:
    noisy = [
        ("dogs", "plural of dog"),
        ("hut", "a <b>small</b> house"),
        ("oak", "(botany) a tree"),
        ("run", "to run fast"),
        ("void", "<br>"),
        ("id", "it"),
    ]
    with fill(tmp_path, noisy) as store:
        plain = select(store, PairSettings(language="en", split="none"))
        raw = select(store, PairSettings(language="en", split="none", references=True, html=True))
        strict = select(
            store, PairSettings(language="en", split="none", labels=False, circular=False, shortest=3, longest=13)
        )
    assert {p.headword: p.definition for p in plain.train} == {
        "hut": "a small house",
        "oak": "(botany) a tree",
        "run": "to run fast",
        "id": "it",
    }
    assert plain.left_out == {
        "only pointing to another word": 1,
        "nothing but markup": 1,
        "also defining a dev or test word": 0,
    }
    assert plain.changed == {"HTML taken out": 2}
    assert [p.definition for p in raw.train] == [text for _, text in noisy]
    assert {p.definition for p in strict.train} == {"a small house", "a tree"}
    assert strict.left_out["holding their headword"] == strict.left_out["too short"] == 1
    assert strict.changed["labels taken off"] == 1
    with pytest.raises(PairsError, match="shorter than the shortest"):
        PairSettings(language="en", shortest=5, longest=3)
