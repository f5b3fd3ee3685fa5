"""The commands about stores: search, licences, stats, diff, merge, and training under chosen licences."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dictsent.records import Definition, Dictionary, Entry
from dictsent.store import Origin, Store

Cli = Callable[..., Any]


def put(path: Path, name: str, *meanings: tuple[str, str], language: str = "en", **more: str) -> None:
    records = [
        Entry(headword=word, language=language, definitions=(Definition(text=text, language=language),))
        for word, text in meanings
    ]
    with Store(path, create=True) as store:
        origin = Origin(adapter="tsv", location=name, checksum=f"{name}{meanings}", rejected=2)
        store.ingest(Dictionary(name=name, language=language, **more), records, origin=origin)


@pytest.fixture
def filled(run_cli: Cli) -> Cli:
    path = Path("dictsent.db")
    put(path, "one", ("cat", "an animal"), ("dog", "it barks"), licence="CC BY-SA 4.0", attribution="Ada")
    put(path, "two", ("cat", "an animal"), ("cat", "a whip"), ("owl", "it flies"), licence="WordNet", version="3")
    put(path, "three", ("cão", "animal que ladra"), language="pt-BR")
    return run_cli


def answer(result: Any) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_search(filled: Cli) -> None:
    hits = answer(filled("search", "animal", "--json"))["hits"]
    assert sorted((h["headword"], h["text"], h["sources"], h["where"]) for h in hits) == [
        ("cat", "an animal", ["one", "two"], "definition"),
        ("cão", "animal que ladra", ["three"], "definition"),
    ]
    assert filled("search", "cao", "--lang", "Portuguese").stdout == "cão [pt]  animal que ladra  (three)\n"
    nothing = filled("search", "xyzzy")
    assert (nothing.exit_code, nothing.stdout, nothing.stderr) == (1, "", "Nothing found for 'xyzzy'.\n")
    assert "no letter or digit" in filled("search", "...").stderr


def test_licences(filled: Cli) -> None:
    found = answer(filled("licences", "--json"))["licences"]
    assert [(row["licence"], [s["name"] for s in row["sources"]]) for row in found] == [
        ("CC BY-SA 4.0", ["one"]),
        ("WordNet", ["two"]),
        ("", ["three"]),
    ]
    assert found[0]["sources"][0]["attribution"] == "Ada"
    assert "none stated" in filled("licences").stdout


def test_stats_tell_lengths_and_overlap(filled: Cli) -> None:
    stats = answer(filled("stats", "--json"))
    assert stats["languages"] == {
        "en": {"entries": 3, "definitions": 4, "name": "English", "median_length": 8.0},
        "pt": {"entries": 1, "definitions": 1, "name": "Portuguese", "median_length": 16.0},
    }
    assert [s["median_length"] for s in stats["sources"]] == [8.5, 8.0, 16.0]
    assert stats["overlaps"] == [{"sources": ["one", "two"], "entries": 1, "definitions": 1}]
    assert "entries in both" in filled("stats").stdout


def test_merge_and_diff(filled: Cli) -> None:
    put(Path("other.db"), "four", ("cat", "a boat"))
    merged = answer(filled("merge", "dictsent.db", "--store", "other.db", "--json"))["sources"]
    assert [(s["source"], s["new"], s["definitions"], s["rejected"]) for s in merged] == [
        ("one", True, 2, 2),
        ("two", True, 3, 2),
        ("three", True, 1, 2),
    ]
    again = answer(filled("merge", "dictsent.db", "--store", "other.db", "--json"))["sources"]
    assert [s["new"] for s in again] == [False] * 3
    found = answer(filled("diff", "dictsent.db", "other.db", "--json"))
    assert not found["equal"]
    counts = {kind: (d["common"], d["left"], d["right"]) for kind, d in found["differences"].items()}
    assert counts == {
        "sources": (3, 0, 1),
        "entries": (4, 0, 0),
        "definitions": (5, 0, 1),
        "attestations": (6, 0, 1),
        "examples": (0, 0, 0),
        "spellings": (0, 0, 0),
    }
    assert "+ definitions: en  cat  a boat" in filled("diff", "dictsent.db", "other.db").stdout
    filled("remove", "four", "--store", "other.db")
    assert answer(filled("diff", "dictsent.db", "other.db", "--exit-code", "--json"))["equal"]
    filled("remove", "one", "--store", "other.db")
    assert filled("diff", "dictsent.db", "other.db", "--exit-code").exit_code == 1
    assert "there is no store here" in filled("diff", "dictsent.db", "none.db").stderr
    assert not Path("none.db").exists()


def test_training_under_chosen_licences(filled: Cli, tiny_bert: Path) -> None:
    def error(*allow: str) -> str:
        options = [part for name in allow for part in ("--licence-allow", name)]
        result = filled("train", "--lang", "en", "--split", "none", "--encoder", tiny_bert, *options)
        assert result.exit_code == 1
        (line,) = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
        return line

    assert "no source in this language is under MIT; there is CC BY-SA 4.0, WordNet" in error("MIT")
    assert "only 2 definitions are left" in error("cc-by-sa")
    assert "only 4 definitions are left" in error("cc-by-sa", "wordnet")


def test_the_record_names_only_the_sources_that_were_used(run_cli: Cli, tiny_bert: Path) -> None:
    from tiny import WORDS

    meanings = [(word, f"a {WORDS[i - 1]} that lives near the {WORDS[i - 2]}") for i, word in enumerate(WORDS)]
    put(Path("dictsent.db"), "free", *meanings, licence="CC0-1.0")
    put(Path("dictsent.db"), "other", ("cat", "a secret"), licence="all rights reserved")
    result = run_cli(
        "train", "--encoder", tiny_bert, "--method", "defsent", "--split", "none", "--licence-allow", "CC0", "--json"
    )
    record = answer(result)
    assert [source["name"] for source in record["sources"]] == ["free"]
    card = (Path(record["run"]) / "README.md").read_text()
    assert "CC0-1.0" in card
    assert "all rights reserved" not in card


def test_a_damaged_store_is_one_line(run_cli: Cli) -> None:
    put(Path("dictsent.db"), "one", *((f"word{i}", f"meaning {i}") for i in range(500)))
    with sqlite3.connect("dictsent.db") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(Path("dictsent.db").read_bytes())
    data[4096 * 3 :] = b"\x00" * (len(data) - 4096 * 3)
    Path("dictsent.db").write_bytes(data)
    result = run_cli("stats")
    assert result.exit_code == 1
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("Error: dictsent.db: ")
