"""wiktextract's JSON lines: the edition, the language filter, compressed files, and the real extracts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from dictsent.adapter import identify, installed
from dictsent.errors import SourceError
from dictsent.records import Entry, Rejected
from dictsent_adapters.kaikki import Kaikki, KaikkiOptions, edition_of_names

LANGUAGE = {"lang": "English", "lang_code": "en"}
SAMPLES = Path(__file__).parent / "adapters" / "kaikki"


def entries(path: Path, **options: str) -> list[Entry]:
    return [record for record in Kaikki(KaikkiOptions(**options)).read(str(path)) if isinstance(record, Entry)]


def test_gzip_and_any_name_are_recognised(tmp_path: Path) -> None:
    path = tmp_path / "words"
    path.write_bytes(gzip.compress((SAMPLES / "sample-other.jsonl").read_bytes()))
    assert identify(str(path), installed()) is Kaikki
    assert entries(path) == entries(SAMPLES / "sample-other.jsonl")


def test_the_language_of_the_definitions_is_the_editions() -> None:
    assert {d.language for e in entries(SAMPLES / "sample-other.jsonl") for d in e.definitions} == {"ja"}
    assert {d.language for e in entries(SAMPLES / "sample.jsonl") for d in e.definitions} == {"en"}
    assert {d.language for e in entries(SAMPLES / "sample.jsonl", edition="de") for d in e.definitions} == {"de"}
    assert edition_of_names((("Deutsch", "de"), ("Englisch", "en"))) == "de"
    assert edition_of_names((("Italiano", "it"),)) == "it"
    assert edition_of_names((("", "en"),)) == ""


def test_one_language_of_several() -> None:
    found = entries(SAMPLES / "sample.jsonl", language="fr")
    assert [(e.headword, e.language) for e in found] == [("lanterne", "fr")]


def test_another_file_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"dog": "an animal"}\n', encoding="utf-8")
    assert not Kaikki().matches(path)
    with pytest.raises(SourceError, match="wiktextract"):
        Kaikki().describe(str(path))


def test_words_of_several_megabytes_are_read_and_longer_ones_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A word with many translations and inflections is one line of some megabytes, even the first one of a file."""
    monkeypatch.setattr("dictsent_adapters.kaikki.LONGEST_LINE", 5_000_000)

    def word(name: str, forms: int) -> str:
        more = [{"form": f"form {number}", "tags": ["plural"]} for number in range(forms)]
        return json.dumps(
            {"senses": [{"glosses": [f"A {name}."]}], "pos": "noun", "forms": more, **LANGUAGE, "word": name}
        )

    path = tmp_path / "words.jsonl"
    path.write_text("\n".join([word("big", 70_000), word("small", 1), word("huge", 150_000), word("last", 1)]) + "\n")
    assert identify(str(path), installed()) is Kaikki
    found = list(Kaikki().read(str(path)))
    assert [r.headword for r in found if isinstance(r, Entry)] == ["big", "small", "last"]
    (refused,) = (r for r in found if isinstance(r, Rejected))
    assert (refused.reason, refused.place) == ("line too long", "line 3")


@pytest.mark.data
def test_the_real_extracts(data_folder: Path) -> None:
    """File names are source-edition-extract.jsonl; every line with a gloss is an entry."""
    files = sorted((data_folder / "dict" / "kaikki" / "tests" / "kaikki").glob("*-extract.jsonl"))
    assert len(files) >= 30
    for path in files:
        source, edition = path.name.split("-")[:2]
        assert Kaikki().describe(str(path)).name == f"{edition}wiktionary-kaikki"
        found = list(Kaikki().read(str(path)))
        assert not [record for record in found if isinstance(record, Rejected)]
        assert {e.language for e in found if isinstance(e, Entry)} == {"en" if source == "simple" else source}
