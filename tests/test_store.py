"""The store: what goes in comes out, nothing is lost by de-duplication, one transaction a source."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from dictsent.errors import EmptyStoreError, LanguageError, SchemaError, SourceError, StoreError
from dictsent.records import Definition, Dictionary, Entry, Example, Rejected, comparison_form, fold_space
from dictsent.store import Origin, Store, database
from dictsent.store.database import VERSION, schema

SCHEMA_DIGEST = "d6954d621c0a2277"
"""If this test fails you changed schema.sql: raise user_version and VERSION, write a migration, then set this."""


def test_schema_changes_only_with_its_version() -> None:
    digest = hashlib.sha256(schema().encode()).hexdigest()[:16]
    assert (VERSION, digest) == (3, SCHEMA_DIGEST)
    assert f"PRAGMA user_version = {VERSION};" in schema()


def entry(headword: str, *texts: str, language: str = "en", **more: object) -> Entry:
    return Entry(
        headword=headword,
        language=language,
        definitions=tuple(Definition(text=t, language=language) for t in texts),
        **more,
    )


def origin(name: str, checksum: str = "") -> Origin:
    return Origin(adapter="tsv", location=f"/files/{name}", checksum=checksum or name)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db", create=True) as opened:
        yield opened


def put(store: Store, name: str, *entries: Entry | Rejected, version: str = "", checksum: str = "") -> object:
    dictionary = Dictionary(name=name, language="en", version=version)
    return store.ingest(dictionary, entries, origin=origin(name, checksum))


def content(store: Store, language: str = "en") -> list[tuple[str, str]]:
    return [(row.headword, row.text) for row in store.definitions(language)]


def test_every_field_comes_back(store: Store) -> None:
    definition = Definition(
        text="a small  animal\nthat purrs",
        language="eng",
        part_of_speech="noun",
        sense="cat%1",
        ili="i46360",
        examples=(Example("the cat sat", "die Katze saß", "a book"), Example("two")),
        labels=("zoology", "common"),
        form_of="",
        etymology=2,
    )
    entry = Entry(
        headword=" house  cat ", language="en-GB", definitions=(definition,), spellings=("housecat",), place="line 3"
    )
    result = put(store, "one", entry)
    assert (result.new, result.entries, result.definitions, result.duplicates, result.rejected) == (True, 1, 1, 0, 0)
    (view,) = store.entries("housecat")
    assert (view.headword, view.language, view.spellings) == ("house cat", "en", ("housecat",))
    (sense,) = view.senses
    assert (sense.text, sense.language) == ("a small animal that purrs", "en")
    (seen,) = sense.seen
    assert (seen.source, seen.part_of_speech, seen.sense, seen.ili, seen.tag, seen.place, seen.etymology) == (
        ("one", "noun", "cat%1", "i46360", "en-GB", "line 3", 2)
    )
    assert seen.labels == ("zoology", "common")
    assert seen.examples == definition.examples


def test_the_same_source_twice_changes_nothing(store: Store) -> None:
    first = put(store, "one", entry("cat", "a small animal"), entry("cat", "a small animal", "a whip"))
    rows = content(store)

    def explode() -> Iterator[Entry]:
        raise AssertionError("an unchanged source is not read again")
        yield

    again = store.ingest(Dictionary(name="one", language="en"), explode(), origin=origin("one"))
    assert first.new
    assert not again.new
    assert (again.entries, again.definitions, again.duplicates) == (first.entries, first.definitions, 1)
    assert content(store) == rows


def test_one_definition_from_two_sources_is_one_with_two_attestations(store: Store) -> None:
    put(store, "one", entry("cat", "it’s an animal"))
    result = put(store, "two", entry("cat", "it's  an animal", "a whip"))
    assert (result.definitions, result.duplicates) == (2, 1)
    assert content(store) == [("cat", "it’s an animal"), ("cat", "a whip")]
    seen = store.entries("cat")[0].senses[0].seen
    assert [(s.source, s.text) for s in seen] == [("one", "it’s an animal"), ("two", "it's an animal")]


def test_removing_a_source_leaves_what_others_say_in_their_words(store: Store) -> None:
    put(store, "one", entry("cat", "it’s an animal", "a boat"), entry("dog", "barks"))
    put(store, "two", entry("cat", "it's an animal"))
    store.remove("one")
    assert content(store) == [("cat", "it's an animal")]
    assert [s.name for s in store.sources()] == ["two"]
    assert store.entries("dog") == []
    with pytest.raises(StoreError, match=r"no source is named 'one'.*sources: two"):
        store.remove("one")


def test_case_is_kept_and_forms_of_one_word_are_one(store: Store) -> None:
    put(store, "one", entry("Polish", "from Poland"), entry("polish", "to make shine"), entry("cafe\u0301", "a bar"))
    put(store, "two", entry("café", "a place for coffee"))
    assert store.languages() == {"en": {"entries": 3, "definitions": 4}}


def test_a_fault_in_the_middle_leaves_the_store_as_it_was(store: Store) -> None:
    put(store, "one", entry("cat", "an animal"))
    rows, sources = content(store), store.sources()

    def broken() -> Iterator[Entry]:
        for i in range(25_000):
            yield entry(f"word{i}", "a meaning")
        raise SourceError("truncated", where="file")

    with pytest.raises(SourceError, match="truncated"):
        store.ingest(Dictionary(name="two", language="en"), broken(), origin=origin("two"))
    assert (content(store), store.sources()) == (rows, sources)


def test_a_newer_version_takes_the_place_of_the_older(store: Store) -> None:
    put(store, "wn", entry("cat", "an animal"), entry("dog", "barks"), version="1", checksum="a")
    result = put(store, "wn", entry("cat", "an animal", "a whip"), version="2", checksum="b")
    assert (result.replaced, result.added, result.lost) == (True, 1, 1)
    assert content(store) == [("cat", "an animal"), ("cat", "a whip")]


def test_a_sample_without_version_does_not_take_the_place_of_a_dump(store: Store) -> None:
    for where, version in (("a/dump.xml", "20260101"), ("b/sample.xml", ""), ("c/dump.xml", "20260101")):
        dictionary = Dictionary(name="enwiktionary", language="en", version=version)
        store.ingest(dictionary, [entry("cat", where)], origin=Origin(adapter="w", location=where, checksum=where))
    assert [text for _, text in content(store)] == ["a/dump.xml", "b/sample.xml", "c/dump.xml"]
    assert [s.name for s in store.sources()] == ["enwiktionary", "b/enwiktionary", "c/enwiktionary"]


def test_two_files_of_one_name_are_two_sources(store: Store) -> None:
    for folder in ("fr", "de"):
        dictionary = Dictionary(name="train", language="en")
        where = Origin(adapter="tsv", location=f"/data/{folder}/train.txt", checksum=folder)
        store.ingest(dictionary, [entry("cat", folder)], origin=where)
    assert [s.name for s in store.sources()] == ["train", "de/train"]
    for file in ("cs-en.jsonl", "da-en.jsonl", "da-en.jsonl.gz"):
        where = Origin(adapter="kaikki", location=f"/data/k/{file}", checksum=file)
        store.ingest(Dictionary(name="enwiktionary", language="en"), [entry("cat", file)], origin=where)
    names = [s.name for s in store.sources()]
    assert names[2:] == ["enwiktionary", "enwiktionary/da-en", "enwiktionary/da-en.jsonl.gz"]


def test_rejects_are_counted_and_handed_on(store: Store) -> None:
    seen: list[Rejected] = []
    rejected = Rejected("no tab", "line 2", "x")
    result = store.ingest(
        Dictionary(name="one", language="en"),
        [entry("cat", "x"), rejected],
        origin=origin("one"),
        on_reject=seen.append,
    )
    assert (result.rejected, seen) == (1, [rejected])


def test_a_dry_run_counts_and_keeps_nothing(store: Store) -> None:
    dictionary = Dictionary(name="one", language="en")
    result = store.ingest(dictionary, [entry("cat", "x", "x", "y")], origin=origin("one"), dry_run=True)
    assert (result.definitions, result.duplicates) == (2, 1)
    assert store.sources() == []
    assert store.languages() == {}


def test_form_of_holds_only_where_every_source_says_so(store: Store) -> None:
    form = Definition(text="plural of cat", language="en", form_of="cat")
    real = Definition(text="plural of cat", language="en")
    put(store, "one", Entry(headword="cats", language="en", definitions=(form,)))
    assert [row.form_of for row in store.definitions("en")] == [True]
    put(store, "two", Entry(headword="cats", language="en", definitions=(real,)))
    assert [row.form_of for row in store.definitions("en")] == [False]


def test_an_unknown_language_is_asked_for(store: Store) -> None:
    with pytest.raises(LanguageError, match="--lang"):
        put(store, "one", entry("cat", "x", language=""))
    with pytest.raises(EmptyStoreError):
        store.require("en")
    put(store, "two", entry("cat", "x"))
    with pytest.raises(LanguageError, match=r"no Japanese entries.*en \(English\)"):
        store.require("ja")


def test_what_is_no_store_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    text = tmp_path / "text.db"
    text.write_text("not a database at all, but long enough to be looked at" * 30)
    for path in (other, text):
        before = path.read_bytes()
        with pytest.raises(SchemaError, match="no dictsent store"):
            Store(path, create=True)
        assert path.read_bytes() == before
    with pytest.raises(StoreError, match="there is no store here"):
        Store(tmp_path / "none.db")


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    Store(path, create=True).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(SchemaError, match="update dictsent"):
        Store(path)


def test_two_processes_make_one_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.db"
    create = database._create

    def late(engine: Any) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(database, "_create", create)
            with Store(path, create=True) as other:
                put(other, "one", entry("cat", "x"))
        create(engine)

    monkeypatch.setattr(database, "_create", late)
    with Store(path, create=True) as store:
        put(store, "two", entry("dog", "y"))
        assert [s.name for s in store.sources()] == ["one", "two"]


def test_two_writers_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dictsent.store.database._BUSY_SECONDS", 0.1)
    path = tmp_path / "store.db"
    with Store(path, create=True) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process is writing"):
            put(store, "one", entry("cat", "x"))
        other.execute("ROLLBACK")
        other.close()
        assert put(store, "one", entry("cat", "x")).new


def found(store: Store, text: str, **more: Any) -> list[str]:
    return [f"{hit.headword}: {hit.text}" for hit in store.search(text, **more)]


SCRIPTS = [
    ("ja", "猫", "小型の肉食動物。", ["猫", "肉食", "動物", "の肉", "小型の肉食動物"]),
    ("zh", "图书馆", "收藏图书供人阅览的地方", ["图书", "书馆", "人", "阅览", "地方"]),
    ("ko", "고양이", "집에서 기르는 동물을 이른다", ["고양", "동물", "동물을"]),
    ("th", "แมว", "สัตว์เลี้ยงชนิดหนึ่ง", ["แมว", "สัตว์", "เลี้ยง"]),
    ("ar", "قِطّ", "حَيَوَانٌ أليف", ["قط", "حيوان", "حَيَوَان"]),
    ("he", "חָתוּל", "חיה קטנה", ["חתול", "קטנה"]),
    ("ru", "Кошка", "домашнее животное", ["кошка", "ЖИВОТНОЕ", "живот*"]),
    ("fr", "café", "l’endroit où l'on boit", ["cafe", "CAFÉ", "l'endroit", "ou", "endroit boit"]),
    ("ja", "ＣＤ", "音楽を聞く円盤", ["CD", "ｃｄ", "円盤"]),
    ("hi", "बिल्ली", "एक पालतू जानवर", ["बिल्ली", "पालतू"]),
]


@pytest.mark.parametrize(("language", "headword", "text", "queries"), SCRIPTS)
def test_every_script_is_found(store: Store, language: str, headword: str, text: str, queries: list[str]) -> None:
    put(store, "noise", entry("noise", "something else", "何でもない", "无关", language="en"))
    put(store, "one", entry(headword, text, language=language))
    for query in queries:
        assert found(store, query) == [f"{headword}: {text}"], query
    assert found(store, "xyzzy") == []


def test_words_written_so_come_first_then_headwords_then_definitions(store: Store) -> None:
    put(
        store,
        "one",
        entry("dog", "not a cat", "a wild cat of sorts"),
        entry("wild cat", "a beast"),
        entry("cat", "an animal", spellings=("puss",)),
        entry("Kater", "cat", language="de"),
    )
    everything = found(store, "cat")
    assert everything[:2] == ["cat: an animal", "wild cat: a beast"]
    assert sorted(everything[2:]) == ["Kater: cat", "dog: a wild cat of sorts", "dog: not a cat"]
    assert found(store, "cat", limit=2) == everything[:2]
    assert len(found(store, "cat", limit=4)) == 4
    assert found(store, "cat", language="de") == ["Kater: cat"]
    assert found(store, "puss") == ["cat: an animal"]
    assert found(store, "wild cat") == ["wild cat: a beast", "dog: a wild cat of sorts"]
    assert found(store, "anim*") == ["cat: an animal"]
    assert found(store, 'an "animal" -- (cat) OR NOT "') == []
    assert found(store, 'an "animal"') == ["cat: an animal"]
    with pytest.raises(StoreError, match="no letter or digit"):
        store.search(" - ")


def test_what_is_removed_is_no_longer_found_and_the_wording_left_is(store: Store) -> None:
    put(store, "one", entry("cat", "ａｎ animal"))
    put(store, "two", entry("cat", "an animal"), entry("dog", "barks"))
    put(store, "three", entry("cat", "ａｎ animal"))
    store.remove("one")
    (view,) = store.entries("cat")
    assert [(s.source, s.text) for s in view.senses[0].seen] == [("two", "an animal"), ("three", "ａｎ animal")]
    assert found(store, "animal") == ["cat: an animal"]
    store.remove("two")
    assert found(store, "barks") == found(store, "dog") == []
    assert found(store, "an animal") == ["cat: ａｎ animal"]
    put(store, "three", entry("mouse", "squeaks"), version="2", checksum="new")
    assert (found(store, "animal"), found(store, "squeaks")) == ([], ["mouse: squeaks"])
    with sqlite3.connect(store.path) as connection:
        for table in ("headword_text", "definition_text"):
            assert connection.execute(f"SELECT count(*) FROM {table}_docsize").fetchone() == (1,)


def test_a_store_that_cannot_be_written_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a store#1?.db"
    with Store(path, create=True) as store:
        put(store, "one", entry("cat", "an animal"))
    monkeypatch.setattr("dictsent.store.database.is_writable", lambda _: False)
    with Store(path) as store:
        assert content(store) == [("cat", "an animal")]
        assert found(store, "animal") == ["cat: an animal"]
        with pytest.raises(StoreError, match="the store is read-only"):
            put(store, "two", entry("cat", "y"))
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_full_disk_keeps_the_store_as_it_was(store: Store) -> None:
    put(store, "one", entry("cat", "an animal"))
    rows = content(store)

    @event.listens_for(store._engine, "checkout")
    def _small(connection: Any, *_: object) -> None:
        connection.execute("PRAGMA max_page_count = 120")

    many = [entry(f"word{i}", f"a meaning of the word with number {i}") for i in range(20_000)]
    with pytest.raises(StoreError, match="the disk is full; nothing of this source was kept"):
        put(store, "two", *many)
    assert (content(store), [s.name for s in store.sources()]) == (rows, ["one"])
    assert put(store, "three", entry("dog", "barks")).new


words = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=8).filter(
    fold_space
)


@given(st.lists(st.tuples(words, words), min_size=1, max_size=12), st.lists(st.tuples(words, words), max_size=12))
@settings(max_examples=20, deadline=None)
def test_the_store_is_the_set_of_what_was_read(
    tmp_path_factory: pytest.TempPathFactory, one: list[tuple[str, str]], two: list[tuple[str, str]]
) -> None:
    with Store(tmp_path_factory.mktemp("s") / "store.db", create=True) as store:
        put(store, "one", *(entry(word, text) for word, text in one))
        put(store, "two", *(entry(word, text) for word, text in two))
        expected = {(fold_space(w), comparison_form(t)) for w, t in one + two}
        got = [(w, comparison_form(t)) for w, t in content(store)]
        assert sorted(got) == sorted(expected)
        assert sum(s.records for s in store.sources()) == len(one) + len(two)
        store.remove("two")
        left = {(w, comparison_form(t)) for w, t in content(store)}
        assert left == {(fold_space(w), comparison_form(t)) for w, t in one}
        assert {t for _, t in content(store)} <= {fold_space(t) for _, t in one}
