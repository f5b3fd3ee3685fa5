"""Export: jsonl and parquet ingested again give an equal store, the other forms the same headwords and definitions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dictsent.adapter import installed
from dictsent.errors import EmptyStoreError, LanguageError, SourceError, StoreError
from dictsent.export import FORMS, export
from dictsent.records import Definition, Dictionary, Entry, Example, fold_space
from dictsent.sources import Request, find, ingest
from dictsent.store import Origin, Store

Cli = Callable[..., Any]

texts = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cn")), min_size=1, max_size=12).filter(
    fold_space
)
some_text = st.one_of(st.just(""), texts)
tags = st.sampled_from(["en", "ja", "pt-BR", "pt", "zh-Hant", "arb"])
definitions = st.builds(
    Definition,
    text=texts,
    language=tags,
    part_of_speech=st.sampled_from(["", "noun", "verb", "sobre nome"]),
    sense=some_text,
    ili=st.sampled_from(["", "i1", "i46360"]),
    examples=st.lists(st.builds(Example, texts, some_text, some_text), max_size=2).map(tuple),
    labels=st.lists(texts, max_size=2).map(tuple),
    form_of=some_text,
    etymology=st.integers(0, 3),
    translation=st.booleans(),
)
entries = st.builds(
    Entry,
    headword=texts,
    language=tags,
    definitions=st.lists(definitions, min_size=1, max_size=3).map(tuple),
    spellings=st.lists(texts, max_size=2).map(tuple),
    place=some_text,
)
dictionaries = st.builds(
    Dictionary,
    name=st.sampled_from(["one", "two", "a/b"]),
    language=st.sampled_from(["mul", "en", ""]),
    title=some_text,
    version=some_text,
    licence=some_text,
    attribution=some_text,
    address=some_text,
)
stores = st.lists(
    st.tuples(dictionaries, st.lists(entries, min_size=1, max_size=4)),
    min_size=1,
    max_size=3,
    unique_by=lambda source: source[0].name,
)
Sources = list[tuple[Dictionary, list[Entry]]]
# No shrinking: each example writes two stores, and a failing one is small enough to be read.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
quick = settings(
    max_examples=15, deadline=None, phases=PHASES, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def fill(path: Path, sources: Sources) -> Store:
    store = Store(path, create=True)
    for dictionary, records in sources:
        origin = Origin(adapter="tsv", location=dictionary.name, checksum=dictionary.name)
        store.ingest(dictionary, records, origin=origin)
    return store


def read_again(path: Path, target: Path, *, language: str = "") -> Store:
    store = Store(target, create=True)
    found = find([str(path)], installed())
    assert (found.faults, found.unknown) == ([], [])
    for source, adapter in found.sources:
        outcome = ingest(store, source, adapter, Request(language=language))
        assert not outcome.reasons
    return store


def pairs(store: Store, language: str) -> set[tuple[str, str]]:
    return {(row.headword, row.text) for row in store.definitions(language)}


@pytest.mark.parametrize("form", ["jsonl", "parquet", "hf"])
@given(sources=stores)
@quick
def test_what_keeps_sources_gives_an_equal_store(
    tmp_path_factory: pytest.TempPathFactory, form: str, sources: Sources
) -> None:
    folder = tmp_path_factory.mktemp("export")
    out = folder / f"out#1{FORMS[form].ending}"
    with fill(folder / "one.db", sources) as store:
        done = export(store, out, form=form)
        with read_again(out, folder / "two.db") as again:
            for kind, difference in store.differences(again).items():
                assert (kind, difference.left, difference.right) == (kind, 0, 0), difference
            assert done.definitions == sum(s.records for s in again.sources())
    assert sorted(p.name for p in folder.iterdir()) == sorted(["one.db", "two.db", out.name])


@pytest.mark.parametrize("form", ["tsv", "defsent", "defsent-plus", "wn-lmf"])
@given(sources=stores, language=st.sampled_from(["en", "ja", "pt"]))
@quick
def test_the_other_forms_give_the_same_definitions(
    tmp_path_factory: pytest.TempPathFactory, form: str, sources: Sources, language: str
) -> None:
    folder = tmp_path_factory.mktemp("export")
    out = folder / f"out{FORMS[form].ending}"
    with fill(folder / "one.db", sources) as store:
        if language not in store.languages():
            with pytest.raises(LanguageError, match="the store holds no"):
                export(store, out, form=form, language=language)
            return
        done = export(store, out, form=form, language=language)
        expected = pairs(store, language)
        assert (done.definitions, done.notes) == (len(expected), ())
    with read_again(out, folder / "two.db", language=language) as again:
        assert pairs(again, language) == expected


def small(path: Path) -> Store:
    cat = Definition(
        text="a small animal", language="en", part_of_speech="noun", ili="i1", examples=(Example("my cat"),)
    )
    whip = Definition(text="a whip", language="en", part_of_speech="verb")
    neko = Definition(text="cat", language="en", translation=True)
    sources = [
        (Dictionary(name="one", language="en", licence="CC0-1.0"), [
            Entry(headword="cat", language="en", definitions=(cat, whip)),
        ]),
        (Dictionary(name="two", language="mul"), [
            Entry(headword="猫", language="ja", definitions=(neko,), spellings=("ねこ",)),
            Entry(headword="Cat", language="en", definitions=(cat,)),
        ]),
    ]  # fmt: skip
    return fill(path, sources)


def test_the_text_forms_to_the_letter(tmp_path: Path) -> None:
    with small(tmp_path / "s.db") as store:
        for form in ("tsv", "jsonl", "defsent", "defsent-plus", "wn-lmf"):
            export(store, tmp_path / form, form=form, language="en")
    assert (tmp_path / "tsv").read_text(encoding="utf-8").splitlines() == [
        "headword\tdefinition\tpart_of_speech\texample\tlanguage",
        "cat\ta small animal\tnoun\tmy cat\ten",
        "cat\ta whip\tverb\t\ten",
        "Cat\ta small animal\tnoun\tmy cat\ten",
    ]
    assert (tmp_path / "defsent-plus").read_text(encoding="utf-16").splitlines() == [
        "cat\ta small animal <|list_more_def|> a whip",
        "Cat\ta small animal",
    ]
    rows = {p.name: p.read_text(encoding="utf-8").splitlines() for p in (tmp_path / "defsent").iterdir()}
    assert rows == {
        "test.txt": [
            "cat%dictsent.1\tnoun\tone\ta small animal\tmy cat",
            "cat%dictsent.2\tverb\tone\ta whip\t",
            "Cat%dictsent.1\tnoun\ttwo\ta small animal\tmy cat",
        ],
        "valid.txt": [],
        "train.txt": [],
    }
    lines = [json.loads(line) for line in (tmp_path / "jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["dictionary"]["name"] for line in lines if "dictsent" in line] == ["one", "two"]
    assert lines[-1]["headword"] == "Cat"
    lmf = (tmp_path / "wn-lmf").read_text(encoding="utf-8")
    assert lmf.count("<LexicalEntry ") == 3
    assert lmf.count("<Synset ") == 2
    assert 'license="CC0-1.0"' in lmf


def test_wn_reads_our_lexicon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import wn.lmf

    with small(tmp_path / "s.db") as store:
        export(store, tmp_path / "words.xml", form="wn-lmf")
    resource = wn.lmf.load(tmp_path / "words.xml", progress_handler=None)
    assert [(x["id"], x["language"], len(x["entries"])) for x in resource["lexicons"]] == [
        ("dictsent-en", "en", 3),
        ("dictsent-ja", "ja", 1),
    ]
    assert wn.lmf.scan_lexicons(tmp_path / "words.xml")[0]["version"] == "1"


def test_datasets_reads_our_columns(tmp_path: Path) -> None:
    import datasets

    with small(tmp_path / "s.db") as store:
        export(store, tmp_path / "words", form="hf")
        export(store, tmp_path / "words.parquet", form="parquet", language="ja")
    rows = datasets.load_from_disk(tmp_path / "words")
    assert rows["definition"][:] == ["a small animal", "a whip", "cat", "a small animal"]
    assert rows[0]["examples"] == [{"text": "my cat", "translation": "", "source": ""}]
    (row,) = datasets.Dataset.from_parquet(str(tmp_path / "words.parquet"), cache_dir=tmp_path / "c")
    assert (row["headword"], row["spellings"], row["source_name"]) == ("猫", ["ねこ"], "two")


def test_anybodys_parquet_is_read_by_its_column_names(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"n": [1, 2, 3], "word": ["cat", None, "dog"], "gloss": ["an animal", "x", "it barks"]})
    pyarrow.parquet.write_table(table, tmp_path / "words.parquet")
    store = Store(tmp_path / "s.db", create=True)
    (found,) = find([str(tmp_path / "words.parquet")], installed()).sources
    outcome = ingest(store, *found, Request(language="en"))
    assert (found[1].name, outcome.ingested.rejected, dict(outcome.reasons)) == ("parquet", 1, {"empty headword": 1})
    assert pairs(store, "en") == {("cat", "an animal"), ("dog", "it barks")}
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "words.parquet").read_bytes()[:300])
    with pytest.raises(SourceError, match="truncated or damaged"):
        ingest(store, str(tmp_path / "cut.parquet"), installed()["parquet"], Request(language="en"))


def test_export_is_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small(tmp_path / "s.db") as store:
        out = tmp_path / "words.tsv"
        out.write_text("mine")

        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(Store, "senses", fail)
            with pytest.raises(StoreError, match="cannot be written: the disk is full"):
                export(store, out, form="tsv")
            with pytest.raises(StoreError, match="the disk is full"):
                export(store, tmp_path / "rows", form="defsent")
        assert out.read_text() == "mine"
        (tmp_path / "used").mkdir()
        (tmp_path / "used" / "file").write_text("x")
        with pytest.raises(StoreError, match="a folder with something in it is there"):
            export(store, tmp_path / "used", form="hf")
        with pytest.raises(StoreError, match="there is a folder here"):
            export(store, tmp_path / "used", form="tsv")
        with pytest.raises(StoreError, match="cannot be written: No such file"):
            export(store, tmp_path / "none" / "words.tsv", form="tsv")
        assert sorted(p.name for p in tmp_path.iterdir() if not p.name.startswith("s.db")) == ["used", "words.tsv"]
    with Store(tmp_path / "empty.db", create=True) as store, pytest.raises(EmptyStoreError):
        export(store, tmp_path / "x.tsv", form="tsv")


def test_export_command(run_cli: Cli) -> None:
    small(Path("dictsent.db")).close()
    result = run_cli("export", "--to", "jsonl", "--json")
    assert json.loads(result.stdout) == {
        "schema_version": 1,
        "path": "dictsent.jsonl",
        "form": "jsonl",
        "definitions": 4,
        "notes": [],
    }
    assert run_cli("ingest", "dictsent.jsonl", "--store", "two.db").exit_code == 0
    again = json.loads(run_cli("ingest", "dictsent.jsonl", "--store", "two.db", "--json").stdout)
    assert [(s["source"], s["new"]) for s in again["sources"]] == [("one", False), ("two", False)]
    shown = run_cli("export", "--to", "tsv", "--lang", "Japanese", "--out", "-")
    assert (shown.exit_code, shown.stderr) == (0, ""), shown.exc_info
    assert shown.stdout.splitlines()[1:] == ["猫\tcat\t\t\tja"]
    assert "only text forms go to standard output" in run_cli("export", "--to", "hf", "--out", "-").stderr


@pytest.mark.parametrize("form", [name for name, form in FORMS.items() if form.write_senses])
def test_only_the_best_of_near_duplicates_is_written(tmp_path: Path, form: str) -> None:
    rows = {
        "one": [("cat", "a large cat."), ("dog", "it barks"), ("owl", "a bird")],
        "two": [("cat", "A large cat"), ("cat", "a whip"), ("owl", "a bird of the night"), ("dog", "it  barks")],
    }
    with Store(tmp_path / "store.db", create=True) as store:
        for name, meanings in rows.items():
            records = [
                Entry(headword=word, language="en", definitions=(Definition(text=text, language="en"),))
                for word, text in meanings
            ]
            origin = Origin(adapter="tsv", location=name, checksum=name)
            store.ingest(Dictionary(name=name, language="en"), records, origin=origin)
        others = {("dog", "it barks"), ("owl", "a bird"), ("owl", "a bird of the night"), ("cat", "a whip")}
        for prefer, best in (((), "a large cat."), (("two",), "A large cat")):
            out = tmp_path / f"{len(prefer)}{FORMS[form].ending}"
            done = export(store, out, form=form, near=0.9, prefer=prefer)
            assert done.definitions == 5
            assert done.notes == ("1 definitions left out as nearly the same as another of their headword",)
            with read_again(out, tmp_path / f"again{len(prefer)}.db", language="en") as again:
                assert pairs(again, "en") == {*others, ("cat", best)}
        with pytest.raises(StoreError, match="no source is named 'three'"):
            export(store, tmp_path / "no", form=form, near=0.9, prefer=["three"])


def test_forms_that_keep_everything_leave_nothing_out(run_cli: Cli) -> None:
    Path("words.tsv").write_text("cat\ta pet\ncat\ta pet.\n")
    run_cli("ingest", "words.tsv", "--lang", "en")
    done = run_cli("export", "--to", "jsonl", "--near", "0.9")
    assert (done.exit_code, "jsonl keeps all that every source says; use it with tsv" in done.stderr) == (1, True)
    done = run_cli("export", "--to", "tsv", "--near", "0.9", "--out", "-")
    assert done.stdout.splitlines()[1:] == ["cat\ta pet.\t\t\ten"]
    assert "note: 1 definitions left out" in done.stderr
